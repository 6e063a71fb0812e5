"""Forward dynamics by the articulated-body algorithm [Featherstone 2008, Rigid Body Dynamics Algorithms (RBDA), ch. 7].

    symbol       what                                                       kept in
    R, V         rotation of the body; velocity                             path R_, V_
    zeta         acceleration if no joint accelerated, -gravity included    path Z_
    A            acceleration beyond zeta                                   path A_
    r, z         origin as seen from the parent's; the joint's axis         work P_, E_
    I, p         rigid inertia; bias force, at acceleration zeta            work Y_, F_
    IA, pA       what a body's children add to them                         path I_, B_
    U, 1/D, u    per degree of freedom, as in the book                      dofs U_, D_, u_

All along world axes, about each body's own origin: nothing rotates between bodies, and no digits are lost to a
distant common origin. Where the book adds Ia c on the way back, zeta carries velocity products and gravity forward:
accelerations are counted from it, and the bias force is what inverse dynamics would give. A joint of k degrees of
freedom is k successive eliminations of one, so D is never a matrix. Cost O(n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.exact.calls import TAU, WRENCHES, Algorithm, Q, V, Work
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of, move, turn_ahead, world_at_rest, zero_vec
from supple.exact.rnea import rigid_force
from supple.exact.tables import ARMATURE, DAMPING, HAS_CHILDREN, PARENT, RIGID, ROW, SPLIT
from supple.model.model import Model
from supple.spatial.algebra import (
    Motion,
    Prismatic,
    Revolute,
    articulated,
    cross,
    outer_inertia,
    rotate_force,
    shift_force,
    shift_inertia,
    shift_motion,
    z_axis,
)
from supple.spatial.compiler import helper
from supple.spatial.indexing import LINE, fetch, get, item, put, set_item
from supple.spatial.lanes import number_like, smaller
from supple.spatial.rows import (
    load_force,
    load_inertia,
    load_mat,
    load_motion,
    load_rigid,
    load_turned,
    load_vec,
    store_inertia,
    store_mat,
    store_rigid,
    store_six,
    store_vec,
)

R_, V_, Z_, I_, B_, A_, PATH_ROW = 0, 9, 15, 24, 45, 51, 64  # rows of whole cache lines
P_, E_, F_, Y_, BODY_ROW = 0, 3, 6, 12, 24
U_, D_, u_, DOF_ROW = 0, 6, 7, 8
CACHED, AHEAD = 2000, 8  # beyond so many bodies, rows are asked for so many bodies before they are wanted


@helper
def eliminate(I, f, S, dofs, j, tau, armature):
    """Take degree of freedom j out of the articulated body. Specialised on the type of S."""
    U = I @ S  # [RBDA 7.43]
    D = S @ U + armature
    d = 1.0 / D  # [RBDA 7.44]
    u = tau - S @ f  # [RBDA 7.45]
    store_six(dofs, j, U_, U)
    put(dofs, j, D_, d)
    put(dofs, j, u_, u)
    return I - outer_inertia(U, d), f + U * (u * d), D  # Ia, pa [RBDA 7.47, 7.48]


@helper
def accelerate(a, S, dofs, j, qdd):
    """Add degree of freedom j's acceleration."""
    x = (get(dofs, j, u_) - a @ load_force(dofs, j, U_)) * get(dofs, j, D_)
    set_item(qdd, j, x)
    return a + S * x


@helper
def joint_force(m, tau, v, j):
    return item(tau, j) - item(v, j) * get(m.dofs, j, DAMPING)


@helper
def aba(m, q, v, tau, has_wrenches, wrenches, qdd, path, work, S, dofs, extra):
    """qdd of one state (or of four, in lanes). Returns the smallest D: not positive means singular."""
    without_joints(m, q, v, has_wrenches, wrenches, path, work, S)
    return with_joints(m, q, v, tau, qdd, path, work, S, dofs)


@helper
def with_joints(m, q, v, tau, qdd, path, work, S, dofs):
    """The two passes in which joints accelerate, after without_joints. Returns the smallest D."""
    smallest = eliminate_joints(m, q, v, tau, path, work, S, dofs)
    far = m.n > CACHED
    zero = zero_vec(q[0])
    store_six(path, 0, A_, Motion(zero, zero))
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        if far:
            fetch(work, b + 2 * AHEAD, 1)  # P_ and E_
            fetch(dofs, j + 2 * AHEAD, 1)
        A = shift_motion(load_vec(work, b, P_), load_motion(path, p, A_))
        z = load_vec(work, b, E_)
        if kind == REVOLUTE:
            A = accelerate(A, Revolute(z), dofs, j, qdd)  # [RBDA 7.51]
        elif kind == PRISMATIC:
            A = accelerate(A, Prismatic(z), dofs, j, qdd)
        else:
            for k in range(j, j + DOF[kind]):
                A = accelerate(A, load_motion(S.rows, k, 0), dofs, k, qdd)
        store_six(path, i, A_, A)
    return smallest


