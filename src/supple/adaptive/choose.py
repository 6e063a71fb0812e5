"""Which joints matter: the acceleration update region [AD section 5.3.1] and the new active region [AD section 5.4.1].

Both are found from the last node down, the node with the largest value of the metric first, until what is left is small
enough, or enough joints have been taken. Nodes with something under them that must be active come before all others;
their own joints, unless they must be active, too, then wait in the queue for their turn.
"""

from __future__ import annotations

import math

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
from supple.spatial.indexing import item, set_item
from supple.spatial.references import LINKED
from supple.spatial.sixes import set_six, six

LARGEST = 1.7976931348623157e308  #: the key of a metric that is no longer finite


@helper
def put_in_queue(s, i, value):
    set_item(s.amount, i, value)
    key = math.inf if item(s.must, i) else value if value <= LARGEST else LARGEST
    set_item(s.counts, QUEUE, push(s.queue, s.keys, item(s.counts, QUEUE), i, key))


@helper
def let_joint_wait(t, s, i, value):
    """The joint of node i, which is in the region already, goes to the queue alone, as number i + nodes."""
    set_item(s.amount, i, value)
    set_item(s.counts, QUEUE, push(s.queue, s.keys, item(s.counts, QUEUE), i + t.nodes, min(value, LARGEST)))


@helper
def take_first(s):
    """The first of the queue."""
    i = item(s.queue, 0)
    set_item(s.counts, QUEUE, pop(s.queue, s.keys, item(s.counts, QUEUE)))
    return i


@helper
def expand(t, s, i, flag):
    """Node i gets a flag, as does the LEAF that it is absorbed into."""
    set_item(s.flags, i, item(s.flags, i) | flag)
    note_expanded(s, i)
    up = item(t.up, i)
    if up >= 0 and item(t.kind, up) == LEAF:
        set_item(s.flags, up, item(s.flags, up) | flag)
        note_expanded(s, up)


@helper
def note_expanded(s, i):
    set_item(s.expanded, item(s.counts, EXPANDED), i)
    set_item(s.counts, EXPANDED, item(s.counts, EXPANDED) + 1)


@helper
def counts_as_joint(t, i):
    """1 for a node with a joint that can move."""
    kind = item(t.kind, i)
    return 1 if (kind in (JOIN, LIGHT)) and item(t.forbidden, item(t.item, i)) < 6 else 0


@helper
def left_over(t, s):
    """The metric of what is still in the queue."""
    rest = 0.0
    for k in range(item(s.counts, QUEUE)):
        i = item(s.queue, k)
        rest += item(s.amount, i if i < t.nodes else i - t.nodes)
    return rest


@helper
def is_left(t, s, rest, error):
    """The metric of what is still in the queue, by its running sum; counted anew where that says that enough has been
    taken: it is off by what rounding did to all that it ever had."""
    return rest if rest > error else left_over(t, s)


@helper
def go_on(s, rest, error, count, most):
    """Whether the first of the queue is to be taken, too."""
    if item(s.counts, QUEUE) == 0:
        return False
    key = item(s.keys, 0)
    return key == math.inf or (key > 0.0 and not rest <= error and count < most)


@helper
def enqueue(t, d, s, desk, store, i):
    """Node i, told what acts on it, goes to the queue with its acceleration metric [AD (7)]; what a LEAF has absorbed
    goes in its place. Returns the metric."""
    if item(t.joints, i) == 0:
        return 0.0
    if item(t.kind, i) == LEAF:
        l = item(t.left, i)
        if item(t.lone, i):
            set_six(d.told, item(d.told_at, l), six(d.told, item(d.told_at, i)))
        else:
            if is_passive(s, i):
                w, dw, a = move_of(s.motion, MOTION * i)
                set_move(s, l, w, dw, a)
                evaluate(s, desk, store, l)
            leaf_down(t, d, i, stretch_of(d, i).Phi1, stretch_of(d, i).b1)
        i = l
    a, scale = total(t, d, i)
    a += item(s.numbers, DIGITS) * scale  # what rounding may have done to it
    put_in_queue(s, i, a)
    return a


