"""The velocities at the end of a part of a step of a hybrid body, and impacts at its beginning: the equations of
contact/steps/stepping.py over the active joints.

    (H + h D + h^2 K) (v' - v) = h (tau - C) + J^T lam

H is that of the reduced tree, whose factors give the rows of touches [contact/response/rows.py]. A row of J has entries
for the active joints above a touch; rigid links in between cost nothing.

Joint forces are linear in the velocity [joint_forces.py]. If the velocities that were found are on another
piece of a force law, or would take a joint beyond its limit, the part is solved again.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.finishing import copy_v
from supple.adaptive.touching.joint_forces import line_through_beginning, reline, restore_armatures
from supple.adaptive.touching.judging import work_of_forces
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.search import join_active_limits
from supple.adaptive.touching.velocities import (
    accelerate_freely,
    change_end,
    free_velocities,
    set_zero,
    velocities_by_impacts,
)
from supple.contact.geometry.points import norm
from supple.contact.memory import LIMIT as TO_LIMIT
from supple.contact.outcomes import (
    DONE,
    FASTEST,
    MORE_ENTRIES,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    RELAXED,
    SINGULAR,
    STRIKES,
    UNSOLVED,
)
from supple.contact.response.loop_basis import alone
from supple.contact.response.loop_projection import make_closed_rows
from supple.contact.response.rows import add_changes, add_rows, force_at
from supple.contact.solvers.holding import NOT_FOUND
from supple.contact.solvers.solving import solve_touches
from supple.contact.steps.asides import any_aside, set_aside, take_in
from supple.contact.steps.bouncing import STRIKES_MOST, bounce_here, may_bounce, until_strike
from supple.contact.steps.landing import SLOWEST, body_motions, prepare_touches
from supple.contact.steps.overlap import push_apart
from supple.contact.steps.part_length import SHARE
from supple.contact.steps.striking import begin_anew, find_struck, strike_again
from supple.exact.row_scales import CANCELLED
from supple.integrating.implicit import SOLVES
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel

STUCK = 1e-10  #: of the total response at a touch: a smaller response along the normal counts as none


# --- rows -------------------------------------------------------------------------------------------------------------


@helper
def response_without_joints(scene, work, touch):
    """About how far the two bodies of a touch would yield along its normal if no joint held them."""
    if touch.kind == TO_LIMIT:
        return 0.0
    a, b = touch.a, touch.b
    yields = alone(work, a, force_at(touch.point - scene.bodies[a].P, touch.n)) if a >= 0 else 0.0
    return yields + (alone(work, b, force_at(touch.point - scene.bodies[b].P, touch.n)) if b >= 0 else 0.0)


@helper
def leave_out_stuck(scene, work):
    """Touches that no active joint can open or close take no part: those of rigid parts that can only slide along each
    other, as with a hinge along the normal, or not even that, as with a ball joint at the contact point."""
    for k in range(scene.n):
        touch = scene.touches[k]
        total = touch.W.xx + touch.W.yy + touch.W.zz
        moves = touch.W.xx > STUCK * total and total > CANCELLED * response_without_joints(scene, work, touch)
        if not (moves or touch.aside):
            touch.active, touch.lam = 0, Vec3(0.0, 0.0, 0.0)


@helper
def rows_at(hybrid, scene, work):
    """The rows of all touches. Returns whether there was enough memory."""
    touching = touching_of(hybrid)
    if not make_closed_rows(touching.mechanisms, scene, work, touching.owner, hybrid.n_loop_rows > 0):
        return False
    leave_out_stuck(scene, work)
    return True


# --- impulses ---------------------------------------------------------------------------------------------------------


@helper
def closes_after_all(touching, work, rounds):
    """Whether a touch that was set aside closes at the velocities of the end [contact/steps/asides.py]. If so, it takes
    part, and the velocities of the end are without impulses again."""
    scene = touching.scene
    if not any_aside(scene):
        return False
    body_motions(scene, work, touching.end)
    closes = take_in(scene, touching.end, rounds)
    for i in range(scene.n_present if closes else 0):
        touching.end[scene.present[i]] -= touching.dv[scene.present[i]]
    return closes


@helper
def find_impulses(hybrid, m, x, h, predicts, last):
    """The impulses of a part of length h, and the velocities at its end. Impulses are found again if a touch that was
    set aside closes, or if trees are struck, unless the part is a prediction. Returns the outcome."""
    touching = touching_of(hybrid)
    scene, slow = touching.scene, norm(hybrid.gravity) * touching.last + SLOWEST
    together = hybrid.n_loop_rows > 0 or hybrid.n_ends > 0  # loops or springs may connect trees
    worst, rounds, struck, misled = 0.0, 0, predicts > 0, False
    while True:
        worst = solve_touches(scene, touching.most, touching.tolerance, slow, last)
        if worst < 0.0:
            return MORE_EQUATIONS
        touching.sweeps += scene.done
        change_end(m, x.work, touching)
        if not (scene.left < NOT_FOUND if last else worst <= 1.0):
            break
        if not misled and closes_after_all(touching, x.work, rounds):  # first: these touches may strike trees, too
            rounds += 1
            if not add_rows(scene, x.work, touching.owner):
                return MORE_ENTRIES
            leave_out_stuck(scene, x.work)
        elif worst <= 1.0 and (misled or (not struck and find_struck(scene, touching.slowest, together))):
            if misled:
                misled = False
                strike_again(scene, together)
            else:
                struck, misled = True, begin_anew(scene, x.v, touching.end, touching.slowest, together)
            velocities_by_impacts(hybrid)
            prepare_touches(touching, scene, x.work, x.v, touching.end, h)
        else:
            break
    touching.fault = max(touching.fault, worst)
    touching.missed = scene.left
    if worst <= 1.0:
        return DONE
    return RELAXED if last and scene.left < NOT_FOUND else UNSOLVED


# --- a part -----------------------------------------------------------------------------------------------------------


@helper
def remove_overlap(m, work, touching):
    """dq: the motion that removes overlap; touching.apart: whether there is any."""
    scene = touching.scene
    set_zero(m, touching.dq)
    touching.apart = push_apart(scene, touching.after, touching.overlap)
    if touching.apart:
        add_changes(m, work, scene.total, touching.dq)


@helper
def are_finite(m, v, dq):
    """Whether velocities and motion are numbers, also their squares."""
    total = 0.0
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            total += abs(v[j]) + abs(dq[j])
    return total < FASTEST


@helper
def is_solved(status):
    return status in (DONE, RELAXED)


@helper
def solve_once(hybrid, m, x, h, first, predicts, last):
    """Solves a part of length h with the present lines of joint forces. first: whether nothing was solved before; then
    the part may turn out to end with an impact. Returns the outcome, and whether the part has to be solved again."""
    touching = touching_of(hybrid)
    scene = touching.scene
    if not accelerate_freely(hybrid, h) > 0.0:
        return SINGULAR, False
    if not rows_at(hybrid, scene, x.work):
        return MORE_ENTRIES, False
    free_velocities(hybrid, h)
    prepare_touches(touching, scene, x.work, x.v, touching.end, h)
    if first and not predicts and touching.bounces < STRIKES_MOST:
        touching.next = until_strike(scene, h, touching.before, touching.slowest)
        if touching.next < h:
            touching.next = max(touching.next, SHARE * h)
            return STRIKES, False
    status = find_impulses(hybrid, m, x, h, predicts, last)
    if predicts or not is_solved(status):
        return status, False
    remove_overlap(m, x.work, touching)
    again = join_active_limits(hybrid, touching.after + 0.5 * h)
    if scene.n > scene.capacity:
        return MORE_TOUCHES, False
    again = (hybrid.n_rows > 0 and reline(hybrid, m, x, h)) or again
    return status, again


@kernel(
    types.int64(HybridBody.type, types.float64, types.int64, types.int64),
    "parts of steps that touch",
    effort=4,
    nogil=True,
)
def solve_part(hybrid, h, predicts, last):
    """The velocities at the end of a part of length h, in `end`, and dq. predicts: whether the part is a prediction,
    which need not be exact, and in which nothing bounces. last: whether convex problems are tried, too, and impulses
    are accepted that miss the law by more than the tolerance, if there are no better ones [contact/solvers/holding.py].
    Returns the outcome: RELAXED if such impulses were accepted."""
    m, x = open_reduced(hybrid)
    touching, status = touching_of(hybrid), DONE
    line_through_beginning(hybrid, m, x)
    touching.after = h - touching.before
    if hybrid.n_loop_rows == 0:
        set_aside(touching.scene, x.v, touching.after + 0.5 * h, norm(hybrid.gravity) * h)
    for attempt in range(SOLVES):
        status, again = solve_once(hybrid, m, x, h, attempt == 0, predicts, last)
        if not again:
            break
    touching.work = work_of_forces(hybrid, h) if is_solved(status) else 0.0
    restore_armatures(hybrid, m)
    if is_solved(status) and not are_finite(m, touching.end, touching.dq):
        status = UNSOLVED
    return status


@kernel(types.int64(HybridBody.type), "impacts of the hybrid body", effort=3, nogil=True)
def strike(hybrid):
    """Impacts where a part begins: v is changed if there are any. Returns the outcome."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    if not may_bounce(touching.scene, touching.bounces):
        return DONE
    line_through_beginning(hybrid, m, x)
    if not accelerate_freely(hybrid, 0.0) > 0.0:
        return SINGULAR
    if not rows_at(hybrid, touching.scene, x.work):
        return MORE_ENTRIES
    free_velocities(hybrid, 0.0)
    if hybrid.n_loop_rows > 0:  # rows are projected: they are valid for velocities that keep loops closed
        copy_v(touching.scene, touching.end, x.v)
    return bounce_here(touching.scene, touching, m, x.work, x.v)
