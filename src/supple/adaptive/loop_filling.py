"""The room that is left: sets of joints that move together, and are no more than may still be selected.

Units are completed one by one, with those joints that matter most [loop_units.py]; so selecting may end with room for
a set of joints that would move, if only others of them were selected. Loops and relations that hang together, by
joints in common, are a *group*. All motions of one that is small enough are found [loop_motions.py]. As joint after
joint is stopped, those that matter least first, as long as any motion is left, a set remains of which none can be
missed. Other orders leave other sets: first any other joint is stopped before them, then they are stopped in random
orders. The first set for which there is room is selected. If there is none, and the joints of the largest group would
matter more than all that are selected, they are exchanged for these.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.choose import take_first
from supple.adaptive.heap import pop, push
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.loop_motions import clear_at, find_motions
from supple.adaptive.loop_region import is_taken, leave, may_move, put, take
from supple.adaptive.memory import CHOSEN, CURRENT, PINNED, UPDATE, HybridBody
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel

ORDERS = 64  #: random orders in which joints are stopped
NOTHING = 1e-7  #: of the largest velocity of a motion: less is rounding


@helper
def moves_with(hybrid, j, flag):
    """Whether joint j is selected, or moves anyway."""
    return is_taken(hybrid, j, flag) or (flag == UPDATE and may_move(hybrid, j, CHOSEN))


@helper
def rank_groups(hybrid, flag):
    """The groups that have joints left to select, by their metric, as a queue. Returns how many they are."""
    tree, held, n = hybrid.body.tree, hybrid.closing, 0
    for g in range(held.n_groups):
        metric = 0.0
        for k in range(held.group_start[g], held.group_start[g + 1]):
            j = held.group_joints[k]
            if may_move(hybrid, j, flag) and not moves_with(hybrid, j, flag):
                metric += hybrid.amount[tree.node_of[j]]
        if metric > 0.0:
            n = push(held.units, held.unit_keys, n, g, metric)
    return n


@helper
def open_group(hybrid, g, flag):
    """Select all joints of a group that are left; they are in `open`, those that matter least first, and their degrees
    of freedom in open_dofs. Returns how many joints and degrees of freedom they are."""
    tree, held, n, dofs = hybrid.body.tree, hybrid.closing, 0, 0
    for k in range(held.group_start[g], held.group_start[g + 1]):
        j = held.group_joints[k]
        if may_move(hybrid, j, flag) and not moves_with(hybrid, j, flag):
            at = n
            while at > 0 and hybrid.amount[tree.node_of[held.open[at - 1]]] > hybrid.amount[tree.node_of[j]]:
                held.open[at] = held.open[at - 1]
                at -= 1
            held.open[at] = j
            n += 1
    for a in range(n):
        j = held.open[a]
        held.open_start[a] = dofs
        for k in range(DOF[tree.joint[j]]):
            held.open_dofs[dofs] = tree.iv[j] + k
            dofs += 1
        take(hybrid, j, flag)
    held.open_start[n] = dofs
    return n, dofs


@helper
def order_of(held, n, trial, k):
    """Which joint is the k-th one to be stopped: of trial 0 the k-th of `open`, later any other one before them, and
    then in a random order."""
    if trial <= n:
        return k if trial == 0 else trial - 1 if k == 0 else k - 1 if k < trial else k
    if k == 0:
        for a in range(n):
            held.order[a] = a
    other = k + ((trial * 7919 + k + 1) * 0x9E3779B1 >> 8 & 0xFFFFF) % (n - k)
    a = held.order[other]
    held.order[other] = held.order[k]
    held.order[k] = a
    return a


@helper
def stop_joint(held, a, dofs, left):
    """Leave only motions in which joint a of `open` is at rest, unless there are none. left: how many motions there
    are. Returns how many are left."""
    motions = held.trial
    for c in range(held.open_start[a], held.open_start[a + 1]):
        best = 0
        for i in range(left):
            if abs(motions[dofs * i + c]) > abs(motions[dofs * best + c]):
                best = i
        if left == 1 or not abs(motions[dofs * best + c]) > NOTHING:
            continue
        for i in range(left):
            if i != best:
                clear_at(motions, dofs, best, i, c)
                normalise(motions, dofs * i, dofs)
        left -= 1
        for e in range(dofs):
            motions[dofs * best + e] = motions[dofs * left + e]
    return left


@helper
def normalise(motions, at, n):
    """Make the largest of n numbers one, and those that are rounding zero."""
    most = 0.0
    for c in range(n):
        most = max(most, abs(motions[at + c]))
    for c in range(n):
        motions[at + c] = motions[at + c] / most if abs(motions[at + c]) > NOTHING * most else 0.0


@helper
def moves_in(held, a):
    """Whether joint a of `open` moves in the motion that is left."""
    moved = False
    for c in range(held.open_start[a], held.open_start[a + 1]):
        moved = moved or held.trial[c] != 0.0
    return moved


@helper
def find_set(hybrid, n, dofs, room):
    """Joints that move together, and no more than there is room for: those of `open` that move in the motion that is
    left in `trial`. Returns how many they are; 0, if none are found."""
    tree, held = hybrid.body.tree, hybrid.closing
    rank = find_motions(hybrid, held.open_dofs, dofs, held.motions, held.motion_pivots)
    if rank == 0:
        return 0
    for trial in range(1 if rank == 1 else 1 + n + ORDERS):
        left, count, metric = rank, 0, 0.0
        for i in range(rank * dofs):
            held.trial[i] = held.motions[i]
        for k in range(n):
            left = stop_joint(held, order_of(held, n, trial, k), dofs, left)
        normalise(held.trial, 0, dofs)
        for a in range(n):
            if moves_in(held, a):
                count, metric = count + 1, metric + hybrid.amount[tree.node_of[held.open[a]]]
        if count <= room and metric > 0.0:
            return count
    return 0


@helper
def fill_from(hybrid, g, flag, count, most, mask):
    """Select sets of joints of group g, as long as there is room. Returns how many joints are selected."""
    held, found = hybrid.closing, 1
    while found > 0 and count < most:
        n, dofs = open_group(hybrid, g, flag)
        form_hybrid_body(hybrid, mask)
        found = find_set(hybrid, n, dofs, most - count) if n > 0 else 0
        for a in range(n):
            if found == 0 or not moves_in(held, a):
                leave(hybrid, held.open[a], flag)
        count += found
    return count


@helper
def fill_alone(hybrid, flag, count, most):
    """Select joints that no loop or relation holds, the largest first. Returns how many joints are selected."""
    tree, held = hybrid.body.tree, hybrid.closing
    hybrid.queue_length = 0
    for j in range(tree.n):
        if held.alone[j] and may_move(hybrid, j, flag) and not is_taken(hybrid, j, flag):
            put(hybrid, tree.node_of[j], hybrid.amount[tree.node_of[j]], False)
    while hybrid.queue_length > 0 and hybrid.keys[0] > 0.0 and count < most:
        take(hybrid, tree.item[take_first(hybrid)], flag)
        count += 1
    return count


@helper
def exchange(hybrid, g, flag, count, most, mask):
    """Select a set of joints of group g instead of all that are selected and not pinned, if that matters more. Returns
    how many joints are selected."""
    tree, held, metric, pinned = hybrid.body.tree, hybrid.closing, 0.0, 0
    for j in range(tree.n):
        held.stuck[j] = 0
        if is_taken(hybrid, j, flag):
            if hybrid.must[tree.node_of[j]] == PINNED:
                pinned += 1
            else:
                metric += hybrid.amount[tree.node_of[j]]
                held.stuck[j] = 1
                leave(hybrid, j, flag)
    after, other = fill_from(hybrid, g, flag, pinned, most, mask), 0.0
    for j in range(tree.n):
        if is_taken(hybrid, j, flag) and hybrid.must[tree.node_of[j]] != PINNED:
            other += hybrid.amount[tree.node_of[j]]
    if other > metric:
        return after
    for j in range(tree.n):
        if hybrid.must[tree.node_of[j]] != PINNED:
            if held.stuck[j]:
                take(hybrid, j, flag)
            elif is_taken(hybrid, j, flag):
                leave(hybrid, j, flag)
    return count


_int = types.int64


@kernel(_int(HybridBody.type, _int, _int, _int), "room for joints of loops", effort=2, nogil=True)
def fill_room(hybrid, flag, count, most):
    """Select sets of joints that move together, as long as there is room, and form the hybrid body. count: how many
    joints are selected. Returns how many are then."""
    held, waiting, first = hybrid.closing, rank_groups(hybrid, flag), -1
    mask = CURRENT | UPDATE if flag == UPDATE else CHOSEN
    while waiting > 0 and count < most:
        g, before = held.units[0], count
        waiting = pop(held.units, held.unit_keys, waiting)
        count = fill_from(hybrid, g, flag, count, most, mask)
        if count == before and first < 0:
            first = g
    count = fill_alone(hybrid, flag, count, most)
    if first >= 0 and count < most:
        count = fill_alone(hybrid, flag, exchange(hybrid, first, flag, count, most, mask), most)
    form_hybrid_body(hybrid, mask)
    return count
