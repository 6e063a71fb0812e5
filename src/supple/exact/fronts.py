"""Dynamics of mechanisms with loops, in time proportional to their size where loops are short.

The articulated-body algorithm (aba.py) along a spanning tree [spanning.py], with the rows of cut joints carried along:
a front has, besides the articulated inertia IA and bias force pA of a node, the forces K that unit forces along the
rows exert on it and the accelerations F^T F along rows that such forces cause below it,

    force on the node = IA A + pA - K x        K^T A + F^T F x = b

for the acceleration A of the node and forces x along the rows. To pass a degree of freedom with axis s:

    U = IA s    d = 1 / (s.U + armature)    u = tau - s.pA    y = K^T s
    IA - U d U^T,   pA + U d u,   K - U d y^T,   F with the row sqrt(d) y^T,   b - y d u

Rows both of whose ends are below a node are closed. Only six combinations of them exert a force on it; the others have
K = 0, and F^T F x = b gives their forces in terms of the rest: they are eliminated, by orthogonal transformations of F
[row_elimination.py]. Nothing is subtracted from F^T F or added to IA, so nothing cancels. Where rows depend on each
other, the smallest forces of those eliminated together are taken. A base is the world, which has no acceleration:
there all closed rows are eliminated.

Cut joints of the model's own tree are rows, too, and their armatures are a compliance along a row. A loop joint in
the spanning tree adds c to the accelerations, the particular solution of K c = g [closure.py].
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from supple.exact.front_tables import Front, FrontDof, Mechanism, Node
from supple.exact.row_elimination import eliminate_rows, rotate_closed, triangular
from supple.exact.row_scales import apply_scale, force_at, gives_way, scale_closed
from supple.exact.uneven_rows import (
    eliminate_by_lengths,
    lever,
    measure_at,
    measure_of,
    scale_by_lengths,
    uneven_triangular,
)
from supple.spatial.algebra import articulated, outer_inertia, shift_force, shift_inertia
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import LINE, fetch, fetch_from

CACHED, AHEAD = 500, 4  #: above CACHED nodes, what they need is prefetched AHEAD nodes in advance
NODE_LINES, DOF_LINES, FRONT_LINES = (-(-x.words // LINE) for x in (Node, FrontDof, Front))


@helper
def set_force(K, i, f):
    K[i], K[i + 1], K[i + 2] = f.ang.x, f.ang.y, f.ang.z
    K[i + 3], K[i + 4], K[i + 5] = f.lin.x, f.lin.y, f.lin.z


@kernel(types.float64(Mechanism.type), "factors of fronts", effort=2)
def factor_fronts(mech):
    """IA, U, d, K, Y and F from the leaves to the bases. Returns the smallest D."""
    mech.redundant = 0
    smallest = np.inf
    for a in range(mech.n_nodes - 1, -1, -1):
        node = mech.nodes[a]
        here = mech.passed[node.slot]
        fetch_coming(mech, a, -AHEAD)
        if node.body >= 0:
            IA = articulated(node.I)
            here.IA = IA + here.IA if node.has_children else IA
        if node.is_new:
            begin_front(node, here, mech)
        if node.body >= 0:
            smallest = pass_body(node, here, mech, smallest)
        if has_rows_above(node, mech):
            leave_node(node, mech)
    return smallest


@helper
def fetch_coming(mech, a, ahead):
    """Prefetch what comes soon after node a, and still more of what comes before that."""
    near, far = a + ahead, a + 2 * ahead
    if mech.n_nodes > CACHED and min(near, far) >= 0 and max(near, far) < mech.n_nodes - 1:
        fetch(mech.nodes, far, NODE_LINES)
        node, first = mech.nodes[near], mech.nodes[near + 1].Y
        fetch(mech.dofs, node.dof, node.n_dofs * DOF_LINES)
        fetch(mech.fronts, node.front, FRONT_LINES)
        fetch_from(mech.b, first, (node.Y - first) // LINE + 1)


@helper
def pass_body(node, here, mech, smallest):
    """Pass a body through its degrees of freedom, on to its parent. Returns the smallest D so far."""
    IA = here.IA
    for k in range(node.dof + node.n_dofs - 1, node.dof - 1, -1):
        dof = mech.dofs[k]
        U = IA @ dof.s
        D = dof.s @ U + dof.armature
        dof.U, dof.d = U, 1.0 / D
        smallest = min(smallest, D) if D == D else -1.0
        IA = IA - outer_inertia(U, dof.d)
        if node.front >= 0:
            pass_rows(node, k, mech)
    up = mech.nodes[node.parent]
    if up.body >= 0:
        IA, above = shift_inertia(node.P - up.P, IA), mech.passed[up.slot]
        # of several children, the last is the first to come here, and has its parent's slot
        above.IA = IA if node.slot == up.slot else above.IA + IA
    return smallest


@helper
def has_rows_above(node, mech):
    """Whether rows go on from a node to its parent."""
    return node.front >= 0 and mech.fronts[node.front].n_open + mech.fronts[node.front].n_kept > 0


@helper
def begin_front(node, here, mech):
    """Add the rows that enter at a node to those of its children, and eliminate closed ones."""
    front, loops = mech.fronts[node.front], mech.loops
    front.n_F = front.rank = 0
    for j in range(6 * front.n):
        mech.K[front.K + j] = 0.0
    i = front.below
    while i >= 0:
        continue_rows(mech.fronts[i], front, mech)
        i = mech.fronts[i].beside
    for e in range(node.end, node.end + node.n_ends):
        end = mech.ends[e]
        for i in range(end.n_rows):
            row, at = loops.rows[end.row + i], front.K + 6 * (end.at + i)
            f = shift_force(row.P - node.P, row.f)
            set_force(mech.K, at, force_at(mech.K, at) + f * end.sign)
            gives = lever(f, loops.size) if mech.is_uneven else gives_way(here.IA, f)
            mech.gives[end.row + i] = gives if end.owns else mech.gives[end.row + i] + gives
            if end.owns and mech.soft[end.row + i] != 0.0:
                root = math.sqrt(abs(mech.soft[end.row + i]))
                mech.F[append_zeros(front, mech, 1.0 / root) + (end.at + i) * front.stride] = root
    if front.n > front.n_open + front.n_kept:
        if mech.is_uneven:
            scale_by_lengths(front, mech)
        else:
            scale_closed(front, here, mech)
        if not front.is_base:
            apply_scale(front, mech)
            rotate_closed(front, mech)
        if mech.is_uneven:
            eliminate_by_lengths(front, mech)
        else:
            eliminate_rows(front, mech)


@helper
def continue_rows(below, front, mech):
    """Add the rows of a front to those of the next."""
    m = below.n_open + below.n_kept
    for r in range(m):
        at = front.K + 6 * mech.to[below.to + r]
        set_force(mech.K, at, force_at(mech.K, at) + force_at(mech.K, below.K + 6 * r))
    for i in range(below.rank, below.n_F):
        new = append_zeros(front, mech, mech.F[measure_at(below, i)] if mech.is_uneven else 0.0)
        for r in range(m):
            mech.F[new + mech.to[below.to + r] * front.stride] = mech.F[below.F + r * below.stride + i]


@helper
def compress(front, mech):
    """Make what is not eliminated of F triangular."""
    m, at, n = front.n_open + front.n_kept, front.F + front.rank, front.n_F - front.rank
    if mech.is_uneven:
        left = uneven_triangular(mech.F, at, front.stride, m, n, measure_at(front, front.rank), mech.room)
    else:
        left = triangular(mech.F, at, front.stride, m, n, mech.room)
    front.n_F = front.rank + left


@helper
def append(front, mech, measure):
    """A new row of F: where it begins. Its numbers are not set."""
    if front.n_F == front.stride:  # only after rows have been eliminated: there is room for all that come before
        compress(front, mech)
    if mech.is_uneven:
        mech.F[measure_at(front, front.n_F)] = measure
    front.n_F += 1
    return front.F + front.n_F - 1


@helper
def append_zeros(front, mech, measure):
    """A new row of F, of zeros."""
    at = append(front, mech, measure)
    for c in range(front.n):
        mech.F[at + c * front.stride] = 0.0
    return at


@helper
def pass_rows(node, k, mech):
    """Pass the rows of a node through a degree of freedom."""
    front, dof, K, Y = mech.fronts[node.front], mech.dofs[k], mech.K, mech.Y
    m = front.n_open + front.n_kept
    first, root = node.Y + (k - node.dof) * m, math.sqrt(max(dof.d, 0.0))
    measure = measure_of(root, dof.s, mech.loops.size) if mech.is_uneven else 0.0
    for r in range(m):
        Y[first + r] = dof.s @ force_at(K, front.K + 6 * r)
    for e in range(node.direct, node.direct + node.n_directs):
        direct = mech.directs[e]
        if direct.dof == k:
            Y[first + direct.at] += direct.factor
            gives = direct.factor * direct.factor * (measure * measure * dof.d if mech.is_uneven else dof.d)
            mech.gives[direct.row] = gives if direct.owns else mech.gives[direct.row] + gives
    new = append(front, mech, measure)
    for r in range(m):
        y, at = Y[first + r], front.K + 6 * r
        set_force(K, at, force_at(K, at) - dof.U * (y * dof.d))
        mech.F[new + r * front.stride] = root * y


@helper
def leave_node(node, mech):
    """Make the rows of a node those of its parent."""
    front, up = mech.fronts[node.front], mech.nodes[node.parent]
    m, r_up = front.n_open + front.n_kept, node.P - up.P
    for r in range(m):
        at = front.K + 6 * r
        set_force(mech.K, at, shift_force(r_up, force_at(mech.K, at)))
    if up.front != node.front and front.n_F - front.rank > m:
        compress(front, mech)
