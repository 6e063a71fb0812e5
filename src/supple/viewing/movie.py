"""A result as a moving picture: GIF, WebP, PNG or MP4."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError
from supple.exact.kinematics import poses
from supple.simulating.result import Result
from supple.viewing.batch import with_world
from supple.viewing.camera import asked_view, first_look, fit
from supple.viewing.colours import By, entries, paint
from supple.viewing.pictures import Painter
from supple.viewing.reached import Shapes, motion
from supple.viewing.scenery import Scenery, ground_of
from supple.viewing.timeline import HOLD, Timeline
from supple.writing import check_target, replacing

Floats = NDArray[np.float64]
Tell = Callable[[int, int], None]

STILLS = {".gif": "GIF", ".webp": "WEBP", ".png": "PNG"}  #: formats of Pillow, by endings,
SMALLER: dict[str, dict[str, int]] = {".webp": {"quality": 60, "method": 4}}  #: and how they are packed
ENDINGS = (*STILLS, ".mp4")
FPS = {".mp4": 30.0}  #: pictures a second, unless asked for; of others:
SLOWER = 20.0
MOST = {".mp4": 1800}  #: pictures, unless asked for; of others:
FEWER = 150
ENCODERS = ("libx264", "libopenh264", "mpeg4")  #: the first that PyAV has
LARGEST = 8192  #: pixels of an edge


@dataclass(frozen=True)
class Wanted:
    """How it is to look. None: as it is best."""

    frames: int | None = None  #: pictures, at most
    fps: float | None = None  #: pictures a second
    size: tuple[int, int] = (800, 600)
    camera: str | None = None  #: see camera.asked_view
    by: By = "active"

    def __post_init__(self) -> None:
        if self.frames is not None and self.frames < 1:
            raise ViewError(f"there must be at least one picture, not {self.frames}")
        if self.fps is not None and not 0.1 <= self.fps <= 240.0:
            raise ViewError(f"a moving picture has from 0.1 to 240 pictures a second, not {self.fps:g}")
        if not all(16 <= x <= LARGEST for x in self.size):
            raise ViewError(
                f"a picture is from 16 to {LARGEST} pixels wide and high, not {self.size[0]}x{self.size[1]}"
            )


def nothing(done: int, of: int) -> None:
    """Tells nobody."""


def export_movie(
    result: Result, path: str | Path, wanted: Wanted | None = None, rods: Floats | None = None, tell: Tell = nothing
) -> Path:
    """Write a moving picture, by its ending; how many pictures it has and how long it is depends on the run's time."""
    wanted, ending = wanted or Wanted(), Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ViewError(f"{path}: a moving picture ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    _needs("PIL", "Pillow", "a moving picture")
    if ending == ".mp4":
        _needs("av", "PyAV", "an MP4 film")
    check_target(path, ViewError)
    timeline = Timeline(result)
    frames, rate = schedule(timeline, wanted, ending)
    pictures = drawn(timeline, frames, wanted, rods, tell)
    with replacing(path, ViewError) as out:
        if ending == ".mp4":
            _film(out, pictures, rate)
        else:
            first, *rest = pictures
            how = {"save_all": True, "append_images": rest, "duration": _held(1 + len(rest), rate), "loop": 0}
            first.save(out, STILLS[ending], **how, **SMALLER.get(ending, {}))
    return Path(path)


def schedule(timeline: Timeline, wanted: Wanted, ending: str) -> tuple[list[int], float]:
    """The states to be drawn, evenly in time, and how many a second."""
    begin, end = float(timeline.times[0]), float(timeline.times[-1])
    lasts = (end - begin) / timeline.speed
    rate = wanted.fps or FPS.get(ending, SLOWER)
    most = wanted.frames or (MOST.get(ending, FEWER) if wanted.fps is None else 10**6)
    n = max(1, min(round(lasts * rate) + 1, most))
    if n > 1:
        rate = (n - 1) / lasts if n == most else rate
    return [timeline.at(t) for t in np.linspace(begin, end, n)], rate


def _held(pictures: int, rate: float) -> list[int]:
    """Milliseconds that each picture stays: the last one for a moment, before all begins again."""
    each = round(1000.0 / rate)
    return [*[each] * (pictures - 1), round(max(1000.0 * HOLD, each))]


def drawn(timeline: Timeline, frames: list[int], wanted: Wanted, rods: Floats | None, tell: Tell) -> Iterator[Any]:
    result, shapes = timeline.result, Shapes(rods)
    scenery, aspect = Scenery.of(result), wanted.size[0] / wanted.size[1]
    model, points = timeline.segments[0].model, motion(timeline, rods, scenery)
    view = (
        fit(points, first_look(model, points), aspect) if wanted.camera is None
        else asked_view(wanted.camera, points, aspect)
    )  # fmt: skip
    painter = Painter(view, wanted.size, ground_of(result.ground, model, points), points)
    last, picture = -1, None
    for k, i in enumerate(frames):
        if i != last:
            state = timeline.state(i)
            pose = poses(state.model, state.q)
            things = scenery.batches(state.model, pose, state.time)
            by = wanted.by if state.active_joints is not None else "own"
            around = scenery.legend(name for name, b in things.items() if len(b))
            legend = entries(by, state.sleeping is not None, around)
            painted = paint(by, state, timeline.largest_error)
            picture = painter.draw(
                shapes.of(state), with_world(pose), painted, [*things.values()], legend, timeline.moment(i)
            )
            last = i
        yield picture
        tell(k + 1, len(frames))


def _film(out: Any, pictures: Iterator[Any], rate: float) -> None:
    """H.264, as every browser plays it. Its pictures have an even number of pixels each way."""
    import av

    with av.open(out, "w", format="mp4") as film:
        encoder = next((name for name in ENCODERS if name in av.codecs_available), ENCODERS[-1])
        stream: Any = film.add_stream(encoder, rate=Fraction(rate).limit_denominator(1000))
        if encoder == ENCODERS[0]:
            stream.options = {"crf": "20"}
        stream.pix_fmt = "yuv420p"
        for k, picture in enumerate(pictures):
            if k == 0:
                stream.width, stream.height = (x - x % 2 for x in picture.size)
            even = picture.crop((0, 0, stream.width, stream.height))
            film.mux(stream.encode(av.VideoFrame.from_image(even)))
        film.mux(stream.encode())


def _needs(module: str, name: str, what: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise ViewError(f"{what} needs {name}: pip install 'supple[view]'")
