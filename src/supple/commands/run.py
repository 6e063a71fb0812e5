"""`supple run`: a scene or a file, followed through time."""

from __future__ import annotations

import inspect
import shlex
from contextlib import suppress
from copy import copy
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
STILL = 1e-6  #: rad/s^2 or m/s^2: joints that accelerate less do not accelerate
PICTURES = 0.01  #: seconds of a run that is only watched, between two states that are shown

Some = list[str] | None


def run(
    scene: Annotated[
        str | None, typer.Argument(help="The name of a scene (see --list), or a URDF or MJCF file.")
    ] = None,
    settings: Annotated[Some, typer.Option("--set", help="Set a parameter of the scene, KEY=VALUE.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", help="Read options from a TOML file; its table `set` has the parameters of the scene."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Simulation method: aba, crba, virtual-work, dca, dense, adaptive or quasi-statics.",
            show_default="the scene's; aba for a file",
        ),
    ] = None,
    integrator: Annotated[
        str | None,
        typer.Option(
            "--integrator",
            help="Integrator: rk4, implicit, semi-implicit, euler or dop853.",
            show_default="rk4; implicit if stiff",
        ),
    ] = None,
    dt: Annotated[
        float | None, typer.Option("--dt", help="Step size in seconds.", show_default="the scene's; 0.001 for a file")
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option("--duration", help="Simulated time in seconds.", show_default="the scene's; 5 for a file"),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps",
            min=0,
            help="Number of steps, instead of --duration: quasi-statics has no time.",
            show_default="1000",
        ),
    ] = None,
    every: Annotated[int, typer.Option("--every", help="Keep every n-th step only.")] = 1,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            help="Error allowed to an adaptive method: a fraction of the motion (0.01 is 1%), or as --measure says.",
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="Measure of --error: relative- or absolute-linkage; quasi-statics also relative- or absolute-joint",
            show_default="relative-linkage; quasi-statics: relative-joint",
        ),
    ] = None,
    guaranteed: Annotated[
        bool, typer.Option("--guaranteed", help="Certify --error, of accelerations, at every step (method adaptive).")
    ] = False,
    active: Annotated[
        int | None,
        typer.Option(
            "--active",
            help="Number of joints that an adaptive method simulates. Free roots move, too, and count on top.",
        ),
    ] = None,
    rtol: Annotated[
        float | None, typer.Option("--rtol", help="Relative tolerance of dop853.", show_default="1e-9")
    ] = None,
    atol: Annotated[
        float | None, typer.Option("--atol", help="Absolute tolerance of dop853.", show_default="1e-9")
    ] = None,
    force: Annotated[
        Some, typer.Option("--force", help="Push a body, BODY:FX,FY,FZ or BODY:FX,FY,FZ@X,Y,Z, in newtons and metres.")
    ] = None,
    spring: Annotated[
        Some, typer.Option("--spring", help="Attach a spring to a point, BODY:X,Y,Z,STIFFNESS, in metres and N/m.")
    ] = None,
    torque: Annotated[
        Some, typer.Option("--torque", help="Apply a constant torque or force at a joint, JOINT=VALUE, in N m or N.")
    ] = None,
    control: Annotated[Some, typer.Option("--control", help="Set the control of an actuator, NAME=VALUE.")] = None,
    at: Annotated[Some, typer.Option("--at", help="Initial position of a joint, JOINT=VALUE, in rad or m.")] = None,
    limits: Annotated[
        float | None,
        typer.Option("--limits", help="Enforce joint limits with springs of this stiffness, in N m/rad or N/m."),
    ] = None,
    contacts: Annotated[
        bool, typer.Option("--contacts", help="Simulate contact between shapes, and keep joints within their limits.")
    ] = False,
    ground: Annotated[
        bool,
        typer.Option(
            "--ground", help="Like --contacts, with a floor below all shapes. A robot needs --floating-base to fall."
        ),
    ] = False,
    floating_base: Floating = False,
    no_loops: Tree = False,
    joint_wrenches: Annotated[
        bool, typer.Option("--joint-wrenches", help="Also keep the wrenches that joints carry.")
    ] = False,
    joint_forces: Annotated[bool, typer.Option("--joint-forces", help="Also keep the forces at joints.")] = False,
    record: Annotated[Path | None, typer.Option("--record", help="Record the run in this HDF5 file.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing recording.")] = False,
    resume: Annotated[Path | None, typer.Option("--resume", help="Continue this recording.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Plot energies and coordinates to this file.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Watch and steer the run in a browser page.")] = False,
    port: Port = None,
    open_page: Open = False,
    listed: Annotated[bool, typer.Option("--list", help="List scenes and their parameters.")] = False,
) -> None:
    """Simulate a scene or a robot; record, resume or watch the run.

    With --view, the run goes on until Ctrl-C unless --duration or --record is given; after that, the page replays it.
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

    run = request.simulation()
    about = _about(run, request)
    _say_stiff(run)
    return _with_measured(run, follow(run, record, overwrite=overwrite, progress=True, about=about))


def _about(run: Simulation, request: Any) -> dict[str, Any]:
    """What is kept of a run besides its settings: what was asked for, and the shapes that began within each other."""
    from supple.model.model import count

    about: dict[str, Any] = {"request": asdict(request)}
    within = run.within_each_other()
    if within:
        one, other, depth = within[0]
        more = f", and so did {count(len(within) - 1, 'other pair')}" if len(within) > 1 else ""
        about["within"] = f"{one!r} and {other!r} began {1e3 * depth:.3g} mm within each other{more}"
    return about


def _say_stiff(run: Simulation) -> None:
    """Says why the integrator is not the usual one."""
    if run.why_implicit is not None:
        print(printable(run.why_implicit), flush=True)


def _with_measured(run: Simulation, result: Result) -> Result:
    """A result that says the error of the last state, measured, where joints were left out and nothing touches: a
    share of accelerations says little where things lie on each other."""
    from supple.errors import SuppleError

    with suppress(SuppleError):  # a step from here may be impossible, which is no failure of the run
        measured = run.measured_error() if run.contacts is None else None
        if measured is not None:
            result.about["measured"] = f"at the end, {_measured_said(run, measured)}"
    return result


def _measured_said(run: Simulation, measured: float) -> str:
    """The measured error in words. Where bodies are at rest it says so, since a share of next to nothing is
    misleading."""
    import numpy as np

    from supple.adaptive.dynamics import AdaptiveDynamics
    from supple.adaptive.measures import said

    measure = str(run.settings["error_measure"]).replace("velocity", "acceleration").replace("/s]", "/s^2]")
    left_out = f"the next step leaves out {said(measured, measure)}"
    stepper = run.stepper
    if not isinstance(stepper, AdaptiveDynamics):
        return left_out
    if measured > 0.0:
        whole = copy(stepper)
        whole.active = stepper.model.n_joints
        whole.step(run.dt)
        if np.abs(whole.v - stepper.v).max() <= STILL * run.dt:
            return "nothing accelerates"
    return left_out


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
    server = open_server(port, Path(request.scene).name)
    try:
        live = Live(server, run, run.rods)
        say_where(server, run.model, live.missing, open_page)
        live.wait_for_page()
        about = _about(run, request)
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
    run = request.simulation(model)
    return _with_measured(run, follow(run, path, resume=True, progress=True))


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

    from supple.simulating.sleeping import said as in_trees

    first, last = result.segments[0], result.segments[-1]
    energies = [float(s.kinetic[i] + s.potential[i]) for s, i in ((first, 0), (last, -1))]
    unit = result.model.units.energy
    at_last = f"{energies[1]:.6g} {unit} at last"
    if float(result.times[0]) > 0.0:  # a run without end keeps its last state only
        rows = {"time": f"{result.times[-1]:.6g} s", "how": _how(result), "energy": at_last}
    else:
        rows = {"states": f"{len(result)}, from {result.span}", "how": _how(result)}
        rows["energy"] = f"{energies[0]:.6g} {unit} at first, {at_last}"
        if result.active_counts is not None:
            rows["active joints"] = f"{result.active_counts.mean():.1f} of {result.model.n_joints} on average"
        if result.error is not None:
            rows["error"] = result.error_in_words()
    if "measured" in result.about:
        rows["measured"] = str(result.about["measured"])
    if result.events:
        names = {e.name: sum(o.name == e.name for o in result.events) for e in result.events}
        rows["events"] = ", ".join(f"{n} x {name}" for name, n in names.items())
    final = result.final
    if final.sleeping is not None and len(final.sleeping):
        rows["asleep"] = f"{in_trees(final.model, final.sleeping)}, at the end"
    touching = _contacts_said(result)
    if touching:
        rows["contacts"] = touching
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


def _how(result: Result) -> str:
    """Method and integrator; steps in which something may touch are those of contact."""
    words = [str(result.about[k]) for k in ("method", "integrator") if result.about.get(k)]
    if len(words) > 1 and isinstance(result.about.get("shapes"), list):
        return f"{words[0]}; {words[1]} in flight, midpoint rule in contact"
    return ", ".join(words)


def _contacts_said(result: Result) -> str:
    """Contacts at the end of a run, what was wrong at its beginning, and what its steps missed; empty without them."""
    import numpy as np

    if not isinstance(result.about.get("shapes"), list):
        return ""
    now, model = result.contacts(-1), result.segments[0].model
    forces = [float(np.linalg.norm(c.force)) for c in now]
    words = [f"{len(now)} at the end, the largest force {max(forces):.4g} N" if now else "none at the end"]
    request = result.about.get("request")
    on_ground = isinstance(request, dict) and request.get("ground") and model.report.source is not None
    if on_ground and not any(model.joints[i].type == "free" for i in range(model.n_joints)):
        words.append("the base is fixed to the world: --floating-base lets it fall")
    planes = [x.name for x in model.shape_list if x.kind == "plane"]
    if on_ground and planes:
        words.append(f"--ground adds a floor to the file's own plane {planes[0]!r}: --contacts does not")
    within = result.about.get("within")
    words += [within] if isinstance(within, str) else []
    return "; ".join([*words, *_began_beyond(result), *filter(None, [result.contact_faults])])


def _began_beyond(result: Result) -> list[str]:
    """Joints that began beyond their limits: they are moved back, which changes the energy."""
    from supple.contact.steps.judging import DEEPEST
    from supple.model.manifold import layout
    from supple.model.model import count

    first = result.segments[0]
    if not len(first):
        return []
    model = first.model
    at, dofs = layout(model).plain_q, layout(model).plain_v
    beyond = [max(model.lower[i] - first.q[0, i], first.q[0, i] - model.upper[i]) for i in at]
    k = max(range(len(at)), key=lambda k: beyond[k], default=None)
    if k is None or not beyond[k] > DEEPEST:
        return []
    joint = model.joints[int(model.dof_body[dofs[k]])]
    unit = "m" if joint.type == "prismatic" else "rad"
    others = sum(x > DEEPEST for x in beyond) - 1
    more = f", and so did {count(others, 'other')}" if others else ""
    return [f"joint {joint.name!r} began {beyond[k]:.3g} {unit} beyond its limit{more}"]


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
