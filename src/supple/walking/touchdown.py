"""The law of touchdown of a walker, and where within a step it holds: the search, compiled. See stride.py.

The foot lands at the first instant at which its height falls through zero and it is, at that instant, ahead of the
support by more than `clearance`. A foot that scuffs the ground beside or behind the support does not land [RR B2]. If
the guard falls through `least` before that, it is a fall. `above` gives these three numbers, for strides and for
events.

A position within a step is that of the polynomial of degree five with the positions, velocities and accelerations of
both ends. The heights there, at LOOKS + 1 instants, give a polynomial of the height itself; each part between two of
them is searched for a change of sign, or for an extremum beyond zero (integrating/looks.py).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import StateError
from supple.exact.call_kernels import Call
from supple.exact.kinematics import POSES, place_all, placed_scratch
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.addresses import vector
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integers, Number
from supple.spatial.held import Held
from supple.spatial.pointing import Pointing
from supple.spatial.structs import Link, Struct
from supple.walking.flat import Flat, flat_above, flat_of

Floats = NDArray[np.float64]

FOOT, GUARD, AHEAD = range(3)
LOOKS = 6  #: parts of a step in which crossings are searched


class Watched(Struct):
    """Two points, the foot and the guard: their bodies, their positions there; the ground, and the thresholds."""

    poses = Link(Call)  # of kinematics: the model, and scratch
    flat = Link(Flat)  # the same in closed form, where there is one
    bodies = Integers()
    points = fields.Floats()  # (2 x 3,)
    plane = fields.Floats()  # (2 x 4,) normal and offset, direction ahead and offset
    clearance = Number()
    least = Number()


class Taken(NamedTuple):
    """A completed step: positions and rates at both ends, its length, and scratch for a position."""

    q0: Any
    q1: Any
    rate: Any
    new_rate: Any
    step: Any
    q: Any


@helper
def above(q, w):
    """The height of the foot above the ground, and of the guard above `least`; and how much further ahead of the
    support than `clearance` the foot is: it lands there if that is positive."""
    if w.flat.is_so != 0:
        return flat_above(w.flat, q)
    m, work = w.poses.model, placed_scratch(w.poses)
    place_all(m, q, work)
    foot, guard = point_of(m, w, work, FOOT), point_of(m, w, work, GUARD)
    return _along(w, 0, foot), _along(w, 0, guard) - w.least, _along(w, 1, foot) - w.clearance


@helper
def point_of(m, w, work, which):
    """Where the foot or the guard is, after place_all."""
    b, k = w.bodies[which], 3 * which
    pose = work.bodies[b]
    return pose.P + pose.R @ m.outward[b].R @ Vec3(w.points[k], w.points[k + 1], w.points[k + 2])


@helper
def _along(w, row, P):
    k = 4 * row
    return w.plane[k] * P.x + w.plane[k + 1] * P.y + w.plane[k + 2] * P.z - w.plane[k + 3]


@helper
def inside(t, w, s):
    """`above` at a fraction s of a step, by the polynomial through its ends."""
    n, e, c = w.poses.model.nv, t.step, s * s * s
    q1 = c * (10.0 - s * (15.0 - 6.0 * s))
    v0, v1 = e * (s - c * (6.0 - s * (8.0 - 3.0 * s))), e * c * (s * (7.0 - 3.0 * s) - 4.0)
    a0, a1 = 0.5 * e * e * s * s * (1.0 - s) ** 3, 0.5 * e * e * c * (1.0 - s) ** 2
    for j in range(n):
        x = t.q0[j] + q1 * (t.q1[j] - t.q0[j]) + v0 * t.rate[j] + v1 * t.new_rate[j]
        t.q[j] = x + a0 * t.rate[n + j] + a1 * t.new_rate[n + j]
    return above(t.q, w)


@kernel(types.UniTuple(types.float64, 3)(Watched.type, types.float64[::1]), "touchdown")
def _above_kernel(w, q):
    return above(vector(q), w)


_kernel = cache(_above_kernel.load)


class Place(NamedTuple):
    """A point of a body, in its frame."""

    body: int
    point: Floats


class Footing(Pointing):
    """The swing foot and the guard of a model that stands on the other foot. plane: rows of a normal and an offset, of
    a direction ahead and an offset. axis: if given, and the model moves in the plane across it, by closed forms."""

    _pointers = ("watched",)

    def __init__(self, model: Model, foot: Place, guard: Place, plane: Floats, clearance: float, least: float,
                 axis: Floats | None = None) -> None:  # fmt: skip
        for place in (foot, guard):
            if not 0 <= place.body < model.n_bodies:
                raise StateError("a foot or guard of a walker is a frame of a body; one is fixed to the world")
        self.model, self._axis = model, axis
        self._given: dict[str, Any] = {
            "bodies": np.array([foot.body, guard.body], dtype=np.int64),
            "points": np.array([foot.point, guard.point], dtype=np.float64),
            "plane": np.ascontiguousarray(plane, dtype=np.float64),
            "clearance": float(clearance),
            "least": float(least),
        }
        self._point()

    def _point(self) -> None:
        work = POSES.work(self.model)
        flat = {"is_so": 0} if self._axis is None else flat_of(self.model, self._axis, self._given)
        self.watched: Held = Watched.of(poses=work.call, flat=Flat.of(**flat), **self._given)

    def __call__(self, q: Floats) -> tuple[float, float, float]:
        """`above` in a state."""
        if q.shape != (self.model.nq,):
            raise StateError(f"q has shape {q.shape}; expected ({self.model.nq},)")
        out: tuple[float, float, float] = _kernel()(self.watched.address, np.ascontiguousarray(q))
        return out
