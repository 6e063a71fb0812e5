"""`supple view`: a recording in a browser page, as an HTML file, or as a moving picture."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supple.commands.console import plain
from supple.errors import printable

if TYPE_CHECKING:
    from supple.model.model import Model
    from supple.simulating.result import Result

Port = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Of this machine.", show_default="the first free one from 8080 on"),
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser, too.")]


def view(
    recording: Annotated[Path, typer.Argument(help="A recording, as `supple run --record` makes it.")],
    port: Port = None,
    open_page: Open = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Instead, write a page that needs nothing else to this file.")
    ] = None,
    gif: Annotated[
        Path | None, typer.Option("--gif", help="Instead, write a moving picture to this file (.gif, .webp).")
    ] = None,
    frames: Annotated[int | None, typer.Option("--frames", help="Of --html and --gif, at most.")] = None,
    colour: Annotated[str, typer.Option("--colour", help="Of --html and --gif, by: active, error or own.")] = "active",
) -> None:
    """Look at a recording in a browser page: play, pause and scrub; pick bodies; plots beside it."""
    from supple.model.model import unknown
    from supple.simulating.run import load_run
    from supple.viewing.colours import MEANING
    from supple.viewing.player import Player
    from supple.viewing.stage import close_server, open_server

    if frames is not None and html is None and gif is None:
        raise typer.BadParameter("--frames is for --html and --gif; the page has all")
    if colour not in MEANING:
        raise typer.BadParameter(f"{unknown('colouring', colour, list(MEANING))} ({', '.join(MEANING)})")
    result = load_run(recording)
    try:
        if html is not None or gif is not None:
            _write(result, html, gif, frames, colour)
            return
        server = open_server(port, recording.name)
        player = Player(server, result, result.rods)
        say_where(server, result.model, player.missing, open_page)
        try:
            with suppress(KeyboardInterrupt):
                player.run()
        finally:
            close_server(server)
    finally:
        result.close()


def _write(result: Result, html: Path | None, gif: Path | None, frames: int | None, by: Any) -> None:
    from rich.progress import Progress

    from supple.viewing.export import export_gif, export_html, frames_for
    from supple.viewing.timeline import Timeline

    taken = len(frames_for(Timeline(result), frames))
    more = "" if taken == len(result) or frames is not None else "; --frames takes more"
    for write, path in ((export_html, html), (export_gif, gif)):
        if path is None:
            continue
        with Progress(transient=True) as bar:
            tell = partial(_tell, bar, bar.add_task(plain(path.name)))
            write(result, path, frames=frames, by=by, rods=result.rods, tell=tell)
        print(f"{printable(path)}: {taken} of {len(result)} states, {path.stat().st_size / 1e6:.3g} MB{more}")


def _tell(bar: Any, task: Any, done: int, of: int) -> None:
    bar.update(task, completed=done, total=of)


def say_where(server: Any, model: Model, missing: list[str], open_page: bool) -> None:
    """Where the page is, and what it lacks."""
    import webbrowser

    from supple.viewing.stage import address

    lost = sum(remark.subject.startswith("mesh ") for remark in model.report)
    if lost:
        print(
            f"meshes that the file names and that are not found: {lost} (`supple inspect` lists them); rods instead",
            flush=True,
        )
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        print(f"not drawn: {printable(missing[0])}{more}", flush=True)
    print(f"Look at {address(server)}  (Ctrl-C ends it)", flush=True)
    if open_page:
        webbrowser.open(address(server))
