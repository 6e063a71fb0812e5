"""Sparse factors of a matrix over a tree: H = L^T L and H = L^T D L, without fill-in [SF section 2 and appendix A].

L is lower triangular with the sparsity of H, unit diagonal in the LTDL form. On the packed rows of treematrix.py the paper's
walks over ancestors become runs over contiguous numbers: with k's row at s_k, its t-th ancestor i has the row s_i that lines up
with s_k + t. In place of L_kk (LTL) or D_k (LTDL) each row begins with that number.

Costs [SF Table 1]: factorize D1 div + D2 (m+a) (LTL: and n square roots); solve n div + 2 D1 (m+a) (LTL: 2n div).
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.errors import SingularError, StateError
from supple.exact import memory
from supple.exact.calls import as_floats
from supple.exact.treematrix import Pattern, TreeMatrix
from supple.spatial.compiler import helper, kernel
from supple.spatial.references import (
    ODD,
    OK,
    PREFIX,
    address_of,
    fits_matrix,
    fits_vector,
    floats_of,
    header_prefix,
    ints_at,
    reference,
)

Floats = NDArray[np.float64]

# --- the algorithms -------------------------------------------------------------------------------------------------


@helper
def ltdl(a, lam, starts):
    """Replace packed H by D (first in each row) and L (the rest) [SF appendix A]."""
    for k in range(lam.shape[0] - 1, -1, -1):
        s_k = starts[k]
        d = 1.0 / a[s_k]
        i, at = lam[k], s_k + 1
        left = _row_length(lam, starts, k, a) - 1  # ancestors from i on
        while i >= 0:
            x = a[at] * d  # a = A_ki / A_kk
            _subtract(a, starts[i], at, left, x)  # A_ij = A_ij - A_kj a
            a[at] = x
            i = lam[i]
            at += 1
            left -= 1


@helper
def _row_length(lam, starts, i, a):
    return (starts[i + 1] if i + 1 < lam.shape[0] else a.shape[0]) - starts[i]


@helper
def _subtract(a, to, source, count, x):
    """a[to:] -= a[source:] x, count numbers. By fours, loads before stores, which compiles to whole registers: rows are
    too short for the compiler's own vector loops, which first test for overlap."""
    stop = to + count
    while to + 4 <= stop:
        x0 = a[to] - a[source] * x
        x1 = a[to + 1] - a[source + 1] * x
        x2 = a[to + 2] - a[source + 2] * x
        x3 = a[to + 3] - a[source + 3] * x
        a[to] = x0
        a[to + 1] = x1
        a[to + 2] = x2
        a[to + 3] = x3
        to += 4
        source += 4
    while to < stop:
        a[to] -= a[source] * x
        to += 1
        source += 1


@helper
def ltl(a, lam, starts):
    """Replace packed H by L, diagonal first in each row [SF section 2]. Returns the first row that is not positive, or -1."""
    for k in range(lam.shape[0] - 1, -1, -1):
        s_k = starts[k]
        if not a[s_k] > 0.0:
            return k
        a[s_k] = math.sqrt(a[s_k])
        length = _row_length(lam, starts, k, a)
        for c in range(1, length):
            a[s_k + c] /= a[s_k]
        i, at = lam[k], s_k + 1
        while i >= 0:
            _subtract(a, starts[i], at, _row_length(lam, starts, i, a), a[at])  # H_ij = H_ij - H_ki H_kj
            i = lam[i]
            at += 1
    return -1


@helper
def solve_Lt_unit(a, lam, starts, x):
    """x = L^-T x, L of unit diagonal [SF appendix A]."""
    for i in range(lam.shape[0] - 1, -1, -1):
        j, at = lam[i], starts[i] + 1
        while j >= 0:
            x[j] -= a[at] * x[i]
            j = lam[j]
            at += 1


@helper
def solve_L_unit(a, lam, starts, x):
    """x = L^-1 x, L of unit diagonal."""
    for i in range(lam.shape[0]):
        j, at = lam[i], starts[i] + 1
        total = x[i]
        while j >= 0:
            total -= a[at] * x[j]
            j = lam[j]
            at += 1
        x[i] = total


@helper
def solve_ltdl(a, lam, starts, x):
    """x = H^-1 x = L^-1 D^-1 L^-T x."""
    solve_Lt_unit(a, lam, starts, x)
    for i in range(lam.shape[0]):
        x[i] /= a[starts[i]]
    solve_L_unit(a, lam, starts, x)


@helper
def _mul_L(a, lam, starts, x, y, unit):
    for i in range(lam.shape[0]):
        j, at = lam[i], starts[i] + 1
        total = x[i] if unit else a[starts[i]] * x[i]
        while j >= 0:
            total += a[at] * x[j]
            j = lam[j]
            at += 1
        y[i] = total


