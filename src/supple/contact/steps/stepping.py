"""A time step with contact [Stewart and Trinkle 1996; Moreau 1988; Anitescu and Potra 1997].

A step is divided into parts. A part of length h moves bodies half of the way, applies forces there, and moves them on:

    q_m = q moved by v for h/2
    (H + h D + h^2 K) (v' - v) = h (tau - C) + J^T lam         springs and dampers of joints as in implicit.py
    0 <= lam_n,   0 <= gap + h u_n',   lam_n (gap + h u_n') = 0,   friction as in cone.py,   u' = J v'
    q' = q_m moved by v' for h/2

H, C, J and gaps are those at q_m, so shapes that approach by more than their gap just touch where forces act next.
part_solution.py finds the velocities. Where shapes would overlap at q_m, forces act earlier [finishing.py]; they act at
the beginning of a part that begins with a bounce, or that ends where a touch with restitution closes.

Overlap is removed from positions only [overlap.py].

A touch with restitution that closes within a step ends a part. It then bounces [bouncing.py], and the rest of the step
follows. A part that is not solved to the tolerance is halved, and so is one that adds too much energy or after which
shapes overlap too far [judging.py].
"""

from __future__ import annotations

from numba import types

from supple.contact.geometry.finding import find_touches, forget_pairs
from supple.contact.geometry.points import norm
from supple.contact.outcomes import DONE, FLIGHT, MORE_TOUCHES, STRIKES, UNSOLVED
from supple.contact.steps.exerting import add_exerted, begin_exerting, may_exert
from supple.contact.steps.finishing import begin_part, finish_part, move_on, take_back
from supple.contact.steps.judging import GAIN, begin_account, book, count_rough, energies, is_shortest
from supple.contact.steps.landing import Landing, move_bodies
from supple.contact.steps.part_length import SHARE, careful_length
from supple.contact.steps.part_solution import solve_part, strike
from supple.contact.steps.warm_start import copy_known, recall, remember
from supple.integrating.stages import place_stage
from supple.spatial.algebra import cross
from supple.spatial.compiler import helper, kernel

HALVES = 6  #: how often an unsolved part is halved
SHORTEST = 1e-4  #: of a step: shorter unsolved parts are not halved


@helper
def begins_where_ended(landing, step):
    """Whether a step begins where the previous one ended: bodies are then placed already, and their energies known."""
    same = landing.placed > 0
    for i in range(step.model.nq if same else 0):
        same = same and step.q[i] == step.q0[i]
    for j in range(step.model.nv if same else 0):
        same = same and step.v[j] == step.v0[j]
    return same


@helper
def place_beginning(landing, h):
    """Places bodies where a step of length h begins. Returns kinetic and potential energy, and the total mass."""
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
    """Finds the touches at q0, at rest."""
    step, landing.placed = landing.implicit.body.step, 0
    place_stage(step, 0, 0.0)
    move_bodies(step.model, step.q, step.v, landing.placing)
    find_touches(landing.scene, 0.0)
    forget_pairs(landing.scene)


@helper
def keep_beginning(landing):
    """Keeps what a step begins with, besides q0 and v0."""
    scene = landing.scene
    landing.n_known0, landing.largest0, landing.risen0 = scene.n_known, landing.largest, landing.risen
    copy_known(scene.known, scene.n_known, landing.known0)


@helper
def restore_beginning(landing):
    scene = landing.scene
    scene.n_known, landing.largest, landing.risen = landing.n_known0, landing.largest0, landing.risen0
    copy_known(landing.known0, landing.n_known0, scene.known)


@kernel(types.float64(Landing.type, types.float64), "motion beyond reach")
def strayed(landing, h):
    """Whether something may have touched in a step of length h to q0 and v0 that was taken without contacts, because
    forces made bodies faster than the search for touches assumed. Returns by how many metres a shape moved beyond the
    range of that search; 0 if only a joint is beyond its limit, and -1 if neither."""
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
            # as far as it went, or as a step with contact would go with its final velocity
            moved = max(norm(body.P + r - shape.at), h * norm(body.V.lin + cross(body.V.ang, r)))
            moved += h * norm(body.V.ang) * norm(shape.box)
            if moved > shape.reach + scene.length:
                most = max(most, moved - shape.reach)
    return most


@helper
def begin_step(landing, kinetic, mass, h):
    """Resets the statistics of a step of length h, and begins its account of energy. kinetic: where it begins."""
    gravity = landing.implicit.body.step.model.gravity
    landing.parts = landing.bounces = landing.sweeps = landing.rough = 0
    landing.lifted = landing.fault = landing.gained = landing.deepest = 0.0
    landing.slowest = 2.0 * norm(gravity) * h + 1e-9
    landing.last = h
    begin_exerting(landing.scene)
    begin_account(landing, kinetic, mass, gravity, h)
    landing.spare = GAIN * landing.scale


@helper
def take_part(landing, h, length, bounced, kinetic, potential):
    """Takes a part of a step of length h, from a given length down, halved until it is solved and accepted. bounced:
    whether it begins with impacts. kinetic, potential: energies where it begins.
    Returns the outcome, the length of the part, the last length that was rejected (h if none was), and the energies
    where it ends."""
    scene, halves, rejected, halfway = landing.scene, 0, h, True
    begin_part(landing)
    landing.before = 0.0
    while True:
        if not bounced:
            move_on(landing, length, halfway)
            if scene.n > scene.capacity:
                return MORE_TOUCHES, length, rejected, kinetic, potential
        recall(scene, length)
        last, fault = halves == HALVES or length <= SHORTEST * h, landing.fault
        status = solve_part(landing, length, last)
        if status == STRIKES:
            length = length if landing.before > 0.0 else landing.next
            halfway = False
        elif status == UNSOLVED and not last:
            rejected, length, halves = length, 0.5 * length, halves + 1
            landing.fault = fault  # nothing remains of this attempt
        elif status != DONE:
            return status, length, rejected, kinetic, potential
        else:
            lifted, spare = landing.lifted, landing.spare
            good, new_kinetic, new_potential = finish_part(landing, kinetic, potential, h, length)
            if good or is_shortest(landing, length, h):
                if not good:
                    count_rough(landing)
                return DONE, length, rejected, new_kinetic, new_potential
            rejected, length = length, 0.5 * length
            landing.lifted, landing.spare = lifted, spare
        take_back(landing)


@helper
def take_parts(landing, h):
    """A step of length h, part by part. Returns its outcome."""
    scene, step = landing.scene, landing.implicit.body.step
    left, longest = h, h
    kinetic, potential, mass = place_beginning(landing, h)
    begin_step(landing, kinetic, mass, h)
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
            after, potential, _ = energies(step.model, scene.bodies, step.v)
            book(landing, after - kinetic)
            kinetic = after
        length = min(careful_length(scene, left), longest)
        status, length, longest, kinetic, potential = take_part(
            landing, h, length, landing.bounces > bounces, kinetic, potential
        )
        if status != DONE:
            return status
        remember(scene, length)
        add_exerted(scene)
        landing.parts += 1
        left -= length
    landing.kinetic, landing.potential, landing.placed = kinetic, potential, 1
    return DONE


@kernel(types.int64(Landing.type, types.float64), "steps of bodies that touch", effort=4)
def contact_step(landing, h):
    """A step of length h from q0 and v0; its end is in q and v. Returns its outcome. A step that is not taken leaves
    nothing behind; so results do not depend on how much memory there was."""
    keep_beginning(landing)
    status = take_parts(landing, h)
    if status not in (DONE, FLIGHT):
        restore_beginning(landing)
    return status
