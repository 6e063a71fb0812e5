"""What is found by going up the hybrid body once: the momenta of its active joints, and the forces behind an
acceleration; and the way back, from momenta to velocities."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import is_pushed, joint_passes, without_joints, zero
from supple.adaptive.reduced_tree import open_reduced
from supple.exact.aba import A_, B_, E_, F_, P_, Y_
from supple.exact.motion import DOF, PRISMATIC, REVOLUTE, joint_of
from supple.exact.tables import ARMATURE, HAS_CHILDREN, IV, KIND, PARENT
from supple.spatial.algebra import Motion, Prismatic, Revolute, shift_force, shift_motion
from supple.spatial.compiler import helper, kernel
from supple.spatial.rows import load_force, load_motion, load_rigid, load_vec, store_six

MOMENTUM, IMPULSE, NEEDED = range(3)  # what project finds


@helper
def across(kind, z, S, j, x):
    """S x, the motion across a joint."""
    if kind == REVOLUTE:
        return Motion(z * x[j], zero())
    if kind == PRISMATIC:
        return Motion(zero(), z * x[j])
    out = Motion(zero(), zero())
    for k in range(j, j + DOF[kind]):
        out = out + load_motion(S.rows, k, 0) * x[k]
    return out


@kernel(types.float64(HybridBody.type, types.int64), "hybrid body, momenta", effort=2, nogil=True)
def project(hybrid, what):
    """After without_joints, along the axes of the active joints:

    MOMENTUM  H v                                                                to x.momentum
    IMPULSE   H qdd, less pushes that are no springs and dampers, those of joints in x.drive   to x.impulse
    NEEDED    the forces, pushes that are no springs included, that it takes for these qdd   to x.impulse

    Returns its product with v.
    """
    m, x = open_reduced(hybrid)
    path, work, S = x.path, x.work, x.axes
    rates, out = (x.v, x.momentum) if what == MOMENTUM else (x.qdd, x.impulse)
    store_six(path, 0, A_, Motion(zero(), zero()))
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        A = shift_motion(load_vec(work, b, P_), load_motion(path, p, A_)) + across(
            kind, load_vec(work, b, E_), S, j, rates
        )
        store_six(path, i, A_, A)
        F = load_rigid(work, b, Y_) @ A
        if what == NEEDED:
            F = F + load_force(work, b, F_)
        if what != MOMENTUM and is_pushed(hybrid, b):
            push = hybrid.pushed[b + 1].given + hybrid.pushed[b + 1].drag
            F = F + push if what == NEEDED else F - push
        store_six(work, b, F_, F)
    total = 0.0
    for b in range(m.n - 1, -1, -1):
        i, p, kind, j = joint_of(m, b)
        F, z = load_force(work, b, F_), load_vec(work, b, E_)
        if m.bodies[b, HAS_CHILDREN]:
            F = F + load_force(path, i, B_)
        for k in range(j, j + DOF[kind]):
            if kind == REVOLUTE:
                h = Revolute(z) @ F
            elif kind == PRISMATIC:
                h = Prismatic(z) @ F
            else:
                h = load_motion(S.rows, k, 0) @ F
            h += m.dofs[k, ARMATURE] * rates[k]
            if what == IMPULSE:
                h -= x.drive[k]
            out[k] = h
            total += h * x.v[k]
        if m.bodies[b, PARENT] >= 0:
            F = shift_force(load_vec(work, b, P_), F)
            if i != p:  # not the last child: those after it have already put theirs there
                F = F + load_force(path, p, B_)
            store_six(path, p, B_, F)
    return total


@helper
def momenta(hybrid):
    """H v: the momentum of what each active joint moves, along its axes. Returns the kinetic energy."""
    without_joints(hybrid, False, False, False)
    return 0.5 * project(hybrid, MOMENTUM)


@helper
def velocities_of(hybrid):
    """The velocities with which the active joints have these momenta: H v = momentum. Returns the kinetic energy, and
    the smallest pivot."""
    without_joints(hybrid, False, False, False)
    smallest = joint_passes(hybrid, False)
    m, x = open_reduced(hybrid)
    energy = 0.0
    for b in range(m.n):
        iv, k = m.bodies[b, IV], DOF[m.bodies[b, KIND]]
        for j in range(iv, iv + k):
            x.v[j] = x.qdd[j]
            energy += 0.5 * x.momentum[j] * x.v[j]
    return energy, smallest