@helper
def _mul_Lt(a, lam, starts, x, y, unit):
    for i in range(lam.shape[0]):
        y[i] = x[i] if unit else a[starts[i]] * x[i]
        j, at = lam[i], starts[i] + 1
        while j >= 0:
            y[j] += a[at] * x[i]
            j = lam[j]
            at += 1


@helper
def _solve_L_full(a, lam, starts, x):
    for i in range(lam.shape[0]):
        j, at = lam[i], starts[i] + 1
        total = x[i]
        while j >= 0:
            total -= a[at] * x[j]
            j = lam[j]
            at += 1
        x[i] = total / a[starts[i]]


@helper
def _solve_Lt_full(a, lam, starts, x):
    for i in range(lam.shape[0] - 1, -1, -1):
        x[i] /= a[starts[i]]
        j, at = lam[i], starts[i] + 1
        while j >= 0:
            x[j] -= a[at] * x[i]
            j = lam[j]
            at += 1


# --- entry points ---------------------------------------------------------------------------------------------------

_N, _NNZ, _LAM, _STARTS, _ROWS_LENGTH = range(PREFIX, PREFIX + 5)
LTDL, LTL = 0, 1
MUL_L, MUL_LT, SOLVE_L, SOLVE_LT, SOLVE = range(5)


@kernel(types.int64(types.int64, reference, reference, types.int64), "factorize")
def _factorize(handle, H_, values_, form):
    """Factors of a dense (n, n) or packed (nnz,) matrix, into packed values. Returns OK, ODD, or 2 + the row at fault."""
    h = ints_at(handle, (_ROWS_LENGTH,))
    n, nnz = h[_N], h[_NNZ]
    lam, starts = ints_at(h[_LAM], (n,)), ints_at(h[_STARTS], (n,))
    a = floats_of(h, values_, (nnz,))
    if fits_matrix(h, H_, n, n):
        H = floats_of(h, H_, (n, n))
        at = 0
        for k in range(n):
            j = k
            while j >= 0:
                a[at] = H[k, j]
                j = lam[j]
                at += 1
    elif fits_vector(h, H_, nnz):
        packed = floats_of(h, H_, (nnz,))
        for c in range(nnz):
            a[c] = packed[c]
    else:
        return ODD
    if form == LTL:
        bad = ltl(a, lam, starts)
        return OK if bad < 0 else 2 + bad
    ltdl(a, lam, starts)
    for k in range(n - 1, -1, -1):
        if not (a[starts[k]] > 0.0 and a[starts[k]] < np.inf):
            return 2 + k
    return OK


_floats2, _floats3, _ints = types.float64[:, ::1], types.float64[:, :, ::1], types.int64[::1]


@kernel(
    types.void(_floats2, _ints, _ints, _floats3, _floats3, types.int64, types.boolean), "products of factors", nogil=True
)
def _apply(values, lam, starts, x, y, operation, unit):
    """y = op x for every factor (B, nnz) and every one of its vectors, the rows of x (B, k, n)."""
    for b in range(x.shape[0]):
        a = values[b if values.shape[0] > 1 else 0]
        for c in range(x.shape[1]):
            to = y[b, c]
            if operation == MUL_L:
                _mul_L(a, lam, starts, x[b, c], to, unit)
            elif operation == MUL_LT:
                _mul_Lt(a, lam, starts, x[b, c], to, unit)
            else:
                for i in range(lam.shape[0]):
                    to[i] = x[b, c, i]
                if operation == SOLVE and unit:
                    solve_ltdl(a, lam, starts, to)
                if operation == SOLVE and not unit:
                    _solve_Lt_full(a, lam, starts, to)
                    _solve_L_full(a, lam, starts, to)
                if operation == SOLVE_L and unit:
                    solve_L_unit(a, lam, starts, to)
                if operation == SOLVE_L and not unit:
                    _solve_L_full(a, lam, starts, to)
                if operation == SOLVE_LT and unit:
                    solve_Lt_unit(a, lam, starts, to)
                if operation == SOLVE_LT and not unit:
                    _solve_Lt_full(a, lam, starts, to)


class _Entry:
    """A pattern's header and the compiled entry point, kept with the pattern."""

    __slots__ = ("handle", "header", "run")

    def __init__(self, pattern: Pattern) -> None:
        words = [pattern.n, pattern.nnz, address_of(pattern.parent), address_of(pattern.starts)]
        self.header = np.array(header_prefix() + words, dtype=np.int64)
        self.handle = address_of(self.header)
        self.run = _factorize.load()


# --- the public face ------------------------------------------------------------------------------------------------


