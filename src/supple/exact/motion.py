"""How a joint moves its body, in compiled code. A new joint type is a branch in each of these functions.

    symbol   what
    R, r     rotation of a body; its origin relative to its parent's
    V, c     its velocity; the acceleration due to velocities alone
    s        S.axes[k].s: the axis of degree of freedom k (not stored for revolute and prismatic joints, whose axis is
             the body's z)

Everything is along world axes. S.ring holds the sines and cosines of the angles used next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from supple.model.joints import NV, JointType
from supple.spatial.algebra import (
    Mat3,
    Motion,
    RigidInertia,
    Sym3,
    Vec3,
    crm,
    cross,
    outer_sym,
    rotation_of,
    shift_motion,
    turn_x,
    turn_z,
    x_axis,
    y_axis,
    z_axis,
)
from supple.spatial.any_number import number_like
from supple.spatial.compiler import helper
from supple.spatial.fields import Value
from supple.spatial.structs import Struct
from supple.spatial.trig import RING, sincos_ring

REVOLUTE, PRISMATIC = int(JointType.REVOLUTE), int(JointType.PRISMATIC)
SCREW, CYLINDRICAL, UNIVERSAL = int(JointType.SCREW), int(JointType.CYLINDRICAL), int(JointType.UNIVERSAL)
PLANAR, BALL, FREE = int(JointType.PLANAR), int(JointType.BALL), int(JointType.FREE)
DOF = NV  #: degrees of freedom by kind

TURNS = tuple(
    {REVOLUTE: 1, SCREW: 1, CYLINDRICAL: 1, UNIVERSAL: 2}.get(k, 0) for k in range(len(NV))
)  #: angles by kind

AHEAD = RING // 2  #: angles computed at once


class Axis(Struct):
    """Axis of a degree of freedom."""

    s = Value(Motion)


class Axes(NamedTuple):
    """The current axes of the joints in one state."""

    axes: Any  #: an Axis for each degree of freedom
    ring: Any  #: RING turns


class CallState(NamedTuple):
    """The input of the algorithms."""

    q: Any
    v: Any
    known: Any  #: known joint quantities: forces tau or, for inverse dynamics, accelerations
    pushed: Any  #: whether there are wrenches
    wrenches: Any  #: a Wrench for each body


@helper
def zero_vec(x):
    """The zero vector in numbers of x's type."""
    o = number_like(x, 0.0)
    return Vec3(o, o, o)


@helper
def unit_mat(x):
    """The unit matrix, likewise."""
    one, o = number_like(x, 1.0), number_like(x, 0.0)
    return Mat3(Vec3(one, o, o), Vec3(o, one, o), Vec3(o, o, one))


@helper
def joint_of(m, b):
    """For body b: its slot, its parent's (see topology.slots), its joint's kind and first degree of freedom."""
    body = m.bodies[b]
    return body.slot, body.parent_slot, body.kind, body.iv


@helper
def world_at_rest(m, number, world):
    """Set the world's R and V in its row. Returns its acceleration: -gravity, which stands for gravity."""
    zero, o, g = zero_vec(number), number_like(number, 0.0), m.gravity
    world.R = unit_mat(number)
    world.V = Motion(zero, zero)
    return Motion(zero, Vec3(o - g.x, o - g.y, o - g.z))


@helper
def turned_split(R, split):
    """R (k 1 + s s^T + t t^T) R^T = k 1 + (R s)(R s)^T + (R t)(R t)^T: rotates two vectors instead of a matrix."""
    s, t, k = R @ split.s, R @ split.t, split.k
    I = outer_sym(s, s) + outer_sym(t, t)
    return Sym3(I.xx + k, I.xy, I.xz, I.yy + k, I.yz, I.zz + k)


@helper
def turned_inertia(R, shape):
    """A body's inertia along axes rotated by R."""
    return RigidInertia(shape.mass, R @ shape.h, turned_split(R, shape))


@helper
def turn_ahead(m, q, S, done, b):
    """Ensure that the sines and cosines of body b's joint are in the ring, which has received `done` so far; returns
    the new count. They are computed in batches, shortly before their use."""
    wanted = m.bodies[b].angle + TURNS[m.bodies[b].kind]
    while done < wanted:
        stop = min(done + AHEAD, m.n_angles)
        sincos_ring(q, m.angles, done, stop, S.ring)
        done = stop
    return done


@helper
def turn_of(m, b, S, k):
    """Cosine and sine of the k-th angle of body b's joint."""
    turn = S.ring[(m.bodies[b].angle + k) & (RING - 1)]
    return turn.cos, turn.sin


