"""Zeros of a function of time that can be sampled anywhere within a step: detecting them between samples, and locating
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from supple.integrating.looks import dips_kernel
from supple.simulating.integrators import Pair, Step

Floats = NDArray[np.float64]
Look = tuple[float, float]  #: a time, and the function there

PARTS = 4  #: of a window
FINE = 8  #: of a part: how far around a minimum of the polynomial the function is looked at again
UNDERSHOOT = 0.61  #: how far at most the polynomial is below its least value at a look, relative to their range
PROMISING = 0.1  #: how near to zero it must come for a closer look, relative to the values around it
ZOOMS = 6  #: refinements of a look, by FINE * PARTS / 2 each
POLISH = 6  #: corrections of the instant by steps that end there
ROUNDINGS = 16  #: of time: the least distance between looks


@cache
def _kernel() -> Callable[..., int]:
    return dips_kernel.load()


def _turns(w: Floats) -> Floats:
    """Where the polynomial through looks turns before zero, or beyond it: rows of a place, in parts, the polynomial
    there, seen from the side of the nearest look, and that side."""
    out = np.empty((2 * PARTS, 3))
    return out[: _kernel()(w, np.empty(PARTS + 1), out)]


def with_dips(look: Callable[[float], float], t: list[float], w: list[float], skip: int = 0) -> Iterator[Look]:
    """The looks of a window after its first, and between them those at which the function was past zero and came back.
    skip: parts at the beginning that were already sampled closely."""
    found = _dips(look, t, w, skip)
    yield from sorted([*found, *zip(t[1:], w[1:])]) if found else zip(t[1:], w[1:])


def _dips(look: Callable[[float], float], t: list[float], w: list[float], skip: int) -> list[Look]:
    low, high = min(w), max(w)
    promising = PROMISING * max(high, -low)
    undershoot = UNDERSHOOT * (high - low)
    if low - undershoot > promising or high + undershoot < -promising:
        return []
    part = (t[-1] - t[0]) / PARTS
    turns = [(x, side) for x, p, side in _turns(np.array(w)).tolist() if p <= promising and x >= (skip or -1)]
    dips = [_dip(look, side, *_around(t, x * part)) for x, side in turns]
    return [dip for dip in dips if dip is not None]


def _around(t: Sequence[float], away: float) -> tuple[float, float]:
    """1 / FINE of a part on either side of a place in a window, within it."""
    width = (t[-1] - t[0]) / (PARTS * FINE)
    return max(t[0] + away - width, t[0]), min(t[0] + away + width, t[-1])


def _dip(look: Callable[[float], float], sign: float, a: float, b: float) -> Look | None:
    """Where in [a, b] a function of the given sign has the opposite one, if found: at the minimum of the polynomial
    through five looks, refined repeatedly."""
    for _ in range(ZOOMS):
        t = np.linspace(a, b, PARTS + 1).tolist()
        w = np.array([sign * look(x) for x in t])
        k = int(w.argmin())
        if w[k] < 0.0:
            return t[k], sign * float(w[k])
        p, x = min([(float(w[k]), float(k)), *((p, x) for x, p, _ in _turns(w).tolist())])
        if p > PROMISING * np.ptp(w):
            return None
        a, b = _around(t, min(max(x, 0.0), PARTS) / PARTS * (b - a))
        if b - a < ROUNDINGS * np.spacing(abs(b)):
            return None
    return None


def zero_between(look: Callable[[float], float], last: Look, first: Look) -> float:
    """Where a function crosses zero between two looks: Brent's method on the step's interpolant."""
    from scipy.optimize import brentq

    (a, fa), (b, fb) = last, first
    if fb == 0.0:
        flat = look(b - 1e-6 * (b - a)) == 0.0  # a function that reaches zero and stays there
        return first_instant(lambda t: look(t) == 0.0, a, b) if flat else b
    if (fa > 0.0) == (fb > 0.0):  # it was zero at a, up to rounding
        return a
    known = {a: fa, b: fb}

    def value(t: float) -> float:
        return known[t] if t in known else look(t)

    return float(brentq(value, a, b, xtol=1e-16, rtol=4 * np.finfo(float).eps, maxiter=200, disp=False))


def first_instant(beyond: Callable[[float], bool], a: float, b: float) -> float:
    """The first instant at which something holds that holds at b and not at a."""
    while b - a > np.spacing(abs(a)):
        middle = 0.5 * (a + b)
        if middle in (a, b):
            break
        a, b = (a, middle) if beyond(middle) else (middle, b)
    return b


def slope_at(look: Callable[[float], float], root: float, a: float, b: float) -> float:
    near, far = max(a, root - 1e-4 * (b - a)), min(b, root + 1e-4 * (b - a))
    return (look(far) - look(near)) / (far - near) if far > near else 0.0


def polished(
    exactly: Callable[[float], tuple[float, Pair]], root: float, slope: float, step: Step, most: float
) -> tuple[float, float, Pair]:
    """A zero corrected by secant iterations over steps that end there, as long as they improve it."""
    w, pair = exactly(root)
    for _ in range(POLISH):
        move = -w / slope if slope else 0.0
        time = min(max(root + move, step.begin), step.end)
        if abs(move) <= 2 * np.spacing(abs(root)) or abs(move) > most or time == root:
            break
        better, there = exactly(time)
        if abs(better) >= abs(w):
            break
        slope = (better - w) / (time - root)
        root, w, pair = time, better, there
    return root, w, pair
