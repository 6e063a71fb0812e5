"""How joints move the bodies of a tree, in compiled code; by type of joint in model/joint_poses.py.

    symbol   what
    R, r     rotation of a body; its origin relative to its parent's
    V, c     its velocity; the acceleration due to velocities alone
    s        S.axes[k].s: the axis of degree of freedom k (not stored for revolute and prismatic joints, whose axis is
             the body's z)

Everything is along world axes. S.ring holds the sines and cosines of the angles used next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE, TURNS, JointPlace, place_joint, turn_at, with_moving_axes
from supple.spatial.algebra import (
    Mat3,
    Motion,
    RigidInertia,
    Sym3,
    Vec3,
    crm,
    cross,
    outer_sym,
    shift_motion,
    turn_z,
    z_axis,
)
from supple.spatial.any_number import number_like
from supple.spatial.compiler import helper
from supple.spatial.trig import RING, sincos_ring

AHEAD = RING // 2  #: angles computed at once


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
    return turn_at(S.ring, m.bodies[b].angle + k)


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
        joint = JointPlace(kind, body.iq, body.iv, body.angle, shape.pitch)
        R, r = place_joint(joint, R_p @ tree, r, q, S.ring, S.axes)
    return R, r


@helper
def move(m, b, R_p, V_p, q, v, S):
    """R, r, V, c of body b: as `place`, then its velocity, and the acceleration due to velocities alone.

    c = V x S v, plus the contribution of axes that move within the joint.
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
        c = with_moving_axes(kind, crm(V, v_J), S.axes, j, v)
    return R, r, V, c


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
