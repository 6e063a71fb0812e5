"""Steps of adaptive dynamics in which bodies touch.

A step in which nothing of a hybrid body can touch anything, and no springs, controllers or friction act at joints, is
one of steps.py. Any other is one of contact/stepping.py, over the active joints [touching_parts.py]: of order one,
implicit in the forces of joints, which may be stiff. Where all joints are active it is that of an exact run. Energies
are not checked in it.

The active joints are chosen where such a step begins. The forces of touches act on the articulated body as they were in
the step before; velocities are those that the transient hybrid body would have at the end of the step, touches
included; then joints that are not chosen are stopped, with the velocities that they have now, and the step is taken:
whatever stopping joints does to touches, the step takes care of it.

Rigid parts that touch in many places are harder to solve for than whole bodies, which give way. A part of a step for
which no forces are found is halved, down to a 64th of the step. Of that, the forces of a convex law are taken if there
are no others [contact/holding.py]: then the part is counted, and so is by how much it misses the law.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.choose import choose_active_region, find_update_region
from supple.adaptive.heapsort import sort
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.keeping import keep_state
from supple.adaptive.ledger import LOOK
from supple.adaptive.loop_units import choose_region, find_region
from supple.adaptive.memory import CURRENT, UPDATE, HybridBody
from supple.adaptive.reduced import without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.rigidifying import rigidify
from supple.adaptive.sleeping import find_sleepers, wake_touched, watch_motion
from supple.adaptive.steps import FIXED, accelerate_all, close, is_new, run_kernel
from supple.adaptive.steps import SINGULAR as NO_INERTIA
from supple.adaptive.touching_loops import begin_closing
from supple.adaptive.touching_memory import NOT_KNOWN, touching_of
from supple.adaptive.touching_parts import move_part, solve_part, strike
from supple.adaptive.touching_places import world_of
from supple.adaptive.touching_search import search_touches
from supple.contact.exerting import add_exerted, begin_exerting, may_exert
from supple.contact.judging import DEEPEST
from supple.contact.memory import CONTACT
from supple.contact.points import norm
from supple.contact.stepping import (
    DONE,
    FLIGHT,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    RELAXED,
    SHARE,
    SINGULAR,
    STRIKES,
    UNSOLVED,
    recall,
    remember,
)
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, cross
from supple.spatial.compiler import helper, kernel

#: How a run ended, besides those of steps.py: room is needed, and then it goes on; forces could not be found.
ROOM_FOR_TOUCHES, ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS, NOT_SOLVED = 10, 11, 12, 13
FINEST = 1.0 / 64.0  #: of a step: parts that are no longer than this are not halved
ROUGH = 0.01  #: tolerance of the velocities by which joints are chosen
SPARE = 2  #: room for touches, relative to those at the beginning of a step: a choice of joints may bring more


@helper
def find_here(hybrid, mask, h):
    """The touches at the present position, of the region with one of the flags in `mask`."""
    without_joints(hybrid, True, False, True)
    search_touches(hybrid, mask, h)


# --- the choice of joints ---------------------------------------------------------------------------------------------


@helper
def add_paths(hybrid):
    """The nodes above touched bodies are above a force."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    n = hybrid.n_paths
    for k in range(touching.scene.n):
        touch = touching.scene.touches[k]
        for side in range(2):
            shape = touch.shape if side == 0 else touch.other
            body = touching.homes[shape].body if touch.kind == CONTACT and touch.lam.x > 0.0 else -1
            i = tree.leaf_of[body] if body >= 0 else -1
            while i >= 0 and not hybrid.on_path[i]:
                hybrid.on_path[i] = 1
                hybrid.paths[n] = i
                n += 1
                i = tree.up[i]
    if n > hybrid.n_paths:
        sort(hybrid.paths, n)
    hybrid.n_paths = n


@helper
def note_forces(hybrid):
    """The forces of touches, whose impulses are those of a step, on bodies."""
    tree, touching, n = hybrid.body.tree, touching_of(hybrid), 0
    for k in range(touching.scene.n):
        touch = touching.scene.touches[k]
        if touch.kind != CONTACT or not touch.lam.x > 0.0:
            continue
        lam = touch.lam * (1.0 / hybrid.dt)
        force = touch.n * lam.x + touch.t * lam.y + touch.s * lam.z
        for side in range(2):
            b = touching.homes[touch.shape if side == 0 else touch.other].body
            if b >= 0:
                R, r = world_of(hybrid, tree.leaf_of[b])
                f = force if side == 0 else force * -1.0
                outer = hybrid.outer[n]
                outer.body, outer.f = b, Force(cross(touch.point - r, f) @ R, f @ R)
                n += 1
    hybrid.n_outer = n


