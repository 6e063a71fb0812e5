"""Events: a function of the state crosses zero, and something happens. The instant is located by crossings.py, for
several events at once by watch.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

import numpy as np

from supple.arguments import TEXT, Kind, Seconds, checked, shown
from supple.errors import SimulationError, SuppleError, quoted, short
from supple.integrating.closing import closed_at_first
from supple.simulating.state import State, checked_state, lent_to, name_of

STOP = "stop"
LONGEST_NAME = 1000  #: bytes of UTF-8


def _name(value: Any) -> str:
    name: str = TEXT.form(value)
    if not 0 < len(name.encode()) <= LONGEST_NAME:
        raise ValueError
    return name


NAME = Kind(f"a word or more, of {LONGEST_NAME} bytes at most", _name)


@checked
@dataclass(frozen=True)
class Event:
    """Something that happens when a function of the state crosses zero. name: 1,000 bytes at most, as in recordings.

    when(state) -> a number; direction: +1 for upward crossings, -1 for downward, 0 for both. then(state), called with
    the state at the crossing, may return None to continue, a State to continue from (another q or v, even another
    model: an impact, another root), or "stop"; then="stop" stops. The instant is located as accurately as the
    integrator steps.

    Every crossing triggers the event once, whatever `then` does to the state: if it leaves `when` at zero, the event
    can happen again only after `when` has left zero. Simultaneous events happen in the order in which they are given,
    each in the state left by those before it, unless these put its function back on the side it came from; a "stop"
    takes effect after all of them. Changes made by a `then` are not crossings; nor is a run that begins at zero.

    resolution: seconds; a quarter of dt by default. `when` is sampled at this interval, so that it cannot cross and
    stay on the other side for longer unnoticed. Shorter visits are found where it is smooth (see docs/runs.md). The
    arrays of a state are read-only.
    """

    name: Annotated[str, NAME]
    when: Callable[[State], float]
    direction: Literal[-1, 0, 1] = 0
    then: Callable[[State], State | str | None] | Literal["stop"] | None = None
    resolution: Seconds | None = None

    def __repr__(self) -> str:
        way = {-1: " downwards", 0: "", 1: " upwards"}[self.direction]
        then = "" if self.then is None else f", then {'stop' if self.then == 'stop' else short(name_of(self.then))}"
        return f"<Event {quoted(self.name)}: when {short(name_of(self.when))} crosses zero{way}{then}>"


@dataclass(frozen=True)
class Happened:
    """An event that took place, as listed in a result."""

    name: str
    time: float

    def __repr__(self) -> str:
        return f"<{quoted(self.name)} at {self.time:.6g} s>"


def value_of(event: Event, state: State) -> float:
    """`when` at a state whose arrays are passed read-only."""
    got = lent_to("event", event, event.when, state.time, state)
    try:
        x = float(got) if isinstance(got, float) or np.ndim(got) == 0 else float(np.asarray(got).item())
    except (TypeError, ValueError):
        raise SimulationError(
            f"event {event.name!r}: `when` must return a number; at time {state.time:.6g} s it returned {shown(got)}",
            state.time,
        ) from None
    if not isfinite(x):
        raise SimulationError(f"event {event.name!r}: `when` gave {x} at time {state.time:.6g} s", state.time)
    return x


def outcome(event: Event, state: State) -> tuple[State, bool]:
    """The state after an event (its arrays are passed read-only), and whether the run stops there. What `then` returns
    is checked like the initial state of a run."""
    if event.then is None or event.then == STOP:
        return state, event.then == STOP
    got: Any = lent_to("event", event, event.then, state.time, state)  # type: ignore[arg-type]
    if got is None:
        return state, False
    if isinstance(got, str) and got == STOP:
        return state, True
    if not isinstance(got, State):
        what = type(got).__name__
        raise SimulationError(
            f"event {event.name!r}: `then` must return None, a State or 'stop', not {what}", state.time
        )
    try:
        q, v = closed_at_first(got.model, *checked_state(got.model, got.q, got.v))
    except SuppleError as e:
        raise SimulationError(
            f"event {event.name!r}: `then` returned a state that cannot be, at time {state.time:.6g} s: {e}", state.time
        ) from e
    return State(state.time, q, v, got.model), False
