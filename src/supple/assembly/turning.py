"""How a joint turns the coefficients of the stretch above it, and the vectors that pass it: by E(q) [frames.py].

A revolute joint turns pairs of rows; of other joints E and its transpose lie in scratch (joints.py).
"""

from __future__ import annotations

from supple.assembly.coefficients import EB, EBT, ET, E, X
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import Rows, make_six, product, rows, set_rows, six, swap_pairs


@helper
def times(w, x, a, k):
    """The vector w[x:x+6] times the matrix of rows a[k:]: the sum of x_i row_i."""
    even = six(a, k) * item(w, x) + six(a, k + 12) * item(w, x + 2) + six(a, k + 24) * item(w, x + 4)
    odd = six(a, k + 6) * item(w, x + 1) + six(a, k + 18) * item(w, x + 3) + six(a, k + 30) * item(w, x + 5)
    return even + odd


@helper
def transpose_to(a, j, w, to):
    """A^T, of the matrix at a[j:], to w[to:]."""
    for i in range(6):
        for l in range(6):
            set_item(w, to + 6 * l + i, item(a, j + 6 * i + l))


@helper
def turn_rows(x, c, s):
    """E A of a revolute joint: pairs of rows turn."""
    return Rows(x.r0 * c + x.r1 * s, x.r1 * c - x.r0 * s, x.r2 * c + x.r3 * s, x.r3 * c - x.r2 * s, x.r4, x.r5)


@helper
def turn_row(v, cc, ss):
    return v * cc + swap_pairs(v) * ss


@helper
def cosines(c):
    return make_six(c, c, c, c, 1.0, 1.0)


@helper
def sines(s):
    return make_six(s, -s, s, -s, 0.0, 0.0)


@helper
def turn_both(x, c, s):
    """E A E^T of a revolute joint."""
    x, cc, ss = turn_rows(x, c, s), cosines(c), sines(s)
    return Rows(
        turn_row(x.r0, cc, ss), turn_row(x.r1, cc, ss), turn_row(x.r2, cc, ss),
        turn_row(x.r3, cc, ss), turn_row(x.r4, cc, ss), turn_row(x.r5, cc, ss),
    )  # fmt: skip


@helper
def moved_rows(a, k, w, turned):
    """E A, of the matrix at a[k:]."""
    revolute, c, s, _ = turned
    if revolute:
        return turn_rows(rows(a, k), c, s)
    return product(w, E, a, k)


@helper
def moved_both(a, k, w, turned):
    """E A E^T"""
    revolute, c, s, _ = turned
    if revolute:
        return turn_both(rows(a, k), c, s)
    set_rows(w, X, product(w, E, a, k))
    return product(w, X, w, ET)


@helper
def lower_rows(a, k, w, turned):
    """A matrix of the lower side: itself, or turned, too."""
    return product(w, EB, a, k) if turned[3] else rows(a, k)


@helper
def lower_both(a, k, w, turned):
    if turned[3]:
        set_rows(w, X, product(w, EB, a, k))
        return product(w, X, w, EBT)
    return rows(a, k)


@helper
def lower_vector(w, x, turned):
    """EB x of a vector in scratch."""
    return times(w, x, w, EBT) if turned[3] else six(w, x)


@helper
def to_lower(w, x, turned):
    """EB^T x"""
    return times(w, x, w, EB) if turned[3] else six(w, x)


@helper
def forth(w, x, turned):
    """E x of a vector in scratch."""
    revolute, c, s, _ = turned
    if revolute:
        return turn_row(six(w, x), cosines(c), sines(s))
    return times(w, x, w, ET)


@helper
def back(w, x, turned):
    """E^T x"""
    revolute, c, s, _ = turned
    if revolute:
        return turn_row(six(w, x), cosines(c), sines(-s))
    return times(w, x, w, E)
