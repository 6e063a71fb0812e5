"""A result as an HTML page that needs nothing else, and as a moving picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError
from supple.exact.kinematics import poses
from supple.model.model import Model
from supple.simulating.result import Result
from supple.simulating.state import State
from supple.viewing.batch import Batch, with_world
from supple.viewing.colours import By, paint
from supple.viewing.shapes import batches
from supple.viewing.stage import Stage, add_sky, bounds, close_server, first_look, open_server
from supple.viewing.timeline import Timeline
from supple.writing import check_target, replacing, write_file

Floats = NDArray[np.float64]

FRAMES = 150  #: states that are taken of a result, at most,
NUMBERS = 12_000_000  #: and so many numbers, unless asked for otherwise
GIF_RATE = 25  #: pictures a second
LOOKS = 8  #: at states, to find out how much room a moving picture needs
MOVING = {".gif": "GIF", ".webp": "WEBP", ".png": "PNG"}  #: formats by endings
PAPER = (255, 255, 255)

#: viser's page lights bodies by a picture all around, and is pale until it has it. Without a graphics card that takes
#: longer than all else: it is held back, and a sky is there instead.
WITHOUT_PICTURE = """<style>canvas { opacity: 1 !important }</style><script>(() => {
    const fetched = window.fetch;
    window.fetch = (what, ...how) => String(what.url ?? what).startsWith("data:image/jpeg")
        ? new Promise(() => {}) : fetched(what, ...how);
})();</script>"""

Tell = Callable[[int, int], None]


def _nothing(done: int, of: int) -> None:
    pass


def frames_for(timeline: Timeline, asked: int | None) -> list[int]:
    """The states to take: as many as asked for, or as a page can bear."""
    if asked is not None and asked < 1:
        raise ViewError(f"there must be at least one picture, not {asked}")
    n = max(s.model.n_bodies for s in timeline.segments)
    return timeline.spread(asked or int(np.clip(NUMBERS // (10 * n), 2, FRAMES)))


def export_html(
    result: Result, path: str | Path, *, frames: int | None = None, by: By = "active", rods: Floats | None = None,
    tell: Tell = _nothing,
) -> Path:  # fmt: skip
    """One file with viser's page and the motion in it, to be opened from anywhere, without a network."""
    check_target(path, ViewError)
    timeline = Timeline(result)
    chosen, speed = frames_for(timeline, frames), timeline.speed
    server = open_server(0, own_light=False)  # the page would go back to its own whenever it begins anew
    add_sky(server.scene)
    try:
        stage = Stage(server)
        stage.rods, stage.by, stage.largest_error = rods, by, timeline.largest_error
        serializer: Any = None
        for k, i in enumerate(chosen):
            state = timeline.state(i)
            stage.show(state.model, state.q, state.active_joints, state.error)
            if serializer is None:  # what is there now is where it begins
                serializer = server.get_scene_serializer()
            if k + 1 < len(chosen):
                serializer.insert_sleep(max(float(timeline.times[chosen[k + 1]]) - state.time, 0.0) / speed)
            tell(k + 1, len(chosen))
        text = serializer.as_html().replace("<head>", "<head>" + _alone() + WITHOUT_PICTURE, 1)
    finally:
        close_server(server)
    write_file(path, text, ViewError)
    return Path(path)


def _alone() -> str:
    """Forbids a page to fetch anything from anywhere."""
    from supple.viewing.gate import POLICY

    return f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(socket="")}">'


