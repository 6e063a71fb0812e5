"""Where bodies are and how they move: poses, velocities, accelerations, Jacobians.

Positions are summed along the tree in world coordinates; velocities and accelerations are of each body's origin,
along world axes or the body's own. O(n), a Jacobian O(depth of the body).
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import Triple, checked, choice, take
from supple.exact.answers import Along, Motions, Poses, at_rest
from supple.exact.calls import (
    A_OR_NONE,
    AXES,
    HEADER,
    N_SLOTS,
    PATH,
    STATE_SHIFT,
    TURNS,
    WORK,
    Algorithm,
    Q,
    V,
    Work,
    state_status,
)
from supple.exact.motion import (
    AXIS,
    DOF,
    PRISMATIC,
    REVOLUTE,
    Axes,
    joint_motion,
    joint_of,
    move,
    place,
    turn_ahead,
    zero_vec,
)
from supple.exact.tables import IV, KIND, PARENT, open_tables
from supple.model.model import Model
from supple.spatial.algebra import (
    Mat3,
    Motion,
    Vec3,
    rotate_motion,
    shift_motion,
    transpose,
    z_axis,
)
from supple.spatial.compiler import helper, kernel
from supple.spatial.lanes import number_like
from supple.spatial.references import OK, floats_at, ints_at
from supple.spatial.rows import (
    load_mat,
    load_motion,
    load_vec,
    store_mat,
    store_six,
    store_vec,
)
from supple.spatial.trig import RING

Floats = NDArray[np.float64]
FRAME = choice("world", "body")

R_, P_, V_, A_, PATH_ROW = 0, 9, 12, 18, 24
BODY_ROW = 12  # R_ and P_ again, kept for every body


@helper
def place_world(path, q):
    """Row 0 is the world."""
    one, o = number_like(q[0], 1.0), number_like(q[0], 0.0)
    store_mat(path, 0, R_, Mat3(Vec3(one, o, o), Vec3(o, one, o), Vec3(o, o, one)))
    store_vec(path, 0, P_, Vec3(o, o, o))


@helper
def place_all(m, q, path, work, S):
    """R and world position P of every body, and the axes of its joint."""
    place_world(path, q)
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r = place(m, b, load_mat(path, p, R_), q, S)
        P = load_vec(path, p, P_) + r
        store_mat(path, i, R_, R)
        store_vec(path, i, P_, P)
        store_mat(work, b, R_, R)
        store_vec(work, b, P_, P)


@helper
def _poses(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    place_all(m, q, path, work, S)
    for b in range(m.n):
        R, P = load_mat(work, b, R_) @ load_mat(m.outward, b, 0), load_vec(work, b, P_)
        for k in range(3):
            _put(out, 12 * b + 3 * k, R[k])
        _put(out, 12 * b + 9, P)
    return 1.0


@helper
def _put(out, at, x):
    out[at] = x.x
    out[at + 1] = x.y
    out[at + 2] = x.z


@helper
def _motions(m, q, v, a, out, path, S, of_acceleration, own_axes):
    """Velocities, or accelerations (of motion alone: gravity is not in them), of all bodies at their origins."""
    place_world(path, q)
    zero = zero_vec(q[0])
    store_six(path, 0, V_, Motion(zero, zero))
    store_six(path, 0, A_, Motion(zero, zero))
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r, V, c = move(m, b, load_mat(path, p, R_), load_motion(path, p, V_), q, v, S)
        store_mat(path, i, R_, R)
        store_six(path, i, V_, V)
        if of_acceleration:
            A = shift_motion(r, load_motion(path, p, A_)) + c + joint_motion(m, b, R, a, S)
            store_six(path, i, A_, A)
        x = load_motion(path, i, A_ if of_acceleration else V_)
        if own_axes:
            x = rotate_motion(transpose(R @ load_mat(m.outward, b, 0)), x)
        _put(out, 6 * b, x.ang)
        _put(out, 6 * b + 3, x.lin)
    return 1.0


@helper
def _velocities_world(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    return _motions(m, q, v, v, out, path, S, False, False)


@helper
def _velocities_body(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    return _motions(m, q, v, v, out, path, S, False, True)


@helper
def _accelerations_world(m, q, v, a, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    return _motions(m, q, v, a, out, path, S, True, False)


@helper
def _accelerations_body(m, q, v, a, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    return _motions(m, q, v, a, out, path, S, True, True)


@kernel(
    types.int64(
        types.int64, types.float64[:, ::1], types.int64, types.float64[::1], types.float64[:, :, ::1], types.boolean
    ),
    "jacobian",
)
def _jacobian(handle, q, body, point, J, own_axes):
    """J (B, 6, nv) of a point in the frame of a body; returns a status and the state at fault."""
    h = ints_at(handle, (HEADER,))
    m = open_tables(h)
    path, work = floats_at(h[PATH], (h[N_SLOTS], PATH_ROW)), floats_at(h[WORK], (m.n, BODY_ROW))
    S = Axes(floats_at(h[AXES], (m.nv, AXIS)), floats_at(h[TURNS], (RING, 2)))
    zero = Vec3(0.0, 0.0, 0.0)
    J[:] = 0.0
    for s in range(q.shape[0]):
        status = state_status(m, q[s])
        if status != OK:
            return status + (s << STATE_SHIFT)
        place_all(m, q[s], path, work, S)
        b = body
        R = load_mat(work, b, R_) @ load_mat(m.outward, b, 0)
        P = load_vec(work, b, P_) + R @ Vec3(point[0], point[1], point[2])
        axes = transpose(R) if own_axes else Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
        while b >= 0:
            r = P - load_vec(work, b, P_)
            kind, j = m.bodies[b, KIND], m.bodies[b, IV]
            z = z_axis(load_mat(work, b, R_))
            for k in range(j, j + DOF[kind]):
                if kind == REVOLUTE:
                    s_k = Motion(z, zero)
                elif kind == PRISMATIC:
                    s_k = Motion(zero, z)
                else:
                    s_k = load_motion(S.rows, k, 0)
                column = rotate_motion(axes, shift_motion(r, s_k))
                for c in range(3):
                    J[s, c, k] = column.ang[c]
                    J[s, 3 + c, k] = column.lin[c]
            b = m.bodies[b, PARENT]
    return OK


POSES = Algorithm("poses", _poses, PATH_ROW, BODY_ROW, 0, (Q, None, None, None), lambda m: (m.n_bodies, 12))
VELOCITIES: dict[str, Algorithm] = {
    "world": Algorithm("velocities", _velocities_world, PATH_ROW, 0, 0, (Q, V, None, None), lambda m: (m.n_bodies, 6)),
    "body": Algorithm(
        "velocities, own axes", _velocities_body, PATH_ROW, 0, 0, (Q, V, None, None), lambda m: (m.n_bodies, 6)
    ),
}
ACCELERATIONS: dict[str, Algorithm] = {
    "world": Algorithm(
        "accelerations", _accelerations_world, PATH_ROW, 0, 0, (Q, V, A_OR_NONE, None), lambda m: (m.n_bodies, 6)
    ),
    "body": Algorithm(
        "accelerations, own axes",
        _accelerations_body,
        PATH_ROW,
        0,
        0,
        (Q, V, A_OR_NONE, None),
        lambda m: (m.n_bodies, 6),
    ),
}


def poses(model: Model, q: ArrayLike) -> Poses:
    """World rotation and position of every body's frame, and by name of every named frame: poses(model, q)["hand"].

    A batch of q gives them a leading axis.
    """
    out = POSES(model, q, None, None, None)
    return Poses(out[..., :9].reshape(*out.shape[:-1], 3, 3), out[..., 9:], model)


def velocities(model: Model, q: ArrayLike, v: ArrayLike | None = None, frame: Along = "world") -> Motions:
    """Velocity of every body and, by name, of every named frame, angular first, at its origin, along the world's axes
    or its own. v None means at rest.

    A batch gives a leading axis.
    """
    spatial = _of(VELOCITIES, frame)(model, q, at_rest(model, v), None, None)
    return Motions(spatial, frame, model, _where(model, q, frame))


def accelerations(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, frame: Along = "world"
) -> Motions:
    """Spatial acceleration of every body and, by name, of every named frame, angular first, at its origin, along the
    world's axes or its own; gravity is not in it. v or a None means zeros.

    The linear part is the derivative of the velocity field at the point that the origin passes: what an accelerometer
    moved with the body would follow is that plus w x v.
    """
    spatial = _of(ACCELERATIONS, frame)(model, q, at_rest(model, v), a, None)
    return Motions(spatial, frame, model, _where(model, q, frame))


def _where(model: Model, q: ArrayLike, frame: Along) -> Floats | None:
    """A copy of q, if where named frames are will be needed."""
    return np.array(q, dtype=np.float64) if frame == "world" and model.frame_list else None


def _of(table: dict[str, Algorithm], frame: str) -> Algorithm:
    try:
        return table[frame]
    except (KeyError, TypeError):
        take("frame", frame, FRAME)
        raise


@checked
def jacobian(
    model: Model, q: ArrayLike, body: str | int, point: Triple = (0.0, 0.0, 0.0), frame: Along = "world"
) -> Floats:
    """(6, nv) J with J v the velocity, angular first, of a point of a body (given in the body's frame; its origin by
    default).

    Components along the world's axes or the body's. A batch of q gives (B, 6, nv). `body` may also be a named frame:
    then the point is in that frame, and "body" axes are the frame's.
    """
    place = model.place(body)
    at, turn, index = place.rotation @ np.asarray(point) + place.position, place.rotation, place.body
    arrays, size = POSES.arrays(model, (q, None, None, None))
    states = arrays[0].reshape(1 if size is None else size, model.nq)  # type: ignore[union-attr]
    memory.require(6 * model.nv * len(states), f"jacobians for a batch of {len(states):,}", "use smaller batches")
    J = np.zeros((len(states), 6, model.nv))
    if index >= 0:
        work: Work = model._work.get("poses") or POSES.prepare(model)
        status = _jacobian.load()(work.handle, states, index, np.ascontiguousarray(at), J, frame == "body")
        if status != OK:
            if size is None:
                POSES(model, states[0], None, None, None)
            POSES._explain_state(model, status, [states, None, None, None])
        if frame == "body":
            J = np.concatenate([turn.T @ J[:, :3], turn.T @ J[:, 3:]], axis=1)
    return J[0] if size is None else J
