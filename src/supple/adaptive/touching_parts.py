"""A part of a step of a hybrid body with touches, as contact/stepping.py has it for whole ones: the same equations over
the active joints alone.

    (H + h D + h^2 K) (v' - v) = h (tau - C) + J^T lam

H is that of the reduced tree, whose factors give the rows of touches [contact/rows.py]. J reaches from a touch over the
active joints above it; what is rigid in between costs nothing.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced import first_law, is_pushed, joint_passes, pull_ends, push_on
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_finishing import copy_v
from supple.adaptive.touching_judging import work_of_forces
from supple.adaptive.touching_loops import find_loops, hold_closed, rows_of_touches
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_search import join_active_limits
from supple.assembly.poses import pose_at
from supple.contact.asides import any_aside, set_aside, take_in
from supple.contact.holding import NOT_FOUND
from supple.contact.landing import (
    bias_force,
    body_motions,
    expect_changes,
    expect_impulses,
    lift_biases,
    prepare_touches,
    turn_with,
)
from supple.contact.mechanisms import alone
from supple.contact.memory import LIMIT as TO_LIMIT
from supple.contact.overlap import push_apart
from supple.contact.points import norm
from supple.contact.rows import add_changes, add_rows, force_at
from supple.contact.solving import solve_touches
from supple.contact.stepping import (
    DONE,
    MORE_ENTRIES,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    RELAXED,
    SHARE,
    SINGULAR,
    SLOWEST,
    STRIKES,
    STRIKES_MOST,
    UNSOLVED,
    bounce_here,
    may_bounce,
    until_strike,
)
from supple.contact.striking import end_of_tree, find_struck
from supple.exact.aba import accelerate_joints, accelerate_trees
from supple.exact.motion import world_at_rest
from supple.exact.row_scales import CANCELLED
from supple.integrating.implicit import LIMIT, SOLVES
from supple.integrating.joint_law import LAW, law_among, law_line
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, Vec3
from supple.spatial.compiler import helper, kernel

STUCK = 1e-10  #: of what velocities at a touch answer to impulses in all: less than that along the normal is nothing


@helper
def begin_lines(hybrid, m, x):
    """Let the lines of the joints' forces be through their velocities."""
    if hybrid.n_rows == 0:
        return
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            row = first_law(hybrid, j)
            while row > 0:
                touching_of(hybrid).through[row - 1] = x.v[j]
                row = hybrid.controlled[x.nv + row - 1]


@helper
def line_up(hybrid, m, x, h):
    """The forces of active joints as lines in the velocity at the end of a part of length h: in x.drive, and their
    slopes as armatures [implicit.py]."""
    armature, touching = hybrid.body.tree.armature, touching_of(hybrid)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            force, slopes, row = hybrid.controls[j], h * m.dofs[j].damping, first_law(hybrid, j)
            while row > 0:
                law, u = law_among(hybrid.controls, x.nv + LAW * (row - 1)), touching.through[row - 1]
                f, stiffness, damper, piece = law_line(law, x.q[int(law.coordinate)] + h * u, u)
                slope = damper + h * stiffness
                force += f + slope * (u - x.v[j])
                slopes += h * slope
                touching.pieces[row - 1] = piece
                row = hybrid.controlled[x.nv + row - 1]
            x.drive[j] = force
            m.dofs[j].armature = armature[j] + slopes


@helper
def reline(hybrid, m, x, h):
    """Let the lines of forces that the end has in another piece of their law be through the end. Returns whether there
    are any."""
    touching, found = touching_of(hybrid), False
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            row, u = first_law(hybrid, j), touching.end[j]
            while row > 0:
                law, through = law_among(hybrid.controls, x.nv + LAW * (row - 1)), touching.through[row - 1]
                piece = law_line(law, x.q[int(law.coordinate)] + h * u, u)[3]
                engages = abs(touching.pieces[row - 1]) < LIMIT <= abs(piece)
                slope = law.damper + h * law.stiffness
                if engages or (abs(touching.pieces[row - 1]) < LIMIT and slope * abs(u - through) > 0.1 * law.most):
                    touching.through[row - 1], found = u, True
                row = hybrid.controlled[x.nv + row - 1]
    return found


@helper
def release(hybrid, m):
    """The model's own armatures again."""
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            m.dofs[j].armature = hybrid.body.tree.armature[j]


