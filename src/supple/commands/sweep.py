"""`supple sweep`: many runs of a scene or a robot, kept in a store; or what a store has."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from supple.commands.console import plain, say
from supple.commands.run import STOPPED, _drawable
from supple.commands.view import Open, Port
from supple.errors import SweepError

if TYPE_CHECKING:
    from rich.console import Console

    from supple.sweeping.result import Sweep

Some = list[str] | None
SHOWN = 5  #: failures

Sampling = Literal["sobol", "latin-hypercube", "random"]


def sweep(
    scene: Annotated[
        str | None, typer.Argument(help="A scene's name (see `supple run --list`), a URDF or MJCF file, or a store.")
    ] = None,
    over: Annotated[
        Some,
        typer.Option(
            "--over", help="A parameter and its values: KEY=A,B,C or FROM:TO:COUNT[:log]; FROM:TO is sampled."
        ),
    ] = None,
    settings: Annotated[
        Some, typer.Option("--set", help="A parameter that is the same in all runs, KEY=VALUE.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file with options, and tables `over` and `set`.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, help="How many points of sampled parameters.")
    ] = None,
    sampling: Annotated[
        Sampling | None, typer.Option("--sampling", help="How they are drawn.", show_default="sobol")
    ] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", min=1, help="Each with so many seeds.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="The first seed.", show_default="0")] = None,
    quantity: Annotated[
        Some,
        typer.Option("--quantity", help="A group: state, energies, events, adaptive, gait; of --plot: what to draw."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The store, a folder: map.zarr.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Make the runs that are missing in the store.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="The same, and those that failed.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the store if it is there.")] = False,
    engine: Annotated[
        str | None, typer.Option("--engine", help="local, serial, or dask://HOST:PORT.", show_default="local")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=1024, help="Processes.", show_default="a core each")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw a quantity to this file.")] = None,
    page: Annotated[bool, typer.Option("--page", help="Show the map in a browser page; a click shows a run.")] = False,
    port: Port = None,
    open_page: Open = False,
) -> None:
    """Run a scene or a robot for each combination of parameters, on all cores or a cluster.

    With a store instead of a scene: say what it has, draw it (--plot), go on with it (--resume).
    """
    from rich.console import Console

    from supple.commands.sweep_request import SweepRequest

    console = Console()
    if plot is not None:
        _drawable(plot)
    if (port is not None or open_page) and not page:
        raise typer.BadParameter("--port and --open are for the page of --page")
    asked = SweepRequest.of(scene, over or [], settings or [], samples, sampling, repeats, seed, quantity or [], out)
    where = dict(engine=engine, workers=workers)
    if scene is not None and scene.endswith(".zarr") and not Path(scene).exists():
        raise SweepError(f"there is no store {scene}; to begin one, name a scene or a robot, and --out {scene}")
    if scene is not None and asked.is_store and config is None:
        result = _of_store(Path(scene), asked, where, resume, retry, plot is not None)
    else:
        asked = asked.under(config)
        result = asked.run(resume, retry, overwrite, plot is not None, **where)
    _say(console, result)
    if plot is not None:
        result.plot(plot, asked.to_draw)
        say(console, f"\nDrawn: {plain(plot)}")
    elif result.path is not None and result.done and not page:
        name = plain(shlex.quote(result.path))
        say(console, f"\nTo see it: supple sweep {name} --plot map.png, or --page --open")
    if result.about.get("stopped"):
        raise typer.Exit(STOPPED)
    if page:
        _show(result, port, open_page)


def _show(result: Sweep, port: int | None, open_page: bool) -> None:
    """Until Ctrl-C."""
    import webbrowser

    from supple.viewing.sweep_page import show

    made = show(result, port)
    print(f"The map is at {made.url} until Ctrl-C.", flush=True)
    if open_page:
        webbrowser.open(made.url)
    with suppress(KeyboardInterrupt):
        made.serve()


def _of_store(path: Path, asked: Any, where: dict[str, Any], resume: bool, retry: bool, drawn: bool) -> Sweep:
    from supple.sweeping.result import load_sweep
    from supple.sweeping.sweep import go_on

    if asked.says_more:
        raise typer.BadParameter("a sweep is resumed as it was begun: of a store, only --resume, --retry and --plot")
    if asked.quantity and not drawn:
        raise typer.BadParameter("--quantity of a store is what to draw: add --plot map.png")
    if asked.to_draw is not None and not (resume or retry):
        _ = load_sweep(path)[asked.to_draw]  # refused before anything is said
    if resume or retry:
        return go_on(path, retry=retry, progress=True, **where)
    if any(x is not None for x in where.values()):
        raise typer.BadParameter("--engine and --workers are for runs: add --resume to make those that are missing")
    return load_sweep(path)


def _say(console: Console, result: Sweep) -> None:
    from rich.table import Table

    numbers = [f"{result.done:,} done", f"{result.failed:,} failed", f"{result.missing:,} missing"]
    rows = {
        "runs": f"{len(result):,}: " + ", ".join(x for x in numbers if not x.startswith("0 ")),
        "over": " x ".join(f"{len(x)} {name}" for name, x in _axes(result)),
    }
    for name in result.quantities:
        unit = result.units.get(name, "1")
        rows[name] = _range(result[name]) + ("" if unit == "1" else f" {unit}")
    table = Table(
        title=plain(result.about.get("what", "")), title_justify="left", title_style="bold", show_header=False
    )
    table.box = None
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(plain(name), plain(value))
    console.print(table)
    for bad in result._failures(SHOWN):
        given = ", ".join(f"{name}={x}" for name, x in bad.parameters.items())
        say(console, plain(f"  run {bad.run} ({given}) failed: {bad.message}"))
    if result.failed > SHOWN:
        say(console, f"  and {result.failed - SHOWN:,} others")
    if result.path is not None and result.missing:
        say(console, f"\nTo go on: {plain(f'supple sweep {shlex.quote(result.path)} --resume')}")


def _axes(result: Sweep) -> list[tuple[str, Any]]:
    return [(name, values) for name, values in zip(result.dimensions, (range(n) for n in result.shape))]


def _range(values: Any) -> str:
    """From the smallest to the largest, or how many different words."""
    import numpy as np

    if values.dtype.kind == "U":
        return f"{len({*values.reshape(-1).tolist()} - {''})} different words"
    known = values[np.isfinite(values)]
    return f"{known.min():.6g} to {known.max():.6g}" if len(known) else "none"
