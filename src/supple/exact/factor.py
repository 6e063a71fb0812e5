"""Factor: the sparse factors of a matrix over a tree as an object, and factorize, which makes one."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import as_floats, choice, take
from supple.errors import SingularError, StateError
from supple.exact.factor_entries import (
    LTDL,
    LTL,
    MUL_L,
    MUL_LT,
    SOLVE,
    SOLVE_L,
    SOLVE_LT,
    Factoring,
    apply_kernel,
    factorize_kernel,
    refactorize_kernel,
)
from supple.exact.treematrix import Pattern, TreeMatrix, checked_values
from supple.once import made_once
from supple.spatial.cpu import ODD, OK, Object, function_of
from supple.spatial.held import Held

Floats = NDArray[np.float64]


class _Entry:
    """What the entry points need of a pattern; kept with it."""

    def __init__(self, pattern: Pattern) -> None:
        memory.require(
            pattern.size, f"the factor of a matrix with {pattern.n} rows", "use forward_dynamics(method='aba')"
        )
        self.packing = pattern._packing
        self.length = pattern.size + pattern.n  #: of the packed values of a factor
        #: dense rows are read directly only if packed in that order
        self.dense_rows = pattern.n if pattern.order is None else -1
        self.run = {form: function_of(factorize_kernel, self.factoring(form)) for form in _FORMS}

    def factoring(self, form: str) -> Held:
        return Factoring.of(packing=self.packing, dense_rows=self.dense_rows, form=_FORMS[form])


@made_once("_values")
class Factor:
    """Sparse factors of a matrix over a tree: H = L^T L (form "ltl") or H = L^T D L (form "ltdl").

    Vectors are (n,) or, several at once, (n, k) columns; a batch of factors takes (B, n) or (B, n, k).
    """

    def __init__(self, pattern: Pattern, values: ArrayLike, form: str) -> None:
        if not isinstance(pattern, Pattern):
            raise StateError(f"a factor is made over a Pattern, not {pattern!r}; factorize(H, parent) makes one of H")
        self._pattern, self._form = pattern, _checked_form(form)
        self._values = checked_values(pattern, values, pattern.size + pattern.n)

    @classmethod
    def _of(cls, pattern: Pattern, values: Floats, form: str) -> Factor:
        """From values that are known to match the pattern and are not shared."""
        out = cls.__new__(cls)
        out._pattern, out._values, out._form = pattern, values, form
        return out

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have separate values, and determine their addresses themselves."""
        return Factor, (self._pattern, self._values, self._form)

    @property
    def pattern(self) -> Pattern:
        return self._pattern

    @property
    def form(self) -> str:
        return self._form

    @property
    def values(self) -> Floats:
        """(..., pattern.size + n) the packed numbers of L and D, and their reciprocals: a view."""
        return self._values[...]

    @cached_property
    def refactorize(self) -> Callable[[Floats], None]:
        """refactorize(H): factor another matrix of the same pattern in place, with the least call overhead.

        H: a C-contiguous float64 array, dense (n, n) or the packed values of a TreeMatrix. One factor only, no batch.
        """
        if self._values.ndim != 1:
            raise StateError("refactorize works on one factor; for a batch call factorize again")
        entry: _Entry = self.pattern._entry or self.pattern._keep(_Entry(self.pattern))
        factoring = entry.factoring(self.form)
        factoring.values = self._values
        factoring.odd_class, factoring.odd_message = Object(StateError), Object(_ODD_MESSAGE)
        factoring.singular_class, factoring.singular_message = Object(SingularError), Object(_SINGULAR_MESSAGE)
        return function_of(refactorize_kernel, factoring)

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
        """Numbers (..., n) in the order of packed rows, reordered to that of the matrix."""
        if self.pattern.order is None:
            return packed
        out = np.empty_like(packed)
        out[..., self.pattern.order] = packed
        return out

    def _apply(self, x: ArrayLike, operation: int) -> Floats:
        x = as_floats("x", x)
        n, batch = self._pattern.n, self._values.shape[:-1]
        if x.shape[: len(batch) + 1] != (*batch, n) or x.ndim > len(batch) + 2:
            lead = "".join(f"{k}, " for k in batch)
            raise StateError(f"x has shape {x.shape}; expected ({lead}{n}) or ({lead}{n}, k)")
        if not np.isfinite(x).all():
            raise StateError("x has a number that is not finite")
        columns = x.ndim == len(batch) + 2
        rows = np.swapaxes(x, -1, -2) if columns else x[..., None, :]
        rows = rows.reshape((math.prod(batch), rows.shape[-2], n))
        if self.pattern.order is not None:
            rows = rows[..., self.pattern.order]
        rows = np.ascontiguousarray(rows)
        out = np.empty_like(rows)
        packing, unit = self._pattern._packing, self._form == "ltdl"  # held while it is in use
        values = self._values.reshape(math.prod(batch), self._values.shape[-1])
        apply_kernel.load()(packing.address, values, rows, out, operation, unit)
        out = self._by_row(out)
        return np.ascontiguousarray(np.swapaxes(out, -1, -2)).reshape(x.shape) if columns else out.reshape(x.shape)

    def plot(self, path: str | Path | None = None) -> Any:
        """Where L is not zero, as a matplotlib figure; saved if a path is given."""
        return self.pattern.plot(repr(self)[1:-1], self.values, False, path)

    def __repr__(self) -> str:
        return f"<Factor {self.form} of {self.pattern.n} rows, {self.pattern.nnz} numbers>"