class Factor:
    """Sparse factors of a matrix over a tree: H = L^T L (form "ltl") or H = L^T D L (form "ltdl").

    Vectors are (n,) or, several at once, (n, k) columns; a batch of factors takes (B, n) or (B, n, k).
    """

    __slots__ = ("form", "pattern", "values")

    def __init__(self, pattern: Pattern, values: Floats, form: str) -> None:
        self.pattern, self.values, self.form = pattern, values, form

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
        d = self.values[..., self.pattern.starts]
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
        d = np.log(self.values[..., self.pattern.starts]).sum(axis=-1)
        return d if self.form == "ltdl" else 2.0 * d

    def _apply(self, x: ArrayLike, operation: int) -> Floats:
        x = as_floats("x", x)
        n, batch = self.pattern.n, self.values.ndim - 1
        if x.shape[batch : batch + 1] != (n,) or x.ndim > batch + 2 or (batch and len(x) != len(self.values)):
            lead = f"{len(self.values)}, " if batch else ""
            raise StateError(f"x has shape {x.shape}; expected ({lead}{n}) or ({lead}{n}, k)")
        columns = x.ndim == batch + 2
        rows = np.swapaxes(x, -1, -2) if columns else x[..., None, :]
        rows = np.ascontiguousarray(rows.reshape((-1, rows.shape[-2], n)))
        out = np.empty_like(rows)
        values = np.ascontiguousarray(self.values.reshape(-1, self.pattern.nnz))
        _apply.load()(values, self.pattern.parent, self.pattern.starts, rows, out, operation, self.form == "ltdl")
        return np.ascontiguousarray(np.swapaxes(out, -1, -2)).reshape(x.shape) if columns else out.reshape(x.shape)

    def __repr__(self) -> str:
        return f"<Factor {self.form} of {self.pattern.n} rows, {self.pattern.nnz} numbers>"


def factorize(
    H: ArrayLike | TreeMatrix,
    parent: ArrayLike | Pattern | None = None,
    form: Literal["ltdl", "ltl"] = "ltdl",
    out: Factor | None = None,
) -> Factor:
    """Factor a symmetric positive-definite matrix whose zeros follow a tree, such as a mass matrix.

    H: (n, n), a batch (B, n, n), or a TreeMatrix (which knows its parent array). Only the lower triangle is read, and of it only
    what the tree allows to differ from zero. parent: an array (n,) with parent[i] < i, -1 for roots (model.expanded_parent),
    or a Pattern made from one, which saves checking it again. out: a Factor of the same kind to overwrite.

    Raises SingularError, with the row, where H is not positive definite.
    """
    if H.__class__ is TreeMatrix:
        pattern: Pattern = H.pattern  # type: ignore[union-attr]
        H = H.values  # type: ignore[union-attr]
    else:
        pattern = parent if parent.__class__ is Pattern else _pattern(parent)  # type: ignore[assignment]
    entry = pattern.entry
    if entry is None:
        memory.require(pattern.nnz, f"the factor of a matrix with {pattern.n} rows", "use forward_dynamics(method='aba')")
        entry = pattern.entry = _Entry(pattern)
    if out is None:
        out = Factor(pattern, np.empty(pattern.nnz), form)
    code = _FORMS.get(form)
    if code is None:
        raise StateError(f"form must be 'ltdl' or 'ltl', not {form!r}")
    status = entry.run(entry.handle, H, out.values, code)
    if status:
        return _factorize_general(pattern, entry, H, form, out, status)
    return out


_FORMS = {"ltdl": LTDL, "ltl": LTL}


def _pattern(parent: ArrayLike | None) -> Pattern:
    if parent is None:
        raise StateError("parent is needed: model.expanded_parent, or pass a TreeMatrix, which has it")
    return Pattern(parent)


def _factorize_general(pattern: Pattern, entry: _Entry, H: Any, form: str, out: Factor, status: int) -> Factor:
    """Anything but one plain array: convert, go over a batch, or say what is wrong."""
    if status == ODD:
        matrix = as_floats("H", H)
        packed = matrix.ndim == 2 and matrix.shape[-1] == pattern.nnz and matrix.shape != (pattern.n, pattern.n)
        values = matrix if packed else pattern.pack(matrix)
        results = np.empty_like(values)
        for i, row in enumerate(values.reshape(-1, pattern.nnz)):
            status = entry.run(entry.handle, row, results.reshape(-1, pattern.nnz)[i], _FORMS[form])
            if status:
                raise _not_positive(status - 2, values)
        return Factor(pattern, results, form)
    raise _not_positive(status - 2, np.asarray(H))


def _not_positive(row: int, values: Floats) -> Exception:
    if not np.isfinite(values).all():
        return StateError("H has entries that are not finite")
    return SingularError(f"H is not positive definite: the factorization breaks down at row {row}")
