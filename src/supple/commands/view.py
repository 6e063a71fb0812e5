"""`supple view`: a recording in a browser page, as an HTML file, or as a moving picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
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
) -> None:
    """Look at a recording in a browser page: play, pause and scrub; pick bodies; plots beside it."""
    from supple.simulating.run import load_run
    from supple.view.player import Player
    from supple.view.stage import close_server, open_server

    result = load_run(recording)
    try:
        rods = scene_rods(result)
        server = open_server(port, recording.name)
        player = Player(server, result, rods)
        say_where(server, player.missing, open_page)
        try:
            player.run()
        finally:
            close_server(server)
    finally:
        result.close()


def say_where(server: Any, missing: list[str], open_page: bool) -> None:
    import webbrowser

    from supple.view.stage import address

    for reason in missing:
        print(f"not drawn: {reason}", flush=True)
    print(f"Look at {address(server)}  (Ctrl-C ends it)", flush=True)
    if open_page:
        webbrowser.open(address(server))


def scene_rods(result: Result) -> Any:
    """The rods by which a scene draws its bodies, if the recording is one of a scene."""
    from supple import scenes
    from supple.commands.request import parameters
    from supple.errors import SuppleError

    request = result.about.get("request") or {}
    make = scenes.NAMES.get(str(request.get("scene")))
    if make is None:
        return None
    try:
        made = make(**parameters(request["scene"], make, request["set"]))
    except (SuppleError, KeyError, TypeError):  # of a version that had other scenes
        return None
    return made.rods if len(made.rods) == result.segments[0].model.n_bodies else None
