"""Sparse factors of a matrix over a tree: H = L^T L and H = L^T D L, without fill-in [SF section 2 and appendix A].

L is lower triangular with the sparsity of H, unit diagonal in the LTDL form. The packed rows of treematrix.py hold L;
where its diagonal would be stands L_kk (LTL) or D_k (LTDL). The reciprocals of those numbers follow the rows: a
packed factor has n numbers more than the matrix.

Costs [SF Table 1]: factorize D1 div + D2 (m+a) (LTL: and n square roots); solve n div + 2 D1 (m+a) (LTL: 2n div).
Divisions by a row's diagonal are done as n reciprocals and D1 products.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import ArrayLike, NDArray

from supple.errors import SingularError, StateError
from supple.exact import memory
from supple.exact.calls import as_floats, finite
from supple.exact.treematrix import BLOCK, Pattern, TreeMatrix
from supple.spatial.compiler import INLINE, helper, kernel
from supple.spatial.indexing import item, set_item
from supple.spatial.lanes import lanes_type, load_four, number_like, smaller, store_four
from supple.spatial.references import (
    ODD,
    OK,
    PREFIX,
    address_of,
    fits_matrix,
    fits_vector,
    floats_at,
    floats_of,
    header_prefix,
    ints_at,
    reference,
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
        if not diagonal > 0.0:
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

_N, _SIZE, _DENSE, _LAM, _STARTS, _DEPTH, _ENDS, _FORM, _VALUES, _HEADER = range(PREFIX, PREFIX + 10)
LTDL, LTL = 0, 1
MUL_L, MUL_LT, SOLVE_L, SOLVE_LT, SOLVE = range(5)


@helper
def factor_into(h, a, form, H_):
    """Factors of a dense (n, n) or packed matrix, into packed values a. Returns OK, ODD, or 2 + the row at fault."""
    n, size = h[_N], h[_SIZE]
    lam, starts, depth, ends = (ints_at(h[_LAM], (n,)), ints_at(h[_STARTS], (n,)), ints_at(h[_DEPTH], (n,)),
                                ints_at(h[_ENDS], (n,)))  # fmt: skip
    if fits_vector(h, H_, size):
        packed = floats_of(h, H_, (size,))
        for c in range(size):
            a[c] = packed[c]
    elif fits_matrix(h, H_, h[_DENSE], n):
        H = floats_of(h, H_, (n, n))
        for k in range(n):
            j, at = k, starts[k] + depth[k] - 1
            while j >= 0:
                a[at] = H[k, j]
                j = lam[j]
                at -= 1
    else:
        return ODD
    if form == LTL:
        bad = ltl(a, starts, depth, ends)
        return OK if bad < 0 else 2 + bad
    if ltdl(a, starts, depth, ends) > 0.0 and finite(a[size:]):
        return OK
    for k in range(n - 1, -1, -1):
        if not (a[size + k] > 0.0 and a[size + k] < np.inf):
            return 2 + k
    return ODD


@kernel(types.int64(types.int64, reference, types.int64, reference), "factorize")
def _factorize(handle, values_, form, H_):
    h = ints_at(handle, (_HEADER,))
    return factor_into(h, floats_of(h, values_, (h[_SIZE] + h[_N],)), form, H_)


@kernel(types.void(types.int64, reference), "refactorize")
def _refactorize(handle, H_):
    """The same into the values that the header names: two arguments less to pass."""
    h = ints_at(handle, (_HEADER,))
    status = factor_into(h, floats_at(h[_VALUES], (h[_SIZE] + h[_N],)), h[_FORM], H_)
    if status == ODD:
        raise StateError(
            "refactorize takes a C-contiguous float64 array, (n, n) or packed; use factorize for anything else"
        )
    if status != OK:
        raise SingularError("H is not positive definite; factorize names the row")


_floats2, _floats3, _ints = types.float64[:, ::1], types.float64[:, :, ::1], types.int64[::1]


@kernel(
    types.void(_floats2, _ints, _ints, _ints, _floats3, _floats3, types.int64, types.boolean),
    "products of factors",
    nogil=True,
)
def _apply(values, lam, starts, depth, x, y, operation, unit):
    """y = op x for every factor (B, size + n) and every one of its vectors, the rows of x (B, k, n)."""
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


class _Entry:
    """What the entry points need of a pattern; kept with it."""

    __slots__ = ("again", "handle", "header", "run")

    def __init__(self, pattern: Pattern) -> None:
        memory.require(
            pattern.size, f"the factor of a matrix with {pattern.n} rows", "use forward_dynamics(method='aba')"
        )
        dense = (
            pattern.n if pattern.order is None else -1
        )  # dense rows are read as they are only if packed in that order
        tables = (pattern.packed_parent, pattern.starts, pattern.depth, pattern.ends)
        words = [*header_prefix(), pattern.n, pattern.size, dense, *map(address_of, tables), 0, 0]
        self.header = np.array(words, dtype=np.int64)
        self.handle = address_of(self.header)
        self.run = _factorize.load()
        self.again = _refactorize.load()


# --- the public face ------------------------------------------------------------------------------------------------


class Factor:
    """Sparse factors of a matrix over a tree: H = L^T L (form "ltl") or H = L^T D L (form "ltdl").

    Vectors are (n,) or, several at once, (n, k) columns; a batch of factors takes (B, n) or (B, n, k).
    """

    def __init__(self, pattern: Pattern, values: Floats, form: str) -> None:
        self.pattern, self.values, self.form = pattern, values, form

    @cached_property
    def refactorize(self) -> Callable[[Floats], None]:
        """refactorize(H): factor another matrix of the same pattern in place, at the least cost of a call.

        H: a C-contiguous float64 array, dense (n, n) or the packed values of a TreeMatrix. One factor only, no batch.
        """
        if self.values.ndim != 1:
            raise StateError("refactorize works on one factor; for a batch call factorize again")
        entry: _Entry = self.pattern.entry
        header = entry.header.copy()
        header[[_FORM, _VALUES]] = _FORMS[self.form], address_of(self.values)
        again = partial(entry.again, address_of(header))
        again.keep = (header, self.values, self.pattern)  # type: ignore[attr-defined]  # what the address leads to
        return again

    @property
    def L(self) -> Floats:
        """The dense lower triangle, for small n."""
        out = self.pattern.unpack(self.values, symmetric=False)
        if self.form == "ltdl":
            i = np.arange(self.pattern.n)
            out[..., i, i] = 1.0
        return out

    @property
    def D(self) -> Floats:
        """(n,) the diagonal of D; ones in the LTL form."""
        d = self._by_row(self.values[..., self.pattern.diagonal])
        return d if self.form == "ltdl" else np.ones_like(d)

    def mul_L(self, x: ArrayLike) -> Floats:
        """L x"""
        return self._apply(x, MUL_L)

    def mul_Lt(self, x: ArrayLike) -> Floats:
        """L^T x"""
        return self._apply(x, MUL_LT)

    def solve_L(self, x: ArrayLike) -> Floats:
        """L^-1 x"""
        return self._apply(x, SOLVE_L)

    def solve_Lt(self, x: ArrayLike) -> Floats:
        """L^-T x"""
        return self._apply(x, SOLVE_LT)

    def solve(self, b: ArrayLike) -> Floats:
        """H^-1 b"""
        return self._apply(b, SOLVE)

    def logdet(self) -> Any:
        """The logarithm of det H."""
        d = np.log(self.values[..., self.pattern.diagonal]).sum(axis=-1)
        return d if self.form == "ltdl" else 2.0 * d

    def _by_row(self, packed: Floats) -> Floats:
        """Numbers (..., n) in the order of packed rows, in that of the matrix's."""
        if self.pattern.order is None:
            return packed
        out = np.empty_like(packed)
        out[..., self.pattern.order] = packed
        return out

    def _apply(self, x: ArrayLike, operation: int) -> Floats:
        x = as_floats("x", x)
        n, batch = self.pattern.n, self.values.ndim - 1
        if x.shape[batch : batch + 1] != (n,) or x.ndim > batch + 2 or (batch and len(x) != len(self.values)):
            lead = f"{len(self.values)}, " if batch else ""
            raise StateError(f"x has shape {x.shape}; expected ({lead}{n}) or ({lead}{n}, k)")
        columns = x.ndim == batch + 2
        rows = np.swapaxes(x, -1, -2) if columns else x[..., None, :]
        rows = rows.reshape((-1, rows.shape[-2], n))
        if self.pattern.order is not None:
            rows = rows[..., self.pattern.order]
        rows = np.ascontiguousarray(rows)
        out = np.empty_like(rows)
        pattern, unit = self.pattern, self.form == "ltdl"
        values = self.values.reshape(-1, self.values.shape[-1])
        _apply.load()(values, pattern.packed_parent, pattern.starts, pattern.depth, rows, out, operation, unit)
        out = self._by_row(out)
        return np.ascontiguousarray(np.swapaxes(out, -1, -2)).reshape(x.shape) if columns else out.reshape(x.shape)

    def __repr__(self) -> str:
        return f"<Factor {self.form} of {self.pattern.n} rows, {self.pattern.nnz} numbers>"


