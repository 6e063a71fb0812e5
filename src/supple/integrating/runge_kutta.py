"""Runge-Kutta methods: coefficients and step-length control, shared by compiled code and plain Python. Their stages are
in stages.py.

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

STAGES = 12  #: of DOP853
SAFETY, SLOWEST, FASTEST = 0.9, 0.2, 10.0  #: of the next step's length [HNW II.4]


class Method(NamedTuple):
    """A method of `stages` stages. Stage s is at y + h sum A[s, r] k_r, at the time t + C[s] h, with k_r the slopes of
    the stages before it [HNW II.1.8]. Row `stages` is the end of the step, as if it were another stage: its
    coefficients are the method's weights. The rows after that are further stages of an interpolant."""

    stages: int
    A: Floats  #: (rows, rows), lower triangular
    C: Floats  #: (rows,)

    @property
    def weights(self) -> Floats:
        """Of the slopes, at the end of the step."""
        return self.A[self.stages, : self.stages]


class Tableau(NamedTuple):
    """The other coefficients of DOP853: E3 and E5 of its error, D of its interpolant."""

    E3: Floats  #: (stages,)
    E5: Floats
    D: Floats  #: (4, rows)


def _rk4() -> Method:
    A = np.zeros((5, 5))
    A[1, 0] = A[2, 1] = 0.5
    A[3, 2] = 1.0
    A[4, :4] = 1.0 / 6.0, 2.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0
    return Method(4, A, np.array([0.0, 0.5, 0.5, 1.0, 1.0]))


RK4 = _rk4()


@cache
def dop853() -> Method:
    """SciPy's coefficients."""
    from scipy.integrate import DOP853 as d

    rows = STAGES + 1 + len(d.A_EXTRA)
    A = np.zeros((rows, rows))
    A[:STAGES, :STAGES], A[STAGES, :STAGES], A[STAGES + 1 :] = d.A, d.B, d.A_EXTRA
    return Method(STAGES, A, np.concatenate([d.C, [1.0], d.C_EXTRA]))


@cache
def dop853_tableau() -> Tableau:
    """SciPy's coefficients. Those of the error cover the stages: the last ones, for the slope at the end, are zero."""
    from scipy.integrate import DOP853 as d

    return Tableau(*map(np.ascontiguousarray, (d.E3[:STAGES], d.E5[:STAGES], d.D)))


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
