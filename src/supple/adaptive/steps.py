"""Steps of adaptive dynamics in compiled code: plain ones, and those with an active region update [AD section 5.1].

A step is that of kick.py. An update takes place in its middle: the active joints have moved half a step, accelerations
are examined there, velocities change and joints are stopped, and those that remain move the other half.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.articulated import rest_force, update_articulated_body
from supple.adaptive.choose import GUARANTEED, certify_whole, choose_active_region, find_update_region, is_met
from supple.adaptive.hybrid_closing import close_loops
from supple.adaptive.hybrid_places import place_loops
from supple.adaptive.keeping import fastest, is_unstable
from supple.adaptive.kick import (
    drift,
    imposed_kick,
    kick,
    predict,
    swap_velocities,
)
from supple.adaptive.memory import CHOSEN, CURRENT, HELD, HOLD, UPDATE, HybridBody
from supple.adaptive.momenta import IMPULSE, MOMENTUM, momenta, project, velocities_of
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import build_reduced, find_piece, place_pushes, settle
from supple.assembly.passes import renew
from supple.assembly.poses import compose, pose_at, renew_span
from supple.assembly.tree import JOIN, LIGHT
from supple.integrating.projecting import CLOSED, OPEN
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel
from supple.spatial.rows import store_mat, store_vec

DONE, SINGULAR, UNSTABLE, NOT_FINITE, BROKEN = range(5)  # how a run ended
FIXED = 2  # a mode of a run (choose.py and keeping.py have the others): a fixed set of active joints


@kernel(types.float64(HybridBody.type, types.int64), "hybrid body", effort=2, nogil=True)
def form_hybrid_body(hybrid, mask):
    """The reduced tree of a region, and the forces on it."""
    m, x = open_reduced(hybrid)
    build_reduced(hybrid, m, x.angles, mask, hybrid.queue)
    place_pushes(hybrid, mask, hybrid.queue)
    if hybrid.has_loops:
        place_loops(hybrid, mask)
    return 0.0


@kernel(types.float64(HybridBody.type, types.int64), "nodes that become rigid", effort=5, nogil=True)
def become_rigid(hybrid, i):
    tree = hybrid.body.tree
    _, x = open_reduced(hybrid)
    kind = tree.kind[i]
    if kind in (JOIN, LIGHT):
        rest_force(hybrid, x, tree.item[i])
    settle(hybrid, i)
    return 0.0


@helper
def is_new(hybrid):
    """Whether the acceleration update region contains a node that is not active, or whose joint is not."""
    found = False
    for k in range(hybrid.n_expanded):
        found = found or hybrid.flags[hybrid.expanded[k]] & (CURRENT | HELD) != CURRENT
    return found


@kernel(types.float64(HybridBody.type, types.int64), "rigidification", nogil=True)
def rigidify(hybrid, dropped):
    """Make the chosen region the active one, instead of the transient one [AD section 5.4.2]; dropped: some of its
    joints stop.

    AD solves for the impulses that stop them. The velocities after these impulses are those with which the remaining
    joints have the same momenta as before: one inward pass and one solution, O(active joints), instead of a matrix of
    impulses. Returns the smallest pivot.

    The kick was for the whole step, but the stopped joints do not move in its second half: forces have given them more
    energy than they do work along the way, by 1/2 h (H a - pushes and dampers, which are counted before) (v' - v'').
    """
    tree = hybrid.body.tree
    m, x = open_reduced(hybrid)
    before, more = 0.0, 0.0
    if dropped:
        before = 0.5 * project(hybrid, MOMENTUM)  # the kick has placed the bodies
        more = project(hybrid, IMPULSE)
    changed = False
    for k in range(hybrid.n_seen - 1, -1, -1):
        i = hybrid.seen[k]
        flags = hybrid.flags[i]
        chosen = (flags & CHOSEN) != 0
        if flags & CURRENT and not chosen:
            become_rigid(hybrid, i)
        changed = changed or chosen != ((flags & (CURRENT | UPDATE)) != 0) or (flags & HOLD) != 0
        hybrid.flags[i] = 0 if not chosen else CURRENT | HELD if flags & HOLD else CURRENT
    if not changed:
        return 1.0
    for b in range(m.n):
        if hybrid.flags[tree.node_of[hybrid.joints[b]]] != CURRENT:
            for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                x.v[k] = 0.0
            hybrid.dropped[hybrid.n_dropped] = hybrid.joints[b]
            hybrid.n_dropped += 1
    form_hybrid_body(hybrid, CURRENT)
    smallest = 1.0
    if dropped:
        after, smallest = velocities_of(hybrid)
        m, x = open_reduced(hybrid)
        for b in range(m.n):
            for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                more -= x.impulse[k] * x.v[k]
        hybrid.removed += before - after
        hybrid.stopped += before - after - 0.5 * hybrid.dt * more
    return smallest


@kernel(types.float64(HybridBody.type), "active region update", effort=2, nogil=True)
def update_active_region(hybrid):
    """The middle of a step with an active region update. Returns how it ended."""
    tree = hybrid.body.tree
    m, x = open_reduced(hybrid)
    ways = hybrid.ways
    if ways & GUARANTEED:  # for the velocities at which the accelerations will be used
        if not predict(hybrid) > 0.0:
            return SINGULAR
        swap_velocities(m, x)
    smallest = update_articulated_body(hybrid)
    if ways & GUARANTEED:
        swap_velocities(m, x)
    if not smallest > 0.0:
        return SINGULAR
    find_update_region(hybrid)
    if is_new(hybrid):
        form_hybrid_body(hybrid, CURRENT | UPDATE)
        m, x = open_reduced(hybrid)
    if ways & GUARANTEED and is_met(hybrid):  # accelerations of the articulated body, and zero elsewhere
        for b in range(m.n):
            flags = hybrid.flags[tree.node_of[hybrid.joints[b]]]
            for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                if not flags & UPDATE:
                    x.qdd[k] = 0.0
                if flags & (CURRENT | HELD) != CURRENT:
                    x.half[k] = 0.0
        squares = imposed_kick(hybrid)
    else:
        smallest, squares = kick(hybrid)
    if ways & GUARANTEED:
        for k in range(hybrid.n_seen):
            i = hybrid.seen[k]
            if hybrid.flags[i]:
                hybrid.flags[i] = CURRENT if hybrid.flags[i] & UPDATE else hybrid.flags[i]
        if not is_met(hybrid):  # all joints were reached: only rounding is left
            certify_whole(hybrid, m)
    if not math.isfinite(squares):
        hybrid.worst = fastest(m, hybrid, x)
        return NOT_FINITE
    if not smallest > 0.0:
        return SINGULAR
    if not ways & GUARANTEED:
        count = choose_active_region(hybrid)
        if not rigidify(hybrid, count < m.n) > 0.0:
            return SINGULAR
    return DONE


@helper
def plain_kick(hybrid):
    """The middle of any other step. Returns how it ended."""
    smallest, squares = kick(hybrid)
    if not smallest > 0.0:
        return SINGULAR
    if not math.isfinite(squares):
        m, x = open_reduced(hybrid)
        hybrid.worst = fastest(m, hybrid, x)
        return NOT_FINITE
    return DONE


@helper
def close(hybrid, moving):
    """Close loops, if there are any [hybrid_closing.py]. Returns how it ended."""
    if hybrid.n_loop_rows == 0:
        return DONE
    left = close_loops(hybrid, moving)
    return DONE if left == CLOSED else BROKEN if left == OPEN else SINGULAR


_int, _float, _hybrid = types.int64, types.float64, HybridBody.type


@kernel(_int(_hybrid, _int, _float), "adaptive dynamics", effort=2, nogil=True)
def run_kernel(hybrid, steps, dt):
    """Perform a number of steps. Returns how the run ended."""
    hybrid.dt = dt
    for _ in range(steps):
        updating = hybrid.due <= 0
        fixed = hybrid.ways & FIXED
        ended = UNSTABLE if is_unstable(hybrid) else DONE
        if ended == DONE:
            m, x = open_reduced(hybrid)
            drift(hybrid, m, x, x.v, 0.5 * dt)
            ended = close(hybrid, False)
        if ended == DONE:
            ended = int(update_active_region(hybrid)) if updating and not fixed else plain_kick(hybrid)
        if ended == DONE:
            m, x = open_reduced(hybrid)
            drift(hybrid, m, x, x.v, 0.5 * dt)
            ended = close(hybrid, True)
        if ended != DONE:
            return ended
        hybrid.steps += 1
        hybrid.time += dt
        if updating:
            hybrid.updates += 1
            hybrid.due = hybrid.every
        hybrid.due -= 1
        hybrid.unchecked += 1
    return DONE


@kernel(_float(_hybrid), "adaptive dynamics, assembly", effort=6, nogil=True)
def build_kernel(hybrid):
    """Compute all coefficients of all nodes, bottom-up, and the reduced tree. Returns the smallest pivot."""
    body, tree = hybrid.body, hybrid.body.tree
    _, x = open_reduced(hybrid)
    smallest = 1.0e300
    for i in range(tree.n_nodes):
        kind = tree.kind[i]
        if kind == JOIN and tree.open[i]:
            renew_span(body, i)
        if kind in (JOIN, LIGHT):
            rest_force(hybrid, x, tree.item[i])
        pivot = renew(body, i, True, True)
        if not pivot >= smallest:
            smallest = pivot
            hybrid.worst = i
        become_rigid(hybrid, i)
    return smallest


@kernel(types.void(_hybrid, _int), "adaptive dynamics, forces")
def resettle_kernel(hybrid, i):
    """Update rigid node i, and the nodes above it as long as they are rigid, after a force in it changed."""
    tree = hybrid.body.tree
    while i >= 0 and not hybrid.flags[i]:
        become_rigid(hybrid, i)
        i = tree.up[i]


@kernel(types.void(_hybrid, types.int64[::1], types.float64[:, ::1]), "adaptive dynamics, poses", nogil=True)
def poses_kernel(hybrid, bodies, out):
    """World poses of some bodies, twelve numbers each, after energy_kernel; and their reduced bodies."""
    tree = hybrid.body.tree
    for x in range(bodies.shape[0]):
        rb, R, r = find_piece(hybrid, CURRENT, tree.leaf_of[bodies[x]])
        S, o = pose_at(hybrid.world, rb)
        R, r = compose(S, o, R, r)
        store_mat(out, x, 0, R)
        store_vec(out, x, 9, r)


@kernel(_float(_hybrid), "adaptive dynamics, momenta")
def momenta_kernel(hybrid):
    return momenta(hybrid)


@kernel(_float(_hybrid), "adaptive dynamics, velocities")
def velocities_kernel(hybrid):
    energy, _ = velocities_of(hybrid)
    return energy
