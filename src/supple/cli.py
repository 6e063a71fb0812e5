"""The command line: `supple` and its commands.

What a person gets wrong (an argument, a file, a folder) is answered with one sentence on standard error and
exit code 2; Ctrl-C with one line and exit code 130. Commands import what they need when they run, so that
help is instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import supple
from supple.commands.compile import compile
from supple.commands.console import new_console, plain, say, show_remarks
from supple.commands.export import export
from supple.commands.inspect import File, Tree, inspect
from supple.commands.run import run
from supple.commands.sweep import sweep
from supple.commands.view import view
from supple.errors import SuppleError, printable
from supple.reproduce import PAPERS

if TYPE_CHECKING:
    from rich.console import Console


WRONG, STOPPED = 2, 130  #: exit codes

BENCHES = {
    "exact": "one call, batches and large bodies, beside Pinocchio and MuJoCo",
    "virtual-work": "virtual work beside the articulated-body algorithm; links with many joints",
    "quasi-statics": "divide and conquer, and steps within a promised error, beside the articulated-body algorithm",
    "dynamics": "steps that move some joints only, beside full steps by divide and conquer and articulated bodies",
    "loops": "a robot whose feet are held",
    "contact": "crowds that fall and sleep and ragdolls, beside MuJoCo; long chains; contacts of up to a million links",
    "sweeps": "what a sweep adds to its runs, two processes beside one, a basin beside a loop over walk",
}

#: What `supple` alone shows: things to type, and what they do.
OVERVIEW = {
    "demo": "a large body within a promised error, a picture, a page",
    "run molecule --record run.h5": "a scene or a robot through time, recorded",
    "sweep SCENE --over KEY=VALUES --out s.zarr": "many runs, on all cores or a cluster",
    "view run.h5": "a recording in a browser page",
    "export run.h5 --to csv": "a recording as CSV, NumPy or Parquet",
    "inspect robot.urdf": "what is in a file, its problems, what it costs",
    "convert robot.xml -o robot.urdf": "MJCF to URDF",
    "reroot robot.urdf --body foot -o new.urdf": "the same robot, held at another body",
    "reproduce": "five papers, ours beside theirs: report.html",
    "bench": "speed, beside Pinocchio and MuJoCo",
    "compile": "compile all now, for quick first calls",
    "COMMAND --help": "what a command can do",
}

app = typer.Typer(
    name="supple",
    help="Articulated rigid bodies of any size, simulated exactly or as exactly as asked.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

Out = Annotated[Path, typer.Option("--out", help="The folder to write to; made if it is not there.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer and smaller cases, for a first look.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point: runs a command and turns what went wrong into a sentence and an exit code."""
    usage_error = typer.BadParameter.__mro__[2]  # ClickException, which newer versions of Typer carry inside
    try:
        code = app(arguments, standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except SuppleError as e:
        code = _complain(str(e))
    except MemoryError as e:
        code = _complain(f"there is not enough memory: {e}" if str(e) else "there is not enough memory")
    except OSError as e:
        code = _complain(f"{e.filename}: {e.strerror}" if e.filename else str(e))
    except Exception as e:
        if not isinstance(e, usage_error):
            raise
        code = _complain(e.format_message())  # type: ignore[attr-defined]
    if code == STOPPED:  # some versions of Typer return it, others raise
        _complain("stopped")
    sys.exit(code or 0)


def _complain(message: str) -> int:
    print(f"supple: {printable(' '.join(message.split()))}", file=sys.stderr)
    return WRONG


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    if version:
        print(f"supple {supple.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        _show_overview(new_console())


@app.command()
def demo(out: Out = Path("out")) -> None:
    """A large body exactly and within a promised error, the exact methods beside Pinocchio and MuJoCo, a picture,
    and a page that plays."""
    from supple import demo

    demo.run(_folder(out), new_console())


app.command()(run)
app.command()(sweep)
app.command()(view)
app.command()(export)
app.command()(inspect)


@app.command()
def convert(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="The URDF file to write.", show_default=False)],
    split: Annotated[
        bool, typer.Option("--split", help="Write joints that URDF lacks as two joints, where two will do.")
    ] = False,
    no_loops: Tree = False,
) -> None:
    """Read a URDF or MJCF file and write it as URDF."""
    from supple.files import load_quietly

    _check_urdf(output)
    console = new_console()
    model = load_quietly(file, loops=not no_loops)
    lost = supple.save_urdf(model, output, split=split)
    show_remarks(console, "Read, but not used", tuple(model.report))
    show_remarks(console, "Has no place in URDF", tuple(lost), everything=True)
    say(console, plain(f"{output}: {model.n_bodies} bodies, {model.nv} degrees of freedom"))