@helper
def take_back_paths(hybrid):
    """Those above pushed bodies remain; forces of touches are no longer noted."""
    hybrid.n_outer = 0
    touching = touching_of(hybrid)
    for k in range(hybrid.n_paths):
        hybrid.on_path[hybrid.paths[k]] = 0
    for k in range(touching.n_own_paths):
        hybrid.paths[k] = touching.own_paths[k]
        hybrid.on_path[hybrid.paths[k]] = 1
    hybrid.n_paths = touching.n_own_paths


@helper
def swap_with_end(hybrid, m, x):
    """Exchange velocities and those at the end of a part."""
    end = touching_of(hybrid).end
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.v[j], end[j] = end[j], x.v[j]


@kernel(types.int64(HybridBody.type, types.float64), "active region update with touches", effort=2, nogil=True)
def choose_joints(hybrid, h):
    """The active region update where a step with touches begins; these have been found. Returns DONE, or SINGULAR."""
    touching = touching_of(hybrid)
    scene = touching.scene
    recall(scene, h)
    find_sleepers(hybrid)
    add_paths(hybrid)
    note_forces(hybrid)
    smallest = accelerate_all(hybrid)
    if not smallest > 0.0:
        take_back_paths(hybrid)
        return SINGULAR
    if hybrid.has_loops:
        find_region(hybrid)
        touching.formed += 1
    else:
        find_update_region(hybrid)
    take_back_paths(hybrid)
    if not hybrid.has_loops and is_new(hybrid):
        form_hybrid_body(hybrid, CURRENT | UPDATE)
        touching.formed += 1
    find_here(hybrid, CURRENT | UPDATE, h)
    m, x = open_reduced(hybrid)
    predicted = scene.n <= scene.capacity
    if predicted:
        recall(scene, h)
        tolerance = touching.tolerance
        touching.tolerance = max(tolerance, ROUGH)
        predicted = solve_part(hybrid, h, 0, 0) == DONE
        touching.tolerance = tolerance
    if predicted:
        swap_with_end(hybrid, m, x)
    count = choose_region(hybrid) if hybrid.has_loops else choose_active_region(hybrid)
    if predicted:
        swap_with_end(hybrid, m, x)
    without_joints(hybrid, True, True, False)
    smallest = rigidify(hybrid, count < m.n)
    touching.formed += 1
    return DONE if smallest > 0.0 else SINGULAR


# --- a step -----------------------------------------------------------------------------------------------------------


@helper
def overlap(scene):
    """The largest of all touches that there is room for."""
    deepest = 0.0
    for k in range(min(scene.n, scene.capacity)):
        deepest = max(deepest, -scene.touches[k].gap)
    return deepest


@helper
def take_parts(hybrid, h):
    """The rest of a step of length h, whose touches have been found. Returns what became of it."""
    touching = touching_of(hybrid)
    scene = touching.scene
    if touching.parts == 0:  # joints have been chosen: what was rigid until now may overlap
        touching.depth = overlap(scene)
    while touching.left > SHARE * h:
        if touching.parts > 0:
            find_here(hybrid, CURRENT, touching.left)
        if scene.n > scene.capacity or not may_exert(scene):
            return MORE_TOUCHES
        status = strike(hybrid)
        if status != DONE:
            return status
        length, touching.longest = min(touching.left, touching.longest), h
        while True:
            recall(scene, length)
            status = solve_part(hybrid, length, 1, length <= FINEST * h)
            if status == STRIKES:
                length = touching.next
            elif status == UNSOLVED and length > FINEST * h:
                length *= 0.5
                touching.longest = 2.0 * length
            elif status in (DONE, RELAXED):
                break
            else:
                return status
        move_part(hybrid, length)
        remember(scene, length)
        add_exerted(scene)
        if status == RELAXED:
            touching.relaxed += 1
            touching.relaxed_fault = max(touching.relaxed_fault, touching.missed)
        touching.parts += 1
        touching.left -= length
    touching.left = 0.0
    return DONE


