"""Parent arrays: depth-first order, ends of subtrees, depths, children. O(n), no recursion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def depth_first(parent: Ints) -> Ints:
    """The bodies connected to the world, depth first, children in the order of their indices.

    parent may be in any order (not only parents first). Bodies on a cycle are not reached and not returned.
    """
    n = len(parent)
    if _is_chain(parent):
        return np.arange(n)
    by_parent = np.argsort(parent, kind="stable")[::-1]  # children of one parent together, last child first
    children = by_parent.tolist()
    lo, hi = _child_ranges(parent, by_parent)
    stack = children[lo[0] : hi[0]]
    order = []
    while stack:
        i = stack.pop()
        order.append(i)
        a, b = lo[i + 1], hi[i + 1]
        if a != b:
            stack.extend(children[a:b])
    return np.array(order, dtype=np.int64)


def _is_chain(parent: Ints) -> bool:
    """Whether every body is a child of the previous one: a shortcut, since the answers are then known."""
    return np.array_equal(parent, np.arange(-1, len(parent) - 1))


def _child_ranges(parent: Ints, by_parent: Ints) -> tuple[list[int], list[int]]:
    """For p = -1 ... n-1: by_parent[lo[p+1]:hi[p+1]] are the children of p. by_parent is sorted by descending
    parent."""
    n = len(parent)
    count = np.bincount(parent + 1, minlength=n + 1)
    hi = n - (np.cumsum(count) - count)
    return (hi - count).tolist(), hi.tolist()


def subtree_ends(parent: Ints) -> Ints:
    """For a depth-first parent array: one past the last descendant of each body."""
    n = len(parent)
    if _is_chain(parent):
        return np.full(n, n)
    end = list(range(1, n + 1))
    up = parent.tolist()
    for i in range(n - 1, -1, -1):
        p = up[i]
        if p >= 0 and end[p] < end[i]:
            end[p] = end[i]
    return np.array(end, dtype=np.int64)


def is_depth_first(parent: Ints, ends: Ints) -> bool:
    """Whether bodies are numbered depth first, and ends are those of their subtrees; both arrays may hold anything.

    That is so if each body is followed by its first child, unless it has none, and its subtree by its next sibling,
    unless it is the last: by induction, there is then exactly one body that can have each index.
    """
    n, i = len(parent), np.arange(len(parent))
    if len(ends) != n or (parent < -1).any() or (parent >= i).any() or (ends <= i).any() or (ends > n).any():
        return False
    above = np.where(parent < 0, n, ends[parent])
    has_child, has_next = ends > i + 1, ends < above
    first_child = (parent[(i + 1)[has_child]] == i[has_child]).all()
    return bool((ends <= above).all() and first_child and (parent[ends[has_next]] == parent[has_next]).all())


def depths(parent: Ints) -> Ints:
    """Distance to the world, at least 1, of each body of a parents-first array."""
    if _is_chain(parent):
        return np.arange(1, len(parent) + 1)
    d = [0] * (len(parent) + 1)
    for i, p in enumerate(parent.tolist()):
        d[i] = (d[p] if p >= 0 else 0) + 1
    return np.array(d[: len(parent)], dtype=np.int64)


def n_children(parent: Ints) -> Ints:
    """(n + 1,) how many children each body has; the world is entry 0."""
    return np.bincount(parent + 1, minlength=len(parent) + 1)


def slots(parent: Ints, subtree_end: Ints) -> Ints:
    """A slot for each body's data in a pass over the bodies in depth-first order, kept as long as further children
    follow.

    A body takes over its parent's slot if it is the last child, and the next one otherwise; the world has slot 0. In
    the backward pass the same slots hold what children pass on to their parents. A chain needs one slot, a balanced
    tree about as many as it has levels.
    """
    n = len(parent)
    last = subtree_end == np.where(parent < 0, n, subtree_end[parent])
    opened = np.flatnonzero(~last)
    steps = np.bincount(opened, minlength=n + 1) - np.bincount(subtree_end[opened], minlength=n + 1)
    return np.cumsum(steps)[:n]
