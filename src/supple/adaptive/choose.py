"""Selecting joints: the acceleration update region [AD section 5.3.1] and the new active region [AD section 5.4.1].

Both are found from the last node down, always expanding the node with the largest metric, until the rest is small
enough or enough joints have been taken. Nodes above a joint that must be active are expanded first; unless their own
joints must also be active, these then wait in the queue.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.articulated import evaluate, is_passive, prepare_parts, set_move
from supple.adaptive.balance import scale_of_all
from supple.adaptive.fetching import fetch_to_expand
from supple.adaptive.heap import pop, push
from supple.adaptive.memory import CHOSEN, CURRENT, HELD, HOLD, PASSES, UPDATE, HybridBody
from supple.adaptive.total_acceleration import total_acceleration
from supple.assembly.passes import (
    join_down,
    leaf_down,
    light_down,
    lone_down,
    renew,
    stretch_of,
    sum_down,
    told,
)
from supple.assembly.rounding import nothing
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM
from supple.spatial.compiler import helper, kernel

LARGEST = 1.7976931348623157e308  #: the key of a metric that is not finite
GUARANTEED, RELATIVE = 1, 8  # modes of a run (steps.py and keeping.py have the others): the error of accelerations is
# certified; errors allowed are shares of the total


@helper
def put_in_queue(hybrid, i, value):
    hybrid.amount[i] = value
    key = math.inf if hybrid.must[i] else value if value <= LARGEST else LARGEST
    hybrid.queue_length = push(hybrid.queue, hybrid.keys, hybrid.queue_length, i, key)


@helper
def let_joint_wait(hybrid, i, value):
    """Put the joint of node i, which is already in the region, into the queue on its own, as number i + nodes."""
    tree = hybrid.body.tree
    hybrid.amount[i] = value
    hybrid.queue_length = push(hybrid.queue, hybrid.keys, hybrid.queue_length, i + tree.n_nodes, min(value, LARGEST))


@helper
def take_first(hybrid):
    """Remove and return the first entry of the queue."""
    i = hybrid.queue[0]
    hybrid.queue_length = pop(hybrid.queue, hybrid.keys, hybrid.queue_length)
    return i


@helper
def expand(hybrid, i, flag):
    """Set a flag of node i, and of the LEAF that it is absorbed into."""
    tree = hybrid.body.tree
    hybrid.flags[i] |= flag
    note_expanded(hybrid, i)
    up = tree.up[i]
    if up >= 0 and tree.kind[up] == LEAF:
        hybrid.flags[up] |= flag
        note_expanded(hybrid, up)


@helper
def note_expanded(hybrid, i):
    hybrid.expanded[hybrid.n_expanded] = i
    hybrid.n_expanded += 1


@helper
def counts_as_joint(tree, i):
    """1 for a node with a joint that can move."""
    kind = tree.kind[i]
    return 1 if (kind in (JOIN, LIGHT)) and tree.forbidden[tree.item[i]] < 6 else 0


@helper
def left_over(hybrid):
    """The sum of the metric over the queue."""
    tree = hybrid.body.tree
    rest = 0.0
    for k in range(hybrid.queue_length):
        i = hybrid.queue[k]
        rest += hybrid.amount[i if i < tree.n_nodes else i - tree.n_nodes]
    return rest


@helper
def allowed(hybrid, error, total):
    """The metric that may be left over; total: that of all joints."""
    return error * total if hybrid.ways & RELATIVE else error


@helper
def less(squares, rounding):
    """The least sum of squares that a computed one may be, if the root of the former is off by that of rounding."""
    root = max(math.sqrt(squares) - math.sqrt(rounding), 0.0)
    return root * root


@helper
def more(squares, rounding):
    """The largest one."""
    root = math.sqrt(squares) + math.sqrt(rounding)
    return root * root


@helper
def joint_metric(x, weight, tree, i):
    """x.A x of node i's own joint, with A its weight."""
    j = tree.item[i]
    k, iv, iw = 6 - tree.forbidden[j], tree.iv[j], tree.iw[j]
    total = 0.0
    for a in range(k):
        for b in range(k):
            total += x[iv + a] * weight[iw + k * a + b] * x[iv + b]
    return total


