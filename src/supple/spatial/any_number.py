"""What kernels that are written for numbers of any type need besides arithmetic: float64, four in a register (cpu), or
numbers of 32 digits (double_double.py). Each of those types defines these functions for itself."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from supple.spatial.compiler import INLINE


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, lane by lane; the second where either is NaN."""
    return a if a < b else b


@overload(smaller, jit_options=INLINE, strict=False)
def _smaller(a: Any, b: Any) -> Any:
    return (lambda a, b: a if a < b else b) if isinstance(a, types.Number) else None


def number_like(x: Any, value: float) -> Any:
    """The number `value` in the type of x, so that both arms of a branch have one type."""
    return x * 0 + value if not isinstance(x, float) else value


@overload(number_like, jit_options=INLINE, strict=False)
def _number_like(x: Any, value: Any) -> Any:
    return (lambda x, value: value) if isinstance(x, types.Number) else None
