"""Results of one inward pass over the hybrid body: the momenta of its active joints, and the forces that cause given
accelerations; and the outward pass, from momenta to velocities."""

from __future__ import annotations

from numba import types

from supple.adaptive.hybrid_rows import read_rows
from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import is_pushed, joint_passes, without_joints, zero
from supple.adaptive.reduced_tree import open_reduced
from supple.exact.front_rows import tell_rows
from supple.exact.motion import joint_of
from supple.model.joint_poses import DOF, PRISMATIC, REVOLUTE
from supple.spatial.algebra import Motion, Prismatic, Revolute, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel

MOMENTUM, IMPULSE, NEEDED = range(3)  # what project computes


@helper
def across(kind, z, S, j, x):
    """S x, the motion across a joint."""
    if kind == REVOLUTE:
        return Motion(z * x[j], zero())
    if kind == PRISMATIC:
        return Motion(zero(), z * x[j])
    out = Motion(zero(), zero())
    for k in range(j, j + DOF[kind]):
        out = out + S.axes[k].s * x[k]
    return out


@kernel(types.float64(HybridBody.type, types.int64), "hybrid body, momenta", effort=2, nogil=True)
def project(hybrid, what):
    """After without_joints, along the axes of the active joints:

    MOMENTUM  H v                                                                to x.momentum
    IMPULSE   H qdd, less pushes other than springs, and dampers, those of joints in x.drive   to x.impulse
    NEEDED    the forces, including pushes other than springs, required for these qdd   to x.impulse

    Returns its product with v.
    """
    m, x = open_reduced(hybrid)
    path, bodies, S = x.work.path, x.work.bodies, x.work.S
    rates, out = (x.v, x.momentum) if what == MOMENTUM else (x.qdd, x.impulse)
    path[0].A = Motion(zero(), zero())
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(bodies[b].r, path[p].A) + across(kind, bodies[b].z, S, j, rates)
        path[i].A = A
        F = bodies[b].I @ A
        if what == NEEDED:
            F = F + bodies[b].p
        if what in (IMPULSE, NEEDED) and is_pushed(hybrid, b):
            push = hybrid.pushed[b + 1].given + hybrid.pushed[b + 1].drag
            F = F + push if what == NEEDED else F - push
        bodies[b].p = F
    total = 0.0
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        F, z = bodies[b].p, bodies[b].z
        if m.bodies[b].has_children:
            F = F + path[i].pA
        for k in range(j, j + DOF[kind]):
            if kind == REVOLUTE:
                h = Revolute(z) @ F
            elif kind == PRISMATIC:
                h = Prismatic(z) @ F
            else:
                h = S.axes[k].s @ F
            h += m.dofs[k].armature * rates[k]
            if what == IMPULSE:
                h -= x.drive[k]
            out[k] = h
            total += h * x.v[k]
        if m.bodies[b].parent >= 0:
            F = shift_force(bodies[b].r, F)
            if i != p:  # not the last child: later children have already stored theirs there
                F = F + path[p].pA
            path[p].pA = F
    return total


@helper
def momenta(hybrid):
    """H v: the momentum of the bodies each active joint moves, along its axes. Returns the kinetic energy."""
    without_joints(hybrid, False, False, False)
    return 0.5 * project(hybrid, MOMENTUM)


@helper
def velocities_of(hybrid):
    """The velocities of the active joints for given momenta: H v = momentum + G^T x, G v = 0 [hybrid_rows.py]. Returns
    the kinetic energy and the smallest pivot."""
    without_joints(hybrid, False, False, False)
    if hybrid.n_loop_rows > 0:
        read_rows(hybrid, False)
        tell_rows(hybrid.closing, 1.0)
    smallest = joint_passes(hybrid, False)
    m, x = open_reduced(hybrid)
    energy = 0.0
    for b in range(m.n):
        iv, k = m.bodies[b].iv, DOF[m.bodies[b].kind]
        for j in range(iv, iv + k):
            x.v[j] = x.qdd[j]
            energy += 0.5 * x.momentum[j] * x.v[j]
    return energy, smallest
