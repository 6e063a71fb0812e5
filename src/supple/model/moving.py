"""The motion of a joint over a time, in compiled code: used by model.integrate, exact runs and adaptive ones.

Coordinates of most joints are added. Planar, ball and free joints move along the exponential map of SE(2), SO(3) and
SE(3), with v constant in the body's frame. With * the cross product, t = |w|, and a rotation exp(w):

    J(w) x       x + b w * x + c w * (w * x)        b = (1 - cos t) / t^2,  c = (t - sin t) / t^3
    J(-w)^-1 x   x + w * x / 2 + d w * (w * x)      d = (1 - t/2 cot(t/2)) / t^2

J is the left Jacobian of the rotation group: J(w) x is the displacement of a body that moves by x and rotates by w,
both constant in its own frame. J(-w)^-1 is the inverse of the right one, and gives the rate of w from an angular
velocity along the body's axes [Munthe-Kaas 1998].
"""

from __future__ import annotations

import math
from functools import cache

from numba import types

from supple.model.joints import NV, JointType
from supple.spatial.algebra import Vec3, cross, dot, rotation_of
from supple.spatial.compiler import helper, kernel

PLANAR, BALL, FREE = int(JointType.PLANAR), int(JointType.BALL), int(JointType.FREE)
DOF = NV  #: degrees of freedom by kind
SMALL = 0.05  #: radians, below which series are used: their first omitted term is below rounding


@helper
def triple(x, k):
    return Vec3(x[k], x[k + 1], x[k + 2])


@helper
def set_triple(x, k, value):
    x[k], x[k + 1], x[k + 2] = value.x, value.y, value.z


@helper
def rotation_at(q, k):
    """The rotation of the quaternion at q[k:]."""
    return rotation_of(q[k], q[k + 1], q[k + 2], q[k + 3])


@helper
def turn_quaternion(q, k, w, out):
    """out[k:k+4] = q[k:k+4] exp(w), normalised."""
    t2 = dot(w, w)
    t = math.sqrt(t2)
    s = 0.5 - t2 * (1.0 / 48.0 - t2 / 3840.0) if t < SMALL else math.sin(0.5 * t) / t
    c = math.cos(0.5 * t)
    u, a = triple(q, k), q[k + 3]
    e = w * s
    x = e * a + u * c + cross(u, e)
    y = a * c - dot(u, e)
    unit = 1.0 / math.sqrt(dot(x, x) + y * y)
    out[k], out[k + 1], out[k + 2], out[k + 3] = x.x * unit, x.y * unit, x.z * unit, y * unit


@helper
def turn_planar(q, k, angle, out):
    """out[k:k+2] = (cosine, sine) rotated by an angle, normalised."""
    c, s, ca, sa = q[k], q[k + 1], math.cos(angle), math.sin(angle)
    unit = 1.0 / math.sqrt(c * c + s * s)
    out[k], out[k + 1] = (c * ca - s * sa) * unit, (s * ca + c * sa) * unit


@helper
def left_jacobian(w, x):
    """J(w) x."""
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
def right_inverse(w, x):
    """J(-w)^-1 x."""
    t2 = dot(w, w)
    t = math.sqrt(t2)
    if t < SMALL:
        d = 1.0 / 12.0 + t2 * (1.0 / 720.0 + t2 * (1.0 / 30240.0 + t2 / 1209600.0))
    else:
        d = (1.0 - 0.5 * t / math.tan(0.5 * t)) / t2
    wx = cross(w, x)
    return x + wx * 0.5 + cross(w, wx) * d


@helper
def move_joint(kind, q, k, v, j, h, out):
    """out[k:] = the coordinates q[k:] of a joint of this kind, moved by v[j:] for h. out may be q itself."""
    if kind == BALL:
        turn_quaternion(q, k, triple(v, j) * h, out)
    elif kind == FREE:
        w = triple(v, j + 3) * h
        set_triple(out, k, triple(q, k) + rotation_at(q, k + 3) @ left_jacobian(w, triple(v, j) * h))
        turn_quaternion(q, k + 3, w, out)
    elif kind == PLANAR:
        angle = v[j + 2] * h
        step = left_jacobian(Vec3(0.0, 0.0, angle), Vec3(v[j] * h, v[j + 1] * h, 0.0))
        c, s = q[k + 2], q[k + 3]
        out[k], out[k + 1] = q[k] + c * step.x - s * step.y, q[k + 1] + s * step.x + c * step.y
        turn_planar(q, k + 2, angle, out)
    else:
        for i in range(DOF[kind]):
            out[k + i] = q[k + i] + v[j + i] * h


@helper
def turn_between(p, q, k):
    """The rotation vector, of at most half a turn, that takes the quaternion p[k:k+4] to q[k:k+4]."""
    u, a, w, b = triple(p, k), p[k + 3], triple(q, k), q[k + 3]
    x, y = w * a - u * b - cross(u, w), a * b + dot(u, w)
    if y < 0.0:
        x, y = x * -1.0, -y
    s = math.sqrt(dot(x, x))
    return x * (2.0 * math.atan2(s, y) / s if s > 1e-12 * y else 2.0 / y)


@helper
def move_between(kind, p, q, k, j, out):
    """out[j:] = the v that takes a joint of this kind from p[k:] to q[k:] in unit time."""
    if kind == BALL:
        set_triple(out, j, turn_between(p, q, k))
    elif kind == FREE:
        w = turn_between(p, q, k + 3)
        step = (triple(q, k) - triple(p, k)) @ rotation_at(p, k + 3)
        set_triple(out, j, right_inverse(w * -1.0, step))  # J(w)^-1
        set_triple(out, j + 3, w)
    elif kind == PLANAR:
        c, s, dx, dy = p[k + 2], p[k + 3], q[k] - p[k], q[k + 1] - p[k + 1]
        angle = math.atan2(c * q[k + 3] - s * q[k + 2], c * q[k + 2] + s * q[k + 3])
        step = right_inverse(Vec3(0.0, 0.0, -angle), Vec3(c * dx + s * dy, c * dy - s * dx, 0.0))
        out[j], out[j + 1], out[j + 2] = step.x, step.y, angle
    else:
        for i in range(DOF[kind]):
            out[j + i] = q[k + i] - p[k + i]


_I1, _F2 = types.int64[::1], types.float64[:, ::1]


@kernel(types.void(_I1, _I1, _I1, _F2, _F2, types.float64, _F2), "moves of joints")
def _move_all(kinds, iq, iv, q, v, h, out):
    """Every joint in every state of a batch."""
    for s in range(q.shape[0]):
        for b in range(kinds.shape[0]):
            move_joint(kinds[b], q[s], iq[b], v[s], iv[b], h, out[s])


@kernel(types.void(_I1, _I1, _I1, _F2, _F2, _F2), "differences of positions")
def _between_all(kinds, iq, iv, p, q, out):
    for s in range(q.shape[0]):
        for b in range(kinds.shape[0]):
            move_between(kinds[b], p[s], q[s], iq[b], iv[b], out[s])


move_all, between_all = cache(_move_all.load), cache(_between_all.load)
