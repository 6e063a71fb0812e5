"""The law of pushes: constant forces on points of bodies, and springs with dampers to points of the world. Exact and
adaptive runs share it.

A push acts at `point`, p, of a body with pose R, X and velocity V, at the place x = X + R p. The force of a spring with
anchor c, rest length L and stiffness k is k (1 - L / |c - x|) (c - x), and that of its damper -damping (v + w x R p).
Poses and pushes are in the same frames of bodies: either the model's, or those of the kernels.
"""

from __future__ import annotations

import math

from numba import types

from supple.spatial.algebra import Force, Motion, Vec3, cross, dot
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Floats, Integer, Integers, Number, Value
from supple.spatial.rows import load_mat, load_vec
from supple.spatial.structs import Struct, Table

PUSH, OWN_PUSH, SPRING = range(3)  # force fixed in the world; force fixed in its body; spring to a point of the world


class PushRow(Struct):
    """A force on a body."""

    kind = Integer()
    stiffness = Number()  # of a spring
    damping = Number()
    length = Number()  # at rest
    vector = Value(Vec3)  # the force; for a spring, its anchor
    moment = Value(Vec3)
    point = Value(Vec3)  # of the body


@helper
def length(a):
    return math.sqrt(dot(a, a))


@helper
def to_anchor(push, R, X):
    """c - x of a spring, and its length, which is zero if the spring is one without a rest length."""
    way = push.vector - (X + R @ push.point)
    return way, length(way) if push.length > 0.0 else 0.0


@helper
def own_axes(push, R, X, V):
    """The force of a push, and that of its damper, along the axes in which it is given: those of the body for OWN_PUSH,
    otherwise those of the world."""
    if push.kind != SPRING:
        return push.vector, Vec3(0.0, 0.0, 0.0)
    way, far = to_anchor(push, R, X)
    pull = way * (push.stiffness * (1.0 - push.length / far) if far > 0.0 else push.stiffness)
    return pull, (V.lin + cross(V.ang, R @ push.point)) * -push.damping


@helper
def push_parts(push, R, X, V):
    """A push along world axes, as a force at the body's origin: without its damper, and that of the damper."""
    p, m = R @ push.point, push.moment
    f, drag = own_axes(push, R, X, V)
    if push.kind == OWN_PUSH:
        f, m = R @ f, R @ m
    return Force(m + cross(p, f), f), Force(cross(p, drag), drag)


@helper
def push_force(push, R, X, V):
    steady, drag = push_parts(push, R, X, V)
    return steady + drag


@helper
def push_on_body(push, R, X, V):
    """The same along the body's axes."""
    f, drag = own_axes(push, R, X, V)
    f, m = f + drag, push.moment
    if push.kind != OWN_PUSH:
        f, m = f @ R, m @ R  # R^T f
    return Force(m + cross(push.point, f), f)


@helper
def push_energy(push, R, X):
    """The energy of a spring, or of a force fixed in the world; that of a force fixed in its body is unknown, and zero
    here."""
    if push.kind == SPRING:
        way, far = to_anchor(push, R, X)
        return 0.5 * push.stiffness * (dot(way, way) if push.length == 0.0 else (far - push.length) ** 2)
    return -dot(push.vector, X + R @ push.point) if push.kind == PUSH else 0.0


@helper
def push_size(push, X):
    """The magnitude of a force on a body at X, without cancellation inside it, and of its moment."""
    p, f = length(push.point), length(push.vector)
    if push.kind == SPRING:
        f = (f + p + length(X)) * push.stiffness
    return f, p * f + length(push.moment)


# --- several, for plain Python --------------------------------------------------------------------------------------


class Pushes(Struct):
    """Pushes, the body that each acts on, and the time from which and up to which it does."""

    rows = Table(PushRow)
    bodies = Integers()
    start = Floats()
    stop = Floats()
    count = Integer()


@helper
def _pose(R, X, k):
    return load_mat(R, k, 0), load_vec(X, k, 0)


_matrix = types.float64[:, ::1]


@kernel(types.void(Pushes.type, types.float64, _matrix, _matrix, _matrix, _matrix), "pushes")
def push_kernel(pushes, time, R, X, V, out):
    """out: the wrenches on all bodies, along their own axes. R (count, 9), X (count, 3), V (count, 6): of the bodies
    that are pushed."""
    for k in range(pushes.count):
        if not pushes.start[k] <= time < pushes.stop[k]:
            continue
        rotation, position = _pose(R, X, k)
        f = push_on_body(pushes.rows[k], rotation, position, Motion(load_vec(V, k, 0), load_vec(V, k, 3)))
        for i in range(3):
            out[pushes.bodies[k], i] += f.ang[i]
            out[pushes.bodies[k], 3 + i] += f.lin[i]


@kernel(types.void(Pushes.type, _matrix, _matrix, types.float64[::1]), "pushes, energy")
def push_energy_kernel(pushes, R, X, out):
    """out: the energy in each of several states, of pushes that always act. R (states x count, 9), X (states x count,
    3)."""
    for state in range(out.shape[0]):
        total = 0.0
        for k in range(pushes.count):
            rotation, position = _pose(R, X, state * pushes.count + k)
            if pushes.start[k] == 0.0 and pushes.stop[k] == math.inf:
                total += push_energy(pushes.rows[k], rotation, position)
        out[state] = total
