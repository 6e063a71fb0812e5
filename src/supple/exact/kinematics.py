"""Positions and motions of bodies: poses, velocities, accelerations.

Positions are summed along the tree in world coordinates; velocities and accelerations are of each body's origin,
along world axes or the body's own. O(n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import choice, take
from supple.exact.answers import Along, Motions, Poses, at_rest
from supple.exact.call_kernels import ScratchRows, scratch_opener
from supple.exact.calls import A_OR_NONE, Algorithm, Q, V
from supple.exact.motion import joint_motion, joint_of, move, place, turn_ahead, unit_mat, zero_vec
from supple.model.model import Model
from supple.spatial.algebra import (
    Mat3,
    Motion,
    Vec3,
    rotate_motion,
    shift_motion,
    transpose,
)
from supple.spatial.compiler import helper
from supple.spatial.fields import Value
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


class PlacedBody(Struct):
    R = Value(Mat3)
    P = Value(Vec3)
    V = Value(Motion)  # velocity of its origin [jacobians.py]


class Spatial(Struct):
    """A velocity or an acceleration."""

    x = Value(Motion)


pose_among, spatial_among = Pose.among, Spatial.among
MOVING, PLACED = ScratchRows(PosePath), ScratchRows(PosePath, PlacedBody)
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
