"""Accelerations of the hybrid body once more, where it is and at other velocities: what the passes of exact/aba.py do
to one body, after they have placed bodies, turned joints and eliminated articulated inertias, which depend on positions
alone. Symbols and rows as there."""

from __future__ import annotations

from supple.adaptive.momenta import across
from supple.adaptive.reduced import zero
from supple.exact.aba import A_, B_, D_, E_, F_, P_, U_, V_, Z_, accelerate, joint_force, u_
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, UNIVERSAL, joint_of
from supple.exact.tables import HAS_CHILDREN, PARENT
from supple.spatial.algebra import Force, Motion, Prismatic, Revolute, crm, cross, shift_force, shift_motion
from supple.spatial.compiler import helper
from supple.spatial.rows import load_force, load_motion, load_vec, store_six


@helper
def parent_reach(x, b, j):
    """U / D of joint b's only degree of freedom, about the parent's origin. With it, nothing but products with what
    comes from the parent, or from below, waits for that."""
    return shift_force(load_vec(x.work, b, P_), load_force(x.dofs, j, U_) * x.dofs[j, D_])


@helper
def accelerate_joint(m, x, b):
    """The accelerations of joint b, after that of its parent [RBDA 7.51]. Returns the body's."""
    i, p, kind, j = joint_of(m, b)
    z, above = load_vec(x.work, b, E_), load_motion(x.path, p, A_)
    A = shift_motion(load_vec(x.work, b, P_), above)
    if kind in (REVOLUTE, PRISMATIC):
        a = x.dofs[j, u_] * x.dofs[j, D_] - above @ parent_reach(x, b, j)
        x.qdd[j] = a
        A = A + Revolute(z) * a if kind == REVOLUTE else A + Prismatic(z) * a
    else:
        for k in range(j, j + DOF[kind]):
            A = accelerate(A, load_motion(x.axes.rows, k, 0), x.dofs, k, x.qdd)
    store_six(x.path, i, A_, A)
    return A


@helper
def move_again(m, x, b):
    """V and zeta of body b, at the velocities of x.half and where it is."""
    i, p, kind, j = joint_of(m, b)
    r, z, v, S = load_vec(x.work, b, P_), load_vec(x.work, b, E_), x.half, x.axes
    V = shift_motion(r, load_motion(x.path, p, V_))
    if kind == REVOLUTE:
        w = z * v[j]
        c = Motion(cross(V.ang, w), cross(V.lin, w))
        V = Motion(V.ang + w, V.lin)
    else:
        v_J = across(kind, z, S, j, v)
        V = V + v_J
        c = crm(V, v_J)
        if kind == UNIVERSAL:  # the second axis turns with the first
            w1 = load_motion(S.rows, j, 0).ang * v[j]
            w2 = load_motion(S.rows, j + 1, 0).ang * v[j + 1]
            c = Motion(c.ang + cross(w1, w2), c.lin)
    zeta = shift_motion(r, load_motion(x.path, p, Z_)) + c
    store_six(x.path, i, V_, V)
    store_six(x.path, i, Z_, zeta)
    return V, zeta


@helper
def eliminate_again(m, x, b):
    """Joint b, which was eliminated before, under other forces [RBDA 7.45, 7.48]."""
    i, p, kind, j = joint_of(m, b)
    f, below, z, r = load_force(x.work, b, F_), Force(zero(), zero()), load_vec(x.work, b, E_), load_vec(x.work, b, P_)
    if m.bodies[b, HAS_CHILDREN]:
        below = load_force(x.path, i, B_)
    if kind in (REVOLUTE, PRISMATIC):
        u = joint_force(m, x.drive, x.half, j)
        if kind == REVOLUTE:
            u = u - Revolute(z) @ f - Revolute(z) @ below
        else:
            u = u - Prismatic(z) @ f - Prismatic(z) @ below
        x.dofs[j, u_] = u
        f = shift_force(r, f + below) + parent_reach(x, b, j) * u
    else:
        f = f + below
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            u = joint_force(m, x.drive, x.half, k) - load_motion(x.axes.rows, k, 0) @ f
            x.dofs[k, u_] = u
            f = f + load_force(x.dofs, k, U_) * (u * x.dofs[k, D_])
        f = shift_force(r, f)
    if m.bodies[b, PARENT] >= 0:
        if i != p:  # not the last child: those after it have already put theirs there
            f = f + load_force(x.path, p, B_)
        store_six(x.path, p, B_, f)
