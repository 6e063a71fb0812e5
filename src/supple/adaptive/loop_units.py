"""Joints that cannot move without others: all those of a plane four-bar linkage, two that a relation couples.

Of the joints selected [loop_region.py], some may be *stuck*: whatever forces act, loops and relations let no motion of
the hybrid body move them [loop_motions.py]. Joints of the loops and relations that hold them are then selected as
well, the largest first, until there is one more degree of freedom than rows, or all joints of the loop. If there is no
room for that, the stuck ones are left out, and the next joints are selected instead. Loops and relations may have
joints in common, as gears in series have: joints that are stuck after a few rounds of this are selected with all that
they hang together with, or left out. In the end, the room that is left is filled [loop_filling.py].
"""

from __future__ import annotations

from numba import types

from supple.adaptive.choose import allowed
from supple.adaptive.heap import pop, push
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.loop_filling import fill_room, moves_with
from supple.adaptive.loop_motions import find_stuck
from supple.adaptive.loop_region import (
    descend,
    is_taken,
    leave,
    may_move,
    measure_joints,
    metric_left,
    take,
)
from supple.adaptive.memory import CHOSEN, CURRENT, PINNED, UPDATE, HybridBody
from supple.adaptive.reduced import without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import settle_inertia
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel

ALL = 1 << 60  #: joints may be selected, if there is no limit
ROUNDS = 8  #: of completing single units, and then of completing those that hang together, or leaving joints out
NEAR = 2  #: the mark of a joint that is not stuck, but in a unit with one that is, or NEAR
NOTHING = 1e-30  #: of squared velocities, weighted: which joints of a loop these move is a matter of rounding


# --- the joints of a loop or of a relation ------------------------------------------------------------------------


@helper
def begin_unit(hybrid, unit):
    """Where the way along a unit begins: the bodies at both ends of a loop, or the terms of a relation."""
    held = hybrid.closing
    if unit < held.whole.n_loops:
        ends = held.whole.loops[unit].ends
        return ends[0].body, ends[1].body
    k = unit - held.whole.n_loops
    return held.relation_start[k], held.relation_start[k + 1]


@helper
def next_joint(hybrid, unit, a, b):
    """The next joint along the way, or -1 at its end; and the way from there."""
    held = hybrid.closing
    if a == b:
        return -1, a, b
    if unit >= held.whole.n_loops:
        return held.term_joint[a], a + 1, b
    bodies = held.call.model.bodies
    if a > b:
        return a, bodies[a].parent, b
    return b, a, bodies[b].parent


@helper
def rows_of(held, unit):
    return 6 - DOF[held.whole.loops[unit].kind] if unit < held.whole.n_loops else 1


@helper
def survey(hybrid, unit, flag):
    """The metric of the stuck joints of a unit, how many they are, the degrees of freedom of its joints that move, the
    joint with the largest metric that may be selected as well, or -1, and how many are barred."""
    tree, held = hybrid.body.tree, hybrid.closing
    a, b = begin_unit(hybrid, unit)
    weight, count, dofs, largest, best, barred = 0.0, 0, 0, -1, -1.0, 0
    j, a, b = next_joint(hybrid, unit, a, b)
    while j >= 0:
        amount = hybrid.amount[tree.node_of[j]]
        if held.stuck[j]:
            weight, count = weight + amount, count + 1
        if moves_with(hybrid, j, flag):
            dofs += DOF[tree.joint[j]]
        elif held.barred[j]:
            barred += 1
        elif may_move(hybrid, j, flag) and amount > best:
            largest, best = j, amount
        j, a, b = next_joint(hybrid, unit, a, b)
    return weight, count, dofs, largest, barred


@helper
def bar_stuck(hybrid, unit):
    """Leave out the stuck joints of a unit for good."""
    held = hybrid.closing
    a, b = begin_unit(hybrid, unit)
    j, a, b = next_joint(hybrid, unit, a, b)
    while j >= 0:
        if held.stuck[j]:
            held.barred[j] = 1
        j, a, b = next_joint(hybrid, unit, a, b)


