"""A step of time with touches [Stewart and Trinkle 1996; Moreau 1988; Anitescu and Potra 1997].

A part of length h moves bodies half of the way, lets forces act there, and moves them on:

    q_m = q moved by v for h/2
    (H + h D + h^2 K) (v' - v) = h (tau - C) + J^T lam         springs and dampers of joints as in implicit.py
    0 <= lam_n,   0 <= gap + h u_n',   lam_n (gap + h u_n') = 0,   friction as in cone.py,   u' = J v'
    q' = q_m moved by v' for h/2

H, C, J and gaps are those at q_m, so that what comes closer than its gap just touches where forces act next. Velocities
are those of landing.py. Where shapes would overlap at q_m, forces act earlier [finishing.py]; and so they do, where the
part begins, if it begins with a bounce or ends where a touch with restitution closes.

Where shapes overlap, positions alone are moved apart [overlap.py].

A touch with restitution ends a part: where it closes within a step, the part is made as long as that takes, then it
bounces [impacts.py], and the rest of the step follows. A part that is not solved to the tolerance is halved, and so is
one that adds energy or after which shapes overlap more than they may [judging.py].
"""

from __future__ import annotations

import math

from numba import types

from supple.contact.asides import any_aside, set_aside, take_in
from supple.contact.exerting import add_exerted, begin_exerting, may_exert
from supple.contact.finding import find_touches, forget_pairs, join_limits
from supple.contact.finishing import begin_part, finish_part, move_on, take_back
from supple.contact.impacts import CLOSED, bounce_all
from supple.contact.judging import GAIN, begin_account, book, count_rough, energies, share_of_bounce, work_of_forces
from supple.contact.landing import (
    Landing,
    accelerate_freely,
    body_motions,
    change_end,
    free_velocities,
    move_bodies,
    prepare_touches,
    relative_speed,
    velocities_by_impacts,
)
from supple.contact.mechanisms import project_rows
from supple.contact.memory import CAPSULE, LIMIT, SPHERE
from supple.contact.overlap import push_apart
from supple.contact.points import norm
from supple.contact.rows import add_changes, add_rows, make_rows
from supple.contact.solving import solve_touches
from supple.contact.striking import find_struck
from supple.exact.aba import aba_scratch
from supple.integrating.implicit import SOLVES, engages
from supple.integrating.joint_law import LAW, law_among
from supple.integrating.stages import place_stage
from supple.spatial.algebra import Vec3, cross, dot
from supple.spatial.compiler import helper, kernel, part

#: What became of a step.
DONE, FLIGHT, SINGULAR, MORE_TOUCHES, MORE_ENTRIES, MORE_EQUATIONS, UNSOLVED, STRIKES, RELAXED = range(9)
HALVES = 6  #: times that an unsolved part is halved
SHORTEST = 1e-4  #: of a step: unsolved parts that are shorter are not halved
FINEST = 1.0 / 128.0  #: of a step: parts shorter than this are not halved for what they did
STRIKES_MOST = 40  #: impacts within a step; after that nothing bounces in it
SHARE = 1e-6  #: of a step: the shortest part
SLOWEST = 1e-6  #: m/s, or rad/s: velocities that matter, where nothing weighs anything
CURVED = 5e-4  #: metres that gaps may differ from those of straight lines in a part; unless a step had too many parts
PARTS_MOST = 8


# --- a part ----------------------------------------------------------------------------------------------------------


@helper
def until_strike(scene, h, before, slowest):
    """How long until the first touch with restitution closes, in a part of length h whose forces act after the time
    `before`: gap + u t + (1 - before/h) a t^2 = 0, as the part would have it. The gap is that where it begins; it is
    only known to first order if forces do not act there."""
    soonest = h
    for k in range(scene.n):
        touch = scene.touches[k]
        gap = max(touch.gap - before * touch.before.x, 0.0)
        if touch.restitution > 0.0 and (gap > CLOSED * scene.length or before > 0.0):
            u, a = touch.before.x, (touch.free.x - touch.before.x) / h
            root = u * u - 4.0 * (1.0 - before / h) * a * gap
            if root >= 0.0:
                t = 2.0 * gap / (math.sqrt(root) - u) if math.sqrt(root) > u else 2.0 * h
                if t < soonest and u + a * t < -slowest:
                    soonest = t
    return soonest


