"""How a joint moves its body, in compiled code. A new joint type is a branch in each of these functions.

Everything is along world axes. S.rows has a row for each degree of freedom: its axis, 6 numbers (not kept for
revolute and prismatic joints, whose axis is the body's z). S.ring has the sines and cosines of the angles that come
next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from supple.exact.tables import ANGLE, IQ, IV, KIND, PARENT_SLOT, PITCH, SLOT, TREE_P, TREE_R
from supple.model.joints import NV, JointType
from supple.spatial.algebra import (
    Mat3,
    Motion,
    Vec3,
    crm,
    cross,
    rotation_of,
    shift_motion,
    turn_x,
    turn_z,
    x_axis,
    y_axis,
    z_axis,
)
from supple.spatial.compiler import helper
from supple.spatial.indexing import get, item
from supple.spatial.lanes import number_like
from supple.spatial.rows import (
    load_mat,
    load_motion,
    load_vec,
    store_mat,
    store_six,
)
from supple.spatial.trig import RING, sincos_ring

REVOLUTE, PRISMATIC = int(JointType.REVOLUTE), int(JointType.PRISMATIC)
SCREW, CYLINDRICAL, UNIVERSAL = int(JointType.SCREW), int(JointType.CYLINDRICAL), int(JointType.UNIVERSAL)
PLANAR, BALL, FREE = int(JointType.PLANAR), int(JointType.BALL), int(JointType.FREE)
DOF = NV  #: degrees of freedom by kind

TURNS = tuple(
    {REVOLUTE: 1, SCREW: 1, CYLINDRICAL: 1, UNIVERSAL: 2}.get(k, 0) for k in range(len(NV))
)  #: angles by kind

SIN, COS = 0, 1  #: columns of a ring
AXIS = 6  #: numbers of an axis
AHEAD = RING // 2  #: angles taken at once


class Axes(NamedTuple):
    """What the joints of one state look like just now."""

    rows: Any  #: (nv, 6)
    ring: Any  #: (RING, 2)


@helper
def zero_vec(x):
    """The zero vector in numbers of x's type."""
    o = number_like(x, 0.0)
    return Vec3(o, o, o)


@helper
def joint_of(m, b):
    """Of body b: its slot, its parent's (see topology.slots), its joint's kind and first degree of freedom."""
    return get(m.bodies, b, SLOT), get(m.bodies, b, PARENT_SLOT), get(m.bodies, b, KIND), get(m.bodies, b, IV)


@helper
def world_at_rest(m, q, path):
    """Slot 0 is the world: R at 0, velocity at 9, and at 15 an acceleration of -gravity, which stands for gravity."""
    zero, one, o = zero_vec(q[0]), number_like(q[0], 1.0), number_like(q[0], 0.0)
    store_mat(path, 0, 0, Mat3(Vec3(one, o, o), Vec3(o, one, o), Vec3(o, o, one)))
    store_six(path, 0, 9, Motion(zero, zero))
    store_six(path, 0, 15, Motion(zero, Vec3(o - m.gravity.x, o - m.gravity.y, o - m.gravity.z)))


@helper
def turn_ahead(m, q, S, done, b):
    """See to it that the sines and cosines of body b's joint are in the ring, into which `done` have gone so far;
    returns how many then have. They are made in batches, a little ahead of their use."""
    wanted = get(m.bodies, b, ANGLE) + TURNS[get(m.bodies, b, KIND)]
    while done < wanted:
        stop = min(done + AHEAD, m.angles.shape[0])
        sincos_ring(q, m.angles, done, stop, S.ring)
        done = stop
    return done


@helper
def turn_of(m, b, S, k):
    """Cosine and sine of the k-th angle of body b's joint."""
    row = (get(m.bodies, b, ANGLE) + k) & (RING - 1)
    return get(S.ring, row, COS), get(S.ring, row, SIN)


@helper
def place(m, b, R_p, q, S):
    """R, r of body b: its rotation, and its origin as seen from its parent's, whose rotation is R_p. Fills S."""
    kind, k, j = get(m.bodies, b, KIND), get(m.bodies, b, IQ), get(m.bodies, b, IV)
    tree = load_mat(m.rows, b, TREE_R)
    r = R_p @ load_vec(m.rows, b, TREE_P)
    if kind == REVOLUTE:
        c, s = turn_of(m, b, S, 0)
        R = R_p @ turn_z(tree, c, s)  # in this order only one product waits for the parent
    elif kind == PRISMATIC:
        R = R_p @ tree
        r = r + z_axis(R) * item(q, k)
    else:
        R, r = _place_others(m, b, kind, k, j, R_p @ tree, r, q, S)
    return R, r


