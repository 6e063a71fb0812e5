"""Integrators: one step of a body's motion, and where it is at any time within that step.

    "euler"          explicit Euler, order 1:      q moves with v, v with a
    "semi-implicit"  symplectic Euler, order 1:    v moves first, q with the new v
    "rk4"            the classical Runge-Kutta method, order 4, on the manifold
    "implicit"       linearly implicit in the forces of joints, order 2 (integrating/implicit.py), for stiff ones
    "dop853"         Dormand and Prince's method of order 8 (DOP853), on the manifold, whose steps are as long as the
                     tolerances allow; between them an interpolant of order 7

Runge-Kutta methods work in a chart about the step's beginning (integrating/chart.py), so quaternions stay of unit
length and the order is that of the method. Pushes that start or stop do so between steps: those that act in the middle
of a step act at all its stages. An explicit step of fixed length in which dry friction jumps is taken by the implicit
integrator instead (integrating/friction.py). Inside a step there is an interpolant: of order 7 for the adaptive method,
of order 3 for the classical one [Hairer, Norsett and Wanner 1993, II.6]; the others are their own, by shorter steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from supple.contact.room import COLUMNS, FORCE, Unsolved
from supple.errors import SimulationError, StateError
from supple.integrating.divergence import WEIGHT
from supple.integrating.implicit import FIRST, SECOND, WHOLE, ImplicitRoom
from supple.integrating.runge_kutta import RK4, blended, dop853_tableau, growth
from supple.integrating.stages import StepRoom
from supple.simulating.dynamics import Dynamics
from supple.simulating.faults import ContactFaults

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  #: q and v
Inside = Callable[[float], Pair]  #: of a fraction of a step, from 0 at its beginning to 1 at its end


class Touched(NamedTuple):
    """What a step of a run with contacts leaves besides the state at its end."""

    touches: Floats  #: contacts [contact/room.py], with forces averaged over the step
    limits: Floats  #: (nv,) forces of the joints' limits, likewise
    known: Floats  #: what the next step begins with
    faults: ContactFaults


def averaged(steps: Sequence[tuple[float, Touched]]) -> tuple[Floats, ...]:
    """Contacts and limit forces over steps that follow each other, each given with its length; those of none are ()."""
    if len(steps) < 2:
        return tuple(x for _, touched in steps for x in touched[:2])
    total, rows, limits = sum(h for h, _ in steps), [], np.zeros_like(steps[0][1].limits)
    for h, touched in steps:
        touches, share = touched.touches.copy(), h / total if total > 0.0 else 1.0
        touches[:, FORCE] *= share
        limits += share * touched.limits
        rows.append(touches)
    return np.concatenate(rows), limits


class Taken(NamedTuple):
    """A step of a fixed length."""

    inside: Inside
    off: Floats | None = None  #: (nv,) how far its velocities are in doubt; None: as of an Euler step [divergence.py]
    touched: Touched | None = None  #: of runs with contacts


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

    def touched(self, time: float) -> Touched | None:
        """What that separate step leaves, in a run with contacts."""


def euler(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Taken:
    a = f.acceleration(t, q, v, t + 0.5 * h)
    if f.friction_jumps(v, v + h * a):
        return implicit(f, t, q, v, h)
    return Taken(lambda s: (f.chart.move(q, v, s * h), v + (s * h) * a))


def semi_implicit(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Taken:
    a = f.acceleration(t, q, v, t + 0.5 * h)
    if f.friction_jumps(v, v + h * a):
        return implicit(f, t, q, v, h)

    def inside(s: float) -> Pair:
        u = v + (s * h) * a
        return f.chart.move(q, u, s * h), u

    return Taken(inside)


def slopes(f: Dynamics, step: StepRoom, t: float, h: float, stages: range) -> Pair:
    """Evaluate stages of a step; returns q and v of the stage after them. Their slopes are rows of step.K."""
    C, n = step.method.C, step.nv
    for s in stages:
        q, v = step.stage(s, h)
        step.K[s, n:] = f.acceleration(t + C[s] * h, q, v, t + 0.5 * h)
    return step.stage(stages.stop, h)


def rk4(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Taken:
    n, step = f.model.nv, f.steps["rk4"]
    step.begin(q, v)
    last = slopes(f, step, t, h, range(RK4.stages))
    if f.friction_jumps(*(v + h * step.method.A[: RK4.stages + 1] @ step.K[:, n:])):
        return implicit(f, t, q, v, h)
    K, middle = step.K[[0, 3]], step.K[1] + step.K[2]

    def inside(s: float) -> Pair:
        if s == 1.0:
            return last
        b1, b2, b4 = _rk4_inside(s)
        y = h * (b1 * K[0] + b2 * middle + b4 * K[1])
        return f.chart.point(q, y[:n]), v + y[n:]

    return Taken(inside, h * (K[1] - K[0])[n:])


def _rk4_inside(s: float) -> tuple[float, float, float]:
    """The weights of the first, the two middle and the last slope for an interpolant of order 3."""
    return s - s * s * (1.5 - s * 2 / 3), s * s * (1.0 - s * 2 / 3), s * s * (s * 2 / 3 - 0.5)


def implicit(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Taken:
    """Forces other than the law of joints are evaluated at the beginning and in the middle."""
    room = f.steps["implicit"]
    assert isinstance(room, ImplicitRoom)
    room.begin(q, v)
    forces = f.forces.apart_from_law(t, q, v, t + 0.5 * h)
    f.require(room.part(WHOLE, h, *forces) and room.part(FIRST, h, *forces), t, q, v)
    forces = f.forces.apart_from_law(t + 0.5 * h, room.q.copy(), room.v.copy(), t + 0.5 * h)
    f.require(room.part(SECOND, h, *forces), t + 0.5 * h, q, v)
    last, off = (room.q.copy(), room.v.copy()), WEIGHT * room.off
    return Taken(lambda s: last if s == 1.0 else implicit(f, t, q, v, s * h).inside(1.0), off)


def touching(take: Take, known: Floats) -> Take:
    """Steps of bodies that touch; those in which nothing does, by another integrator. Forces are those of the middle of
    a step, where they act. known: what the step before left."""

    def taken(f: Dynamics, t: float, q: Floats, v: Floats, h: float) -> Taken:
        room = f.room
        room.known = known
        at = (q, v) if f.forces.at_joints_only else room.halfway(q, v, h)
        forces = f.forces.apart_from_law(t + 0.5 * h, *at, t + 0.5 * h)

        def touches(beyond: float | None = None) -> bool:
            try:
                return room.take(q, v, h, *forces, beyond)
            except ArithmeticError as e:
                f.require(isinstance(e, Unsolved), t, q, v)
                raise SimulationError(f"at time {t:.6g} s: {e}", t) from e

        if not touches():
            flown = take(f, t, q, v, h)
            beyond = room.strayed(*flown.inside(1.0), h)
            if beyond is None:
                nothing = Touched(np.zeros((0, COLUMNS)), np.zeros_like(v), room.account, ContactFaults())
                return flown._replace(touched=nothing)
            touches(beyond)
        last = room.q.copy(), room.v.copy()
        touched = Touched(room.rows(), room.limit_forces(), room.known, ContactFaults.of(room.landing))

        def inside(s: float) -> Pair:
            return last if s == 1.0 else taken(f, t, q, v, s * h).inside(1.0)

        return Taken(inside, np.zeros_like(v), touched)

    return taken


Take = Callable[[Dynamics, float, Floats, Floats, float], Taken]
FIXED: dict[str, Take] = {"euler": euler, "semi-implicit": semi_implicit, "rk4": rk4, "implicit": implicit}


class FixedStep:
    """A step of a given length h, by one of FIXED; its end, as on the grid, may differ from begin + h by rounding."""

    def __init__(self, take: Take, f: Dynamics, begin: float, end: float, first: Pair, h: float) -> None:
        self._take, self._f, self._first, self._h = take, f, first, h
        self.begin, self.end = begin, end
        self._inside, self.off, self._touched = take(f, begin, *first, h)
        self.last: Pair = f.closed(end, self._inside(1.0))

    def at(self, time: float) -> Pair:
        if time >= self.end:
            return self.last
        return self._f.closed(time, self._inside((time - self.begin) / self._h))

    def exactly(self, time: float) -> Pair:
        if time >= self.end:
            return self.last
        return self._f.closed(time, self._until(time).inside(1.0))

    def touched(self, time: float) -> Touched | None:
        return self._touched if self._touched is None or time >= self.end else self._until(time).touched

    def _until(self, time: float) -> Taken:
        return self._take(self._f, self.begin, *self._first, time - self.begin)


# --- adaptive -------------------------------------------------------------------------------------------------------

LARGEST_TURN = 2.0  #: radians that a joint may turn in a step: the chart is valid up to 2 pi


class AdaptiveStep:
    """One accepted step of DOP853 from (t, q, v), in the chart about q; y = (x, v). `step` is at its end."""

    def __init__(self, f: Dynamics, t: float, h: float, end: float, step: StepRoom, last: Pair) -> None:
        self._f, self._h, self._step = f, h, step
        self._q, self._v, self._K = step.q0.copy(), step.v0.copy(), step.K[: step.method.stages].copy()
        self._dy = np.concatenate([step.x, last[1] - self._v])
        self.begin, self.end, self.last = t, end, f.closed(end, last)
        self._F: Floats | None = None

    def at(self, time: float) -> Pair:
        """By the interpolant of order 7, whose four additional slopes are computed on first use."""
        if time >= self.end:
            return self.last
        if self._F is None:
            self._F = self._interpolant()
        s, n = (time - self.begin) / self._h, len(self._v)
        y = np.zeros_like(self._dy)
        for i, row in enumerate(reversed(self._F)):
            y = (y + row) * (s if i % 2 == 0 else 1.0 - s)
        return self._f.closed(time, (self._f.chart.point(self._q, y[:n]), y[n:] + self._v))

    def exactly(self, time: float) -> Pair:
        if time >= self.end:
            return self.last
        self._step.begin(self._q, self._v)
        stages = range(self._step.method.stages)
        return self._f.closed(time, slopes(self._f, self._step, self.begin, time - self.begin, stages))

    def touched(self, time: float) -> None:
        """Steps with contact are of fixed length."""

    def _interpolant(self) -> Floats:
        """F of y(s) = y0 + s (F0 + (1 - s) (F1 + s (F2 + ...)))  [Hairer, Norsett and Wanner 1993, II.6]."""
        h, K, step, dy = self._h, self._K, self._step, self._dy
        stages, rows = step.method.stages, len(step.K)
        step.begin(self._q, self._v)
        step.K[:stages] = K
        for s in range(stages, rows):
            q, v = step.stage(s, h)
            time = self.begin + step.method.C[s] * h
            step.K[s, step.nv :] = self._f.acceleration(time, q, v, self.begin + 0.5 * h)
        F = np.empty((7, len(dy)))
        F[0] = dy
        F[1] = h * K[0] - dy
        F[2] = 2.0 * dy - h * (step.K[stages] + K[0])
        F[3:] = h * (dop853_tableau().D @ step.K)
        return F


class Adaptive:
    """Chooses the step length; `h` is the length to try next, and its only state."""

    def __init__(self, rtol: float, atol: float, h: float, longest: float) -> None:
        for name, value in (("rtol", rtol), ("atol", atol), ("dt", h)):
            if not (np.isfinite(value) and value > 0):
                raise StateError(f"{name} must be a positive number, not {value!r}")
        self.rtol, self.atol, self.h, self.longest = max(rtol, 100 * np.finfo(float).eps), atol, h, longest

    def step(self, f: Dynamics, t: float, q: Floats, v: Floats, until: float) -> AdaptiveStep:
        """The next step, which does not go past `until`."""
        step = f.steps["dop853"]
        h, rejected, cause = min(self.h, self.longest), False, None
        while True:
            if t + h * (1 + 1e-12) >= until:
                h = until - t
            if h <= 10 * np.spacing(t) and t + h < until:
                if cause is not None:
                    raise cause
                joint = f.model.joint_names[int(f.model.dof_body[int(np.argmax(np.abs(v)))])]
                raise SimulationError(
                    f"at time {t:.6g} s the step becomes too short to continue: the forces are too stiff or "
                    f"discontinuous, perhaps at joint {joint!r}; make an event of a discontinuity",
                    t,
                    joint,
                )
            try:
                step.begin(q, v)
                last = slopes(f, step, t, h, range(step.method.stages))
                error = self._error(step.K[: step.method.stages], h, v, last[1])
                far = _turns(f) and float(np.abs(step.x).max(initial=0.0)) > LARGEST_TURN
            except SimulationError as e:  # so far off that nothing can be computed there: try a shorter step
                error, far, cause = np.inf, False, e
            if error < 1.0 and not far:
                cut = h < min(self.h, self.longest) and not rejected  # only to end at `until`: the planned length stays
                self.h = self.h if cut else h * growth(error, rejected)
                return AdaptiveStep(f, t, h, until if h == until - t else t + h, step, last)
            rejected = True
            h *= 0.5 if far else growth(error, rejected)

    def _error(self, K: Floats, h: float, v0: Floats, v1: Floats) -> float:
        """Error of the whole step, 1 being just acceptable: DOP853's blend of orders 5 and 3. Coordinates count
        absolutely (rtol of a radian or a metre), velocities relative to their magnitude."""
        T = dop853_tableau()
        scale = self.atol + self.rtol * np.concatenate([np.ones(len(v0)), np.maximum(np.abs(v0), np.abs(v1))])
        five, three = (float(np.sum(((E @ K) / scale) ** 2)) for E in (T.E5, T.E3))
        error = blended(five, three, h, len(scale))
        return error if np.isfinite(error) else np.inf


def _turns(f: Dynamics) -> bool:
    """Whether the model has joints with a nontrivial chart."""
    return f.model.nq != f.model.nv