@app.command()
def reroot(
    file: File,
    body: Annotated[str, typer.Option("--body", help="The new root: a body or frame.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The URDF file to write.", show_default=False)],
    joint: Annotated[str, typer.Option("--joint", help="The joint by which it hangs on the world.")] = "free",
    axis: Annotated[
        tuple[float, float, float] | None, typer.Option("--axis", help="Of that joint, along the body's axes.")
    ] = None,
    point: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            "--point", help="Where, in the world, all joints being neutral.", show_default="the body's origin"
        ),
    ] = None,
    fixed_base: Annotated[
        bool, typer.Option("--fixed-base", help="The file's root is the world, and no part of the robot.")
    ] = False,
    no_loops: Tree = False,
) -> None:
    """Write a robot as URDF with another body as its root."""
    _check_urdf(output)
    console = new_console()
    model = supple.load(file, floating_base=not fixed_base, loops=not no_loops)
    new = supple.reroot(model, model.neutral(), body=body, point=point, joint=joint, axis=axis).model  # type: ignore[arg-type]
    lost = supple.save_urdf(new, output)
    show_remarks(console, "Read, but not used, or lost on the way", tuple(new.report))
    show_remarks(console, "Has no place in URDF", tuple(lost), everything=True)
    say(console, plain(f"{output}: {new.n_bodies} bodies, {new.nv} degrees of freedom, root {new.body_names[0]}"))


@app.command()
def reproduce(
    paper: Annotated[str | None, typer.Argument(help="; ".join(f"{k}: {v}" for k, v in PAPERS.items()))] = None,
    out: Out = Path("out"),
    quick: Quick = False,
) -> None:
    """The tables and figures of a paper (of all of them by default), ours beside theirs; and report.html and report.md
    over all papers that the folder has."""
    names, folder = _chosen("paper", paper, PAPERS), _folder(out)
    from supple.reproduce.run import run

    run(names, folder, quick, new_console())


@app.command()
def bench(
    what: Annotated[str | None, typer.Argument(help="; ".join(f"{k}: {v}" for k, v in BENCHES.items()))] = None,
    quick: Quick = False,
    json: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file, too.")] = None,
) -> None:
    """How fast it is on this machine, beside Pinocchio and MuJoCo in the same run."""
    from supple.bench.run import run

    run(_chosen("benchmark", what, BENCHES), new_console(), quick, json)


app.command()(compile)


# --- what the commands share --------------------------------------------------------------------------------


def _folder(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    if not os.access(out, os.W_OK | os.X_OK):
        raise PermissionError(13, "this folder cannot be written to", str(out))
    return out


def _check_urdf(output: Path) -> None:
    if output.suffix.lower() != ".urdf":
        raise typer.BadParameter(f"{output} should end in .urdf: that is what is written")


def _chosen(kind: str, name: str | None, known: dict[str, str]) -> list[str]:
    from supple.model.model import unknown

    if name is not None and name not in known:
        raise typer.BadParameter(f"{unknown(kind, name, list(known), listed=True)} ({', '.join(known)})")
    return list(known) if name is None else [name]


def _show_overview(console: Console) -> None:
    from rich.table import Table

    say(console, f"[bold]Supple {supple.__version__}[/]: articulated rigid bodies of any size\n")
    table = Table(show_header=False, box=None, pad_edge=False)
    for command, meaning in OVERVIEW.items():
        table.add_row(f"supple [cyan]{command}[/]", meaning)
    console.print(table)
    say(console, '\nIn Python: [cyan]import supple; model = supple.load("robot.urdf")[/]')
