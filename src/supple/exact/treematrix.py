"""Symmetric matrices with branch-induced sparsity [SF section 2], stored without their zeros.

Over a parent array lambda, H_ij may differ from zero only where one of i, j is an ancestor of the other [SF (6)]. Row
k of the lower triangle is packed from the root down,

    ..., H[k, lambda(lambda(k))], H[k, lambda(k)], H[k, k]

so that a column is at the same position in the row of every descendant: the inner loops of a factorization run over
aligned stretches, four numbers at a time. Rows are padded to a multiple of four with fillers, which are not part of the
matrix. There are D1 + n numbers [SF (8)], and at most 3 n fillers, instead of n^2.
"""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import WHOLE_NUMBERS, as_floats, take
from supple.errors import StateError
from supple.exact.packing import Packing
from supple.model.frozen import frozen_arrays, frozen_property, kept
from supple.model.topology import depth_first, depths, is_depth_first, subtree_ends
from supple.once import made_once
from supple.spatial.held import Held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 4  #: rows are padded to a multiple of this


@made_once("parent")
@frozen_arrays("parent", "order", "_ends")
class Pattern:
    """The entries that may be nonzero: a parent array (parents first, the root's parent is -1) and the packing of rows.

    Rows are packed in depth-first order, in which the descendants of a row follow it without a gap. `order` is None if
    the parent array is already numbered that way (as a model's is); otherwise packed row p is row order[p] of the
    matrix.

    A pattern is immutable, since kernels trust its numbers: a copy is the same object, and unpickling reconstructs it
    from the parent array.
    """

    parent: Ints
    order: Ints | None
    _ends: Ints | None
    _entry: Any = None  #: what factor.py stores with this pattern

    def __init__(self, parent: ArrayLike, ends: ArrayLike | None = None) -> None:
        """ends: one past the last descendant of each row, if they are numbered depth first; avoids computing it."""
        lam = _integers("parent", parent)
        wrong = np.flatnonzero((lam < -1) | (lam >= np.arange(len(lam))))
        if len(wrong):
            i = int(wrong[0])
            raise StateError(
                f"parent[{i}] is {lam[i]}: parents come before children, so it must be from -1 (the root) to {i - 1}"
            )
        last = None if ends is None else kept(_integers("ends", ends))
        if last is not None and not is_depth_first(lam, last):
            raise StateError("ends are not those of a parent array that is numbered depth first; leave them out")
        order = np.arange(len(lam)) if last is not None else depth_first(lam)
        in_order = np.array_equal(order, np.arange(len(lam)))
        self.__dict__.update(parent=kept(lam), order=None if in_order else kept(order), _ends=last)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a pattern is never changed: make another one instead of setting {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Pattern, (self.parent, self._ends)

    def __copy__(self) -> Pattern:
        return self

    def __deepcopy__(self, memo: Any) -> Pattern:
        return self

    def _keep(self, entry: Any) -> Any:
        """Store what factor.py has computed."""
        self.__dict__["_entry"] = entry
        return entry

    @frozen_property
    def packed_parent(self) -> Ints:
        """The parent array over packed rows."""
        if self.order is None:
            return self.parent
        place = np.empty(self.n + 1, dtype=np.int64)
        place[self.order] = np.arange(self.n)
        place[-1] = -1
        return place[self.parent[self.order]]

    @frozen_property
    def depth(self) -> Ints:
        """d_i, the distance to the root, at least 1, of each packed row: its length."""
        if self._ends is not None:  # depth: the number of subtrees that have begun minus those that have ended
            ended = np.cumsum(np.bincount(self._ends, minlength=self.n + 1))[: self.n]
            return np.arange(1, self.n + 1) - ended
        return depths(self.packed_parent)

    @frozen_property
    def starts(self) -> Ints:
        """(n,) where each packed row begins."""
        room = -(-self.depth // BLOCK) * BLOCK
        return np.cumsum(room) - room

    @cached_property
    def size(self) -> int:
        """Length of the packed values, fillers included."""
        return int((-(-self.depth // BLOCK) * BLOCK).sum())

    @frozen_property
    def diagonal(self) -> Ints:
        """(n,) position of the diagonal among the packed values, by packed row."""
        return self.starts + self.depth - 1

    @frozen_property
    def ends(self) -> Ints:
        """(n,) one past the last descendant of each packed row."""
        return subtree_ends(self.packed_parent) if self._ends is None else self._ends

    @cached_property
    def _packing(self) -> Held:
        """The packing as compiled code sees it."""
        return Packing.of(
            n=self.n, size=self.size, parent=self.packed_parent, starts=self.starts, depth=self.depth, ends=self.ends
        )

    @cached_property
    def nnz(self) -> int:
        """The number of entries that may be nonzero on and below the diagonal: n + D1."""
        return int(self.depth.sum())

    @property
    def n(self) -> int:
        return len(self.parent)

    @property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """(nnz,) row, column, and position among the packed values, of every entry on and below the diagonal."""
        row, column, at = self._entries
        return row, column, at

    @frozen_property
    def _entries(self) -> Ints:
        """(3, nnz) the same."""
        row = np.repeat(np.arange(self.n), self.depth)
        column = np.empty(self.nnz, dtype=np.int64)
        step_up = (
            np.repeat(np.cumsum(self.depth), self.depth) - 1 - np.arange(self.nnz)
        )  # generations from row to column
        at = self.diagonal[row] - step_up
        here = there = np.arange(self.n)
        last = np.cumsum(self.depth) - 1
        for step in range(int(self.depth.max(initial=0))):
            column[last[here] - step] = there
            there = self.packed_parent[there]
            here, there = here[there >= 0], there[there >= 0]
        return np.stack((row, column, at) if self.order is None else (self.order[row], self.order[column], at))

    def __repr__(self) -> str:
        return f"<Pattern of {self.n} rows, {self.nnz} numbers on and below the diagonal>"

    def plot(self, title: str, values: Floats, symmetric: bool, path: str | Path | None = None) -> Any:
        """The nonzero pattern of packed values, as a matplotlib figure; saved if a path is given."""
        from supple.drawing import matrix, saved

        values = self._packed(values)
        if values.ndim != 1:
            raise StateError("a batch of matrices is not plotted: take one of them")
        row, column, at = self.entries
        x = values[at]
        if symmetric:
            row, column, x = np.append(row, column), np.append(column, row), np.append(x, x)
        return saved(matrix.sparsity(title, self.n, row, column, x), path)

    def pack(self, H: ArrayLike) -> Floats:
        """The packed values of a dense symmetric matrix (..., n, n); entries outside the pattern are ignored."""
        dense = as_floats("H", H)
        if dense.ndim < 2 or dense.shape[-2:] != (self.n, self.n):
            raise StateError(
                f"H has shape {dense.shape}; the parent array has {self.n} entries, so ({self.n}, {self.n}) is needed"
            )
        row, column, at = self.entries
        out = np.zeros((*dense.shape[:-2], self.size))
        out[..., at] = dense[..., row, column]
        return out

    def unpack(self, values: Floats, symmetric: bool = True) -> Floats:
        """The dense matrix of packed values."""
        values = self._packed(values)
        memory.require(
            math.prod((*values.shape[:-1], self.n, self.n)), f"a dense matrix of {self.n} rows", "use the packed form"
        )
        row, column, at = self.entries
        out = np.zeros((*values.shape[:-1], self.n, self.n))
        out[..., row, column] = values[..., at]
        if symmetric:
            out[..., column, row] = values[..., at]
        return out

    def _packed(self, values: ArrayLike) -> Floats:
        """Packed values of a matrix or of a factor."""
        out = as_floats("values", values)
        if out.ndim == 0 or out.shape[-1] not in (self.size, self.size + self.n):
            raise StateError(f"values has shape {out.shape}; over {self!r} they are {self.size} numbers")
        return out


def _integers(name: str, given: ArrayLike) -> Ints:
    raw: Ints = take(name, given, WHOLE_NUMBERS)
    if raw.ndim != 1:
        raise StateError(f"{name} must be a one-dimensional array of integers: one entry a row, -1 for the root")
    return raw.copy()


def checked_values(pattern: Any, values: Any, size: int) -> Floats:
    """Packed values over a pattern, as a separate array."""
    out = np.array(as_floats("values", values))
    if out.ndim == 0 or out.shape[-1] != size:
        raise StateError(f"values has shape {out.shape}; over {pattern!r} they are {size} numbers, or (..., {size})")
    return out


@made_once("_values")
class TreeMatrix:
    """A symmetric matrix over a tree: pattern and packed values (..., pattern.size)."""

    __slots__ = ("_pattern", "_values")

    def __init__(self, pattern: Pattern, values: ArrayLike) -> None:
        if not isinstance(pattern, Pattern):
            raise StateError(f"a tree matrix is made over a Pattern, not {pattern!r}")
        self._pattern, self._values = pattern, checked_values(pattern, values, pattern.size)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles have separate values."""
        return TreeMatrix, (self._pattern, self._values)

    @classmethod
    def _of(cls, pattern: Pattern, values: Floats) -> TreeMatrix:
        """From values that are known to match the pattern and are not shared."""
        out = cls.__new__(cls)
        out._pattern, out._values = pattern, values
        return out

    @property
    def pattern(self) -> Pattern:
        return self._pattern

    @property
    def values(self) -> Floats:
        """(..., pattern.size) the packed numbers: a view; writing to it changes the matrix."""
        return self._values[...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.values.shape[:-1], self.pattern.n, self.pattern.n)

    @property
    def parent(self) -> Ints:
        return self.pattern.parent

    @property
    def density(self) -> float:
        """The fraction of entries that may be nonzero."""
        n = self.pattern.n
        return (2 * self.pattern.nnz - n) / n**2 if n else 1.0

    def dense(self) -> Floats:
        """All n^2 numbers; refused if they would not fit in memory."""
        return self.pattern.unpack(self.values)

    def __matmul__(self, x: ArrayLike) -> Floats:
        """The product with a vector (n,)."""
        x = as_floats("x", x)
        if self.values.ndim != 1 or x.shape != (self.pattern.n,):
            raise StateError(f"cannot multiply a tree matrix of shape {self.shape} with an array of shape {x.shape}")
        if not np.isfinite(x).all():
            raise StateError("x has a number that is not finite")
        (row, column, at), n = self.pattern.entries, self.pattern.n
        values = self.values[at]
        out = np.bincount(row, values * x[column], n)
        below = row != column
        return np.asarray(out + np.bincount(column[below], (values * x[row])[below], n), dtype=np.float64)

    def plot(self, path: str | Path | None = None) -> Any:
        """The nonzero pattern, as a matplotlib figure; saved if a path is given."""
        return self.pattern.plot(repr(self)[1:-1], self.values, True, path)

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"<TreeMatrix {shape}, {self.pattern.nnz} numbers, {100 * self.density:.3g} % full>"