@helper
def is_left(hybrid, rest, error):
    """The metric remaining in the queue, from its running sum. It is summed again when the running sum indicates that
    enough has been taken, because rounding errors accumulate in it."""
    return rest if rest > error else left_over(hybrid)


@helper
def go_on(hybrid, rest, error, count, most):
    """Whether the first entry of the queue is also to be taken."""
    if hybrid.queue_length == 0:
        return False
    key = hybrid.keys[0]
    return key == math.inf or (key > 0.0 and not rest <= error and count < most)


@helper
def enqueue(hybrid, i):
    """Put node i, whose handle forces are known, into the queue with its acceleration metric [AD (7)]; for a LEAF, its
    absorbed branches instead. Returns the metric."""
    body, tree = hybrid.body, hybrid.body.tree
    if tree.joints[i] == 0 or hybrid.asleep[i]:
        return 0.0
    if tree.kind[i] == LEAF:
        l = tree.left[i]
        if tree.lone[i]:
            lone_down(body, i)
        else:
            if is_passive(hybrid, i):
                move = hybrid.motion[i]
                set_move(hybrid, l, move.w, move.dw, move.a)
                evaluate(hybrid, l)
            leaf_down(body, i, stretch_of(body, i).Phi1, stretch_of(body, i).b1)
        i = l
    a, scale = total_acceleration(body, i)  # [AD (7)]
    a += hybrid.digits * scale  # possible rounding error
    put_in_queue(hybrid, i, a)
    return a


@kernel(types.float64(HybridBody.type), "acceleration update region", effort=3, nogil=True)
def find_update_region(hybrid):
    """The acceleration update region: nodes with the flag UPDATE, whose joint accelerations are then known."""
    body, tree = hybrid.body, hybrid.body.tree
    most, root = hybrid.most_reached, tree.n_nodes - 1
    told(body, root).f1 = nothing()
    hybrid.queue_length = 0
    hybrid.n_expanded = 0
    rest = enqueue(hybrid, root)
    hybrid.acceleration_total = rest
    total, scale = total_acceleration(body, root)
    rounding = hybrid.digits**2 * (scale_of_all(hybrid) if hybrid.ways & GUARANTEED else scale)  # of accelerations
    least, squares = less(max(total - hybrid.digits * scale, 0.0), rounding), 0.0
    error = less(allowed(hybrid, hybrid.reach_error, least), rounding)
    count, reached = 0, 0
    while go_on(hybrid, rest, error, count, most):
        i = take_first(hybrid)
        if hybrid.queue_length > 0:
            fetch_to_expand(body, hybrid.queue[0])  # probably the next one
        expand(hybrid, i, UPDATE)
        rest -= hybrid.amount[i]
        reached += counts_as_joint(tree, i)
        if hybrid.must[i] != PASSES:
            count += counts_as_joint(tree, i)
        if is_passive(hybrid, i):
            prepare_parts(hybrid, i)
            renew(body, i, True, False)
        kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
        if kind == SUM:
            sum_down(body, i)
        elif kind == JOIN:
            join_down(body, i)
        else:
            light_down(body, i)
        if kind != SUM:  # where forces nearly cancel, these tell more than the total
            squares += joint_metric(body.qdd, tree.weight, tree, i)
            if squares > least:
                least = max(least, less(squares, rounding))
                error = less(allowed(hybrid, hybrid.reach_error, least), rounding)
        child = l
        while child >= 0:
            rest += enqueue(hybrid, child)
            child = r if child == l and kind != LIGHT else -1
        rest = is_left(hybrid, rest, error)
    hybrid.n_reached = reached
    hybrid.acceleration_least = least
    hybrid.acceleration_rest = more(left_over(hybrid), rounding)
    return 0.0


