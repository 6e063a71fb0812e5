"""Nodes that are out of date: marking them, and recomputing only those.

Symbols as in memory.py.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.balance import sizes_in_basis
from supple.adaptive.memory import QuasiStaticBody
from supple.assembly.load_cases import force_in_basis
from supple.assembly.passes import renew
from supple.assembly.poses import find_world, pose_at, renew_span
from supple.assembly.tree import JOIN
from supple.integrating.push_law import push_on_body, push_size
from supple.spatial.algebra import Force, Motion, Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import set_six

FORCES, MATRICES = 1, 2  # values of `marks`


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
        set_six(qs.strain[x].f, 0, sizes_in_basis(tree, b, pushing, turning))
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


@kernel(types.void(QuasiStaticBody.type, types.int64, types.int64), "quasi-statics, marks")
def mark_kernel(qs, node, how):
    mark(qs, node, how)
