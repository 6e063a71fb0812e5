"""Steps of adaptive dynamics with contact.

A step in which nothing can touch, and in which only gravity acts, is one of steps.py. Any other step is that of
contact/steps/stepping.py over the active joints: a midpoint rule, implicit in joint forces, which may be stiff. Its
parts are solved [solution.py] and judged at their end, and halved if shapes overlap or energy is gained [halving.py].
With all joints active it is the step of an exact run in which something may touch.

Active joints are chosen at the beginning of a step [choice.py], even if nothing touches: shapes that were
rigidly connected until then may touch afterwards.

Rigid parts with many contacts are harder to solve for than bodies whose joints all move, because they cannot yield. A
part of a step for which no forces are found is halved, down to a 64th of the step. If there are none for that, either,
those of a convex law are used [contact/solvers/holding.py]; such parts are counted, with the residual of the contact
law.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.keeping import is_unstable, keep_state
from supple.adaptive.ledger import LOOK
from supple.adaptive.memory import CURRENT, HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.steps import FIXED, UNSTABLE, run_kernel
from supple.adaptive.steps import SINGULAR as NO_INERTIA
from supple.adaptive.touching.body_poses import place_here
from supple.adaptive.touching.choice import choose_joints
from supple.adaptive.touching.finishing import copy_q, copy_v, take_back
from supple.adaptive.touching.halving import find_here, take_parts
from supple.adaptive.touching.judging import outruns
from supple.adaptive.touching.loops import close_step
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.sleeping import wake_touched, watch_motion
from supple.contact.geometry.points import norm
from supple.contact.outcomes import DONE, FLIGHT, MORE_EQUATIONS, MORE_TOUCHES, SINGULAR, UNSOLVED
from supple.contact.steps.exerting import begin_exerting
from supple.spatial.compiler import helper, kernel

#: Outcomes of a run, besides those of steps.py: more memory is needed, and then it continues; no forces were found.
ROOM_FOR_TOUCHES, ROOM_FOR_ENTRIES, ROOM_FOR_EQUATIONS, NOT_SOLVED = 10, 11, 12, 13
GROWS = 20  #: outcome of a step, besides those of contact/outcomes.py: energy grows without a source
STRAYS = 21  #: outcome of a step without contacts: something may have touched
HEADROOM = 2  #: memory for touches, relative to those at the beginning of a step: new active joints may add some


@helper
def find_and_wake(hybrid, h):
    """Finds the touches at the beginning of a step of length h, and wakes characters that are touched. Returns DONE or
    MORE_TOUCHES."""
    touching = touching_of(hybrid)
    scene, woken = touching.scene, 1
    while woken > 0:
        find_here(hybrid, CURRENT, h)
        if HEADROOM * scene.n > scene.capacity or touching.n_resting + scene.n_exerted > touching.resting_room:
            return MORE_TOUCHES
        woken = wake_touched(hybrid)
        if woken > 0:
            form_hybrid_body(hybrid, CURRENT)
            touching.formed += 1
    return DONE


@helper
def reset_statistics(hybrid, h):
    """Resets the statistics of a step, for one of length h."""
    touching = touching_of(hybrid)
    touching.parts = touching.bounces = touching.sweeps = 0
    touching.fault, touching.slowest, touching.longest = 0.0, 2.0 * norm(hybrid.gravity) * h + 1e-9, h


@helper
def is_flight(hybrid):
    """Whether a step is one without contacts: nothing is near, and no force can make a body so fast that it reaches
    something beyond the range of the search."""
    scene = touching_of(hybrid).scene
    if scene.n > 0 or hybrid.n_rows > 0 or hybrid.n_pushes > 0:
        return False
    forces = 0.0
    for i in range(scene.n_present):
        forces += abs(hybrid.controls[scene.present[i]])
    return forces == 0.0


@helper
def begin_parts(hybrid, h):
    """Begins the parts of a step of length h."""
    if hybrid.due <= 0:
        hybrid.updates += 1
        hybrid.due = hybrid.every
    touching_of(hybrid).left = h
    hybrid.accounts_open = 0.0


@helper
def begin_step(hybrid, h):
    """Prepares a step of length h: touches, sleep and the choice of joints. Called again if memory was missing. Returns
    DONE, FLIGHT if nothing touches, or the outcome that ends the step."""
    touching = touching_of(hybrid)
    scene, choose = touching.scene, False
    if not touching.choosing:
        if find_and_wake(hybrid, h) != DONE:
            return MORE_TOUCHES
        watch_motion(hybrid, touching.last)
        touching.previous, touching.last = touching.last, h
        reset_statistics(hybrid, h)
        choose = hybrid.due <= 0 and not hybrid.ways & FIXED
        if is_flight(hybrid):
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
    begin_exerting(scene)  # those who fell asleep have kept the impulses of the last step
    if is_flight(hybrid):
        return FLIGHT
    begin_parts(hybrid, h)
    return DONE


@kernel(types.int64(HybridBody.type, types.float64), "steps of hybrid bodies that touch", effort=2, nogil=True)
def touching_step(hybrid, h):
    """Takes a step of length h, or the rest of one. Returns the outcome; FLIGHT if nothing touches: then it was not
    taken."""
    touching = touching_of(hybrid)
    status = DONE
    if touching.left > 0.0:
        find_here(hybrid, CURRENT, touching.left)
    else:
        status = begin_step(hybrid, h)
    return take_parts(hybrid, h) if status == DONE else status


@helper
def fly(hybrid, dt):
    """Takes a step without contacts. Returns how it ended; STRAYS if gravity made something so fast, as at the long end
    of a lever, that it may have touched. Then the step is taken back."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    steps, time, updates, due, unchecked = hybrid.steps, hybrid.time, hybrid.updates, hybrid.due, hybrid.unchecked
    touching.scene.n_known = touching.placed = 0
    copy_q(m, x.q, touching.part_q)
    copy_v(touching.scene, x.v, touching.part_v)
    ended = int(run_kernel(hybrid, 1, dt))
    if ended != DONE:
        return ended
    place_here(hybrid)
    if outruns(hybrid, dt, 0.0):
        take_back(hybrid)
        hybrid.steps, hybrid.time, hybrid.updates, hybrid.due, hybrid.unchecked = steps, time, updates, due, unchecked
        return STRAYS
    touching.placed = touching.formed
    return DONE


@helper
def take_with_contacts(hybrid, dt):
    """Takes a step after all, in which nothing seemed to touch. Returns its outcome."""
    begin_parts(hybrid, dt)
    find_here(hybrid, CURRENT, dt)
    return take_parts(hybrid, dt)


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
    """Takes a number of steps: hybrid.steps grows by so many. Returns the outcome of the run."""
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
            ended = fly(hybrid, dt)
            if ended == DONE:
                continue
            if ended != STRAYS:
                return ended
            status = take_with_contacts(hybrid, dt)
        if status == DONE:
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
