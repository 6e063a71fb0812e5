"""Back to where the loops of the hybrid body are closed, as integrating/projecting.py does for whole bodies: positions,
by the least motion of the active joints in the metric of the reduced tree, and velocities.

    H dq = G^T x,  G dq = -phi        H dv = G^T x,  G dv = -G v

On the way to a closed position, factors of H and G are those of where it begins, as long as the gap becomes much
smaller with them.

A step is half a drift, a kick and half a drift. Positions are brought back after both drifts: the kick is at a closed
position, where redundant rows are seen to be redundant. A drift with velocities that are right at one of its ends
leaves the closed positions by terms in h^2, those before and after the kick in opposite directions.

**Shaky positions.** Where some joints of a loop are rigid, rows may depend on each other at a position that the others
cannot leave: velocities are allowed there, but positions would have to be taken back in every step, and velocities
would grow for ever. What closing takes back of the motion of a step, along directions that velocities are allowed, is
therefore taken from the velocities, too: a body at rest stays at rest. Elsewhere it is nothing but terms in h^4. With
it goes the energy that such a step has gained, by work against forces on the way back and by inertias that differ
there; what is left of this, if anything, is taken from all velocities alike.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from supple.adaptive.hybrid_fronts import goes_by_fronts, rounding_of
from supple.adaptive.hybrid_rows import hold_rows, read_rows
from supple.adaptive.kick import drift, swap_velocities
from supple.adaptive.ledger import balance
from supple.adaptive.memory import HybridBody
from supple.adaptive.momenta import MOMENTUM, across, project
from supple.adaptive.reduced import joint_passes, without_joints, zero
from supple.adaptive.reduced_tree import open_reduced
from supple.exact.aba import accelerate_joints
from supple.exact.closure import find_relations, find_rows
from supple.exact.front_rows import tell_rows
from supple.exact.motion import joint_of
from supple.integrating.projecting import (
    CLOSED,
    FIRST_SHARE,
    LARGE,
    LARGEST,
    LOST,
    MOST,
    OPEN,
    STRICTER,
    STRICTEST,
    STUCK,
)
from supple.model.joint_poses import DOF
from supple.model.joints import NQ
from supple.spatial.algebra import Motion, shift_motion
from supple.spatial.compiler import helper, kernel

ENOUGH = 50.0  #: a gap that is as many times too large is refused
NEARLY = 10.0  #: one that is as many times too large is left, if a step does not make it smaller
NEAR = 0.1  #: where a step makes the gap as many times smaller, the next one has the same factors
TAKEN = 0.01  #: of the motion of a step: less than this is not taken back
GAINED = 0.1  #: of the kinetic energy: a step that gains more is unstable


@helper
def least_gap(hybrid, m, x):
    """How far loops may stay open: more where coordinates are so large that their rounding opens them."""
    most = 0.0
    for b in range(m.n):
        for i in range(m.bodies[b].iq, m.bodies[b].iq + NQ[m.bodies[b].kind]):
            most = max(most, abs(x.q[i]))
    return hybrid.closing.closed * (1.0 + min(most, LARGEST) / LARGE)


@helper
def find_gap(held):
    """The widest gap, and its row."""
    held.left, held.worst = 0.0, held.from_row[0]
    for r in range(held.loops.n_rows):
        gap = abs(held.loops.rows[r].phi)
        if not gap <= held.left:
            held.left, held.worst = gap, held.from_row[r]


@helper
def begin_closing(hybrid, m, x, updating):
    """Before a step. updating: joints that do not move yet may be active in its second half."""
    held = hybrid.closing
    held.balance = balance(hybrid, m)
    if updating:
        for j in range(x.nv):
            held.pulled[j] = 0.0
    else:
        for b in range(m.n):
            for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                held.pulled[j] = 0.0


@helper
def respond(hybrid, m, x, share):
    """The motion, in x.qdd, by which rows move as their g says. Returns the smallest pivot."""
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.momentum[j] = 0.0
    tell_rows(hybrid.closing, share)
    return joint_passes(hybrid, False)


@helper
def respond_again(hybrid, m, x):
    """The same with the factors of a position nearby."""
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.work.dofs[j].u = 0.0
    hold_rows(hybrid)
    accelerate_joints(m, x.zeros, x.qdd, x.work)


@helper
def move_ends(hybrid, m, x, v):
    """The velocities of bodies at ends of loops, at joint velocities v, where bodies are placed."""
    path, loops = x.work.path, hybrid.closing.loops
    path[0].V = Motion(zero(), zero())
    for b in range(m.n):
        i, p, kind, j = joint_of(m, b)
        V = shift_motion(x.work.bodies[b].r, path[p].V) + across(kind, x.work.bodies[b].z, x.work.S, j, v)
        path[i].V = V
        if loops.captured[b] >= 0:
            loops.motions[loops.captured[b]].V = V


@kernel(types.int64(HybridBody.type, types.int64), "closing loops of the hybrid body", effort=2, nogil=True)
def close_loops(hybrid, moving):
    """Close the loops by a motion of the active joints; moving: and make their velocities keep them closed."""
    if hybrid.n_loop_rows == 0:
        return CLOSED
    m, x = open_reduced(hybrid)
    held = hybrid.closing
    before, share, least, polished, factored = np.inf, FIRST_SHARE, least_gap(hybrid, m, x), False, False
    held.redundant = 0
    for _ in range(MOST):
        without_joints(hybrid, False, False, False)
        read_rows(hybrid, False)
        find_gap(held)
        gap = held.left
        if gap <= least:
            if polished or held.redundant == 0:
                break
            polished = True
        elif (gap <= NEARLY * least and gap > STUCK * before) or (share < STRICTEST and gap <= ENOUGH * least):
            break
        if gap > STUCK * before:
            share *= STRICTER
        for r in range(held.loops.n_rows):
            held.loops.rows[r].g = -held.loops.rows[r].phi
        held.rounding = least / held.loops.size
        if factored and gap <= NEAR * before and not goes_by_fronts(hybrid):
            respond_again(hybrid, m, x)
        elif not respond(hybrid, m, x, share) > 0.0:
            return LOST
        factored = True
        drift(hybrid, m, x, x.qdd, 1.0)
        for b in range(m.n):
            for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                held.pulled[j] += x.qdd[j]
        before = gap
    if not held.left <= ENOUGH * least:
        return OPEN
    return close_velocities(hybrid, m, x) if moving else CLOSED


@helper
def close_velocities(hybrid, m, x):
    """At a position that is closed."""
    if not allow(hybrid, m, x, x.v, True) > 0.0:
        return LOST
    held, taken, motion = hybrid.closing, 0.0, 0.0
    if held.redundant == 0:
        return CLOSED
    allow(hybrid, m, x, held.pulled, False)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            taken += held.pulled[j] * held.pulled[j]
            motion += x.v[j] * x.v[j]
    if taken > (TAKEN * hybrid.dt) ** 2 * motion:
        slow_down(hybrid, m, x, take_back(hybrid, m, x))
    return CLOSED


@helper
def take_back(hybrid, m, x):
    """Add to the velocities those of `pulled`, as far as that makes the kinetic energy smaller; and more of them, if it
    is not smaller by the energy that the step has gained. Returns how much of this is left."""
    held, along = hybrid.closing, 0.0
    gained = balance(hybrid, m) - held.balance
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.half[j] = held.pulled[j] / hybrid.dt
    swap_velocities(m, x)
    square = project(hybrid, MOMENTUM)
    swap_velocities(m, x)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            along -= x.momentum[j] * x.v[j]
    if not along > 0.0:
        return gained
    left = along * along - 2.0 * square * max(gained, 0.0)
    enough = (along - math.sqrt(max(left, 0.0))) / square
    share = min(max(1.0, enough), along / square)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.v[j] += share * x.half[j]
    less = (along - 0.5 * square * share) * share
    hybrid.kinetic -= less
    return gained - less


@helper
def slow_down(hybrid, m, x, gained):
    """Take energy from all velocities alike, unless it is so much that the step is too long."""
    if not 0.0 < gained < GAINED * hybrid.kinetic:
        return
    share = math.sqrt(1.0 - gained / hybrid.kinetic)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.v[j] *= share


@helper
def allow(hybrid, m, x, v, anew):
    """Change velocities v to the nearest that keep loops closed. anew: with new factors. Returns the smallest pivot."""
    held, smallest = hybrid.closing, 1.0
    move_ends(hybrid, m, x, v)
    find_rows(held.loops)
    find_relations(held.loops, x.q, v)
    for r in range(held.loops.n_rows):
        held.loops.rows[r].g = -held.loops.rows[r].rate
    held.rounding = rounding_of(held.loops, True)
    if anew:
        smallest = respond(hybrid, m, x, 1.0)
    else:
        respond_again(hybrid, m, x)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            v[j] += x.qdd[j]
    return smallest
