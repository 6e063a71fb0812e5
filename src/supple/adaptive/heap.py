"""A priority queue of nodes in two arrays, the largest value first."""

from __future__ import annotations

from supple.spatial.compiler import helper


@helper
def push(nodes, values, size, node, value):
    """Insert a node; returns the new size."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if values[up] >= value:
            break
        nodes[k] = nodes[up]
        values[k] = values[up]
        k = up
    nodes[k] = node
    values[k] = value
    return size + 1


@helper
def pop(nodes, values, size):
    """Remove the first node; returns the new size."""
    size -= 1
    node, value = nodes[size], values[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and values[child + 1] > values[child]:
            child += 1
        if values[child] <= value:
            break
        nodes[k] = nodes[child]
        values[k] = values[child]
        k = child
    nodes[k] = node
    values[k] = value
    return size
