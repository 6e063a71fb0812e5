"""The compiled side of quasi-statics: renewing what changed, and the partial back-substitution with a queue.

Arrays have an entry for each node unless said otherwise. `marks`: 0, FORCES (what depends on forces is out of date) or
MATRICES (all is); `dirty` lists the marked nodes, `counts` says how many entries the lists have.

The queue holds upper bounds of totals, `slack` how far below them the totals as computed are, and the totals may be as
far below these again: rounding included. FLOOR is what rounding can do to the accelerations that are computed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import types

from supple.adaptive.heap import pop, push
from supple.adaptive.pushes import OWN_PUSH, P_KIND, P_MOMENT, P_POINT, P_STIFFNESS, P_VECTOR, PUSH_ROW, SPRING
from supple.adaptive.totals import total
from supple.assembly.desk import open_desk
from supple.assembly.joints import BALL, REVOLUTE, UNIVERSAL, advance, identity
from supple.assembly.loads import force_in_basis
from supple.assembly.passes import closing_of, join_down, leaf_down, light_down, renew, stretch_of
from supple.assembly.poses import beyond_joint, compose, find_world, load_pose, renew_span, span_of
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM
from supple.spatial.algebra import Force, Vec3, cross
from supple.spatial.algebra import dot as dot3
from supple.spatial.compiler import helper, kernel
from supple.spatial.references import float_vector, floats_at, int_vector, ints_at
from supple.spatial.sixes import absolute, dot, make_six, set_six, six

FORCES, MATRICES = 1, 2
BUILD, RENEW, BEGIN, GO_ON, ADVANCE, SPANS, ALL_FORCES = 1, 2, 4, 8, 16, 32, 64  # what a call of the kernel is to do
ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)

# counts
DIRTY, QUEUE, VISITED, COMPUTED, PUSHED, TOUCHED, PATHS, WORST, STALE, COUNTS = range(10)  # STALE: spans are
# numbers. ROOT: the total of all joints; LARGEST, SQUARES: of those computed, the largest square, and their sum
# DIGITS: the relative error of coefficients; SIZE: the root of the scale of all [assembly/rounding.py]; SLID: how far
# joints inside the body have slid since DIGITS was measured
ROOT, LARGEST, LOW, HIGH, GRAVITY = range(5)
SQUARES, FLOOR, NOISE, AMPLIFICATION, IN_ALL, DIGITS, SIZE, SLID, NUMBERS = range(7, 16)


class Work(NamedTuple):
    """What the kernels have beside the desk."""

    marks: Any
    dirty: Any
    sorted: Any
    levels: Any  #: (depth + 2,)
    queue: Any
    values: Any
    slack: Any
    visited: Any
    computed: Any  #: joints, (n_bodies,)
    trees: Any  #: (12 n_bodies,) the joints' frames before they move
    spans: Any  #: 12 numbers each
    world: Any
    bodies: Any  #: the bodies that are pushed
    starts: Any  #: where the pushes of each of them begin
    pushes: Any  #: PUSH_ROW numbers each
    strain: Any  #: (6 pushed bodies,) the magnitudes of the pushes on each, added up, in its basis
    paths: Any  #: the nodes above those bodies, ascending
    noise: Any  #: (nv,) how large the terms of a joint's own equation are [whole.py]
    probe: Any  #: (nv,)
    carried: Any  #: (2 n_bodies,) likewise
    counts: Any
    numbers: Any
    depth: Any  #: how many levels there are


N_ARRAYS = len(Work._fields) - 1
_NOISE = Work._fields.index("noise")


@helper
def open_work(address):
    h = ints_at(address, (2 * N_ARRAYS,))
    z = N_ARRAYS
    return Work(
        int_vector(h[0], h[z]), int_vector(h[1], h[z + 1]), int_vector(h[2], h[z + 2]), int_vector(h[3], h[z + 3]),
        int_vector(h[4], h[z + 4]), float_vector(h[5], h[z + 5]), float_vector(h[6], h[z + 6]),
        int_vector(h[7], h[z + 7]), int_vector(h[8], h[z + 8]), float_vector(h[9], h[z + 9]),
        float_vector(h[10], h[z + 10]), float_vector(h[11], h[z + 11]), int_vector(h[12], h[z + 12]),
        int_vector(h[13], h[z + 13]), float_vector(h[14], h[z + 14]), float_vector(h[15], h[z + 15]),
        int_vector(h[16], h[z + 16]), float_vector(h[17], h[z + 17]), float_vector(h[18], h[z + 18]),
        float_vector(h[19], h[z + 19]), int_vector(h[20], h[z + 20]), float_vector(h[21], h[z + 21]), h[z + 3],
    )  # fmt: skip


@helper
def probe_arrays(address):
    """`noise` and `probe` of the work at an address, as arrays."""
    h, at = ints_at(address, (2 * N_ARRAYS,)), _NOISE
    return floats_at(h[at], (h[N_ARRAYS + at],)), floats_at(h[at + 1], (h[N_ARRAYS + at + 1],))


@helper
def mark(t, w, i, how):
    """Node i and all above it are out of date."""
    while i >= 0 and w.marks[i] < how:
        if w.marks[i] == 0:
            w.dirty[w.counts[DIRTY]] = i
            w.counts[DIRTY] += 1
        w.marks[i] = how
        i = t.up[i]


@helper
def mark_all(t, d, w):
    """Nothing is up to date."""
    for i in range(t.nodes):
        w.marks[i] = MATRICES
        w.dirty[i] = i
    w.counts[DIRTY] = t.nodes
    w.counts[STALE] = 1


@helper
def renew_spans(t, d, w):
    """The spans of all nodes whose matrices are out of date, from below: after a step in which any joint may have
    moved."""
    for i in range(t.nodes):
        if w.marks[i] == MATRICES and t.kind[i] == JOIN and t.open[i]:
            renew_span(t, i, d.q, w.trees, w.spans)
    w.counts[STALE] = 0


@helper
def length(a):
    return math.sqrt(dot3(a, a))


@helper
def largest_product(A, x):
    """What A x can be at most, given the magnitudes of x."""
    return make_six(
        dot(absolute(A[0]), x), dot(absolute(A[1]), x), dot(absolute(A[2]), x),
        dot(absolute(A[3]), x), dot(absolute(A[4]), x), dot(absolute(A[5]), x),
    )  # fmt: skip


@helper
def strain_scale(t, d, w):
    """The scale of the pushes where those on one body cancel: what each of the joints of these bodies would do if they
    did not, squared. The total of a node knows of their sum alone."""
    scale = 0.0
    for x in range(w.counts[PUSHED]):
        b = w.bodies[x]
        i, k, closing = t.leaf_of[b], 6 - t.forbidden[b], closing_of(d, t.node_of[b])
        for l in range(k):
            r = 0.0
            if t.lone[i]:  # by the inverse of the joint's own inertia, G
                for e in range(k):
                    r += abs(closing.rows[l].G[e]) * w.strain[6 * x + 6 - k + e]
            else:  # U Phi
                r = dot(absolute(closing.rows[l].U), largest_product(stretch_of(d, i).Phi1, six(w.strain, 6 * x)))
            scale += 4.0 * r * r
    return scale


@helper
def place_pushes(t, d, w):
    """Where the pushed bodies are, and what they feel in their own bases."""
    for x in range(w.counts[PATHS] - 1, -1, -1):
        find_world(t, w.paths[x], d.q, w.trees, w.spans, w.world)
    for x in range(w.counts[PUSHED]):
        b = w.bodies[x]
        R, r = load_pose(w.world, 12 * t.leaf_of[b])
        ang, lin = Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0)
        turning, pushing = 0.0, 0.0
        for k in range(PUSH_ROW * w.starts[x], PUSH_ROW * w.starts[x + 1], PUSH_ROW):
            v = Vec3(w.pushes[k + P_VECTOR], w.pushes[k + P_VECTOR + 1], w.pushes[k + P_VECTOR + 2])
            m = Vec3(w.pushes[k + P_MOMENT], w.pushes[k + P_MOMENT + 1], w.pushes[k + P_MOMENT + 2])
            p = Vec3(w.pushes[k + P_POINT], w.pushes[k + P_POINT + 1], w.pushes[k + P_POINT + 2])
            kind = w.pushes[k + P_KIND]
            size = length(v)
            if kind == SPRING:
                size = (size + length(p) + length(r)) * w.pushes[k + P_STIFFNESS]
                v = (v - (R @ p + r)) * w.pushes[k + P_STIFFNESS]
            if kind != OWN_PUSH:
                v, m = v @ R, m @ R  # R^T v
            ang, lin = ang + m + cross(p, v), lin + v
            turning, pushing = turning + length(m) + length(p) * size, pushing + size
        set_six(d.external, 6 * b, force_in_basis(t, b, Force(ang, lin)))
        sizes = Force(Vec3(turning, turning, turning), Vec3(pushing, pushing, pushing))
        set_six(w.strain, 6 * x, force_in_basis(t, b, sizes))
        mark(t, w, t.leaf_of[b], FORCES)


@helper
def renew_dirty(t, d, w, desk):
    """The coefficients of all marked nodes, from below; those that cannot be computed stay marked. Returns the smallest
    pivot."""
    n, levels = w.counts[DIRTY], w.depth
    for k in range(levels):
        w.levels[k] = 0
    for x in range(n):  # sorted by level, the lowest first
        k = levels - 1 - t.level[w.dirty[x]]
        w.levels[k] += 1
    before = 0
    for k in range(levels):
        count = w.levels[k]
        w.levels[k] = before
        before += count
    for x in range(n):
        i = w.dirty[x]
        k = levels - 1 - t.level[i]
        w.sorted[w.levels[k]] = i
        w.levels[k] += 1
    smallest, bad = 1.0e300, 0
    for x in range(n):
        i = w.sorted[x]
        matrices = w.marks[i] == MATRICES
        pivot = renew(t, d, desk, i, True, matrices)
        if not pivot >= smallest:
            smallest = pivot
            w.counts[WORST] = i
        if not pivot > 0.0:
            w.queue[bad] = i
            bad += 1
        w.marks[i] = 0
    w.counts[DIRTY] = 0
    w.counts[TOUCHED] = n
    for x in range(bad):
        mark(t, w, w.queue[x], MATRICES)
    return smallest


@helper
def note_visit(w, i):
    w.visited[w.counts[VISITED]] = i
    w.counts[VISITED] += 1


@helper
def enqueue(t, d, w, i):
    """Node i goes to the queue, if it has joints; what a LEAF has absorbed goes in its place. Returns the most that its
    total can be."""
    if t.joints[i] == 0:
        return 0.0
    if t.kind[i] == LEAF:
        l = t.left[i]
        note_visit(w, i)
        if t.lone[i]:
            set_six(d.told, d.told_at[l], six(d.told, d.told_at[i]))
        else:
            leaf_down(t, d, i, stretch_of(d, i).Phi1, stretch_of(d, i).b1)
        i = l
    a, scale = total(t, d, i)
    slack = scale * w.numbers[DIGITS]
    w.slack[i] = slack
    w.counts[QUEUE] = push(w.queue, w.values, w.counts[QUEUE], i, a + slack)
    return a + slack


@helper
def begin(t, d, w):
    """The queue with the last node alone, which is told that the world accelerates against gravity."""
    root = t.nodes - 1
    at = d.told_at[root]
    for k in range(3):
        d.told[at + k] = 0.0
        d.told[at + 3 + k] = -w.numbers[GRAVITY + k]
    for k in (QUEUE, VISITED, COMPUTED):
        w.counts[k] = 0
    w.numbers[LARGEST] = 0.0
    w.numbers[SQUARES] = 0.0
    enqueue(t, d, w, root)
    _, scale = total(t, d, root)
    w.numbers[SIZE] = math.sqrt(scale + strain_scale(t, d, w))
    w.numbers[FLOOR] = w.numbers[DIGITS] * w.numbers[SIZE]


@helper
def norm_square(t, d, j):
    square = 0.0
    for k in range(t.iv[j], t.iv[j] + 6 - t.forbidden[j]):
        square += d.qdd[k] * d.qdd[k]
    return square


@helper
def expand(t, d, w):
    """Take the first node from the queue: its joint's acceleration, if it has one, and its parts to the queue. Returns
    how much less the queue's nodes have in all."""
    i, a = w.queue[0], w.values[0]
    w.counts[QUEUE] = pop(w.queue, w.values, w.counts[QUEUE])
    note_visit(w, i)
    kind, l, r, j = t.kind[i], t.left[i], t.right[i], t.item[i]
    if kind == SUM:
        told = six(d.told, d.told_at[i])
        set_six(d.told, d.told_at[l], told)
        set_six(d.told, d.told_at[r], told)
    else:
        if kind == JOIN:
            join_down(t, d, i)
        else:
            light_down(t, d, i)
        w.computed[w.counts[COMPUTED]] = j
        w.counts[COMPUTED] += 1
        square = norm_square(t, d, j)
        w.numbers[LARGEST] = max(w.numbers[LARGEST], square)
        w.numbers[SQUARES] += square
    a -= enqueue(t, d, w, l)
    if kind != LIGHT:
        a -= enqueue(t, d, w, r)
    return a


