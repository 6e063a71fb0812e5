"""The parts of a step of a hybrid body that touches, as contact/stepping.py has them for whole ones: as long as nothing
turns too far, nothing bounces, forces are found, and what the part did may stand [touching_judging.py].

A part that needs more room has not happened: it begins again once there is some. So nothing depends on room.
"""

from __future__ import annotations

from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.memory import CURRENT
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.sleeping import wake_touched
from supple.adaptive.touching_finishing import (
    GOOD,
    LACKS_ROOM,
    begin_part,
    copy_v,
    finish_part,
    move_on,
    take_back,
)
from supple.adaptive.touching_judging import energies
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_parts import solve_part, strike
from supple.adaptive.touching_placing import place_here
from supple.adaptive.touching_search import search_placed, take_foreseen
from supple.contact.exerting import add_exerted, may_exert
from supple.contact.judging import GAIN, begin_account, book, count_rough
from supple.contact.stepping import (
    DONE,
    FINEST,
    MORE_ENTRIES,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    RELAXED,
    SHARE,
    STRIKES,
    UNSOLVED,
    careful_length,
    recall,
    remember,
)
from supple.spatial.compiler import helper

LAST = 1.0 / 64.0  #: of a step: parts that are no longer than this are not halved if no forces are found


@helper
def lacks_room(status):
    return status in (MORE_TOUCHES, MORE_ENTRIES, MORE_EQUATIONS)


@helper
def find_here(hybrid, mask, h):
    """The touches at the present position within a time h to come, of the region with one of the flags in `mask`."""
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
def solve_and_judge(hybrid, h, struck):
    """A part of a step of length h, from where impacts are over: as long as it may be, and judged. struck: whether
    there were any; then forces act there. Returns what became of it."""
    touching = touching_of(hybrid)
    scene, length = touching.scene, min(careful_length(touching.scene, touching.left), touching.longest)
    kinetic, potential, _ = energies(hybrid)
    begin_part(hybrid)
    touching.longest, touching.before, halfway = h, 0.0, True
    while True:
        if not struck:
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
            if found == GOOD or length <= FINEST * h:
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
    """The next part of a step of length h, whose touches have been found. One for which there is no room has not
    happened. Returns what became of it."""
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
    """Characters that something touches that has just been chosen to move are awake. Returns whether there was room for
    touches."""
    touching = touching_of(hybrid)
    scene = touching.scene
    while scene.n <= scene.capacity and wake_touched(hybrid) > 0:
        form_hybrid_body(hybrid, CURRENT)
        touching.formed += 1
        find_here(hybrid, CURRENT, h)
    return scene.n <= scene.capacity


@helper
def take_parts(hybrid, h):
    """The rest of a step of length h, whose touches have been found. Returns what became of it."""
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
