"""`supple demo`: what only Supple can do, in about a minute: a large body exactly and within a promised error, the
exact methods beside others, a picture, and a page that plays a crowd."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console

import supple
from supple import scenes
from supple.demo import exact, promises

JOINTS = 50_000  #: of the molecule
FILM = (4, 5)  #: rows and columns of the crowd in the page
SECONDS, RATE = 5.0, 25  #: of the film; pictures a second


def run(out: Path, console: Console) -> None:
    """Tables on the console, the picture in out/demo.png, the page in out/demo.html."""
    supple.set_threads(1)
    with console.status(f"A molecule of {JOINTS:,} joints ..."):
        molecule = scenes.molecule(JOINTS)
        pulled, curve = promises.molecule(molecule)
        moving = promises.moving(molecule)
    for compared in (pulled, moving):
        console.print(promises.table(compared))
    with console.status("Exact methods ..."):
        found = exact.timings()
    console.print(exact.table(*found))
    with console.status("A film of a crowd ..."):
        scene = scenes.crowd(*FILM)
        film = supple.simulate(
            scene.model, scene.q0, duration=SECONDS, dt=scene.dt, every=round(1.0 / (RATE * scene.dt)),
            method="adaptive", forces=scene.all_forces(), **scene.adaptive,
        )  # fmt: skip
    _picture(out, console, [pulled, moving], curve, film, scene)
    _page(out, console, film, scene)


def _picture(
    out: Path,
    console: Console,
    compared: list[promises.Comparison],
    curve: promises.Curve,
    film: supple.Result,
    scene: scenes.Scene,
) -> None:
    try:
        from supple.demo import picture
    except ImportError:
        say = "No picture: it needs matplotlib (pip install 'supple[figures]')."
    else:
        file = out / "demo.png"
        picture.draw(file, compared, curve, film, scene)
        say = f"The picture is in {file}"
    console.print(say, markup=False, highlight=False)


def _page(out: Path, console: Console, film: supple.Result, scene: scenes.Scene) -> None:
    try:
        from supple.viewing.export import export_html
    except ImportError:
        say = "No page: it needs viser (pip install 'supple[view]')."
    else:
        file = out / "demo.html"
        with console.status("The page ..."):
            export_html(film, file, rods=scene.rods)
        say = f"The page plays {SECONDS:g} s of a crowd. Open it in a browser: xdg-open {shlex.quote(str(file))}"
    console.print(say, markup=False, highlight=False)
