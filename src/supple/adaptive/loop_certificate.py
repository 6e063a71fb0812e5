"""The kick of guaranteed=True for bodies with loops: velocities change by accelerations whose error is certified.

The accelerations a of all joints with loops closed are known [loop_choice.py], and by how much rounding may have
changed them [loop_rounding.py]. As many joints are treated as zero as the error allows, the smallest first, but not
those that move already. Zeros violate the equations of rows, G a = g. So the others are changed by the least motion, in
the metric of the hybrid body's H, that satisfies them again,

    H da = G^T x        G da = g - G a~

and the difference from a, which is known for every joint, is what is certified. Where it is larger than allowed, fewer
joints are treated as zero, and in the end none.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.choose import allowed
from supple.adaptive.hybrid_closing import respond
from supple.adaptive.hybrid_fronts import accelerate_ends, still_missing
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.hybrid_rows import read_rows
from supple.adaptive.kick import imposed_kick, swap_velocities
from supple.adaptive.loop_region import measure_joints, take_largest
from supple.adaptive.loop_rounding import find_rounding, norm
from supple.adaptive.loop_units import ALL, copy_joints, settle_units
from supple.adaptive.memory import CURRENT, HELD, UPDATE, HybridBody
from supple.adaptive.reduced import without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel

FIRST, FEWER, ATTEMPTS = 0.7, 0.25, 4  #: shares of the error allowed, that joints treated as zero may take
SOLVED = 1e-6  #: of what rows have to accelerate: no more than this may be left
ROUNDING = 1e-11  #: of all accelerations: rows that lack no more than this are left


@helper
def want(hybrid):
    """The accelerations wanted of the hybrid body, into x.qdd; joints that have not moved yet have no velocity."""
    m, x = open_reduced(hybrid)
    tree, wanted = hybrid.body.tree, hybrid.closing.wanted
    for b in range(m.n):
        flags = hybrid.flags[tree.node_of[hybrid.joints[b]]]
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.qdd[k] = wanted[k]
            if flags & (CURRENT | HELD) != CURRENT:
                x.half[k] = 0.0


@helper
def missing(m, x, held):
    """How much rows have to accelerate beyond x.qdd, into `numbers`. Returns the largest."""
    for b in range(m.n):
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            held.found[k] = 0.0
    accelerate_ends(m, x, held, True)
    most, _ = still_missing(x, held)
    return most


@helper
def obey_rows(hybrid, size):
    """Change x.qdd by the least motion with which rows accelerate as they should, at the velocities x.half. size: of
    all accelerations. Returns whether they do."""
    m, x = open_reduced(hybrid)
    held = hybrid.closing
    swap_velocities(m, x)
    without_joints(hybrid, True, False, False)
    read_rows(hybrid, False)
    swap_velocities(m, x)
    needed = missing(m, x, held)
    if needed <= ROUNDING * size:
        return True
    for r in range(held.loops.n_rows):
        held.loops.rows[r].g = held.numbers[r]
    copy_joints(m, x.qdd, x.gain)
    without_joints(hybrid, False, False, False)
    if not respond(hybrid, m, x, 1.0) > 0.0:
        return False
    left = missing(m, x, held)
    for b in range(m.n):
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.qdd[k] += x.gain[k]
    return left <= max(SOLVED * needed, ROUNDING * size)


@helper
def difference(hybrid):
    """The root of the metric of the accelerations wanted, less x.qdd of the hybrid body and zero elsewhere."""
    m, x = open_reduced(hybrid)
    held = hybrid.closing
    for j in range(x.nv):
        held.probe[j] = held.wanted[j]
    for b in range(m.n):
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            held.probe[k] -= x.qdd[k]
    return norm(hybrid, held.probe)


@helper
def take_some(hybrid, count, left):
    """Select joints until those that neither move nor are selected have at most `left`, and form the hybrid body of
    them all. Returns how many there are."""
    before = count
    count = take_largest(hybrid, UPDATE, left * left, count)
    if left > 0.0 and count > before:
        return settle_units(hybrid, UPDATE, left * left, count, ALL)
    form_hybrid_body(hybrid, CURRENT | UPDATE)
    return count


@kernel(types.float64(HybridBody.type), "certified kick with loops", effort=2, nogil=True)
def certified_kick(hybrid):
    """New velocities, after accelerate_whole at the velocities of the middle of the step, which are x.half again.
    Returns the sum of squares of the velocities."""
    m, x = open_reduced(hybrid)
    tree, held = hybrid.body.tree, hybrid.closing
    swap_velocities(m, x)
    floor = find_rounding(hybrid)
    swap_velocities(m, x)
    hybrid.acceleration_total = measure_joints(hybrid, held.wanted, tree.weight, UPDATE)
    size = math.sqrt(hybrid.acceleration_total)
    hybrid.acceleration_least = max(size - floor, 0.0) ** 2
    most = math.sqrt(allowed(hybrid, hybrid.reach_error, hybrid.acceleration_least))
    count, share, off = m.n, FIRST, math.inf
    for b in range(m.n):
        hybrid.flags[tree.node_of[hybrid.joints[b]]] |= UPDATE
    for attempt in range(ATTEMPTS + 1):
        last = attempt == ATTEMPTS or not floor < most
        count = take_some(hybrid, count, 0.0 if last else share * (most - floor))
        want(hybrid)
        if last or hybrid.n_loop_rows == 0 or obey_rows(hybrid, size):
            off = difference(hybrid)
        if last or off + floor <= most:
            break
        share, off = share * FEWER, math.inf
    hybrid.n_reached = count
    hybrid.acceleration_rest = (off + floor) ** 2
    return imposed_kick(hybrid)