@helper
def reline(implicit, h):
    """Let the lines of forces that the end has in another piece of their law be through the end. Returns whether there
    are any."""
    body, found = implicit.body, False
    for k in range(0, body.law_size, LAW):
        law, row = law_among(body.law, k), k // LAW
        u, through = implicit.end[int(law.dof)], implicit.through[row]
        far = (law.damper + h * law.stiffness) * abs(u - through) > 0.1 * law.most
        if (far and abs(implicit.pieces[row]) < 2.0) or engages(implicit, law, row, h, u):
            implicit.through[row], found = u, True
    return found


@helper
def are_finite(m, v, dq):
    total = 0.0
    for j in range(m.nv):
        total += abs(v[j]) + abs(dq[j])
    return total < 1e300


@helper
def rows_at(landing, work):
    """The rows of all touches, of bodies whose loops stay closed. Returns whether there was room."""
    scene, M = landing.scene, landing.mechanisms
    if M.n == 0:
        return make_rows(scene, work, landing.owner)
    return M.found and make_rows(scene, work, landing.owner) and project_rows(M, scene)


@helper
def closes_after_all(landing, work, rounds):
    """Whether a touch that was set aside closes at the velocities of the end [asides.py]: then these are without
    impulses again, and it takes part."""
    scene, end = landing.scene, landing.implicit.end
    if not any_aside(scene):
        return False
    body_motions(scene, work, end)
    closes = take_in(scene, end, rounds)
    for j in range(scene.model.nv if closes else 0):
        end[j] -= landing.dv[j]
    return closes