@helper
def seems_enough(t, w, error, measure, rest):
    """Whether the error is small enough, as far as it is known on the way; `certify` has the last word."""
    floor, left = w.numbers[FLOOR], math.sqrt(max(rest, 0.0))
    size = max(math.sqrt(w.numbers[SQUARES] + max(rest, 0.0)) - floor, 0.0)
    if measure in (ABSOLUTE_LINKAGE, RELATIVE_LINKAGE):
        return left + 2.0 * floor <= (error if measure == ABSOLUTE_LINKAGE else error * size)
    worst = math.sqrt(w.values[0]) + floor
    if measure == ABSOLUTE_JOINT:
        return worst <= error
    least = max(math.sqrt(w.numbers[LARGEST]) - floor, size / math.sqrt(t.joints[t.nodes - 1]))
    return worst <= error * least


@helper
def traverse(t, d, w, error, measure, most):
    """Expand until the error is certainly small enough, or so many joints are computed [QS section 4.3]."""
    rest = certify(t, w, measure)
    more = 1  # nodes to expand before the next certificate, when the last one was not good enough
    while w.counts[QUEUE] > 0 and w.counts[COMPUTED] < most:
        if error > 0.0 and seems_enough(t, w, error, measure, rest):
            rest = certify(t, w, measure)
            if w.numbers[HIGH] <= error:
                return
            for _ in range(more):
                if w.counts[QUEUE] > 0 and w.counts[COMPUTED] < most:
                    rest -= expand(t, d, w)
            more *= 2
        else:
            rest -= expand(t, d, w)
    certify(t, w, measure)


