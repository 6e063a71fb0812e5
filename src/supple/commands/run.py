"""`supple run`: a scene or a file, followed through time."""

from __future__ import annotations

import inspect
import shlex
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from supple.commands.console import plain, say
from supple.commands.inspect import Floating, Tree
from supple.commands.view import Open, Port
from supple.errors import printable
from supple.writing import check_target

if TYPE_CHECKING:
    from rich.console import Console

    from supple.simulating.result import Result
    from supple.simulating.simulation import Simulation

STOPPED = 130
PICTURES = 0.01  #: seconds of a run that is only watched, between two states that are shown

Some = list[str] | None


def run(
    scene: Annotated[str | None, typer.Argument(help="A scene's name (see --list), or a URDF or MJCF file.")] = None,
    settings: Annotated[Some, typer.Option("--set", help="A parameter of the scene, KEY=VALUE.")] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file with options, and a table `set`.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="aba, crba, virtual-work, dca, dense, adaptive, quasi-statics.",
            show_default="the scene's; aba of a file",
        ),
    ] = None,
    integrator: Annotated[
        str | None,
        typer.Option(
            "--integrator", help="rk4, implicit, semi-implicit, euler or dop853.", show_default="rk4; implicit if stiff"
        ),
    ] = None,
    dt: Annotated[
        float | None, typer.Option("--dt", help="Seconds of a step.", show_default="the scene's; 0.001 of a file")
    ] = None,
    duration: Annotated[
        float | None, typer.Option("--duration", help="Seconds to follow it.", show_default="the scene's; 5 of a file")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps", min=0, help="Steps to follow it, instead: quasi-statics knows no seconds.", show_default="1000"
        ),
    ] = None,
    every: Annotated[int, typer.Option("--every", help="Keep every so many steps.")] = 1,
    error: Annotated[
        float | None,
        typer.Option("--error", help="What may be left out: a share of the motion (0.01: 1%), or as --measure says."),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="Of --error: relative-linkage, absolute-linkage; quasi-statics also relative-joint, absolute-joint.",
            show_default="relative-linkage; quasi-statics: relative-joint",
        ),
    ] = None,
    guaranteed: Annotated[
        bool, typer.Option("--guaranteed", help="Adaptive: certify --error, of accelerations, at every step.")
    ] = False,
    active: Annotated[int | None, typer.Option("--active", help="How many joints an adaptive method moves.")] = None,
    rtol: Annotated[float | None, typer.Option("--rtol", help="Of integrator dop853.", show_default="1e-9")] = None,
    atol: Annotated[float | None, typer.Option("--atol", help="Of integrator dop853.", show_default="1e-9")] = None,
    force: Annotated[Some, typer.Option("--force", help="A push, BODY:FX,FY,FZ or BODY:FX,FY,FZ@X,Y,Z.")] = None,
    spring: Annotated[Some, typer.Option("--spring", help="A spring to a point, BODY:X,Y,Z,STIFFNESS.")] = None,
    torque: Annotated[Some, typer.Option("--torque", help="A constant force at a joint, JOINT=VALUE.")] = None,
    control: Annotated[Some, typer.Option("--control", help="A constant control of an actuator, NAME=VALUE.")] = None,
    at: Annotated[Some, typer.Option("--at", help="Where a joint begins, JOINT=VALUE.")] = None,
    limits: Annotated[float | None, typer.Option("--limits", help="Joint limits as springs, so stiff.")] = None,
    contacts: Annotated[
        bool, typer.Option("--contacts", help="Let bodies touch, and hold joints within limits.")
    ] = False,
    ground: Annotated[bool, typer.Option("--ground", help="The same, with a floor below all bodies.")] = False,
    floating_base: Floating = False,
    no_loops: Tree = False,
    joint_wrenches: Annotated[bool, typer.Option("--joint-wrenches", help="Keep what joints carry, too.")] = False,
    joint_forces: Annotated[bool, typer.Option("--joint-forces", help="Keep the forces at joints, too.")] = False,
    record: Annotated[Path | None, typer.Option("--record", help="Keep everything in this HDF5 file.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the recording if it is there.")] = False,
    resume: Annotated[Path | None, typer.Option("--resume", help="Go on with this recording.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw energies and coordinates to this file.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Watch and steer it in a browser page; see --duration.")] = False,
    port: Port = None,
    open_page: Open = False,
    listed: Annotated[bool, typer.Option("--list", help="List scenes and their parameters.")] = False,
) -> None:
    """Follow a scene or a robot through time; record it, resume it, watch it.

    With --view, it goes on until Ctrl-C unless --duration or --record is given; after that, the page plays it again.
    """
    from rich.console import Console

    from supple.request import Request, assignments

    console = Console()
    if listed:
        _list(console)
        return
    asked = Request(
        scene, assignments(settings or []), method, integrator, dt, duration, every, error, active, rtol, atol,
        force or [], spring or [], torque or [], at or [], limits, floating_base, joint_wrenches,
        steps, measure, guaranteed or None, control or [], joint_forces, not no_loops, contacts, ground,
    )  # fmt: skip
    if (port is not None or open_page) and not view:
        raise typer.BadParameter("--port and --open are for the page of --view")
    if plot is not None:
        _drawable(plot)
    if resume is not None and view:
        raise typer.BadParameter("a run that is resumed is not watched: `supple view` shows its recording")
    if resume is not None:
        result = _resume(resume, asked, record, config)
    else:
        request = asked.over(config)
        if request.scene is None:
            raise typer.BadParameter("name a scene or a file; `supple run --list` lists the scenes")
        result = _watch(request, record, overwrite, port, open_page) if view else _follow(request, record, overwrite)
    _say_done(console, result, resume or record)
    if plot is not None:
        result.plot(str(plot))
        say(console, f"  {plain(plot)}")
    if "stopped at" in str(result.about.get("stopped", "")):
        raise typer.Exit(STOPPED)


