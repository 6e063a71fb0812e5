"""Equations M x = b of a few rows that may depend on each other: M is symmetric, positive semidefinite, and rounded.

M is factored by Cholesky's method with the largest pivot first, M = L L^T in that order, until what remains of every
row is too little to tell it from the others. Those rows are left out: their x is zero.
"""

from __future__ import annotations

import math

from supple.spatial.compiler import helper


@helper
def factor_rows(M, order, n, least):
    """Replace M, (n, n) by rows, by its factor L, and find the order of its pivots. least: a row of which no more
    remains, of one, is left out. Returns how many are not."""
    for i in range(n):
        order[i] = i
    for rank in range(n):
        best = rank
        for k in range(rank + 1, n):
            if M[n * order[k] + order[k]] > M[n * order[best] + order[best]]:
                best = k
        p = order[best]
        order[best] = order[rank]
        order[rank] = p
        pivot = M[n * p + p]
        if not pivot > least * least:
            return rank
        root = math.sqrt(pivot)
        M[n * p + p] = root
        for k in range(rank + 1, n):
            i = order[k]
            M[n * i + p] /= root
        for k in range(rank + 1, n):
            i = order[k]
            for l in range(rank + 1, n):
                j = order[l]
                M[n * i + j] -= M[n * i + p] * M[n * j + p]
    return n


@helper
def solve_rows(L, order, rank, n, x):
    """Replace x, on the right-hand side, by the solution."""
    for a in range(rank):
        i = order[a]
        x[i] = (x[i] - others_below(L, order, n, a, x)) / L[n * i + i]
    solve_upper(L, order, rank, n, x)


@helper
def solve_for_largest(L, order, rank, n, x):
    """The same with those signs of x that make the solution large: each makes what is passed on to the next rows
    larger, as in LINPACK's estimates of condition numbers."""
    for a in range(rank):
        i = order[a]
        t = others_below(L, order, n, a, x)
        x[i] = math.copysign((abs(x[i]) + abs(t)) / L[n * i + i], -t)
    solve_upper(L, order, rank, n, x)


@helper
def others_below(L, order, n, a, x):
    """What the rows before the a-th one contribute to it."""
    i, t = order[a], 0.0
    for b in range(a):
        t += L[n * i + order[b]] * x[order[b]]
    return t


@helper
def solve_upper(L, order, rank, n, x):
    """L^T x = b in place; x of the rows that are left out is zero."""
    for a in range(rank - 1, -1, -1):
        i = order[a]
        t = x[i]
        for b in range(a + 1, rank):
            t -= L[n * order[b] + i] * x[order[b]]
        x[i] = t / L[n * i + i]
    for a in range(rank, n):
        x[order[a]] = 0.0