@helper
def place(m, b, R_p, q, S):
    """R, r of body b: its rotation, and its origin relative to its parent's, whose rotation is R_p. Fills S."""
    body, shape = m.bodies[b], m.shapes[b]
    kind, tree = body.kind, shape.tree_R
    r = R_p @ shape.tree_p
    if kind == REVOLUTE:
        c, s = turn_of(m, b, S, 0)
        R = R_p @ turn_z(tree, c, s)  # in this order only one product waits for the parent
    elif kind == PRISMATIC:
        R = R_p @ tree
        r = r + z_axis(R) * q[body.iq]
    else:
        R, r = _place_others(m, b, R_p @ tree, r, q, S)
    return R, r


@helper
def move(m, b, R_p, V_p, q, v, S):
    """R, r, V, c of body b: as `place`, then its velocity, and the acceleration due to velocities alone.

    c = V x S v, plus the contribution of axes that move within the joint (universal joints: the second axis turns with
    the first).
    """
    kind, j = m.bodies[b].kind, m.bodies[b].iv
    R, r = place(m, b, R_p, q, S)
    V = shift_motion(r, V_p)
    if kind == REVOLUTE:
        w = z_axis(R) * v[j]
        c = Motion(cross(V.ang, w), cross(V.lin, w))
        V = Motion(V.ang + w, V.lin)
    elif kind == PRISMATIC:
        u = z_axis(R) * v[j]
        c = Motion(zero_vec(v[j]), cross(V.ang, u))
        V = Motion(V.ang, V.lin + u)
    else:
        v_J = joint_motion(m, b, R, v, S)
        V = V + v_J
        c = crm(V, v_J)
        if kind == UNIVERSAL:
            w1 = S.axes[j].s.ang * v[j]
            w2 = S.axes[j + 1].s.ang * v[j + 1]
            c = Motion(c.ang + cross(w1, w2), c.lin)
    return R, r, V, c


@helper
def _place_others(m, b, R, r, q, S):
    kind, k, j, axes = m.bodies[b].kind, m.bodies[b].iq, m.bodies[b].iv, S.axes
    o = zero_vec(q[k])
    if kind == SCREW:
        z = z_axis(R)
        pitch = m.shapes[b].pitch
        c, s = turn_of(m, b, S, 0)
        R = turn_z(R, c, s)
        r = r + z * (pitch * q[k])
        axes[j].s = Motion(z, z * pitch)
    elif kind == CYLINDRICAL:
        z = z_axis(R)
        c, s = turn_of(m, b, S, 0)
        R = turn_z(R, c, s)
        r = r + z * q[k + 1]
        axes[j].s = Motion(z, o)
        axes[j + 1].s = Motion(o, z)
    elif kind == UNIVERSAL:
        axes[j].s = Motion(x_axis(R), o)
        c, s = turn_of(m, b, S, 0)
        R = turn_x(R, c, s)
        axes[j + 1].s = Motion(z_axis(R), o)
        c, s = turn_of(m, b, S, 1)
        R = turn_z(R, c, s)
    elif kind == PLANAR:
        r = r + x_axis(R) * q[k] + y_axis(R) * q[k + 1]
        # normalise cosine and sine; they are within 1e-6 of unit length, so two terms give all digits
        d = q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3] - 1.0
        to_unit = 1.0 - 0.5 * d + 0.375 * d * d
        R = turn_z(R, q[k + 2] * to_unit, q[k + 3] * to_unit)
        axes[j].s = Motion(o, x_axis(R))
        axes[j + 1].s = Motion(o, y_axis(R))
        axes[j + 2].s = Motion(z_axis(R), o)
    elif kind == BALL:
        R = R @ rotation_of(q[k], q[k + 1], q[k + 2], q[k + 3])
        axes[j].s = Motion(x_axis(R), o)
        axes[j + 1].s = Motion(y_axis(R), o)
        axes[j + 2].s = Motion(z_axis(R), o)
    elif kind == FREE:
        r = r + R @ Vec3(q[k], q[k + 1], q[k + 2])
        R = R @ rotation_of(q[k + 3], q[k + 4], q[k + 5], q[k + 6])
        axes[j].s = Motion(o, x_axis(R))
        axes[j + 1].s = Motion(o, y_axis(R))
        axes[j + 2].s = Motion(o, z_axis(R))
        axes[j + 3].s = Motion(x_axis(R), o)
        axes[j + 4].s = Motion(y_axis(R), o)
        axes[j + 5].s = Motion(z_axis(R), o)
    return R, r


@helper
def joint_motion(m, b, R, x, S):
    """S x: the motion across joint b for rates (or accelerations) x."""
    kind, j = m.bodies[b].kind, m.bodies[b].iv
    o = zero_vec(x[j])
    if kind == REVOLUTE:
        out = Motion(z_axis(R) * x[j], o)
    elif kind == PRISMATIC:
        out = Motion(o, z_axis(R) * x[j])
    else:
        out = Motion(o, o)
        for i in range(j, j + DOF[kind]):
            out = out + S.axes[i].s * x[i]
    return out
