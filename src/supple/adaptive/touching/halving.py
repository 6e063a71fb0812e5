"""The parts of a step of a hybrid body with contact, as contact/steps/stepping.py has them for whole bodies. A part
ends where rotation would change gaps too much, or where something bounces. It is halved if no forces are found, or if
it is rejected because of overlap or energy [judging.py].

A part that needs more memory changes nothing: it is taken again when there is more. So results do not depend on how
much memory there was.
"""

from __future__ import annotations

from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.memory import CURRENT
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.body_poses import place_here
from supple.adaptive.touching.finishing import GOOD, LACKS_ROOM, begin_part, copy_v, finish_part, move_on, take_back
from supple.adaptive.touching.judging import energies
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.search import search_placed, take_foreseen
from supple.adaptive.touching.sleeping import wake_touched
from supple.adaptive.touching.solution import solve_part, strike
from supple.contact.outcomes import DONE, MORE_ENTRIES, MORE_EQUATIONS, MORE_TOUCHES, RELAXED, STRIKES, UNSOLVED
from supple.contact.steps.exerting import add_exerted, may_exert
from supple.contact.steps.judging import GAIN, begin_account, book, count_rough, is_shortest
from supple.contact.steps.part_length import SHARE, careful_length
from supple.contact.steps.warm_start import recall, remember
from supple.spatial.compiler import helper

LAST = 1.0 / 64.0  #: of a step: parts of this length or less are not halved if no forces are found


@helper
def lacks_room(status):
    """Whether this outcome is a lack of memory."""
    return status in (MORE_TOUCHES, MORE_ENTRIES, MORE_EQUATIONS)


@helper
def find_here(hybrid, mask, h):
    """Finds the touches at the present position that may close within a time h. mask: a flag of the region. Those found
    when the last part was judged are used, if they are of the same position and time."""
    touching = touching_of(hybrid)
    placed = touching.placed == touching.formed
    if not placed:
        place_here(hybrid)
    if placed and touching.foreseen == touching.formed and touching.horizon == h:
        take_foreseen(hybrid, h)
    else:
        search_placed(hybrid, mask, h)
    touching.placed = touching.foreseen = 0


@helper
def solve_and_judge(hybrid, h, bounced):
    """A part of a step of length h, after impacts, halved until it is solved and accepted. bounced: whether there were
    impacts; then forces act at its beginning. Returns the outcome."""
    touching = touching_of(hybrid)
    scene, length = touching.scene, min(careful_length(touching.scene, touching.left), touching.longest)
    kinetic, potential, _ = energies(hybrid)
    begin_part(hybrid)
    touching.longest, touching.before, halfway = h, 0.0, True
    while True:
        if not bounced:
            move_on(hybrid, length, halfway)
            if scene.n > scene.capacity:
                take_back(hybrid)
                return MORE_TOUCHES
        recall(scene, length)
        status = solve_part(hybrid, length, False, length <= LAST * h)
        if status == STRIKES:
            length = length if touching.before > 0.0 else touching.next
            halfway = False
            take_back(hybrid)
        elif status == UNSOLVED and length > LAST * h:
            touching.longest, length = length, 0.5 * length
            take_back(hybrid)
        elif status not in (DONE, RELAXED):
            take_back(hybrid)
            return status
        else:
            lifted, budget = touching.lifted, touching.budget
            found = finish_part(hybrid, kinetic, potential, h, length)
            if found == LACKS_ROOM:
                take_back(hybrid)
                return MORE_TOUCHES
            if found == GOOD or is_shortest(touching, length, h):
                break
            take_back(hybrid)
            touching.longest, length = length, 0.5 * length
            touching.lifted, touching.budget = lifted, budget
    if found != GOOD:
        count_rough(touching)
    if status == RELAXED:
        touching.relaxed += 1
        touching.relaxed_fault = max(touching.relaxed_fault, touching.missed)
    touching.taken = length
    return DONE


@helper
def take_part(hybrid, h):
    """The next part of a step of length h, whose touches have been found, with impacts at its beginning. If there is
    not enough memory, nothing is changed. Returns the outcome."""
    _, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    scene = touching.scene
    bounces, longest, lifted, budget = touching.bounces, touching.longest, touching.lifted, touching.budget
    risen, kinetic = touching.risen, hybrid.kinetic
    copy_v(scene, x.v, touching.first_v)
    status = strike(hybrid)
    if status == DONE:
        if touching.bounces > bounces:
            place_here(hybrid)
            book(touching, hybrid.kinetic - kinetic)
        status = solve_and_judge(hybrid, h, touching.bounces > bounces)
    if lacks_room(status):
        copy_v(scene, touching.first_v, x.v)
        touching.risen = risen
        touching.bounces, touching.longest, touching.lifted, touching.budget = bounces, longest, lifted, budget
    return status


@helper
def wake_before(hybrid, h):
    """Wakes characters that are touched by links that have just become active. Returns whether there was enough memory
    for touches."""
    touching = touching_of(hybrid)
    scene = touching.scene
    while scene.n <= scene.capacity and wake_touched(hybrid) > 0:
        form_hybrid_body(hybrid, CURRENT)
        touching.formed += 1
        find_here(hybrid, CURRENT, h)
    return scene.n <= scene.capacity


@helper
def take_parts(hybrid, h):
    """The rest of a step of length h, whose touches have been found, part by part. Returns the outcome."""
    touching = touching_of(hybrid)
    scene = touching.scene
    if touching.parts == 0:
        if not wake_before(hybrid, h):
            return MORE_TOUCHES
        kinetic, _, mass = energies(hybrid)
        begin_account(touching, kinetic, mass, hybrid.gravity, h)
        touching.budget, touching.lifted = GAIN * touching.scale, 0.0
    while touching.left > SHARE * h:
        if scene.n > scene.capacity or not may_exert(scene):
            return MORE_TOUCHES
        status = take_part(hybrid, h)
        if status != DONE:
            return status
        remember(scene, touching.taken)
        add_exerted(scene)
        touching.parts += 1
        touching.left -= touching.taken
        touching.placed = touching.formed
        if touching.left > SHARE * h:
            find_here(hybrid, CURRENT, touching.left)
    touching.left = 0.0
    return DONE