_FORMS = {"ltdl": LTDL, "ltl": LTL}


def factorize(
    H: ArrayLike | TreeMatrix, parent: ArrayLike | Pattern | None = None, form: Literal["ltdl", "ltl"] = "ltdl"
) -> Factor:
    """Factor a symmetric positive-definite matrix whose zeros follow a tree, such as a mass matrix.

    H: (n, n), a batch (B, n, n), or a TreeMatrix (which knows its parent array). Only the lower triangle is read, and
    of it only what the tree allows to differ from zero. parent: an array (n,) with parent[i] < i, -1 for roots
    (model.expanded_parent), or a Pattern made from one, which saves checking it again.

    Raises SingularError, with the row, where H is not positive definite.
    """
    if H.__class__ is TreeMatrix:
        pattern: Pattern = H.pattern  # type: ignore[union-attr]
        H = H.values  # type: ignore[union-attr]
    else:
        pattern = parent if isinstance(parent, Pattern) else _pattern(parent)
    code = _FORMS.get(form)
    if code is None:
        raise StateError(f"form must be 'ltdl' or 'ltl', not {form!r}")
    entry: _Entry = pattern.entry
    if entry is None:
        entry = pattern.entry = _Entry(pattern)
    values = np.zeros(pattern.size + pattern.n)
    status = entry.run(entry.handle, values, code, H)
    if status == ODD:
        return _factorize_general(pattern, entry, H, form)
    if status != OK:
        raise _not_positive(pattern, status, H)
    return Factor(pattern, values, form)


