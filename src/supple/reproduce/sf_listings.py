"""The algorithms of SF word for word, on dense arrays of any numbers: to count and to compare with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any


def ltl(H: Any, lam: Sequence[int], sqrt: Callable[[Any], Any] = math.sqrt) -> None:
    """H = L^T L, left in the lower triangle [SF section 2]."""
    for k in range(len(lam) - 1, -1, -1):
        H[k, k] = sqrt(H[k, k])
        j = lam[k]
        while j >= 0:
            H[k, j] = H[k, j] / H[k, k]
            j = lam[j]
        i = lam[k]
        while i >= 0:
            j = i
            while j >= 0:
                H[i, j] = H[i, j] - H[k, i] * H[k, j]
                j = lam[j]
            i = lam[i]


def ltdl(A: Any, lam: Sequence[int]) -> None:
    """A = L^T D L: D is left on the diagonal, L below it [SF appendix A]."""
    for k in range(len(lam) - 1, -1, -1):
        i = lam[k]
        while i >= 0:
            a = A[k, i] / A[k, k]
            j = i
            while j >= 0:
                A[i, j] = A[i, j] - A[k, j] * a
                j = lam[j]
            A[k, i] = a
            i = lam[i]


def solve_ltdl(A: Any, lam: Sequence[int], x: Any) -> None:
    """x = L^-1 D^-1 L^-T x, with the factors that ltdl left in A [SF appendix A]."""
    for i in range(len(lam) - 1, -1, -1):
        j = lam[i]
        while j >= 0:
            x[j] = x[j] - A[i, j] * x[i]
            j = lam[j]
    for i in range(len(lam)):
        x[i] = x[i] / A[i, i]
    for i in range(len(lam)):
        j = lam[i]
        while j >= 0:
            x[i] = x[i] - A[i, j] * x[j]
            j = lam[j]
