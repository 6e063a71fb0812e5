"""Sparse factors of a matrix over a tree: H = L^T L and H = L^T D L, without fill-in [SF section 2 and appendix A].

L is lower triangular with the sparsity of H, with unit diagonal in the LTDL form. The packed rows of treematrix.py hold
L; L_kk (LTL) or D_k (LTDL) is stored in place of its diagonal. The reciprocals of those numbers follow the rows: a
packed factor has n numbers more than the matrix.

    symbol   what
    a        the packed numbers: of H, then of L and D; behind them the reciprocals
    p        how they are packed [packing.py]; lambda is p.parent

Costs [SF Table 1]: factorize D1 div + D2 (m+a) (LTL: and n square roots); solve n div + 2 D1 (m+a) (LTL: 2n div).
Divisions by a row's diagonal are done as n reciprocals and D1 products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from supple.exact.treematrix import BLOCK
from supple.spatial.any_number import number_like, smaller
from supple.spatial.compiler import INLINE, helper
from supple.spatial.cpu import (
    lanes_type,
    load_four,
    store_four,
)

Floats = NDArray[np.float64]


@helper
def ltdl(a, p):
    """Replace packed H by L and, on the diagonal, D; the reciprocals 1/D go behind the rows.

    SF appendix A subtracts row k from the rows of its ancestors; here row i collects what its descendants k subtract
    from it, A_ij = H_ij - sum_k A_ki A_kj / A_kk: the same operations in another order. Returns the smallest D.
    """
    smallest = number_like(a[0], np.inf)
    for i in range(p.n - 1, -1, -1):
        _collect(a, p, i)
        D = a[p.starts[i] + p.depth[i] - 1]
        a[p.size + i] = 1.0 / D
        smallest = smaller(D, smallest)
    for i in range(p.n):
        _scale(a, p.starts[i], p.depth[i], a[p.size + i])
    return smallest


@helper
def ltl(a, p):
    """Replace packed H by L [SF section 2], D^(1/2) times the L of the LTDL form; 1/L_kk go behind the rows.

    Returns the first row that is not positive, or -1.
    """
    for i in range(p.n - 1, -1, -1):
        _collect(a, p, i)
        D = a[p.starts[i] + p.depth[i] - 1]
        if not 0.0 < D < np.inf:
            return i
        a[p.size + i] = 1.0 / D
    for i in range(p.n):
        _scale(a, p.starts[i], p.depth[i], a[p.size + i])
        diagonal = p.starts[i] + p.depth[i] - 1
        root = math.sqrt(a[diagonal])
        for c in range(p.starts[i], diagonal):
            a[c] *= root
        a[diagonal] = root
        a[p.size + i] = 1.0 / root
    return -1


def _collect(a: Any, p: Any, i: int) -> None:
    """Row i minus what its descendants k subtract from it; their A_ki become L_ki."""
    length = p.depth[i]
    for k in range(i + 1, p.ends[i]):
        L_ki = a[p.starts[k] + length - 1] * a[p.size + k]  # A_ki / A_kk
        for c in range(length):
            a[p.starts[i] + c] -= a[p.starts[k] + c] * L_ki
        a[p.starts[k] + length - 1] = L_ki


@helper
def _collect_numbers(a, p, i):
    """The same, eight columns at a time while there are more than four: two registers, then one, padded with fillers.

    The last descendant comes first: the row just finished, i + 1, is used last, when its reciprocal is available. A_ki
    stay unchanged until _scale, so that no row waits for that.
    """
    starts, inverse, length, end = p.starts, p.size, p.depth[i], p.ends[i]
    row, c = starts[i], 0
    while c + BLOCK < length:
        x, y = load_four(a, row + c), load_four(a, row + c + BLOCK)
        for k in range(end - 1, i, -1):
            other = starts[k]
            L_ki = a[other + length - 1] * a[inverse + k]
            x = x - load_four(a, other + c) * L_ki
            y = y - load_four(a, other + c + BLOCK) * L_ki
        store_four(a, row + c, x)
        store_four(a, row + c + BLOCK, y)
        c += 2 * BLOCK
    if c < length:
        x = load_four(a, row + c)
        for k in range(end - 1, i, -1):
            other = starts[k]
            x = x - load_four(a, other + c) * (a[other + length - 1] * a[inverse + k])
        store_four(a, row + c, x)


def _scale(a: Any, start: int, length: int, factor: Any) -> None:
    """Turn a row of A, except its diagonal, into one of L, if _collect has not done so."""


@helper
def _scale_numbers(a, start, length, factor):
    last = start + length - 1
    diagonal = a[last]
    for c in range(start, last, BLOCK):
        store_four(a, c, load_four(a, c) * factor)
    a[last] = diagonal


@overload(_scale, jit_options=INLINE, strict=False)
def _compiled_scale(a: Any, start: Any, length: Any, factor: Any) -> Any:
    return _scale if a.dtype == lanes_type else _scale_numbers.py_func


@overload(_collect, jit_options=INLINE, strict=False)
def _compiled_collect(a: Any, p: Any, i: Any) -> Any:
    return _collect if a.dtype == lanes_type else _collect_numbers.py_func


@helper
def solve_Lt(a, p, x, unit):
    """x = L^-T x [SF appendix A]."""
    for i in range(p.n - 1, -1, -1):
        if not unit:
            x[i] *= a[p.size + i]
        j, at = p.parent[i], p.starts[i] + p.depth[i] - 2
        while j >= 0:
            x[j] -= a[at] * x[i]
            j = p.parent[j]
            at -= 1


@helper
def solve_L(a, p, x, unit):
    """x = L^-1 x"""
    for i in range(p.n):
        j, at = p.parent[i], p.starts[i] + p.depth[i] - 2
        total = x[i]
        while j >= 0:
            total -= a[at] * x[j]
            j = p.parent[j]
            at -= 1
        x[i] = total if unit else total * a[p.size + i]


@helper
def solve_ltdl(a, p, x):
    """x = H^-1 x = L^-1 D^-1 L^-T x"""
    solve_Lt(a, p, x, True)
    for i in range(p.n):
        x[i] *= a[p.size + i]
    solve_L(a, p, x, True)


@helper
def mul_L(a, p, x, y, unit):
    """y = L x"""
    for i in range(p.n):
        j, at = p.parent[i], p.starts[i] + p.depth[i] - 1
        total = x[i] if unit else a[at] * x[i]
        while j >= 0:
            at -= 1
            total += a[at] * x[j]
            j = p.parent[j]
        y[i] = total


@helper
def mul_Lt(a, p, x, y, unit):
    """y = L^T x"""
    for i in range(p.n):
        j, at = p.parent[i], p.starts[i] + p.depth[i] - 1
        y[i] = x[i] if unit else a[at] * x[i]
        while j >= 0:
            at -= 1
            y[j] += a[at] * x[i]
            j = p.parent[j]
