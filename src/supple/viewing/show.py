"""`supple.view`: a robot, a pose, a motion or a run, in a browser page."""

from __future__ import annotations

import threading
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import as_floats, checked_as, shown, whole
from supple.capture.torques import motion_loads
from supple.errors import StateError, SuppleError, ViewError, quoted
from supple.exact.energy import potential_energy
from supple.files import load, load_bvh
from supple.integrating.states import checked_state
from supple.model.clip import Clip
from supple.model.model import Model
from supple.simulating.result import Result, SegmentInMemory
from supple.simulating.run import load_run
from supple.simulating.starting import closed_if_possible

Floats = NDArray[np.float64]

RATE = 30.0  #: positions a second, unless times are given
FILES = (".urdf", ".xml", ".mjcf", ".bvh")


class Page:
    """A page that shows something, until it is closed: `page.url`, `page.wait()`, `page.close()`."""

    def __init__(self, result: Result, port: int | None, title: str, posed: bool) -> None:
        from supple.viewing.player import Player
        from supple.viewing.stage import address, open_server

        self._server = open_server(port, title)
        self._player = Player(self._server, result, result.rods, posed)
        self._title = title
        self.url: str = address(self._server)  #: of the page, with its token: whoever has it may look
        self._thread: threading.Thread | None = threading.Thread(target=self._player.run, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until Ctrl-C; then the page is closed."""
        try:
            while self._thread is not None and self._thread.is_alive():
                self._thread.join(0.2)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the page."""
        from supple.viewing.stage import close_server

        if self._thread is not None:
            self._player.stop()
            self._thread.join()
            self._thread = None
            close_server(self._server)

    @property
    def missing(self) -> list[str]:
        """What could not be drawn, and why."""
        return self._player.missing

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *what: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Page of {quoted(self._title)}: {self.url if self._thread is not None else 'closed'}>"


@checked_as(ViewError)
def view(
    what: Any,
    q: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    port: Annotated[int, whole(0, 65535)] | None = None,
    open_page: bool = False,
) -> Page:
    """Show something in a browser page, at page.url, while the program goes on; page.wait() holds it until Ctrl-C.

    what: a Model, a Clip, a Result, or the path of a robot (URDF, MJCF), of a captured motion (BVH) or of a recording.
    q: of a model, where it is: a pose (nq,), or a motion (k, nq) at the times (k,) given, 30 a second by default. Poses
    and clips have a slider for each joint. port: of this machine; the first free one from 8080 on by default.
    open_page: also open the browser.
    """
    result, title, posed = shown_as(what, q, times)
    page = Page(result, port, title, posed)
    if open_page:
        webbrowser.open(page.url)
    return page


def shown_as(
    what: Any, q: ArrayLike | None = None, times: ArrayLike | None = None, *, loops: bool = True
) -> tuple[Result, str, bool]:
    """What is to be shown, its name, and whether its joints may be moved. loops: of a robot's file, whether they are
    read."""
    title = ""
    if isinstance(what, (str, Path)):
        title, path = Path(what).name, Path(what)
        suffix = path.suffix.lower()
        what = load_bvh(path) if suffix == ".bvh" else load(path, loops=loops) if suffix in FILES else load_run(path)
    if isinstance(what, Model):
        return posed(_clip(what, q, times)), title or what.name, True
    if q is not None or times is not None:
        raise ViewError("q and times are for a Model; a clip, a run or a recording has its own")
    if isinstance(what, Clip):
        return standing(what), title or what.model.name, True
    if isinstance(what, Result):
        return what, title or what.model.name, False
    raise ViewError(f"what is shown is a Model, a Clip, a Result or the path of a file, not {shown(what)}")


def standing(clip: Clip) -> Result:
    """A captured motion with the ground that its feet stand on and, unless it has arrows, the ground's forces."""
    if clip.arrows is not None:
        return posed(clip)
    try:
        loads = motion_loads(clip)
    except SuppleError as e:
        out = posed(clip)
        out.others = (f"the ground ({e})",)
        return out
    out = posed(replace(clip, arrows=loads.arrows))
    out.ground = np.array([0.0, 0.0, 1.0, loads.support.ground])
    return out


def posed(clip: Clip) -> Result:
    """A captured motion as a result: no velocities."""
    model, n = clip.model, len(clip)
    if n == 0:
        raise ViewError(f"{model.name!r} has no positions to look at")
    v = np.broadcast_to(0.0, (n, model.nv))
    potential = np.asarray(potential_energy(model, clip.q))
    segment = SegmentInMemory(model, clip.times, clip.q, v, np.zeros(n), potential, None, None, None)
    return Result([segment], (), {"method": "posed"}, arrows=clip.arrows)


def _clip(model: Model, q: ArrayLike | None, times: ArrayLike | None) -> Clip:
    x = closed_if_possible(model, model.neutral()) if q is None else as_floats("q", q)
    rows = np.atleast_2d(x)
    if rows.ndim != 2 or rows.shape[1] != model.nq:
        raise StateError(f"q has shape {x.shape}; expected ({model.nq},) or (k, {model.nq})")
    rows = np.stack([checked_state(model, row, None)[0] for row in rows]) if len(rows) else rows
    at = np.arange(len(rows)) / RATE if times is None else as_floats("times", times)
    return Clip(model, at, rows)
