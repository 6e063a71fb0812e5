"""A state as a picture, without a browser: what the page shows, drawn from far to near, with a legend and the time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.viewing.batch import Batch
from supple.viewing.camera import View, bounds
from supple.viewing.colours import PLANE, Bytes, Entry
from supple.viewing.nodes import WORLD
from supple.viewing.scenery import CELLS, Ground, nice
from supple.viewing.turned import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Points = list[tuple[float, float]]
Rows = list[list[tuple[Entry, int, int]]]  #: lines of a legend: entries, where they begin, how wide their patches are
Item = tuple[float, Points, tuple[int, ...], float]  #: how far; points; colour; width of a rod (0: an area)

FINE = 2  #: drawn so much larger, for smooth edges
PAPER, INK = (255, 255, 255), (40, 48, 56)
LINE, SECTION = (216, 216, 216), (178, 178, 178)
EDGE = 0.72  #: how dark the edge of a rod or ball is, which tells it from the next
CAP = 0.3  #: of the width: how much of a round end is within the length of a rod
THIN = 3.0  #: pixels, of the large picture: what is thinner has no edge
SHINE, SHINY = 0.3, 8.0  #: how much of a round body's colour turns white where light falls on it, if it is wider
SUN = np.array([0.25, -0.35, 1.0])  #: towards the light that throws shadows, where z is up
NOTHING = 1e-6  #: of the largest instance: what is smaller is not drawn
TRIANGLES = 30_000  #: of capsules, beyond which they are drawn as strokes that are round at their ends
LONG = 0.15  #: of an instance: the longest edges of triangles,
FINER = 15_000  #: as far as a batch then has no more of them
SHADE = (226, 226, 226)  #: of shadows on the ground
LETTERS = 1 / 36  #: the height of letters, as a share of a picture's
LEAST, READABLE = 12, 7  #: in pixels: the least height of letters, and that where a legend would not fit otherwise


class Painter:
    """Pictures of one size from one view."""

    def __init__(self, view: View, size: tuple[int, int], ground: Ground | None, points: Floats) -> None:
        """points: all that a motion reaches, for which the ground must be large enough."""
        self._view, self._size = view, (FINE * size[0], FINE * size[1])
        self.size = size
        self._floor = ground if ground is not None and ground.real else None  #: a mere grid has no shadows
        self._hulls: dict[int, tuple[Batch, Floats]] = {}  #: by batch, which is kept: the corners that throw its shadow
        self._paper = self._with_ground(ground, points)
        self._finer: dict[int, tuple[Batch, Mesh]] = {}  #: by batch or mesh: with shorter triangles
        self._strokes = False  #: whether capsules are drawn as such

    def draw(
        self, made: list[Batch], placed: tuple[Floats, Floats], painted: Bytes | None, things: list[Batch],
        legend: list[Entry], said: str,
    ) -> Any:  # fmt: skip
        """A picture. placed: see with_world; painted: colours of bodies; things: around them; said: the time."""
        from PIL import ImageDraw

        self._strokes = sum(len(b) * len(b.faces) for b in made if b.kind == "capsule") > TRIANGLES
        picture = self._paper.copy()
        pen = ImageDraw.Draw(picture)
        for batch in made:
            if len(batch):
                (self._solid_shadows if batch.kind == "solid" else self._shadows)(pen, batch, *placed)
        items: list[Item] = []
        for batch, where, colours in (
            *((b, placed, b.colours(painted)) for b in made),
            *((b, WORLD, b.own) for b in things),
        ):
            if len(batch):
                items += self._items(batch, *where, colours)
        for _, points, colour, width in sorted(items, key=lambda item: -item[0]):
            if width == 0.0:
                pen.polygon(points, fill=colour)
            else:
                _stroke(pen, points, colour, width)
        picture = picture.reduce(FINE)
        self._caption(ImageDraw.Draw(picture), legend, said)
        return picture

    def _shadows(self, pen: Any, batch: Batch, R: Floats, r: Floats) -> None:
        """Of rods, balls and capsules, on the ground below them."""
        if self._floor is None:
            return
        begin, end, wide = (x[batch.body >= 0] for x in _ends(batch, R, r))
        a, b = (self._floor.along(x, self._floor.turn @ SUN) for x in (begin, end))
        a, near = self._view.see(a, self._size)
        b, far = self._view.see(b, self._size)
        width = np.maximum(wide * self._view.pixels(0.5 * (near + far), self._size), 1.0)
        for p, q, w, z in zip(a.tolist(), b.tolist(), width.tolist(), np.minimum(near, far).tolist()):
            if z > 1e-6:
                within = 0.0 if batch.kind == "capsule" else CAP * w
                _round(pen, _shorter([tuple(p), tuple(q)], within), SHADE, w)

    def _solid_shadows(self, pen: Any, batch: Batch, R: Floats, r: Floats) -> None:
        """Of solids that move, each as if it were convex."""
        mine = np.flatnonzero(batch.body >= 0)
        if self._floor is None or not len(mine):
            return
        corners = self._hulls.setdefault(id(batch), (batch, _outermost(batch.vertices)))[1]
        local = np.einsum("mij,mvj->mvi", batch.rotation[mine], batch.scale[mine, None] * corners)
        turn, at = R[batch.body[mine]], r[batch.body[mine]]
        at = at[:, None] + np.einsum("mij,mvj->mvi", turn, batch.begin[mine, None] + local)
        thrown = self._floor.along(at.reshape(-1, 3), self._floor.turn @ SUN)
        p, ahead = self._view.see(thrown, self._size)
        for points, z in zip(p.reshape(*at.shape[:2], 2), ahead.reshape(at.shape[:2]).min(axis=1).tolist()):
            if z > 1e-6:
                pen.polygon([tuple(x) for x in _outermost(points).tolist()], fill=SHADE)

    def _items(self, batch: Batch, R: Floats, r: Floats, colours: Bytes) -> Iterator[Item]:
        """What is to be drawn of a batch, as far as it is before the camera."""
        if batch.kind == "solid" or (batch.kind == "capsule" and not self._strokes):
            return self._triangles(batch, R, r, colours)
        begin, end, wide = _ends(batch, R, r)
        a, near = self._view.see(begin, self._size)
        b, far = self._view.see(end, self._size)
        ahead = 0.5 * (near + far)
        width = np.maximum(wide * self._view.pixels(ahead, self._size), 2.0)
        seen = np.minimum(near, far) > 1e-6
        rows = zip(
            ahead[seen].tolist(), a[seen].tolist(), b[seen].tolist(), colours[seen].tolist(), width[seen].tolist()
        )
        beyond = CAP if batch.kind == "capsule" else 0.0  # of the width: caps are beyond its ends, those of rods within
        return ((z, _shorter([tuple(p), tuple(q)], -beyond * w), tuple(c), w) for z, p, q, c, w in rows)

    def _triangles(self, batch: Batch, R: Floats, r: Floats, colours: Bytes) -> Iterator[Item]:
        vertices, faces = self._mesh(batch)
        some = np.flatnonzero(batch.scale.max(axis=1) > NOTHING * batch.scale.max())
        turn, colours = R[batch.body[some]], colours[some]
        begin = r[batch.body[some]] + np.einsum("mij,mj->mi", turn, batch.begin[some])
        local = np.einsum("mij,mvj->mvi", batch.rotation[some], batch.scale[some, None] * vertices)
        at = begin[:, None] + np.einsum("mij,mvj->mvi", turn, local)
        corners = at[:, faces].reshape(-1, 3, 3)
        p, ahead = self._view.see(corners.reshape(-1, 3), self._size)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        to_eye = self._view.eye - corners.mean(axis=1)
        facing = np.einsum("fi,fi->f", normal, to_eye / np.linalg.norm(to_eye, axis=1)[:, None])
        shaded = np.repeat(colours, len(faces), axis=0) * (0.7 + 0.3 * np.abs(facing))[:, None]
        seen = (facing > 0) & (ahead.reshape(-1, 3).min(axis=1) > 1e-6)
        rows = zip(ahead.reshape(-1, 3).mean(axis=1)[seen].tolist(), p.reshape(-1, 3, 2)[seen].tolist(),
                   shaded[seen].astype(int).tolist())  # fmt: skip
        return ((z, [tuple(x) for x in three], tuple(c), 0.0) for z, three, c in rows)

    def _mesh(self, batch: Batch) -> Mesh:
        """The mesh of a batch, without long triangles where there are few: what is nearer is told by their middles."""
        key = id(batch.faces)  # arrows are a new batch for every picture, of the same mesh
        if key not in self._finer:
            largest = batch.scale[int(np.argmax(batch.scale.max(axis=1)))]
            self._finer[key] = batch, finer(batch.vertices, batch.faces, largest, FINER // len(batch))
        return self._finer[key][1]

    def _with_ground(self, ground: Ground | None, points: Floats) -> Any:
        """An empty picture: the ground, with a grid on it."""
        from PIL import Image, ImageDraw

        picture = Image.new("RGB", self._size, PAPER)
        if ground is None:
            return picture
        pen = ImageDraw.Draw(picture)
        centre, radius = bounds(points)
        cell = nice(radius / CELLS)
        n = int(np.ceil(1.3 * radius / cell))
        axes, at = ground.turn, ground.below(centre)
        at = at - axes @ (np.remainder(axes.T @ at, cell) * (1.0, 1.0, 0.0))  # lines where the coordinates are round
        k = cell * np.arange(-n, n + 1)
        if ground.real:
            corners = at + np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * n * cell @ axes[:, :2].T
            self._area(pen, corners)
        for along, across in ((0, 1), (1, 0)):
            side = k[:, None] * axes[:, across]
            far = n * cell * axes[:, along]
            self._segments(pen, at + side - far, at + side + far)
        return picture

    def _area(self, pen: Any, corners: Floats) -> None:
        """The part of an area that is ahead of the eye."""
        _, ahead = self._view.see(corners, self._size)
        near = 1e-3 * float(np.abs(ahead).max())
        inside = []
        for i, j in zip(range(len(corners)), (*range(1, len(corners)), 0)):
            if ahead[i] > near:
                inside.append(corners[i])
            if (ahead[i] > near) != (ahead[j] > near):
                s = (near - ahead[i]) / (ahead[j] - ahead[i])
                inside.append(corners[i] + s * (corners[j] - corners[i]))
        if inside:
            p, _ = self._view.see(np.array(inside), self._size)
            pen.polygon([tuple(x) for x in p.tolist()], fill=PLANE)

    def _segments(self, pen: Any, begin: Floats, end: Floats, parts: int = 10) -> None:
        """Lines, in parts: those behind the camera are left out."""
        for s in np.arange(parts) / parts:
            a, near = self._view.see(begin + s * (end - begin), self._size)
            b, far = self._view.see(begin + (s + 1.0 / parts) * (end - begin), self._size)
            for p, q, ok in zip(a.tolist(), b.tolist(), (np.minimum(near, far) > 1e-6).tolist()):
                if ok:
                    pen.line([tuple(p), tuple(q)], fill=LINE, width=FINE)

    def _caption(self, pen: Any, legend: list[Entry], said: str) -> None:
        height, rows = _fitted(legend, self.size)
        font, x = _font(height), round(0.7 * height)
        pen.text((x, x), said, fill=INK, font=font)
        for k, row in enumerate(reversed(rows)):
            y = self.size[1] - round((1.9 + 1.5 * k) * height)
            for entry, left, wide in row:
                at = x + left
                if entry.colour is not None:
                    begin, end = np.array(entry.colour), np.array(entry.to or entry.colour)
                    for i, share in enumerate(np.linspace(0.0, 1.0, wide)):
                        mixed = tuple(int(c) for c in np.round(begin + share * (end - begin)))
                        pen.line([(at + i, y), (at + i, y + height - 1)], fill=mixed)
                    at += _patch(wide, height)
                pen.text((at, y - round(0.15 * height)), entry.text, fill=INK, font=font)


def finer(vertices: Floats, faces: Ints, scale: Floats, most: int) -> Mesh:
    """A mesh whose longest edges are halved until none is longer than LONG times the whole, at this scale, or there
    would be more triangles than `most`."""
    longest = LONG * float(np.linalg.norm(np.ptp(scale * vertices, axis=0)))
    while True:
        corners = scale * vertices[faces]
        edge = np.linalg.norm(corners[:, (1, 2, 0)] - corners, axis=2)  # k: from corner k to the next
        long = np.flatnonzero(edge.max(axis=1) > longest)
        if not len(long) or len(faces) + len(long) > most:
            return vertices, faces
        k = edge[long].argmax(axis=1)
        a, b, c = (faces[long, (k + i) % 3] for i in range(3))
        middle = len(vertices) + np.arange(len(long))
        vertices = np.concatenate([vertices, 0.5 * (vertices[a] + vertices[b])])
        halves = np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)
        faces = np.concatenate([np.delete(faces, long, axis=0), *halves])


def _outermost(vertices: Floats) -> Floats:
    """Those of the convex hull, in a plane one after the other; all of them where it has no volume."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(vertices[ConvexHull(vertices).vertices])
    except (QhullError, ValueError):
        return vertices


