"""Positions and motions of bodies: poses, velocities, accelerations, Jacobians.

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
    STATE_SHIFT,
    Algorithm,
    Q,
    ScratchRows,
    V,
    call_at,
    row_of,
    scratch_opener,
    state_status,
)
from supple.exact.motion import (
    DOF,
    PRISMATIC,
    REVOLUTE,
    joint_motion,
    joint_of,
    move,
    place,
    turn_ahead,
    unit_mat,
    zero_vec,
)
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
from supple.spatial.fields import Value
from supple.spatial.python_objects import OK
from supple.spatial.structs import Struct

Floats = NDArray[np.float64]
FRAME = choice("world", "body")


class PosePath(Struct):
    """What bodies pass on to their children."""

    R = Value(Mat3)  # rotation
    P = Value(Vec3)  # position of the origin in the world
    V = Value(Motion)  # velocity
    A = Value(Motion)  # acceleration, without gravity


class Pose(Struct):
    R = Value(Mat3)
    P = Value(Vec3)


class Spatial(Struct):
    """A velocity or an acceleration."""

    x = Value(Motion)


pose_among, spatial_among = Pose.among, Spatial.among
MOVING, PLACED = ScratchRows(PosePath), ScratchRows(PosePath, Pose)
placed_scratch, _ = scratch_opener(PLACED)


@helper
def place_world(number, world):
    """The world's row."""
    world.R = unit_mat(number)
    world.P = zero_vec(number)


@helper
def place_all(m, q, work):
    """R and world position P of every body, and the axes of its joint."""
    path, bodies, S = work.path, work.bodies, work.S
    place_world(q[0], path[0])
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r = place(m, b, path[p].R, q, S)
        P = path[p].P + r
        path[i].R, path[i].P = R, P
        bodies[b].R, bodies[b].P = R, P


@helper
def _poses(m, state, out, work):
    place_all(m, state.q, work)
    for b in range(m.n):
        pose, body = pose_among(out, 12 * b), work.bodies[b]
        pose.R, pose.P = body.R @ m.outward[b].R, body.P
    return 1.0


@helper
def _motions(m, state, out, work, of_acceleration, own_axes):
    """Velocities, or accelerations (without gravity), of all bodies at their origins."""
    path, S = work.path, work.S
    place_world(state.q[0], path[0])
    zero = zero_vec(state.q[0])
    path[0].V = path[0].A = Motion(zero, zero)
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, S, done, b)
        R, r, V, c = move(m, b, path[p].R, path[p].V, state.q, state.v, S)
        path[i].R, path[i].V = R, V
        x = V
        if of_acceleration:
            x = shift_motion(r, path[p].A) + c + joint_motion(m, b, R, state.known, S)
            path[i].A = x
        if own_axes:
            x = rotate_motion(transpose(R @ m.outward[b].R), x)
        spatial_among(out, 6 * b).x = x
    return 1.0


@helper
def _velocities_world(m, state, out, work):
    return _motions(m, state, out, work, False, False)


@helper
def _velocities_body(m, state, out, work):
    return _motions(m, state, out, work, False, True)


@helper
def _accelerations_world(m, state, out, work):
    return _motions(m, state, out, work, True, False)


@helper
def _accelerations_body(m, state, out, work):
    return _motions(m, state, out, work, True, True)


@kernel(
    types.int64(
        types.int64, types.float64[:, ::1], types.int64, types.float64[::1], types.float64[:, :, ::1], types.boolean
    ),
    "jacobian",
)
def _jacobian(handle, q, body, point, J, own_axes):
    """J (B, 6, nv) of a point in the frame of a body; returns a status and the state at fault."""
    call = call_at(handle)
    m, work = call.model, placed_scratch(call)
    zero = Vec3(0.0, 0.0, 0.0)
    J[:] = 0.0
    for s in range(q.shape[0]):
        status = state_status(m, row_of(q, s))
        if status != OK:
            return status + (s << STATE_SHIFT)
        place_all(m, row_of(q, s), work)
        b = body
        R = work.bodies[b].R @ m.outward[b].R
        P = work.bodies[b].P + R @ Vec3(point[0], point[1], point[2])
        axes = transpose(R) if own_axes else unit_mat(0.0)
        while b >= 0:
            r = P - work.bodies[b].P
            kind, j = m.bodies[b].kind, m.bodies[b].iv
            z = z_axis(work.bodies[b].R)
            for k in range(j, j + DOF[kind]):
                if kind == REVOLUTE:
                    s_k = Motion(z, zero)
                elif kind == PRISMATIC:
                    s_k = Motion(zero, z)
                else:
                    s_k = work.S.axes[k].s
                column = rotate_motion(axes, shift_motion(r, s_k))
                for c in range(3):
                    J[s, c, k] = column.ang[c]
                    J[s, 3 + c, k] = column.lin[c]
            b = m.bodies[b].parent
    return OK


POSES = Algorithm("poses", _poses, PLACED, (Q, None, None, None), lambda m: (m.n_bodies, 12))
_BY_V, _BY_A = (Q, V, None, None), (Q, V, A_OR_NONE, None)


def _sixes(model: Model) -> tuple[int, int]:
    return model.n_bodies, 6


VELOCITIES: dict[str, Algorithm] = {
    "world": Algorithm("velocities", _velocities_world, MOVING, _BY_V, _sixes),
    "body": Algorithm("velocities, own axes", _velocities_body, MOVING, _BY_V, _sixes),
}
ACCELERATIONS: dict[str, Algorithm] = {
    "world": Algorithm("accelerations", _accelerations_world, MOVING, _BY_A, _sixes),
    "body": Algorithm("accelerations, own axes", _accelerations_body, MOVING, _BY_A, _sixes),
}


def poses(model: Model, q: ArrayLike) -> Poses:
    """World rotation and position of every body's frame, and by name of every named frame: poses(model, q)["hand"].

    A batch of q adds a leading axis.
    """
    out = POSES(model, q, None, None, None)
    return Poses(out[..., :9].reshape(*out.shape[:-1], 3, 3), out[..., 9:], model)


def velocities(model: Model, q: ArrayLike, v: ArrayLike | None = None, frame: Along = "world") -> Motions:
    """Velocity of every body and, by name, of every named frame, angular first, at its origin, along the world's axes
    or its own. v None means at rest.

    A batch adds a leading axis.
    """
    spatial = _of(VELOCITIES, frame)(model, q, at_rest(model, v), None, None)
    return Motions(spatial, frame, model, _where(model, q, frame))


def accelerations(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, frame: Along = "world"
) -> Motions:
    """Spatial acceleration of every body and, by name, of every named frame, angular first, at its origin, along the
    world's axes or its own; gravity is not included. v or a None means zeros.

    The linear part is the derivative of the velocity field at the point that the origin passes: the acceleration of the
    origin as a point moving with the body is that plus w x v.
    """
    spatial = _of(ACCELERATIONS, frame)(model, q, at_rest(model, v), a, None)
    return Motions(spatial, frame, model, _where(model, q, frame))


def _where(model: Model, q: ArrayLike, frame: Along) -> Floats | None:
    """A copy of q, if the poses of named frames will be needed."""
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
        work = POSES.work(model)
        status = _jacobian.load()(work.handle, states, index, np.ascontiguousarray(at), J, frame == "body")
        if status != OK:
            if size is None:
                POSES(model, states[0], None, None, None)
            POSES._explain_state(model, status, [states, None, None, None])
        if frame == "body":
            J = np.concatenate([turn.T @ J[:, :3], turn.T @ J[:, 3:]], axis=1)
    return J[0] if size is None else J
