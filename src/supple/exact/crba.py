"""The mass matrix by the composite-rigid-body algorithm [SF section 5].

Along world axes, about each body's own origin for the diagonal, about the root's for the rest. The matrix is packed by
rows over the expanded parent array (treematrix.py): branch-induced zeros are neither computed nor stored. Cost
O(D0 + D1) [SF (14)].

    symbol   what
    R        rotation of the body                                             of `path`
    r, O     its origin as seen from the parent's; from the root's            of `bodies`, O of `path`, too
    s        an axis at the body's origin, of S; at the root's, of `dofs`
    I, Ic    inertia of the body; composite inertia of its children, then including its own
    f        force that gives the composite body the acceleration s_k
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import FLAG, take
from supple.exact.call_kernels import ScratchRows
from supple.exact.calls import Algorithm, Q
from supple.exact.motion import joint_of, place, turn_ahead, turned_inertia, unit_mat, zero_vec
from supple.exact.tables import host_tables
from supple.exact.treematrix import TreeMatrix
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.model.model import Model
from supple.spatial.algebra import (
    Mat3,
    Motion,
    Prismatic,
    Revolute,
    RigidInertia,
    Vec3,
    cross,
    shift_force,
    shift_rigid,
    z_axis,
)
from supple.spatial.any_number import number_like
from supple.spatial.compiler import helper
from supple.spatial.cpu import LINE, ODD
from supple.spatial.fields import Value
from supple.spatial.structs import Struct


class CrbaPath(Struct, align=LINE):
    """What bodies pass on to children and parents."""

    R = Value(Mat3)  # rotation
    O = Value(Vec3)  # origin as seen from the root's
    Ic = Value(RigidInertia)  # composite inertia of the children


class CrbaBody(Struct, align=LINE):
    r = Value(Vec3)  # origin as seen from the parent's
    z = Value(Vec3)  # the joint's axis, where that is the body's z
    O = Value(Vec3)  # origin as seen from the root's
    I = Value(RigidInertia)


class CrbaDof(Struct):
    s = Value(Motion)  # its axis, about the root's origin


ROWS = ScratchRows(CrbaPath, CrbaBody, CrbaDof)


@helper
def crba(m, q, H, work, dense):
    """The mass matrix H of one state (or of four, in lanes): packed, or all nv^2 numbers (branch-induced zeros are not
    touched)."""
    path, bodies, dofs, S = work.path, work.bodies, work.dofs, work.S
    o = zero_vec(q[0])
    path[0].R = unit_mat(q[0])
    done = 0
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r = place(m, b, path[p].R, q, S)
        O = path[p].O + r if m.bodies[b].parent >= 0 else o
        z = z_axis(R)
        if kind == REVOLUTE:
            dofs[j].s = Motion(z, cross(O, z))
        elif kind == PRISMATIC:
            dofs[j].s = Motion(o, z)
        else:
            for k in range(j, j + DOF[kind]):
                s = S.axes[k].s
                dofs[k].s = Motion(s.ang, s.lin + cross(O, s.ang))
        here, body = path[i], bodies[b]
        here.R, here.O = R, O
        body.r, body.z, body.O, body.I = r, z, O, turned_inertia(R, m.shapes[b])

    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        Ic = bodies[b].I
        if m.bodies[b].has_children:
            Ic = Ic + path[i].Ic
        O, z = bodies[b].O, bodies[b].z
        if kind == REVOLUTE:
            f = Ic @ Revolute(z)
            _row(m, j, Revolute(z) @ f, shift_force(O, f), H, dofs, dense)
        elif kind == PRISMATIC:
            f = Ic @ Prismatic(z)
            _row(m, j, Prismatic(z) @ f, shift_force(O, f), H, dofs, dense)
        else:
            for k in range(j, j + DOF[kind]):
                f = Ic @ S.axes[k].s
                _row(m, k, S.axes[k].s @ f, shift_force(O, f), H, dofs, dense)
                for l in range(k - 1, j - 1, -1):  # near each other, these would lose digits at the root's origin
                    set_entry(m, H, k, l, diagonal(m, k) - (k - l), S.axes[l].s @ f, dense)
        if m.bodies[b].parent >= 0:
            Ic = shift_rigid(bodies[b].r, Ic)
            if i != p:  # not the last child: later children have already stored theirs there
                Ic = Ic + path[p].Ic
            path[p].Ic = Ic


@helper
def _row(m, k, own, f, H, dofs, dense):
    """Row k: its own inertia, and the components of the force f along the degrees of freedom before it [SF (5)].

    f and the axes s are about the root's origin: nothing is shifted between steps, and no step depends on another.
    """
    at, parent = diagonal(m, k), m.packing.parent
    set_entry(m, H, k, k, at, own + m.dofs[k].armature, dense)
    l = parent[k]
    while l >= 0:
        at -= 1
        set_entry(m, H, k, l, at, dofs[l].s @ f, dense)
        l = parent[l]


@helper
def diagonal(m, k):
    """Position of H_kk in the packed matrix."""
    return m.packing.starts[k] + m.packing.depth[k] - 1


@helper
def set_entry(m, H, k, j, at, x, dense):
    """H_kj = H_jk = x"""
    if dense:
        H[k * m.nv + j] = x
        H[j * m.nv + k] = x
    else:
        H[at] = x


@helper
def _packed(m, state, H, work):
    o = number_like(state.q[0], 0.0)
    for i in range(work.n_out):
        H[i] = o
    crba(m, state.q, H, work, False)
    return 1.0


@helper
def _dense(m, state, H, work):
    o = number_like(state.q[0], 0.0)
    for i in range(m.nv * m.nv):
        H[i] = o
    crba(m, state.q, H, work, True)
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


PACKED = Algorithm("packed mass matrix", _packed, ROWS, (Q, None, None, None), lambda m: (packed_size(m),))
DENSE = Algorithm("mass matrix", _dense, ROWS, (Q, None, None, None), dense_shape)


@overload
def mass_matrix(model: Model, q: ArrayLike, sparse: Literal[False] = False) -> NDArray[np.float64]: ...


@overload
def mass_matrix(model: Model, q: ArrayLike, sparse: Literal[True]) -> TreeMatrix: ...


def mass_matrix(model: Model, q: ArrayLike, sparse: bool = False) -> NDArray[np.float64] | TreeMatrix:
    """The mass matrix H(q), armature included: (nv, nv), or (B, nv, nv) for a batch of q.

    sparse=True returns a TreeMatrix instead: branch-induced zeros are neither computed nor stored.
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
