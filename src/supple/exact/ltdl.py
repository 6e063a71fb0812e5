"""Sparse factors of a matrix over a tree: H = L^T L and H = L^T D L, without fill-in [SF section 2 and appendix A].

L is lower triangular with the sparsity of H, unit diagonal in the LTDL form. The packed rows of treematrix.py hold L;
where its diagonal would be stands L_kk (LTL) or D_k (LTDL). The reciprocals of those numbers follow the rows: a
packed factor has n numbers more than the matrix.

Costs [SF Table 1]: factorize D1 div + D2 (m+a) (LTL: and n square roots); solve n div + 2 D1 (m+a) (LTL: 2n div).
Divisions by a row's diagonal are done as n reciprocals and D1 products.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from supple.exact.treematrix import BLOCK
from supple.spatial.compiler import INLINE, helper, kernel
from supple.spatial.indexing import get, item, set_item
from supple.spatial.lanes import lanes_type, load_four, number_like, smaller, store_four
from supple.spatial.references import (
    ARGUMENTS,
    ODD,
    OK,
    ONE_ARGUMENT,
    PREFIX,
    fits_matrix,
    fits_vector,
    floats_at,
    floats_of,
    header_of,
    ints_at,
    none_object,
    refuse,
    status_object,
)

Floats = NDArray[np.float64]

# --- the algorithms -------------------------------------------------------------------------------------------------


@helper
def ltdl(a, starts, depth, ends):
    """Replace packed H by L and, on the diagonal, D; the reciprocals 1/D go behind the rows.

    SF appendix A takes row k out of the rows of its ancestors; here row i collects what its descendants k take out of
    it, A_ij = H_ij - sum_k A_ki A_kj / A_kk: the same operations in another order. Returns the smallest D.
    """
    n = starts.shape[0]
    inverse = a.shape[0] - n
    smallest = number_like(a[0], np.inf)
    for i in range(n - 1, -1, -1):
        _collect(a, starts, depth[i], i, ends[i], inverse)
        D = item(a, item(starts, i) + item(depth, i) - 1)
        set_item(a, inverse + i, 1.0 / D)
        smallest = smaller(D, smallest)
    for i in range(n):
        _scale(a, starts[i], depth[i], a[inverse + i])
    return smallest


@helper
def ltl(a, starts, depth, ends):
    """Replace packed H by L [SF section 2], D^(1/2) times the L of the LTDL form; 1/L_kk go behind the rows.

    Returns the first row that is not positive, or -1.
    """
    n = starts.shape[0]
    inverse = a.shape[0] - n
    for i in range(n - 1, -1, -1):
        _collect(a, starts, depth[i], i, ends[i], inverse)
        diagonal = a[starts[i] + depth[i] - 1]
        if not 0.0 < diagonal < np.inf:
            return i
        a[inverse + i] = 1.0 / diagonal
    for i in range(n):
        _scale(a, starts[i], depth[i], a[inverse + i])
        root = math.sqrt(a[starts[i] + depth[i] - 1])
        for c in range(starts[i], starts[i] + depth[i] - 1):
            a[c] *= root
        a[starts[i] + depth[i] - 1] = root
        a[inverse + i] = 1.0 / root
    return -1


def _collect(a: Any, starts: Any, length: int, i: int, end: int, inverse: int) -> None:
    """Row i, of that length, minus what its descendants i+1 ... end-1 take out of it; their A_ki become L_ki."""
    for k in range(i + 1, end):
        weight = a[starts[k] + length - 1] * a[inverse + k]  # L_ki = A_ki / A_kk
        for c in range(length):
            a[starts[i] + c] -= a[starts[k] + c] * weight
        a[starts[k] + length - 1] = weight


@helper
def _collect_numbers(a, starts, length, i, end, inverse):
    """The same, eight columns at a time while there are more than four: two registers, then one, filled up by fillers.

    The last descendant first: the row just finished, i + 1, is wanted last, when its reciprocal is there. A_ki stay as
    they are until _scale, so that no row waits for that.
    """
    row, c = item(starts, i), 0
    while c + BLOCK < length:
        x, y = load_four(a, row + c), load_four(a, row + c + BLOCK)
        for k in range(end - 1, i, -1):
            other = item(starts, k)
            weight = item(a, other + length - 1) * item(a, inverse + k)
            x = x - load_four(a, other + c) * weight
            y = y - load_four(a, other + c + BLOCK) * weight
        store_four(a, row + c, x)
        store_four(a, row + c + BLOCK, y)
        c += 2 * BLOCK
    if c < length:
        x = load_four(a, row + c)
        for k in range(end - 1, i, -1):
            other = item(starts, k)
            x = x - load_four(a, other + c) * (item(a, other + length - 1) * item(a, inverse + k))
        store_four(a, row + c, x)


def _scale(a: Any, start: int, length: int, factor: Any) -> None:
    """A row of A, but for its diagonal, to one of L, where _collect has not done so."""


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
def _compiled_collect(a: Any, starts: Any, length: Any, i: Any, end: Any, inverse: Any) -> Any:
    return _collect if a.dtype == lanes_type else _collect_numbers.py_func


@helper
def solve_Lt(a, lam, starts, depth, x, unit):
    """x = L^-T x [SF appendix A]."""
    n = lam.shape[0]
    for i in range(n - 1, -1, -1):
        if not unit:
            x[i] *= a[a.shape[0] - n + i]
        j, at = lam[i], starts[i] + depth[i] - 2
        while j >= 0:
            x[j] -= a[at] * x[i]
            j = lam[j]
            at -= 1


@helper
def solve_L(a, lam, starts, depth, x, unit):
    """x = L^-1 x"""
    n = lam.shape[0]
    for i in range(n):
        j, at = lam[i], starts[i] + depth[i] - 2
        total = x[i]
        while j >= 0:
            total -= a[at] * x[j]
            j = lam[j]
            at -= 1
        x[i] = total if unit else total * a[a.shape[0] - n + i]


@helper
def solve_ltdl(a, lam, starts, depth, x):
    """x = H^-1 x = L^-1 D^-1 L^-T x"""
    n = lam.shape[0]
    solve_Lt(a, lam, starts, depth, x, True)
    for i in range(n):
        x[i] *= a[a.shape[0] - n + i]
    solve_L(a, lam, starts, depth, x, True)


@helper
def mul_L(a, lam, starts, depth, x, y, unit):
    """y = L x"""
    for i in range(lam.shape[0]):
        j, at = lam[i], starts[i] + depth[i] - 1
        total = x[i] if unit else a[at] * x[i]
        while j >= 0:
            at -= 1
            total += a[at] * x[j]
            j = lam[j]
        y[i] = total


@helper
def mul_Lt(a, lam, starts, depth, x, y, unit):
    """y = L^T x"""
    for i in range(lam.shape[0]):
        j, at = lam[i], starts[i] + depth[i] - 1
        y[i] = x[i] if unit else a[at] * x[i]
        while j >= 0:
            at -= 1
            y[j] += a[at] * x[i]
            j = lam[j]


# --- entry points ---------------------------------------------------------------------------------------------------

_N, _SIZE, _DENSE, _LAM, _STARTS, _DEPTH, _ENDS, _FORM, _HEADER = range(PREFIX, PREFIX + 9)
_VALUES, _ODD_CLASS, _ODD_MESSAGE, _SINGULAR_CLASS, _SINGULAR_MESSAGE, _AGAIN_HEADER = range(_HEADER, _HEADER + 6)
LTDL, LTL = 0, 1
MUL_L, MUL_LT, SOLVE_L, SOLVE_LT, SOLVE = range(5)


@helper
def factor_into(h, a, H_):
    """Factors of a dense (n, n) or packed matrix, into packed values a. Returns OK, ODD, or 2 + the row at fault."""
    n, size = h[_N], h[_SIZE]
    lam, starts, depth, ends = (ints_at(h[_LAM], (n,)), ints_at(h[_STARTS], (n,)), ints_at(h[_DEPTH], (n,)),
                                ints_at(h[_ENDS], (n,)))  # fmt: skip
    if fits_vector(h, H_, size):
        packed = floats_of(H_, (size,))
        for c in range(size):
            a[c] = packed[c]
    elif fits_matrix(h, H_, h[_DENSE], n):
        H = floats_of(H_, (n, n))
        for k in range(n):
            j, at = k, item(starts, k) + item(depth, k) - 1
            while j >= 0:
                set_item(a, at, get(H, k, j))
                j = item(lam, j)
                at -= 1
    else:
        return ODD
    if h[_FORM] == LTL:
        bad = ltl(a, starts, depth, ends)
        return OK if bad < 0 else 2 + bad
    ltdl(a, starts, depth, ends)
    for k in range(n - 1, -1, -1):
        if not 0.0 < a[size + k] < np.inf:  # 1/D; what is not a number anywhere in H reaches one of them
            return 2 + k
    return OK


@kernel(ARGUMENTS, "factorize")
def factorize_kernel(self, arguments, count):
    """factorize(values, H) into new packed values. Returns the status."""
    h, given = header_of(self, _HEADER), ints_at(arguments, (2,))
    return status_object(factor_into(h, floats_of(given[0], (h[_SIZE] + h[_N],)), given[1]))


@kernel(ONE_ARGUMENT, "refactorize")
def refactorize_kernel(self, H_):
    """refactorize(H) into the values that the header names. Returns None, or raises."""
    h = header_of(self, _AGAIN_HEADER)
    status = factor_into(h, floats_at(h[_VALUES], (h[_SIZE] + h[_N],)), H_)
    if status == ODD:
        return refuse(h[_ODD_CLASS], h[_ODD_MESSAGE])
    if status != OK:
        return refuse(h[_SINGULAR_CLASS], h[_SINGULAR_MESSAGE])
    return none_object(h)


_floats2, _floats3, _ints = types.float64[:, ::1], types.float64[:, :, ::1], types.int64[::1]


@kernel(
    types.void(_floats2, _ints, _ints, _ints, _floats3, _floats3, types.int64, types.boolean),
    "products of factors",
)
def apply_kernel(values, lam, starts, depth, x, y, operation, unit):
    """y = op x for every factor (B, size + n) and every one of its vectors, the rows of x (B, k, n).

    Holds the interpreter's lock: nobody else factors into these values meanwhile.
    """
    for b in range(x.shape[0]):
        a = values[b]
        for c in range(x.shape[1]):
            to = y[b, c]
            if operation == MUL_L:
                mul_L(a, lam, starts, depth, x[b, c], to, unit)
                continue
            if operation == MUL_LT:
                mul_Lt(a, lam, starts, depth, x[b, c], to, unit)
                continue
            for i in range(lam.shape[0]):
                to[i] = x[b, c, i]
            if operation in (SOLVE_LT, SOLVE):
                solve_Lt(a, lam, starts, depth, to, unit)
            if operation == SOLVE and unit:
                for i in range(lam.shape[0]):
                    to[i] *= a[a.shape[0] - lam.shape[0] + i]
            if operation in (SOLVE_L, SOLVE):
                solve_L(a, lam, starts, depth, to, unit)
