"""Drivers take a body through time, piece by piece: steps with events, and methods' own steppers; the compiled march
is in marching.py.

A driver moves a cursor. Between two pieces, the cursor is all that it needs to continue: a run that begins at a cursor
saved by another run continues bit-identically to that run.
"""

from __future__ import annotations

import time as clock
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from supple.contact.room import Unsolved
from supple.errors import SimulationError, StateError
from supple.integrating.divergence import Steadiness
from supple.model.model import Model
from supple.simulating import integrators
from supple.simulating.crossings import Seen
from supple.simulating.divergence import diverged, diverged_own, last_steady
from supple.simulating.dynamics import Dynamics, Keeping
from supple.simulating.events import Happened
from supple.simulating.faults import ContactFaults
from supple.simulating.forces import (
    Controller,
    Controls,
    Limits,
    Push,
    Spring,
    SpringBetween,
    joint_forces,
    law_rows,
)
from supple.simulating.integrators import FIXED, Adaptive, FixedStep, Step, Touched
from supple.simulating.state import State
from supple.simulating.timed_pushes import Switches, TimedPushes
from supple.simulating.watch import Found, Watch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SECONDS = 0.05  #: a piece is yielded after this time,
NUMBERS = 500_000  #: or when it has this many numbers
FOREVER = 1 << 62
ATTACH = {Spring: "spring", SpringBetween: "spring_between"}  #: methods of a stepper, which take the fields of these
MOST_HELD = 10_000  #: rough steps whose states are held back: if the run diverges, they are dropped
AT_ONCE = 1000  #: steps that a stepper takes before control returns


@dataclass
class Cursor:
    """The current position of a run."""

    model: Model
    q: Floats
    v: Floats
    time: float = 0.0
    step: int = 0  #: completed steps on the grid (adaptive: samples)
    h: float = 0.0  #: adaptive: the step length to try next
    seen: tuple[Seen, ...] = ()  #: of events
    over: str | None = None  #: the event that ended the run for good
    halt: bool = False  #: set from outside: the run stops after the current step, and may be continued later
    watched: bool = False  #: set from outside: every state that is kept is yielded at once
    checked: bool = True  #: set from outside: a run that diverges is stopped at once, not when its numbers overflow
    before: Cursor | None = None  #: at an end within a step: where that step began, on the grid or at an event
    kept: float = 0.0  #: the time of the last state that was kept
    known: Floats = field(default_factory=lambda: np.zeros((0, 4)))  #: of contacts: what the next step begins with
    faults: ContactFaults = field(default_factory=ContactFaults)  #: of contacts, so far

    def towards(self, grid: Grid) -> Cursor:
        """The cursor from which to continue to a later end: at the beginning of the step that the end fell into, so
        that the steps are those of a run that never ended there."""
        return self if self.before is None or self.time >= grid.end else self.before

    @property
    def state(self) -> State:
        return State(self.time, self.q, self.v, self.model)

    @property
    def goes_on(self) -> bool:
        return not self.halt and self.over is None

    def on(self, grid: Grid) -> bool:
        """Whether it is at an instant of a grid, rather than after an event or after an end between two instants."""
        return self.time == self.step * grid.dt


@dataclass
class Piece:
    """Consecutive states of one model."""

    model: Model
    times: Floats
    q: Floats
    v: Floats
    active: list[Ints] | None = None
    error: Floats | None = None
    happened: list[Happened] = field(default_factory=list)
    ends_segment: bool = False  #: the next piece begins at the same time with another state, possibly of another model
    touches: list[Floats] | None = None  #: of runs with contacts: rows of contact/room.py
    limits: list[Floats] | None = None  #: likewise: (nv,) forces of the joints' limits

    def state(self, i: int) -> State:
        active, error = None if self.active is None else self.active[i], None if self.error is None else self.error[i]
        return State(float(self.times[i]), self.q[i], self.v[i], self.model, active, error)


@dataclass(frozen=True)
class Grid:
    """The times of steps and samples: time k is k dt, and the last one is the end."""

    dt: float
    every: int
    end: float

    def __post_init__(self) -> None:
        if self.steps == self.whole < FOREVER:  # an end that is a multiple of dt is exactly so, to the last bit
            object.__setattr__(self, "end", self.steps * self.dt)

    @cached_property
    def steps(self) -> int:
        """Number of steps; the last one may be shorter."""
        if self.end == np.inf:
            return FOREVER
        return max(int(np.ceil(self.end / self.dt - 1e-9)), int(self.end > 0.0))

    @cached_property
    def whole(self) -> int:
        """Number of steps of full length."""
        return FOREVER if self.end == np.inf else int(np.floor(self.end / self.dt + 1e-9))

    def time(self, k: int) -> float:
        return self.end if k >= self.steps else k * self.dt

    def kept(self, k: int) -> bool:
        return k % self.every == 0 or k >= self.steps


