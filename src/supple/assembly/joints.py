"""How joints turn the bases of frames.py, and how far a joint gets."""

from __future__ import annotations

import math

from supple.assembly.frames import BASIS
from supple.assembly.nodes import EB, EBT, ET, E, X
from supple.model.joints import JointType
from supple.spatial.algebra import Mat3, Vec3, cross, rotation_of, transpose, turn_x, turn_z
from supple.spatial.compiler import helper
from supple.spatial.rows import set_vec

REVOLUTE, PRISMATIC = int(JointType.REVOLUTE), int(JointType.PRISMATIC)
SCREW, CYLINDRICAL, UNIVERSAL = int(JointType.SCREW), int(JointType.CYLINDRICAL), int(JointType.UNIVERSAL)
PLANAR, BALL, FREE = int(JointType.PLANAR), int(JointType.BALL), int(JointType.FREE)


@helper
def identity():
    return Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


@helper
def pose_of_joint(t, j, q):
    """R, r: the body's frame in that of its joint before it moves."""
    kind, i = t.joint[j], t.iq[j]
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    if kind == REVOLUTE:
        R = turn_z(R, math.cos(q[i]), math.sin(q[i]))
    elif kind == PRISMATIC:
        r = Vec3(0.0, 0.0, q[i])
    elif kind == SCREW:
        R, r = turn_z(R, math.cos(q[i]), math.sin(q[i])), Vec3(0.0, 0.0, t.pitch[j] * q[i])
    elif kind == CYLINDRICAL:
        R, r = turn_z(R, math.cos(q[i]), math.sin(q[i])), Vec3(0.0, 0.0, q[i + 1])
    elif kind == UNIVERSAL:
        R = turn_z(turn_x(R, math.cos(q[i]), math.sin(q[i])), math.cos(q[i + 1]), math.sin(q[i + 1]))
    elif kind == PLANAR:
        length = 1.0 / math.sqrt(q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3])
        R, r = turn_z(R, q[i + 2] * length, q[i + 3] * length), Vec3(q[i], q[i + 1], 0.0)
    elif kind == BALL:
        R = rotation_of(q[i], q[i + 1], q[i + 2], q[i + 3])
    elif kind == FREE:
        R, r = rotation_of(q[i + 3], q[i + 4], q[i + 5], q[i + 6]), Vec3(q[i], q[i + 1], q[i + 2])
    return R, r


@helper
def turn_of_joint(t, j, q, w):
    """E(q) of joint j: whether it is a turn about z of a revolute joint, its cosine and sine, and whether the lower side
    has to be turned, too, which is so of universal joints. Other joints' E goes to scratch."""
    kind, i = t.joint[j], t.iq[j]
    if kind == REVOLUTE:
        return True, math.cos(q[i]), math.sin(q[i]), False
    if kind == UNIVERSAL:  # in the frame between its two turns
        fill(w, E, ET, kind, turn_x(identity(), math.cos(q[i]), math.sin(q[i])), Vec3(0.0, 0.0, 0.0), 0.0)
        fill(w, EB, EBT, kind, turn_z(identity(), math.cos(q[i + 1]), -math.sin(q[i + 1])), Vec3(0.0, 0.0, 0.0), 0.0)
        return False, 1.0, 0.0, True
    R, r = pose_of_joint(t, j, q)
    fill(w, E, ET, kind, R, r, t.pitch[j])
    return False, 1.0, 0.0, False


@helper
def fill(w, to, transposed, kind, R, r, pitch):
    """E of a frame R, r, in the adapted basis of a kind of joint, and its transpose."""
    Rt = transpose(R)
    for i in range(36):
        w[X + i] = 0.0
    set_vec(w, X, Rt.r0)
    set_vec(w, X + 6, Rt.r1)
    set_vec(w, X + 12, Rt.r2)
    set_vec(w, X + 18, cross(r, Rt.r0))
    set_vec(w, X + 24, cross(r, Rt.r1))
    set_vec(w, X + 30, cross(r, Rt.r2))
    set_vec(w, X + 21, Rt.r0)
    set_vec(w, X + 27, Rt.r1)
    set_vec(w, X + 33, Rt.r2)
    for i in range(6):
        for l in range(6):
            w[to + 6 * i + l] = w[X + 6 * BASIS[kind, i] + BASIS[kind, l]]
    if kind == SCREW:
        for l in range(6):
            w[to + 24 + l] -= pitch * w[to + 30 + l]
        for i in range(6):
            w[to + 6 * i + 5] += pitch * w[to + 6 * i + 4]
    for i in range(6):
        for l in range(6):
            w[transposed + 6 * l + i] = w[to + 6 * i + l]
