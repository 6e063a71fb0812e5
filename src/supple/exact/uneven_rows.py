"""Elimination of rows where masses are far apart: which rows depend on others is a matter of lengths, not of masses.

F has a row for each degree of freedom below a node, sqrt(d) times how far it moves along the rows of loops [fronts.py].
Where masses are 10^12 apart, these differ by 10^6: two rows of a loop that are told apart by a heavy body alone seem to
be the same, to six digits. Here each row of F has, in one more column, its *measure*: 1 / sqrt(d), by which its numbers
are lengths again. Rows of loops are scaled, and told from each other, by what is left of their lengths; of those that
are independent, the one that gives way most is eliminated next. If the largest number of its column comes first,
rounding errors of each row of F are relative to its own size, so that they do not matter either
[Powell and Reid 1969; Cox and Higham 1998, Stability of Householder QR factorization for weighted least squares].
"""

from __future__ import annotations

import math

from supple.exact.row_elimination import (
    begin_elimination,
    choose_pivot,
    eliminate_pivot,
    finish_elimination,
    pivot_at,
    reflect_columns,
)
from supple.exact.row_scales import column_square, force_at, place_of, scale_blocks
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper


@helper
def measure_at(front, i):
    """Where the measure of a row of F is."""
    return front.F + front.n * front.stride + i


@helper
def measure_of(root, s, size):
    """The measure of the row of F of a degree of freedom with axis s. Those that slide count by the size of the
    model; those that are locked do not."""
    unit = 1.0 if dot(s.ang, s.ang) > 0.0 else size
    return unit / root if root > 0.0 else 0.0


@helper
def lever(f, size):
    """The square of how far a body moves along a force that turns by one radian, and slides by the size of the
    model."""
    return dot(f.ang, f.ang) + size * size * dot(f.lin, f.lin)


@helper
def moved(F, at, measures, n):
    """The square of the length of n numbers of a column of F, as measured."""
    t = 0.0
    for i in range(n):
        x = F[at + i] * F[measures + i]
        t += x * x
    return t


@helper
def scale_by_lengths(front, mech):
    """As scale_closed, by how far joints move along rows."""
    for c in range(front.n_open, front.n):
        square = moved(mech.F, front.F + c * front.stride, measure_at(front, 0), front.n_F)
        if not front.is_base:
            square += lever(force_at(mech.K, front.K + 6 * c), mech.loops.size)
        place_of(front, mech, c).scale = square
    scale_blocks(front, mech)


@helper
def put_largest_first(F, column, n, at, stride, columns, measures):
    """Exchange two of n rows of F, so that the largest number of a column comes first. at: where the first of the rows
    begins."""
    best = 0
    for i in range(1, n):
        if abs(F[column + i]) > abs(F[column + best]):
            best = i
    if best > 0:
        for c in range(columns):
            one = at + c * stride
            F[one], F[one + best] = F[one + best], F[one]
        F[measures], F[measures + best] = F[measures + best], F[measures]


@helper
def mean_measure(F, column, measures, n):
    """The measure of what becomes of the first of n rows by a reflection: a mean of all, by the squares of a column."""
    whole, sizes = 0.0, 0.0
    for i in range(n):
        if F[measures + i] > 0.0:
            size = F[column + i] / F[measures + i]
            whole, sizes = whole + F[column + i] * F[column + i], sizes + size * size
    return math.sqrt(whole / sizes) if sizes > 0.0 else F[measures]


@helper
def uneven_triangular(F, at, stride, columns, n, measures, room):
    """As row_elimination.triangular."""
    for j in range(min(columns, n)):
        column = at + j * stride + j
        put_largest_first(F, column, n - j, at + j, stride, columns, measures + j)
        F[measures + j] = mean_measure(F, column, measures + j, n - j)
        reflect_columns(F, column, stride, columns - j, n - j, room)
    return min(columns, n)


@helper
def next_pivot(front, mech, gone, rank):
    """Of the rows from place `rank` on that do not depend on those before, the one that gives way most; -1: none."""
    F, left = mech.F, front.n_F - rank
    best, longest = -1, 0.0
    for j in range(rank, gone):
        c = pivot_at(front, mech, j)
        at = front.F + c * front.stride + rank
        square = place_of(front, mech, c).scale ** 2 if front.is_base else 1.0  # elsewhere the columns are scaled
        if square * moved(F, at, measure_at(front, rank), left) > mech.least * mech.least:
            length = square * column_square(F, at, left)
            if length > longest:
                best, longest = j, length
    return best


@helper
def eliminate_by_lengths(front, mech):
    """As row_elimination.eliminate_rows."""
    gone, rank = begin_elimination(front, mech), 0
    while rank < min(gone, front.n_F):
        best = next_pivot(front, mech, gone, rank)
        if best < 0:
            break
        choose_pivot(front, mech, rank, best)
        column = front.F + pivot_at(front, mech, rank) * front.stride + rank
        measures = measure_at(front, rank)
        put_largest_first(mech.F, column, front.n_F - rank, front.F + rank, front.stride, front.n, measures)
        eliminate_pivot(front, mech, rank)
        rank += 1
    finish_elimination(front, mech, rank)
