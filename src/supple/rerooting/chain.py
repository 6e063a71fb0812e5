"""The motion of the last body of a chain of bodies, from the joints of the chain alone. O(length of the chain).

Along world axes: V and A are the spatial velocity and acceleration (without gravity) of the body, at its origin. B is
the orientation of the body if every joint of the chain were neutral: its bind orientation [RR (9)].

Rounding: after m joints, a rotation has an error of some m eps, and so does everything that it rotates. A result near
the world that was computed via ten thousand links is as accurate as the largest intermediate number allows, not
relative to its own size.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.errors import ModelError
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model
from supple.spatial.algebra import Mat3, Motion, Vec3, crm, cross, rotation_of, shift_motion
from supple.spatial.compiler import helper, kernel
from supple.spatial.rows import load_mat, load_vec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRISMATIC, SCREW, CYLINDRICAL = int(JointType.PRISMATIC), int(JointType.SCREW), int(JointType.CYLINDRICAL)
UNIVERSAL, PLANAR, BALL, FREE = (
    int(x) for x in (JointType.UNIVERSAL, JointType.PLANAR, JointType.BALL, JointType.FREE)
)

R_, P_, B_, V_, A_, LARGEST_, SIZE = 0, 9, 12, 21, 27, 33, 37
ROUNDING = 4 * np.finfo(float).eps  #: per joint of a chain, relative to the largest intermediate number


class End(NamedTuple):
    """The last body of a chain: R, p, B, and V, A of six numbers each, angular first. rounding: its possible effect on
    the numbers in R, p, V and A."""

    R: Floats
    p: Floats
    B: Floats
    V: Floats
    A: Floats
    rounding: Floats


@helper
def _about(axis, half):  # type: ignore[no-untyped-def]
    """The rotation about a unit axis, by twice the given angle."""
    s = np.sin(half)
    return rotation_of(axis.x * s, axis.y * s, axis.z * s, np.cos(half))


@helper
def _largest(so_far, m):  # type: ignore[no-untyped-def]
    """The largest number of a motion and those before it."""
    for c in range(3):
        so_far = max(so_far, abs(m.ang[c]), abs(m.lin[c]))
    return so_far


_F1, _F2, _F3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
_I1 = types.int64[::1]


@kernel(
    types.int64(types.int64, _I1, _I1, _I1, _I1, _F2, _F2, _F2, _F2, _F2, _F1, _F1, _F1, _F1, _I1, _F1),
    "motion of a chain",
)
def _chain_end(  # type: ignore[no-untyped-def]
    body, parent, kinds, iq, iv, position, rotation, axis, axis2, turns, pitch, q, v, a, chain, out
):
    """The chain from the world to a body, and the motion of that body; returns the number of bodies in the chain.

    turns: the axes of the plane of a planar joint, and its normal, as the columns of a 3x3 matrix.
    """
    length = 0
    i = body
    while i >= 0:
        length += 1
        i = parent[i]
    i = body
    for m in range(length - 1, -1, -1):
        chain[m] = i
        i = parent[i]
    o = Vec3(0.0, 0.0, 0.0)
    R = Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
    B, P = R, o
    V, A = Motion(o, o), Motion(o, o)
    far, fast, faster = 0.0, 0.0, 0.0
    for m in range(length):
        b = chain[m]
        kind, k, j = kinds[b], iq[b], iv[b]
        tree = load_mat(rotation, b, 0)
        r = R @ load_vec(position, b, 0)
        R, B = R @ tree, B @ tree
        e = load_vec(axis, b, 0)
        turning, w, w2, u, dw, du = o, o, o, o, o, o  # the joint's contributions, along the body's axes
        if kind == FREE:
            r = r + R @ Vec3(q[k], q[k + 1], q[k + 2])
            R = R @ rotation_of(q[k + 3], q[k + 4], q[k + 5], q[k + 6])
            u, w = Vec3(v[j], v[j + 1], v[j + 2]), Vec3(v[j + 3], v[j + 4], v[j + 5])
            du, dw = Vec3(a[j], a[j + 1], a[j + 2]), Vec3(a[j + 3], a[j + 4], a[j + 5])
        elif kind == BALL:
            R = R @ rotation_of(q[k], q[k + 1], q[k + 2], q[k + 3])
            w, dw = Vec3(v[j], v[j + 1], v[j + 2]), Vec3(a[j], a[j + 1], a[j + 2])
        elif kind == PLANAR:
            Q = load_mat(turns, b, 0)
            r = r + R @ (Q @ Vec3(q[k], q[k + 1], 0.0))
            half = 0.5 * np.arctan2(q[k + 3], q[k + 2])
            R = R @ _about(e, half)
            u, w = Q @ Vec3(v[j], v[j + 1], 0.0), e * v[j + 2]
            du, dw = Q @ Vec3(a[j], a[j + 1], 0.0), e * a[j + 2]
        elif kind == UNIVERSAL:
            e2 = load_vec(axis2, b, 0)
            R = R @ _about(e, 0.5 * q[k])
            back = _about(e2, -0.5 * q[k + 1])
            R = R @ _about(e2, 0.5 * q[k + 1])
            w1, w2 = back @ e * v[j], e2 * v[j + 1]
            w = w1 + w2
            dw = back @ e * a[j] + e2 * a[j + 1]
            turning = cross(w1, w2)  # the second axis turns with the first
        elif kind == PRISMATIC:
            r = r + R @ (e * q[k])
            u, du = e * v[j], e * a[j]
        elif kind == CYLINDRICAL:
            r = r + R @ (e * q[k + 1])
            R = R @ _about(e, 0.5 * q[k])
            w, u, dw, du = e * v[j], e * v[j + 1], e * a[j], e * a[j + 1]
        else:
            h = pitch[b] if kind == SCREW else 0.0
            r = r + R @ (e * (h * q[k]))
            R = R @ _about(e, 0.5 * q[k])
            w, u, dw, du = e * v[j], e * (h * v[j]), e * a[j], e * (h * a[j])
        P = P + r
        v_J = Motion(R @ w, R @ u)
        V = shift_motion(r, V) + v_J
        bent = crm(V, v_J)
        A = shift_motion(r, A) + bent + Motion(R @ (dw + turning), R @ du)
        far = max(far, abs(P.x), abs(P.y), abs(P.z))
        fast, faster = _largest(fast, V), _largest(_largest(faster, bent), A)
    for c in range(3):
        out[P_ + c] = P[c]
        out[V_ + c], out[V_ + 3 + c] = V.ang[c], V.lin[c]
        out[A_ + c], out[A_ + 3 + c] = A.ang[c], A.lin[c]
        for d in range(3):
            out[R_ + 3 * c + d] = R[c][d]
            out[B_ + 3 * c + d] = B[c][d]
    out[LARGEST_], out[LARGEST_ + 1], out[LARGEST_ + 2], out[LARGEST_ + 3] = 1.0, far, fast, faster
    return length


_kernel = cache(_chain_end.load)


def chain_end(model: Model, body: int, q: Floats, v: Floats | None, a: Floats | None) -> tuple[Ints, End]:
    """The chain of bodies from the world to a body, and the motion of that body (at rest if v or a are not given)."""
    n, zeros = model.n_bodies, np.zeros(model.nv)
    if not 0 <= body < n:
        raise ModelError(f"there is no body {body}: this model has {n}, numbered from 0")
    planar = model.joint_type == PLANAR
    turns = np.zeros((n if planar.any() else 0, 9))
    if len(turns):
        turns[planar] = rotation_to_z(model.axis[planar]).reshape(-1, 9)
    chain, out = np.empty(n, dtype=np.int64), np.empty(SIZE)
    given = (model.position, model.rotation.reshape(n, 9), model.axis, model.axis2, turns, model.pitch)
    columns = [np.ascontiguousarray(x) for x in given]
    v, a = zeros if v is None else v, zeros if a is None else a
    which = (model.parent, model.joint_type, model.q_index, model.v_index)
    length = _kernel()(body, *which, *columns, q, v, a, chain, out)
    rounding = ROUNDING * length * out[LARGEST_:]
    end = End(out[:P_].reshape(3, 3), out[P_:B_], out[B_:V_].reshape(3, 3), out[V_:A_], out[A_:LARGEST_], rounding)
    return chain[:length], end
