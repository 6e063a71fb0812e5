"""Values that nobody would give on purpose: of every type, shape, size and ill will."""

from __future__ import annotations

import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from supple import trees


class Hostile:
    """An object all of whose conversions fail, its repr included."""

    def _fail(self, *args: Any, **more: Any) -> Any:
        raise RuntimeError("no")

    __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = __bool__ = __repr__ = __str__ = _fail
    __getitem__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __call__ = __fspath__ = _fail
    __hash__ = object.__hash__


class Subclass(np.ndarray):  # type: ignore[type-arg]
    """An array that is not quite one."""


class Entry:
    """Something that has a path."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def __fspath__(self) -> Any:
        return self.path


def _nested(depth: int) -> list[Any]:
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


def _endless() -> list[Any]:
    out: list[Any] = []
    out.append(out)
    return out


#: Numbers that hardly any count, time or size is.
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**12, -(10**12), 10**400, 0.0, -0.0, 0.1, -0.1, 1.5,
    2.0, 1e-320, 1e300, -1e300, np.inf, -np.inf, np.float32(0.5), np.int8(1), np.uint64(2**63), Fraction(1, 3),
    np.longdouble("1e4000"), Decimal("0.5"), np.float64(1.0), np.array(2.0), np.array(3),
)  # fmt: skip

#: What is no real number: whoever takes one of these for a number is wrong.
NEVER_NUMBERS: tuple[Any, ...] = (
    np.nan, float("nan"), np.float32("nan"), 1j, np.complex128(1), True, np.True_, "1", "x", b"1", None, [], {}, int,
    object(), np.ma.masked, np.array(np.nan), np.array("x"), np.datetime64("2020"), Hostile(), Ellipsis, print,
)  # fmt: skip

THINGS: tuple[Any, ...] = (
    None, True, False, "", "x", "0", "é", "\0", "\ud800", "a" * 1000, "world", "aba", "stop", b"x", bytearray(b"x"), [],
    (), {}, {"x": 1}, {0: 1}, set(), frozenset({1}), [1], [1, 2, 3], [[1, 2], [3]], [None], ["a", "b"], ["link0"],
    [0, 1], [True], range(3), range(10**12), slice(None), object(), Hostile(), [Hostile()], print, len, int, lambda: 0,
    lambda x: x, lambda *x: None, lambda *x: "x", lambda *x: np.nan, lambda *x: np.zeros(99), Ellipsis, NotImplemented,
    types, 1j, Path(), Path("no/such/folder/x"), np.dtype("f8"), np.float64, Exception("x"), _nested(60), _endless(),
    [2**64], [Fraction(1, 3)] * 3, [10**400], PurePosixPath("x"), Entry("x"), Entry(b"x"), Entry(5), Entry("\0"),
)  # fmt: skip


def odd_array(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Something like an array of a shape, with something about it that is wrong: nobody may take it for numbers."""
    x = rng.standard_normal(shape)
    spoilt = x.copy()
    if x.size:
        spoilt.flat[rng.integers(x.size)] = rng.choice([np.nan, np.inf, -np.inf])
    mask = np.zeros(shape, dtype=bool)
    mask.flat[: 1 if x.size else 0] = True
    wrong: list[Callable[[], Any]] = [
        lambda: spoilt, lambda: spoilt.tolist(), lambda: x + 1j, lambda: x.astype(str), lambda: (x + 1j).astype(object),
        lambda: np.ma.array(x, mask=mask), lambda: [np.ma.array(x, mask=mask)], lambda: "x",
        lambda: x.astype("S8"), lambda: np.zeros(shape, dtype="M8[s]"), lambda: np.zeros(shape, dtype="f8,f8"),
        lambda: np.broadcast_to(x, (10**10, *shape)), lambda: np.zeros((2, 2, 2, *shape)),
        lambda: np.append(x, 0.0) if shape else "y", lambda: {0: 0.0, 1: 0.0}, lambda: (y for y in x.flat),
        lambda: [*x.flat, []], lambda: np.full(shape, Decimal(1), dtype=object), lambda: [10**400] * max(1, x.size),
        lambda: np.full(shape, None),
    ]  # fmt: skip
    return wrong[rng.integers(len(wrong))]()


def strange_array(x: Any, rng: np.random.Generator) -> Any:
    """A good array in a form that is allowed, but that few use."""
    x = np.asarray(x, dtype=np.float64)
    unaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view("f8").reshape(x.shape)
    apart = np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x
    fractions = np.array([Fraction(y) for y in x.flat if np.isfinite(y)], dtype=object)
    forms: list[Callable[[], Any]] = [
        lambda: x.tolist(), lambda: x.astype(">f8"), lambda: x.astype(np.longdouble), lambda: x.view(Subclass),
        lambda: apart, lambda: np.asfortranarray(x), lambda: np.ma.array(x), lambda: unaligned,
        lambda: x.astype(object), lambda: fractions.reshape(x.shape).tolist() if len(fractions) == x.size else x,
    ]  # fmt: skip
    return forms[rng.integers(len(forms))]()


def odd(rng: np.random.Generator) -> Any:
    """Any of them."""
    which = rng.integers(8)
    if which < 2:
        return NUMBERS[rng.integers(len(NUMBERS))]
    if which < 3:
        return NEVER_NUMBERS[rng.integers(len(NEVER_NUMBERS))]
    if which < 6:
        return THINGS[rng.integers(len(THINGS))]
    if which < 7:
        return odd_array(rng, [(), (0,), (1,), (3,), (5,), (2, 5), (5, 6), (3, 3), (4,)][rng.integers(9)])
    return trees.chain(2) if rng.random() < 0.2 else rng.standard_normal(int(rng.integers(0, 9)))
