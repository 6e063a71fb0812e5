"""Zeros of a function of time that can be sampled anywhere within a step: detecting them between samples, and locating
them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from supple.simulating.integrators import Pair, Step

Floats = NDArray[np.float64]
Look = tuple[float, float]  #: a time, and the function there

PARTS = 4  #: of a window
FINE = 8  #: points of a part at which the polynomial is evaluated
UNDERSHOOT = 0.61  #: how far at most the polynomial is below its least value at a look, relative to their range
PROMISING = 0.1  #: how near to zero it must come for a closer look, relative to the values around it
ZOOMS = 6  #: refinements of a look, by FINE * PARTS / 2 each
POLISH = 6  #: corrections of the instant by steps that end there
ROUNDINGS = 16  #: of time: the least distance between looks


def _finer() -> Floats:
    """Maps the looks of a window to their polynomial at FINE points per part, and at one more beyond either end."""
    nodes, points = np.arange(PARTS + 1), np.arange(-1, PARTS * FINE + 2) / FINE
    others = [np.delete(nodes, i) for i in nodes]
    return np.array([[np.prod((x - o) / (n - o)) for n, o in zip(nodes, others)] for x in points])


POLYNOMIAL = _finer()
NEAREST = np.clip(np.rint(np.arange(-1, PARTS * FINE + 2) / FINE), 0, PARTS).astype(np.int64)  #: look to each point


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
    signs = np.sign(w)[NEAREST]
    p = signs * (POLYNOMIAL @ w)
    least = (p[1:-1] <= p[:-2]) & (p[1:-1] <= p[2:]) & (p[1:-1] <= promising)
    width, last = (t[-1] - t[0]) / (PARTS * FINE), PARTS * FINE
    places = [j for j in np.flatnonzero(least).tolist() if j >= FINE * skip]
    dips = [_dip(look, signs[j + 1], t[0] + max(j - 1, 0) * width, t[0] + min(j + 1, last) * width) for j in places]
    return [dip for dip in dips if dip is not None]


def _dip(look: Callable[[float], float], sign: float, a: float, b: float) -> Look | None:
    """Where in [a, b] a function of the given sign has the opposite one, if found: at the minimum of the polynomial
    through five looks, refined repeatedly."""
    for _ in range(ZOOMS):
        t = np.linspace(a, b, PARTS + 1)
        w = np.array([sign * look(x) for x in t.tolist()])
        k = int(w.argmin())
        if w[k] < 0.0:
            return float(t[k]), sign * float(w[k])
        p = POLYNOMIAL[1:-1] @ w
        j = int(p.argmin())
        if p[j] > PROMISING * np.ptp(w):
            return None
        width = (b - a) / (PARTS * FINE)
        a, b = a + max(j - 1, 0) * width, min(a + (j + 1) * width, b)
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
