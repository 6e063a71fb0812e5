"""The mass matrix by the composite-rigid-body algorithm [SF section 5].

    symbol   what                                                    kept in
    R, r     rotation of the body; its origin as seen from the parent's  work R_, P_
    Y        composite inertia I^c of the body and all it carries        work Y_
    f        force that gives the composite body the acceleration s_k

Along world axes a force moves from body to parent by one cross product: no rotations in the inner loop. The matrix comes
packed by rows over the expanded parent array (treematrix.py): only what is not a branch-induced zero is computed or stored.
Cost O(D0 + D1) [SF (14)].
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.exact import memory
from supple.exact.calls import Algorithm, Q
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, S_ROW, place, turn_all
from supple.exact.tables import ARMATURE, IV, KIND, PARENT, RIGID, SPLIT, host_tables
from supple.exact.treematrix import TreeMatrix
from supple.model.model import Model
from supple.spatial.algebra import (
    Mat3,
    Prismatic,
    Revolute,
    Vec3,
    load_mat,
    load_motion,
    load_rigid,
    load_turned,
    load_vec,
    shift_force,
    shift_rigid,
    store_mat,
    store_rigid,
    store_vec,
    z_axis,
)
from supple.spatial.compiler import helper
from supple.spatial.lanes import number_like

R_, P_, Y_, BODY_ROW = 0, 9, 12, 22
S_, DOF_ROW = 0, S_ROW


@helper
def crba(m, q, H, work, dofs):
    """The packed mass matrix H of one state (or of four, in lanes)."""
    turn_all(m, q, dofs)
    one, o = number_like(q[0], 1.0), number_like(q[0], 0.0)
    store_mat(work, 0, R_, Mat3(Vec3(one, o, o), Vec3(o, one, o), Vec3(o, o, one)))  # row 0 is the world
    for b in range(m.n):
        i, p = b + 1, m.bodies[b, PARENT] + 1
        R, r = place(m, b, load_mat(work, p, R_), q, dofs)
        store_mat(work, i, R_, R)
        store_vec(work, i, P_, r)
        store_rigid(work, i, Y_, load_turned(R, m.rows, b, RIGID, SPLIT))
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = b + 1, m.bodies[b, PARENT] + 1, m.bodies[b, KIND], m.bodies[b, IV]
        Y = load_rigid(work, i, Y_)
        z = z_axis(load_mat(work, i, R_))
        if kind == REVOLUTE:
            S = Revolute(z)
            f = Y @ S
            H[m.starts[j]] = S @ f + m.dofs[j, ARMATURE]
            _row_beyond(m, b, m.starts[j] + 1, f, H, work, dofs)
        elif kind == PRISMATIC:
            S1 = Prismatic(z)
            f = Y @ S1
            H[m.starts[j]] = S1 @ f + m.dofs[j, ARMATURE]
            _row_beyond(m, b, m.starts[j] + 1, f, H, work, dofs)
        else:
            for k in range(j, j + DOF[kind]):
                f = Y @ load_motion(dofs, k, S_)
                at = m.starts[k]
                for l in range(k, j - 1, -1):  # the joint's own degrees of freedom are a chain
                    H[at + k - l] = load_motion(dofs, l, S_) @ f
                H[at] += m.dofs[k, ARMATURE]
                _row_beyond(m, b, at + k - j + 1, f, H, work, dofs)
        if p > 0:
            store_rigid(work, p, Y_, load_rigid(work, p, Y_) + shift_rigid(load_vec(work, i, P_), Y))


@helper
def _row_beyond(m, b, at, f, H, work, dofs):
    """The rest of a row: the force f, on body b, seen by the joints of its ancestors [SF (5)]."""
    p = m.bodies[b, PARENT]
    while p >= 0:
        f = shift_force(load_vec(work, b + 1, P_), f)
        b = p
        kind, j = m.bodies[b, KIND], m.bodies[b, IV]
        if kind == REVOLUTE:
            H[at] = Revolute(z_axis(load_mat(work, b + 1, R_))) @ f
            at += 1
        elif kind == PRISMATIC:
            H[at] = Prismatic(z_axis(load_mat(work, b + 1, R_))) @ f
            at += 1
        else:
            for k in range(j + DOF[kind] - 1, j - 1, -1):
                H[at] = load_motion(dofs, k, S_) @ f
                at += 1
        p = m.bodies[b, PARENT]


@helper
def _packed(m, q, v, x, has_wrenches, wrenches, out, work, dofs, extra):
    crba(m, q, out, work, dofs)
    return 1.0


@helper
def _dense(m, q, v, x, has_wrenches, wrenches, out, work, dofs, extra):
    crba(m, q, extra, work, dofs)
    o = number_like(q[0], 0.0)
    for i in range(m.nv * m.nv):
        out[i] = o
    for k in range(m.nv):
        j, at = k, m.starts[k]
        while j >= 0:
            out[k * m.nv + j] = extra[at]
            out[j * m.nv + k] = extra[at]
            j = m.lam[j]
            at += 1
    return 1.0


def _packed_size(model: Model) -> int:
    nnz = host_tables(model).pattern.nnz
    memory.require(
        nnz,
        f"the mass matrix of {model.name!r}, which has {nnz:,} numbers that are not zero by branching,",
        "use method='aba', which needs no matrix",
    )
    return nnz


def _dense_shape(model: Model) -> tuple[int, int]:
    memory.require(model.nv**2, f"a dense mass matrix of {model.nv} degrees of freedom", "use mass_matrix(..., sparse=True)")
    return (model.nv, model.nv)


PACKED = Algorithm("crba packed", _packed, BODY_ROW, DOF_ROW, (Q, None, None, None), lambda m: (_packed_size(m),))
DENSE = Algorithm("crba", _dense, BODY_ROW, DOF_ROW, (Q, None, None, None), _dense_shape, extra=_packed_size)


@overload
def mass_matrix(model: Model, q: ArrayLike, sparse: Literal[False] = False) -> NDArray[np.float64]: ...


@overload
def mass_matrix(model: Model, q: ArrayLike, sparse: Literal[True]) -> TreeMatrix: ...


def mass_matrix(model: Model, q: ArrayLike, sparse: bool = False) -> NDArray[np.float64] | TreeMatrix:
    """The mass matrix H(q), armature included: (nv, nv), or (B, nv, nv) for a batch of q.

    sparse=True gives a TreeMatrix instead: only the numbers that are not zero by branching are computed and stored.
    """
    if sparse:
        return TreeMatrix(host_tables(model).pattern, PACKED(model, q, None, None, None))
    return DENSE(model, q, None, None, None)

