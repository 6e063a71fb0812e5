"""Events of a run: which come first in a step, what they do to the state, and what is remembered about them.

Events whose functions are all at zero (Crossing.zero) at the earliest of their instants happen there together, in the
order in which they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from math import inf
from typing import Any

from supple.errors import SimulationError, StateError
from supple.model.model import Model
from supple.simulating.crossings import END, Crossing, Looks, Seen, Track, resolution_of
from supple.simulating.events import Event, Happened, outcome, value_of
from supple.simulating.integrators import Pair, Step
from supple.simulating.state import State, lent

QUICK = 1e-4  #: of dt: events no further apart than this are in quick succession,
TOO_MANY = 300  #: and this many such events are an error
MOST_LOOKS = 100_000  #: evaluations of an event's function in one step


@dataclass(frozen=True)
class Found:
    """What was found in a step: the first crossings, by event, all at the same time; empty if there are none."""

    tracks: Sequence[Track]
    crossings: dict[int, Crossing]
    time: float
    state: Pair

    def seen(self, until: float) -> tuple[Seen, ...]:
        """What is to be remembered at an instant not after them."""
        return tuple(track.seen(until) for track in self.tracks)


@dataclass(frozen=True)
class Outcome:
    """The result of simultaneous events in a state."""

    state: State
    changed: bool
    over: str | None  #: the event that stopped the run
    happened: list[Happened]
    seen: tuple[Seen, ...]


class Watch:
    """Looks for events in step after step of a run whose states are dt apart."""

    def __init__(self, events: Iterable[Event] | Event, dt: float) -> None:
        self.events, self._dt = _checked(events), dt
        for event in self.events:
            if dt > MOST_LOOKS * resolution_of(event, dt):
                raise StateError(
                    f"event {event.name!r}: resolution {event.resolution:g} s is more than {MOST_LOOKS:,} looks in a "
                    f"step of {dt:g} s; take one of at least {dt / MOST_LOOKS:.3g} s, or a smaller dt"
                )

    @property
    def longest(self) -> float:
        """The longest step in which no event is evaluated more than MOST_LOOKS times."""
        return min((MOST_LOOKS * resolution_of(e, self._dt) for e in self.events), default=inf)

    def search(self, model: Model, step: Step, seen: tuple[Seen, ...], until: float) -> Found:
        """The first crossings within a step. seen: what is remembered at its beginning (empty at a run's beginning).
        Crossings after `until` need not be found."""
        if not self.events:
            return Found((), {}, step.end, step.last)
        looks, first = Looks(model, step), min(step.end, until)
        tracks = [Track(e, looks, s, self._dt) for e, s in zip(self.events, seen or (Seen(),) * len(self.events))]
        for track in tracks:
            track.follow(first)
            if track.crossing is not None:
                first = min(first, track.crossing.time)
        crossings = {i: t.crossing for i, t in enumerate(tracks) if t.crossing is not None}
        if not crossings:
            return Found(tracks, {}, step.end, step.last)
        if first >= step.end - END * (step.end - step.begin):
            late = {i: t.coming() for i, t in enumerate(tracks) if t.crossing is None}
            crossings |= {i: c for i, c in late.items() if c is not None}
        return self._together(model, tracks, crossings)

    def _together(self, model: Model, tracks: Sequence[Track], crossings: dict[int, Crossing]) -> Found:
        """The first crossings: those that are at zero at the latest instant at which all before it still are."""
        first = min(c.time for c in crossings.values())
        near = {i: c for i, c in sorted(crossings.items()) if c.time <= first + END * self._dt}
        for one in sorted(near.values(), key=lambda c: -c.time):
            state = State(one.time, lent(one.state[0]), lent(one.state[1]), model)
            there = {
                i: c for i, c in near.items() if c.time == one.time or abs(value_of(self.events[i], state)) <= c.zero
            }
            if all(i in there for i, c in near.items() if c.time < one.time):
                return Found(tracks, there, one.time, one.state)
        raise AssertionError

    def happen(self, found: Found, state: State) -> Outcome:
        """Apply the events that were found to a state, one after another."""
        now = replace(state, q=lent(state.q), v=lent(state.v))
        seen, changed, over = list(found.seen(state.time)), False, None
        happened: list[Happened] = []
        for i, crossing in found.crossings.items():
            event = self.events[i]
            if changed and crossing.side * value_of(event, now) > crossing.zero:
                continue  # an earlier one put it back
            seen[i] = self._counted(event, seen[i], crossing, state.time)
            after, stop = outcome(event, now)
            happened.append(Happened(event.name, state.time))
            over = event.name if stop and over is None else over
            if after is not now:
                changed = True
                now = State(after.time, lent(after.q), lent(after.v), after.model)
                seen[i] = replace(seen[i], origin=crossing.side)
        if changed:
            seen = [replace(s, side=None, zero=s.zero or 0.0) for s in seen]
        return Outcome(now, changed, over, happened, tuple(seen))

    def _counted(self, event: Event, seen: Seen, crossing: Crossing, time: float) -> Seen:
        """What is remembered about an event that happens."""
        since = None if seen.last is None else time - seen.last
        many = seen.many + 1 if since is not None and since < QUICK * self._dt else 0
        if many >= TOO_MANY:
            raise SimulationError(
                f"event {event.name!r} happens again and again: {many} times until {time:.9g} s, never more than "
                f"{QUICK * self._dt:.3g} s apart; let `then` move the state further from the crossing, or hold the "
                "body by another model, or return 'stop'; if there are to be so many, take a smaller dt",
                time,
            )
        flight = since if seen.rebounded else None
        return Seen(-crossing.side, crossing.zero, 0, False, time, flight, many)


def _checked(events: Any) -> tuple[Event, ...]:
    """One event, or those of any iterable."""
    out = (events,) if isinstance(events, Event) else tuple(events)
    names = [e.name for e in out]
    if len(set(names)) != len(names):
        raise StateError(f"events must have names of their own: {', '.join(map(repr, names))}")
    return out


def saved(seen: tuple[Seen, ...]) -> list[Any]:
    """What is remembered, as JSON."""
    return [list(astuple(s)) for s in seen]


def restored(rows: list[Any]) -> tuple[Seen, ...]:
    return tuple(Seen(*row) for row in rows)
