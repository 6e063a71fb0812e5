"""Heapsort, in place and in ascending order [Williams 1964]."""

from __future__ import annotations

from supple.spatial.compiler import helper


@helper
def larger_child(keys, n, i):
    """The larger child of i in a heap of n keys, if it is larger than i; otherwise -1."""
    k = 2 * i + 1
    if k + 1 < n and keys[k + 1] > keys[k]:
        k += 1
    return k if k < n and keys[k] > keys[i] else -1


@helper
def sift_down(keys, n, i):
    """Moves key i down a heap of n keys, until it is not smaller than its children."""
    k = larger_child(keys, n, i)
    while k >= 0:
        keys[i], keys[k] = keys[k], keys[i]
        i, k = k, larger_child(keys, n, k)


@helper
def sort(keys, n):
    """Sorts the first n keys."""
    for i in range(n // 2 - 1, -1, -1):
        sift_down(keys, n, i)
    for end in range(n - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        sift_down(keys, end, 0)
