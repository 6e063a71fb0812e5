"""sixes.py without the compiler (NUMBA_DISABLE_JIT): the same six numbers, in plain Python.

They may be of any type that can be added and multiplied: reproduce/counting.py runs kernels on numbers that count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Six:
    """Six numbers; operators take another six, or one number for all."""

    __slots__ = ("of",)

    def __init__(self, *numbers: Any) -> None:
        self.of = numbers

    def _each(self, other: Any, operation: Callable[[Any, Any], Any]) -> Six:
        others = other.of if isinstance(other, Six) else (other,) * 6
        return Six(*map(operation, self.of, others))

    def __add__(self, other: Any) -> Six:
        return self._each(other, lambda x, y: x + y)

    def __sub__(self, other: Any) -> Six:
        return self._each(other, lambda x, y: x - y)

    def __mul__(self, other: Any) -> Six:
        return self._each(other, lambda x, y: x * y)

    __rmul__ = __mul__


def make_six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Six:
    """Six numbers as one."""
    return Six(a, b, c, d, e, f)


def six(a: Any, k: int) -> Six:
    """a[k:k+6]"""
    return Six(*[a[k + i] for i in range(6)])


def set_six(a: Any, k: int, x: Six) -> None:
    """a[k:k+6] = x"""
    for i in range(6):
        a[k + i] = x.of[i]


def sum_of_six(x: Six) -> Any:
    """The sum of the six numbers."""
    first, *rest = x.of
    for number in rest:
        first = first + number
    return first


def dot(x: Six, y: Six) -> Any:
    """The sum of the six products."""
    return sum_of_six(x * y)


def absolute(x: Six) -> Six:
    """The magnitudes of the six numbers."""
    return Six(*map(abs, x.of))


def swap_pairs(x: Six) -> Six:
    """(x1, x0, x3, x2, x4, x5)"""
    a, b, c, d, e, f = x.of
    return Six(b, a, d, c, e, f)


def entry(x: Six, i: int) -> Any:
    """One of the six numbers."""
    return x.of[i]
