"""Accelerations of the hybrid body at the same positions and other velocities: the passes of exact/aba.py for one body,
without placing bodies, rotating joints and eliminating articulated inertias, which depend only on positions. Symbols
and rows as there."""

from __future__ import annotations

from supple.adaptive.momenta import across
from supple.adaptive.reduced import zero
from supple.exact.aba import accelerate, joint_force
from supple.exact.motion import joint_of
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE, with_moving_axes
from supple.spatial.algebra import Force, Motion, Prismatic, Revolute, crm, cross, shift_force, shift_motion
from supple.spatial.compiler import helper


@helper
def parent_reach(x, b, j):
    """U / D of joint b's only degree of freedom, about the parent's origin. With it, only products with data from the
    parent, or from below, have to wait for that data."""
    return shift_force(x.work.bodies[b].r, x.work.dofs[j].U * x.work.dofs[j].d)


@helper
def accelerate_joint(m, x, b):
    """The accelerations of joint b, given that of its parent [RBDA 7.51]. Returns the body's."""
    i, p, kind, j = joint_of(m, b)
    z, above = x.work.bodies[b].z, x.work.path[p].A
    A = shift_motion(x.work.bodies[b].r, above)
    if kind in (REVOLUTE, PRISMATIC):
        a = x.work.dofs[j].u * x.work.dofs[j].d - above @ parent_reach(x, b, j)
        x.qdd[j] = a
        A = A + Revolute(z) * a if kind == REVOLUTE else A + Prismatic(z) * a
    else:
        for k in range(j, j + DOF[kind]):
            A, x.qdd[k] = accelerate(A, x.work.S.axes[k].s, x.work.dofs[k])
    x.work.path[i].A = A
    return A


@helper
def move_again(m, x, b):
    """V and zeta of body b, at the velocities x.half and its current position."""
    i, p, kind, j = joint_of(m, b)
    r, z, v, S = x.work.bodies[b].r, x.work.bodies[b].z, x.half, x.work.S
    V = shift_motion(r, x.work.path[p].V)
    if kind == REVOLUTE:
        w = z * v[j]
        c = Motion(cross(V.ang, w), cross(V.lin, w))
        V = Motion(V.ang + w, V.lin)
    else:
        v_J = across(kind, z, S, j, v)
        V = V + v_J
        c = with_moving_axes(kind, crm(V, v_J), S.axes, j, v)
    zeta = shift_motion(r, x.work.path[p].zeta) + c
    x.work.path[i].V = V
    x.work.path[i].zeta = zeta
    return V, zeta


@helper
def eliminate_again(m, x, b):
    """Joint b, already eliminated, under other forces [RBDA 7.45, 7.48]."""
    i, p, kind, j = joint_of(m, b)
    f, below, z, r = x.work.bodies[b].p, Force(zero(), zero()), x.work.bodies[b].z, x.work.bodies[b].r
    if m.bodies[b].has_children:
        below = x.work.path[i].pA
    if kind in (REVOLUTE, PRISMATIC):
        u = joint_force(m, x.drive, x.half, j)
        if kind == REVOLUTE:
            u = u - Revolute(z) @ f - Revolute(z) @ below
        else:
            u = u - Prismatic(z) @ f - Prismatic(z) @ below
        x.work.dofs[j].u = u
        f = shift_force(r, f + below) + parent_reach(x, b, j) * u
    else:
        f = f + below
        for k in range(j + DOF[kind] - 1, j - 1, -1):
            u = joint_force(m, x.drive, x.half, k) - x.work.S.axes[k].s @ f
            x.work.dofs[k].u = u
            f = f + x.work.dofs[k].U * (u * x.work.dofs[k].d)
        f = shift_force(r, f)
    if m.bodies[b].parent >= 0:
        if i != p:  # not the last child: later children have already stored theirs there
            f = f + x.work.path[p].pA
        x.work.path[p].pA = f