@helper
def is_met(hybrid):
    """Whether the acceleration metric of the other joints, rounding included, is at most the one allowed."""
    return hybrid.acceleration_rest <= allowed(hybrid, hybrid.reach_error, hybrid.acceleration_least)


@helper
def certify_whole(hybrid, m):
    """The same totals where all joints were reached, and body.qdd is by the articulated-body algorithm on all of
    them."""
    body, tree = hybrid.body, hybrid.body.tree
    rounding, squares = hybrid.whole_digits**2 * scale_of_all(hybrid), 0.0
    for b in range(m.n):
        squares += joint_metric(body.qdd, tree.weight, tree, tree.node_of[hybrid.joints[b]])
    hybrid.acceleration_least = less(squares, rounding)
    hybrid.acceleration_rest = more(left_over(hybrid), rounding)


@helper
def velocity_metric(hybrid, i):
    """The velocity metric of node i's own joint."""
    return joint_metric(hybrid.v, hybrid.velocity_weight, hybrid.body.tree, i)


@helper
def is_on_the_way(hybrid, i):
    """Whether node i is chosen for the nodes below it, and its own joint only if there is room: above a pinned joint,
    or held."""
    return hybrid.must[i] == PASSES or hybrid.flags[i] & (HELD | UPDATE) == HELD


@kernel(types.float64(HybridBody.type), "new active region", nogil=True)
def choose_active_region(hybrid):
    """The new active region: nodes with the flag CHOSEN, out of the transient one. Returns its number of joints."""
    tree, most = hybrid.body.tree, hybrid.most
    for k in range(hybrid.n_seen - 1, -1, -1):
        i = hybrid.seen[k]
        amount = 0.0
        if hybrid.flags[i] & (CURRENT | UPDATE):
            kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
            amount = hybrid.amount[l]
            if kind in (JOIN, SUM):
                amount += hybrid.amount[r]
            if kind in (JOIN, LIGHT):
                amount += velocity_metric(hybrid, i)
        hybrid.amount[i] = amount
    hybrid.queue_length = 0
    hybrid.n_expanded = 0
    root, count = tree.n_nodes - 1, 0
    rest = hybrid.amount[root]
    hybrid.velocity_total = rest
    error = allowed(hybrid, hybrid.error, rest)
    offer(hybrid, root)
    while go_on(hybrid, rest, error, count, most):
        i = take_first(hybrid)
        if i >= tree.n_nodes:  # a waiting joint
            i -= tree.n_nodes
            hybrid.flags[i] &= ~HOLD
            count += 1
            rest -= hybrid.amount[i]
        else:
            expand(hybrid, i, CHOSEN)
            rest -= hybrid.amount[i]
            if counts_as_joint(tree, i) and is_on_the_way(hybrid, i):
                hybrid.flags[i] |= HOLD
                let_joint_wait(hybrid, i, velocity_metric(hybrid, i))
                rest += hybrid.amount[i]
            else:
                count += counts_as_joint(tree, i)
            rest += offer(hybrid, tree.left[i])
            if tree.kind[i] != LIGHT:
                rest += offer(hybrid, tree.right[i])
        rest = is_left(hybrid, rest, error)
    hybrid.velocity_rest = left_over(hybrid)
    return float(count)


@helper
def offer(hybrid, i):
    """Put node i, or the branches absorbed into a LEAF, into the queue if transiently active. Returns its metric."""
    tree = hybrid.body.tree
    if tree.kind[i] == LEAF:
        i = tree.left[i]
    if i < 0 or hybrid.asleep[i] or not hybrid.flags[i] & (CURRENT | UPDATE):
        return 0.0
    amount = hybrid.amount[i]
    put_in_queue(hybrid, i, amount)
    return amount
