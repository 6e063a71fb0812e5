"""What is drawn beside a body: the ground, pushes, springs, and where bodies and springs hang on the world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import SuppleError
from supple.exact.answers import Poses
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model
from supple.simulating.forces import Push, Spring, SpringBetween
from supple.viewing.batch import Batch
from supple.viewing.colours import ANCHOR, FORCE, SPRING, Rgb
from supple.viewing.shapes import Mesh, link_length, tree_size, turned

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Bodies, points on them, vectors, whether these turn with the body, and which of those given they are.
Placed = tuple[Ints, Floats, Floats, NDArray[np.bool_], Ints]

ARROW, LINKS = 0.4, 12.0  #: of the strongest push: as a share of how large a body is, and in links of it, at most
WIDE, LINKS_WIDE = 0.05, 3.0  #: of springs and anchors, in the same way
LEAST = 0.25  #: of the strongest arrow, how long the others are at least
MANY = 40  #: springs, beyond which they are drawn with fewer turns
CORNERS = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
BOX: Mesh = (
    CORNERS,
    np.array([(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6),
              (0, 6, 4), (1, 5, 7), (1, 7, 3)]),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane: normal · x = height. real: bodies stand on it; otherwise it is there for the eye."""

    normal: Floats
    height: float
    real: bool

    @property
    def turn(self) -> Floats:
        """The rotation that takes z to the normal."""
        return np.asarray(rotation_to_z(self.normal[None])[0])

    def below(self, x: Floats) -> Floats:
        """The point of the plane under or above x."""
        return np.asarray(x - (self.normal @ x - self.height) * self.normal)


def ground_of(plane: Any, model: Model, points: Floats) -> Ground | None:
    """The ground that a run says (four numbers), or one below all points where there is gravity, or none."""
    if plane is not None:
        plane = np.asarray(plane, dtype=np.float64)
        return Ground(plane[:3] / np.linalg.norm(plane[:3]), float(plane[3] / np.linalg.norm(plane[:3])), True)
    if not np.any(model.gravity):
        return None
    up = -model.gravity / np.linalg.norm(model.gravity)
    heights = points @ up
    return Ground(up, float(heights.min() - 0.01 * np.ptp(heights)), False)


class Scenery:
    """Forces and springs, as they are at a state. What is neither (controllers, functions) has no place to be drawn."""

    def __init__(self, forces: Sequence[Any], ground: Any = None) -> None:
        self.ground = ground  #: (4,) a plane on which bodies stand, if there is one
        self._pushes = [f for f in forces if isinstance(f, Push) and np.any(f.force)]
        self._springs = [f for f in forces if isinstance(f, Spring)]
        self._between = [f for f in forces if isinstance(f, SpringBetween)]
        self._strongest = max((float(np.linalg.norm(f.force)) for f in self._pushes), default=1.0)
        self._times = np.array([(f.start, f.stop) for f in self._pushes]).reshape(-1, 2)
        self._found: tuple[Model, Any] | None = None

    def batches(self, model: Model, pose: Poses, time: float = 0.0, scale: float = 1.0) -> list[Batch]:
        """Arrows, springs, anchors: one batch each, maybe empty. scale: of the pushes, those that act at this time."""
        wide, arrow, pushes, springs, between, roots = self._of(model, pose)
        at, force, found = *self._ends(pose, pushes), pushes[4]
        acts = (self._times[:, 0] <= time) & (time < self._times[:, 1])
        strength = np.linalg.norm(force, axis=1) / self._strongest * scale * acts[found]
        long = arrow * np.where(strength > 0.0, np.clip(strength, LEAST, 3.0), 0.0)
        from_within = np.einsum("mi,mi->m", force, at - _centres(model, pose, pushes[0])) >= 0.0
        ahead = force / np.maximum(np.linalg.norm(force, axis=1), 1e-300)[:, None]
        at = np.where(from_within[:, None], at, at - long[:, None] * ahead)  # it pulls there, or ends there
        arrows = _along(_arrow(), at, force, long, 0.22 * arrow, FORCE)
        hook, anchor = self._ends(pose, springs)
        first, second = (self._ends(pose, end)[0] for end in between)
        pull, hooks = np.concatenate([anchor - hook, second - first]), np.concatenate([hook, first])
        coil = _coil(9, 8) if len(pull) <= MANY else _coil(3, 5)
        coils = _along(coil, hooks, pull, np.linalg.norm(pull, axis=1), wide, SPRING)
        pins = np.concatenate([anchor, roots])
        up = np.tile((0.0, 0.0, 1.0), (len(pins), 1))
        held = _along(BOX, pins, up, np.full(len(pins), wide), wide, ANCHOR)
        return [arrows, coils, held]

    def _of(self, model: Model, pose: Poses) -> Any:
        """What does not change while the model is the same: sizes; bodies, points and vectors of pushes and springs."""
        if self._found is None or self._found[0] is not model:
            pushes = _places(model, [(f.body, f.point, f.force, f.frame) for f in self._pushes])
            springs = _places(model, [(f.body, f.point, f.anchor, "world") for f in self._springs])
            nowhere = np.zeros(3)
            there = [f for f in self._between if _is_in(model, f.body) and _is_in(model, f.other)]
            between = (
                _places(model, [(f.body, f.point, nowhere, "world") for f in there]),
                _places(model, [(f.other, f.other_point, nowhere, "world") for f in there]),
            )
            fixed = (model.parent < 0) & ~np.isin(model.joint_type, (JointType.FREE, JointType.PLANAR))
            seen = self.ground is None and not any(v.body < 0 for v in model.visuals)
            roots = model.position[fixed] if seen else np.zeros((0, 3))
            size, link = tree_size(model, pose), link_length(model)
            wide, arrow = min(WIDE * size, LINKS_WIDE * link), min(ARROW * size, LINKS * link)
            self._found = model, (wide, arrow, pushes, springs, between, roots)
        return self._found[1]

    @staticmethod
    def _ends(pose: Poses, what: Placed) -> tuple[Floats, Floats]:
        """Points in the world, and vectors there."""
        body, point, vector, turns, _ = what
        R = pose.rotation[body]
        at = pose.position[body] + np.einsum("mij,mj->mi", R, point)
        return at, np.where(turns[:, None], np.einsum("mij,mj->mi", R, vector), vector)