@cache
def _font(height: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size=height)


def _fitted(legend: list[Entry], size: tuple[int, int]) -> tuple[int, Rows]:
    """How high letters are, and a legend in lines: smaller letters where these would reach the time or the right edge;
    no lines where they would be too small to be read."""
    wide, high = size
    for height in range(max(LEAST, round(LETTERS * high)), READABLE - 1, -1):
        font, margin = _font(height), round(0.7 * height)
        rows = _rows(legend, height, font, wide - 2 * margin)
        ends = [x + _patch(patch, height) + font.getlength(entry.text) for row in rows for entry, x, patch in row]
        if (1.5 * len(rows) + 2.5) * height <= high and max(ends, default=0) <= wide - 2 * margin:
            break
    else:
        rows = []
    return height, rows


def _patch(wide: int, height: int) -> int:
    """How much room a patch of colour takes, with what is beside it."""
    return wide + round(0.4 * height) if wide else 0


def _rows(legend: list[Entry], height: int, font: Any, room: float) -> Rows:
    """Entries of a legend in lines: each with where it begins, and how wide its patch of colour is. An entry that is
    longer than a line has lines of its own."""
    out: Rows = [[]]
    x = 0
    for entry in legend:
        wide = 0 if entry.colour is None else height if entry.to is None else 4 * height
        before = _patch(wide, height)
        takes = before + round(float(font.getlength(entry.text)))
        if x + takes > room and out[-1]:
            out, x = [*out, []], 0
        first, *others = _lines(entry.text, font, room - before)
        out[-1].append((entry._replace(text=first), x, wide))
        out += [[(Entry(line, None), before, 0)] for line in others]
        x += takes + height
    return out


