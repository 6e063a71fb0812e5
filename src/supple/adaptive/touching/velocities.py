"""Velocities of a hybrid body over a part of a step, without impulses and with them: contact/steps/landing.py over the
active joints.

Velocity products are those of the mean velocity of the part, which is predicted with the impulses of the previous step.
Trees that are struck [contact/steps/striking.py] have those of the velocities before and after the impact.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import is_pushed, joint_passes, pull_ends, push_on
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.joint_forces import line_up
from supple.adaptive.touching.loops import find_loops, hold_closed
from supple.adaptive.touching.memory import touching_of
from supple.assembly.poses import pose_at
from supple.contact.response.rows import add_changes
from supple.contact.response.velocity_products import bias_force, lift_biases, turn_with
from supple.contact.steps.landing import expect_changes, expect_impulses
from supple.contact.steps.striking import end_of_tree
from supple.exact.aba import accelerate_joints, accelerate_trees
from supple.exact.motion import world_at_rest
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, Vec3
from supple.spatial.compiler import helper, kernel


@helper
def bias_forces(hybrid, m, x, v, first, last):
    """The bias forces of reduced bodies `first` to `last` at velocities v, with pushes. If springs connect bodies,
    these must be all bodies."""
    work = x.work
    work.path[0].zeta = world_at_rest(m, 0.0, work.path[0])
    for b in range(first, last):
        R, X = pose_at(hybrid.world, b + 1)
        V, f = bias_force(m, b, R, v, work)
        if is_pushed(hybrid, b):
            push, given, drag = push_on(hybrid, b + 1, R, X, V)
            f = f - push
            row = hybrid.pushed[b + 1]
            row.now, row.V, row.given, row.drag = V, V, given, drag
        work.bodies[b].p = f
    pull_ends(hybrid, work.bodies, 1.0)
    for k in range(hybrid.n_outer):  # only where joints are chosen
        outer = hybrid.outer[k]
        if first <= outer.body < last:
            work.bodies[outer.body].p = work.bodies[outer.body].p - outer.f


@kernel(types.float64(HybridBody.type, types.float64), "hybrid body without touches", effort=2, nogil=True)
def accelerate_freely(hybrid, h):
    """Accelerations without impulses, and the factors of H + h D + h^2 K for a part of length h; after without_joints
    with note. Returns the smallest pivot."""
    m, x = open_reduced(hybrid)
    line_up(hybrid, m, x, h)
    bias_forces(hybrid, m, x, x.v, 0, m.n)
    smallest = joint_passes(hybrid, True)
    if not smallest > 0.0:
        return smallest
    accelerate_joints(m, x.v, x.qdd, x.work)
    if hybrid.n_loop_rows > 0:
        find_loops(hybrid)
    return smallest


@helper
def accelerate_at(hybrid, m, x, u, first, last):
    """qdd of reduced bodies `first` to `last`, which are whole trees, at velocities u, with the present factors.
    Damping is that of the beginning."""
    bias_forces(hybrid, m, x, u, first, last)
    lift_biases(m, x.v, x.drive, x.work, first, last)
    x.work.path[0].A = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    accelerate_trees(m, first, last, x.qdd, x.work)


@helper
def add_speeds(m, end, v, h, a, first, last):
    """end = v + h a, of reduced bodies `first` to `last`."""
    for b in range(first, last):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            end[j] = v[j] + h * a[j]


@kernel(types.void(HybridBody.type, types.float64), "velocities without touches", effort=2, nogil=True)
def free_velocities(hybrid, h):
    """Velocities at the end of a part of length h without impulses, in `end`. Needs accelerations and rows of
    touches."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    expected = expect_impulses(touching.scene, h, touching.last)
    expect_changes(touching.scene, m, x.work, touching.dv)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.half[j] = x.v[j] + 0.5 * (h * x.qdd[j] + expected * touching.dv[j])
    if hybrid.n_loop_rows > 0:
        hold_closed(hybrid, False)
    accelerate_at(hybrid, m, x, x.half, 0, m.n)
    add_speeds(m, touching.end, x.v, h, x.qdd, 0, m.n)
    turn_with(m, x.half, h, touching.end, 0, m.n)
    if hybrid.n_loop_rows > 0:
        hold_closed(hybrid, True)


@helper
def mean_pushes(hybrid, touching, first, last):
    """Averages the velocities at pushes, which are those of the end, over the part, for the work of pushes. The mean is
    enough, because dampers are linear."""
    share = touching.before / (touching.before + touching.after)
    for b in range(first, last):
        if is_pushed(hybrid, b):
            row = hybrid.pushed[b + 1]
            row.now = touching.scene.bodies[b].V * share + row.now * (1.0 - share)


@kernel(types.void(HybridBody.type), "velocities by impacts", effort=2, nogil=True)
def velocities_by_impacts(hybrid):
    """free_velocities for trees that are struck, once impulses are known [contact/steps/landing.py]; for the others,
    impulses are taken back."""
    m, x = open_reduced(hybrid)
    touching, first = touching_of(hybrid), 0
    B, end = touching.scene.blocks, touching.end
    while first < m.n:
        last = end_of_tree(m, first)
        if B.struck[B.tree[m.bodies[first].iv]]:
            add_speeds(m, x.half, end, 0.0, end, first, last)
            accelerate_at(hybrid, m, x, x.v, first, last)
            add_speeds(m, end, x.v, touching.before, x.qdd, first, last)
            accelerate_at(hybrid, m, x, x.half, first, last)
            add_speeds(m, end, end, touching.after, x.qdd, first, last)
            mean_pushes(hybrid, touching, first, last)
            turn_with(m, x.v, touching.before, end, first, last)
            turn_with(m, x.half, touching.after, end, first, last)
        else:
            add_speeds(m, end, end, -1.0, touching.dv, first, last)
        first = last
    if hybrid.n_loop_rows > 0:
        hold_closed(hybrid, True)


@helper
def set_zero(m, x):
    """x = 0, for active degrees of freedom."""
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x[j] = 0.0


@helper
def change_end(m, work, touching):
    """Applies the impulses to the velocities at the end; dv: the change."""
    scene = touching.scene
    set_zero(m, touching.dv)
    add_changes(m, work, scene.z, touching.dv)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            touching.end[j] += touching.dv[j]
