"""Selecting joints of a body with loops: by the accelerations or velocities of all of them, which are known
[loop_choice.py].

Joints above those that are selected are held, and do not move unless they are selected, too. Loops may forbid some of
the selected ones any motion: these are completed or left out [loop_units.py].
"""

from __future__ import annotations

import math

from supple.adaptive.choose import LARGEST, go_on, is_left, joint_metric, left_over, take_first
from supple.adaptive.heap import push
from supple.adaptive.memory import CHOSEN, CURRENT, HELD, HOLD, PINNED, UPDATE
from supple.adaptive.touching.memory import touching_of
from supple.assembly.tree import JOIN, LIGHT, SUM
from supple.spatial.compiler import helper

SMALL = 0.01  #: of the largest metric of a joint: less hardly matters
FEW = 3  #: joints: where no more may move, one that hardly matters waits


@helper
def is_asleep(touching, j):
    """Whether joint j is one of a character that sleeps."""
    c = touching.root_of[j]
    return c >= 0 and touching.asleep[c]


@helper
def may_move(hybrid, j, flag):
    """Whether joint j may be selected: any that is not locked or asleep; for the new active region (CHOSEN), those that
    move."""
    tree = hybrid.body.tree
    if tree.forbidden[j] == 6 or (hybrid.has_touches and is_asleep(touching_of(hybrid), j)):
        return False
    flags = hybrid.flags[tree.node_of[j]]
    return flag != CHOSEN or flags & UPDATE or flags & (CURRENT | HELD) == CURRENT


@helper
def is_taken(hybrid, j, flag):
    """Whether joint j is selected."""
    flags = hybrid.flags[hybrid.body.tree.node_of[j]]
    return flags & flag and not (flag == CHOSEN and flags & HOLD)


@helper
def take(hybrid, j, flag):
    """Select joint j, and hold those above it."""
    tree = hybrid.body.tree
    i = tree.node_of[j]
    hybrid.flags[i] = (hybrid.flags[i] | flag) & ~HOLD
    inside = CURRENT | UPDATE if flag == UPDATE else CHOSEN
    i = tree.up[i]
    while i >= 0 and not hybrid.flags[i] & inside:
        joined = tree.kind[i] in (JOIN, LIGHT)
        if flag == UPDATE:
            hybrid.flags[i] |= CURRENT | HELD if joined else CURRENT
        else:
            hybrid.flags[i] |= CHOSEN | HOLD if joined else CHOSEN
        i = tree.up[i]


@helper
def leave(hybrid, j, flag):
    """No longer select joint j: it is held."""
    i = hybrid.body.tree.node_of[j]
    if flag == UPDATE:
        hybrid.flags[i] = (hybrid.flags[i] & ~UPDATE) | (0 if hybrid.flags[i] & CURRENT else CURRENT | HELD)
    else:
        hybrid.flags[i] |= HOLD


@helper
def measure_joints(hybrid, x, weight, flag):
    """The metric of every joint that may be selected, into `amount` of its node; none is barred. Returns the sum."""
    tree, total = hybrid.body.tree, 0.0
    for j in range(tree.n):
        i = tree.node_of[j]
        hybrid.closing.barred[j] = 0
        hybrid.amount[i] = joint_metric(x, weight, tree, i) if may_move(hybrid, j, flag) else 0.0
        total += hybrid.amount[i]
    return total


@helper
def is_open(hybrid, j, flag):
    """Whether joint j may be selected, and is not, nor barred."""
    return may_move(hybrid, j, flag) and not is_taken(hybrid, j, flag) and not hybrid.closing.barred[j]


@helper
def take_largest(hybrid, flag, error, count):
    """Select the joints with the largest metric, until that of the others is at most `error`. count: how many are
    selected. Returns how many are then."""
    tree = hybrid.body.tree
    hybrid.queue_length = 0
    for j in range(tree.n):
        if is_open(hybrid, j, flag):
            i = tree.node_of[j]
            put(hybrid, i, hybrid.amount[i], hybrid.must[i] == PINNED)
    rest = left_over(hybrid)
    while go_on(hybrid, rest, error, count, count + 1):
        i = take_first(hybrid)
        rest -= hybrid.amount[i]
        take(hybrid, tree.item[i], flag)
        count += 1
        rest = is_left(hybrid, rest, error)
    return count


@helper
def put(hybrid, i, amount, first):
    key = math.inf if first else min(amount, LARGEST)
    hybrid.queue_length = push(hybrid.queue, hybrid.keys, hybrid.queue_length, i, key)


@helper
def add_up_nodes(hybrid, flag):
    """The metric of the joints of each node that may still be selected, into `sums`."""
    tree, sums = hybrid.body.tree, hybrid.closing.sums
    for i in range(tree.n_nodes):
        kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
        total = sums[l] if l >= 0 else 0.0
        if kind in (JOIN, SUM):
            total += sums[r]
        if kind in (JOIN, LIGHT) and is_open(hybrid, tree.item[i], flag):
            total += hybrid.amount[i]
        sums[i] = total


@helper
def descend(hybrid, flag, error, count, most):
    """Select joints from the last node down, always those of the node with the largest metric, until that of the others
    is at most `error`, or there are `most` [AD sections 5.3.1, 5.4.1]; pinned ones first. Where only a FEW may move, a
    joint on the way that hardly matters waits until nothing matters more. count: how many are selected. Returns how
    many are then."""
    tree, sums, largest = hybrid.body.tree, hybrid.closing.sums, 0.0
    for j in range(tree.n):
        if is_open(hybrid, j, flag):
            largest = max(largest, hybrid.amount[tree.node_of[j]])
            if hybrid.must[tree.node_of[j]] == PINNED:
                take(hybrid, j, flag)
                count += 1
    add_up_nodes(hybrid, flag)
    rest = metric_left(hybrid, flag)
    hybrid.queue_length = 0
    put(hybrid, tree.n_nodes - 1, sums[tree.n_nodes - 1], False)
    while go_on(hybrid, rest, error, count, most):
        i = take_first(hybrid)
        waits = i >= tree.n_nodes
        i = i - tree.n_nodes if waits else i
        kind, j, l = tree.kind[i], tree.item[i], tree.left[i]
        if kind in (JOIN, LIGHT) and is_open(hybrid, j, flag):
            if most <= FEW and not waits and hybrid.amount[i] < SMALL * largest:
                put(hybrid, i + tree.n_nodes, hybrid.amount[i], False)
            else:
                take(hybrid, j, flag)
                count += 1
                rest -= hybrid.amount[i]
            if rest <= error:  # rounding errors accumulate in it
                rest = metric_left(hybrid, flag)
        if waits:
            continue
        if l >= 0:
            put(hybrid, l, sums[l], False)
        if kind in (JOIN, SUM):
            put(hybrid, tree.right[i], sums[tree.right[i]], False)
    return count


@helper
def metric_left(hybrid, flag):
    """The metric of all joints that are not selected."""
    tree, rest = hybrid.body.tree, 0.0
    for j in range(tree.n):
        if not is_taken(hybrid, j, flag):
            rest += hybrid.amount[tree.node_of[j]]
    return rest