@helper
def complete(hybrid, unit, flag, count, most):
    """Select joints of a unit, as many as it needs; if there is no room for them, none. Returns how many are selected
    in all."""
    held, added, rows = hybrid.closing, 0, rows_of(hybrid.closing, unit)
    _, _, dofs, j, barred = survey(hybrid, unit, flag)
    while j >= 0 and dofs <= rows and count + added < most:
        take(hybrid, j, flag)
        held.added[added] = j
        added += 1
        _, _, dofs, j, barred = survey(hybrid, unit, flag)
    if dofs > rows or (j < 0 and barred == 0):
        return count + added
    for k in range(added):
        leave(hybrid, held.added[k], flag)
    bar_stuck(hybrid, unit)
    return count


@helper
def leave_all_stuck(hybrid, flag, count):
    """Select stuck joints no longer, unless they are pinned. Returns how many joints are still selected."""
    tree, held = hybrid.body.tree, hybrid.closing
    for j in range(tree.n):
        if held.stuck[j] and is_taken(hybrid, j, flag) and hybrid.must[tree.node_of[j]] != PINNED:
            leave(hybrid, j, flag)
            count -= 1
    return count


@helper
def settle_once(hybrid, flag, count, most):
    """Complete the units with stuck joints, those with the largest metric a joint first; where joints are limited,
    leave the others out. Returns how many are selected."""
    held, n = hybrid.closing, 0
    for unit in range(held.whole.n_loops + held.n_relations):
        weight, stuck, dofs, _, _ = survey(hybrid, unit, flag)
        if stuck > 0:
            key = weight / (stuck + max(rows_of(held, unit) + 1 - dofs, 0))
            n = push(held.units, held.unit_keys, n, unit, key)
    if most < ALL:
        count = leave_all_stuck(hybrid, flag, count)
    while n > 0:
        unit = held.units[0]
        n = pop(held.units, held.unit_keys, n)
        count = complete(hybrid, unit, flag, count, most)
    return count


@helper
def spread(hybrid, unit):
    """Mark all joints of a unit as NEAR, if one of them is stuck or NEAR. Returns whether that is new to any."""
    held, marked, others = hybrid.closing, False, False
    for writing in range(2):
        a, b = begin_unit(hybrid, unit)
        j, a, b = next_joint(hybrid, unit, a, b)
        while j >= 0:
            if held.stuck[j]:
                marked = True
            else:
                others = True
                held.stuck[j] = NEAR if writing else 0
            j, a, b = next_joint(hybrid, unit, a, b)
        if not (marked and others):
            return False
    return True


@helper
def settle_groups(hybrid, flag, count, most):
    """Select all joints of the units with stuck joints, of the units that have joints in common with those, and so on.
    If there is no room for them, leave out the stuck ones for good. Returns how many are selected."""
    tree, held, spreads, more = hybrid.body.tree, hybrid.closing, True, 0
    units = held.whole.n_loops + held.n_relations
    while spreads:
        spreads = False
        for k in range(2 * units):  # there and back
            spreads = spread(hybrid, min(k, 2 * units - 1 - k)) or spreads
    for j in range(tree.n):
        if held.stuck[j] and may_move(hybrid, j, flag) and not is_taken(hybrid, j, flag):
            more += 1
    room = count + more <= most
    for j in range(tree.n):
        if room and held.stuck[j] and may_move(hybrid, j, flag) and not is_taken(hybrid, j, flag):
            take(hybrid, j, flag)
        if held.stuck[j] == NEAR:
            held.stuck[j] = 0
        elif held.stuck[j] and not room:
            held.barred[j] = 1
    return count + more if room else leave_all_stuck(hybrid, flag, count)


