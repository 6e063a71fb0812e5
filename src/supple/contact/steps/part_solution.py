"""The velocities at the end of a part of a step, and impacts at its beginning: the equations of stepping.py.

Joint forces are linear in the velocity [implicit.py]. If the velocities that were found are on another piece of a force
law, or would take a joint beyond its limit, the part is solved again.
"""

from __future__ import annotations

from supple.contact.geometry.finding import join_limits
from supple.contact.geometry.points import norm
from supple.contact.outcomes import (
    DONE,
    FASTEST,
    MORE_ENTRIES,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    SINGULAR,
    STRIKES,
    UNSOLVED,
)
from supple.contact.response.loop_projection import make_closed_rows
from supple.contact.response.rows import add_changes, add_rows
from supple.contact.solvers.solving import solve_touches
from supple.contact.steps.asides import any_aside, set_aside, take_in
from supple.contact.steps.bouncing import STRIKES_MOST, bounce_here, may_bounce, until_strike
from supple.contact.steps.judging import work_of_forces
from supple.contact.steps.landing import (
    SLOWEST,
    accelerate_freely,
    body_motions,
    change_end,
    free_velocities,
    move_bodies,
    prepare_touches,
    velocities_by_impacts,
)
from supple.contact.steps.overlap import push_apart
from supple.contact.steps.part_length import SHARE
from supple.contact.steps.pushing import aim_pushes
from supple.contact.steps.striking import begin_anew, find_struck, strike_again
from supple.exact.aba import aba_scratch
from supple.integrating.implicit import SOLVES, engages
from supple.integrating.joint_law import LAW, law_among
from supple.spatial.compiler import helper, part

# --- rows and forces --------------------------------------------------------------------------------------------------


@helper
def reline(implicit, h):
    """Linearizes joint forces about the velocities at the end, where these are on another piece of their law than
    assumed. Returns whether there are any."""
    body, found = implicit.body, False
    for k in range(0, body.law_size, LAW):
        law, row = law_among(body.law, k), k // LAW
        u, through = implicit.end[int(law.dof)], implicit.through[row]
        far = (law.damper + h * law.stiffness) * abs(u - through) > 0.1 * law.most
        if (far and abs(implicit.pieces[row]) < 2.0) or engages(implicit, law, row, h, u):
            implicit.through[row], found = u, True
    return found


