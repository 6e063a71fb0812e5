"""Inverse dynamics by the recursive Newton-Euler algorithm [RBDA ch. 5].

    symbol   what                                                       kept in
    R        rotation of the body                                       path R_
    V, A     velocity; acceleration (with -gravity added throughout)    path V_, A_
    r, z     origin as seen from the parent's; the joint's axis         work P_, E_
    F        force on the body; what its children ask of it             work F_, path B_

Along world axes, about each body's own origin, as in aba.py. Cost O(n).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.exact.calls import A_OR_NONE, V_OR_NONE, WRENCHES, Algorithm, Q
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_motion, joint_of, move, turn_ahead, world_at_rest
from supple.exact.tables import ARMATURE, DAMPING, HAS_CHILDREN, PARENT, RIGID
from supple.model.model import Model
from supple.spatial.algebra import (
    Force,
    Prismatic,
    Revolute,
    RigidInertia,
    cross,
    rotate_force,
    shift_force,
    shift_motion,
    z_axis,
)
from supple.spatial.compiler import helper
from supple.spatial.indexing import get, item, set_item
from supple.spatial.references import ODD
from supple.spatial.rows import (
    load_force,
    load_mat,
    load_motion,
    load_sym,
    load_vec,
    set_six,
    store_mat,
    store_six,
    store_vec,
)

R_, V_, A_, B_, PATH_ROW = 0, 9, 15, 24, 32
P_, E_, F_, BODY_ROW = 0, 3, 6, 12


@helper
def rnea(m, q, v, a, has_wrenches, wrenches, tau, path, work, S, dofs, extra):
    """tau of one state (or of four, in lanes), damping and armature included; after it, where there is room, the six
    numbers of every joint's force, about its body's origin."""
    world_at_rest(m, q, path)
    done = 0
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r, V, c = move(m, b, load_mat(path, p, R_), load_motion(path, p, V_), q, v, S)  # [RBDA 5.14]
        A = shift_motion(r, load_motion(path, p, A_)) + c + joint_motion(m, b, R, a, S)  # [RBDA 5.15]
        Y = RigidInertia(get(m.rows, b, RIGID), load_vec(m.rows, b, RIGID + 1), load_sym(m.inertias, b, 0))
        F = newton_euler(R, Y, V, A)
        if has_wrenches:
            F = F - rotate_force(R @ load_mat(m.outward, b, 0), load_force(wrenches, b, 0))
        store_mat(path, i, R_, R)
        store_six(path, i, V_, V)
        store_six(path, i, A_, A)
        store_vec(work, b, P_, r)
        store_vec(work, b, E_, z_axis(R))
        store_six(work, b, F_, F)

    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        F = load_force(work, b, F_)
        if get(m.bodies, b, HAS_CHILDREN):
            F = F + load_force(path, i, B_)
        if tau.shape[0] > m.nv:
            set_six(tau, m.nv + 6 * b, F)
        z = load_vec(work, b, E_)
        if kind == REVOLUTE:
            set_item(tau, j, Revolute(z) @ F + _own(m, v, a, j))  # [RBDA 5.18]
        elif kind == PRISMATIC:
            set_item(tau, j, Prismatic(z) @ F + _own(m, v, a, j))
        else:
            for k in range(j, j + DOF[kind]):
                set_item(tau, k, load_motion(S.rows, k, 0) @ F + _own(m, v, a, k))
        if get(m.bodies, b, PARENT) >= 0:
            F = shift_force(load_vec(work, b, P_), F)  # [RBDA 5.20]
            if i != p:  # not the last child: those after it have already put theirs there
                F = F + load_force(path, p, B_)
            store_six(path, p, B_, F)
    return 1.0


@helper
def newton_euler(R, Y, V, A):
    """I A + V x* I V [RBDA 5.16], the inertia Y in the body's axes and all else along the world's: cheaper than turning
    the inertia."""
    a = (A.lin + cross(V.ang, V.lin)) @ R  # R^T x
    return rotate_force(R, rigid_force(Y, V.ang @ R, A.ang @ R, a))


@helper
def rigid_force(Y, w, dw, a):
    """The force on a body that turns with w and dw and whose origin, as a point, accelerates by a: m a + dw x h +
    w x (w x h), and about the origin the moment I dw + w x I w + h x a."""
    lin = a * Y.m + cross(dw, Y.h) + cross(w, cross(w, Y.h))
    return Force(Y.I @ dw + cross(w, Y.I @ w) + cross(Y.h, a), lin)


@helper
def _own(m, v, a, j):
    """What the joint itself takes: damping and armature."""
    return item(v, j) * get(m.dofs, j, DAMPING) + item(a, j) * get(m.dofs, j, ARMATURE)


_ROWS = PATH_ROW, BODY_ROW, 0
_INPUTS = Q, V_OR_NONE, A_OR_NONE, WRENCHES
RNEA = Algorithm("rnea", rnea, *_ROWS, _INPUTS, lambda m: (m.nv,))
WITH_WRENCHES = Algorithm("rnea with wrenches", rnea, *_ROWS, _INPUTS, lambda m: (m.nv + 6 * m.n_bodies,), like=RNEA)


def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """The joint forces that give accelerations a: tau = H(q) a + C(q, v), damping and armature included.

    v or a None means zeros.

    q (nq,), v, a (nv,); wrenches (n_bodies, 6) act on the bodies, each in its body's frame about its origin, angular
    first. Any of them may have a leading batch axis; the result is (nv,) or (B, nv).
    """
    try:
        tau: Any = model._fast["rnea"](q, v, a, wrenches)
    except (KeyError, AttributeError):  # not called before, or no model
        tau = ODD
    if tau.__class__ is int:
        return RNEA.general(model, q, v, a, wrenches)
    result: NDArray[np.float64] = tau
    return result


def bias_force(
    model: Model, q: ArrayLike, v: ArrayLike | None = None, wrenches: ArrayLike | None = None
) -> NDArray[np.float64]:
    """C(q, v): the joint forces that hold accelerations at zero, against gravity, velocity, damping and wrenches.

    v None means at rest: the force of gravity. Shapes as in inverse_dynamics.
    """
    return RNEA(model, q, v, None, wrenches)