def _lines(text: str, font: Any, room: float) -> list[str]:
    """A text in lines that are no wider than there is room, unless a word is."""
    out: list[str] = []
    for word in text.split(" "):
        longer = f"{out[-1]} {word}" if out else word
        if out and float(font.getlength(longer)) <= room:
            out[-1] = longer
        else:
            out.append(word)
    return out


def _ends(batch: Batch, R: Floats, r: Floats) -> tuple[Floats, Floats, Floats]:
    """Where rods, balls and dots begin and end in the world, and how wide they are."""
    turn = R[batch.body]
    begin = r[batch.body] + np.einsum("mij,mj->mi", turn, batch.begin)
    if batch.kind == "ball":
        return begin, begin, batch.scale[:, 0]
    if batch.dots:
        middle = np.asarray(batch.middles(R, r), dtype=np.float64)
        return middle, middle, np.full(len(batch), batch.dot)
    end = begin + batch.scale[:, 2:] * np.einsum("mij,mj->mi", turn, batch.rotation[:, :, 2])
    return begin, end, np.sqrt(batch.scale[:, 0] * batch.scale[:, 1])


def _stroke(pen: Any, points: Points, colour: tuple[int, ...], width: float) -> None:
    """A rod or a ball: round at its ends; with an edge and some light on it, unless it is very thin."""
    if width <= THIN:
        _round(pen, points, colour, width)
        return
    points = _shorter(points, CAP * width)
    _round(pen, points, _mixed(colour, 0, 1.0 - EDGE), width)
    _round(pen, points, colour, 0.78 * width)
    if width > SHINY:
        off = 0.15 * width
        _round(pen, [(x - off, y - off) for x, y in points], _mixed(colour, 255, SHINE), 0.26 * width)


def _round(pen: Any, points: Points, fill: tuple[int, ...], width: float) -> None:
    """A line with round ends; a disc, if it has no length."""
    if points[0] != points[1]:
        pen.line(points, fill=fill, width=max(1, round(width)))
    if width > THIN or points[0] == points[1]:
        for x, y in points:
            pen.ellipse((x - 0.5 * width, y - 0.5 * width, x + 0.5 * width, y + 0.5 * width), fill=fill)


def _shorter(points: Points, by: float) -> Points:
    """Ends that are round reach beyond their points: a line that is so much shorter at both, for that."""
    (x, y), (u, v) = points
    length = ((u - x) ** 2 + (v - y) ** 2) ** 0.5
    share = min(by / length, 0.5) if length > 0.0 else 0.0
    return [(x + share * (u - x), y + share * (v - y)), (u - share * (u - x), v - share * (v - y))]


def _mixed(colour: tuple[int, ...], grey: int, share: float) -> tuple[int, ...]:
    """A colour towards black, white or a grey."""
    return tuple(int(x + share * (grey - x)) for x in colour)
