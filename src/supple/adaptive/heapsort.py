"""Ascending order, in place [Williams 1964, Heapsort]."""

from __future__ import annotations

from supple.spatial.compiler import helper


@helper
def larger_child(keys, n, i):
    """Of what is above others in a heap, the largest first: the one that it has to change places with, or -1."""
    k = 2 * i + 1
    if k + 1 < n and keys[k + 1] > keys[k]:
        k += 1
    return k if k < n and keys[k] > keys[i] else -1


@helper
def sift_down(keys, n, i):
    k = larger_child(keys, n, i)
    while k >= 0:
        keys[i], keys[k] = keys[k], keys[i]
        i, k = k, larger_child(keys, n, k)


@helper
def sort(keys, n):
    """The first n of them."""
    for i in range(n // 2 - 1, -1, -1):
        sift_down(keys, n, i)
    for end in range(n - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        sift_down(keys, end, 0)


@helper
def sift_both(items, keys, n, i):
    k = larger_child(keys, n, i)
    while k >= 0:
        keys[i], keys[k] = keys[k], keys[i]
        items[i], items[k] = items[k], items[i]
        i, k = k, larger_child(keys, n, k)


@helper
def sort_by(items, keys, n):
    """The first n items, and their keys, by these."""
    for i in range(n // 2 - 1, -1, -1):
        sift_both(items, keys, n, i)
    for end in range(n - 1, 0, -1):
        keys[0], keys[end] = keys[end], keys[0]
        items[0], items[end] = items[end], items[0]
        sift_both(items, keys, end, 0)