def _pattern(parent: ArrayLike | None) -> Pattern:
    if parent is None:
        raise StateError("parent is needed: model.expanded_parent, or pass a TreeMatrix, which has it")
    return Pattern(parent)


def _factorize_general(pattern: Pattern, entry: _Entry, H: Any, form: str) -> Factor:
    """Anything but one plain array: convert, and go over a batch."""
    matrix = as_floats("H", H)
    packed = matrix.shape[-1:] == (pattern.size,) and matrix.shape[-2:] != (pattern.n, pattern.n)
    rows = matrix if packed else pattern.pack(matrix)
    flat = np.ascontiguousarray(rows.reshape(-1, pattern.size))
    results = np.zeros((len(flat), pattern.size + pattern.n))
    for row, result in zip(flat, results):
        status = entry.run(entry.handle, result, _FORMS[form], row)
        if status != OK:
            raise _not_positive(pattern, status, row)
    return Factor(pattern, results.reshape(*rows.shape[:-1], -1), form)


def _not_positive(pattern: Pattern, status: int, values: Any) -> Exception:
    if not np.isfinite(values).all():
        return StateError("H has entries that are not finite")
    row = status - 2 if pattern.order is None else int(pattern.order[status - 2])
    return SingularError(f"H is not positive definite: the factorization breaks down at row {row}")