@helper
def judge_last(touching):
    """Count the last step if shapes overlap that might touch in it. Before anything wakes, or begins to move."""
    deepest = overlap(touching.scene)
    if deepest > max(DEEPEST, touching.depth):
        touching.rough += 1
        touching.deepest = max(touching.deepest, deepest)
    touching.depth = NOT_KNOWN


@helper
def begin(hybrid, h):
    """The touches where a step of length h begins; whoever is touched is awake. Returns DONE, or MORE_TOUCHES."""
    touching = touching_of(hybrid)
    find_here(hybrid, CURRENT, h)
    if touching.scene.n <= touching.scene.capacity:
        judge_last(touching)
    while wake_touched(hybrid) > 0:
        form_hybrid_body(hybrid, CURRENT)
        touching.formed += 1
        find_here(hybrid, CURRENT, h)
    return MORE_TOUCHES if touching.scene.n > touching.scene.capacity else DONE


@kernel(types.int64(HybridBody.type, types.float64), "steps of hybrid bodies that touch", effort=2, nogil=True)
def touching_step(hybrid, h):
    """A step of length h, or what is left of it. Returns what became of it; FLIGHT: nothing touches, and it was not
    taken."""
    touching = touching_of(hybrid)
    scene = touching.scene
    goes_on = touching.left > 0.0
    if goes_on:
        find_here(hybrid, CURRENT, touching.left)
        if scene.n > scene.capacity:
            return MORE_TOUCHES
    else:
        touching.last = h
        begin_exerting(scene)
        if begin(hybrid, h) != DONE:
            return MORE_TOUCHES
        if SPARE * scene.n > scene.capacity:
            return MORE_TOUCHES
        watch_motion(hybrid, h)
        if scene.n == 0 and hybrid.n_rows == 0:
            return FLIGHT
        touching.parts = touching.bounces = touching.sweeps = 0
        touching.fault, touching.slowest, touching.longest = 0.0, 2.0 * norm(hybrid.gravity) * h + 1e-9, h
        m, x = open_reduced(hybrid)
        if hybrid.due <= 0 or hybrid.unchecked >= LOOK:
            keep_state(hybrid, m, x)
            hybrid.unchecked = 0
        if hybrid.due <= 0 and not hybrid.ways & FIXED:
            hybrid.due = 0
            if choose_joints(hybrid, h) != DONE:
                return SINGULAR
            find_here(hybrid, CURRENT, h)
        if hybrid.due <= 0:
            hybrid.updates += 1
            hybrid.due = hybrid.every
        touching.left = h
        hybrid.accounts_open = 0.0
        begin_closing(hybrid)
        if scene.n > scene.capacity:
            return MORE_TOUCHES
    return take_parts(hybrid, h)


@helper
def count_step(hybrid, dt):
    hybrid.steps += 1
    hybrid.time += dt
    hybrid.due -= 1
    hybrid.unchecked += 1


@kernel(
    types.int64(HybridBody.type, types.int64, types.float64), "adaptive dynamics with touches", effort=2, nogil=True
)
def touching_run(hybrid, steps, dt):
    """Perform a number of steps: until hybrid.steps has grown by so many. Returns how the run ended."""
    hybrid.dt = dt
    touching = touching_of(hybrid)
    end = hybrid.steps + steps
    while hybrid.steps < end:
        if touching.only_characters and touching.n_asleep == touching.n_roots:
            count_step(hybrid, dt)
            continue
        status = touching_step(hybrid, dt)
        if status == FLIGHT:
            touching.scene.n_known = 0
            touching.depth = NOT_KNOWN if hybrid.due <= 0 else 0.0  # what was rigid, and may overlap, may move then
            touching.formed += hybrid.due <= 0
            ended = run_kernel(hybrid, 1, dt)
            if ended != DONE:
                return ended
        elif status == DONE:
            ended = close(hybrid, True)
            if ended != DONE:
                return ended
            count_step(hybrid, dt)
        elif status == MORE_TOUCHES:
            return ROOM_FOR_TOUCHES
        elif status == MORE_EQUATIONS:
            return ROOM_FOR_EQUATIONS
        elif status == SINGULAR:
            return NO_INERTIA
        else:
            return NOT_SOLVED if status == UNSOLVED else ROOM_FOR_ENTRIES
    return DONE
