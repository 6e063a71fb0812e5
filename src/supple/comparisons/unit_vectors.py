"""Forward dynamics by unit vectors: the mass matrix a column at a time, then a dense solve [Walker and Orin 1982].

    symbol       what
    r, z, p, I   of a body, as in aba.py: origin, axis, bias force, rigid inertia
    a, f         its acceleration and force in one column
    H            the mass matrix, then its factors L and D, by rows

Column j of H is the inverse dynamics of a unit acceleration of degree of freedom j, without velocity and gravity.
Positions and inertias of bodies are computed once; only what the joint carries accelerates; H is symmetric, so the
forces are needed only there, too (their second method). Then H = L^T D L and two triangular solves, all dense. Cost
O(n^3): the method with which Yamane and Nakamura compare virtual work.
"""

from __future__ import annotations

import numpy as np

from supple.exact.aba import AbaPath, joint_force, without_joints
from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import TAU, WRENCHES, Algorithm, Q, V
from supple.exact.crba import dense_shape
from supple.exact.motion import joint_of
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.model import Model
from supple.spatial.algebra import Force, Motion, Prismatic, Revolute, RigidInertia, Vec3, shift_force, shift_motion
from supple.spatial.any_number import number_like, smaller
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE
from supple.spatial.fields import Value
from supple.spatial.structs import Struct


class UnitBody(Struct, align=LINE):
    r = Value(Vec3)
    z = Value(Vec3)
    p = Value(Force)
    I = Value(RigidInertia)
    a = Value(Motion)
    f = Value(Force)


@helper
def unit_vectors(m, state, qdd, work):
    """qdd of one state (or of four, in lanes). Returns the smallest D, which is not positive if the system is
    singular."""
    bodies, H = work.bodies, work.extra
    without_joints(m, state, work)
    for b in range(m.n - 1, -1, -1):  # tau - C
        _, _, kind, j = joint_of(m, b)
        F, parent = bodies[b].p, m.bodies[b].parent
        for k in range(j, j + DOF[kind]):
            qdd[k] = joint_force(m, state.known, state.v, k) - across(kind, k, F, bodies[b], work.S)
        if parent >= 0:
            bodies[parent].p = bodies[parent].p + shift_force(bodies[b].r, F)
    for k in range(m.nv * m.nv):
        H[k] = number_like(state.q[0], 0.0)
    for b in range(m.n):
        _, _, kind, j = joint_of(m, b)
        for k in range(j, j + DOF[kind]):
            column(m, b, k, H, work)
    return solve(m.nv, H, qdd)


@helper
def column(m, b, k, H, work):
    """H_lk of the degrees of freedom l that k, of body b, carries, and of its own joint from k on."""
    bodies, body, kind = work.bodies, work.bodies[b], m.bodies[b].kind
    if kind == REVOLUTE:
        a = along(Revolute(body.z))
    elif kind == PRISMATIC:
        a = along(Prismatic(body.z))
    else:
        a = work.S.axes[k].s
    end, last = m.packing.ends[k], b
    body.a, body.f = a, body.I @ a
    while last + 1 < m.n and m.bodies[last + 1].iv < end:
        last += 1
        body = bodies[last]
        a = shift_motion(body.r, bodies[m.bodies[last].parent].a)
        body.a, body.f = a, body.I @ a
    for c in range(last, b - 1, -1):
        _, _, of, i = joint_of(m, c)
        f = bodies[c].f
        for l in range(max(i, k), i + DOF[of]):
            H[l * m.nv + k] = across(of, l, f, bodies[c], work.S)
        if c > b:
            parent = bodies[m.bodies[c].parent]
            parent.f = parent.f + shift_force(bodies[c].r, f)
    H[k * m.nv + k] += m.dofs[k].armature


@helper
def along(s):
    """A joint's axis as a motion."""
    o = s.axis.x * 0.0
    zero = Vec3(o, o, o)
    return Motion(zero, zero) + s


@helper
def across(kind, k, F, body, S):
    """S_k . F for degree of freedom k of a body."""
    if kind == REVOLUTE:
        x = Revolute(body.z) @ F
    elif kind == PRISMATIC:
        x = Prismatic(body.z) @ F
    else:
        x = S.axes[k].s @ F
    return x


@helper
def solve(n, H, x):
    """x = H^-1 x, H being replaced by L and D of H = L^T D L: Cholesky's method from the last row up, without roots."""
    smallest = number_like(x[0], np.inf)
    for k in range(n - 1, -1, -1):
        row = k * n
        D = H[row + k]
        smallest = smaller(D, smallest)
        d = 1.0 / D
        for i in range(k):
            l = H[row + i] * d
            for j in range(i + 1):
                H[i * n + j] -= l * H[row + j]
        y = x[k]
        for i in range(k):  # L^T z = x, in the same loop
            l = H[row + i] * d
            H[row + i] = l
            x[i] -= l * y
        x[k] = y * d
    for k in range(n):
        y = x[k]
        for i in range(k):
            y = y - H[k * n + i] * x[i]
        x[k] = y
    return smallest


def _size(model: Model) -> int:
    rows, columns = dense_shape(model)
    return rows * columns


UNIT_VECTORS = Algorithm(
    "unit-vector", unit_vectors, ScratchRows(AbaPath, UnitBody), (Q, V, TAU, WRENCHES), lambda m: (m.nv,), extra=_size
)
