"""What is drawn of a model: one mesh a batch, many instances of it, each fixed to a body.

Bodies that have visuals are drawn by them; the others as rods, from their origins to the joints on them, or between two
points that a scene says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.exact.kinematics import Poses
from supple.model.geometry import quaternion_from_rotation
from supple.model.model import Model, Visual
from supple.view.colours import GROUND, PLAIN, Bytes

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]

CHUNK = 16_384  #: instances of a batch: what did not move among so many is not sent
SIDES = 8  #: of a rod,
SIMPLY = 5000  #: where there are no more than so many; beyond, as few as there can be, for the sake of graphics cards
THICKNESS = 0.2  #: of a rod, as a share of its length or of the usual one, whichever is smaller
THINNEST = 0.005  #: of a rod, as a share of what all is as large as; though no thicker than long
MANY_FACES = 200_000  #: of one mesh, beyond which it is not drawn: a page would not bear a robot of such


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances of one mesh. A rod's mesh reaches along z from 0 to 1, and its turn about z is of no account."""

    vertices: Floats
    faces: Ints
    body: Ints  #: (m,) -1 is the world
    begin: Floats  #: (m, 3) where the mesh's origin is, in the body's frame
    rotation: Floats  #: (m, 3, 3) how it is turned there
    scale: Floats  #: (m, 3)
    own: Bytes  #: (m, 3) colours
    rods: bool

    def __len__(self) -> int:
        return len(self.body)

    def place(self, R: Floats, r: Floats) -> tuple[Floats32, Floats32]:
        """Quaternions (m, 4), w first, and positions (m, 3) in the world. R, r: see with_world."""
        R, r = R[self.body], r[self.body]
        position = (r + np.einsum("mij,mj->mi", R, self.begin)).astype(np.float32)
        if self.rods:
            return _along(np.einsum("mij,mj->mi", R, self.rotation[:, :, 2])), position
        turned = quaternion_from_rotation(R @ self.rotation)
        return turned[:, [3, 0, 1, 2]].astype(np.float32), position

    def colours(self, painted: Bytes | None) -> Bytes:
        """(m, 3) painted: of bodies; what is fixed to the world keeps its own."""
        if painted is None:
            return self.own
        return np.where((self.body >= 0)[:, None], painted[self.body], self.own)


def with_world(pose: Poses) -> tuple[Floats, Floats]:
    """Rotations and positions of bodies, and the world's as one more row, which -1 is."""
    return np.concatenate([pose.rotation, np.eye(3)[None]]), np.concatenate([pose.position, np.zeros((1, 3))])


def _along(d: Floats) -> Floats32:
    """(m, 4) quaternions, w first, that turn z to unit vectors on the shortest way."""
    out = np.zeros((len(d), 4), dtype=np.float32)
    w = np.sqrt(np.maximum(0.5 * (1.0 + d[:, 2]), 0.0))
    down = w < 1e-4
    half = 0.5 / np.where(down, 1.0, w)
    out[:, 0], out[:, 1], out[:, 2] = w, np.where(down, 1.0, -d[:, 1] * half), np.where(down, 0.0, d[:, 0] * half)
    return out


def batches(model: Model, size: float, rods: Floats | None = None) -> tuple[list[Batch], list[str]]:
    """All of a model, and what of it could not be drawn.

    size: how large it is, about. rods: (n, 2, 3) two points of each body in its frame.
    """
    out, failed = _solids(model)
    seen = np.zeros(model.n_bodies, dtype=bool)
    for b in out:
        seen[b.body[b.body >= 0]] = True
    body, begin, end = _sticks(model) if rods is None else (np.arange(model.n_bodies), rods[:, 0], rods[:, 1])
    here = ~seen[body]
    return out + _rods(body[here], begin[here], end[here], THINNEST * size), failed


def usual_length(lengths: Floats) -> float:
    some = lengths[lengths > 0]
    return float(np.median(some)) if len(some) else 1.0


def _sticks(model: Model) -> tuple[Ints, Floats, Floats]:
    """From each body's origin to the joints on it; where there are none, through its centre of mass."""
    child = np.flatnonzero(model.parent >= 0)
    on = model.parent[child]
    tip = np.setdiff1d(np.arange(model.n_bodies), on)
    body = np.concatenate([on, tip])
    end = np.concatenate([model.position[child], 2.0 * model.com[tip]])
    order = np.argsort(body, kind="stable")
    return body[order], np.zeros((len(body), 3)), end[order]


