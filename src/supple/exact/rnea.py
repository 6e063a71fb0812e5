"""Inverse dynamics by the recursive Newton-Euler algorithm [RBDA ch. 5].

    symbol   what
    R, V     rotation of the body; velocity                              of `path`
    A        acceleration, with -gravity added throughout
    F        force on the body, of `bodies`; force that its children need, of `path`
    r, z     origin as seen from the parent's; the joint's axis          of `bodies`

Along world axes, about each body's own origin, as in aba.py. Cost O(n).
"""

from __future__ import annotations

from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import A_OR_NONE, V_OR_NONE, WRENCHES, Algorithm, Q
from supple.exact.motion import joint_motion, joint_of, move, turn_ahead, world_at_rest
from supple.exact.tables import Wrench
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.spatial.algebra import (
    Force,
    Mat3,
    Motion,
    Prismatic,
    Revolute,
    RigidInertia,
    Vec3,
    cross,
    rotate_force,
    shift_force,
    shift_motion,
    z_axis,
)
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE
from supple.spatial.fields import Value
from supple.spatial.structs import Struct


class RneaPath(Struct, align=LINE):
    """What bodies pass on to children and parents."""

    R = Value(Mat3)  # rotation
    V = Value(Motion)  # velocity
    A = Value(Motion)  # acceleration, with -gravity added throughout
    F = Value(Force)  # force that the children need


class RneaBody(Struct):
    r = Value(Vec3)  # origin as seen from the parent's
    z = Value(Vec3)  # the joint's axis, where that is the body's z
    F = Value(Force)  # the force on the body


ROWS = ScratchRows(RneaPath, RneaBody)
wrench_among = Wrench.among


@helper
def rnea(m, state, tau, work):
    """tau of one state (or of four, in lanes), including damping and armature; followed, if there is room, by the six
    numbers of every joint's force, about its body's origin."""
    v, a, S, path, bodies = state.v, state.known, work.S, work.path, work.bodies
    path[0].A = world_at_rest(m, state.q[0], path[0])
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, S, done, b)
        R, r, V, c = move(m, b, path[p].R, path[p].V, state.q, v, S)  # [RBDA 5.14]
        A = shift_motion(r, path[p].A) + c + joint_motion(m, b, R, a, S)  # [RBDA 5.15]
        I = RigidInertia(m.shapes[b].mass, m.shapes[b].h, m.inertias[b].I)
        F = newton_euler(R, I, V, A)
        if state.pushed:
            F = F - rotate_force(R @ m.outward[b].R, state.wrenches[b].f)
        here, body = path[i], bodies[b]
        here.R, here.V, here.A = R, V, A
        body.r, body.z, body.F = r, z_axis(R), F

    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        F = bodies[b].F
        if m.bodies[b].has_children:
            F = F + path[i].F
        if work.n_out > m.nv:
            wrench_among(tau, m.nv + 6 * b).f = F
        z = bodies[b].z
        if kind == REVOLUTE:
            tau[j] = Revolute(z) @ F + _own(m, v, a, j)  # [RBDA 5.18]
        elif kind == PRISMATIC:
            tau[j] = Prismatic(z) @ F + _own(m, v, a, j)
        else:
            for k in range(j, j + DOF[kind]):
                tau[k] = S.axes[k].s @ F + _own(m, v, a, k)
        if m.bodies[b].parent >= 0:
            F = shift_force(bodies[b].r, F)  # [RBDA 5.20]
            if i != p:  # not the last child: later children have already stored theirs there
                F = F + path[p].F
            path[p].F = F
    return 1.0


@helper
def newton_euler(R, I, V, A):
    """I A + V x* I V [RBDA 5.16], with the inertia I in the body's axes and everything else along the world's: cheaper
    than rotating the inertia."""
    a = (A.lin + cross(V.ang, V.lin)) @ R  # R^T x
    return rotate_force(R, rigid_force(I, V.ang @ R, A.ang @ R, a))


@helper
def rigid_force(I, w, dw, a):
    """The force on a body that rotates with w and dw and whose origin, as a point, accelerates by a: m a + dw x h +
    w x (w x h), and the moment about the origin I dw + w x I w + h x a."""
    lin = a * I.m + cross(dw, I.h) + cross(w, cross(w, I.h))
    return Force(I.I @ dw + cross(w, I.I @ w) + cross(I.h, a), lin)


@helper
def _own(m, v, a, j):
    """The force used by the joint itself: damping and armature."""
    return v[j] * m.dofs[j].damping + a[j] * m.dofs[j].armature


_INPUTS = Q, V_OR_NONE, A_OR_NONE, WRENCHES
RNEA = Algorithm("rnea", rnea, ROWS, _INPUTS, lambda m: (m.nv,))
WITH_WRENCHES = Algorithm("rnea with wrenches", rnea, ROWS, _INPUTS, lambda m: (m.nv + 6 * m.n_bodies,), like=RNEA)
