"""The smallest x with L x = b, where L = B^T B is known by its factor B, and its rows may depend on each other.

L is what forces along the rows of loops accelerate [constrained.py]; columns of B that depend on others belong to
redundant rows. Rows are scaled so that the longest of each loop has unit length. If L is far from singular, its
Cholesky factor is good enough.
Otherwise B is made triangular by orthogonal projections, largest remaining column first: L is never formed, and
columns whose remainder is rounding are dropped,

    B P = Q R       R (k, n) upper trapezoidal, k the rank, P a permutation             L = W^T W,  W = R P^T
    W^T = Z T       Z (n, k) orthonormal columns, T (k, k) triangular                   x = Z T^-T T^-1 Z^T b

which is the x of least length among those with the least error |L x - b|.

What counts as rounding depends on how far the loops are open. Rows that depend on each other wherever loops are closed
(Bricard's linkage) do so no longer beside those positions. Obeying them all would forbid the mechanism its motion. A
remainder that is not larger than what the gap explains is therefore left out. At a distance e from a singular position,
where rows are only about e apart, a gap of e d lies d away from where the loops are closed. Rows that are redundant
there have remainders of d^2 / e: the square root of the gap is between both.
"""

from __future__ import annotations

import math

from supple.spatial.compiler import helper

REGULAR = 1e-7  #: least pivot of L, as a fraction of the diagonal, for the Cholesky factor to have enough digits
SHORT = 1e-6  #: least entry on the diagonal of L, of one, for a row not to be suspected of being rounding
RANK = 1e-10  #: a column whose remainder is shorter than this, of one, depends on the others; more where loops are open
BY_GAP, COARSEST = 10.0, 1e-2


@helper
def least_remainder(gap):
    """The remainder that tells a row from others where loops are open by `gap`."""
    return max(RANK, min(BY_GAP * math.sqrt(gap), COARSEST))


@helper
def cholesky_solved(L, scale, C, b, x, n):
    """Solve by the Cholesky factor of the scaled L, into C; whether all its pivots are large enough."""
    for i in range(n):
        for j in range(i + 1):
            t = L[i * n + j] * scale[i] * scale[j]
            for k in range(j):
                t -= C[i * n + k] * C[j * n + k]
            if i == j:
                whole = L[i * n + i] * scale[i] * scale[i]
                if not (whole > SHORT and t > REGULAR * whole):
                    return False
                C[i * n + i] = math.sqrt(t)
            else:
                C[i * n + j] = t / C[j * n + j]
    for i in range(n):
        t = b[i] * scale[i]
        for k in range(i):
            t -= C[i * n + k] * x[k]
        x[i] = t / C[i * n + i]
    for i in range(n - 1, -1, -1):
        t = x[i]
        for k in range(i + 1, n):
            t -= C[k * n + i] * x[k]
        x[i] = t / C[i * n + i]
    for i in range(n):
        x[i] *= scale[i]
    return True


@helper
def dot_rows(B, i, j, n):
    """The product of rows i and j, each of n numbers."""
    t = 0.0
    for k in range(n):
        t += B[i * n + k] * B[j * n + k]
    return t


@helper
def orthogonalise(B, rows, length, R, stride, order, least):
    """Make the rows of B orthonormal one after another, longest first, with R the coefficients of the original rows:
    row order[j] = sum_i R[i, order[j]] B[i]. Stops at remainders shorter than `least`; returns the number of rows
    made. order: the row of the original B that is now in each place."""
    for i in range(rows):
        order[i] = i
        for j in range(rows):
            R[i * stride + j] = 0.0
    for i in range(rows):
        best, longest = i, -1.0
        for j in range(i, rows):
            t = dot_rows(B, j, j, length)
            if t > longest:
                best, longest = j, t
        if best != i:
            order[i], order[best] = order[best], order[i]
            for k in range(length):
                B[i * length + k], B[best * length + k] = B[best * length + k], B[i * length + k]
        for _ in range(2):  # once more against the rounding of the first time
            for j in range(i):
                t = dot_rows(B, i, j, length)
                R[j * stride + order[i]] += t
                for k in range(length):
                    B[i * length + k] -= t * B[j * length + k]
        norm = math.sqrt(dot_rows(B, i, i, length))
        if not norm > least:
            return i
        R[i * stride + order[i]] = norm
        for k in range(length):
            B[i * length + k] /= norm
        for j in range(i + 1, rows):
            t = dot_rows(B, i, j, length)
            R[i * stride + order[j]] += t
            for k in range(length):
                B[j * length + k] -= t * B[i * length + k]
    return rows


@helper
def least_solution(B, n, length, scale, b, x, least, room):
    """The solution for rows that may depend on each other, remainders below `least` being none. B (n, length): the
    columns of the factor as rows, multiplied by `scale`; destroyed. Returns the rank."""
    R, W, T, order, other = room.R, room.W, room.T, room.order, room.other
    rank = orthogonalise(B, n, length, R, n, order, least)
    # the rows of W = R P^T without the scale; then W^T = Z T with Z^T in the place of W
    for i in range(rank):
        for j in range(n):
            W[i * n + j] = R[i * n + j] / scale[j] if scale[j] > 0.0 else 0.0
    full = orthogonalise(W, rank, n, T, n, other, 0.0)
    # row other[j] of W is sum_i T[i, other[j]] Z[i]:  W = E Z^T with E[other[j], i] = T[i, other[j]], triangular in j
    y = room.y
    for i in range(full):  # y = Z^T b
        t = 0.0
        for k in range(n):
            t += W[i * n + k] * b[k]
        y[i] = t
    # L = W^T W = Z E^T E Z^T: solve E^T E c = y, by E^T (row order as `other`)
    c = room.c
    for i in range(full):  # E^T w = y: sum_j T[i, other[j]] w_j = y_i, from the last
        c[i] = y[i]
    for i in range(full - 1, -1, -1):
        t = c[i]
        for j in range(i + 1, full):
            t -= T[i * n + other[j]] * c[j]
        c[i] = t / T[i * n + other[i]]
    for j in range(full):  # E s = w: w_j = sum_i T[i, other[j]] s_i, from the first
        t = c[j]
        for i in range(j):
            t -= T[i * n + other[j]] * y[i]
        y[j] = t / T[j * n + other[j]]
    for k in range(n):
        t = 0.0
        for i in range(full):
            t += W[i * n + k] * y[i]
        x[k] = t
    return full