@helper
def move(m, b, R_p, V_p, q, v, S):
    """R, r, V, c of body b: as `place`, then its velocity, and the acceleration that velocities alone cause.

    c = V x S v, plus what axes that turn within the joint add (universal joints: the second axis turns with the first).
    """
    kind, j = get(m.bodies, b, KIND), get(m.bodies, b, IV)
    R, r = place(m, b, R_p, q, S)
    V = shift_motion(r, V_p)
    if kind == REVOLUTE:
        w = z_axis(R) * item(v, j)
        c = Motion(cross(V.ang, w), cross(V.lin, w))
        V = Motion(V.ang + w, V.lin)
    elif kind == PRISMATIC:
        u = z_axis(R) * item(v, j)
        c = Motion(zero_vec(item(v, j)), cross(V.ang, u))
        V = Motion(V.ang, V.lin + u)
    else:
        v_J = joint_motion(m, b, R, v, S)
        V = V + v_J
        c = crm(V, v_J)
        if kind == UNIVERSAL:
            w1 = load_motion(S.rows, j, 0).ang * item(v, j)
            w2 = load_motion(S.rows, j + 1, 0).ang * item(v, j + 1)
            c = Motion(c.ang + cross(w1, w2), c.lin)
    return R, r, V, c


@helper
def _place_others(m, b, kind, k, j, R, r, q, S):
    o = zero_vec(item(q, k))
    if kind == SCREW:
        z = z_axis(R)
        pitch = get(m.rows, b, PITCH)
        c, s = turn_of(m, b, S, 0)
        R = turn_z(R, c, s)
        r = r + z * (pitch * item(q, k))
        store_six(S.rows, j, 0, Motion(z, z * pitch))
    elif kind == CYLINDRICAL:
        z = z_axis(R)
        c, s = turn_of(m, b, S, 0)
        R = turn_z(R, c, s)
        r = r + z * item(q, k + 1)
        store_six(S.rows, j, 0, Motion(z, o))
        store_six(S.rows, j + 1, 0, Motion(o, z))
    elif kind == UNIVERSAL:
        store_six(S.rows, j, 0, Motion(x_axis(R), o))
        c, s = turn_of(m, b, S, 0)
        R = turn_x(R, c, s)
        store_six(S.rows, j + 1, 0, Motion(z_axis(R), o))
        c, s = turn_of(m, b, S, 1)
        R = turn_z(R, c, s)
    elif kind == PLANAR:
        r = r + x_axis(R) * item(q, k) + y_axis(R) * item(q, k + 1)
        # bring cosine and sine to unit length; they are within 1e-6 of it, so two terms give all digits
        d = item(q, k + 2) * item(q, k + 2) + item(q, k + 3) * item(q, k + 3) - 1.0
        to_unit = 1.0 - 0.5 * d + 0.375 * d * d
        R = turn_z(R, item(q, k + 2) * to_unit, item(q, k + 3) * to_unit)
        store_six(S.rows, j, 0, Motion(o, x_axis(R)))
        store_six(S.rows, j + 1, 0, Motion(o, y_axis(R)))
        store_six(S.rows, j + 2, 0, Motion(z_axis(R), o))
    elif kind == BALL:
        R = R @ rotation_of(item(q, k), item(q, k + 1), item(q, k + 2), item(q, k + 3))
        store_six(S.rows, j, 0, Motion(x_axis(R), o))
        store_six(S.rows, j + 1, 0, Motion(y_axis(R), o))
        store_six(S.rows, j + 2, 0, Motion(z_axis(R), o))
    elif kind == FREE:
        r = r + R @ Vec3(item(q, k), item(q, k + 1), item(q, k + 2))
        R = R @ rotation_of(item(q, k + 3), item(q, k + 4), item(q, k + 5), item(q, k + 6))
        store_six(S.rows, j, 0, Motion(o, x_axis(R)))
        store_six(S.rows, j + 1, 0, Motion(o, y_axis(R)))
        store_six(S.rows, j + 2, 0, Motion(o, z_axis(R)))
        store_six(S.rows, j + 3, 0, Motion(x_axis(R), o))
        store_six(S.rows, j + 4, 0, Motion(y_axis(R), o))
        store_six(S.rows, j + 5, 0, Motion(z_axis(R), o))
    return R, r


@helper
def joint_motion(m, b, R, x, S):
    """S x: the motion across joint b for rates (or accelerations) x."""
    kind, j = get(m.bodies, b, KIND), get(m.bodies, b, IV)
    o = zero_vec(item(x, j))
    if kind == REVOLUTE:
        out = Motion(z_axis(R) * item(x, j), o)
    elif kind == PRISMATIC:
        out = Motion(o, z_axis(R) * item(x, j))
    else:
        out = Motion(o, o)
        for i in range(j, j + DOF[kind]):
            out = out + load_motion(S.rows, i, 0) * item(x, i)
    return out