@kernel(LINKED, "acceleration update region", effort=3, nogil=True)
def reach_kernel(desk, store, unused, unused_too):
    """The acceleration update region: nodes with the flag UPDATE, whose joints' accelerations are then known."""
    t, d = open_desk(desk)
    s = open_store(store)
    error, most = item(s.numbers, REACH_ERROR), item(s.counts, MOST_REACHED)
    root = t.nodes - 1
    for k in range(6):
        set_item(d.told, item(d.told_at, root) + k, 0.0)
    set_item(s.counts, QUEUE, 0)
    set_item(s.counts, EXPANDED, 0)
    rest = enqueue(t, d, s, desk, store, root)
    set_item(s.numbers, ROOT, rest)
    _, scale = total(t, d, root)
    rounding = item(s.numbers, DIGITS) ** 2 * scale  # of the accelerations that are computed
    error = max(error - rounding, 0.0)
    count, reached = 0, 0
    while go_on(s, rest, error, count, most):
        i = take_first(s)
        expand(t, s, i, UPDATE)
        rest -= item(s.amount, i)
        reached += counts_as_joint(t, i)
        if item(s.must, i) != PASSES:
            count += counts_as_joint(t, i)
        if is_passive(s, i):
            prepare_parts(desk, store, i)
            renew(t, d, desk, i, True, False)
        kind, l, r = item(t.kind, i), item(t.left, i), item(t.right, i)
        if kind == SUM:
            told = six(d.told, item(d.told_at, i))
            set_six(d.told, item(d.told_at, l), told)
            set_six(d.told, item(d.told_at, r), told)
        elif kind == JOIN:
            join_down(t, d, i)
        else:
            light_down(t, d, i)
        child = l
        while child >= 0:
            rest += enqueue(t, d, s, desk, store, child)
            child = r if child == l and kind != LIGHT else -1
        rest = is_left(t, s, rest, error)
    set_item(s.counts, REACHED, reached)
    set_item(s.numbers, REST, left_over(t, s) + rounding)
    return 0.0


@helper
def velocity_metric(t, s, i):
    """The velocity metric of node i's own joint."""
    j = item(t.item, i)
    k, iv, iw = 6 - item(t.forbidden, j), item(t.iv, j), item(t.iw, j)
    total = 0.0
    for a in range(k):
        for b in range(k):
            total += item(s.v, iv + a) * item(s.velocity_weight, iw + k * a + b) * item(s.v, iv + b)
    return total


@helper
def is_on_the_way(s, i):
    """Whether node i is chosen for what is under it, and its joint only if there is room: above a pinned joint, or held
    where it is."""
    return item(s.must, i) == PASSES or item(s.flags, i) & (HELD | UPDATE) == HELD


@kernel(LINKED, "new active region", nogil=True)
def choose_kernel(desk, store, unused, unused_too):
    """The new active region: nodes with the flag CHOSEN, out of the transient one. Returns how many joints it has."""
    t, _ = open_desk(desk)
    s = open_store(store)
    error, most = item(s.numbers, ERROR), item(s.counts, MOST)
    for k in range(item(s.counts, SEEN) - 1, -1, -1):
        i = item(s.seen, k)
        amount = 0.0
        if item(s.flags, i) & (CURRENT | UPDATE):
            kind, l, r = item(t.kind, i), item(t.left, i), item(t.right, i)
            amount = item(s.amount, l)
            if kind in (JOIN, SUM):
                amount += item(s.amount, r)
            if kind in (JOIN, LIGHT):
                amount += velocity_metric(t, s, i)
        set_item(s.amount, i, amount)
    set_item(s.counts, QUEUE, 0)
    set_item(s.counts, EXPANDED, 0)
    root, count = t.nodes - 1, 0
    rest = item(s.amount, root)
    offer(t, s, root)
    while go_on(s, rest, error, count, most):
        i = take_first(s)
        if i >= t.nodes:  # a joint that waited
            i -= t.nodes
            set_item(s.flags, i, item(s.flags, i) & ~HOLD)
            count += 1
            rest -= item(s.amount, i)
        else:
            expand(t, s, i, CHOSEN)
            rest -= item(s.amount, i)
            if counts_as_joint(t, i) and is_on_the_way(s, i):
                set_item(s.flags, i, item(s.flags, i) | HOLD)
                let_joint_wait(t, s, i, velocity_metric(t, s, i))
                rest += item(s.amount, i)
            else:
                count += counts_as_joint(t, i)
            rest += offer(t, s, item(t.left, i))
            if item(t.kind, i) != LIGHT:
                rest += offer(t, s, item(t.right, i))
        rest = is_left(t, s, rest, error)
    set_item(s.numbers, VELOCITY_REST, left_over(t, s))
    return float(count)


@helper
def offer(t, s, i):
    """Node i, or what a LEAF has absorbed, goes to the queue if it is transiently active. Returns its metric."""
    if item(t.kind, i) == LEAF:
        i = item(t.left, i)
    if i < 0 or not item(s.flags, i) & (CURRENT | UPDATE):
        return 0.0
    amount = item(s.amount, i)
    put_in_queue(s, i, amount)
    return amount