@helper
def bias_forces(hybrid, m, x, v, first, last):
    """p of the bodies of some trees at velocities v, where they are, with what pushes them. If there are springs
    between bodies, these are all trees."""
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


@kernel(types.float64(HybridBody.type, types.float64), "hybrid body without touches", effort=2, nogil=True)
def accelerate_freely(hybrid, h):
    """Accelerations without impulses, as contact/landing.py has them; after without_joints with note. The factors are
    those of H + h D + h^2 K. Returns the smallest pivot."""
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
    """qdd of some trees at velocities u, where forces act, by the factors that there are; damping is of the
    beginning."""
    bias_forces(hybrid, m, x, u, first, last)
    lift_biases(m, x.v, x.drive, x.work, first, last)
    x.work.path[0].A = Motion(Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    accelerate_trees(m, first, last, x.qdd, x.work)


@helper
def add_speeds(m, end, v, h, a, first, last):
    """end = v + h a, of some trees."""
    for b in range(first, last):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            end[j] = v[j] + h * a[j]


@kernel(types.void(HybridBody.type, types.float64), "velocities without touches", effort=2, nogil=True)
def free_velocities(hybrid, h):
    """Velocities at the end of a part without impulses, in `end`, from accelerations and rows of touches."""
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
    """Let what is recorded of pushes, after accelerations at the velocities of the end, be of the mean of both: dampers
    are linear."""
    share = touching.before / (touching.before + touching.after)
    for b in range(first, last):
        if is_pushed(hybrid, b):
            row = hybrid.pushed[b + 1]
            row.now = touching.scene.bodies[b].V * share + row.now * (1.0 - share)


@kernel(types.void(HybridBody.type), "velocities by impacts", effort=2, nogil=True)
def velocities_by_impacts(hybrid):
    """The same as free_velocities of trees that are struck, once impulses are known [contact/landing.py]."""
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
def answer_alone(scene, work, touch):
    """About how far the two bodies of a touch would give way if no joint held them."""
    if touch.kind == TO_LIMIT:
        return 0.0
    a, b = touch.a, touch.b
    gives = alone(work, a, force_at(touch.point - scene.bodies[a].P, touch.n)) if a >= 0 else 0.0
    return gives + (alone(work, b, force_at(touch.point - scene.bodies[b].P, touch.n)) if b >= 0 else 0.0)


@helper
def leave_out_stuck(scene, work):
    """Touches that nothing can close or open do not take part: parts that an active joint lets only slide along each
    other, as a hinge through the normal does, or not even that, as a ball joint at the touch."""
    for k in range(scene.n):
        touch = scene.touches[k]
        total = touch.W.xx + touch.W.yy + touch.W.zz
        moves = touch.W.xx > STUCK * total and total > CANCELLED * answer_alone(scene, work, touch)
        if not (moves or touch.aside):
            touch.active, touch.lam = 0, Vec3(0.0, 0.0, 0.0)


@helper
def make_all_rows(hybrid, scene, work):
    """The rows of all touches. Returns whether there was room."""
    if not rows_of_touches(hybrid, work):
        return False
    leave_out_stuck(scene, work)
    return True


@helper
def are_finite(m, v, dq):
    total = 0.0
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            total += abs(v[j]) + abs(dq[j])
    return total < 1e300


@helper
def change_end(m, work, touching):
    """The change of velocities at the end by impulses."""
    scene = touching.scene
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            touching.dv[j] = 0.0
    add_changes(m, work, scene.z, touching.dv)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            touching.end[j] += touching.dv[j]


@helper
def find_apart(m, work, touching):
    """What moves shapes apart that overlap."""
    scene = touching.scene
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            touching.dq[j] = 0.0
    touching.apart = push_apart(scene, touching.after, touching.overlap)
    if touching.apart:
        add_changes(m, work, scene.total, touching.dq)


@helper
def closes_after_all(touching, work, rounds):
    """Whether a touch that was set aside closes at the velocities of the end [contact/asides.py]: then these are
    without impulses again, and it takes part."""
    scene = touching.scene
    if not any_aside(scene):
        return False
    body_motions(scene, work, touching.end)
    closes = take_in(scene, touching.end, rounds)
    for i in range(scene.n_present if closes else 0):
        touching.end[scene.present[i]] -= touching.dv[scene.present[i]]
    return closes


@kernel(
    types.int64(HybridBody.type, types.float64, types.int64, types.int64),
    "parts of steps that touch",
    effort=4,
    nogil=True,
)
def solve_part(hybrid, h, predicts, last):
    """The velocities at the end of a part of length h, in `end`, and dq. predicts: whether they need not be exact, and
    nothing bounces. last: whether impulses are taken that miss the law by more than the tolerance, if there are no
    better ones [contact/holding.py]. Returns what became of it: RELAXED if they are of that kind."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    scene, gravity, status = touching.scene, norm(hybrid.gravity), DONE
    begin_lines(hybrid, m, x)
    touching.after = h - touching.before
    if hybrid.n_loop_rows == 0:
        set_aside(scene, x.v, touching.after + 0.5 * h, gravity * h)
    for attempt in range(SOLVES):
        status = DONE
        if not accelerate_freely(hybrid, h) > 0.0:
            status = SINGULAR
            break
        if not make_all_rows(hybrid, scene, x.work):
            status = MORE_ENTRIES
            break
        free_velocities(hybrid, h)
        largest = prepare_touches(touching, scene, x.work, x.v, touching.end, h)
        if attempt == 0 and not predicts and touching.bounces < STRIKES_MOST:
            touching.next = until_strike(scene, h, touching.before, touching.slowest)
            if touching.next < h:
                touching.next = max(touching.next, SHARE * h)
                status = STRIKES
                break
        tolerance = touching.tolerance * (largest + gravity * touching.last + SLOWEST)
        worst = solve_touches(scene, touching.most, tolerance, last)
        if worst < 0.0:
            status = MORE_EQUATIONS
            break
        touching.sweeps += scene.done
        together = hybrid.n_loop_rows > 0 or hybrid.n_ends > 0
        if not predicts and worst <= tolerance and find_struck(scene, touching.slowest, together):
            change_end(m, x.work, touching)
            velocities_by_impacts(hybrid)
            tolerance = touching.tolerance * (
                prepare_touches(touching, scene, x.work, x.v, touching.end, h) + gravity * touching.last + SLOWEST
            )
            worst = solve_touches(scene, touching.most, tolerance, last)
            if worst < 0.0:
                status = MORE_EQUATIONS
                break
            touching.sweeps += scene.done
        change_end(m, x.work, touching)
        rounds = 0
        while worst <= (NOT_FOUND if last else tolerance) and closes_after_all(touching, x.work, rounds):
            if not add_rows(scene, x.work, touching.owner):
                status = MORE_ENTRIES
                break
            leave_out_stuck(scene, x.work)
            worst = solve_touches(scene, touching.most, tolerance, last)
            if worst < 0.0:
                status = MORE_EQUATIONS
                break
            touching.sweeps += scene.done
            rounds += 1
            change_end(m, x.work, touching)
        if status != DONE:
            break
        touching.fault = max(touching.fault, worst / tolerance)
        touching.missed = worst
        if not worst <= tolerance:
            status = RELAXED if last and worst < NOT_FOUND else UNSOLVED
        if status == UNSOLVED:
            break
        if predicts:
            break
        find_apart(m, x.work, touching)
        again = join_active_limits(hybrid, touching.after + 0.5 * h)
        if scene.n > scene.capacity:
            status = MORE_TOUCHES
            break
        again = (hybrid.n_rows > 0 and reline(hybrid, m, x, h)) or again
        if not again:
            break
    touching.work = work_of_forces(hybrid, h) if status in (DONE, RELAXED) else 0.0
    release(hybrid, m)
    if status in (DONE, RELAXED) and not are_finite(m, touching.end, touching.dq):
        status = UNSOLVED
    return status


@kernel(types.int64(HybridBody.type), "impacts of the hybrid body", effort=3, nogil=True)
def strike(hybrid):
    """Impacts at this instant. Returns what became of them: DONE, and v is changed if there were any."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    if not may_bounce(touching.scene, touching.bounces):
        return DONE
    begin_lines(hybrid, m, x)
    if not accelerate_freely(hybrid, 0.0) > 0.0:
        return SINGULAR
    if not make_all_rows(hybrid, touching.scene, x.work):
        return MORE_ENTRIES
    free_velocities(hybrid, 0.0)
    if hybrid.n_loop_rows > 0:  # rows of touches are those of velocities that keep loops closed
        copy_v(touching.scene, touching.end, x.v)
    return bounce_here(touching.scene, touching, m, x.work, x.v)
