"""Where within a step an event's function crosses zero.

A step is sampled in windows of PARTS equal parts, each no longer than the event's resolution, through the step's
interpolant. A change of sign between two samples ("looks") is a crossing. Otherwise, the polynomial of degree 4 through
the looks of a window tells whether the function may have reached zero and returned between two of them; if so, the
neighbourhood is refined (zeros.py). The instant is the zero of the interpolant, corrected by steps that end there.

The side of a function is remembered rather than read off its sign at an instant where it is zero up to rounding:

    side     sign of the function; 0 at zero; None if it must be measured: when a run begins or its state is changed
    zero     magnitude up to which the function counts as zero, until it has left zero

After an event the function is on the other side or, if the state was changed, on the side to which it leaves zero.
Just after an event, the distances between looks shrink by RATIO, so that short flights are detected as well as long
ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from supple.errors import SimulationError
from supple.model.model import Model
from supple.simulating.events import Event, value_of
from supple.simulating.integrators import Pair, Step
from supple.simulating.state import State, lent
from supple.simulating.zeros import PARTS, ROUNDINGS, Look, first_instant, polished, slope_at, with_dips, zero_between

Floats = NDArray[np.float64]

NEAR = 1e-12  #: what counts as zero, relative to the largest value on either side of it
NOISE = 64  #: the same, relative to the observed rounding error at a zero
JUMP = 0.1  #: a function that is further from zero at its crossing, relative to the values around it, jumps there
RATIO, CLOSEST = 0.25, 10  #: looks just after an event: the closest is RATIO ** CLOSEST of a part away
END = 1e-6  #: of a part: crossings this close to the end of a window may coincide with others just beyond
SHORT = 1.0  #: of dt: a shorter flight that ends in passing through belongs to an event that happens ever faster


@dataclass(frozen=True)
class Seen:
    """What is remembered about an event between steps."""

    side: int | None = None
    zero: float | None = None  #: None at the beginning of a run
    origin: int = 0  #: the side before it last happened and changed the state, until it is known where that led
    rebounded: bool = False  #: whether it went back to that side
    last: float | None = None  #: when it last happened
    flight: float | None = None  #: how long it then was since the previous time, if it had rebounded
    many: int = 0  #: number of times it has happened in quick succession


@dataclass(frozen=True)
class Crossing:
    """Where within a step an event happens, and the state there."""

    time: float
    state: Pair
    side: int  #: before
    zero: float


def resolution_of(event: Event, dt: float) -> float:
    """The largest distance between looks at an event's function."""
    return float(event.resolution or dt / PARTS)


class Looks:
    """The states within a step, each computed once for all events."""

    def __init__(self, model: Model, step: Step) -> None:
        self._model, self.step = model, step
        self._states: dict[float, State] = {}

    def at(self, time: float) -> State:
        """By the interpolant."""
        if time not in self._states:
            self._states[time] = self._state(time, self.step.at(time))
        return self._states[time]

    def exactly(self, time: float) -> tuple[Pair, State]:
        pair = self.step.exactly(time)
        return pair, self._state(time, pair)

    def _state(self, time: float, pair: Pair) -> State:
        return State(time, lent(pair[0]), lent(pair[1]), self._model)


