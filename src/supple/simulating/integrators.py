"""Integrators: one step of a body's motion, and where it is at any time within that step.

    "euler"          explicit Euler, order 1:      q moves with v, v with a
    "semi-implicit"  symplectic Euler, order 1:    v moves first, q with the new v
    "rk4"            the classical Runge-Kutta method, order 4, on the manifold
    "dop853"         Dormand and Prince's method of order 8 (DOP853), on the manifold, whose steps are as long as the
                     tolerances allow; between them an interpolant of order 7

Runge-Kutta methods work in a chart about the step's beginning (integrating/chart.py), so quaternions stay of unit
length and the order is that of the method. Inside a step there is an interpolant: of order 7 for the adaptive method,
of order 3 for the classical one [Hairer, Norsett and Wanner 1993, II.6]; Euler's methods are their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from supple.errors import SimulationError, StateError
from supple.integrating.runge_kutta import RK4_NODES, RK4_WEIGHTS, Tableau, blended, dop853, growth
from supple.simulating.dynamics import Dynamics

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  #: q and v
Inside = Callable[[float], Pair]  #: of a fraction of a step, from 0 at its beginning to 1 at its end


class Step(Protocol):
    """A step that was taken."""

    begin: float
    end: float

    @property
    def last(self) -> Pair:
        """q and v at its end."""

    def at(self, time: float) -> Pair:
        """q and v within it, by its interpolant."""

    def exactly(self, time: float) -> Pair:
        """The same by a separate step that ends there: as accurate as the integrator."""


def euler(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Inside:
    a = f.acceleration(t, q, v)
    return lambda s: (f.chart.move(q, v, s * h), v + (s * h) * a)


def semi_implicit(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Inside:
    a = f.acceleration(t, q, v)

    def inside(s: float) -> Pair:
        u = v + (s * h) * a
        return f.chart.move(q, u, s * h), u

    return inside


def rk4(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Inside:
    n = f.model.nv
    x, qs, vs = np.zeros(n), q, v
    K: list[Floats] = []  # slopes of x and v
    for c, after in zip(RK4_NODES, (*RK4_NODES[1:], None)):
        slope, a = f.chart.rate(x, qs, vs), f.acceleration(t + c * h, qs, vs)
        K.append(np.concatenate([slope, a]))
        if after is not None:
            x, vs = (after * h) * slope, v + (after * h) * a
            qs = f.chart.point(q, x)
    middle = K[1] + K[2]

    def inside(s: float) -> Pair:
        b1, b2, b4 = RK4_END if s == 1.0 else _rk4_inside(s)
        y = h * (b1 * K[0] + b2 * middle + b4 * K[3])
        return f.chart.point(q, y[:n]), v + y[n:]

    return inside


RK4_END = (RK4_WEIGHTS[0], RK4_WEIGHTS[1], RK4_WEIGHTS[3])


def _rk4_inside(s: float) -> tuple[float, float, float]:
    """The weights of the first, the two middle and the last slope for an interpolant of order 3."""
    return s - s * s * (1.5 - s * 2 / 3), s * s * (1.0 - s * 2 / 3), s * s * (s * 2 / 3 - 0.5)


Take = Callable[[Dynamics, float, Floats, Floats, float], Inside]
FIXED: dict[str, Take] = {"euler": euler, "semi-implicit": semi_implicit, "rk4": rk4}


class FixedStep:
    """A step of a given length h, by one of FIXED; its end, as on the grid, may differ from begin + h by rounding."""

    def __init__(self, take: Take, f: Dynamics, begin: float, end: float, first: Pair, h: float) -> None:
        self._take, self._f, self._first, self._h = take, f, first, h
        self.begin, self.end = begin, end
        self._inside = take(f, begin, *first, h)
        self.last: Pair = self._inside(1.0)

    def at(self, time: float) -> Pair:
        return self.last if time >= self.end else self._inside((time - self.begin) / self._h)

    def exactly(self, time: float) -> Pair:
        if time >= self.end:
            return self.last
        return self._take(self._f, self.begin, *self._first, time - self.begin)(1.0)


# --- adaptive -------------------------------------------------------------------------------------------------------

LARGEST_TURN = 2.0  #: radians that a joint may turn in a step: the chart is valid up to 2 pi


class AdaptiveStep:
    """One accepted step of DOP853 from (t, q, v), in the chart about q; y = (x, v)."""

    def __init__(self, f: Dynamics, t: float, q: Floats, v: Floats, h: float, K: Floats, y1: Floats) -> None:
        self._f, self._q, self._K, self._h = f, q, K, h
        self._n = len(v)
        self._y0, self._y1 = np.concatenate([np.zeros(self._n), v]), y1
        self.begin, self.end = t, t + h
        self.last: Pair = (f.chart.point(q, y1[: self._n]), y1[self._n :].copy())
        self._F: Floats | None = None

    def at(self, time: float) -> Pair:
        """By the interpolant of order 7, whose four additional slopes are computed on first use."""
        if time >= self.end:
            return self.last
        if self._F is None:
            self._F = self._interpolant()
        s = (time - self.begin) / self._h
        y = np.zeros_like(self._y0)
        for i, row in enumerate(reversed(self._F)):
            y = (y + row) * (s if i % 2 == 0 else 1.0 - s)
        y += self._y0
        return self._f.chart.point(self._q, y[: self._n]), y[self._n :]

    def exactly(self, time: float) -> Pair:
        if time >= self.end:
            return self.last
        h = time - self.begin
        y, _ = stages(self._f, self.begin, self._q, self._y0, h, dop853())
        return self._f.chart.point(self._q, y[: self._n]), y[self._n :].copy()

    def _interpolant(self) -> Floats:
        """F of y(s) = y0 + s (F0 + (1 - s) (F1 + s (F2 + ...)))  [Hairer, Norsett and Wanner 1993, II.6]."""
        T, h, K = dop853(), self._h, self._K
        s = len(T.C)
        more = np.empty((s + 1 + len(T.C_more), len(self._y0)))
        more[:s] = K
        more[s] = slope(self._f, self.end, self._q, self._y1)
        for i, (a, c) in enumerate(zip(T.A_more, T.C_more), start=s + 1):
            more[i] = slope(self._f, self.begin + c * h, self._q, self._y0 + h * (a[:i] @ more[:i]))
        dy = self._y1 - self._y0
        F = np.empty((7, len(dy)))
        F[0] = dy
        F[1] = h * K[0] - dy
        F[2] = 2.0 * dy - h * (more[s] + K[0])
        F[3:] = h * (T.D @ more)
        return F


def slope(f: Dynamics, t: float, q: Floats, y: Floats) -> Floats:
    """dy/dt."""
    x, v = y[: f.model.nv], y[f.model.nv :]
    at = f.chart.point(q, x)
    return np.concatenate([f.chart.rate(x, at, v), f.acceleration(t, at, v)])


def stages(f: Dynamics, t: float, q: Floats, y: Floats, h: float, T: Tableau) -> tuple[Floats, Floats]:
    """y at the end of a step, and the slopes of the stages."""
    K = np.empty((len(T.C), len(y)))
    for i, (a, c) in enumerate(zip(T.A, T.C)):
        K[i] = slope(f, t + c * h, q, y + h * (a[:i] @ K[:i]) if i else y)
    return y + h * (T.B @ K), K


class Adaptive:
    """Chooses the step length; `h` is the length to try next, and its only state."""

    def __init__(self, rtol: float, atol: float, h: float, longest: float) -> None:
        for name, value in (("rtol", rtol), ("atol", atol), ("dt", h)):
            if not (np.isfinite(value) and value > 0):
                raise StateError(f"{name} must be a positive number, not {value!r}")
        self.rtol, self.atol, self.h, self.longest = max(rtol, 100 * np.finfo(float).eps), atol, h, longest

    def step(self, f: Dynamics, t: float, q: Floats, v: Floats, until: float) -> AdaptiveStep:
        """The next step, which does not go past `until`."""
        T, n = dop853(), f.model.nv
        y0 = np.concatenate([np.zeros(n), v])
        h, rejected, cause = min(self.h, self.longest), False, None
        while True:
            if t + h * (1 + 1e-12) >= until:
                h = until - t
            if h <= 10 * np.spacing(t) and t + h < until:
                if cause is not None:
                    raise cause
                joint = f.model.joint_names[int(f.model.dof_body[int(np.argmax(np.abs(v)))])]
                raise SimulationError(
                    f"at time {t:.6g} s the step becomes too short to go on: the forces are too stiff, or break off, "
                    f"perhaps at joint {joint!r}; write such a break as an event",
                    t,
                    joint,
                )
            try:
                y, K = stages(f, t, q, y0, h, T)
                error = self._error(K, h, v, y[n:])
                far = _turns(f) and float(np.abs(y[:n]).max(initial=0.0)) > LARGEST_TURN
            except SimulationError as e:  # so far off that nothing can be computed there: try a shorter step
                error, far, cause = np.inf, False, e
            if error < 1.0 and not far:
                cut = h < min(self.h, self.longest) and not rejected  # only to end at `until`: the planned length stays
                self.h = self.h if cut else h * growth(error, rejected)
                return AdaptiveStep(f, t, q, v, h, K, y)
            rejected = True
            h *= 0.5 if far else growth(error, rejected)

    def _error(self, K: Floats, h: float, v0: Floats, v1: Floats) -> float:
        """Error of the whole step, 1 being just acceptable: DOP853's blend of orders 5 and 3. Coordinates count
        absolutely (rtol of a radian or a metre), velocities relative to their magnitude."""
        T = dop853()
        scale = self.atol + self.rtol * np.concatenate([np.ones(len(v0)), np.maximum(np.abs(v0), np.abs(v1))])
        five, three = (float(np.sum(((E @ K) / scale) ** 2)) for E in (T.E5, T.E3))
        error = blended(five, three, h, len(scale))
        return error if np.isfinite(error) else np.inf


def _turns(f: Dynamics) -> bool:
    """Whether the model has joints with a nontrivial chart."""
    return f.model.nq != f.model.nv