class Stepper(Protocol):
    """Something with its own way to step, such as QuasiStatics.

    It may have more: v; active_joints (or solve, which gives .joints and .error); apply, spring, spring_between and
    torque, for forces, and joint_law, for those of integrating/joint_law.py;
    save() -> arrays by name, and restore(arrays), if q and v alone do not determine how it continues.
    """

    @property
    def model(self) -> Model: ...

    @property
    def time(self) -> float: ...

    @property
    def q(self) -> Floats: ...

    def step(self, dt: float) -> None: ...


class Gathered:
    """States collected until there are enough for a piece."""

    def __init__(self, model: Model, touching: bool = False) -> None:
        self.model, self._touching = model, touching
        self.most = max(1, NUMBERS // (model.nq + model.nv))
        self._begun = clock.perf_counter()
        self.times: list[float] = []
        self.q: list[Floats] = []
        self.v: list[Floats] = []
        self.active: list[Ints] = []
        self.error: list[float] = []
        self.touches: list[Floats] = []
        self.limits: list[Floats] = []
        self.happened: list[Happened] = []

    def add(self, time: float, q: Floats, v: Floats, touches: Floats | None = None, limits: Floats | None = None
            ) -> None:  # fmt: skip
        self.times.append(time)
        self.q.append(q)
        self.v.append(v)
        if touches is not None and limits is not None:
            self.touches.append(touches)
            self.limits.append(limits)

    @property
    def enough(self) -> bool:
        return len(self.times) >= self.most or clock.perf_counter() - self._begun > SECONDS

    def cut(self, row: int) -> None:
        """Drop the states from `row` on."""
        for column in (self.times, self.q, self.v, self.active, self.error, self.touches, self.limits):
            del column[row:]  # type: ignore[attr-defined]

    def piece(self, ends_segment: bool = False) -> Piece:
        q = np.array(self.q).reshape(-1, self.model.nq)
        v = np.array(self.v).reshape(-1, self.model.nv)
        active = self.active or None
        error = np.array(self.error) if self.error else None
        touches, limits = (self.touches, self.limits) if self._touching else (None, None)
        times = np.array(self.times)
        return Piece(self.model, times, q, v, active, error, self.happened, ends_segment, touches, limits)


def stepping(cursor: Cursor, f: Dynamics, grid: Grid, integrator: str, watch: Watch, adaptive: Adaptive | None = None,
             renew: Any = None) -> Iterator[Piece]:  # fmt: skip
    """Single steps, of fixed or adaptive length, with events. renew: makes the Dynamics of another model."""
    touching = f.contacts is not None
    rows, steady = Gathered(cursor.model, touching), Steadiness(cursor.model, grid.dt)
    switches = Switches(f.forces.times, grid.dt)
    calm, kept = replace(cursor), 0  # before the last rough steps: the cursor, and how many rows there were
    taken: list[tuple[float, Touched]] = []  # steps since the last instant of the grid, or event ...
    whole = calm  # ... at which the cursor was this
    try:
        while cursor.time < grid.end and (cursor.goes_on or taken):
            last, begun = cursor.state, replace(cursor)
            whole = whole if taken else begun
            if not steady.rough:
                calm, kept = begun, len(rows.times)
            steady.mind(cursor.checked)
            with Keeping(last):
                try:
                    step, found = _ahead(cursor, f, grid, integrator, watch, adaptive or steady, switches)
                except Diverging as e:
                    rows.cut(kept)
                    cursor.__dict__.update(calm.__dict__)
                    raise diverged(f, last, calm.state, grid.dt, integrator) from e.__cause__
            if found.time > grid.end:
                state = step.at(grid.end) if adaptive is not None else step.exactly(grid.end)
                found = replace(found, crossings={}, time=grid.end, state=state)
            until = found.time
            cursor.time, (cursor.q, cursor.v), cursor.seen = until, found.state, found.seen(until)
            touched = step.touched(until)
            if touched is not None:
                cursor.known = touched.known
                cursor.faults += touched.faults
                taken.append((until - begun.time, touched))
            contacts = integrators.averaged(taken)
            _sample(rows, cursor, step, grid, adaptive, contacts)
            if found.crossings or cursor.on(grid):
                taken = []
            cursor.h = cursor.h if adaptive is None else adaptive.h
            short = cursor.step * grid.dt > until  # the last sample is at an end between two instants of the grid
            if not found.crossings and until == grid.end and (short or until < step.end):
                cursor.before = replace(whole, step=cursor.step - short)
            if found.crossings:
                with Keeping(cursor.state):
                    after = watch.happen(found, cursor.state)
                    model, before = after.state.model, f
                    f = f if model is f.model else renew(model)
                steady, switches = Steadiness(model, grid.dt), Switches(f.forces.times, grid.dt)
                rows.happened += after.happened
                if cursor.kept != until:
                    rows.add(until, cursor.q, cursor.v, *contacts)
                cursor.kept, cursor.seen, cursor.over = until, after.seen, after.over
                if after.changed:
                    full, rows = rows, Gathered(model, touching)
                    cursor.model, cursor.q, cursor.v = model, after.state.q.copy(), after.state.v.copy()
                    rows.add(until, cursor.q, cursor.v, *(f.contacts_of(before, *contacts) if contacts else ()))
                    yield full.piece(ends_segment=True)
            held = 0 < steady.rough <= MOST_HELD and len(rows.times) < rows.most
            if rows.times and not taken and (cursor.watched or (rows.enough and not held)):
                full, rows, kept = rows, Gathered(cursor.model, touching), 0
                yield full.piece()
    except SimulationError:
        if rows.times:
            yield rows.piece()
        raise
    if rows.times:
        yield rows.piece()


def _ahead(cursor: Cursor, f: Dynamics, grid: Grid, integrator: str, watch: Watch, pace: Adaptive | Steadiness,
           switches: Switches) -> tuple[Step, Found]:  # fmt: skip
    """The next step, and the first events in it. pace: what chooses the lengths of steps, or follows those of one
    length.

    A step goes past the end, so that no step and no event depends on where a run ends. Only if that is impossible,
    because a function refuses such times, does the step stop at the end. Steps end where a push starts or stops.
    """

    def take(until: float) -> tuple[Step, Found]:
        until = min(until, switches.after(cursor.time))
        if isinstance(pace, Steadiness):
            step: Step = _fixed(cursor, f, grid, integrator, until, pace)
        else:
            step = pace.step(f, cursor.time, cursor.q, cursor.v, until)
        return step, watch.search(f.model, step, cursor.seen, grid.end)

    planned = (cursor.step + 1) * grid.dt if isinstance(pace, Steadiness) else cursor.time + pace.h
    if planned <= grid.end:
        return take(np.inf)
    try:
        return take(np.inf)
    except Exception:  # user functions may raise any exception
        return take(grid.end)


class Diverging(Exception):
    """Steps diverge, or a step from a good state cannot be taken."""


def _fixed(cursor: Cursor, f: Dynamics, grid: Grid, integrator: str, until: float, steady: Steadiness) -> FixedStep:
    """To the next instant of the grid, or to `until`. Raises Diverging."""
    instant, take = (cursor.step + 1) * grid.dt, FIXED[integrator]
    if f.contacts is not None:
        take = integrators.touching(take, cursor.known)
    end = min(instant, until)
    h = grid.dt if cursor.on(grid) and end == instant else end - cursor.time
    try:
        step = FixedStep(take, f, cursor.time, end, (cursor.q, cursor.v), h)
    except SimulationError as e:
        if steady.rough or _within_step(f, cursor, e):
            raise Diverging from e
        raise
    q, v = step.last
    finite = np.isfinite(q).all() and np.isfinite(v).all()
    if not finite or steady.note(cursor.q, cursor.v, v, step.off):
        raise Diverging
    return step


def _within_step(f: Dynamics, begun: Cursor, e: SimulationError) -> bool:
    """Whether an error is due to a step that went astray: nothing is wrong with the state at its beginning."""
    if isinstance(e.__cause__, Unsolved):
        return False  # the error says what is wrong
    if f.forces.functions and not isinstance(e.__cause__, ArithmeticError):
        return False  # what a function returned is wrong
    try:
        f.acceleration(begun.time, begun.q, begun.v)
    except SimulationError:
        return False
    return True


def _sample(rows: Gathered, cursor: Cursor, step: Step, grid: Grid, adaptive: Adaptive | None,
            contacts: tuple[Floats, ...]) -> None:  # fmt: skip
    """The states on the grid that a step has passed up to the cursor. contacts: touches and limits at their end."""
    while cursor.step < grid.steps and grid.time(cursor.step + 1) <= cursor.time:
        cursor.step += 1
        if grid.kept(cursor.step):
            time = grid.time(cursor.step)
            state = (cursor.q, cursor.v) if adaptive is None or time == cursor.time else step.at(time)
            rows.add(time, *state, *contacts)
            cursor.kept = time


def own_steps(cursor: Cursor, stepper: Any, grid: Grid, pushes: TimedPushes) -> Iterator[Piece]:
    """Steps of a stepper with its own way to step, under pushes; v is zero if it has none."""
    touching = getattr(stepper, "contacts", None) is not None
    rows, before = Gathered(cursor.model, touching), cursor.state
    at_rest = np.zeros(cursor.model.nv)
    has_v, many = hasattr(stepper, "v"), getattr(stepper, "run", None)
    while cursor.time < grid.end and cursor.goes_on:
        last = State(cursor.time, cursor.q, cursor.v, cursor.model)
        switch = pushes.begin(cursor.time)
        count = min(grid.every - cursor.step % grid.every, grid.whole - cursor.step, AT_ONCE)
        count = min(count, pushes.unchanged(cursor.step))
        count = max(count, 1) if many and cursor.on(grid) else 1
        end = grid.time(cursor.step + count)
        if switch < end:
            count, end = 0, switch  # to within the next step
        try:
            with Keeping(last):
                if many and count > 1:
                    many(count * grid.dt, grid.dt)
                else:
                    whole = cursor.on(grid) and end == (cursor.step + 1) * grid.dt
                    stepper.step(grid.dt if whole else end - cursor.time)
        except SimulationError as e:
            if has_v:
                e = _own_failure(rows, before, stepper, grid.dt, e)
            if rows.times:
                yield rows.piece()
            raise e from e.__cause__
        cursor.step += count
        cursor.time = end
        kept = count > 0 and grid.kept(cursor.step)
        if kept or not cursor.goes_on:
            cursor.q = stepper.q.copy()
            cursor.v = stepper.v.copy() if has_v else at_rest
        if not kept:
            continue
        rows.add(end, cursor.q, cursor.v, *((stepper.touches, stepper.limit_forces) if touching else ()))
        active, error = how_exact(stepper)
        if active is not None:
            rows.active.append(active)
        if error is not None:
            rows.error.append(error)
        if rows.enough or cursor.watched:
            before = State(rows.times[-1], rows.q[-1], rows.v[-1], cursor.model)
            yield rows.piece()
            rows = Gathered(cursor.model, touching)
    if rows.times:
        yield rows.piece()


def _own_failure(rows: Gathered, before: State, stepper: Any, dt: float, e: SimulationError) -> SimulationError:
    """The error of a stepper, with its last good state; rows after that are dropped. before: the state before rows."""
    model = rows.model
    now = State(stepper.time, stepper.q.copy(), stepper.v.copy(), model)
    states = [before, *(State(*row, model) for row in zip(rows.times, rows.q, rows.v) if row[0] < now.time), now]
    good = last_steady(states, dt)
    rows.cut(bisect_right(rows.times, good.time))
    if good is now:
        e.state = now
        return e
    return diverged_own(now, good, dt)


def how_exact(stepper: Any) -> tuple[Ints | None, float | None]:
    """The joints that a stepper currently computes, and the error that it reports."""
    if hasattr(stepper, "solve"):  # what its next step will use
        found = stepper.solve()
        return found.joints, float(found.error)
    active = stepper.active_joints.copy() if hasattr(stepper, "active_joints") else None
    error = getattr(getattr(stepper, "stats", None), "error", None)
    return active, None if error is None else float(error)


def load_stepper(stepper: Any, forces: Sequence[Any], tau: Any) -> list[tuple[Push, Any]]:
    """Apply forces to a stepper that has apply, spring, spring_between and torque. Returns the pushes, and what it
    returned for each."""
    pushes: list[tuple[Push, Any]] = []
    moves = hasattr(stepper, "joint_law")
    for force in forces:
        if isinstance(force, Push):
            how = {"force": force.force, "point": force.point, "torque": force.torque, "frame": force.frame}
            pushes.append((force, stepper.apply(force.body, **how)))
        elif isinstance(force, Spring | SpringBetween) and hasattr(stepper, ATTACH[type(force)]):
            how = {f.name: getattr(force, f.name) for f in fields(force)}
            how["damping"] = force.damping if moves else 0.0  # at rest, a damper does nothing
            getattr(stepper, ATTACH[type(force)])(**how)
        elif isinstance(force, Controller | Limits) and moves:
            stepper.joint_law(law_rows(stepper.model, force))
        elif isinstance(force, Controls) and moves and not callable(force.values):
            stepper.controls(force.values)
        else:
            raise StateError(
                f"this method does not take {force!r}: it takes supple.Push, supple.Spring, supple.SpringBetween and a "
                "constant tau; adaptive dynamics also takes supple.Controller, supple.Limits and constant "
                "supple.Controls; exact methods take all forces"
            )
    if tau is None:
        return pushes
    if callable(tau):
        raise StateError("this method takes a constant tau, not a function; an exact method takes both")
    values = joint_forces(stepper.model, tau)
    for joint in np.unique(stepper.model.dof_body[np.flatnonzero(values)]):
        stepper.torque(int(joint), values[stepper.model.joints[int(joint)].v])
    return pushes
