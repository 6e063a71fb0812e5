"""The assembly tree: the order in which the parts of a body are joined.

A node is a connected set of bodies. Its boundary bodies are its handles [QS section 3.1]. Bodies form heavy paths: from
each body the path continues to the child with the largest subtree. Branches outside the path are absorbed into the body
that carries them.

    LEAF    a body with all branches absorbed into it      left: the absorbed branches, or -1
    JOIN    two stretches of a path, joined at a joint     left: the upper stretch, right: the lower one
    LIGHT   a joint and the path below it, as seen by      left: that path
            the body above
    SUM     several LIGHTs on one body                     left, right

So no node has more than two handles, the top and the bottom of its stretch. The only handle of a LIGHT or SUM is the
body that carries it. The world is a body that carries all trees; the last node contains everything attached to it.
Paths are bisected by weight, and so are the sums, which makes the depth O(log n).

Nodes are numbered children first, the upper stretch before the lower: the nodes under node i are first[i] ... i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.arguments import as_floats
from supple.errors import ModelError, StateError
from supple.model.model import Model, unknown
from supple.spatial.compiler import helper, kernel

Ints = NDArray[np.int64]

LEAF, JOIN, LIGHT, SUM = range(4)
WORLD = -1
ORDERS = ("balanced", "chain")


@dataclass(frozen=True, eq=False)
class Assembly:
    """The assembly tree of a model. Arrays have one entry per node unless stated otherwise."""

    kind: Ints  #: LEAF, JOIN, LIGHT or SUM
    left: Ints  #: -1: none
    right: Ints
    up: Ints  #: the node above, -1 for the last
    item: Ints  #: the body (LEAF, and SUM: that carries it) or the joint (JOIN, LIGHT); both are numbered by bodies
    first: Ints  #: the nodes under node i are first[i] ... i
    level: Ints  #: distance from the last node
    joints: Ints  #: number of joints in it, its own included
    leaf_of: Ints  #: (n_bodies,) the LEAF of a body
    node_of: Ints  #: (n_bodies,) the JOIN or LIGHT of a joint
    heavy: Ints  #: (n_bodies,) the child that continues a body's path, -1 at its end

    @property
    def n_nodes(self) -> int:
        return len(self.kind)

    @property
    def depth(self) -> int:
        """The largest number of nodes from the last one to a leaf."""
        return int(self.level.max()) + 1


def assemble(model: Model, order: str | ArrayLike = "balanced") -> Assembly:
    """The assembly tree of a model; cached with the model.

    order: "balanced", "chain" (every path from its end upwards, joint by joint), or an array (n_bodies,) of ranks:
    within a path, joints of lower rank are joined earlier.
    """
    if isinstance(order, str):
        if order not in ORDERS:
            raise StateError(unknown("assembly order", order, ORDERS))
        return model._kept((Assembly, order), lambda: _build(model, ORDERS.index(order), None))
    rank = as_floats("order", order)
    if rank.shape != (model.n_bodies,) or not np.isfinite(rank).all():
        raise StateError(f"an assembly order is one finite rank for each of the {model.n_bodies} joints")
    return _build(model, len(ORDERS), rank)


def _build(model: Model, mode: int, rank: NDArray[np.float64] | None) -> Assembly:
    n = model.n_bodies
    if n == 0:
        raise ModelError("there is nothing to assemble: the model has no bodies")
    nodes = np.empty((3 * n, 8), dtype=np.int64)
    heavy = np.empty(n, dtype=np.int64)
    scratch = np.empty((8, 4 * n + 32), dtype=np.int64)
    rank = np.zeros(n) if rank is None else rank
    count = build_kernel.load()(np.ascontiguousarray(model.parent, dtype=np.int64), mode, rank, nodes, heavy, scratch)
    columns = [np.ascontiguousarray(c) for c in nodes[:count].T]
    kind, item = columns[0], columns[4]
    leaf_of, node_of = np.empty((2, n), dtype=np.int64)
    leaf_of[item[kind == LEAF]] = np.flatnonzero(kind == LEAF)
    joint = (kind == JOIN) | (kind == LIGHT)
    node_of[item[joint]] = np.flatnonzero(joint)
    return Assembly(*columns, leaf_of, node_of, heavy)  # type: ignore[call-arg]


_KIND, _LEFT, _RIGHT, _UP, _ITEM, _FIRST, _LEVEL, _JOINTS = range(8)
_STRETCH, _GROUP, _MAKE = range(3)  # tasks: the nodes of a stretch, of a group, or one node of kind op - _MAKE

_ints, _ints2, _floats = types.int64[::1], types.int64[:, ::1], types.float64[::1]


@helper
def halve(total, i, j):
    """The k in i+1 ... j-1 that best halves the weight of i ... j-1; total[k]: the weight before k."""
    half = 0.5 * (total[i] + total[j])
    low, high = i + 1, j - 1
    while low < high:
        middle = (low + high) // 2
        if total[middle] < half:
            low = middle + 1
        else:
            high = middle
    if low > i + 1 and half - total[low - 1] < total[low] - half:
        low -= 1
    return low


@helper
def last_joined(seq, rank, i, j):
    """The k in i+1 ... j-1 whose joint has the highest rank."""
    best = i + 1
    for k in range(i + 2, j):
        if rank[seq[k]] > rank[seq[best]]:
            best = k
    return best


@helper
def make(nodes, count, kind, left, right, item):
    """Append a node; returns the new count."""
    nodes[count, _KIND], nodes[count, _LEFT], nodes[count, _RIGHT], nodes[count, _ITEM] = kind, left, right, item
    nodes[count, _UP] = -1
    first, joints = count, 1 if kind in (JOIN, LIGHT) else 0
    for child in (right, left):
        if child >= 0:
            nodes[child, _UP] = count
            first = nodes[child, _FIRST]
            joints += nodes[child, _JOINTS]
    nodes[count, _FIRST], nodes[count, _JOINTS] = first, joints
    return count + 1


@kernel(types.int64(_ints, types.int64, _floats, _ints2, _ints, _ints2), "assembly")
def build_kernel(parent, mode, rank, nodes, heavy, scratch):
    """Fills `nodes`, children first, and `heavy`; returns the number of nodes.

    seq: the bodies, path after path; light: the first body of each path, grouped by the body that carries it. Both are
    split by weight, using the cumulative sizes in total and light_total. There is no recursion: pending tasks are on a
    stack, and so are the nodes waiting to be joined.
    """
    n = parent.shape[0]
    size, seq, total, light = scratch[0], scratch[1], scratch[2], scratch[3]
    light_total, start, stack, waiting = scratch[4], scratch[5], scratch[6], scratch[7]
    for b in range(n):
        size[b] = 1
        heavy[b] = -1
    for b in range(n - 1, -1, -1):
        if parent[b] >= 0:
            size[parent[b]] += size[b]
            if heavy[parent[b]] < 0 or size[b] >= size[heavy[parent[b]]]:
                heavy[parent[b]] = b
    # the light children of body p are light[start[p + 1]] ... light[start[p + 2] - 1]; the world is p = -1
    for p in range(n + 2):
        start[p] = 0
    for b in range(n):
        if parent[b] < 0 or heavy[parent[b]] != b:
            start[parent[b] + 2] += 1
    for p in range(n + 1):
        start[p + 1] += start[p]
    for b in range(n):  # start[p + 1] advances while being filled, and ends where the next range begins
        if parent[b] < 0 or heavy[parent[b]] != b:
            light[start[parent[b] + 1]] = b
            start[parent[b] + 1] += 1
    for p in range(n, -1, -1):
        start[p + 1] = start[p]
    start[0] = 0
    paths = start[n + 1]
    light_total[0] = 0
    for k in range(paths):
        light_total[k + 1] = light_total[k] + size[light[k]]
    position, m = stack, 0  # start of each path in seq; the stack is not in use yet
    total[0] = 0
    for k in range(paths):
        b = light[k]
        position[b] = m
        while b >= 0:
            seq[m] = b
            total[m + 1] = total[m] + size[b] - (size[heavy[b]] if heavy[b] >= 0 else 0)
            m += 1
            b = heavy[b]
    for k in range(paths):  # size is no longer needed: it now holds the start in seq of the path of its first body
        size[light[k]] = position[light[k]]

    count, top, held = 0, 0, 0
    stack[0], stack[1], stack[2] = _GROUP, start[0], start[1]
    top = 3
    while top > 0:
        op, i, j = stack[top - 3], stack[top - 2], stack[top - 1]
        top -= 3
        if op == _STRETCH:
            b = seq[i]
            if j - i == 1:
                stack[top], stack[top + 1], stack[top + 2] = _MAKE + LEAF, b, start[b + 2] - start[b + 1]
                top += 3
                if start[b + 2] > start[b + 1]:
                    stack[top], stack[top + 1], stack[top + 2] = _GROUP, start[b + 1], start[b + 2]
                    top += 3
            else:
                k = halve(total, i, j) if mode == 0 else i + 1 if mode == 1 else last_joined(seq, rank, i, j)
                stack[top], stack[top + 1], stack[top + 2] = _MAKE + JOIN, seq[k], 0
                stack[top + 3], stack[top + 4], stack[top + 5] = _STRETCH, k, j
                stack[top + 6], stack[top + 7], stack[top + 8] = _STRETCH, i, k
                top += 9
        elif op == _GROUP:
            b = light[i]
            if j - i == 1:
                end = size[light[j]] if j < paths else n
                stack[top], stack[top + 1], stack[top + 2] = _MAKE + LIGHT, b, 0
                stack[top + 3], stack[top + 4], stack[top + 5] = _STRETCH, size[b], end
                top += 6
            else:
                k = halve(light_total, i, j)
                stack[top], stack[top + 1], stack[top + 2] = _MAKE + SUM, parent[b], 0
                stack[top + 3], stack[top + 4], stack[top + 5] = _GROUP, k, j
                stack[top + 6], stack[top + 7], stack[top + 8] = _GROUP, i, k
                top += 9
        elif op == _MAKE + LEAF:
            left = -1
            if j > 0:
                held -= 1
                left = waiting[held]
            count = make(nodes, count, LEAF, left, -1, i)
            waiting[held] = count - 1
            held += 1
        elif op == _MAKE + LIGHT:
            count = make(nodes, count, LIGHT, waiting[held - 1], -1, i)
            waiting[held - 1] = count - 1
        else:
            count = make(nodes, count, op - _MAKE, waiting[held - 2], waiting[held - 1], i)
            held -= 1
            waiting[held - 1] = count - 1
    nodes[count - 1, _LEVEL] = 0
    for i in range(count - 2, -1, -1):
        nodes[i, _LEVEL] = nodes[nodes[i, _UP], _LEVEL] + 1
    return count
