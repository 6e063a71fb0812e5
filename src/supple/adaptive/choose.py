"""Which joints matter: the acceleration update region [AD section 5.3.1] and the new active region [AD section 5.4.1].

Both are found from the last node down, the node with the largest value of the metric first, until what is left is small
enough, or enough joints have been taken. Nodes with something under them that must be active come before all others;
their own joints, unless they must be active, too, then wait in the queue for their turn.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.convert import evaluate, is_passive, prepare_parts, set_move
from supple.adaptive.convert import get_move as move_of
from supple.adaptive.heap import pop, push
from supple.adaptive.store import (
    CHOSEN,
    CURRENT,
    DIGITS,
    ERROR,
    EXPANDED,
    HELD,
    HOLD,
    MOST,
    MOST_REACHED,
    MOTION,
    PASSES,
    QUEUE,
    REACH_ERROR,
    REACHED,
    REST,
    ROOT,
    SEEN,
    UPDATE,
    VELOCITY_REST,
    open_store,
)
from supple.adaptive.totals import total
from supple.assembly.desk import open_desk
from supple.assembly.passes import join_down, leaf_down, light_down, renew, stretch_of
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM
from supple.spatial.compiler import helper, kernel
from supple.spatial.sixes import set_six, six

LARGEST = 1.7976931348623157e308  #: the key of a metric that is no longer finite


@helper
def put_in_queue(s, i, value):
    s.amount[i] = value
    key = math.inf if s.must[i] else value if value <= LARGEST else LARGEST
    s.counts[QUEUE] = push(s.queue, s.keys, s.counts[QUEUE], i, key)


@helper
def let_joint_wait(t, s, i, value):
    """The joint of node i, which is in the region already, goes to the queue alone, as number i + nodes."""
    s.amount[i] = value
    s.counts[QUEUE] = push(s.queue, s.keys, s.counts[QUEUE], i + t.nodes, min(value, LARGEST))


@helper
def take_first(s):
    """The first of the queue."""
    i = s.queue[0]
    s.counts[QUEUE] = pop(s.queue, s.keys, s.counts[QUEUE])
    return i


@helper
def expand(t, s, i, flag):
    """Node i gets a flag, as does the LEAF that it is absorbed into."""
    s.flags[i] = s.flags[i] | flag
    note_expanded(s, i)
    up = t.up[i]
    if up >= 0 and t.kind[up] == LEAF:
        s.flags[up] = s.flags[up] | flag
        note_expanded(s, up)


@helper
def note_expanded(s, i):
    s.expanded[s.counts[EXPANDED]] = i
    s.counts[EXPANDED] += 1


@helper
def counts_as_joint(t, i):
    """1 for a node with a joint that can move."""
    kind = t.kind[i]
    return 1 if (kind in (JOIN, LIGHT)) and t.forbidden[t.item[i]] < 6 else 0


@helper
def left_over(t, s):
    """The metric of what is still in the queue."""
    rest = 0.0
    for k in range(s.counts[QUEUE]):
        i = s.queue[k]
        rest += s.amount[i if i < t.nodes else i - t.nodes]
    return rest


@helper
def is_left(t, s, rest, error):
    """The metric of what is still in the queue, by its running sum; counted anew where that says that enough has been
    taken: it is off by what rounding did to all that it ever had."""
    return rest if rest > error else left_over(t, s)


@helper
def go_on(s, rest, error, count, most):
    """Whether the first of the queue is to be taken, too."""
    if s.counts[QUEUE] == 0:
        return False
    key = s.keys[0]
    return key == math.inf or (key > 0.0 and not rest <= error and count < most)


@helper
def enqueue(t, d, s, desk, store, i):
    """Node i, told what acts on it, goes to the queue with its acceleration metric [AD (7)]; what a LEAF has absorbed
    goes in its place. Returns the metric."""
    if t.joints[i] == 0:
        return 0.0
    if t.kind[i] == LEAF:
        l = t.left[i]
        if t.lone[i]:
            set_six(d.told, d.told_at[l], six(d.told, d.told_at[i]))
        else:
            if is_passive(s, i):
                w, dw, a = move_of(s.motion, MOTION * i)
                set_move(s, l, w, dw, a)
                evaluate(desk, store, l)
            leaf_down(t, d, i, stretch_of(d, i).Phi1, stretch_of(d, i).b1)
        i = l
    a, scale = total(t, d, i)
    a += s.numbers[DIGITS] * scale  # what rounding may have done to it
    put_in_queue(s, i, a)
    return a


@kernel(types.float64(types.int64, types.int64), "acceleration update region", effort=3, nogil=True)
def find_update_region(desk, store):
    """The acceleration update region: nodes with the flag UPDATE, whose joints' accelerations are then known."""
    t, d = open_desk(desk)
    s = open_store(store)
    error, most = s.numbers[REACH_ERROR], s.counts[MOST_REACHED]
    root = t.nodes - 1
    for k in range(6):
        d.told[d.told_at[root] + k] = 0.0
    s.counts[QUEUE] = 0
    s.counts[EXPANDED] = 0
    rest = enqueue(t, d, s, desk, store, root)
    s.numbers[ROOT] = rest
    _, scale = total(t, d, root)
    rounding = s.numbers[DIGITS] ** 2 * scale  # of the accelerations that are computed
    error = max(error - rounding, 0.0)
    count, reached = 0, 0
    while go_on(s, rest, error, count, most):
        i = take_first(s)
        expand(t, s, i, UPDATE)
        rest -= s.amount[i]
        reached += counts_as_joint(t, i)
        if s.must[i] != PASSES:
            count += counts_as_joint(t, i)
        if is_passive(s, i):
            prepare_parts(desk, store, i)
            renew(t, d, desk, i, True, False)
        kind, l, r = t.kind[i], t.left[i], t.right[i]
        if kind == SUM:
            told = six(d.told, d.told_at[i])
            set_six(d.told, d.told_at[l], told)
            set_six(d.told, d.told_at[r], told)
        elif kind == JOIN:
            join_down(t, d, i)
        else:
            light_down(t, d, i)
        child = l
        while child >= 0:
            rest += enqueue(t, d, s, desk, store, child)
            child = r if child == l and kind != LIGHT else -1
        rest = is_left(t, s, rest, error)
    s.counts[REACHED] = reached
    s.numbers[REST] = left_over(t, s) + rounding
    return 0.0


