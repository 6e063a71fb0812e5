"""Events: a function of the state that crosses zero, the instant at which it does, and what then happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from supple.errors import SimulationError, StateError
from supple.model.model import Model
from supple.simulating.integrators import Pair, Step
from supple.simulating.state import State

STOP = "stop"
JUST_AFTER = 1e-6  #: of a step: where an event that has just happened is looked at first
POLISH = 4  #: corrections of the instant by steps that end there
TOO_MANY = 1000  #: events at one instant


@dataclass(frozen=True)
class Event:
    """Something that happens when a function of the state crosses zero.

    when(state) -> a number; direction: +1 for crossings upwards, -1 downwards, 0 both. then(state), called with the
    state at the crossing, may return None to go on, a State to go on from (another q or v, even another model: an
    impact, another root), or "stop"; then="stop" stops. The instant is found as exactly as the integrator steps.
    """

    name: str
    when: Callable[[State], float]
    direction: Literal[-1, 0, 1] = 0
    then: Callable[[State], State | str | None] | Literal["stop"] | None = None

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise StateError(f"event {self.name!r}: direction must be -1, 0 or 1, not {self.direction!r}")
        if not callable(self.when) or not (self.then in (None, STOP) or callable(self.then)):
            raise StateError(f"event {self.name!r}: `when` and `then` must be functions of a State (or then='stop')")


@dataclass(frozen=True)
class Happened:
    """An event that took place, as a result lists it."""

    name: str
    time: float


@dataclass(frozen=True)
class Fresh:
    """The event at which a step begins: on which side its function came from, and whether the state was changed."""

    name: str
    side: float
    changed: bool


@dataclass(frozen=True)
class Crossing:
    """Where within a step an event happens, and the state there."""

    event: Event
    time: float
    state: Pair
    side: float  #: the sign before


class Watch:
    """Looks for events in step after step."""

    def __init__(self, events: Sequence[Event]) -> None:
        for event in events:
            if not isinstance(event, Event):
                raise StateError(f"events must be supple.Event objects, not {event!r}")
        names = [e.name for e in events]
        if len(set(names)) != len(names):
            raise StateError(f"events must have names of their own: {', '.join(map(repr, names))}")
        self.events = tuple(events)
        self._at, self._count = -np.inf, 0

    def first(self, model: Model, step: Step, fresh: Fresh | None) -> Crossing | None:
        """The earliest crossing within a step, which may begin with one."""
        best: Crossing | None = None
        for event in self.events:
            found = _find(model, event, step, fresh if fresh is not None and fresh.name == event.name else None)
            if found is not None and (best is None or found.time < best.time):
                best = found
        return best

    def note(self, time: float, name: str) -> None:
        """Refuse an event that keeps happening while time stands still."""
        self._count = self._count + 1 if time - self._at <= 1e-12 * max(1.0, abs(time)) else 0
        self._at = time
        if self._count > TOO_MANY:
            raise SimulationError(
                f"event {name!r} happens again and again at time {time:.9g} s, and time does not go on; let `then` "
                "move the state away from the crossing, or stop there",
                time,
            )


def _find(model: Model, event: Event, step: Step, fresh: Fresh | None) -> Crossing | None:
    """The first crossing of one event.

    A step that begins with it begins at zero, give or take rounding. Which side the function is then on is seen a
    little later; unless the event put the state back on the side that it came from, and so may happen again.
    """

    def value(time: float, exact: bool = False) -> float:
        q, v = step.exactly(time) if exact else step.at(time)
        return _value(event, State(time, q, v, model))

    length = step.end - step.begin
    marks = [step.begin + length * i / step.looks for i in range(step.looks)] + [step.end]
    before = value(marks[0])
    if fresh is not None and not (fresh.changed and before * fresh.side > 0.0):
        marks[0] = step.begin + max(JUST_AFTER * length, 4 * np.spacing(step.begin))
        if marks[0] >= marks[1]:
            return None  # a step of a few roundings
        before = value(marks[0])
    for a, b in pairwise(marks):
        after = value(b)
        if _crosses(before, after, event.direction):
            time = _root(value, a, b, after)
            return Crossing(event, time, step.exactly(time), float(np.sign(before)))
        before = after
    return None


def _value(event: Event, state: State) -> float:
    x = float(event.when(state))
    if not np.isfinite(x):
        raise SimulationError(f"event {event.name!r}: `when` gave {x} at time {state.time:.6g} s", state.time)
    return x


def _crosses(before: float, after: float, direction: int) -> bool:
    up, down = before < 0.0 <= after, before > 0.0 >= after
    return (up and direction >= 0) or (down and direction <= 0)


def _root(value: Callable[..., float], a: float, b: float, fb: float) -> float:
    """Where value crosses zero in [a, b]: Brent's method on the step's inside, then secants on steps that end there."""
    from scipy.optimize import brentq

    if fb == 0.0:
        return b
    root = float(brentq(value, a, b, xtol=1e-16, rtol=4 * np.finfo(float).eps, maxiter=200))
    near, far = max(a, root - 1e-4 * (b - a)), min(b, root + 1e-4 * (b - a))
    slope = (value(far) - value(near)) / (far - near) if far > near else 0.0
    for _ in range(POLISH if slope else 0):
        move = -value(root, exact=True) / slope
        if abs(move) <= 2 * np.spacing(root) or not a <= root + move <= b:
            break
        root += move
    return root


def outcome(event: Event, state: State) -> tuple[State, bool]:
    """What an event makes of a state, and whether the run stops there."""
    got: Any = STOP if event.then == STOP else None if event.then is None else event.then(state)  # type: ignore[operator]
    if got is None:
        return state, False
    if isinstance(got, str) and got == STOP:
        return state, True
    if not isinstance(got, State):
        raise SimulationError(
            f"event {event.name!r}: `then` must return None, a State or 'stop', not {type(got).__name__}", state.time
        )
    return got.replace(time=state.time), False
