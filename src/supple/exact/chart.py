"""Positions moved in compiled code: along the exponential map, and through a chart in which they are a vector.

`move` is model.integrate, for one state (model/moving.py). A Runge-Kutta method adds slopes taken at different
positions, and needs coordinates in which that makes sense: the chart about q0 has x (nv,) with q(0) = q0,

    joint     q(x)                              dx/dt
    plain     q0 + x                            v
    planar    (x, y) + x, angle + x             velocity turned to the joint's frame, turning rate
    ball      q0 exp(x)                         J(x) w
    free      p0 + x, and as ball               velocity turned to the joint's frame, J(x) w

with J(x) the inverse of the right Jacobian of the rotation group (right_inverse in model/moving.py). Good for
|x| < 2 pi; steps stay far below.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.tables import IQ, IV, KIND, OWN, host_tables, open_tables
from supple.model.model import Model
from supple.model.moving import (
    BALL,
    DOF,
    FREE,
    PLANAR,
    move_joint,
    right_inverse,
    rotation_at,
    triple,
    turn_planar,
    turn_quaternion,
)
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import get, item, set_item
from supple.spatial.pointing import Unmoved
from supple.spatial.references import address_of, ints_at
from supple.spatial.rows import set_vec


@helper
def move_into(m, q, v, h, out):
    """out = q moved by v for h along the exponential map. out may be q itself."""
    for b in range(m.n):
        move_joint(get(m.bodies, b, KIND), q, get(m.bodies, b, IQ), v, get(m.bodies, b, IV), h, out)


@helper
def point_into(m, q, x, out):
    """out = the position at x in the chart about q. out may be q itself."""
    for b in range(m.n):
        kind, k, j = get(m.bodies, b, KIND), get(m.bodies, b, IQ), get(m.bodies, b, IV)
        if kind == BALL:
            turn_quaternion(q, k, triple(x, j), out)
        elif kind == FREE:
            set_vec(out, k, triple(q, k) + triple(x, j))
            turn_quaternion(q, k + 3, triple(x, j + 3), out)
        elif kind == PLANAR:
            set_item(out, k, item(q, k) + item(x, j))
            set_item(out, k + 1, item(q, k + 1) + item(x, j + 1))
            turn_planar(q, k + 2, item(x, j + 2), out)
        else:
            for i in range(DOF[kind]):
                set_item(out, k + i, item(q, k + i) + item(x, j + i))


@helper
def rate_into(m, x, q, v, out):
    """out = dx/dt at x, where the position is q and moves by v."""
    for b in range(m.n):
        kind, k, j = get(m.bodies, b, KIND), get(m.bodies, b, IQ), get(m.bodies, b, IV)
        if kind == BALL:
            set_vec(out, j, right_inverse(triple(x, j), triple(v, j)))
        elif kind == FREE:
            set_vec(out, j, rotation_at(q, k + 3) @ triple(v, j))
            set_vec(out, j + 3, right_inverse(triple(x, j + 3), triple(v, j + 3)))
        elif kind == PLANAR:
            c, s = item(q, k + 2), item(q, k + 3)
            set_item(out, j, c * item(v, j) - s * item(v, j + 1))
            set_item(out, j + 1, s * item(v, j) + c * item(v, j + 1))
            set_item(out, j + 2, item(v, j + 2))
        else:
            for i in range(DOF[kind]):
                set_item(out, j + i, item(v, j + i))


_vector = types.float64[::1]


@kernel(types.void(types.int64, _vector, _vector, types.float64, _vector), "moves")
def move_kernel(header, q, v, h, out):
    move_into(open_tables(ints_at(header, (OWN,))), q, v, h, out)


@kernel(types.void(types.int64, _vector, _vector, _vector), "chart, points")
def point_kernel(header, q, x, out):
    point_into(open_tables(ints_at(header, (OWN,))), q, x, out)


@kernel(types.void(types.int64, _vector, _vector, _vector, _vector), "chart, rates")
def rate_kernel(header, x, q, v, out):
    rate_into(open_tables(ints_at(header, (OWN,))), x, q, v, out)


Floats = NDArray[np.float64]


class Chart(Unmoved):
    """The moves of a model, for plain contiguous float64 arrays of the right lengths: nothing is checked."""

    def __init__(self, model: Model) -> None:
        self._nq, self._nv = model.nq, model.nv
        self._kept = host_tables(model)
        self._header = np.array(self._kept.words, dtype=np.int64)
        self._at = address_of(self._header)
        self._move, self._point, self._rate = (k.load() for k in (move_kernel, point_kernel, rate_kernel))

    def move(self, q: Floats, v: Floats, h: float) -> Floats:
        """model.integrate(q, v, h)."""
        out = np.empty(self._nq)
        self._move(self._at, q, v, h, out)
        return out

    def point(self, q: Floats, x: Floats) -> Floats:
        """The position at x in the chart about q."""
        out = np.empty(self._nq)
        self._point(self._at, q, x, out)
        return out

    def rate(self, x: Floats, q: Floats, v: Floats) -> Floats:
        """dx/dt at x, where the position is q and moves by v."""
        out = np.empty(self._nv)
        self._rate(self._at, x, q, v, out)
        return out


def chart(model: Model) -> Chart:
    """The moves of a model; kept with it."""
    made: Chart | None = model._work.get("chart")
    return made if made is not None else model._work.setdefault("chart", Chart(model))
