"""The shapes that a file draws its bodies with: solids, and meshes in files of their own with the colours they have."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.contact.ground import only_plane
from supple.errors import ParseError
from supple.files.apart import Reader
from supple.model.model import Model, Visual, count
from supple.model.shapes import Shape
from supple.reading import LARGEST_FILE, check_file
from supple.viewing.batch import Batch, Kind
from supple.viewing.colours import GROUND, PLAIN
from supple.viewing.turned import capsule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rgb = tuple[int, ...]

SIDES = 24  #: of cylinders, and of capsules where there are
FEW = 100, 1000  #: no more than so many: half, and a third of it where there are more
MANY_FACES = 200_000  #: of one mesh, beyond which it is not drawn: a page would not bear a robot of such


SHORTEST = 1e-3  #: radii: the least length between the caps of a capsule
PATIENCE = 2.0  #: seconds of meshes that cannot be read after which no more are tried

SIZES = {"sphere": 1, "cylinder": 2, "capsule": 2}  #: numbers that shapes have at least

MESHES = Reader("mesh_triangles.py", "trimesh")


class Part(NamedTuple):
    """Triangles of one colour."""

    vertices: Floats
    faces: Ints
    colour: Rgb | None  #: None where the file says none


class Drawn(NamedTuple):
    """Shapes of the same kind together, and what could not be drawn: in words, and which visuals."""

    batches: list[Batch]
    failed: list[str]
    left_out: list[Visual]


def solids(model: Model) -> Drawn:
    """The visuals of a model, but for a plane on which bodies stand: it is the ground."""
    standing = only_plane(model) is not None
    return _drawn(v for v in model.visuals if not (standing and v.kind == "plane" and v.body < 0))


def _drawn(given: Iterable[Visual]) -> Drawn:
    groups: dict[Any, list[Visual]] = {}
    out, failed, left_out, patience = [], [], [], PATIENCE
    for v in given:
        if len(v.size) < SIZES.get(v.kind, 0):
            failed.append(f"a {v.kind} without its {count(SIZES[v.kind], 'size')}")
            left_out.append(v)
            continue
        groups.setdefault((v.kind, v.mesh, _cap(v)), []).append(v)
    capsules = sum(len(visuals) for (kind, *_), visuals in groups.items() if kind == "capsule")
    sides = SIDES // (1 + sum(capsules > few for few in FEW))
    for (kind, mesh, cap), visuals in groups.items():
        begun = monotonic()
        if kind == "capsule":
            made: list[Part] | str = [Part(*capsule(cap, sides), None)] if cap > 0.0 else "a capsule of no size"
        elif kind != "mesh":
            made = _solid(kind)
        elif patience > 0:
            made = _mesh(mesh)
        else:
            made = f"{mesh}: is not read, since other meshes took too long"
        if isinstance(made, str):
            failed.append(made)
            left_out += visuals
            patience -= monotonic() - begun
            continue
        body = np.array([v.body for v in visuals], dtype=np.int64)
        position, rotation = np.array([v.position for v in visuals]), np.array([v.rotation for v in visuals])
        scale = np.array([_scale(v) for v in visuals])
        if kind == "capsule":
            position = position - 0.5 * scale[:, 2:] * rotation[:, :, 2]
        for part in made:
            own = np.array([_colour(v, part.colour) for v in visuals], dtype=np.uint8)
            shape: Kind = "capsule" if kind == "capsule" else "solid"
            out.append(Batch(part.vertices, part.faces, body, position, rotation, scale, own, shape))
    return Drawn(out, failed, left_out)


def _cap(v: Visual) -> float:
    """Of a capsule: how high its caps are, in lengths. Those that are as slender share a mesh."""
    if v.kind != "capsule":
        return 0.0
    return float(f"{v.size[0] / max(v.size[1], SHORTEST * v.size[0], 1e-300):.6g}")


def touching_solids(model: Model, seen: Ints, left_out: Collection[Visual] = ()) -> list[Batch]:
    """The shapes by which bodies touch, of those that are not in `seen`; -1 is the world. Planes are the ground.

    On bodies in `seen`, those that no visual shows: height fields, hulls of meshes whose file is not known, and where
    visuals were left out all that do not have the name of one that is drawn."""
    out, plain = [], []
    unknown = {(v.body, v.name) for v in model.visuals if v.kind == "mesh" and v.mesh is None}
    lacking, lost = {v.body for v in left_out}, {id(v) for v in left_out}
    shown = {(v.body, v.name) for v in model.visuals if v.name and id(v) not in lost} if lacking else set()
    for shape in model.shape_list:
        name = shape.body, shape.name
        hidden = shape.kind == "heights" or name in unknown or (shape.body in lacking and name not in shown)
        if shape.kind == "plane" or (shape.body in seen and not hidden):
            continue
        if shape.points is None:
            plain.append(Visual(shape.body, shape.kind, shape.size, shape.position, shape.rotation))
            continue
        vertices, faces = _field(shape) if shape.kind == "heights" else _hull(shape.points)
        colour = np.array([GROUND if shape.body < 0 else PLAIN], dtype=np.uint8)
        place = np.array([shape.body]), shape.position[None], shape.rotation[None], np.ones((1, 3))
        out.append(Batch(vertices, faces, *place, colour))
    return out + _drawn(plain).batches


def _hull(points: Floats) -> tuple[Floats, Ints]:
    from trimesh import convex

    made = convex.convex_hull(points)
    return np.asarray(made.vertices), np.asarray(made.faces)


def _field(shape: Shape) -> tuple[Floats, Ints]:
    """Two triangles for each cell of a height field."""
    assert shape.points is not None
    rows, columns = shape.points.shape
    x, y = (0.5 * s * np.linspace(-1.0, 1.0, n) for s, n in zip(shape.size, (columns, rows)))
    vertices = np.stack([*np.meshgrid(x, y), shape.points], axis=-1).reshape(-1, 3)
    corner = (columns * np.arange(rows - 1)[:, None] + np.arange(columns - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + columns + 1, corner + columns
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _colour(v: Visual, of_mesh: Rgb | None) -> Rgb:
    """What the robot's file says goes before what the mesh says."""
    if v.rgba is not None:
        return tuple(round(255 * min(max(x, 0.0), 1.0)) for x in v.rgba[:3])
    return of_mesh or (GROUND if v.body < 0 else PLAIN)