@helper
def settle_rounds(hybrid, flag, error, count, most, mask):
    """Complete units or leave them out, and select other joints, until none is stuck. Returns how many are selected."""
    form_hybrid_body(hybrid, mask)
    for r in range(2 * ROUNDS + 1):
        if find_stuck(hybrid) == 0:
            return count
        before = count
        if r < ROUNDS:
            count = settle_once(hybrid, flag, count, most)
        if r >= ROUNDS or (most == ALL and count == before):
            count = settle_groups(hybrid, flag, count, most)
        if r == 2 * ROUNDS or (most == ALL and count == before):  # without them the others move as they do with them
            count = leave_all_stuck(hybrid, flag, count)
            form_hybrid_body(hybrid, mask)
            return count
        if most < ALL:
            count = descend(hybrid, flag, error, count, most)
        form_hybrid_body(hybrid, mask)
    return count


_int = types.int64


@kernel(_int(HybridBody.type, _int, types.float64, _int, _int), "joints of loops", effort=2, nogil=True)
def settle_units(hybrid, flag, error, count, most):
    """Let no joint be selected that cannot move, as far as others can be selected instead, and form the hybrid body of
    those selected. Returns how many there are."""
    mask = CURRENT | UPDATE if flag == UPDATE else CHOSEN
    count = settle_rounds(hybrid, flag, error, count, most, mask)
    return fill_room(hybrid, flag, count, most) if count < most < ALL else count


# --- regions ------------------------------------------------------------------------------------------------------


@kernel(types.void(HybridBody.type), "acceleration update region with loops", nogil=True)
def find_region(hybrid):
    """The acceleration update region: joints with the flag UPDATE; and the transient hybrid body."""
    tree = hybrid.body.tree
    moving = hybrid.n_joints
    total = measure_joints(hybrid, hybrid.closing.wanted, tree.weight, UPDATE)
    error = allowed(hybrid, hybrid.reach_error, total)
    count = descend(hybrid, UPDATE, error, 0, hybrid.most_reached)
    hybrid.n_reached = settle_units(hybrid, UPDATE, error, count, hybrid.most_reached)
    if moving < hybrid.most < ALL:  # for those selected there may have been no room, or no force along their motion
        hybrid.n_reached += fill_room(hybrid, UPDATE, moving, hybrid.most) - moving
    hybrid.acceleration_total = hybrid.acceleration_least = total
    hybrid.acceleration_rest = metric_left(hybrid, UPDATE)


@helper
def settle_transient(hybrid):
    """The inertias and spans of the nodes of the transient region: those that are not chosen are rigid parts of the
    hybrid bodies that are formed next."""
    for k in range(hybrid.n_seen - 1, -1, -1):
        i = hybrid.seen[k]
        if hybrid.flags[i] & (CURRENT | UPDATE):
            settle_inertia(hybrid, i)


@kernel(_int(HybridBody.type), "new active region with loops", nogil=True)
def choose_region(hybrid):
    """The new active region: nodes with the flag CHOSEN, out of the transient one. Returns its number of joints."""
    m, x = open_reduced(hybrid)
    total = measure_joints(hybrid, hybrid.v, hybrid.velocity_weight, CHOSEN)
    error = allowed(hybrid, hybrid.error, total)
    count = descend(hybrid, CHOSEN, error, 0, hybrid.most) if total > NOTHING else 0
    if count > 0:
        copy_joints(m, x.qdd, x.effort)
        settle_transient(hybrid)
        count = settle_units(hybrid, CHOSEN, error, count, hybrid.most)
        form_hybrid_body(hybrid, CURRENT | UPDATE)
        m, x = open_reduced(hybrid)
        without_joints(hybrid, False, False, False)
        copy_joints(m, x.effort, x.qdd)
    hybrid.velocity_total = total
    hybrid.velocity_rest = metric_left(hybrid, CHOSEN)
    return count


@helper
def copy_joints(m, x, y):
    """Copy the numbers of the active joints."""
    for b in range(m.n):
        for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            y[k] = x[k]