@helper
def quotient(a, b):
    """a / b, which is zero if a is."""
    return 0.0 if a == 0.0 else a / b if b > 0.0 else math.inf


@helper
def set_bounds(w, joints, measure, rest, at_most, at_least):
    """Between what the error is. rest: joints that are treated as zero have a total between these two (the second is
    negative if there are none); at_most: none of them has a square above this, at_least: one has a square not below
    this; all but for FLOOR. joints: how many there are in all."""
    floor, largest = w.numbers[FLOOR], math.sqrt(w.numbers[LARGEST])
    squares, some = w.numbers[SQUARES], rest[1] >= 0.0
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
    w.numbers[LOW] = low
    w.numbers[HIGH] = high


@helper
def certify(t, w, measure):
    """What the error is, from the nodes in the queue. Returns the most that their totals can be."""
    n = w.counts[QUEUE]
    low, middle, high, some = 0.0, 0.0, 0.0, 0.0
    for x in range(n):
        i, most = w.queue[x], w.values[x]
        least = max(most - 2.0 * w.slack[i], 0.0)
        low, middle, high = low + least, middle + most - w.slack[i], high + most
        some = max(some, least / t.joints[i])
    w.numbers[ROOT] = w.numbers[SQUARES] + middle
    most = w.values[0] if n > 0 else 0.0
    set_bounds(w, t.joints[t.nodes - 1], measure, (low, high if n > 0 else -1.0), most, some)
    return high


