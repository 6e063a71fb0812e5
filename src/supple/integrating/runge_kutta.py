"""Runge-Kutta methods: coefficients and step-length control, shared by compiled code and plain Python.

    RK4      the classical method, of order 4: each stage begins where the slope of the previous one leads
    DOP853   Dormand and Prince's of order 8, with SciPy's coefficients and an interpolant of order 7

The functions are plain Python; compiled code makes helpers of them. [HNW]: Hairer, Norsett and Wanner 1993, Solving
Ordinary Differential Equations I.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RK4_NODES = (0.0, 0.5, 0.5, 1.0)  #: c, the times of the stages; and a, how far along the previous slope they are
RK4_WEIGHTS = (1.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0)  #: b, of the slopes

STAGES = 12  #: of DOP853
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 10.0  #: of the next step's length [HNW II.4]


class Tableau(NamedTuple):
    """DOP853's coefficients: A, B, C of the method, E3 and E5 of its error, and those of the interpolant."""

    A: Floats
    B: Floats
    C: Floats
    E3: Floats
    E5: Floats
    D: Floats
    A_more: Floats
    C_more: Floats


@cache
def dop853() -> Tableau:
    """SciPy's coefficients. Those of the error cover the stages: the last ones, for the slope at the end, are zero."""
    from scipy.integrate import DOP853 as d

    error = d.E3[:STAGES], d.E5[:STAGES]
    return Tableau(*map(np.ascontiguousarray, (d.A, d.B, d.C, *error, d.D, d.A_EXTRA, d.C_EXTRA)))


def blended(five: float, three: float, h: float, count: int) -> float:
    """The error of a step of length h, 1 being just acceptable, from the sums of squares of its estimates of orders 5
    and 3, each relative to the tolerance, over `count` numbers [HNW II.10]."""
    if five == 0.0:
        return 0.0
    return abs(h) * five / math.sqrt((five + 0.01 * three) * count)


def growth(error: float, rejected: bool) -> float:
    """The ratio of the next step length to that of a step with this error; rejected: whether it, or one tried before
    it, was not acceptable."""
    if not error < math.inf:
        return SLOWEST
    most = 1.0 if rejected else FASTEST
    return most if error == 0.0 else max(SLOWEST, min(most, SAFETY * error**-0.125))
