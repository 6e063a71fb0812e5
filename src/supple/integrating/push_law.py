"""The law of pushes: constant forces on points of bodies, and springs with dampers, to points of the world or between
two bodies. Exact and adaptive runs share it.

A push acts at `point`, p, of a body with pose R, X and velocity V, at the place x = X + R p. The force of a spring with
anchor c, rest length L and stiffness k is k (1 - L / |c - x|) (c - x), and that of its damper -damping (v + w x R p).

A spring between two bodies is two rows, one for each end; c is then the place of the other end. Its damper acts along
the line between them: damping (n . u) n, with n = (c - x) / |c - x| and u the velocity of c relative to x. So both ends
feel exactly opposite forces along one line, and momentum is conserved. Where the ends meet, n is the direction of u.
A spring that only pulls is slack at lengths below L, and its damper never pushes.

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

#: Force fixed in the world; one fixed in its body; spring to a point of the world; end of a spring between two bodies.
PUSH, OWN_PUSH, SPRING, END = range(4)


class PushRow(Struct):
    """A force on a body."""

    kind = Integer()
    stiffness = Number()  # of a spring
    damping = Number()
    length = Number()  # at rest
    pulls = Integer()  # whether a spring only pulls
    vector = Value(Vec3)  # the force; for a spring, its anchor
    moment = Value(Vec3)
    point = Value(Vec3)  # of the body
    body = Integer()  # of an end: the (reduced) body that it is on ...
    other = Integer()  # ... and the row of the other end


@helper
def length(a):
    return math.sqrt(dot(a, a))


@helper
def place_of(push, R, X):
    """x"""
    return X + R @ push.point


@helper
def velocity_of(push, R, V):
    """The velocity of x."""
    return V.lin + cross(V.ang, R @ push.point)


@helper
def elastic(push, way):
    """The force of a spring over `way`, c - x, without its damper."""
    far = length(way) if push.length > 0.0 else 0.0
    if not far > 0.0:
        return way * push.stiffness
    if push.pulls and far < push.length:
        return way * 0.0
    return way * (push.stiffness * (1.0 - push.length / far))


@helper
def spring_energy(push, way):
    far = length(way)
    if push.length == 0.0:
        return 0.5 * push.stiffness * dot(way, way)
    return 0.0 if push.pulls and far < push.length else 0.5 * push.stiffness * (far - push.length) ** 2


@helper
def end_parts(push, way, rate):
    """The force on an end of a spring between two bodies: without its damper, and that of the damper. way, rate: c - x,
    and its rate of change."""
    pull, far = elastic(push, way), length(way)
    if not far > 0.0:
        drag = rate * push.damping
    else:
        n = way * (1.0 / far)
        drag = n * (push.damping * dot(n, rate))
    if push.pulls:
        if not far > push.length:
            drag = rate * 0.0
        elif dot(way, pull + drag) < 0.0:
            drag = pull * -1.0
    return pull, drag


@helper
def own_axes(push, R, X, V):
    """The force of a push, and that of its damper, along the axes in which it is given: those of the body for OWN_PUSH,
    otherwise those of the world."""
    if push.kind != SPRING:
        return push.vector, Vec3(0.0, 0.0, 0.0)
    return elastic(push, push.vector - place_of(push, R, X)), velocity_of(push, R, V) * -push.damping


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
        return spring_energy(push, push.vector - place_of(push, R, X))
    return -dot(push.vector, place_of(push, R, X)) if push.kind == PUSH else 0.0


@helper
def push_size(push, X):
    """The magnitude of a force on a body at X, without cancellation inside it, and of its moment."""
    p, f = length(push.point), length(push.vector)
    if push.kind == SPRING:
        f = (f + p + length(X) + push.length) * push.stiffness
    elif push.kind == END:  # of a length far above this, it is as large as its force
        f = 2.0 * (p + length(X) + push.length) * push.stiffness
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


@helper
def _velocity(V, k):
    return Motion(load_vec(V, k, 0), load_vec(V, k, 3))


@helper
def _end_on_body(pushes, k, R, X, V):
    """The force on an end of a spring between two bodies, along its body's axes."""
    end, other = pushes.rows[k], pushes.rows[pushes.rows[k].other]
    (R1, X1), (R2, X2) = _pose(R, X, k), _pose(R, X, end.other)
    way = place_of(other, R2, X2) - place_of(end, R1, X1)
    pull, drag = end_parts(
        end, way, velocity_of(other, R2, _velocity(V, end.other)) - velocity_of(end, R1, _velocity(V, k))
    )
    f = (pull + drag) @ R1  # R^T f
    return Force(cross(end.point, f), f)


_matrix = types.float64[:, ::1]


@kernel(types.void(Pushes.type, types.float64, _matrix, _matrix, _matrix, _matrix), "pushes")
def push_kernel(pushes, time, R, X, V, out):
    """out: the wrenches on all bodies, along their own axes. R (count, 9), X (count, 3), V (count, 6): of the bodies
    that are pushed."""
    for k in range(pushes.count):
        if not pushes.start[k] <= time < pushes.stop[k]:
            continue
        rotation, position = _pose(R, X, k)
        f = push_on_body(pushes.rows[k], rotation, position, _velocity(V, k))
        if pushes.rows[k].kind == END:
            f = _end_on_body(pushes, k, R, X, V)
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
            push, first = pushes.rows[k], state * pushes.count
            rotation, position = _pose(R, X, first + k)
            if push.kind == END:  # half of it at each end
                R2, X2 = _pose(R, X, first + push.other)
                way = place_of(pushes.rows[push.other], R2, X2) - place_of(push, rotation, position)
                total += 0.5 * spring_energy(push, way)
            elif pushes.start[k] == 0.0 and pushes.stop[k] == math.inf:
                total += push_energy(push, rotation, position)
        out[state] = total