@helper
def eliminate_joints(m, q, v, tau, path, work, S, dofs):
    """The first of the two, from the last body to the first."""
    far = m.n > CACHED
    smallest = number_like(q[0], np.inf)
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        if far:
            fetch(work, b - AHEAD, BODY_ROW // LINE)
            fetch(dofs, j - AHEAD, 1)
        IA, pA = articulated(load_rigid(work, b, Y_)), load_force(work, b, F_)
        if get(m.bodies, b, HAS_CHILDREN):
            IA, pA = IA + load_inertia(path, i, I_), pA + load_force(path, i, B_)
        z = load_vec(work, b, E_)
        if kind == REVOLUTE:
            IA, pA, D = eliminate(IA, pA, Revolute(z), dofs, j, joint_force(m, tau, v, j), get(m.dofs, j, ARMATURE))
            smallest = smaller(D, smallest)
        elif kind == PRISMATIC:
            IA, pA, D = eliminate(IA, pA, Prismatic(z), dofs, j, joint_force(m, tau, v, j), get(m.dofs, j, ARMATURE))
            smallest = smaller(D, smallest)
        else:
            for k in range(j + DOF[kind] - 1, j - 1, -1):
                s = load_motion(S.rows, k, 0)
                IA, pA, D = eliminate(IA, pA, s, dofs, k, joint_force(m, tau, v, k), get(m.dofs, k, ARMATURE))
                smallest = smaller(D, smallest)
        if get(m.bodies, b, PARENT) >= 0:
            r = load_vec(work, b, P_)
            IA, pA = shift_inertia(r, IA), shift_force(r, pA)
            if i != p:  # not the last child: those after it have already put theirs there
                IA, pA = IA + load_inertia(path, p, I_), pA + load_force(path, p, B_)
            store_inertia(path, p, I_, IA)
            store_six(path, p, B_, pA)
    return smallest


@helper
def without_joints(m, q, v, has_wrenches, wrenches, path, work, S):
    """What bodies do while no joint accelerates: R, V and zeta in `path`; r, z, p and I in `work`."""
    far = m.n > CACHED
    world_at_rest(m, q, path)
    done = 0
    for b in range(m.n):
        if far:
            fetch(m.rows, b + AHEAD, ROW // LINE)
            fetch(work, b + AHEAD, BODY_ROW // LINE)
        done = turn_ahead(m, q, S, done, b)
        _, Y = without_joint(m, b, q, v, has_wrenches, wrenches, path, work, S)
        store_rigid(work, b, Y_, Y)


@helper
def without_joint(m, b, q, v, has_wrenches, wrenches, path, work, S):
    """The same for one body, but for its inertia; returns R and I."""
    i, p, _, _ = joint_of(m, b)
    R, r, V, c = move(m, b, load_mat(path, p, R_), load_motion(path, p, V_), q, v, S)
    Y = load_turned(R, m.rows, b, RIGID, SPLIT)
    zeta = shift_motion(r, load_motion(path, p, Z_)) + c
    # pA = I zeta + v x* I v - f_ext  [RBDA 7.37], by the acceleration of the origin as a point: v x m v is left out
    # instead of rounded, beside which the moment of a light foot on a heavy hip would be lost.
    f = rigid_force(Y, V.ang, zeta.ang, zeta.lin + cross(V.ang, V.lin))
    if has_wrenches:
        f = f - rotate_force(R @ load_mat(m.outward, b, 0), load_force(wrenches, b, 0))
    store_mat(path, i, R_, R)
    store_six(path, i, V_, V)
    store_six(path, i, Z_, zeta)
    store_vec(work, b, P_, r)
    store_vec(work, b, E_, z_axis(R))
    store_six(work, b, F_, f)
    return R, Y


def _inverse_D(model: Model, work: Work) -> NDArray[np.float64]:
    return work.scratch[4][:, D_]


ABA = Algorithm("aba", aba, PATH_ROW, BODY_ROW, DOF_ROW, (Q, V, TAU, WRENCHES), lambda m: (m.nv,), inverse_D=_inverse_D)
