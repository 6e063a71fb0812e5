"""Bounds of the error of a solution [QS definition 2], in any of the four measures: rounding included.

Symbols as in memory.py. The queue holds upper bounds of totals. `slack` is the difference between these and the
computed totals; the true totals may be lower than the computed ones by the same amount again, due to rounding.
"""

from __future__ import annotations

import math

from supple.spatial.compiler import helper

ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)


@helper
def seems_enough(qs, error, measure, rest):
    """Whether the error estimate during the traversal is small enough; `certify` decides."""
    tree = qs.body.tree
    floor, left = qs.floor, math.sqrt(max(rest, 0.0))
    size = max(math.sqrt(qs.squares + max(rest, 0.0)) - floor, 0.0)
    if measure in (ABSOLUTE_LINKAGE, RELATIVE_LINKAGE):
        return left + 2.0 * floor <= (error if measure == ABSOLUTE_LINKAGE else error * size)
    worst = math.sqrt(qs.values[0]) + floor
    if measure == ABSOLUTE_JOINT:
        return worst <= error
    least = max(math.sqrt(qs.largest) - floor, size / math.sqrt(tree.joints[tree.n_nodes - 1]))
    return worst <= error * least


@helper
def quotient(a, b):
    """a / b, or zero if a is zero."""
    return 0.0 if a == 0.0 else a / b if b > 0.0 else math.inf


@helper
def set_bounds(qs, joints, measure, rest, at_most, at_least):
    """Set lower and upper bounds of the error. rest: lower and upper bound of the total of the joints treated as zero
    (the latter is negative if there are none); at_most: none of them has a larger square; at_least: one of them has at
    least this square; all up to qs.floor. joints: the number of all joints."""
    floor, largest = qs.floor, math.sqrt(qs.largest)
    squares, some = qs.squares, rest[1] >= 0.0
    left = math.sqrt(rest[1]) + floor if some else 0.0
    size_low = max(math.sqrt(squares + rest[0]) - floor, 0.0)
    if measure in (ABSOLUTE_LINKAGE, RELATIVE_LINKAGE):
        low, high = max(math.sqrt(rest[0]) - floor, 0.0), math.sqrt(left * left + floor * floor)
        if measure == RELATIVE_LINKAGE:
            low = quotient(low, math.sqrt(squares + max(rest[1], 0.0)) + floor)
            high = quotient(high, size_low)
    else:
        low, most = max(math.sqrt(at_least) - floor, 0.0), math.sqrt(at_most) + floor if some else 0.0
        high = max(most, floor)
        if measure == RELATIVE_JOINT:
            least = max(largest - floor, size_low / math.sqrt(joints), low)
            low = quotient(low, max(largest + floor, most))
            high = max(min(quotient(most, least), 1.0), quotient(floor, least))
    qs.low = low
    qs.high = high


@helper
def certify(qs, measure):
    """Bound the error, from the nodes in the queue. Returns an upper bound of the sum of their totals."""
    tree = qs.body.tree
    n = qs.queue_length
    low, middle, high, some = 0.0, 0.0, 0.0, 0.0
    for x in range(n):
        i, most = qs.queue[x], qs.values[x]
        least = max(most - 2.0 * qs.slack[i], 0.0)
        low, middle, high = low + least, middle + most - qs.slack[i], high + most
        some = max(some, least / tree.joints[i])
    qs.root = qs.squares + middle
    most = qs.values[0] if n > 0 else 0.0
    set_bounds(qs, tree.joints[tree.n_nodes - 1], measure, (low, high if n > 0 else -1.0), most, some)
    return high
