"""Events: a function of the state that crosses zero, and what then happens. Where it does so is found by crossings.py,
of several events at once by watch.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

import numpy as np

from supple.arguments import TEXT, Kind, Seconds, checked, shown
from supple.errors import SimulationError, SuppleError
from supple.simulating.state import State, checked_state, lent_to

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
    """Something that happens when a function of the state crosses zero. name: 120 bytes at most, as recordings have.

    when(state) -> a number; direction: +1 for crossings upwards, -1 downwards, 0 both. then(state), called with the
    state at the crossing, may return None to go on, a State to go on from (another q or v, even another model: an
    impact, another root), or "stop"; then="stop" stops. The instant is found as exactly as the integrator steps.

    Every crossing happens once, whatever `then` makes of the state: where it leaves `when` at zero, the event can
    happen again only after `when` has left zero. Events at one instant happen in the order in which they are given,
    each in the state that those before it left, unless that put it back to where it came from; a "stop" holds after
    all of them. Changes that a `then` makes are no crossings; nor is a run's beginning at zero.

    resolution: seconds; a quarter of dt by default. `when` is looked at so often, so that it cannot cross and stay on
    the other side for longer unnoticed. Shorter visits are found where it is smooth (see docs/runs.md). The arrays of
    a state are read-only.
    """

    name: Annotated[str, NAME]
    when: Callable[[State], float]
    direction: Literal[-1, 0, 1] = 0
    then: Callable[[State], State | str | None] | Literal["stop"] | None = None
    resolution: Seconds | None = None


@dataclass(frozen=True)
class Happened:
    """An event that took place, as a result lists it."""

    name: str
    time: float


def value_of(event: Event, state: State) -> float:
    """`when` at a state whose arrays are lent."""
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
    """What an event makes of a state whose arrays are lent, and whether the run stops there. What `then` returns is
    checked as a run's beginning is."""
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
        q, v = checked_state(got.model, got.q, got.v)
    except SuppleError as e:
        raise SimulationError(
            f"event {event.name!r}: `then` returned a state that cannot be, at time {state.time:.6g} s: {e}", state.time
        ) from e
    return State(state.time, q, v, got.model), False