def _centres(model: Model, pose: Poses, body: Ints) -> Floats:
    """(m, 3) of bodies, in the world."""
    return np.asarray(pose.position[body] + np.einsum("mij,mj->mi", pose.rotation[body], model.com[body]))


def _is_in(model: Model, name: Any) -> bool:
    return len(_places(model, [(name, np.zeros(3), np.zeros(3), "world")])[0]) > 0


def _places(model: Model, given: list[tuple[Any, Any, Any, str]]) -> Placed:
    """What is not in the model is left out."""
    body, points, vectors, turns, found = [], [], [], [], []
    for i, (name, point, vector, frame) in enumerate(given):
        try:
            place = model.moving_place(name)
        except (SuppleError, KeyError, IndexError):
            continue
        body.append(place.body)
        points.append(place.position + place.rotation @ np.asarray(point))
        own = frame == "body"
        vectors.append(place.rotation @ np.asarray(vector) if own else np.asarray(vector))
        turns.append(own)
        found.append(i)
    shape = (len(body), 3)
    at, along = np.reshape(points, shape), np.reshape(vectors, shape)
    return np.array(body, dtype=np.int64), at, along, np.array(turns, dtype=bool), np.array(found, dtype=np.int64)


def _along(mesh: Mesh, at: Floats, d: Floats, length: Floats, wide: float, colour: Rgb) -> Batch:
    """Meshes along z from 0 to 1, from points on, in directions; those of no length are too small to be seen."""
    m, norm = len(at), np.linalg.norm(d, axis=1)
    seen = (norm > 0.0) & (length > 0.0)
    d = np.where(seen[:, None], d / np.where(seen, norm, 1.0)[:, None], (0.0, 0.0, 1.0))
    scale = np.where(seen[:, None], np.stack([np.full(m, wide), np.full(m, wide), length], axis=1), 1e-9)
    own = np.tile(np.array(colour, dtype=np.uint8), (m, 1))
    return Batch(*mesh, np.full(m, -1), at, rotation_to_z(d), scale, own, "solid", round=mesh is not BOX)


@cache
def _arrow() -> Mesh:
    return turned(8, ((0.0, 0.17), (0.72, 0.17), (0.72, 0.5)))


@cache
def _coil(turns: int, steps: int) -> Mesh:
    """A tube of three sides that winds about z from 0 to 1."""
    s = np.linspace(0.0, 1.0, turns * steps + 1)
    angle = 2 * np.pi * turns * s
    radius = np.where((s < 0.06) | (s > 0.94), 0.0, 0.42)
    middle = np.stack([radius * np.cos(angle), radius * np.sin(angle), s], axis=1)
    out = np.stack([np.cos(angle), np.sin(angle), 0.0 * s], axis=1)
    thick, flat = 0.09, 0.25 / turns
    rings = np.stack([middle + thick * out, middle - thick * out, middle + [0.0, 0.0, flat]], axis=1)
    k = 3 * np.arange(len(s) - 1)[:, None]
    i, j = np.arange(3), np.roll(np.arange(3), -1)
    faces = np.stack([np.stack([k + i, k + j, k + 3 + j], -1), np.stack([k + i, k + 3 + j, k + 3 + i], -1)])
    return rings.reshape(-1, 3), faces.reshape(-1, 3)
