"""Symmetric matrices with branch-induced sparsity [SF section 2], stored without their zeros.

Over a parent array lambda, H_ij may differ from zero only where one of i, j is an ancestor of the other [SF (6)]. Row k of
the lower triangle is packed as

    H[k, k], H[k, lambda(k)], H[k, lambda(lambda(k))], ...

so that the row of an ancestor i of k lines up with the tail of row k: every inner loop of a factorization runs over two
contiguous stretches. There are D1 + n numbers [SF (8)] instead of n^2.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.errors import StateError
from supple.exact import memory
from supple.model.topology import depths

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Pattern:
    """Which entries may differ from zero: a parent array (parents first, the root's parent is -1) and the packing of rows."""

    def __init__(self, parent: ArrayLike) -> None:
        raw = np.asarray(parent)
        if raw.ndim != 1 or raw.dtype.kind not in "iu":
            raise StateError("parent must be a one-dimensional array of integers: one entry a row, -1 for the root")
        lam = np.ascontiguousarray(raw, dtype=np.int64)
        wrong = np.flatnonzero((lam < -1) | (lam >= np.arange(len(lam))))
        if len(wrong):
            i = int(wrong[0])
            raise StateError(
                f"parent[{i}] is {lam[i]}: a parent comes before its children, so it must be from -1 (the root) to {i - 1}"
            )
        if lam is raw:
            lam = lam.copy()
        lam.flags.writeable = False
        self.parent: Ints = lam
        self.entry: Any = None  #: what ltdl.py keeps of this pattern

    @cached_property
    def depth(self) -> Ints:
        """d_i, the distance to the root, at least 1."""
        return depths(self.parent)

    @cached_property
    def starts(self) -> Ints:
        """Where row k begins among the packed numbers."""
        out = np.cumsum(self.depth) - self.depth
        out.flags.writeable = False
        return out

    @cached_property
    def nnz(self) -> int:
        """Numbers stored: the diagonal and what may differ from zero below it, n + D1."""
        return int(self.depth.sum())

    @property
    def n(self) -> int:
        return len(self.parent)

    @cached_property
    def columns(self) -> Ints:
        """(nnz,) the column of each packed number."""
        out = np.empty(self.nnz, dtype=np.int64)
        column = np.arange(self.n)
        row = np.arange(self.n)
        step = 0
        while len(row):
            out[self.starts[row] + step] = column
            column = self.parent[column]
            row, column = row[column >= 0], column[column >= 0]
            step += 1
        return out

    @cached_property
    def rows(self) -> Ints:
        """(nnz,) the row of each packed number."""
        return np.repeat(np.arange(self.n), self.depth)

    def pack(self, H: ArrayLike) -> Floats:
        """The packed numbers of a dense symmetric matrix (..., n, n); what the pattern lacks must be zero there."""
        dense = np.asarray(H, dtype=np.float64)
        if dense.ndim < 2 or dense.shape[-2:] != (self.n, self.n):
            raise StateError(f"H has shape {dense.shape}; the parent array has {self.n} entries, so ({self.n}, {self.n}) is needed")
        return np.ascontiguousarray(dense[..., self.rows, self.columns])

    def unpack(self, values: Floats, symmetric: bool = True) -> Floats:
        """The dense matrix of packed numbers."""
        memory.require(self.n**2, f"a dense matrix of {self.n} rows", "use the packed form")
        out = np.zeros(values.shape[:-1] + (self.n, self.n))
        out[..., self.rows, self.columns] = values
        if symmetric:
            out[..., self.columns, self.rows] = values
        return out


class TreeMatrix:
    """A symmetric matrix over a tree: pattern and packed values (..., nnz)."""

    __slots__ = ("pattern", "values")

    def __init__(self, pattern: Pattern, values: Floats) -> None:
        self.pattern, self.values = pattern, values

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.values.shape[:-1], self.pattern.n, self.pattern.n)

    @property
    def parent(self) -> Ints:
        return self.pattern.parent

    @property
    def density(self) -> float:
        """The share of entries that may differ from zero."""
        n = self.pattern.n
        return (2 * self.pattern.nnz - n) / n**2

    def dense(self) -> Floats:
        """All n^2 numbers; refused where they would not fit in memory."""
        return self.pattern.unpack(self.values)

    def __matmul__(self, x: ArrayLike) -> Floats:
        """The product with a vector (n,)."""
        x = np.asarray(x, dtype=np.float64)
        if self.values.ndim != 1 or x.shape != (self.pattern.n,):
            raise StateError(f"cannot multiply a tree matrix of shape {self.shape} with an array of shape {x.shape}")
        rows, columns, n = self.pattern.rows, self.pattern.columns, self.pattern.n
        out = np.bincount(rows, self.values * x[columns], n)
        below = rows != columns
        return out + np.bincount(columns[below], (self.values * x[rows])[below], n)

    def __repr__(self) -> str:
        return f"<TreeMatrix {'x'.join(map(str, self.shape))}, {self.pattern.nnz} numbers, {100 * self.density:.3g} % full>"
