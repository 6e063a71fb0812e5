"""Radix sort of non-negative integers, least significant digit first [Knuth 1998, section 5.2.5]: O(n) for integers of
a given size. Few of them are sorted by heapsort instead: counting digits would cost more."""

from __future__ import annotations

from supple.adaptive.heapsort import sort
from supple.spatial.compiler import helper

FEW = 128  #: integers: no more than this are sorted by heapsort
DIGIT = 11  #: bits
DIGITS = 1 << DIGIT  #: values of a digit


@helper
def sort_digit(numbers, to, counts, n, shift):
    """Sorts by one digit; numbers with the same digit keep their order. Returns whether any number has more digits."""
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
def sort_large(numbers, scratch, counts, n):
    """Sorts the first n numbers, in ascending order. scratch: memory for n numbers; counts: for DIGITS."""
    shift, more = 0, n > FEW
    if not more:
        sort(numbers, n)
    while more:
        more = sort_digit(numbers, scratch, counts, n, shift)
        for k in range(n):
            numbers[k] = scratch[k]
        shift += DIGIT