@helper
def line_through_beginning(implicit):
    """Linearizes joint forces about the velocities at the beginning."""
    body = implicit.body
    for k in range(0, body.law_size, LAW):
        implicit.through[k // LAW] = body.step.v[int(law_among(body.law, k).dof)]


@helper
def rows_at(landing, work):
    """The rows of all touches. Returns whether there was enough memory."""
    M = landing.mechanisms
    return make_closed_rows(M, landing.scene, work, landing.owner, M.n > 0)


# --- impulses ---------------------------------------------------------------------------------------------------------


@helper
def solve_all(landing, last):
    """Solves for the impulses of all touches. Returns the largest residual, relative to the tolerance, or a negative
    number if the equations need more memory."""
    slow = norm(landing.implicit.body.step.model.gravity) * landing.last + SLOWEST
    worst = solve_touches(landing.scene, landing.most, landing.tolerance, slow, last)
    if not worst < 0.0:
        landing.sweeps += landing.scene.done
    return worst


@helper
def closes_after_all(landing, work, rounds):
    """Whether a touch that was set aside closes at the velocities of the end [asides.py]. If so, it takes part, and
    the velocities of the end are without impulses again."""
    scene, end = landing.scene, landing.implicit.end
    if not any_aside(scene):
        return False
    body_motions(scene, work, end)
    closes = take_in(scene, end, rounds)
    for j in range(scene.model.nv if closes else 0):
        end[j] -= landing.dv[j]
    return closes


@helper
def find_impulses(landing, work, h, last):
    """The impulses of a part of length h, and the velocities at its end. Impulses are found again if touches that were
    set aside close, and then, with other velocity products, if trees are struck, by these touches or by others. Returns
    the outcome."""
    scene, implicit, v = landing.scene, landing.implicit, landing.implicit.body.step.v
    together = landing.mechanisms.n > 0
    rounds, struck, misled = 0, False, False
    while True:
        worst = solve_all(landing, last)
        if worst < 0.0:
            return MORE_EQUATIONS
        change_end(landing, work)
        if not worst <= 1.0:
            break
        if not misled and closes_after_all(landing, work, rounds):
            rounds += 1
            if not add_rows(scene, work, landing.owner):
                return MORE_ENTRIES
        elif misled or (not struck and find_struck(scene, landing.slowest, together)):
            if misled:
                misled = False
                strike_again(scene, together)
            else:
                struck, misled = True, begin_anew(scene, v, implicit.end, landing.slowest, together)
            velocities_by_impacts(landing)
            prepare_touches(landing, scene, work, v, implicit.end, h)
        else:
            break
    landing.fault = max(landing.fault, worst)
    return DONE if worst <= 1.0 else UNSOLVED


# --- a part -----------------------------------------------------------------------------------------------------------


@helper
def remove_overlap(landing, work):
    """dq: the motion that removes overlap; landing.apart: whether there is any."""
    scene, m = landing.scene, landing.implicit.body.step.model
    for j in range(m.nv):
        landing.dq[j] = 0.0
    landing.apart = push_apart(scene, landing.after, landing.overlap)
    if landing.apart:
        add_changes(m, work, scene.total, landing.dq)


@helper
def are_finite(m, v, dq):
    """Whether velocities and motion are numbers, also their squares."""
    total = 0.0
    for j in range(m.nv):
        total += abs(v[j]) + abs(dq[j])
    return total < FASTEST


@part
def solve_part(landing, h, last):
    """The velocities at the end of a part of length h, in `end`, and dq. last: whether convex problems are tried, too.
    Returns the outcome."""
    implicit, scene = landing.implicit, landing.scene
    body, step = implicit.body, implicit.body.step
    landing.after = h - landing.before
    line_through_beginning(implicit)
    aim_pushes(landing)
    if landing.mechanisms.n == 0:
        set_aside(scene, step.v, landing.after + 0.5 * h, norm(step.model.gravity) * h)
    for attempt in range(SOLVES):
        if not accelerate_freely(landing, h) > 0.0:
            return SINGULAR
        work = aba_scratch(body.aba)
        if not rows_at(landing, work):
            return MORE_ENTRIES
        free_velocities(landing, h)
        prepare_touches(landing, scene, work, step.v, implicit.end, h)
        if attempt == 0 and landing.bounces < STRIKES_MOST:
            landing.next = until_strike(scene, h, landing.before, landing.slowest)
            if landing.next < h:
                landing.next = max(landing.next, SHARE * h)
                return STRIKES
        status = find_impulses(landing, work, h, last)
        if status != DONE:
            return status
        remove_overlap(landing, work)
        again = join_limits(scene, step.q, implicit.end, landing.after + 0.5 * h)
        if scene.n > scene.capacity:
            return MORE_TOUCHES
        again = (body.law_size > 0 and reline(implicit, h)) or again
        if not again:
            break
    landing.work = work_of_forces(landing, h)
    return DONE if are_finite(step.model, implicit.end, landing.dq) else UNSOLVED


@helper
def strike(landing):
    """Impacts where a part begins: v is changed if there are any. Returns the outcome."""
    scene, implicit = landing.scene, landing.implicit
    body, step = implicit.body, implicit.body.step
    if not may_bounce(scene, landing.bounces):
        return DONE
    line_through_beginning(implicit)
    if not accelerate_freely(landing, 0.0) > 0.0:
        return SINGULAR
    work = aba_scratch(body.aba)
    if not rows_at(landing, work):
        return MORE_ENTRIES
    free_velocities(landing, 0.0)
    if landing.mechanisms.n > 0:  # rows are projected: they are valid for velocities that keep loops closed
        for j in range(step.model.nv):
            step.v[j] = implicit.end[j]
    status = bounce_here(scene, landing, step.model, work, step.v)
    if status == DONE:
        move_bodies(step.model, step.q, step.v, landing.placing)
    return status