class Track:
    """One event's function through one step, up to its first crossing in the event's direction."""

    def __init__(self, event: Event, looks: Looks, seen: Seen, dt: float) -> None:
        self._event, self._looks, self._dt = event, looks, dt
        self._turns = [(looks.step.begin, seen)]
        self.crossing: Crossing | None = None
        self._anchor: Look = (0.0, 0.0)  #: the last look that counts
        self._end = (0.0, 0.0)  #: the function at the last two looks

    def seen(self, until: float) -> Seen:
        """What is to be remembered at an instant of the step, not after the crossing."""
        return next(seen for time, seen in reversed(self._turns) if time <= until)

    def follow(self, latest: float) -> None:
        """Search for the crossing, except in windows that begin later than `latest` by more than rounding."""
        step, resolution = self._looks.step, resolution_of(self._event, self._dt)
        windows = max(1, ceil((step.end - step.begin) / (PARTS * resolution) * (1 - 1e-9)))
        part = (step.end - step.begin) / (PARTS * windows)
        begin, w = step.begin, self._value(step.begin)
        for window in range(windows):
            if begin - latest > END * part:
                return
            end = step.end if window == windows - 1 else step.begin + (window + 1) * PARTS * part
            t = [*(begin + k * part for k in range(PARTS)), end]
            values = [w, *map(self._value, t[1:])]
            for look in self._begin(t, values) if window == 0 else with_dips(self._value, t, values):
                self._pass(*look)
                if self.crossing is not None:
                    return
            begin, w = end, values[-1]
            self._end = values[-2], values[-1]

    def coming(self) -> Crossing | None:
        """The crossing that the end of the step misses by no more than rounding."""
        (before, w), side, end = self._end, self._turns[-1][1].side or 0, self._looks.step.end
        if self._event.direction not in (0, -side) or not 0.0 < side * w < JUMP * side * before:
            return None
        zero = self._rounding(end, 0.0)
        return Crossing(end, self._looks.step.last, side, zero) if abs(w) <= zero else None

    def _value(self, time: float) -> float:
        return value_of(self._event, self._looks.at(time))

    def _begin(self, t: list[float], w: list[float]) -> Iterator[Look]:
        """The first window: measures the side if it is unknown, and samples closely if it is zero."""
        seen = self._turns[0][1]
        zero = NEAR * abs(w[1]) if seen.zero is None else seen.zero
        if seen.side is None:
            side = 0 if abs(w[0]) <= zero else int(np.sign(w[0]))
            self._turn(t[0], replace(seen, side=side, zero=0.0 if side else zero))
            if side:
                self._left(side, jumped=True)
        self._anchor = t[0], w[0]
        seen = self._turns[-1][1]
        if seen.side and not seen.zero:
            yield from with_dips(self._value, t, w)
            return
        yield t[0], w[0]
        closest = ROUNDINGS * np.spacing(abs(t[0]))
        for k in range(CLOSEST, 0, -1):
            away = (t[1] - t[0]) * RATIO**k
            if away >= closest:
                yield t[0] + away, self._value(t[0] + away)
        yield from with_dips(self._value, t, w, skip=1)

    def _turn(self, time: float, seen: Seen) -> None:
        self._turns.append((time, seen))

    def _pass(self, time: float, w: float) -> None:
        """One look further."""
        seen = self._turns[-1][1]
        side, zero = seen.side or 0, seen.zero or 0.0
        reached = w == 0.0 and zero == 0.0
        if abs(w) <= zero and not reached:
            return
        now = -side if reached else int(np.sign(w))
        if side == 0:
            if now:
                self._turn(time, replace(seen, side=now, zero=0.0))
                self._left(now)
        elif now != side:
            self._cross(time, w, now)
        elif zero:
            self._turn(time, replace(seen, zero=0.0))
        self._anchor = time, w

    def _cross(self, time: float, w: float, now: int) -> None:
        root = zero_between(self._value, self._anchor, (time, w))
        crossing = self._located(root, self._anchor, (time, w), -now)
        if self._event.direction in (0, now):
            self.crossing = crossing
        else:  # located just as exactly: another event may end the step next to it
            self._turn(crossing.time, replace(self._turns[-1][1], side=now, zero=crossing.zero))

    def _located(self, root: float, last: Look, first: Look, side: int) -> Crossing:
        """A crossing between two looks, with the interpolant's zero corrected; at a jump, the instant just beyond
        it."""
        (a, w_a), (b, w_b) = last, first
        span = max(abs(w_a), abs(w_b))

        def exactly(time: float) -> tuple[float, Pair]:
            pair, state = self._looks.exactly(time)
            return value_of(self._event, state), pair

        time, w, pair = polished(exactly, root, slope_at(self._value, root, a, b), self._looks.step, b - a)
        there = abs(w_a) if side * w > 0.0 else abs(w_b)  # on its own side: the other may be much further from zero
        if abs(w) > max(JUMP * there, NEAR * span):
            time = first_instant(lambda t: side * exactly(t)[0] <= 0.0, a, b)
            w, pair = exactly(time)
        least = min(NEAR * span, JUMP * abs(w_b)) if w_b else NEAR * span  # what proves the crossing is not zero
        return Crossing(time, pair, side, min(max(least, self._rounding(time, w)), JUMP * span))

    def _rounding(self, time: float, w: float) -> float:
        """What counts as zero at a crossing, given the effect of rounding on time and on the function."""
        here, step = self._value(time), self._looks.step
        near = [t for k in (-4, -2, 2, 4) if step.begin <= (t := time + k * np.spacing(abs(time))) <= step.end]
        return NOISE * max(abs(w), *(abs(self._value(t) - here) for t in near), 0.0)

    def _left(self, side: int, jumped: bool = False) -> None:
        """It is now known where `then` led: back, so that a flight follows, or through."""
        time, seen = self._turns[-1]
        if not seen.origin:
            return
        short = seen.flight is not None and seen.flight < SHORT * self._dt
        if side != seen.origin and short and not jumped:
            raise SimulationError(
                f"event {self._event.name!r} happens ever faster: the last two were {seen.flight:.3g} s apart, and "
                f"after {seen.last:.9g} s they cannot be distinguished any more; let `then` return 'stop', or a model "
                "that holds the body once it is slow, or give the body a shape and use simulate(..., contacts=...), by "
                "which it comes to rest; if it should pass through, use a smaller dt",
                seen.last,
            )
        self._turns[-1] = time, replace(seen, origin=0, rebounded=side == seen.origin)
