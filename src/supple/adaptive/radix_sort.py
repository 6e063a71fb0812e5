"""Whole numbers in ascending order, by their digits, the last one first [Knuth 1998, section 5.2.5]: O(n) for numbers
of a given size. Few of them are sorted as a heap: counting digits costs more."""

from __future__ import annotations

from supple.adaptive.heapsort import sort
from supple.spatial.compiler import helper

FEW = 128
DIGIT = 11  #: bits
DIGITS = 1 << DIGIT  #: how many values a digit has


@helper
def sort_digit(numbers, to, counts, n, shift):
    """By one digit, where those alike keep their order. Returns whether any number has more."""
    more = False
    for d in range(DIGITS):
        counts[d] = 0
    for k in range(n):
        x = numbers[k] >> shift
        counts[x & (DIGITS - 1)] += 1
        more = more or x >= DIGITS
    at = 0
    for d in range(DIGITS):
        at, counts[d] = at + counts[d], at
    for k in range(n):
        d = (numbers[k] >> shift) & (DIGITS - 1)
        to[counts[d]] = numbers[k]
        counts[d] += 1
    return more


@helper
def sort_large(numbers, spare, counts, n):
    """The first n of them, which are not negative. spare: room for as many; counts: for DIGITS."""
    shift, more = 0, n > FEW
    if not more:
        sort(numbers, n)
    while more:
        more = sort_digit(numbers, spare, counts, n, shift)
        for k in range(n):
            numbers[k] = spare[k]
        shift += DIGIT
