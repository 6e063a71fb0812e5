"""Joint motions in the adapted bases of frames.py, and the advance of a joint's position."""

from __future__ import annotations

import math

from supple.assembly.frames import BASIS
from supple.assembly.joint_turns import Turn
from supple.model.joint_poses import REVOLUTE, SCREW, UNIVERSAL, JointPlace, JointRoom, place_joint, write_turns
from supple.model.moving import move_joint
from supple.spatial.algebra import Mat3, Vec3, cross, transpose, turn_x, turn_z
from supple.spatial.compiler import helper
from supple.spatial.cpu import make_six
from supple.spatial.matrices import new_matrix

joint_room = JointRoom.new


@helper
def identity():
    return Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


@helper
def pose_of_joint(tree, j, q):
    """R, r: the body's frame in its joint's frame at zero position."""
    kind, i = tree.joint[j], tree.iq[j]
    room = joint_room()
    write_turns(kind, q, i, room.turns)
    joint = JointPlace(kind, i, 0, 0, tree.pitch[j])
    return place_joint(joint, identity(), Vec3(0.0, 0.0, 0.0), q, room.turns, room.axes)


@helper
def turn_of_joint(tree, j, q, room):
    """E(q) of joint j; room: storage for its matrices [joint_turns.py]."""
    kind, i = tree.joint[j], tree.iq[j]
    if kind == REVOLUTE:
        return Turn(True, math.cos(q[i]), math.sin(q[i]), False, room)
    if kind == UNIVERSAL:  # in the frame between its two rotations
        fill(room.E, room.Et, kind, turn_x(identity(), math.cos(q[i]), math.sin(q[i])), Vec3(0.0, 0.0, 0.0), 0.0)
        fill(
            room.EB,
            room.EBt,
            kind,
            turn_z(identity(), math.cos(q[i + 1]), -math.sin(q[i + 1])),
            Vec3(0.0, 0.0, 0.0),
            0.0,
        )
        return Turn(False, 1.0, 0.0, True, room)
    R, r = pose_of_joint(tree, j, q)
    fill(room.E, room.Et, kind, R, r, tree.pitch[j])
    return Turn(False, 1.0, 0.0, False, room)


@helper
def fill(E, Et, kind, R, r, pitch):
    """E of a frame R, r, in the adapted basis of a kind of joint, and its transpose."""
    Rt = transpose(R)
    X = new_matrix()
    X[0], X[3] = beside(Rt.r0, Vec3(0.0, 0.0, 0.0)), beside(cross(r, Rt.r0), Rt.r0)
    X[1], X[4] = beside(Rt.r1, Vec3(0.0, 0.0, 0.0)), beside(cross(r, Rt.r1), Rt.r1)
    X[2], X[5] = beside(Rt.r2, Vec3(0.0, 0.0, 0.0)), beside(cross(r, Rt.r2), Rt.r2)
    for i in range(6):
        for l in range(6):
            E[i, l] = X[BASIS[kind, i], BASIS[kind, l]]
    if kind == SCREW:
        for l in range(6):
            E[4, l] -= pitch * E[5, l]
        for i in range(6):
            E[i, 5] += pitch * E[i, 4]
    for i in range(6):
        for l in range(6):
            Et[l, i] = E[i, l]


@helper
def beside(a, b):
    """Two vectors as six numbers."""
    return make_six(a.x, a.y, a.z, b.x, b.y, b.z)


@helper
def in_basis(kind, ang, lin):
    """Two vectors as six numbers, in the order of the basis of a kind of joint."""
    x = new_matrix()
    x[0] = beside(ang, lin)
    for k in range(6):
        x[1, k] = x[0, BASIS[kind, k]]
    return x[1]


@helper
def force_in_basis(tree, b, f):
    """A force on body b, given in its own frame, in its adapted basis."""
    kind = tree.joint[b]
    turn = f.ang.z + tree.pitch[b] * f.lin.z if kind == SCREW else f.ang.z
    if kind == REVOLUTE:  # the most common kind
        return make_six(f.lin.x, f.lin.y, f.ang.x, f.ang.y, f.lin.z, f.ang.z)
    return in_basis(kind, Vec3(f.ang.x, f.ang.y, turn), f.lin)


@helper
def motion_in_basis(tree, b, a):
    """A motion in the frame of body b (or of its joint at zero position), in the adapted basis."""
    kind = tree.joint[b]
    along = a.lin.z - tree.pitch[b] * a.ang.z if kind == SCREW else a.lin.z
    return in_basis(kind, a.ang, Vec3(a.lin.x, a.lin.y, along))


@helper
def advance(tree, j, q, x, factor):
    """Move joint j by factor times x, which is constant in its body's frame."""
    move_joint(tree.joint[j], q, tree.iq[j], x, tree.iv[j], factor, q)
