"""The mass matrix by the composite-rigid-body algorithm [SF section 5].

    symbol   what                                                       kept in
    R        rotation of the body                                       path R_
    r, O     its origin as seen from the parent's; from the root's      work P_, Q_ and path O_
    s        the joint's axes at the body's origin; at the root's       work E_ and S; dofs T_
    Y        composite inertia I^c: the body's own; its children's      work Y_; path C_
    f        force that gives the composite body the acceleration s_k

Along world axes, about each body's own origin for the diagonal, about the root's for the rest. The matrix comes
packed by rows over the expanded parent array (treematrix.py): only what is not a branch-induced zero is computed or
stored. Cost O(D0 + D1) [SF (14)].
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import FLAG, take
from supple.exact.calls import Algorithm, Q
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of, place, turn_ahead
from supple.exact.tables import ARMATURE, HAS_CHILDREN, PARENT, RIGID, SPLIT, host_tables
from supple.exact.treematrix import TreeMatrix
from supple.model.model import Model
from supple.spatial.algebra import (
    Mat3,
    Motion,
    Prismatic,
    Revolute,
    Vec3,
    cross,
    shift_force,
    shift_rigid,
    z_axis,
)
from supple.spatial.compiler import helper
from supple.spatial.indexing import get, item, set_item
from supple.spatial.lanes import number_like
from supple.spatial.references import ODD
from supple.spatial.rows import (
    load_mat,
    load_motion,
    load_rigid,
    load_turned,
    load_vec,
    store_mat,
    store_rigid,
    store_six,
    store_vec,
)

R_, O_, C_, PATH_ROW = 0, 9, 12, 24
P_, E_, Q_, Y_, BODY_ROW = 0, 3, 6, 9, 24
T_, DOF_ROW = 0, 6


@helper
def crba(m, q, H, path, work, S, dofs, dense):
    """The mass matrix H of one state (or of four, in lanes): packed, or all nv^2 numbers (zeros by branching not
    touched)."""
    one, o = number_like(q[0], 1.0), number_like(q[0], 0.0)
    store_mat(path, 0, R_, Mat3(Vec3(one, o, o), Vec3(o, one, o), Vec3(o, o, one)))  # row 0 is the world
    done = 0
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r = place(m, b, load_mat(path, p, R_), q, S)
        O = load_vec(path, p, O_) + r if get(m.bodies, b, PARENT) >= 0 else Vec3(o, o, o)
        z = z_axis(R)
        if kind == REVOLUTE:
            store_six(dofs, j, T_, Motion(z, cross(O, z)))
        elif kind == PRISMATIC:
            store_six(dofs, j, T_, Motion(Vec3(o, o, o), z))
        else:
            for k in range(j, j + DOF[kind]):
                s = load_motion(S.rows, k, 0)
                store_six(dofs, k, T_, Motion(s.ang, s.lin + cross(O, s.ang)))
        store_mat(path, i, R_, R)
        store_vec(path, i, O_, O)
        store_vec(work, b, P_, r)
        store_vec(work, b, E_, z)
        store_vec(work, b, Q_, O)
        store_rigid(work, b, Y_, load_turned(R, m.rows, b, RIGID, SPLIT))
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        Y = load_rigid(work, b, Y_)
        if get(m.bodies, b, HAS_CHILDREN):
            Y = Y + load_rigid(path, i, C_)
        O, z = load_vec(work, b, Q_), load_vec(work, b, E_)
        if kind == REVOLUTE:
            f = Y @ Revolute(z)
            _row(m, j, Revolute(z) @ f, shift_force(O, f), H, dofs, dense)
        elif kind == PRISMATIC:
            f = Y @ Prismatic(z)
            _row(m, j, Prismatic(z) @ f, shift_force(O, f), H, dofs, dense)
        else:
            for k in range(j, j + DOF[kind]):
                f = Y @ load_motion(S.rows, k, 0)
                _row(m, k, load_motion(S.rows, k, 0) @ f, shift_force(O, f), H, dofs, dense)
                for l in range(k - 1, j - 1, -1):  # near each other, these lose digits at the root's origin
                    set_entry(m, H, k, l, diagonal(m, k) - (k - l), load_motion(S.rows, l, 0) @ f, dense)
        if get(m.bodies, b, PARENT) >= 0:
            Y = shift_rigid(load_vec(work, b, P_), Y)
            if i != p:  # not the last child: those after it have already put theirs there
                Y = Y + load_rigid(path, p, C_)
            store_rigid(path, p, C_, Y)


@helper
def _row(m, k, own, f, H, dofs, dense):
    """Row k: its own inertia, and what the degrees of freedom before it see of the force f [SF (5)].

    f and the axes T_ are about the root's origin: nothing moves from step to step, and none waits for the one before.
    """
    at = diagonal(m, k)
    set_entry(m, H, k, k, at, own + get(m.dofs, k, ARMATURE), dense)
    l = item(m.lam, k)
    while l >= 0:
        at -= 1
        set_entry(m, H, k, l, at, load_motion(dofs, l, T_) @ f, dense)
        l = item(m.lam, l)


@helper
def diagonal(m, k):
    """Where H_kk stands when packed."""
    return item(m.starts, k) + item(m.depth, k) - 1


@helper
def set_entry(m, H, k, j, at, x, dense):
    """H_kj = H_jk = x"""
    if dense:
        set_item(H, k * m.nv + j, x)
        set_item(H, j * m.nv + k, x)
    else:
        set_item(H, at, x)


@helper
def _packed(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    o = number_like(q[0], 0.0)
    for i in range(out.shape[0]):
        out[i] = o
    crba(m, q, out, path, work, S, dofs, False)
    return 1.0


@helper
def _dense(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    o = number_like(q[0], 0.0)
    for i in range(m.nv * m.nv):
        out[i] = o
    crba(m, q, out, path, work, S, dofs, True)
    return 1.0


def packed_size(model: Model) -> int:
    pattern = host_tables(model).pattern
    memory.require(
        pattern.size,
        f"the mass matrix of {model.name!r}, which has {pattern.nnz:,} numbers that are not zero by branching,",
        "use method='aba', which needs no matrix",
    )
    return pattern.size


def dense_shape(model: Model) -> tuple[int, int]:
    memory.require(
        model.nv**2, f"a dense mass matrix of {model.nv} degrees of freedom", "use mass_matrix(..., sparse=True)"
    )
    return (model.nv, model.nv)


PACKED = Algorithm(
    "packed mass matrix", _packed, PATH_ROW, BODY_ROW, DOF_ROW, (Q, None, None, None), lambda m: (packed_size(m),)
)
DENSE = Algorithm("mass matrix", _dense, PATH_ROW, BODY_ROW, DOF_ROW, (Q, None, None, None), dense_shape)


@overload
def mass_matrix(model: Model, q: ArrayLike, sparse: Literal[False] = False) -> NDArray[np.float64]: ...


@overload
def mass_matrix(model: Model, q: ArrayLike, sparse: Literal[True]) -> TreeMatrix: ...


def mass_matrix(model: Model, q: ArrayLike, sparse: bool = False) -> NDArray[np.float64] | TreeMatrix:
    """The mass matrix H(q), armature included: (nv, nv), or (B, nv, nv) for a batch of q.

    sparse=True gives a TreeMatrix instead: only the numbers that are not zero by branching are computed and stored.
    """
    if sparse is not False and take("mass_matrix: sparse", sparse, FLAG):
        values = PACKED(model, q, None, None, None)
        return TreeMatrix._of(host_tables(model).pattern, values)
    try:
        H: Any = model._fast["mass matrix"](q)
    except (KeyError, AttributeError):  # not called before, or no model
        H = ODD
    if H.__class__ is int:
        return DENSE.general(model, q, None, None, None)
    result: NDArray[np.float64] = H
    return result
