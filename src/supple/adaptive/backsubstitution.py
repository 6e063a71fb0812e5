"""The compiled part of quasi-statics: the partial back-substitution with a queue [QS section 4.3].

Symbols as in memory.py; the queue as in certificate.py.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.balance import strain, weight_scale
from supple.adaptive.certificate import certify, seems_enough
from supple.adaptive.heap import pop, push
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.outdated import FORCES, MATRICES, mark, mark_all, place_pushes, renew_dirty, renew_spans
from supple.adaptive.total_acceleration import total_acceleration
from supple.assembly.joints import advance, beside
from supple.assembly.passes import (
    join_down,
    leaf_down,
    light_down,
    lone_down,
    stretch_of,
    sum_down,
    told,
)
from supple.assembly.poses import renew_span
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM
from supple.model.joints import SLIDES
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import six

BUILD, RENEW, BEGIN, GO_ON, ADVANCE, SPANS, ALL_FORCES, MARK_ALL = 1, 2, 4, 8, 16, 32, 64, 128  # tasks of a kernel call


@helper
def strain_scale(qs):
    """The scale of pushes on the same body that cancel each other. The total of a node only contains their sum."""
    scale = 0.0
    for x in range(qs.n_pushed):
        scale += strain(qs.body, qs.pushed[x], six(qs.strain[x].f, 0))
    return scale


@helper
def note_visit(qs, i):
    qs.visited[qs.n_visited] = i
    qs.n_visited += 1


@helper
def enqueue(qs, i):
    """Put node i into the queue if it has joints; for a LEAF, its absorbed branches instead. Returns an upper bound of
    its total."""
    body, tree = qs.body, qs.body.tree
    if tree.joints[i] == 0:
        return 0.0
    if tree.kind[i] == LEAF:
        l = tree.left[i]
        note_visit(qs, i)
        if tree.lone[i]:
            lone_down(body, i)
        else:
            leaf_down(body, i, stretch_of(body, i).Phi1, stretch_of(body, i).b1)
        i = l
    a, scale = total_acceleration(body, i)  # [QS (8)]
    slack = scale * qs.digits
    qs.slack[i] = slack
    qs.queue_length = push(qs.queue, qs.values, qs.queue_length, i, a + slack)
    return a + slack


@helper
def begin(qs):
    """Start the queue with the last node alone, whose input is the world accelerating against gravity."""
    body, tree = qs.body, qs.body.tree
    root = tree.n_nodes - 1
    told(body, root).f1 = beside(Vec3(0.0, 0.0, 0.0), qs.gravity * -1.0)
    qs.queue_length = qs.n_visited = qs.n_computed = 0
    qs.largest = 0.0
    qs.squares = 0.0
    enqueue(qs, root)
    _, scale = total_acceleration(body, root)
    qs.size = math.sqrt(scale + weight_scale(body, qs.gravity) + strain_scale(qs))
    qs.floor = qs.digits * qs.size + qs.left_open


@helper
def norm_square(body, j):
    tree = body.tree
    square = 0.0
    for k in range(tree.iv[j], tree.iv[j] + 6 - tree.forbidden[j]):
        square += body.qdd[k] * body.qdd[k]
    return square


@helper
def expand(qs):
    """Remove the first node from the queue, compute its joint's acceleration, if it has one, and queue its parts.
    Returns the decrease of the queue's total."""
    body, tree = qs.body, qs.body.tree
    i, a = qs.queue[0], qs.values[0]
    qs.queue_length = pop(qs.queue, qs.values, qs.queue_length)
    note_visit(qs, i)
    kind, l, r, j = tree.kind[i], tree.left[i], tree.right[i], tree.item[i]
    if kind == SUM:
        sum_down(body, i)
    else:
        if kind == JOIN:
            join_down(body, i)
        else:
            light_down(body, i)
        qs.computed[qs.n_computed] = j
        qs.n_computed += 1
        square = norm_square(body, j)
        qs.largest = max(qs.largest, square)
        qs.squares += square
    a -= enqueue(qs, l)
    if kind != LIGHT:
        a -= enqueue(qs, r)
    return a


@helper
def traverse(qs, error, measure, most):
    """Expand nodes until the error is certified small enough, or `most` joints are computed [QS section 4.3]."""
    rest = certify(qs, measure)
    more = 1  # nodes to expand before the next certificate, if the last one failed
    while qs.queue_length > 0 and qs.n_computed < most:
        if error > 0.0 and seems_enough(qs, error, measure, rest):
            rest = certify(qs, measure)
            if qs.high <= error:
                return
            for _ in range(more):
                if qs.queue_length > 0 and qs.n_computed < most:
                    rest -= expand(qs)
            more *= 2
        else:
            rest -= expand(qs)
    certify(qs, measure)


@helper
def note_slide(qs, j, factor):
    """Record the displacement of joint j, inside the body, unless it only rotates."""
    body, tree = qs.body, qs.body.tree
    if tree.parent[j] >= 0 and SLIDES[tree.joint[j]]:
        qs.slid += abs(factor) * math.sqrt(norm_square(body, j))


@helper
def advance_computed(qs, factor):
    """Move the computed joints by factor times their accelerations, and mark the affected nodes. Spans are updated
    immediately: they determine the poses of the pushed bodies."""
    body, tree = qs.body, qs.body.tree
    for x in range(qs.n_computed):
        advance(tree, qs.computed[x], body.q, body.qdd, factor)
        note_slide(qs, qs.computed[x], factor)
    for x in range(qs.n_visited - 1, -1, -1):  # lower nodes first
        i = qs.visited[x]
        mark(qs, i, MATRICES)
        if tree.kind[i] == JOIN and tree.open[i]:
            renew_span(body, i)


_int, _float, _qs = types.int64, types.float64, QuasiStaticBody.type


@kernel(_float(_qs, _int, _float, _int, _int, _float), "quasi-statics", effort=10, nogil=True)
def step_kernel(qs, tasks, error, measure, most, factor):
    """Perform the given tasks. Returns the smallest pivot of the recomputed nodes."""
    tree = qs.body.tree
    smallest = 1.0e300
    if tasks & (BUILD | MARK_ALL):
        mark_all(qs)
    if tasks & ALL_FORCES:
        for i in range(tree.n_nodes):
            mark(qs, i, FORCES)
    if tasks & (BUILD | RENEW | SPANS) and qs.stale:
        renew_spans(qs)
    if tasks & (BUILD | RENEW):
        place_pushes(qs)
        smallest = renew_dirty(qs)
    if not smallest > 0.0:
        return smallest
    if tasks & BEGIN:
        begin(qs)
    if tasks & GO_ON:
        traverse(qs, error, measure, most)
    if tasks & ADVANCE:
        advance_computed(qs, factor)
    return smallest