def _follow(request: Any, record: Path | None, overwrite: bool) -> Result:
    from supple.simulating.run import follow

    run, about = request.simulation(), {"request": asdict(request)}
    _say_stiff(run)
    return _with_measured(run, follow(run, record, overwrite=overwrite, progress=True, about=about))


def _say_stiff(run: Simulation) -> None:
    """Says why the integrator is not the usual one."""
    if run.why_implicit is not None:
        print(printable(run.why_implicit), flush=True)


def _with_measured(run: Simulation, result: Result) -> Result:
    """A result that says the error of the last state, measured, where joints were left out."""
    from supple.adaptive.measures import said
    from supple.errors import SuppleError

    with suppress(SuppleError):  # a step from here may be impossible, which is no failure of the run
        measured = run.measured_error()
        if measured is not None:
            measure = str(run.settings["error_measure"]).replace("velocity", "acceleration").replace("/s]", "/s^2]")
            result.about["measured_error"] = said(measured, measure)
    return result


def _watch(request: Any, record: Path | None, overwrite: bool, port: int | None, open_page: bool) -> Result:
    """The same in a page; then the page plays what was kept, until Ctrl-C."""
    from supple.commands.view import say_where
    from supple.simulating.run import follow
    from supple.viewing.live import Live
    from supple.viewing.player import Player
    from supple.viewing.stage import clear, close_server, open_server

    endless = request.duration is None and record is None
    run = request.simulation(endless=endless)
    if endless and request.every == 1:  # nothing is kept, so nobody misses what is between two pictures
        run.grid = replace(run.grid, every=max(1, round(PICTURES / run.dt)))
    _say_stiff(run)
    server = open_server(port, request.scene)
    try:
        live = Live(server, run, run.rods)
        say_where(server, run.model, live.missing, open_page)
        live.wait_for_page()
        about = {"request": asdict(request)}
        result = follow(run, record, overwrite=overwrite, progress=True, about=about, watch=live.look, keep=not endless)
        if not endless and "stopped at" not in str(result.about.get("stopped", "")):
            print("It is over; the page plays it again.", flush=True)
            clear(server)
            player = Player(server, result, run.rods)
            with suppress(KeyboardInterrupt):
                player.run()
        return result
    finally:
        close_server(server)


def _resume(path: Path, asked: Any, record: Path | None, config: Path | None) -> Result:
    """Everything is as it was asked for when the recording was begun, but for the duration."""
    from supple.errors import RecordingError, StateError
    from supple.record.recording import Recording
    from supple.request import Request, typed
    from supple.simulating.run import follow

    if asked != Request(duration=asked.duration, steps=asked.steps) or record is not None or config is not None:
        raise typer.BadParameter(
            "a run is resumed as it was begun: beside --resume only --duration or --steps may be given"
        )
    with Recording(path) as r:
        if "request" not in r.about:
            raise RecordingError(f"{path} was recorded from Python: resume it there, with simulate(..., resume=True)")
        model = r.model(0)
        try:
            request = Request.recorded(r.about["request"], model)
            ended = typed("duration", r.about.get("duration"), float)
        except StateError as e:
            made = r.versions.get("supple")
            raise RecordingError(f"{path}, made by Supple {made}, cannot be resumed by this version: {e}") from None
    request.duration, request.steps = asked.duration, asked.steps
    if request.duration is None and request.steps is None:
        request.duration = ended
    return follow(request.simulation(model), path, resume=True, progress=True)


