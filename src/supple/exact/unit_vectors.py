"""Forward dynamics by unit vectors: the mass matrix a column at a time, then a dense solve [Walker and Orin 1982].

    symbol   what                                                       kept in
    r, z, F, Y   as in aba.py: origin, axis, bias force, rigid inertia  work
    a, f     a body's acceleration and force in one column              work A_, B_
    H        the mass matrix, then its factors L and D                  extra, (nv, nv) by rows

Column j of H is the inverse dynamics of a unit acceleration of degree of freedom j, without velocity and gravity. Where
bodies are, and their inertias, is found once; only what the joint carries accelerates; H is symmetric, so the forces
are wanted only there, too (their second method). Then H = L^T D L and two triangular solves, all dense. Cost O(n^3):
what Yamane and Nakamura compare virtual work with.
"""

from __future__ import annotations

import numpy as np

from supple.exact.aba import BODY_ROW as ABA_ROW
from supple.exact.aba import E_, F_, P_, PATH_ROW, Y_, joint_force, without_joints
from supple.exact.calls import TAU, WRENCHES, Algorithm, Q, V
from supple.exact.crba import dense_shape
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of
from supple.exact.tables import ARMATURE, IV, PARENT
from supple.model.model import Model
from supple.spatial.algebra import Motion, Prismatic, Revolute, Vec3, shift_force, shift_motion
from supple.spatial.compiler import helper
from supple.spatial.indexing import get, item, set_item
from supple.spatial.lanes import number_like, smaller
from supple.spatial.rows import load_force, load_motion, load_rigid, load_vec, store_six

A_, B_, BODY_ROW = ABA_ROW, ABA_ROW + 6, ABA_ROW + 16


@helper
def unit_vectors(m, q, v, tau, has_wrenches, wrenches, qdd, path, work, S, dofs, H):
    """qdd of one state (or of four, in lanes). Returns the smallest D: not positive means singular."""
    without_joints(m, q, v, has_wrenches, wrenches, path, work, S)
    for b in range(m.n - 1, -1, -1):  # tau - C
        _, _, kind, j = joint_of(m, b)
        F, parent = load_force(work, b, F_), get(m.bodies, b, PARENT)
        for k in range(j, j + DOF[kind]):
            set_item(qdd, k, joint_force(m, tau, v, k) - across(b, kind, k, F, work, S))
        if parent >= 0:
            store_six(work, parent, F_, load_force(work, parent, F_) + shift_force(load_vec(work, b, P_), F))
    for k in range(m.nv * m.nv):
        set_item(H, k, number_like(q[0], 0.0))
    for b in range(m.n):
        _, _, kind, j = joint_of(m, b)
        for k in range(j, j + DOF[kind]):
            column(m, b, kind, k, H, work, S)
    return solve(m.nv, H, qdd)


@helper
def column(m, b, kind, k, H, work, S):
    """H_lk of the degrees of freedom l that k, of body b, carries, and of its own joint's from k on."""
    if kind == REVOLUTE:
        a = along(Revolute(load_vec(work, b, E_)))
    elif kind == PRISMATIC:
        a = along(Prismatic(load_vec(work, b, E_)))
    else:
        a = load_motion(S.rows, k, 0)
    end, last = item(m.ends, k), b
    store_six(work, b, A_, a)
    store_six(work, b, B_, load_rigid(work, b, Y_) @ a)
    while last + 1 < m.n and get(m.bodies, last + 1, IV) < end:
        last += 1
        a = shift_motion(load_vec(work, last, P_), load_motion(work, get(m.bodies, last, PARENT), A_))
        store_six(work, last, A_, a)
        store_six(work, last, B_, load_rigid(work, last, Y_) @ a)
    for c in range(last, b - 1, -1):
        _, _, of, i = joint_of(m, c)
        f = load_force(work, c, B_)
        for l in range(max(i, k), i + DOF[of]):
            set_item(H, l * m.nv + k, across(c, of, l, f, work, S))
        if c > b:
            parent = get(m.bodies, c, PARENT)
            store_six(work, parent, B_, load_force(work, parent, B_) + shift_force(load_vec(work, c, P_), f))
    set_item(H, k * m.nv + k, item(H, k * m.nv + k) + get(m.dofs, k, ARMATURE))


@helper
def along(s):
    """A joint's axis as a motion."""
    o = s.axis.x * 0.0
    zero = Vec3(o, o, o)
    return Motion(zero, zero) + s


@helper
def across(b, kind, k, F, work, S):
    """S_k . F for degree of freedom k of body b."""
    if kind == REVOLUTE:
        x = Revolute(load_vec(work, b, E_)) @ F
    elif kind == PRISMATIC:
        x = Prismatic(load_vec(work, b, E_)) @ F
    else:
        x = load_motion(S.rows, k, 0) @ F
    return x


@helper
def solve(n, H, x):
    """x = H^-1 x, H being replaced by L and D of H = L^T D L: Cholesky's method from the last row up, without roots."""
    smallest = number_like(x[0], np.inf)
    for k in range(n - 1, -1, -1):
        row = k * n
        D = item(H, row + k)
        smallest = smaller(D, smallest)
        d = 1.0 / D
        for i in range(k):
            l = item(H, row + i) * d
            for j in range(i + 1):
                set_item(H, i * n + j, item(H, i * n + j) - l * item(H, row + j))
        y = item(x, k)
        for i in range(k):  # L^T z = x, on the way
            l = item(H, row + i) * d
            set_item(H, row + i, l)
            set_item(x, i, item(x, i) - l * y)
        set_item(x, k, y * d)
    for k in range(n):
        y = item(x, k)
        for i in range(k):
            y = y - item(H, k * n + i) * item(x, i)
        set_item(x, k, y)
    return smallest


def _size(model: Model) -> int:
    rows, columns = dense_shape(model)
    return rows * columns


UNIT_VECTORS = Algorithm(
    "unit-vector", unit_vectors, PATH_ROW, BODY_ROW, 0, (Q, V, TAU, WRENCHES), lambda m: (m.nv,), extra=_size
)
