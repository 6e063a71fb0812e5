"""Steps of adaptive dynamics in which bodies touch.

A step in which nothing of a hybrid body can touch anything, and nothing but gravity acts on it, is one of steps.py. Any
other is one of contact/stepping.py, over the active joints [touching_parts.py]: a midpoint rule, implicit in the forces
of joints, which may be stiff; its parts are judged where they end, and halved if they overlap or gain energy
[touching_halving.py]. Where all joints are active it is that of an exact run.

The active joints are chosen where a step begins, also one of steps.py: what was rigid until then may touch. The forces
of touches act on the articulated body as they were in the step before; velocities are those that the transient hybrid
body would have at the end of the step, with the touches that there are; then joints that are not chosen are stopped,
with the velocities that they have now, touches are looked for among what may move now, and the step is taken: whatever
stopping joints does to touches, the step takes care of it.

Rigid parts that touch in many places are harder to solve for than whole bodies, which give way. A part of a step for
which no forces are found is halved, down to a 64th of the step. Of that, the forces of a convex law are taken if there
are no others [contact/holding.py]: then the part is counted, and so is by how much it misses the law.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.choose import choose_active_region, find_update_region
from supple.adaptive.heapsort import sort
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.keeping import is_unstable, keep_state
from supple.adaptive.ledger import LOOK
from supple.adaptive.loop_units import ALL, choose_region, find_region
from supple.adaptive.memory import CURRENT, UPDATE, HybridBody
from supple.adaptive.reduced import without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.rigidifying import rigidify
from supple.adaptive.sleeping import find_sleepers, wake_touched, watch_motion
from supple.adaptive.steps import FIXED, UNSTABLE, accelerate_all, is_new, run_kernel
from supple.adaptive.steps import SINGULAR as NO_INERTIA
from supple.adaptive.touching_halving import find_here, lacks_room, take_parts
from supple.adaptive.touching_loops import close_step
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_parts import solve_part
from supple.adaptive.touching_places import world_of
from supple.adaptive.touching_placing import place_parts
from supple.adaptive.touching_search import attach_touches
from supple.contact.exerting import begin_exerting
from supple.contact.memory import CONTACT
from supple.contact.points import norm
from supple.contact.stepping import (
    DONE,
    FLIGHT,
    MORE_EQUATIONS,
    MORE_TOUCHES,
    SINGULAR,
    UNSOLVED,
    recall,
)
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, cross
from supple.spatial.compiler import helper, kernel

#: How a run ended, besides those of steps.py: room is needed, and then it goes on; forces could not be found.
ROOM_FOR_TOUCHES, ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS, NOT_SOLVED = 10, 11, 12, 13
GROWS = 20  #: what became of a step, besides those of contact/stepping.py: energy grows without a source
ROUGH = 0.01  #: tolerance of the velocities by which joints are chosen
SPARE = 2  #: room for touches, relative to those at the beginning of a step: a choice of joints may bring more


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


@helper
def leave_out_sleepers(hybrid):
    """How many joints may move, without the free roots of characters that sleep: these leave no room for others.
    Returns the numbers with them."""
    most, reached, asleep = hybrid.most, hybrid.most_reached, touching_of(hybrid).n_asleep
    if most < ALL:
        hybrid.most = most - asleep
        hybrid.most_reached = reached - asleep if reached == most else reached
    return most, reached


@helper
def find_transient(hybrid, h):
    """The transient hybrid body, of the active region and the acceleration update region. Returns DONE, or SINGULAR."""
    touching = touching_of(hybrid)
    recall(touching.scene, h)
    find_sleepers(hybrid)
    add_paths(hybrid)
    note_forces(hybrid)
    smallest = accelerate_all(hybrid)
    if not smallest > 0.0:
        take_back_paths(hybrid)
        return SINGULAR
    most, reached = leave_out_sleepers(hybrid)
    if hybrid.has_loops:
        find_region(hybrid)
        touching.formed += 1
    else:
        find_update_region(hybrid)
    hybrid.most, hybrid.most_reached = most, reached
    take_back_paths(hybrid)
    if not hybrid.has_loops and is_new(hybrid):
        form_hybrid_body(hybrid, CURRENT | UPDATE)
        touching.formed += 1
    return DONE


@helper
def predict_end(hybrid, h):
    """Velocities of the transient hybrid body at the end of a step, in `end`. Returns what became of it."""
    touching = touching_of(hybrid)
    scene, tolerance = touching.scene, touching.tolerance
    without_joints(hybrid, True, False, True)
    place_parts(hybrid)
    attach_touches(hybrid, h)
    if scene.n > scene.capacity:
        return MORE_TOUCHES
    recall(scene, h)
    touching.tolerance, touching.before = max(tolerance, ROUGH), 0.0
    status = solve_part(hybrid, h, True, False)
    touching.tolerance = tolerance
    return status


@kernel(types.int64(HybridBody.type, types.float64), "active region update with touches", effort=2, nogil=True)
def choose_joints(hybrid, h):
    """The active region update where a step with touches begins; these have been found. Returns DONE, SINGULAR, or that
    more room is needed: called again, it goes on."""
    touching = touching_of(hybrid)
    if not touching.choosing:
        if find_transient(hybrid, h) != DONE:
            return SINGULAR
        touching.choosing = 1
    status = predict_end(hybrid, h)
    if lacks_room(status):
        return status
    touching.choosing = 0
    m, x = open_reduced(hybrid)
    if status == DONE:
        swap_with_end(hybrid, m, x)
    most, reached = leave_out_sleepers(hybrid)
    count = choose_region(hybrid) if hybrid.has_loops else choose_active_region(hybrid)
    hybrid.most, hybrid.most_reached = most, reached
    if status == DONE:
        swap_with_end(hybrid, m, x)
    without_joints(hybrid, True, True, False)
    stopped, removed = hybrid.stopped, hybrid.removed
    smallest = rigidify(hybrid, count < m.n)
    hybrid.stopped = stopped + hybrid.removed - removed  # no part of a step is taken before they stop
    touching.formed += 1
    return DONE if smallest > 0.0 else SINGULAR


# --- a step -----------------------------------------------------------------------------------------------------------


@helper
def begin(hybrid, h):
    """The touches where a step of length h begins; whoever is touched is awake. Returns DONE, or MORE_TOUCHES."""
    touching = touching_of(hybrid)
    scene, woken = touching.scene, 1
    while woken > 0:
        find_here(hybrid, CURRENT, h)
        if SPARE * scene.n > scene.capacity or touching.n_resting + scene.n > touching.resting_room:
            return MORE_TOUCHES
        woken = wake_touched(hybrid)
        if woken > 0:
            form_hybrid_body(hybrid, CURRENT)
            touching.formed += 1
    return DONE


@helper
def reset_counts(hybrid, h):
    """Of a step of length h."""
    touching = touching_of(hybrid)
    touching.parts = touching.bounces = touching.sweeps = 0
    touching.fault, touching.slowest, touching.longest = 0.0, 2.0 * norm(hybrid.gravity) * h + 1e-9, h


@helper
def flies(hybrid):
    """Whether a step is one without contacts: nothing is near, and no force makes anything so fast that it could reach
    what was too far away to be found."""
    scene = touching_of(hybrid).scene
    if scene.n > 0 or hybrid.n_rows > 0 or hybrid.n_pushes > 0:
        return False
    forces = 0.0
    for i in range(scene.n_present):
        forces += abs(hybrid.controls[scene.present[i]])
    return forces == 0.0


@helper
def start(hybrid, h):
    """A step of length h up to where it is taken. Returns DONE, FLIGHT if nothing touches, or what prevents it."""
    touching = touching_of(hybrid)
    scene, choose = touching.scene, False
    if not touching.choosing:
        begin_exerting(scene)
        if begin(hybrid, h) != DONE:
            return MORE_TOUCHES
        watch_motion(hybrid, touching.last)
        touching.last = h
        reset_counts(hybrid, h)
        choose = hybrid.due <= 0 and not hybrid.ways & FIXED
        if flies(hybrid):
            if choose and is_unstable(hybrid):
                return GROWS
        elif hybrid.due <= 0 or hybrid.unchecked >= LOOK:
            m, x = open_reduced(hybrid)
            keep_state(hybrid, m, x)
            hybrid.unchecked = 0
    if choose or touching.choosing:
        hybrid.due = 0
        status = choose_joints(hybrid, h)
        if status != DONE:
            return status
        hybrid.updates += 1
        hybrid.due = hybrid.every
        find_here(hybrid, CURRENT, h)
    if flies(hybrid):
        return FLIGHT
    if hybrid.due <= 0:
        hybrid.updates += 1
        hybrid.due = hybrid.every
    touching.left = h
    hybrid.accounts_open = 0.0
    return DONE


@kernel(types.int64(HybridBody.type, types.float64), "steps of hybrid bodies that touch", effort=2, nogil=True)
def touching_step(hybrid, h):
    """A step of length h, or what is left of it. Returns what became of it; FLIGHT: nothing touches, and it was not
    taken."""
    touching = touching_of(hybrid)
    status = DONE
    if touching.left > 0.0:
        find_here(hybrid, CURRENT, touching.left)
    else:
        status = start(hybrid, h)
    return take_parts(hybrid, h) if status == DONE else status


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
    touching.placed = 0
    while hybrid.steps < end:
        if touching.only_characters and touching.n_asleep == touching.n_roots:
            count_step(hybrid, dt)
            continue
        status = touching_step(hybrid, dt)
        if status == FLIGHT:
            touching.scene.n_known = 0
            touching.placed = 0
            ended = run_kernel(hybrid, 1, dt)
            if ended != DONE:
                return ended
        elif status == DONE:
            ended = close_step(hybrid)
            if ended != DONE:
                return ended
            count_step(hybrid, dt)
        elif status == MORE_TOUCHES:
            return ROOM_FOR_TOUCHES
        elif status == MORE_EQUATIONS:
            return ROOM_FOR_EQUATIONS
        elif status == SINGULAR:
            return NO_INERTIA
        elif status == GROWS:
            return UNSTABLE
        else:
            return NOT_SOLVED if status == UNSOLVED else ROOM_FOR_ENTRIES
    return DONE