def _drawable(path: Path) -> None:
    """Refuses before the run what could not be drawn after it."""
    from supple.drawing import require_matplotlib

    require_matplotlib()
    from matplotlib.figure import Figure

    kinds = sorted(Figure().canvas.get_supported_filetypes())
    if path.suffix.lstrip(".").lower() not in kinds:
        raise typer.BadParameter(f"--plot {path}: a picture's name ends in one of {', '.join(kinds)}")
    check_target(path)


def _say_done(console: Console, result: Result, record: Path | None) -> None:
    from rich.table import Table

    first, last = result.segments[0], result.segments[-1]
    energies = [float(s.kinetic[i] + s.potential[i]) for s, i in ((first, 0), (last, -1))]
    unit = result.model.units.energy
    rows = {
        "states": f"{len(result)}, from {result.span}",
        "how": ", ".join(str(result.about[k]) for k in ("method", "integrator") if result.about.get(k)),
        "energy": f"{energies[0]:.6g} {unit} at first, {energies[1]:.6g} {unit} at last",
    }
    if result.active_counts is not None:
        rows["active joints"] = f"{result.active_counts.mean():.1f} of {result.model.n_joints} on average"
    if result.error is not None:
        rows["error"] = result.error_in_words()
    if "measured_error" in result.about:
        rows["measured"] = f"at the end, the next step leaves out {result.about['measured_error']}"
    if result.events:
        names = {e.name: sum(o.name == e.name for o in result.events) for e in result.events}
        rows["events"] = ", ".join(f"{n} x {name}" for name, n in names.items())
    if result.contact_faults:
        rows["contacts"] = result.contact_faults
    lost = _not_simulated(result)
    if lost:
        rows["not simulated"] = f"{lost} (`supple inspect` says more)"
    if "seconds" in result.about:
        rows["took"] = f"{result.about['seconds']:.3g} s"
    if record is not None:
        rows["recorded in"] = f"{record}, {record.stat().st_size / 1e6:.3g} MB"
    table = Table(title=plain(result.model.name), title_justify="left", title_style="bold", show_header=False, box=None)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, plain(value))
    console.print(table)
    if record is not None and result.about.get("stopped") and not result.about.get("steered"):
        again = f"supple run --resume {shlex.quote(str(record))}"
        say(console, f"\nTo go on: {plain(again)}")
    if record is not None:
        say(console, f"\nTo watch it: {plain(f'supple view {shlex.quote(str(record))}')}")


def _not_simulated(result: Result) -> str:
    """What of a file would change how it moves, and is left out, in one line."""
    from supple.files.lost import CONTACTS, LIMITS, left_out

    model, asked = result.segments[0].model, result.about.get("request")
    request: dict[str, Any] = asked if isinstance(asked, dict) else {}
    touching = bool(request.get("contacts") or request.get("ground"))
    acting = {LIMITS: touching or request.get("limits") is not None, CONTACTS: touching}
    words = [] if model.report.source is None else left_out(model)
    return "; ".join(word for word in words if not acting.get(word))


def _list(console: Console) -> None:
    from rich.table import Table

    from supple.scenes import NAMES

    table = Table(box=None, pad_edge=False)
    for title in ("scene", "parameters, to be --set", "what it is"):
        table.add_column(title, overflow="fold")
    for name, make in NAMES.items():
        hints = get_type_hints(make)
        takes = [
            f"{p.name}={p.default}{_choices(hints.get(p.name))}" for p in inspect.signature(make).parameters.values()
        ]
        about = " ".join((inspect.getdoc(make) or "").split("\n\n")[0].split())
        table.add_row(f"[cyan]{name}[/]", "\n".join(takes), about)
    console.print(table)


def _choices(kind: Any) -> str:
    return f" ({', '.join(map(str, get_args(kind)))})" if get_origin(kind) is Literal else ""