@part
def solve_part(landing, h, last):
    """The velocities at the end of a part of length h, in `end`, and dq. last: whether convex problems are tried, too.
    Returns what became of it."""
    implicit, scene = landing.implicit, landing.scene
    body, step = implicit.body, implicit.body.step
    m, gravity = step.model, norm(step.model.gravity)
    slowest, landing.after = landing.slowest, h - landing.before
    for k in range(0, body.law_size, LAW):
        implicit.through[k // LAW] = step.v[int(law_among(body.law, k).dof)]
    if landing.mechanisms.n == 0:
        set_aside(scene, step.v, landing.after + 0.5 * h, gravity * h)
    for attempt in range(SOLVES):
        if not accelerate_freely(landing, h) > 0.0:
            return SINGULAR
        work = aba_scratch(body.aba)
        if not rows_at(landing, work):
            return MORE_ENTRIES
        free_velocities(landing, h)
        largest = prepare_touches(landing, scene, work, step.v, implicit.end, h)
        if attempt == 0 and landing.bounces < STRIKES_MOST:
            landing.next = until_strike(scene, h, landing.before, slowest)
            if landing.next < h:
                landing.next = max(landing.next, SHARE * h)
                return STRIKES
        tolerance = landing.tolerance * (largest + gravity * landing.last + SLOWEST)
        worst = solve_touches(scene, landing.most, tolerance, last)
        if worst < 0.0:
            return MORE_EQUATIONS
        landing.sweeps += scene.done
        if worst <= tolerance and find_struck(scene, slowest, landing.mechanisms.n > 0):
            change_end(landing, work)
            velocities_by_impacts(landing)
            tolerance = landing.tolerance * (
                prepare_touches(landing, scene, work, step.v, implicit.end, h) + gravity * landing.last + SLOWEST
            )
            worst = solve_touches(scene, landing.most, tolerance, last)
            if worst < 0.0:
                return MORE_EQUATIONS
            landing.sweeps += scene.done
        change_end(landing, work)
        rounds = 0
        while worst <= tolerance and closes_after_all(landing, work, rounds):
            if not add_rows(scene, work, landing.owner):
                return MORE_ENTRIES
            worst = solve_touches(scene, landing.most, tolerance, last)
            if worst < 0.0:
                return MORE_EQUATIONS
            landing.sweeps += scene.done
            rounds += 1
            change_end(landing, work)
        landing.fault = max(landing.fault, worst / tolerance)
        if not worst <= tolerance:
            return UNSOLVED
        for j in range(m.nv):
            landing.dq[j] = 0.0
        landing.apart = push_apart(scene, landing.after, landing.overlap)
        if landing.apart:
            add_changes(m, work, scene.total, landing.dq)
        again = join_limits(scene, step.q, implicit.end, landing.after + 0.5 * h)
        if scene.n > scene.capacity:
            return MORE_TOUCHES
        again = (body.law_size > 0 and reline(implicit, h)) or again
        if not again:
            break
    landing.work = work_of_forces(landing, h)
    return DONE if are_finite(m, implicit.end, landing.dq) else UNSOLVED


@helper
def may_bounce(scene, bounces):
    """Whether anything that is closed has restitution; what it was struck with is forgotten."""
    possible = False
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.struck = Vec3(0.0, 0.0, 0.0)
        possible = possible or (touch.restitution > 0.0 and touch.gap <= CLOSED * scene.length)
    return possible and bounces < STRIKES_MOST


@helper
def bounce_here(scene, landing, m, work, v):
    """Impacts at this instant, whose rows are there. landing: the settings, and the counts. Returns what became of
    them: DONE, and v is changed if there were any."""
    body_motions(scene, work, v)
    largest = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.free = relative_speed(scene, touch, v)
        largest = max(largest, norm(touch.free))
    tolerance = landing.tolerance * (largest + SLOWEST)
    worst, rounds = bounce_all(scene, landing.slowest, share_of_bounce(landing), landing.most, tolerance)
    if worst < 0.0:
        return MORE_EQUATIONS
    landing.bounces += rounds
    landing.fault = max(landing.fault, worst / tolerance)
    if not worst <= tolerance:
        return UNSOLVED
    if rounds > 0:
        add_changes(m, work, scene.total, v)
    for k in range(scene.n):
        scene.touches[k].active = 1
    return DONE


@helper
def strike(landing):
    """Impacts at this instant. Returns what became of them: DONE, and v is changed if there were any."""
    scene, implicit = landing.scene, landing.implicit
    body, step = implicit.body, implicit.body.step
    if not may_bounce(scene, landing.bounces):
        return DONE
    for k in range(0, body.law_size, LAW):
        implicit.through[k // LAW] = step.v[int(law_among(body.law, k).dof)]
    if not accelerate_freely(landing, 0.0) > 0.0:
        return SINGULAR
    work = aba_scratch(body.aba)
    if not rows_at(landing, work):
        return MORE_ENTRIES
    free_velocities(landing, 0.0)
    if landing.mechanisms.n > 0:  # rows of touches are those of velocities that keep loops closed
        for j in range(step.model.nv):
            step.v[j] = implicit.end[j]
    status = bounce_here(scene, landing, step.model, work, step.v)
    if status == DONE:
        move_bodies(step.model, step.q, step.v, landing.placing)
    return status


# --- a step -----------------------------------------------------------------------------------------------------------


@helper
def recall(scene, h):
    """Impulses to begin with: those of the forces of the step before. Most touches are in the same order as then; few
    that pushed are gone, and only these are looked for among all."""
    following = 0
    for k in range(scene.n):
        scene.touches[k].lam = Vec3(0.0, 0.0, 0.0)
    for i in range(scene.n_known):
        known = scene.known[i]
        for k in range(scene.n if known.lam.x > 0.0 else min(scene.n, 1)):
            at = following + k if following + k < scene.n else following + k - scene.n
            if scene.touches[at].key == known.key:
                scene.touches[at].lam, following = known.lam * h, at + 1
                break


@helper
def remember(scene, h):
    scene.n_known = scene.n
    for k in range(scene.n):
        scene.known[k].key, scene.known[k].lam = scene.touches[k].key, scene.touches[k].lam * (1.0 / h)


@helper
def strays(scene, b, shape, point, n):
    """The acceleration along n of what of a body is at a touch because the body turns: of the middle of what is
    round. n: into the body."""
    if b < 0:
        return 0.0
    body, kind, w = scene.bodies[b], scene.shapes[shape].kind, scene.bodies[b].V.ang
    r = point - body.P
    if kind in (SPHERE, CAPSULE):
        r = r + n * scene.shapes[shape].half.x
    return abs(dot(n, w) * dot(w, r) - dot(n, r) * dot(w, w))


@helper
def careful_length(scene, h):
    """Of a part in which nothing turns too far: touches are found where it begins, and move along straight lines."""
    most = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.kind != LIMIT:
            most = max(most, strays(scene, touch.a, touch.shape, touch.point, touch.n))
            most = max(most, strays(scene, touch.b, touch.other, touch.point, touch.n * -1.0))
    parts = min(math.ceil(h * math.sqrt(0.5 * most / CURVED)), PARTS_MOST)
    return h / max(parts, 1)


@helper
def begins_where_ended(landing, step):
    """Whether a step begins where the one before ended: then bodies are placed, and their energies known."""
    same = landing.placed > 0
    for i in range(step.model.nq if same else 0):
        same = same and step.q[i] == step.q0[i]
    for j in range(step.model.nv if same else 0):
        same = same and step.v[j] == step.v0[j]
    return same


@helper
def place_beginning(landing, h):
    """Bodies where a step of length h begins. Returns their energies, and their mass."""
    step = landing.implicit.body.step
    known = begins_where_ended(landing, step)
    place_stage(step, 0, h)
    if not known:
        move_bodies(step.model, step.q, step.v, landing.placing)
        landing.kinetic, landing.potential, landing.mass = energies(step.model, landing.scene.bodies, step.v)
    landing.placed = 0
    return landing.kinetic, landing.potential, landing.mass


@kernel(types.void(Landing.type), "touches where a step begins")
def look(landing):
    """The touches at q0, at rest."""
    step, landing.placed = landing.implicit.body.step, 0
    place_stage(step, 0, 0.0)
    move_bodies(step.model, step.q, step.v, landing.placing)
    find_touches(landing.scene, 0.0)
    forget_pairs(landing.scene)


@kernel(types.float64(Landing.type, types.float64), "motion beyond reach")
def strayed(landing, h):
    """Whether a step of length h that nothing seemed to touch, and whose end is q0 and v0, may have touched something
    all the same, because forces made bodies fast. Returns by how much a shape moved farther than touches were searched
    for, in metres; 0 if a joint alone is beyond its limit, and -1 if neither is."""
    scene, step, landing.placed = landing.scene, landing.implicit.body.step, 0
    place_stage(step, 0, 0.0)
    move_bodies(step.model, step.q, step.v, landing.placing)
    most = -1.0
    for k in range(scene.n_limits):
        x = step.q[scene.coordinates[k]]
        if x < scene.lower[k] or x > scene.upper[k]:
            most = 0.0
    for i in range(scene.n_shapes - scene.n_flat):
        shape = scene.shapes[i]
        if shape.body >= 0:
            body = scene.bodies[shape.body]
            r = body.R @ shape.p
            moved = max(norm(body.P + r - shape.at), h * norm(body.V.lin + cross(body.V.ang, r)))  # or with touches
            moved += h * norm(body.V.ang) * norm(shape.box)
            if moved > shape.reach + scene.length:
                most = max(most, moved - shape.reach)
    return most


@kernel(types.int64(Landing.type, types.float64), "steps of bodies that touch", effort=4)
def contact_step(landing, h):
    """A step of length h from q0 and v0; its end is in q and v. Returns what became of it."""
    implicit, scene = landing.implicit, landing.scene
    step = implicit.body.step
    m, left = step.model, h
    kinetic, potential, mass = place_beginning(landing, h)
    landing.parts = landing.bounces = landing.sweeps = landing.rough = 0
    landing.lifted = landing.fault = landing.gained = landing.deepest = 0.0
    landing.slowest = 2.0 * norm(m.gravity) * h + 1e-9
    landing.last, longest = h, h
    begin_exerting(scene)
    begin_account(landing, kinetic, mass, m.gravity, h)
    landing.spare = GAIN * landing.scale
    while left > SHARE * h:
        find_touches(scene, left)
        if scene.n > scene.capacity or scene.pairs.n > scene.pairs.room or not may_exert(scene):
            return MORE_TOUCHES
        if scene.n == 0 and landing.parts == 0 and not landing.certain:
            return FLIGHT
        bounces = landing.bounces
        status = strike(landing)
        if status != DONE:
            return status
        if landing.bounces > bounces:
            bounced, potential, _ = energies(m, scene.bodies, step.v)
            book(landing, bounced - kinetic)
            kinetic = bounced
        length, halves, longest, good = min(careful_length(scene, left), longest), 0, h, True
        begin_part(landing)
        landing.before, halfway = 0.0, True
        while True:
            if landing.bounces == bounces:
                move_on(landing, length, halfway)
                if scene.n > scene.capacity:
                    return MORE_TOUCHES
            recall(scene, length)
            last = halves == HALVES or length <= SHORTEST * h
            status = solve_part(landing, length, last)
            if status == STRIKES:
                length = length if landing.before > 0.0 else landing.next
                halfway = False
                take_back(landing)
            elif status == UNSOLVED and not last:
                longest = length
                length, halves = 0.5 * length, halves + 1
                take_back(landing)
            elif status != DONE:
                return status
            else:
                lifted, spare = landing.lifted, landing.spare
                good, now, lower = finish_part(landing, kinetic, potential, h, length)
                if good or length <= FINEST * h:
                    kinetic, potential = now, lower
                    break
                take_back(landing)
                longest = length
                length, landing.lifted, landing.spare = 0.5 * length, lifted, spare
        if not good:
            count_rough(landing)
        remember(scene, length)
        add_exerted(scene)
        landing.parts += 1
        left -= length
    landing.kinetic, landing.potential, landing.placed = kinetic, potential, 1
    return DONE
