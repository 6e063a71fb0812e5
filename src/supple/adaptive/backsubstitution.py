"""The compiled part of quasi-statics: updating what changed, and the partial back-substitution with a queue.

Symbols as in memory.py. The queue holds upper bounds of totals. `slack` is the difference between these and the
computed totals; the true totals may be lower than the computed ones by the same amount again, due to rounding.
"""

from __future__ import annotations

import math

from numba import types

from supple.adaptive.heap import pop, push
from supple.adaptive.memory import QuasiStaticBody
from supple.adaptive.total_acceleration import total_acceleration
from supple.assembly.joints import BALL, REVOLUTE, UNIVERSAL, advance, beside, identity
from supple.assembly.load_cases import force_in_basis
from supple.assembly.passes import (
    closing_of,
    join_down,
    leaf_down,
    light_down,
    lone_down,
    renew,
    stretch_of,
    sum_down,
    told,
)
from supple.assembly.poses import beyond_joint, compose, find_world, pose_at, renew_span, span_of
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM
from supple.integrating.push_law import push_on_body, push_size
from supple.spatial.algebra import Force, Motion, Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.sixes import absolute, dot, make_six, set_six, six

FORCES, MATRICES = 1, 2
BUILD, RENEW, BEGIN, GO_ON, ADVANCE, SPANS, ALL_FORCES = 1, 2, 4, 8, 16, 32, 64  # tasks of a kernel call
ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)


@helper
def mark(qs, i, how):
    """Mark node i and all nodes above it as out of date."""
    tree = qs.body.tree
    while i >= 0 and qs.marks[i] < how:
        if qs.marks[i] == 0:
            qs.dirty[qs.n_dirty] = i
            qs.n_dirty += 1
        qs.marks[i] = how
        i = tree.up[i]


@helper
def mark_all(qs):
    """Mark everything as out of date."""
    tree = qs.body.tree
    for i in range(tree.n_nodes):
        qs.marks[i] = MATRICES
        qs.dirty[i] = i
    qs.n_dirty = tree.n_nodes
    qs.stale = 1


@helper
def renew_spans(qs):
    """Recompute the spans of all nodes whose matrices are out of date, bottom-up: after a step in which any joint may
    have moved."""
    body, tree = qs.body, qs.body.tree
    for i in range(tree.n_nodes):
        if qs.marks[i] == MATRICES and tree.kind[i] == JOIN and tree.open[i]:
            renew_span(body, i)
    qs.stale = 0


@helper
def largest_product(A, x):
    """Upper bound of A x, given the magnitudes of x."""
    return make_six(
        dot(absolute(A[0]), x), dot(absolute(A[1]), x), dot(absolute(A[2]), x),
        dot(absolute(A[3]), x), dot(absolute(A[4]), x), dot(absolute(A[5]), x),
    )  # fmt: skip


@helper
def strain_scale(qs):
    """The scale of pushes on the same body that cancel each other: the squared accelerations that they would cause at
    the joints of these bodies without cancellation. The total of a node only contains their sum."""
    body, tree = qs.body, qs.body.tree
    scale = 0.0
    for x in range(qs.n_pushed):
        b = qs.pushed[x]
        i, k, closing = tree.leaf_of[b], 6 - tree.forbidden[b], closing_of(body, tree.node_of[b])
        for l in range(k):
            r = 0.0
            if tree.lone[i]:  # through G, the inverse of the joint's own inertia
                for e in range(k):
                    r += abs(closing.rows[l].G[e]) * qs.strain[x].f[6 - k + e]
            else:  # U Phi
                r = dot(absolute(closing.rows[l].U), largest_product(stretch_of(body, i).Phi1, six(qs.strain[x].f, 0)))
            scale += 4.0 * r * r
    return scale


