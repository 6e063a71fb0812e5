"""The command line: `supple` and its commands.

What a person gets wrong (an argument, a file, a folder) is answered with one sentence on standard error and
exit code 2; Ctrl-C with one line and exit code 130. Commands import what they need when they run, so that
help is instant.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import supple
from supple.commands.export import export
from supple.commands.run import run
from supple.commands.view import view
from supple.errors import SuppleError

if TYPE_CHECKING:
    from rich.console import Console

    from supple.model.model import Model
    from supple.model.report import Report

WRONG, STOPPED = 2, 130  #: exit codes

PAPERS = {
    "sf": "Featherstone 2005: sparse factorization of the mass matrix",
    "vw": "Yamane and Nakamura: forward dynamics by virtual work",
    "qs": "Redon and Lin 2005: quasi-statics within a promised error",
    "ad": "Redon, Galoppo and Lin 2005: dynamics of the joints that matter most",
    "rr": "Stepien et al. 2012: changing the root of a moving tree; a passive walker",
}
BENCHES = {
    "exact": "one call, batches and large bodies, beside Pinocchio and MuJoCo",
    "virtual-work": "virtual work beside the articulated-body algorithm; links with many joints",
    "quasistatics": "divide and conquer, and steps within a promised error, beside the articulated-body algorithm",
    "dynamics": "steps that move some joints only, beside full steps by divide and conquer and articulated bodies",
}

#: Remarks on a file that say that something is wrong with the robot, not merely unused.
PROBLEMS = ("singular", "unphysical inertia")
SHOWN = 12  #: remarks and frames that inspect shows unless asked for all

#: What `supple` alone shows: things to type, and what they do.
OVERVIEW = {
    "demo": "a robot, a 10,000-joint tree, a picture",
    "run molecule --record run.h5": "a scene or a robot through time, recorded",
    "view run.h5": "a recording in a browser page",
    "export run.h5 --to csv": "a recording as CSV, NumPy or Parquet",
    "inspect robot.urdf": "what is in a file, what of it is not used",
    "convert robot.xml -o robot.urdf": "MJCF to URDF",
    "reroot robot.urdf --body foot -o new.urdf": "the same robot, held at another body",
    "reproduce sf": "a paper's tables, ours beside theirs",
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

File = Annotated[Path, typer.Argument(help="A URDF (.urdf), MJCF (.xml) or BVH (.bvh) file.", show_default=False)]
Floating = Annotated[bool, typer.Option("--floating-base", help="Put the robot on a free joint.")]
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
    sentence = " ".join(message.split())
    print(f"supple: {sentence}", file=sys.stderr)
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
        _show_overview(_console())


@app.command()
def demo(out: Out = Path("out")) -> None:
    """A robot and a 10,000-joint tree, every method of forward dynamics side by side, and a picture."""
    from supple import demo

    demo.run(_folder(out), _console())


app.command()(run)
app.command()(view)
app.command()(export)


@app.command()
def inspect(
    file: File,
    floating_base: Floating = False,
    everything: Annotated[bool, typer.Option("--all", help="Every body, frame and remark.")] = False,
    time: Annotated[bool, typer.Option("--time", help="Measure every method of forward dynamics.")] = False,
) -> None:
    """What is in a file: bodies, joints, masses, frames, what in it is not used or looks wrong, what it costs."""
    from supple.commands.costs import show_costs

    console = _console()
    model = supple.load(file, floating_base=floating_base)
    _show_model(console, model, None if everything else SHOWN)
    show_costs(console, model, time)


@app.command()
def convert(
    file: File,
    output: Annotated[Path, typer.Option("--output", "-o", help="The URDF file to write.", show_default=False)],
    split: Annotated[
        bool, typer.Option("--split", help="Write joints that URDF lacks as two joints, where two will do.")
    ] = False,
) -> None:
    """Read a URDF or MJCF file and write it as URDF."""
    _check_urdf(output)
    console = _console()
    model = supple.load(file)
    lost = supple.save_urdf(model, output, split=split)
    _show_remarks(console, "Read, but not used", model.report, SHOWN)
    _show_remarks(console, "Has no place in URDF", lost, SHOWN)
    _say(console, _plain(f"{output}: {model.n_bodies} bodies, {model.nv} degrees of freedom"))


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
) -> None:
    """Write a robot as URDF with another body as its root."""
    _check_urdf(output)
    console = _console()
    model = supple.load(file, floating_base=not fixed_base)
    new = supple.reroot(model, model.neutral(), body=body, point=point, joint=joint, axis=axis).model  # type: ignore[arg-type]
    lost = supple.save_urdf(new, output)
    _show_remarks(console, "Read, but not used, or lost on the way", new.report, SHOWN)
    _show_remarks(console, "Has no place in URDF", lost, SHOWN)
    _say(console, _plain(f"{output}: {new.n_bodies} bodies, {new.nv} degrees of freedom, root {new.body_names[0]}"))


@app.command()
def reproduce(
    paper: Annotated[str | None, typer.Argument(help="; ".join(f"{k}: {v}" for k, v in PAPERS.items()))] = None,
    out: Out = Path("out"),
    quick: Quick = False,
) -> None:
    """The tables and figures of a paper (of all of them by default), ours beside theirs."""
    names, folder = _chosen("paper", paper, PAPERS), _folder(out)
    for name in names:
        import_module(f"supple.reproduce.{name}").run(folder, quick, _console())


@app.command()
def bench(
    what: Annotated[str | None, typer.Argument(help="; ".join(f"{k}: {v}" for k, v in BENCHES.items()))] = None,
    quick: Quick = False,
    json: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file, too.")] = None,
) -> None:
    """How fast it is on this machine, beside Pinocchio and MuJoCo in the same run."""
    from supple.bench.run import run

    run(_chosen("benchmark", what, BENCHES), _console(), quick, json)


@app.command()
def compile(
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="How many to compile at a time.", show_default="all cores")
    ] = os.cpu_count() or 1,
) -> None:
    """Compile every kernel now; later runs load them from the cache."""
    from multiprocessing import get_context

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from supple.spatial.compiler import cache_folder

    names = _kernel_names()
    console = _console()
    columns = (
        TextColumn("compiling"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    fresh = 0
    with (
        Progress(*columns, console=console, transient=True) as progress,
        get_context("spawn").Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool,
    ):
        task = progress.add_task("", total=len(names))
        for name, seconds in pool.imap_unordered(_compile_kernel, names):
            progress.update(task, advance=1, description=name)
            if seconds is not None:
                fresh += 1
                _say(console, f"  {name}: {seconds:.1f} s")
    _say(console, f"{len(names)} kernels ready, {fresh} of them compiled now, in {_plain(cache_folder())}")


def _kernel_names() -> list[str]:
    """Every kernel there is: importing a module declares its kernels."""
    from pkgutil import iter_modules

    from supple.spatial.compiler import COMPILED_LAYERS, KERNELS

    for layer in COMPILED_LAYERS:
        for module in iter_modules(import_module(f"supple.{layer}").__path__):
            import_module(f"supple.{layer}.{module.name}")
    return sorted(KERNELS, key=lambda name: -KERNELS[name].effort)


def _compile_kernel(name: str) -> tuple[str, float | None]:
    """In a worker: compile one kernel, or find it in the cache. The seconds it took, None if it was there."""
    from supple.spatial import compiler

    taken: list[float | None] = []
    compiler.announce = lambda name, seconds: taken.append(seconds)
    _kernel_names()
    compiler.KERNELS[name].load()
    return name, taken[-1] if taken else None


# --- what the commands share --------------------------------------------------------------------------------


def _console() -> Console:
    from rich.console import Console

    return Console()


def _say(console: Console, text: str) -> None:
    """Print without breaking lines, so that paths and remarks can be searched for."""
    console.print(text, highlight=False, soft_wrap=True)


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
        raise typer.BadParameter(f"{unknown(kind, name, list(known))} ({', '.join(known)})")
    return list(known) if name is None else [name]


def _show_overview(console: Console) -> None:
    from rich.table import Table

    _say(console, f"[bold]Supple {supple.__version__}[/]: articulated rigid bodies of any size\n")
    table = Table(show_header=False, box=None, pad_edge=False)
    for command, meaning in OVERVIEW.items():
        table.add_row(f"supple [cyan]{command}[/]", meaning)
    console.print(table)
    _say(console, '\nIn Python: [cyan]import supple; model = supple.load("robot.urdf")[/]')


def _show_model(console: Console, model: Model, most: int | None) -> None:
    from collections import Counter

    from rich.table import Table

    count = Counter(model.joints[i].type for i in range(model.n_joints))
    rows: dict[str, Any] = {
        "file": model.report.source,
        "bodies": f"{model.n_bodies} moving, {model.total_mass:.6g} kg in all",
        "joints": ", ".join(f"{n} {kind}" for kind, n in count.most_common()),
        "degrees of freedom": f"{model.nv}  (q has {model.nq} numbers, v {model.nv})",
        "gravity": ", ".join(f"{x:g}" for x in model.gravity) + " m/s²",
        "frames": len(model.frames),
        "shapes to draw": len(model.visuals),
    }
    table = Table(title=_plain(model.name), title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, _plain(value))
    console.print(table)
    console.print()
    _say(console, _plain(model.tree(model.n_bodies if most is None else 40)))
    if model.frames:
        names = list(model.frames)
        more = "" if most is None or len(names) <= most else f", and {len(names) - most} more (--all)"
        _say(console, _plain(f"\nFrames: {', '.join(names[:most])}{more}"))
    _show_remarks(console, "Read, but not used as the file says", model.report, most, leave_out=PROBLEMS)
    problems = [r for subject in PROBLEMS for r in model.report.about(subject)]
    for remark in problems:
        _say(console, f"[bold red]Problem:[/] {_plain(remark)}")
    if not problems:
        _say(console, "\n[green]No problems found.[/]")


def _show_remarks(
    console: Console, title: str, report: Report, most: int | None, leave_out: Sequence[str] = ()
) -> None:
    remarks = [r for r in report if r.subject not in leave_out]
    if not remarks:
        return
    _say(console, f"\n[bold]{title}:[/]")
    for remark in remarks[:most]:
        _say(console, f"  {_plain(remark)}")
    if most is not None and len(remarks) > most:
        _say(console, f"  ... and {len(remarks) - most} more: {_plain(report.summary())}")


def _plain(text: Any) -> str:
    from rich.markup import escape

    return escape(str(text))
