"""The compiled march: a driver for fixed steps under forces at the joints, many in one call."""

from __future__ import annotations

import time as clock
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from supple.errors import SimulationError
from supple.integrating.divergence import Steadiness
from supple.integrating.march import March
from supple.simulating import drivers
from supple.simulating.divergence import diverged
from supple.simulating.drivers import Cursor, Grid, Piece, stepping
from supple.simulating.dynamics import Dynamics
from supple.simulating.integrators import FIXED
from supple.simulating.state import State
from supple.simulating.watch import Watch

Floats = NDArray[np.float64]


def march(cursor: Cursor, f: Dynamics, grid: Grid, integrator: str) -> Iterator[Piece]:
    """Fixed steps in compiled code, with joint forces only; each call takes as many steps as fit in about
    drivers.SECONDS."""
    steps, ahead = March(f.model, integrator, grid.dt, f.forces.constant, f.forces.law), Ahead(cursor, grid)
    count, most = 1, max(1, drivers.NUMBERS // (f.model.nq + f.model.nv))
    while ahead.step < grid.whole and cursor.goes_on:
        begun, first = clock.perf_counter(), ahead.step
        to_next = min(grid.every - first % grid.every, grid.whole - first)
        rows = min(count // grid.every, (grid.whole - first) // grid.every, most) if to_next == grid.every else 0
        stride = grid.every if rows else min(count, to_next)
        rows = max(rows, 1)
        steps.steadiness.mind(cursor.checked)
        q, v, done = steps.run(ahead.q, ahead.v, rows, stride)
        ahead.step, good = first + done, done // stride
        if good and grid.kept(first + stride):
            ahead.add([grid.time(first + stride * (k + 1)) for k in range(good)], q[:good], v[:good])
        if done < rows * stride:
            error = _failure(f, ahead, steps.steadiness, grid.dt, integrator)
            yield from ahead.before_rough(steps.steadiness)
            raise error
        held = steps.steadiness.rough and not cursor.watched and not ahead.full
        yield from ahead.before_rough(steps.steadiness) if held else ahead.everything()
        took = clock.perf_counter() - begun
        count = 1 if cursor.watched else max(1, int(rows * stride * min(4.0, drivers.SECONDS / max(took, 1e-9))))
    yield from ahead.everything()
    yield from stepping(cursor, f, grid, integrator, Watch((), grid.dt))  # what remains is less than a step


class Ahead:
    """Steps ahead of the cursor, which follows when their states are yielded. Those after the first of a row of rough
    steps are held back: they are dropped if the run diverges."""

    def __init__(self, cursor: Cursor, grid: Grid) -> None:
        self._cursor, self._grid = cursor, grid
        self.q, self.v, self.step = cursor.q.copy(), cursor.v.copy(), cursor.step
        self._empty()

    def _empty(self) -> None:
        self._times: list[float] = []
        self._rows: list[tuple[Floats, Floats]] = []
        self._numbers = 0

    @property
    def state(self) -> State:
        return State(self._grid.time(self.step), self.q.copy(), self.v.copy(), self._cursor.model)

    @property
    def full(self) -> bool:
        """Whether so much is held back that it must be yielded, whatever comes after it."""
        return self.step - self._cursor.step > drivers.MOST_HELD or self._numbers > 2 * drivers.NUMBERS

    def add(self, times: list[float], q: Floats, v: Floats) -> None:
        self._times += times
        self._rows.append((q, v))
        self._numbers += q.size + v.size

    def good(self, steady: Steadiness) -> State:
        """The state before the last rough steps."""
        if not steady.rough:
            return self.state
        return State(self._grid.time(self.step - steady.rough), *steady.good, self._cursor.model)

    def everything(self) -> Iterator[Piece]:
        yield from self._up_to(self.step, self.state)

    def before_rough(self, steady: Steadiness) -> Iterator[Piece]:
        """Up to the good state; nothing, if more was yielded already."""
        step = self.step - steady.rough
        if step >= self._cursor.step:
            yield from self._up_to(step, self.good(steady))

    def _up_to(self, step: int, state: State) -> Iterator[Piece]:
        c, times, row = self._cursor, self._times, bisect_right(self._times, state.time)
        c.q, c.v, c.step, c.time = state.q, state.v, step, state.time
        if row:
            q, v = (np.concatenate(x) for x in zip(*self._rows))
            self._empty()
            if row < len(times):
                self.add(times[row:], q[row:], v[row:])
            yield Piece(c.model, np.array(times[:row]), q[:row], v[:row])


def _failure(f: Dynamics, ahead: Ahead, steady: Steadiness, dt: float, integrator: str) -> SimulationError:
    """Why a march ended early: the model is singular where it is, or its steps diverge."""
    now = ahead.state
    if not steady.rough:
        try:
            f.acceleration(now.time, now.q, now.v)
            if not f.model.is_tree:  # a loop may break open
                f.closed(now.time + dt, FIXED[integrator](f, now.time, now.q, now.v, dt).inside(1.0))
        except SimulationError as e:
            e.state = now
            return e
    return diverged(f, now, ahead.good(steady), dt, integrator)