def _rods(body: Ints, begin: Floats, end: Floats, least: float) -> list[Batch]:
    length = np.linalg.norm(end - begin, axis=1)
    usual = usual_length(length)
    usual_thick = max(THICKNESS * usual, min(least, usual))
    dot = length < 1e-3 * usual  # drawn as a bit as long as thick, around the point
    d = np.where(dot[:, None], (0.0, 0.0, 1.0), (end - begin) / np.where(dot, 1.0, length)[:, None])
    begin = np.where(dot[:, None], begin - 0.5 * usual_thick * d, begin)
    length = np.where(dot, usual_thick, length)
    thick = np.where(dot, usual_thick, np.minimum(usual_thick, np.maximum(THICKNESS * length, least)))
    rotation = np.zeros((len(body), 3, 3))
    rotation[:, :, 2] = d
    scale = np.stack([thick, thick, length], axis=1)
    own = np.tile(np.array(PLAIN, dtype=np.uint8), (len(body), 1))
    parts = [slice(i, i + CHUNK) for i in range(0, len(body), CHUNK)]
    mesh = _rod(SIDES if len(body) <= SIMPLY else 3)
    return [Batch(*mesh, body[s], begin[s], rotation[s], scale[s], own[s], True) for s in parts]


@cache
def _rod(sides: int) -> tuple[Floats, Ints]:
    """A rod along z from 0 to 1, of radius 1/2, thicker near where it begins: a body's joint is there."""
    rings = ((0.06, 0.5), (0.94, 0.38)) if sides > 3 else ((0.2, 0.5),)
    angle = 2 * np.pi * np.arange(sides) / sides
    around = [np.stack([r * np.cos(angle), r * np.sin(angle), 0 * angle + z], 1) for z, r in rings]
    vertices = np.concatenate([*around, [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]])
    first, last = len(vertices) - 2 + 0 * angle.astype(int), len(vertices) - 1 + 0 * angle.astype(int)
    i = np.arange(sides)
    j, top = (i + 1) % sides, (len(rings) - 1) * sides
    faces = [(j, i, first), (i + top, j + top, last)]
    faces += [
        f for k in range(0, top, sides) for f in ((i + k, j + k, j + k + sides), (i + k, j + k + sides, i + k + sides))
    ]
    return vertices, np.concatenate([np.stack(f, 1) for f in faces])


# --- visuals ------------------------------------------------------------------------------------------------------


def _solids(model: Model) -> tuple[list[Batch], list[str]]:
    """Visuals of the same mesh together."""
    groups: dict[Any, list[Visual]] = {}
    for v in model.visuals:
        key = (v.kind, v.mesh, v.size if v.kind == "capsule" else None)
        groups.setdefault(key, []).append(v)
    out, failed = [], []
    for (kind, mesh, size), visuals in groups.items():
        made = _mesh(mesh) if kind == "mesh" else _solid(kind, size)
        if isinstance(made, str):
            failed.append(made)
            continue
        out.append(
            Batch(
                *made,
                np.array([v.body for v in visuals], dtype=np.int64),
                np.array([v.position for v in visuals]),
                np.array([v.rotation for v in visuals]),
                np.array([_scale(v) for v in visuals]),
                np.array([_colour(v) for v in visuals], dtype=np.uint8),
                False,
            )
        )
    return out, failed


def _colour(v: Visual) -> tuple[int, ...]:
    if v.rgba is None:
        return GROUND if v.body < 0 else PLAIN
    return tuple(round(255 * min(max(x, 0.0), 1.0)) for x in v.rgba[:3])


def _scale(v: Visual) -> tuple[float, ...]:
    s = v.size
    if v.kind in ("sphere", "cylinder"):
        return (s[0], s[0], s[0] if v.kind == "sphere" else s[1])
    if v.kind in ("box", "ellipsoid", "mesh"):
        return s if len(s) == 3 else (s[0],) * 3 if s else (1.0,) * 3
    return (1.0, 1.0, 1.0)


def _solid(kind: str, size: tuple[float, ...] | None) -> tuple[Floats, Ints] | str:
    """A solid of unit size (a capsule: of its own)."""
    from trimesh import creation

    if kind == "box":
        made = creation.box()
    elif kind in ("sphere", "ellipsoid"):
        made = creation.icosphere(subdivisions=2)
    elif kind == "cylinder":
        made = creation.cylinder(1.0, 1.0, sections=24)
    elif kind == "capsule" and size is not None:
        made = creation.capsule(height=size[1], radius=size[0], count=[12, 12])
        made.apply_translation(-made.bounds.mean(axis=0))
    else:
        return f"a {kind} is not drawn"
    return np.asarray(made.vertices), np.asarray(made.faces)


def _mesh(path: str | None) -> tuple[Floats, Ints] | str:
    """The triangles of a file, all its parts as one; or why not."""
    import trimesh

    if path is None:
        return "a mesh that is not in a file of its own is not drawn"
    try:
        made: Any = trimesh.load(path, force="mesh", process=False)
        vertices, faces = np.asarray(made.vertices), np.asarray(made.faces)
    except Exception as e:  # whatever a damaged file makes its reader say
        return f"{path}: {type(e).__name__}: {e}"
    if len(faces) == 0 or not np.isfinite(vertices).all():
        return f"{path}: holds no triangles that can be drawn"
    if len(faces) > MANY_FACES:
        return f"{path}: {len(faces)} triangles are too many for a page, which takes {MANY_FACES}"
    return vertices, faces
