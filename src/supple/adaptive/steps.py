"""Steps of adaptive dynamics in compiled code: plain ones, and those with an active region update [AD section 5.1].

A step is that of kick.py. An update takes place in its middle: the joints that are active have moved half a step, there
accelerations are looked at, velocities changed and joints stopped, and those that remain move the other half.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.choose import choose_active_region, find_update_region
from supple.adaptive.convert import convert, rest_force
from supple.adaptive.keeping import fastest, is_unstable
from supple.adaptive.kick import (
    add_to,
    drift,
    imposed_kick,
    kick,
    predict,
    swap_velocities,
)
from supple.adaptive.momenta import IMPULSE, momenta, project, velocities_of
from supple.adaptive.regions import build_reduced, find_piece, place_pushes, settle
from supple.adaptive.store import (
    CHOSEN,
    CURRENT,
    DROPPED,
    DT,
    DUE,
    EVERY,
    EXPANDED,
    HELD,
    HOLD,
    POSE,
    REMOVED,
    SEEN,
    STEPS,
    STOPPED,
    TIME,
    UNCHECKED,
    UPDATE,
    UPDATES,
    WAYS,
    WORST,
    open_reduced,
    open_store,
)
from supple.assembly.desk import open_desk
from supple.assembly.passes import renew
from supple.assembly.poses import compose, load_pose, renew_span
from supple.assembly.tree import JOIN, LIGHT
from supple.exact.motion import DOF
from supple.exact.tables import IV, KIND
from supple.spatial.compiler import helper, kernel

DONE, SINGULAR, UNSTABLE, NOT_FINITE = range(4)  # how a run ends
GUARANTEED, FIXED = 1, 2  # ways of a run: with a certified error; with the same joints always


@kernel(types.float64(types.int64, types.int64, types.int64), "hybrid body", effort=2, nogil=True)
def form_hybrid_body(desk, store, mask):
    """The reduced tree of a region, and the forces on it."""
    t, d = open_desk(desk)
    s = open_store(store)
    m, x = open_reduced(store)
    build_reduced(t, d, m, s, x.angles, mask, s.queue)
    place_pushes(t, d, s, mask, s.queue)
    return 0.0


@kernel(types.float64(types.int64, types.int64, types.int64), "nodes that become rigid", effort=5, nogil=True)
def become_rigid(desk, store, i):
    t, d = open_desk(desk)
    s = open_store(store)
    _, x = open_reduced(store)
    kind = t.kind[i]
    if kind in (JOIN, LIGHT):
        rest_force(t, s, x, d, t.item[i])
    settle(t, d, s, desk, store, i)
    return 0.0


@helper
def is_new(s):
    """Whether the acceleration update region has a node that is not active, or whose joint is not."""
    found = False
    for k in range(s.counts[EXPANDED]):
        found = found or s.flags[s.expanded[k]] & (CURRENT | HELD) != CURRENT
    return found


@kernel(types.float64(types.int64, types.int64, types.int64), "rigidification", nogil=True)
def rigidify(desk, store, dropped):
    """The transient region becomes the chosen one [AD section 5.4.2]; dropped: some of its joints stop.

    AD solves for the impulses that stop them. The velocities after them are those with which the remaining joints have
    the momenta that they had before: one pass up and one solution, O(active joints), instead of a matrix of impulses.
    Returns the smallest pivot.

    The kick was for the whole step, and the joints stopped do not move in its second half: forces have given them more
    than they do work on the way, 1/2 h (H a - pushes and dampers, which are counted before) (v' - v'').
    """
    t, _ = open_desk(desk)
    s = open_store(store)
    m, x = open_reduced(store)
    before, more = 0.0, 0.0
    if dropped:
        before = momenta(store)
        more = project(store, IMPULSE)
    changed = False
    for k in range(s.counts[SEEN] - 1, -1, -1):
        i = s.seen[k]
        flags = s.flags[i]
        chosen = (flags & CHOSEN) != 0
        if flags & CURRENT and not chosen:
            become_rigid(desk, store, i)
        changed = changed or chosen != ((flags & (CURRENT | UPDATE)) != 0) or (flags & HOLD) != 0
        s.flags[i] = 0 if not chosen else CURRENT | HELD if flags & HOLD else CURRENT
    if not changed:
        return 1.0
    for b in range(m.n):
        if s.flags[t.node_of[s.joints[b]]] != CURRENT:
            for k in range(m.bodies[b, IV], m.bodies[b, IV] + DOF[m.bodies[b, KIND]]):
                x.v[k] = 0.0
            s.dropped[s.counts[DROPPED]] = s.joints[b]
            s.counts[DROPPED] += 1
    form_hybrid_body(desk, store, CURRENT)
    smallest = 1.0
    if dropped:
        after, smallest = velocities_of(store)
        m, x = open_reduced(store)
        for b in range(m.n):
            for k in range(m.bodies[b, IV], m.bodies[b, IV] + DOF[m.bodies[b, KIND]]):
                more -= x.impulse[k] * x.v[k]
        add_to(s, REMOVED, before - after)
        add_to(s, STOPPED, before - after - 0.5 * s.numbers[DT] * more)
    return smallest


@kernel(types.float64(types.int64, types.int64), "active region update", effort=2, nogil=True)
def update_active_region(desk, store):
    """The middle of a step, with an active region update. Returns how it ended."""
    t, _ = open_desk(desk)
    s = open_store(store)
    m, x = open_reduced(store)
    ways = s.counts[WAYS]
    if ways & GUARANTEED:  # for the velocities with which the accelerations will be used
        if not predict(store) > 0.0:
            return SINGULAR
        swap_velocities(m, x)
    smallest = convert(desk, store)
    if ways & GUARANTEED:
        swap_velocities(m, x)
    if not smallest > 0.0:
        return SINGULAR
    find_update_region(desk, store)
    if is_new(s):
        form_hybrid_body(desk, store, CURRENT | UPDATE)
        m, x = open_reduced(store)
    if ways & GUARANTEED:  # the accelerations are those of the articulated body, and zero elsewhere
        for b in range(m.n):
            flags = s.flags[t.node_of[s.joints[b]]]
            for k in range(m.bodies[b, IV], m.bodies[b, IV] + DOF[m.bodies[b, KIND]]):
                if not flags & UPDATE:
                    x.qdd[k] = 0.0
                if flags & (CURRENT | HELD) != CURRENT:
                    x.half[k] = 0.0
        squares = imposed_kick(store)
        for k in range(s.counts[SEEN]):
            i = s.seen[k]
            if s.flags[i]:
                s.flags[i] = CURRENT if s.flags[i] & UPDATE else s.flags[i]
    else:
        smallest, squares = kick(store)
    if not math.isfinite(squares):
        s.counts[WORST] = fastest(m, s, x)
        return NOT_FINITE
    if not ways & GUARANTEED:
        if not smallest > 0.0:
            return SINGULAR
        count = choose_active_region(desk, store)
        if not rigidify(desk, store, count < m.n) > 0.0:
            return SINGULAR
    return DONE


@helper
def plain_kick(store):
    """The middle of any other step. Returns how it ended."""
    smallest, squares = kick(store)
    if not smallest > 0.0:
        return SINGULAR
    if not math.isfinite(squares):
        m, x = open_reduced(store)
        s = open_store(store)
        s.counts[WORST] = fastest(m, s, x)
        return NOT_FINITE
    return DONE


_int, _float = types.int64, types.float64


@kernel(_int(_int, _int, _int, _float), "adaptive dynamics", effort=2, nogil=True)
def run_kernel(desk, store, steps, dt):
    """So many steps. Returns how that ended."""
    t, d = open_desk(desk)
    s = open_store(store)
    s.numbers[DT] = dt
    for _ in range(steps):
        updating = s.counts[DUE] <= 0
        fixed = s.counts[WAYS] & FIXED
        ended = UNSTABLE if is_unstable(t, store) else DONE
        if ended == DONE:
            m, x = open_reduced(store)
            drift(t, d, m, s, x, 0.5 * dt)
            ended = int(update_active_region(desk, store)) if updating and not fixed else plain_kick(store)
        if ended != DONE:
            return ended
        m, x = open_reduced(store)
        drift(t, d, m, s, x, 0.5 * dt)
        s.counts[STEPS] += 1
        s.numbers[TIME] += dt
        if updating:
            s.counts[UPDATES] += 1
            s.counts[DUE] = s.counts[EVERY]
        s.counts[DUE] -= 1
        s.counts[UNCHECKED] += 1
    return DONE


@kernel(_float(_int, _int), "adaptive dynamics, assembly", effort=6, nogil=True)
def build_kernel(desk, store):
    """Everything of all nodes, from below, and the reduced tree. Returns the smallest pivot."""
    t, d = open_desk(desk)
    s = open_store(store)
    _, x = open_reduced(store)
    smallest = 1.0e300
    for i in range(t.nodes):
        kind = t.kind[i]
        if kind == JOIN and t.open[i]:
            renew_span(t, i, d.q, s.trees, s.spans)
        if kind in (JOIN, LIGHT):
            rest_force(t, s, x, d, t.item[i])
        pivot = renew(t, d, desk, i, True, True)
        if not pivot >= smallest:
            smallest = pivot
            s.counts[WORST] = i
        become_rigid(desk, store, i)
    return smallest


@kernel(types.void(_int, _int, _int), "adaptive dynamics, forces")
def resettle_kernel(desk, store, i):
    """Node i, rigid, and those above it as far as they are rigid: after a force in it changed."""
    t, _ = open_desk(desk)
    s = open_store(store)
    while i >= 0 and not s.flags[i]:
        become_rigid(desk, store, i)
        i = t.up[i]


@kernel(types.void(_int, _int, types.int64[::1], types.float64[:, ::1]), "adaptive dynamics, poses", nogil=True)
def poses_kernel(desk, store, bodies, out):
    """Poses in the world of some bodies, twelve numbers each, after energy_kernel; and their reduced bodies."""
    t, d = open_desk(desk)
    s = open_store(store)
    for x in range(bodies.shape[0]):
        rb, R, r = find_piece(t, d, s, CURRENT, t.leaf_of[bodies[x]])
        S, o = load_pose(s.world, POSE * rb)
        R, r = compose(S, o, R, r)
        for k in range(3):
            out[x, k], out[x, 3 + k], out[x, 6 + k], out[x, 9 + k] = R.r0[k], R.r1[k], R.r2[k], r[k]


@kernel(_float(_int), "adaptive dynamics, momenta")
def momenta_kernel(store):
    return momenta(store)


@kernel(_float(_int), "adaptive dynamics, velocities")
def velocities_kernel(store):
    energy, _ = velocities_of(store)
    return energy
