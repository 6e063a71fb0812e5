"""Positions moved in compiled code: along the exponential map, and through a chart in which they are a vector.

`move` is model.integrate, for one state. A Runge-Kutta method adds slopes taken at different positions, and needs
coordinates in which that makes sense: the chart about q0 has x (nv,) with q(0) = q0,

    joint     q(x)                              dx/dt
    plain     q0 + x                            v
    planar    (x, y) + x, angle + x             velocity turned to the joint's frame, turning rate
    ball      q0 exp(x)                         J(x) w
    free      p0 + x, and as ball               velocity turned to the joint's frame, J(x) w

with J(x) w = w + x * w / 2 + c(|x|) x * (x * w), * the cross product, c(t) = (1 - t/2 cot(t/2)) / t^2: the inverse of
the right Jacobian of the rotation group [Munthe-Kaas 1998]. Good for |x| < 2 pi; steps stay far below.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.exact.motion import BALL, DOF, FREE, PLANAR
from supple.exact.tables import IQ, IV, KIND, OWN, host_tables, open_tables
from supple.model.model import Model
from supple.spatial.algebra import Vec3, cross, dot, rotation_of
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import get, item, set_item
from supple.spatial.pointing import Unmoved
from supple.spatial.references import address_of, ints_at
from supple.spatial.rows import set_vec

SMALL = 0.05  #: radians, below which series are taken: their first term left out is below rounding


@helper
def triple(x, k):
    return Vec3(item(x, k), item(x, k + 1), item(x, k + 2))


@helper
def turn_quaternion(q, k, w, out):
    """out[k:k+4] = q[k:k+4] exp(w), brought to unit length."""
    t2 = dot(w, w)
    t = math.sqrt(t2)
    s = 0.5 - t2 * (1.0 / 48.0 - t2 / 3840.0) if t < SMALL else math.sin(0.5 * t) / t
    c = math.cos(0.5 * t)
    u, a = triple(q, k), item(q, k + 3)
    e = w * s
    x = e * a + u * c + cross(u, e)
    y = a * c - dot(u, e)
    unit = 1.0 / math.sqrt(dot(x, x) + y * y)
    set_item(out, k, x.x * unit)
    set_item(out, k + 1, x.y * unit)
    set_item(out, k + 2, x.z * unit)
    set_item(out, k + 3, y * unit)


@helper
def turn_planar(q, k, angle, out):
    """out[k:k+2] = (cosine, sine) turned by an angle, brought to unit length."""
    c, s, ca, sa = item(q, k), item(q, k + 1), math.cos(angle), math.sin(angle)
    unit = 1.0 / math.sqrt(c * c + s * s)
    set_item(out, k, (c * ca - s * sa) * unit)
    set_item(out, k + 1, (s * ca + c * sa) * unit)


@helper
def along(w, x):
    """How far a body gets that moves by x and turns by w, both constant in its own frame: the left Jacobian times x."""
    t2 = dot(w, w)
    t = math.sqrt(t2)
    if t < SMALL:
        b = 0.5 - t2 * (1.0 / 24.0 - t2 * (1.0 / 720.0 - t2 / 40320.0))
        c = 1.0 / 6.0 - t2 * (1.0 / 120.0 - t2 * (1.0 / 5040.0 - t2 / 362880.0))
    else:
        b, c = (1.0 - math.cos(t)) / t2, (t - math.sin(t)) / (t2 * t)
    wx = cross(w, x)
    return x + wx * b + cross(w, wx) * c


@helper
def turning_rate(x, w):
    """J(x) w."""
    t2 = dot(x, x)
    t = math.sqrt(t2)
    if t < SMALL:
        c = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0 + t2 / 1209600.0))
    else:
        c = (1.0 - 0.5 * t / math.tan(0.5 * t)) / t2
    xw = cross(x, w)
    return w + xw * 0.5 + cross(x, xw) * c


@helper
def move_into(m, q, v, h, out):
    """out = q moved by v for h along the exponential map. out may be q itself."""
    for b in range(m.n):
        kind, k, j = get(m.bodies, b, KIND), get(m.bodies, b, IQ), get(m.bodies, b, IV)
        if kind == BALL:
            turn_quaternion(q, k, triple(v, j) * h, out)
        elif kind == FREE:
            w, R = triple(v, j + 3) * h, rotation_of(item(q, k + 3), item(q, k + 4), item(q, k + 5), item(q, k + 6))
            set_vec(out, k, triple(q, k) + R @ along(w, triple(v, j) * h))
            turn_quaternion(q, k + 3, w, out)
        elif kind == PLANAR:
            step = along(Vec3(0.0, 0.0, item(v, j + 2) * h), Vec3(item(v, j) * h, item(v, j + 1) * h, 0.0))
            c, s = item(q, k + 2), item(q, k + 3)
            set_item(out, k, item(q, k) + c * step.x - s * step.y)
            set_item(out, k + 1, item(q, k + 1) + s * step.x + c * step.y)
            turn_planar(q, k + 2, item(v, j + 2) * h, out)
        else:
            for i in range(DOF[kind]):
                set_item(out, k + i, item(q, k + i) + item(v, j + i) * h)


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
            set_vec(out, j, turning_rate(triple(x, j), triple(v, j)))
        elif kind == FREE:
            R = rotation_of(item(q, k + 3), item(q, k + 4), item(q, k + 5), item(q, k + 6))
            set_vec(out, j, R @ triple(v, j))
            set_vec(out, j + 3, turning_rate(triple(x, j + 3), triple(v, j + 3)))
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
