"""Impulses of all touches: of each island by sweeps, by Newton's method where these are slow, by an interior-point
method where that fails, by sweeps and Newton's method in turns, from impulses that let everything stick where touches
are new or jam, and by convex problems where nothing else is left."""

from __future__ import annotations

from numba import types

from supple.contact.islands import enter_island, find_islands, touch_at
from supple.contact.memory import Scene
from supple.contact.response.deep_groups import enter_group, is_deep
from supple.contact.solvers.equations import find_pattern
from supple.contact.solvers.holding import from_convex
from supple.contact.solvers.interior import from_inside
from supple.contact.solvers.jamming import from_sticking
from supple.contact.solvers.newton import from_nearby
from supple.contact.solvers.relieving import is_strained, relieve
from supple.contact.solvers.sweeps import prepare_z, sweep, worst_fault
from supple.spatial.compiler import helper, kernel, part

MOST, LAST = 60, 40  #: sweeps at first, while they are quick, and between attempts of Newton's method in the end
FALLS = 0.5  #: by which the fault falls in a turn of both, as long as they go on
FIRST, FEW = 2, 4  #: sweeps of few touches, or of many whose fault is not ...
NEARLY, FAR = 0.05, 1e3  #: ... between so many times the tolerance: few are enough below, and too few in between
ALONE = 2  #: touches: no more than these share no force
NEW, JAMMED = 4, 12  #: steps of Newton's method from where everything sticks, at most: at first, and in the end
FINE = 1e-3  #: of what ends a search: few touches are swept once for less, so that bodies that rest do not gather speed
NO_ROOM = -1.0  #: in place of a fault: there is no room for the equations
AIM, NEAR, GOOD = 0.01, 0.03, 0.1  #: of the tolerance: what ends a search, what Newton's may leave, and the others


@helper
def is_settled(scene):
    """Whether the impulses of the present island are known."""
    settled = True
    for k in range(scene.low, scene.high):
        settled = settled and touch_at(scene, k).settled > 0
    return settled


@helper
def is_new(scene):
    """Whether nothing is known of impulses of the present island, which may be shared in many ways."""
    new = scene.high - scene.low > ALONE
    for k in range(scene.low, scene.high):
        new = new and touch_at(scene, k).lam.x == 0.0
    return new


@helper
def tolerance_of(scene, relative, slow):
    """The fault that the present island may have, in m/s: relative to its fastest touch, and to the velocity `slow`.
    Bodies at rest are solved for as accurately whatever moves elsewhere."""
    fastest = 0.0
    for k in range(scene.low, scene.high):
        fastest = max(fastest, touch_at(scene, k).speed)
    return relative * (fastest + slow)


@part
def in_turns(scene, enough, good, x):
    """Sweeps and Newton's method in turns, until the worst fault x is good, as long as it falls. Sweeps are slow, but
    lead to where Newton's steps converge. Returns the fault, and the number of sweeps and steps. The pattern of the
    equations is there."""
    done, before = 0, 1e300
    while not x <= good and x < FALLS * before:
        before = x
        x, more = sweep(scene, x, LAST, LAST, good)
        done += more
        if not x <= good:
            x, more = from_nearby(scene, enough, x)
            done += more
    return x, done


@helper
def lacks_pattern(scene, inside):
    """Finds the pattern of the equations, which that of deep trees is already [equations.py]. Returns whether there was
    no room for it."""
    return not is_deep(scene) and not find_pattern(scene, inside)


@part
def search_nearby(scene, enough, tolerance, most):
    """Impulses of the present island by sweeps and by Newton's method. Returns the worst fault, NO_ROOM if there is no
    room for the equations, and the number of sweeps and steps."""
    few, x, begun = scene.high - scene.low <= FEW, worst_fault(scene), 0
    if not x <= enough and is_new(scene):
        if lacks_pattern(scene, False):
            return NO_ROOM, 0
        x, begun = from_sticking(scene, enough, x, NEW)
    nearby = not few and NEARLY * tolerance < x <= FAR * tolerance
    x, done = sweep(scene, x, 0 if nearby else min(FIRST, most), min(MOST, most), enough)
    if few and FINE * enough < x <= enough and done < min(1, most):
        x, done = sweep(scene, x, 1, 1, 0.0)
    if not x <= enough and done < most:
        if lacks_pattern(scene, False):
            return NO_ROOM, 0
        x, more = from_nearby(scene, enough, x)
        done += more
    return x, begun + done


@part
def search_farther(scene, enough, tolerance, x):
    """The same by the interior-point method, from impulses with fault x, and by what is left where that fails."""
    if scene.blocks.dual and not find_pattern(scene, True):
        return NO_ROOM, 0
    x, done = from_inside(scene, enough, GOOD * tolerance, x)
    x, more = in_turns(scene, enough, GOOD * tolerance, x)
    done += more
    if not x <= tolerance:
        x, more = from_sticking(scene, enough, x, JAMMED)
        done += more
    return x, done


@part
def solve_island(scene, tolerance, most, last):
    """Impulses of the present island, as solve_touches has them, and the result of search_nearby."""
    enough = AIM * tolerance
    if is_deep(scene) and not find_pattern(scene, False):
        return NO_ROOM, 0
    prepare_z(scene)
    x, done = search_nearby(scene, enough, tolerance, most)
    if x != NO_ROOM and not x <= NEAR * tolerance and done < most:
        x, more = search_farther(scene, enough, tolerance, x)
        done += more
    if x != NO_ROOM and x <= tolerance and is_strained(scene):
        if lacks_pattern(scene, True):
            return NO_ROOM, 0
        x = relieve(scene, enough, x)
    if x != NO_ROOM and last and not x <= tolerance:
        if lacks_pattern(scene, True):
            return NO_ROOM, 0
        x, more = from_convex(scene, enough, tolerance, most)
        done += more
    return x, done


@kernel(
    types.float64(Scene.type, types.int64, types.float64, types.float64, types.int64), "impulses of touches", effort=2
)
def solve_touches(scene, most, relative, slow, last):
    """Impulses of all touches that are active and not settled, beginning with those that they have. most: how many
    sweeps, or convex problems, an island may take. relative, slow: the tolerance, relative to the velocities of an
    island and to the velocity `slow`. last: whether convex problems are tried, too; what they leave is a fault, but
    keeps all else of the law [holding.py]. Returns the worst fault, relative to the tolerance, and NO_ROOM if there is
    no room for the equations [blocks.py]; scene.left is the worst fault in m/s, scene.done is how many sweeps and steps
    the slowest island took."""
    worst, n = 0.0, find_islands(scene)
    scene.done, scene.n_local, scene.left = 0, 0, 0.0
    for i in range(scene.n_present):
        scene.z[scene.present[i]] = 0.0
    for k in range(n):
        enter_island(scene, k)
        enter_group(scene)
        if is_settled(scene):
            prepare_z(scene)
            continue
        tolerance = tolerance_of(scene, relative, slow)
        x, done = solve_island(scene, tolerance, most, last)
        if x == NO_ROOM:
            return NO_ROOM
        scene.left, scene.done = x if not x <= scene.left else scene.left, max(done, scene.done)
        worst = x / tolerance if not x / tolerance <= worst else worst
    return worst
