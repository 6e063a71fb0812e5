"""A priority queue of nodes in two arrays, the largest value first."""

from __future__ import annotations

from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item


@helper
def push(nodes, values, size, node, value):
    """Returns the new size."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if item(values, up) >= value:
            break
        set_item(nodes, k, item(nodes, up))
        set_item(values, k, item(values, up))
        k = up
    set_item(nodes, k, node)
    set_item(values, k, value)
    return size + 1


@helper
def pop(nodes, values, size):
    """Take the first away; returns the new size."""
    size -= 1
    node, value = item(nodes, size), item(values, size)
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and item(values, child + 1) > item(values, child):
            child += 1
        if item(values, child) <= value:
            break
        set_item(nodes, k, item(nodes, child))
        set_item(values, k, item(values, child))
        k = child
    set_item(nodes, k, node)
    set_item(values, k, value)
    return size