@helper
def velocity_metric(t, s, i):
    """The velocity metric of node i's own joint."""
    j = t.item[i]
    k, iv, iw = 6 - t.forbidden[j], t.iv[j], t.iw[j]
    total = 0.0
    for a in range(k):
        for b in range(k):
            total += s.v[iv + a] * s.velocity_weight[iw + k * a + b] * s.v[iv + b]
    return total


@helper
def is_on_the_way(s, i):
    """Whether node i is chosen for what is under it, and its joint only if there is room: above a pinned joint, or held
    where it is."""
    return s.must[i] == PASSES or s.flags[i] & (HELD | UPDATE) == HELD


@kernel(types.float64(types.int64, types.int64), "new active region", nogil=True)
def choose_active_region(desk, store):
    """The new active region: nodes with the flag CHOSEN, out of the transient one. Returns how many joints it has."""
    t, _ = open_desk(desk)
    s = open_store(store)
    error, most = s.numbers[ERROR], s.counts[MOST]
    for k in range(s.counts[SEEN] - 1, -1, -1):
        i = s.seen[k]
        amount = 0.0
        if s.flags[i] & (CURRENT | UPDATE):
            kind, l, r = t.kind[i], t.left[i], t.right[i]
            amount = s.amount[l]
            if kind in (JOIN, SUM):
                amount += s.amount[r]
            if kind in (JOIN, LIGHT):
                amount += velocity_metric(t, s, i)
        s.amount[i] = amount
    s.counts[QUEUE] = 0
    s.counts[EXPANDED] = 0
    root, count = t.nodes - 1, 0
    rest = s.amount[root]
    offer(t, s, root)
    while go_on(s, rest, error, count, most):
        i = take_first(s)
        if i >= t.nodes:  # a joint that waited
            i -= t.nodes
            s.flags[i] = s.flags[i] & ~HOLD
            count += 1
            rest -= s.amount[i]
        else:
            expand(t, s, i, CHOSEN)
            rest -= s.amount[i]
            if counts_as_joint(t, i) and is_on_the_way(s, i):
                s.flags[i] = s.flags[i] | HOLD
                let_joint_wait(t, s, i, velocity_metric(t, s, i))
                rest += s.amount[i]
            else:
                count += counts_as_joint(t, i)
            rest += offer(t, s, t.left[i])
            if t.kind[i] != LIGHT:
                rest += offer(t, s, t.right[i])
        rest = is_left(t, s, rest, error)
    s.numbers[VELOCITY_REST] = left_over(t, s)
    return float(count)


@helper
def offer(t, s, i):
    """Node i, or what a LEAF has absorbed, goes to the queue if it is transiently active. Returns its metric."""
    if t.kind[i] == LEAF:
        i = t.left[i]
    if i < 0 or not s.flags[i] & (CURRENT | UPDATE):
        return 0.0
    amount = s.amount[i]
    put_in_queue(s, i, amount)
    return amount
