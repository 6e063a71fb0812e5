"""How a joint moves its body, in compiled code: the pose of the body and the directions of its velocities, by type.

Frames are those inside kernels (kernel_frames.py): a joint's axis is z; if it has two, they are x and z. R is the
rotation of the joint's frame along any axes (the world's, or its own: then it is the identity) and r the body's origin
along the same. The directions are along those axes, too, about the body's origin.

    type         R'                r' - r         directions
    revolute     R Rz(q)                          (z, 0)
    prismatic    R                 z q            (0, z)
    screw        R Rz(q)           z pitch q      (z, pitch z)
    cylindrical  R Rz(q1)          z q2           (z, 0), (0, z)
    universal    R Rx(q1) Rz(q2)                  (x, 0), (z', 0)
    planar       R Rz(q3, q4)      x q1 + y q2    (0, x'), (0, y'), (z', 0)
    ball         R R(q)                           (x', 0), (y', 0), (z', 0)
    free         R R(q4 ... q7)    R (q1 q2 q3)   (0, x'), (0, y'), (0, z'), (x', 0), (y', 0), (z', 0)

x, y, z are the axes of R, x', y', z' those of R'. Numbers may be of any type (any_number.py).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from supple.model.joints import ANGLES, NV, JointType
from supple.spatial.algebra import Motion, Vec3, cross, rotation_of, turn_x, turn_z, x_axis, y_axis, z_axis
from supple.spatial.any_number import number_like
from supple.spatial.compiler import helper
from supple.spatial.fields import Value
from supple.spatial.structs import Several, Struct
from supple.spatial.trig import RING, Turn

REVOLUTE, PRISMATIC = int(JointType.REVOLUTE), int(JointType.PRISMATIC)
SCREW, CYLINDRICAL, UNIVERSAL = int(JointType.SCREW), int(JointType.CYLINDRICAL), int(JointType.UNIVERSAL)
PLANAR, BALL, FREE = int(JointType.PLANAR), int(JointType.BALL), int(JointType.FREE)
DOF = NV  #: degrees of freedom by kind
TURNS = ANGLES  #: angles by kind


class Axis(Struct):
    """Axis of a degree of freedom."""

    s = Value(Motion)


class JointRoom(Struct):
    """Room for the axes and the angles of one joint."""

    axes = Several(6, Axis)
    turns = Several(2, Turn)


class JointPlace(NamedTuple):
    """A joint, and where its numbers are."""

    kind: Any
    iq: Any  #: first of its coordinates
    iv: Any  #: first of its velocities
    angle: Any  #: first of its angles, in a ring
    pitch: Any


@helper
def turn_at(ring, k):
    """Cosine and sine of the k-th angle in a ring."""
    turn = ring[k & (RING - 1)]
    return turn.cos, turn.sin


@helper
def write_turns(kind, q, k, turns):
    """The cosines and sines of a joint with coordinates q[k:]."""
    for i in range(TURNS[kind]):
        turns[i].cos = math.cos(q[k + i])
        turns[i].sin = math.sin(q[k + i])


@helper
def place_joint(joint, R, r, q, ring, axes):
    """R' and r' of a joint at q, the sines and cosines of whose angles are in the ring; its directions into
    axes[joint.iv].s, ..."""
    kind, k, j, angle, pitch = joint
    zero = number_like(q[k], 0.0)
    o = Vec3(zero, zero, zero)
    if kind == REVOLUTE:
        c, s = turn_at(ring, angle)
        R = turn_z(R, c, s)
        axes[j].s = Motion(z_axis(R), o)
    elif kind == PRISMATIC:
        r = r + z_axis(R) * q[k]
        axes[j].s = Motion(o, z_axis(R))
    elif kind == SCREW:
        z = z_axis(R)
        c, s = turn_at(ring, angle)
        R = turn_z(R, c, s)
        r = r + z * (pitch * q[k])
        axes[j].s = Motion(z, z * pitch)
    elif kind == CYLINDRICAL:
        z = z_axis(R)
        c, s = turn_at(ring, angle)
        R = turn_z(R, c, s)
        r = r + z * q[k + 1]
        axes[j].s = Motion(z, o)
        axes[j + 1].s = Motion(o, z)
    elif kind == UNIVERSAL:
        axes[j].s = Motion(x_axis(R), o)
        c, s = turn_at(ring, angle)
        R = turn_x(R, c, s)
        axes[j + 1].s = Motion(z_axis(R), o)
        c, s = turn_at(ring, angle + 1)
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
def with_moving_axes(kind, c, axes, j, v):
    """c, the acceleration due to velocities v[j:] of a joint, with the part of those directions that are not fixed to
    the body: the second axis of a universal joint turns with the first."""
    if kind == UNIVERSAL:
        w1 = axes[j].s.ang * v[j]
        w2 = axes[j + 1].s.ang * v[j + 1]
        c = Motion(c.ang + cross(w1, w2), c.lin)
    return c


@helper
def is_on_parent(kind, a):
    """Whether direction a of a joint is fixed to the parent, not to the body: the first axis of a universal joint."""
    return kind == UNIVERSAL and a == 0


# --- the same along the axes that a user gives: for re-rooting, which needs no frames turned ----------------------


class OwnAxes(NamedTuple):
    """The axes of a joint in its own frame."""

    axis: Any
    axis2: Any
    plane: Any  #: of a planar joint: the axes of its plane, and the normal, as columns


@helper
def _about(axis, half):
    """The rotation about a unit axis, by twice the given angle."""
    s = math.sin(half)
    return rotation_of(axis.x * s, axis.y * s, axis.z * s, math.cos(half))


@helper
def move_joint_frame(joint, own, R, r, q, v, a):
    """R' and r' at q; and the joint's motion along the body's axes: angular and linear velocity w, u, and acceleration
    dw, du, relative to the parent."""
    kind, k, j, _, pitch = joint
    e, o = own.axis, Vec3(0.0, 0.0, 0.0)
    turning, w, u, dw, du = o, o, o, o, o
    if kind == FREE:
        r = r + R @ Vec3(q[k], q[k + 1], q[k + 2])
        R = R @ rotation_of(q[k + 3], q[k + 4], q[k + 5], q[k + 6])
        u, w = Vec3(v[j], v[j + 1], v[j + 2]), Vec3(v[j + 3], v[j + 4], v[j + 5])
        du, dw = Vec3(a[j], a[j + 1], a[j + 2]), Vec3(a[j + 3], a[j + 4], a[j + 5])
    elif kind == BALL:
        R = R @ rotation_of(q[k], q[k + 1], q[k + 2], q[k + 3])
        w, dw = Vec3(v[j], v[j + 1], v[j + 2]), Vec3(a[j], a[j + 1], a[j + 2])
    elif kind == PLANAR:
        r = r + R @ (own.plane @ Vec3(q[k], q[k + 1], 0.0))
        R = R @ _about(e, 0.5 * math.atan2(q[k + 3], q[k + 2]))
        u, w = own.plane @ Vec3(v[j], v[j + 1], 0.0), e * v[j + 2]
        du, dw = own.plane @ Vec3(a[j], a[j + 1], 0.0), e * a[j + 2]
    elif kind == UNIVERSAL:
        R = R @ _about(e, 0.5 * q[k])
        back = _about(own.axis2, -0.5 * q[k + 1])
        R = R @ _about(own.axis2, 0.5 * q[k + 1])
        w1, w2 = back @ e * v[j], own.axis2 * v[j + 1]
        w = w1 + w2
        dw = back @ e * a[j] + own.axis2 * a[j + 1]
        turning = cross(w1, w2)  # the second axis turns with the first
    elif kind == PRISMATIC:
        r = r + R @ (e * q[k])
        u, du = e * v[j], e * a[j]
    elif kind == CYLINDRICAL:
        r = r + R @ (e * q[k + 1])
        R = R @ _about(e, 0.5 * q[k])
        w, u, dw, du = e * v[j], e * v[j + 1], e * a[j], e * a[j + 1]
    else:
        h = pitch if kind == SCREW else 0.0
        r = r + R @ (e * (h * q[k]))
        R = R @ _about(e, 0.5 * q[k])
        w, u, dw, du = e * v[j], e * (h * v[j]), e * a[j], e * (h * a[j])
    return R, r, w, u, dw + turning, du