def export_gif(
    result: Result, path: str | Path, *, frames: int | None = None, by: By = "active", rods: Floats | None = None,
    size: tuple[int, int] = (800, 600), tell: Tell = _nothing,
) -> Path:  # fmt: skip
    """A GIF, or by its ending an animated WebP or PNG: bodies as lines, far ones first."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise ViewError("a moving picture needs Pillow: pip install 'supple[view]'") from None
    if Path(path).suffix.lower() not in MOVING:
        raise ViewError(f"{path}: a moving picture ends in .gif, .webp or .png")
    check_target(path, ViewError)
    timeline = Timeline(result)
    chosen = frames_for(timeline, frames)
    shapes = Shapes(rods)
    some = [timeline.state(i) for i in {*chosen[:: max(1, len(chosen) // LOOKS)], chosen[-1]}]
    reach = [b.corners(*with_world(poses(s.model, s.q))) for s in some for b in shapes.of(s)]
    camera = Camera(np.concatenate(reach), size, first_look(timeline.state(0).model))
    pictures: list[Any] = []
    for k, i in enumerate(chosen):
        state = timeline.state(i)
        painted = paint(by, state.model.n_bodies, state.active_joints, state.error, timeline.largest_error)
        pictures.append(_draw(shapes.of(state), with_world(poses(state.model, state.q)), painted, camera))
        tell(k + 1, len(chosen))
    span = float(timeline.times[chosen[-1]] - timeline.times[chosen[0]]) / timeline.speed
    each = max(1000.0 / GIF_RATE, 1000.0 * span / max(len(pictures) - 1, 1))
    first, *rest = pictures
    with replacing(path, ViewError) as out:
        how = {"save_all": True, "append_images": rest, "duration": round(each), "loop": 0}
        first.save(out, MOVING[Path(path).suffix.lower()], **how)
    return Path(path)


class Shapes:
    """What is drawn of the models of a result, made once for each."""

    def __init__(self, rods: Floats | None) -> None:
        self._rods = rods
        self._made: dict[int, tuple[Model, list[Batch]]] = {}

    def of(self, state: State) -> list[Batch]:
        model = state.model
        if id(model) not in self._made:
            size = bounds(poses(model, state.q).position)[1]
            self._made[id(model)] = model, batches(model, size, None if self._made else self._rods)[0]
        return self._made[id(model)][1]


class Camera:
    """Looks at points from where a page looks first, without perspective."""

    def __init__(self, points: Floats, size: tuple[int, int], eye: Floats) -> None:
        self.back = eye / np.linalg.norm(eye)  #: towards whoever looks
        ahead = -self.back
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        self._axes = np.stack([right, np.cross(right, ahead), -ahead], axis=1)
        self.size = size
        at = points @ self._axes
        low, high = at.min(axis=0), at.max(axis=0)
        self._middle = 0.5 * (low + high)[:2]
        room = np.maximum((high - low)[:2], 1e-9)
        self.scale = 0.85 * float(np.min(np.array(size) / room)) if (high > low)[:2].any() else min(size) / 2.0

    def see(self, x: Floats) -> tuple[Floats, Floats]:
        """Pixels (m, 2), and how near (m,)."""
        at = x @ self._axes
        p = self.scale * (at[:, :2] - self._middle)
        return np.stack([0.5 * self.size[0] + p[:, 0], 0.5 * self.size[1] - p[:, 1]], axis=1), at[:, 2]


def _draw(made: list[Batch], placed: tuple[Floats, Floats], painted: Any, camera: Camera) -> Any:
    """Rods as lines, solids as the triangles of their meshes, the far ones first; drawn larger, for smooth edges."""
    from PIL import Image, ImageDraw

    fine = 2
    picture = Image.new("RGB", (fine * camera.size[0], fine * camera.size[1]), PAPER)
    pen = ImageDraw.Draw(picture)
    parts: list[tuple[Floats, Floats, Any, Floats]] = []  # points, nearness, colours, widths (0: an area)
    for batch in made:
        R, r = placed[0][batch.body], placed[1][batch.body]
        begin = r + np.einsum("mij,mj->mi", R, batch.begin)
        colour = batch.colours(painted)
        if batch.rods:
            d = np.einsum("mij,mj->mi", R, batch.rotation[:, :, 2])
            a, near = camera.see(begin)
            b, _ = camera.see(begin + batch.scale[:, 2:] * d)
            parts.append((np.stack([a, b], 1), near, colour, np.maximum(fine * camera.scale * batch.scale[:, 0], 2.0)))
            continue
        local = np.einsum("mij,mvj->mvi", batch.rotation, batch.scale[:, None] * batch.vertices)
        at = begin[:, None] + np.einsum("mij,mvj->mvi", R, local)
        corners = at[:, batch.faces].reshape(-1, 3, 3)
        p, near = camera.see(corners.reshape(-1, 3))
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        facing = normal @ camera.back
        shaded = np.repeat(colour, len(batch.faces), axis=0) * (0.55 + 0.45 * facing)[:, None]
        seen = facing > 0
        near = near.reshape(-1, 3).mean(axis=1)[seen]
        parts.append((p.reshape(-1, 3, 2)[seen], near, shaded[seen], np.zeros(len(near))))
    items = [
        (n, fine * p, c, w) for points, near, colour, width in parts for p, n, c, w in zip(points, near, colour, width)
    ]
    for _, p, c, w in sorted(items, key=lambda item: float(item[0])):
        rgb, flat = tuple(int(x) for x in c), [(float(x), float(y)) for x, y in p]
        if w > 0:
            pen.line(flat, fill=rgb, width=round(float(w)))
        else:
            pen.polygon(flat, fill=rgb)
    return picture.resize(camera.size, Image.Resampling.LANCZOS)