def _scale(v: Visual) -> tuple[float, ...]:
    s = v.size
    if v.kind in ("sphere", "cylinder"):
        return (s[0], s[0], s[0] if v.kind == "sphere" else s[1])
    if v.kind == "capsule":
        return 2.0 * s[0], 2.0 * s[0], max(s[1], SHORTEST * s[0])
    if v.kind in ("box", "ellipsoid", "mesh"):
        return s if len(s) == 3 else (s[0],) * 3 if s else (1.0,) * 3
    return (1.0, 1.0, 1.0)


def _solid(kind: str) -> list[Part] | str:
    """A solid of unit size."""
    from trimesh import creation

    if kind == "box":
        made = creation.box()
    elif kind in ("sphere", "ellipsoid"):
        made = creation.icosphere(subdivisions=2)
    elif kind == "cylinder":
        made = creation.cylinder(1.0, 1.0, sections=SIDES)
    else:
        return f"a {kind}"
    return [Part(np.asarray(made.vertices), np.asarray(made.faces), None)]


def _mesh(path: str | None) -> list[Part] | str:
    """What is in a file, by colours; or why it is not drawn."""
    if path is None:
        return "a mesh that is not in a file of its own"
    if not Path(path).exists():
        return f"{path}: is not there any more"
    try:
        check_file(path, LARGEST_FILE)
        return _read(path, Path(path).stat().st_mtime_ns)
    except (ParseError, OSError) as e:
        return str(e)


@lru_cache(maxsize=256)
def _read(path: str, changed: int) -> list[Part] | str:
    try:
        reply, data = MESHES.ask(path, most_faces=MANY_FACES)
    except ParseError as e:
        return str(e)
    out, at = [], 0
    for corners, faces, colour in reply["parts"]:
        v = np.frombuffer(data, dtype=np.float64, count=3 * corners, offset=at).reshape(-1, 3)
        f = np.frombuffer(data, dtype=np.int64, count=3 * faces, offset=at + v.nbytes).reshape(-1, 3)
        at += v.nbytes + f.nbytes
        out.append(Part(v, f, None if colour is None else tuple(colour)))
    return out
