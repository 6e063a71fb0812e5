"""The law of touchdown of a walker, and where within a step it holds: the search, compiled. See stride.py.

The foot comes down at the first instant at which its height falls through zero and it is, at that instant, ahead of the
support by more than `clearance`. A foot that scuffs the ground beside or behind the support does not come down [RR B2].
If the guard falls through `least` before, it is a fall. `above` gives these three numbers, for strides and for events.

A position within a step is that of the polynomial of degree five with the positions, velocities and accelerations of
both ends. The heights there, at LOOKS + 1 instants, give a polynomial of the height itself; each part between two of
them is searched for a change of sign, or for an extremum beyond zero. x counts parts: 0 to LOOKS.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import StateError
from supple.exact import kinematics
from supple.exact.aba import ABA
from supple.exact.calls import AXES, HEADER, TURNS, Work
from supple.exact.kinematics import place_all
from supple.exact.motion import AXIS, Axes
from supple.exact.tables import host_tables, open_tables
from supple.model.model import Model
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel, part
from supple.spatial.pointing import Pointing
from supple.spatial.references import floats_at, ints_at
from supple.spatial.rows import load_mat, load_vec
from supple.spatial.trig import RING

Floats = NDArray[np.float64]

FOOT, GUARD, AHEAD = range(3)
NOWHERE = -1.0  #: instead of a place in a step
LOOKS = 6  #: parts of a step in which crossings are looked for


class Watched(NamedTuple):
    """Two points, the foot and the guard: their bodies, their places there; the ground, and what counts."""

    bodies: Any
    points: Any
    plane: Any  #: (2, 4) normal and offset, direction ahead and offset
    clearance: Any
    least: Any
    path: Any
    work: Any


class Taken(NamedTuple):
    """A step that was taken: states and rates at both ends, its length, and room for a position."""

    y: Any
    new: Any
    rate: Any
    new_rate: Any
    step: Any
    q: Any


@helper
def above(h, m, q, w):
    """How far the foot is above the ground, the guard above `least`; and how much further ahead of the support than
    `clearance` the foot is: it comes down there if that is positive."""
    S = Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2)))
    place_all(m, q, w.path, w.work, S)
    foot, guard = _point(m, w, FOOT), _point(m, w, GUARD)
    return _along(w, 0, foot), _along(w, 0, guard) - w.least, _along(w, 1, foot) - w.clearance


@helper
def _point(m, w, which):
    b = w.bodies[which]
    R = load_mat(w.work, b, kinematics.R_) @ load_mat(m.outward, b, 0)
    return load_vec(w.work, b, kinematics.P_) + R @ Vec3(w.points[which, 0], w.points[which, 1], w.points[which, 2])


@helper
def _along(w, row, P):
    return w.plane[row, 0] * P.x + w.plane[row, 1] * P.y + w.plane[row, 2] * P.z - w.plane[row, 3]


@helper
def inside(h, m, t, w, s):
    """`above` at a share s of a step, by the polynomial through its ends."""
    n, e, c = m.nv, t.step, s * s * s
    q1 = c * (10.0 - s * (15.0 - 6.0 * s))
    v0, v1 = e * (s - c * (6.0 - s * (8.0 - 3.0 * s))), e * c * (s * (7.0 - 3.0 * s) - 4.0)
    a0, a1 = 0.5 * e * e * s * s * (1.0 - s) ** 3, 0.5 * e * e * c * (1.0 - s) ** 2
    for j in range(n):
        x = t.y[j] + q1 * (t.new[j] - t.y[j]) + v0 * t.rate[j] + v1 * t.new_rate[j]
        t.q[j] = x + a0 * t.rate[n + j] + a1 * t.new_rate[n + j]
    return above(h, m, t.q, w)


@part
def differences(f, c):
    """c: of the heights f at 0, 1, ... LOOKS, the divided differences of Newton's polynomial."""
    c[:] = f
    for k in range(1, LOOKS + 1):
        for j in range(LOOKS, k - 1, -1):
            c[j] = (c[j] - c[j - 1]) / k


@part
def height(c, x):
    """The polynomial at x, and its rate."""
    f, rate = c[LOOKS], 0.0
    for k in range(LOOKS - 1, -1, -1):
        rate = rate * (x - k) + f
        f = f * (x - k) + c[k]
    return f, rate


@part
def crossing(c, f, i):
    """Where in part i of a step the height falls through zero, or NOWHERE. f, c: as in `differences`."""
    a, b, fa, fb = float(i), float(i + 1), f[i], f[i + 1]
    if (fa > 0.0) == (fb > 0.0):
        x = _extremum(c, a, b, 1.0 if fa > 0.0 else -1.0)
        fx = height(c, x)[0]
        if (fx > 0.0) == (fa > 0.0):
            return NOWHERE
        a, fa, b, fb = (a, fa, x, fx) if fa > 0.0 else (x, fx, b, fb)
    elif fb > 0.0:
        return NOWHERE
    for _ in range(50):  # bisection
        x = 0.5 * (a + b)
        a, b = (x, b) if height(c, x)[0] > 0.0 else (a, x)
    return b


@part
def _extremum(c, a, b, sign):
    """Where between a and b the height times sign is least; a or b, if it does not go down and up again there."""
    if sign * height(c, a)[1] >= 0.0:
        return a
    if sign * height(c, b)[1] <= 0.0:
        return b
    for _ in range(40):
        x = 0.5 * (a + b)
        a, b = (x, b) if sign * height(c, x)[1] < 0.0 else (a, x)
    return 0.5 * (a + b)


_real, _matrix = types.float64, types.float64[:, ::1]
WATCHED = (types.int64[::1], _matrix, _matrix, _real, _real, _matrix, _matrix)  #: as kernels take it


@kernel(types.UniTuple(_real, 3)(types.int64, *WATCHED, types.float64[::1]), "touchdown")
def _above_kernel(handle, bodies, points, plane, clearance, least, path, work, q):
    h = ints_at(handle, (HEADER,))
    return above(h, open_tables(h), q, Watched(bodies, points, plane, clearance, least, path, work))


_kernel = cache(_above_kernel.load)


class Place(NamedTuple):
    """A point of a body, in its frame."""

    body: int
    point: Floats


class Footing(Pointing):
    """The foot that swings and the guard of a model that stands on the other foot. plane: rows of a normal and an
    offset, of a direction ahead and an offset."""

    _pointers = ("work",)

    def __init__(self, model: Model, foot: Place, guard: Place, plane: Floats, clearance: float, least: float) -> None:
        for place in (foot, guard):
            if not 0 <= place.body < model.n_bodies:
                raise StateError("a foot or guard of a walker is a frame of a body; one is fixed to the world")
        self.model = model
        self._point()
        n, slots = model.n_bodies, host_tables(model).n_slots
        self.given: tuple[Any, ...] = (
            np.array([foot.body, guard.body], dtype=np.int64),
            np.array([foot.point, guard.point], dtype=np.float64),
            np.ascontiguousarray(plane, dtype=np.float64),
            float(clearance),
            float(least),
            np.empty((slots, kinematics.PATH_ROW)),
            np.empty((n, kinematics.BODY_ROW)),
        )

    def _point(self) -> None:
        self.work: Work = self.model._work.get(ABA.name) or ABA.prepare(self.model)

    def __call__(self, q: Floats) -> tuple[float, float, float]:
        """`above` in a state."""
        if q.shape != (self.model.nq,):
            raise StateError(f"q has shape {q.shape}; expected ({self.model.nq},)")
        out: tuple[float, float, float] = _kernel()(self.work.handle, *self.given, np.ascontiguousarray(q))
        return out