@helper
def place_pushes(qs):
    """Compute the poses of the pushed bodies, and the forces on them in their own bases."""
    body, tree = qs.body, qs.body.tree
    still = Vec3(0.0, 0.0, 0.0)
    for x in range(qs.n_paths - 1, -1, -1):
        find_world(body, qs.paths[x], qs.world)
    for x in range(qs.n_pushed):
        b = qs.pushed[x]
        R, r = pose_at(qs.world, tree.leaf_of[b])
        f, pushing, turning = Force(still, still), 0.0, 0.0
        for k in range(qs.push_start[x], qs.push_start[x + 1]):
            f = f + push_on_body(qs.pushes[k], R, r, Motion(still, still))
            size, moment = push_size(qs.pushes[k], r)
            pushing, turning = pushing + size, turning + moment
        body.external[b].f = force_in_basis(tree, b, f)
        sizes = Force(Vec3(turning, turning, turning), Vec3(pushing, pushing, pushing))
        set_six(qs.strain[x].f, 0, force_in_basis(tree, b, sizes))
        mark(qs, tree.leaf_of[b], FORCES)


@helper
def renew_dirty(qs):
    """Recompute the coefficients of all marked nodes, bottom-up; those that cannot be computed stay marked. Returns the
    smallest pivot."""
    body, tree = qs.body, qs.body.tree
    n, levels = qs.n_dirty, qs.n_levels
    for k in range(levels):
        qs.levels[k] = 0
    for x in range(n):  # sort by level, the lowest first
        k = levels - 1 - tree.level[qs.dirty[x]]
        qs.levels[k] += 1
    before = 0
    for k in range(levels):
        count = qs.levels[k]
        qs.levels[k] = before
        before += count
    for x in range(n):
        i = qs.dirty[x]
        k = levels - 1 - tree.level[i]
        qs.sorted[qs.levels[k]] = i
        qs.levels[k] += 1
    smallest, bad = 1.0e300, 0
    for x in range(n):
        i = qs.sorted[x]
        matrices = qs.marks[i] == MATRICES
        pivot = renew(body, i, True, matrices)
        if not pivot >= smallest:
            smallest = pivot
            qs.worst = i
        if not pivot > 0.0:
            qs.queue[bad] = i
            bad += 1
        qs.marks[i] = 0
    qs.n_dirty = 0
    qs.n_touched = n
    for x in range(bad):
        mark(qs, qs.queue[x], MATRICES)
    return smallest


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
    qs.size = math.sqrt(scale + strain_scale(qs))
    qs.floor = qs.digits * qs.size


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
def quotient(a, b):
    """a / b, or zero if a is zero."""
    return 0.0 if a == 0.0 else a / b if b > 0.0 else math.inf


@helper
def set_bounds(qs, joints, measure, rest, at_most, at_least):
    """Set lower and upper bounds of the error. rest: lower and upper bound of the total of the joints treated as zero
    (the latter is negative if there are none); at_most: none of them has a larger square; at_least: one of them has at
    least this square; all up to FLOOR. joints: the number of all joints."""
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


@helper
def note_slide(qs, j, factor):
    """Record the displacement of joint j, inside the body, unless it only rotates."""
    body, tree = qs.body, qs.body.tree
    if tree.parent[j] >= 0 and tree.joint[j] not in (REVOLUTE, UNIVERSAL, BALL):
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
    if tasks & BUILD:
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


@kernel(types.void(_qs, _int, _int), "quasi-statics, marks")
def mark_kernel(qs, node, how):
    mark(qs, node, how)


@kernel(types.void(_qs, types.int64[::1], types.float64[:, ::1]), "quasi-statics, poses", nogil=True)
def poses_kernel(qs, bodies, out):
    """World poses of some bodies, twelve numbers each; modifies nothing else."""
    for x in range(bodies.shape[0]):
        R, r = climb(qs, bodies[x])
        for k in range(3):
            out[x, k], out[x, 3 + k], out[x, 6 + k] = R.r0[k], R.r1[k], R.r2[k]
            out[x, 9 + k] = r[k]


@helper
def climb(qs, b):
    """The world pose of body b, from its leaf up: O(depth)."""
    body, tree = qs.body, qs.body.tree
    i = tree.leaf_of[b]
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    while tree.up[i] >= 0:
        up = tree.up[i]
        kind, j = tree.kind[up], tree.item[up]
        if kind == JOIN and tree.right[up] == i:
            S, s = span_of(body, tree.left[up])
            S, s = beyond_joint(tree, j, body.q, S, s)
            R, r = compose(S, s, R, r)
        elif kind == LIGHT:
            S, s = pose_at(tree.frames, j)
            S, s = beyond_joint(tree, j, body.q, S, s)
            R, r = compose(S, s, R, r)
        i = up
    return R, r
