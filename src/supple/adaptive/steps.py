"""Steps of adaptive dynamics in compiled code: plain ones, and those with an active region update [AD section 5.1].

A step is that of kick.py. An update takes place in its middle: the active joints have moved half a step, accelerations
are examined there, velocities change and joints are stopped, and those that remain move the other half.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.articulated import rest_force, update_articulated_body
from supple.adaptive.choose import GUARANTEED, certify_whole, choose_active_region, find_update_region, is_met
from supple.adaptive.hybrid_closing import begin_closing, close_loops
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.keeping import fastest, is_unstable
from supple.adaptive.kick import (
    drift,
    imposed_kick,
    kick,
    predict,
    swap_velocities,
)
from supple.adaptive.loop_certificate import certified_kick
from supple.adaptive.loop_choice import accelerate_whole
from supple.adaptive.loop_units import choose_region, find_region
from supple.adaptive.memory import CURRENT, HELD, UPDATE, HybridBody
from supple.adaptive.momenta import momenta, velocities_of
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import find_piece
from supple.adaptive.rigidifying import become_rigid, rigidify
from supple.assembly.passes import renew
from supple.assembly.poses import compose, pose_at, renew_span
from supple.assembly.tree import JOIN, LIGHT
from supple.integrating.projecting import CLOSED, OPEN
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel
from supple.spatial.rows import store_mat, store_vec

DONE, SINGULAR, UNSTABLE, NOT_FINITE, BROKEN = range(5)  # how a run ended
FIXED = 2  # a mode of a run (choose.py and keeping.py have the others): a fixed set of active joints


@helper
def is_new(hybrid):
    """Whether the acceleration update region contains a node that is not active, or whose joint is not."""
    found = False
    for k in range(hybrid.n_expanded):
        found = found or hybrid.flags[hybrid.expanded[k]] & (CURRENT | HELD) != CURRENT
    return found


@helper
def kick_some(hybrid):
    """The kick of an update: the acceleration update region is found, and velocities change. Returns the smallest
    pivot, and the sum of squares of the velocities."""
    tree = hybrid.body.tree
    find_update_region(hybrid)
    if is_new(hybrid):
        form_hybrid_body(hybrid, CURRENT | UPDATE)
    m, x = open_reduced(hybrid)
    if hybrid.ways & GUARANTEED and is_met(hybrid):  # accelerations of the articulated body, and zero elsewhere
        for b in range(m.n):
            flags = hybrid.flags[tree.node_of[hybrid.joints[b]]]
            for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                if not flags & UPDATE:
                    x.qdd[k] = 0.0
                if flags & (CURRENT | HELD) != CURRENT:
                    x.half[k] = 0.0
        return 1.0, imposed_kick(hybrid)
    smallest, squares = kick(hybrid)
    if hybrid.ways & GUARANTEED:  # all joints were reached: only rounding is left
        certify_whole(hybrid, m)
    return smallest, squares


@helper
def kick_with_loops(hybrid):
    """The same for a body with loops."""
    if hybrid.ways & GUARANTEED:
        return 1.0, certified_kick(hybrid)
    find_region(hybrid)
    return kick(hybrid)


@helper
def accelerate_all(hybrid):
    """What is needed to choose joints by the accelerations of the fully articulated body. Returns the smallest
    pivot."""
    if hybrid.has_loops:
        return accelerate_whole(hybrid)
    return update_articulated_body(hybrid)


@kernel(types.float64(HybridBody.type), "active region update", effort=2, nogil=True)
def update_active_region(hybrid):
    """The middle of a step with an active region update. Returns how it ended."""
    m, x = open_reduced(hybrid)
    ways = hybrid.ways
    if ways & GUARANTEED:  # for the velocities at which the accelerations will be used
        if not predict(hybrid) > 0.0:
            return SINGULAR
        swap_velocities(m, x)
    smallest = accelerate_all(hybrid)
    if ways & GUARANTEED:
        swap_velocities(m, x)
    if not smallest > 0.0:
        return SINGULAR
    smallest, squares = kick_with_loops(hybrid) if hybrid.has_loops else kick_some(hybrid)
    m, x = open_reduced(hybrid)
    if ways & GUARANTEED:
        for k in range(hybrid.n_seen):
            i = hybrid.seen[k]
            if hybrid.flags[i]:
                hybrid.flags[i] = CURRENT if hybrid.flags[i] & UPDATE else hybrid.flags[i]
    if not math.isfinite(squares):
        hybrid.worst = fastest(m, hybrid, x)
        return NOT_FINITE
    if not smallest > 0.0:
        return SINGULAR
    if not ways & GUARANTEED:
        count = choose_region(hybrid) if hybrid.has_loops else choose_active_region(hybrid)
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
            if hybrid.n_loop_rows > 0 or (hybrid.has_loops and updating):
                begin_closing(hybrid, m, x, updating)
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