_FORMS = {"ltdl": LTDL, "ltl": LTL}
FORM = choice(*_FORMS)
_ODD_MESSAGE = "refactorize takes a C-contiguous float64 array, (n, n) or packed; use factorize for anything else"
_SINGULAR_MESSAGE = "H is not positive definite; factorize names the row"


def factorize(
    H: ArrayLike | TreeMatrix, parent: ArrayLike | Pattern | None = None, form: Literal["ltdl", "ltl"] = "ltdl"
) -> Factor:
    """Factor a symmetric positive-definite matrix whose zeros follow a tree, such as a mass matrix.

    H: (n, n), a batch (B, n, n), or a TreeMatrix (which knows its parent array). Only the lower triangle is read, and
    only the entries that the tree allows to be nonzero. parent: an array (n,) with parent[i] < i, -1 for roots
    (model.expanded_parent), or a Pattern made from one, which avoids checking it again.

    Raises SingularError, with the row, where H is not positive definite.
    """
    if H.__class__ is TreeMatrix:
        pattern: Pattern = H._pattern  # type: ignore[union-attr]
        H = H._values  # type: ignore[union-attr]
    else:
        pattern = parent if isinstance(parent, Pattern) else _pattern(parent)
    entry: _Entry = pattern._entry or pattern._keep(_Entry(pattern))
    if form.__class__ is not str or form not in _FORMS:
        take("factorize: form", form, FORM)
    values = np.zeros(entry.length)
    status = entry.run[form](values, H)
    if status == ODD:
        return _factorize_general(pattern, entry, H, form)
    if status != OK:
        raise _not_positive(pattern, status, H)
    return Factor._of(pattern, values, form)


def _checked_form(form: Any) -> str:
    if not isinstance(form, str) or form not in _FORMS:
        raise StateError(f"form must be 'ltdl' or 'ltl', not {form!r}")
    return form


def _pattern(parent: ArrayLike | None) -> Pattern:
    if parent is None:
        raise StateError("parent is needed: model.expanded_parent, or pass a TreeMatrix, which has it")
    return Pattern(parent)


def _factorize_general(pattern: Pattern, entry: _Entry, H: Any, form: str) -> Factor:
    """Anything except a single plain array: convert, and loop over a batch."""
    matrix: Floats = as_floats("H", H)
    packed = matrix.shape[-1:] == (pattern.size,) and matrix.shape[-2:] != (pattern.n, pattern.n)
    rows = matrix if packed else pattern.pack(matrix)
    flat = np.ascontiguousarray(rows.reshape(math.prod(rows.shape[:-1]), pattern.size))
    results = np.zeros((len(flat), entry.length))
    for row, result in zip(flat, results):
        status = entry.run[form](result, row)
        if status != OK:
            raise _not_positive(pattern, status, row)
    return Factor._of(pattern, results.reshape(*rows.shape[:-1], results.shape[-1]), form)


def _not_positive(pattern: Pattern, status: int, values: Any) -> Exception:
    if not np.isfinite(values).all():
        return StateError("H has entries that are not finite")
    row = status - 2 if pattern.order is None else int(pattern.order[status - 2])
    return SingularError(f"H is not positive definite: the factorization breaks down at row {row}")
