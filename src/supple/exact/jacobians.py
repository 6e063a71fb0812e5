"""Jacobians of points of bodies, and their derivatives with respect to time. O(n) for the poses, O(depth) for a matrix.

The axis of degree of freedom k of body b is s = (w, u) at the body's origin P_b, along world axes. Its column, for a
point P of a body that it moves, and the derivative of the column are

    J_k  = (w, u + w x (P - P_b))
    J_k' = (w', u' + w' x (P - P_b) + w x (P' - P_b'))        w' = o x w    u' = o x u

where o is the angular velocity of a body to which the axis is fixed: its own or, for the first axis of a universal
joint, its parent's. Along the axes of the point's own body, which rotates with o_e, the derivative is J' - o_e x J.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import Triple, checked
from supple.errors import StateError
from supple.exact.answers import Along, at_rest
from supple.exact.call_kernels import NOT_FINITE, STATE_SHIFT, call_at, finite, row_of, state_status
from supple.exact.calls import Algorithm
from supple.exact.kinematics import POSES, VELOCITIES, place_all, place_world, placed_scratch
from supple.exact.motion import joint_of, move, turn_ahead, unit_mat, zero_vec
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE, is_on_parent
from supple.model.model import Model
from supple.spatial.algebra import Motion, Vec3, cross, rotate_motion, shift_motion, transpose, z_axis
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import OK

Floats = NDArray[np.float64]


@helper
def move_all(m, q, v, work):
    """R, P and V of every body, and the axes of its joint."""
    path, bodies, S = work.path, work.bodies, work.S
    place_world(q[0], path[0])
    path[0].V = Motion(zero_vec(q[0]), zero_vec(q[0]))
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r, V, _ = move(m, b, path[p].R, path[p].V, q, v, S)
        P = path[p].P + r
        path[i].R, path[i].P, path[i].V = R, P, V
        bodies[b].R, bodies[b].P, bodies[b].V = R, P, V


@helper
def axis_of(m, work, b, k):
    """The axis of degree of freedom k of body b, at the body's origin."""
    return axis_along(m.bodies[b].kind, z_axis(work.bodies[b].R), work.S, k)


@helper
def axis_along(kind, z, S, k):
    """The same for a joint of this kind, whose body has the axis z."""
    zero = Vec3(0.0, 0.0, 0.0)
    if kind == REVOLUTE:
        s = Motion(z, zero)
    elif kind == PRISMATIC:
        s = Motion(zero, z)
    else:
        s = S.axes[k].s
    return s


@helper
def turning_of(m, work, b, k):
    """The angular velocity of a body to which that axis is fixed."""
    o, up = work.bodies[b].V.ang, m.bodies[b].parent
    if is_on_parent(m.bodies[b].kind, k - m.bodies[b].iv):
        o = work.bodies[up].V.ang if up >= 0 else Vec3(0.0, 0.0, 0.0)
    return o


@helper
def column_rate(s, o, r, dr):
    """J_k' of the axis s, which rotates with o; r = P - P_b, dr its derivative."""
    w, u = cross(o, s.ang), cross(o, s.lin)
    return Motion(w, u + cross(w, r) + cross(s.ang, dr))


@helper
def fill_columns(m, work, e, point, J, rate, own_axes):
    """The columns of J, or of its derivative, for a point of body e."""
    end = work.bodies[e]
    R = end.R @ m.outward[e].R
    at = R @ point
    P, dP, o_e = end.P + at, end.V.lin + cross(end.V.ang, at), end.V.ang
    axes, b = transpose(R) if own_axes else unit_mat(0.0), e
    while b >= 0:
        r, j = P - work.bodies[b].P, m.bodies[b].iv
        for k in range(j, j + DOF[m.bodies[b].kind]):
            s = axis_of(m, work, b, k)
            column = shift_motion(r, s)
            if rate:
                before = column
                column = column_rate(s, turning_of(m, work, b, k), r, dP - work.bodies[b].V.lin)
                if own_axes:
                    column = Motion(column.ang - cross(o_e, before.ang), column.lin - cross(o_e, before.lin))
            column = rotate_motion(axes, column)
            for c in range(3):
                J[c, k], J[3 + c, k] = column.ang[c], column.lin[c]
        b = m.bodies[b].parent


_f1, _f2, _f3, _int = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1], types.int64


@kernel(_int(_int, _f2, _f2, _int, _f1, _f3, types.boolean), "jacobian")
def _jacobians(handle, q, v, body, point, out, own_axes):
    """out (B, 6, nv) for a point in the frame of a body: Jacobians or, if velocities v (B, nv) are given, their
    derivatives. Returns a status and the state at fault."""
    call = call_at(handle)
    m, work = call.model, placed_scratch(call)
    out[:] = 0.0
    rate = v.shape[1] > 0
    for i in range(q.shape[0]):
        status = state_status(m, row_of(q, i))
        if status == OK and not finite(row_of(v, i), v.shape[1]):
            status = NOT_FINITE
        if status == OK:
            if rate:
                move_all(m, row_of(q, i), row_of(v, i), work)
            else:
                place_all(m, row_of(q, i), work)
            fill_columns(m, work, body, Vec3(point[0], point[1], point[2]), out[i], rate, own_axes)
            if not finite(out[i].ravel(), 6 * m.nv):
                status = NOT_FINITE
        if status != OK:
            return status + (i << STATE_SHIFT)
    return OK


@checked
def jacobian(
    model: Model, q: ArrayLike, body: str | int, point: Triple = (0.0, 0.0, 0.0), frame: Along = "world"
) -> Floats:
    """(6, nv) J with J v the velocity, angular first, of a point of a body (given in the body's frame; its origin by
    default).

    Components along the world's axes or the body's. A batch of q gives (B, 6, nv). `body` may also be a named frame:
    then the point is in that frame, and "body" axes are the frame's.
    """
    return _of_point(POSES, model, (q, None), body, point, frame)


@checked
def jacobian_derivative(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None,
    body: str | int,
    point: Triple = (0.0, 0.0, 0.0),
    frame: Along = "world",
) -> Floats:
    """(6, nv) the derivative of `jacobian` with respect to time, at velocities v: J a + J' v is the derivative of J v.

    Along the world's axes, that is the acceleration of the point. A batch of q or v gives (B, 6, nv).
    """
    return _of_point(VELOCITIES["world"], model, (q, at_rest(model, v)), body, point, frame)


def _of_point(
    checks: Algorithm, model: Model, state: tuple[Any, Any], body: str | int, point: Triple, frame: Along
) -> Floats:
    """The matrices of a state, which `checks` takes."""
    place = model.place(body)
    at, turn = place.rotation @ np.asarray(point) + place.position, place.rotation
    arrays, size = checks.arrays(model, (*state, None, None))
    count = 1 if size is None else size
    memory.require(6 * model.nv * count, f"jacobians for a batch of {count:,}", "use smaller batches")
    J = np.zeros((count, 6, model.nv))
    if place.body >= 0:
        flat = [checks._flat(model, argument, x, count) for argument, x in zip(checks.inputs[:2], arrays)]
        handle = POSES.work(model).handle
        status = _jacobians.load()(handle, *flat, place.body, np.ascontiguousarray(at), J, frame == "body")
        if status != OK and size is None:
            checks._one(model, arrays)  # explains what is wrong
            raise StateError("the numbers given are too large for float64")
        if status != OK:
            checks._explain_state(model, status, arrays)
        if frame == "body":
            J = np.concatenate([turn.T @ J[:, :3], turn.T @ J[:, 3:]], axis=1)
    return J[0] if size is None else J
