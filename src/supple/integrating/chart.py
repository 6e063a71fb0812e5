"""Moving positions in compiled code: along the exponential map, and through a chart in which they are a vector.

`move` is model.integrate, for one state (model/moving.py). A Runge-Kutta method adds slopes evaluated at different
positions, and needs coordinates in which that makes sense: the chart about q0 has x (nv,) with q(0) = q0,

    joint     q(x)                              dx/dt
    plain     q0 + x                            v
    planar    (x, y) + x, angle + x             velocity rotated to the joint's frame, turning rate
    ball      q0 exp(x)                         J(x) w
    free      p0 + x, and as ball               velocity rotated to the joint's frame, J(x) w

with J(x) the inverse of the right Jacobian of the rotation group (right_inverse in model/moving.py). Valid for
|x| < 2 pi; steps stay far below.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.tables import Tables, host_tables
from supple.model.model import Model
from supple.model.moving import (
    BALL,
    DOF,
    FREE,
    PLANAR,
    move_joint,
    right_inverse,
    rotation_at,
    set_triple,
    triple,
    turn_planar,
    turn_quaternion,
)
from supple.spatial.addresses import vector
from supple.spatial.compiler import helper, kernel
from supple.spatial.pointing import Unmoved


@helper
def move_into(m, q, v, h, out):
    """out = q moved by v for h along the exponential map. out may be q itself."""
    for b in range(m.n):
        move_joint(m.bodies[b].kind, q, m.bodies[b].iq, v, m.bodies[b].iv, h, out)


@helper
def point_joint(m, b, q, x, out):
    """The same as point_into, of the joint of body b."""
    kind, k, j = m.bodies[b].kind, m.bodies[b].iq, m.bodies[b].iv
    if kind == BALL:
        turn_quaternion(q, k, triple(x, j), out)
    elif kind == FREE:
        set_triple(out, k, triple(q, k) + triple(x, j))
        turn_quaternion(q, k + 3, triple(x, j + 3), out)
    elif kind == PLANAR:
        out[k] = q[k] + x[j]
        out[k + 1] = q[k + 1] + x[j + 1]
        turn_planar(q, k + 2, x[j + 2], out)
    else:
        for i in range(DOF[kind]):
            out[k + i] = q[k + i] + x[j + i]


@helper
def point_into(m, q, x, out):
    """out = the position at x in the chart about q. out may be q itself."""
    for b in range(m.n):
        point_joint(m, b, q, x, out)


@helper
def rate_joint(m, b, x, q, v, out):
    """The same as rate_into, of the joint of body b."""
    kind, k, j = m.bodies[b].kind, m.bodies[b].iq, m.bodies[b].iv
    if kind == BALL:
        set_triple(out, j, right_inverse(triple(x, j), triple(v, j)))
    elif kind == FREE:
        set_triple(out, j, rotation_at(q, k + 3) @ triple(v, j))
        set_triple(out, j + 3, right_inverse(triple(x, j + 3), triple(v, j + 3)))
    elif kind == PLANAR:
        c, s = q[k + 2], q[k + 3]
        out[j] = c * v[j] - s * v[j + 1]
        out[j + 1] = s * v[j] + c * v[j + 1]
        out[j + 2] = v[j + 2]
    else:
        for i in range(DOF[kind]):
            out[j + i] = v[j + i]


@helper
def rate_into(m, x, q, v, out):
    """out = dx/dt at x, where the position is q and its velocity v."""
    for b in range(m.n):
        rate_joint(m, b, x, q, v, out)


_vector = types.float64[::1]


@kernel(types.void(Tables.type, _vector, _vector, types.float64, _vector), "moves")
def move_kernel(m, q, v, h, out):
    move_into(m, vector(q), vector(v), h, vector(out))


@kernel(types.void(Tables.type, _vector, _vector, _vector), "chart, points")
def point_kernel(m, q, x, out):
    point_into(m, vector(q), vector(x), vector(out))


@kernel(types.void(Tables.type, _vector, _vector, _vector, _vector), "chart, rates")
def rate_kernel(m, x, q, v, out):
    rate_into(m, vector(x), vector(q), vector(v), vector(out))


Floats = NDArray[np.float64]


class Chart(Unmoved):
    """The moves of a model, for plain contiguous float64 arrays of the right lengths: arguments are not checked."""

    def __init__(self, model: Model) -> None:
        self._nq, self._nv = model.nq, model.nv
        self._tables = host_tables(model)
        self._at = self._tables.address
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
        """dx/dt at x, where the position is q and its velocity v."""
        out = np.empty(self._nv)
        self._rate(self._at, x, q, v, out)
        return out


def chart(model: Model) -> Chart:
    """The moves of a model; kept with it."""
    return model._kept(Chart, lambda: Chart(model))
