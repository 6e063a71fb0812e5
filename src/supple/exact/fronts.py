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

from supple.exact.front_tables import FrontDof, Mechanism, Node
from supple.exact.row_elimination import (
    apply_scale,
    eliminate_rows,
    force_at,
    gives_way,
    rotate_closed,
    scale_closed,
    triangular,
)
from supple.exact.uneven_rows import (
    eliminate_by_lengths,
    lever,
    measure_at,
    measure_of,
    scale_by_lengths,
    uneven_triangular,
)
from supple.spatial.algebra import outer_inertia, shift_force, shift_inertia
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import LINE, fetch, fetch_from

CACHED, AHEAD = 500, 4  #: above CACHED nodes, what they need is prefetched AHEAD nodes in advance
NODE_LINES, DOF_LINES = -(-Node.words // LINE), -(-FrontDof.words // LINE)


@helper
def set_force(K, i, f):
    K[i], K[i + 1], K[i + 2] = f.ang.x, f.ang.y, f.ang.z
    K[i + 3], K[i + 4], K[i + 5] = f.lin.x, f.lin.y, f.lin.z


@kernel(types.float64(Mechanism.type), "factors of fronts", effort=2)
def factor_fronts(mech):
    """IA, U, d, K, Y and F from the leaves to the bases. Returns the smallest D."""
    for i in range(mech.n_fronts):
        mech.fronts[i].n_F = mech.fronts[i].rank = mech.fronts[i].has_begun = 0
    for i in range(mech.n_all_rows):
        mech.gives[i] = 0.0
    mech.redundant = 0
    smallest, far = np.inf, mech.n_nodes > CACHED
    for a in range(mech.n_nodes - 1, -1, -1):
        node = mech.nodes[a]
        if far and a >= AHEAD:
            fetch(mech.nodes, a - 2 * AHEAD, NODE_LINES)
            fetch_front(mech, mech.nodes[a - AHEAD])
        if node.is_new:
            begin_front(node, mech)
        if node.body < 0:
            if has_rows_above(node, mech):
                leave_node(node, mech.nodes[node.parent], mech)
            continue
        IA = node.IA
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
            up.IA = up.IA + shift_inertia(node.r, IA)
        if has_rows_above(node, mech):
            leave_node(node, up, mech)
    return smallest


@helper
def fetch_front(mech, node):
    """Prefetch the front of a node that comes soon, and its degrees of freedom."""
    fetch(mech.dofs, node.dof, node.n_dofs * DOF_LINES)
    if node.is_new:
        front = mech.fronts[node.front]
        fetch_from(mech.F, front.F, front.stride * front.n // LINE)
        fetch_from(mech.K, front.K, 6 * front.n // LINE)


@helper
def has_rows_above(node, mech):
    """Whether rows go on from a node to its parent."""
    return node.front >= 0 and mech.fronts[node.front].n_open + mech.fronts[node.front].n_kept > 0


@helper
def clear(front, mech):
    """No rows have arrived yet."""
    front.has_begun = 1
    for j in range(6 * front.n):
        mech.K[front.K + j] = 0.0


@helper
def begin_front(node, mech):
    """Add the rows that enter at a node to those of its children, and eliminate closed ones."""
    front, loops = mech.fronts[node.front], mech.loops
    if not front.has_begun:
        clear(front, mech)
    for e in range(node.end, node.end + node.n_ends):
        end = mech.ends[e]
        for i in range(end.n_rows):
            row, at = loops.rows[end.row + i], front.K + 6 * (end.at + i)
            f = shift_force(row.P - node.P, row.f)
            set_force(mech.K, at, force_at(mech.K, at) + f * end.sign)
            if node.body >= 0:
                mech.gives[end.row + i] += lever(f, loops.size) if mech.is_uneven else gives_way(node.IA, f)
            if end.owns and mech.soft[end.row + i] != 0.0:
                root = math.sqrt(abs(mech.soft[end.row + i]))
                mech.F[append_zeros(front, mech, 1.0 / root) + (end.at + i) * front.stride] = root
    if front.n > front.n_open + front.n_kept:
        if mech.is_uneven:
            scale_by_lengths(front, mech)
        else:
            scale_closed(front, node, mech)
        if not front.is_base:
            apply_scale(front, mech)
            rotate_closed(front, mech)
        if mech.is_uneven:
            eliminate_by_lengths(front, mech)
        else:
            eliminate_rows(front, mech)


@helper
def compress(front, mech):
    """Make what is not eliminated of F triangular. Returns how many rows of it are left."""
    m, at, n = front.n_open + front.n_kept, front.F + front.rank, front.n_F - front.rank
    if mech.is_uneven:
        left = uneven_triangular(mech.F, at, front.stride, m, n, measure_at(front, front.rank), mech.room)
    else:
        left = triangular(mech.F, at, front.stride, m, n, mech.room)
    return left


@helper
def append(front, mech, measure):
    """A new row of F: where it begins. Its numbers are not set."""
    if front.n_F == front.stride:  # only after rows have been eliminated: there is room for all that come before
        front.n_F = front.rank + compress(front, mech)
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
    for r in range(m):
        Y[dof.y + r] = dof.s @ force_at(K, front.K + 6 * r)
    for e in range(node.direct, node.direct + node.n_directs):
        if mech.directs[e].dof == k:
            Y[dof.y + mech.directs[e].at] += mech.directs[e].factor
    root = math.sqrt(max(dof.d, 0.0))
    new = append(front, mech, measure_of(root, dof.s, mech.loops.size) if mech.is_uneven else 0.0)
    for r in range(m):
        y, at = Y[dof.y + r], front.K + 6 * r
        set_force(K, at, force_at(K, at) - dof.U * (y * dof.d))
        mech.F[new + r * front.stride] = root * y


@helper
def leave_node(node, up, mech):
    """Pass the rows of a node on to its parent."""
    front, K = mech.fronts[node.front], mech.K
    m = front.n_open + front.n_kept
    if up.front == node.front:
        for r in range(m):
            at = front.K + 6 * r
            set_force(K, at, shift_force(node.r, force_at(K, at)))
        return
    to = mech.fronts[up.front]
    if not to.has_begun:
        clear(to, mech)
    for r in range(m):
        at = to.K + 6 * mech.to[front.to + r]
        set_force(K, at, force_at(K, at) + shift_force(node.r, force_at(K, front.K + 6 * r)))
    rows = front.n_F - front.rank
    if rows > m:
        rows = compress(front, mech)
    for i in range(rows):
        new = append_zeros(to, mech, mech.F[measure_at(front, front.rank + i)] if mech.is_uneven else 0.0)
        for r in range(m):
            mech.F[new + mech.to[front.to + r] * to.stride] = mech.F[front.F + r * front.stride + front.rank + i]