@helper
def note_slide(t, d, w, j, factor):
    """How far joint j, inside the body, goes, unless it only turns."""
    if t.parent[j] >= 0 and t.joint[j] not in (REVOLUTE, UNIVERSAL, BALL):
        w.numbers[SLID] += abs(factor) * math.sqrt(norm_square(t, d, j))


@helper
def advance_computed(t, d, w, factor):
    """Move the joints that were computed by factor times their accelerations, and mark what that changes. Spans are
    renewed at once: they tell where the pushed bodies are."""
    for x in range(w.counts[COMPUTED]):
        advance(t, w.computed[x], d.q, d.qdd, factor)
        note_slide(t, d, w, w.computed[x], factor)
    for x in range(w.counts[VISITED] - 1, -1, -1):  # the nodes below come first
        i = w.visited[x]
        mark(t, w, i, MATRICES)
        if t.kind[i] == JOIN and t.open[i]:
            renew_span(t, i, d.q, w.trees, w.spans)


_int, _float = types.int64, types.float64


@kernel(_float(_int, _int, _int, _float, _int, _int, _float), "quasi-statics", effort=10, nogil=True)
def step_kernel(desk, work, tasks, error, measure, most, factor):
    """The tasks asked for. Returns the smallest pivot of what was renewed."""
    t, d = open_desk(desk)
    w = open_work(work)
    smallest = 1.0e300
    if tasks & BUILD:
        mark_all(t, d, w)
    if tasks & ALL_FORCES:
        for i in range(t.nodes):
            mark(t, w, i, FORCES)
    if tasks & (BUILD | RENEW | SPANS) and w.counts[STALE]:
        renew_spans(t, d, w)
    if tasks & (BUILD | RENEW):
        place_pushes(t, d, w)
        smallest = renew_dirty(t, d, w, desk)
    if not smallest > 0.0:
        return smallest
    if tasks & BEGIN:
        begin(t, d, w)
    if tasks & GO_ON:
        traverse(t, d, w, error, measure, most)
    if tasks & ADVANCE:
        advance_computed(t, d, w, factor)
    return smallest


