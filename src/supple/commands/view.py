"""`supple view`: a recording in a browser page, as an HTML file, or as a moving picture."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from supple.commands.inspect import Tree
from supple.errors import printable

if TYPE_CHECKING:
    from supple.model.model import Model
    from supple.simulating.result import Result

Port = Annotated[
    int | None,
    typer.Option(
        "--port", min=0, max=65535, help="Port on this machine.", show_default="the first free one from 8080 on"
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser, too.")]


MOVING = (".gif", ".webp", ".png", ".mp4")


def view(
    file: Annotated[
        Path,
        typer.Argument(
            help="A recording (`supple run --record` makes one), a robot (URDF, MJCF) or a captured motion (BVH)."
        ),
    ],
    port: Port = None,
    open_page: Open = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Instead, write a page that needs nothing else to this file.")
    ] = None,
    gif: Annotated[
        Path | None, typer.Option("--gif", help="Instead, write a moving picture to this file (.gif, .webp, .png).")
    ] = None,
    mp4: Annotated[Path | None, typer.Option("--mp4", help="Instead, write a film to this file (.mp4).")] = None,
    frames: Annotated[int | None, typer.Option("--frames", help="States or pictures in these files, at most.")] = None,
    fps: Annotated[
        float | None, typer.Option("--fps", help="Pictures a second, of --gif and --mp4.", show_default="20 and 30")
    ] = None,
    size: Annotated[str, typer.Option("--size", help="Pixels of --gif and --mp4, WIDTHxHEIGHT.")] = "800x600",
    camera: Annotated[
        str | None,
        typer.Option(
            "--camera",
            help="Of --gif and --mp4: front, back, left, right, top, corner, or where the eye is, X,Y,Z, and what it "
            "looks at, X,Y,Z:X,Y,Z.",
            show_default="as in the page",
        ),
    ] = None,
    colour: Annotated[str, typer.Option("--colour", help="Colours in these files: active, error or own.")] = "active",
    no_loops: Tree = False,
) -> None:
    """Look at a recording, a robot or a captured motion in a browser page.

    Play, pause and scrub; pick bodies; plots beside a recording, and sliders for the joints of the others.
    """
    from supple.model.model import unknown
    from supple.viewing.colours import MEANING
    from supple.viewing.player import Player
    from supple.viewing.show import shown_as
    from supple.viewing.stage import close_server, open_server

    files = [path for path in (html, gif, mp4) if path is not None]
    if frames is not None and not files:
        raise typer.BadParameter("--frames is for --html, --gif and --mp4; the page has all")
    if (fps is not None or camera is not None or size != "800x600") and gif is None and mp4 is None:
        raise typer.BadParameter("--fps, --size and --camera are for --gif and --mp4")
    pages = (".html", ".htm")
    for option, path, endings in (("--html", html, pages), ("--gif", gif, MOVING[:3]), ("--mp4", mp4, MOVING[3:])):
        if path is not None and path.suffix.lower() not in endings:
            raise typer.BadParameter(f"{option} {printable(path)}: its name must end in {' or '.join(endings)}")
    if colour not in MEANING:
        raise typer.BadParameter(f"{unknown('colouring', colour, list(MEANING), listed=True)} ({', '.join(MEANING)})")
    result, title, posed = shown_as(file, loops=not no_loops)
    try:
        if files:
            _write(result, files, {"frames": frames, "fps": fps, "size": _size(size), "camera": camera, "by": colour})
            return
        server = open_server(port, title)
        try:
            player = Player(server, result, result.rods, posed)
            say_where(server, result.model, player.missing, open_page)
            with suppress(KeyboardInterrupt):
                player.run()
        finally:
            close_server(server)
    finally:
        result.close()


def _size(text: str) -> tuple[int, int]:
    wide, x, high = text.lower().partition("x")
    if not (x and wide.isascii() and wide.isdecimal() and high.isascii() and high.isdecimal() and len(text) < 20):
        raise typer.BadParameter(f"--size {text!r}: write WIDTHxHEIGHT, such as 800x600")
    return int(wide), int(high)


def _write(result: Result, files: list[Path], how: dict[str, Any]) -> None:
    """Each file, by its ending."""
    from supple.bars import Bar
    from supple.viewing.export import export_html
    from supple.viewing.movie import Wanted, export_movie
    from supple.viewing.solids import solids

    wanted = Wanted(**how)
    for path in files:
        taken = 0

        def tell(done: int, of: int) -> None:
            nonlocal taken
            taken = of
            bar.show(done, of)

        with Bar(path.name) as bar:
            if path.suffix.lower() in MOVING:
                export_movie(result, path, wanted, result.rods, tell)
            else:
                export_html(result, path, frames=wanted.frames, by=wanted.by, rods=result.rods, tell=tell)
        more = "" if taken >= len(result) or wanted.frames is not None else "; --frames takes more"
        kind = "pictures" if path.suffix.lower() in MOVING else f"of {len(result)} states"
        print(f"{printable(path)}: {taken} {kind}, {path.stat().st_size / 1e6:.3g} MB{more}")
    _say_missing(result.model, solids(result.model).failed)


def say_where(server: Any, model: Model, missing: list[str], open_page: bool) -> None:
    """Where the page is, and what it lacks."""
    import webbrowser

    from supple.viewing.stage import address

    _say_missing(model, missing)
    print(f"Look at {address(server)}  (Ctrl-C ends it)", flush=True)
    if open_page:
        webbrowser.open(address(server))


def _say_missing(model: Model, missing: list[str]) -> None:
    """What is not drawn as its file says, and what is drawn instead."""
    instead = "contact shapes or rods instead"
    lost = sum(remark.subject.startswith("mesh ") for remark in model.report)
    if lost:
        print(
            f"meshes that the file names and that are not found: {lost} (`supple inspect` lists them); {instead}",
            flush=True,
        )
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        print(f"not drawn: {printable(missing[0])}{more}; {instead}", flush=True)