@kernel(types.void(_int, _int, _int, _int), "quasi-statics, marks")
def mark_kernel(desk, work, node, how):
    t, _ = open_desk(desk)
    mark(t, open_work(work), node, how)


@kernel(types.void(_int, _int, types.int64[::1], types.float64[:, ::1]), "quasi-statics, poses", nogil=True)
def poses_kernel(desk, work, bodies, out):
    """Poses in the world of some bodies, twelve numbers each; touches nothing else."""
    t, d = open_desk(desk)
    w = open_work(work)
    for x in range(bodies.shape[0]):
        R, r = climb(t, d, w, bodies[x])
        for k in range(3):
            out[x, k], out[x, 3 + k], out[x, 6 + k] = R.r0[k], R.r1[k], R.r2[k]
            out[x, 9 + k] = r[k]


@helper
def climb(t, d, w, b):
    """The pose of body b in the world, from its leaf up: O(depth)."""
    i = t.leaf_of[b]
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    while t.up[i] >= 0:
        up = t.up[i]
        kind, j = t.kind[up], t.item[up]
        if kind == JOIN and t.right[up] == i:
            S, s = span_of(t, t.left[up], w.trees, w.spans)
            S, s = beyond_joint(t, j, d.q, S, s)
            R, r = compose(S, s, R, r)
        elif kind == LIGHT:
            S, s = load_pose(w.trees, 12 * j)
            S, s = beyond_joint(t, j, d.q, S, s)
            R, r = compose(S, s, R, r)
        i = up
    return R, r
