"""Runs: `simulate` gives a result, `simulation` the states one by one."""

from __future__ import annotations

import signal
import threading
import time as clock
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.quasistatics import QuasiStatics
from supple.errors import SimulationError, StateError
from supple.model.model import Model, unknown
from supple.simulating import drivers
from supple.simulating.drivers import Cursor, Grid, Piece
from supple.simulating.dynamics import EXACT, Dynamics, EnergyGuard, energy_grew
from supple.simulating.events import Event, Happened, Watch
from supple.simulating.forces import Force
from supple.simulating.integrators import FIXED, Adaptive
from supple.simulating.result import Result, Segment, Stretch
from supple.simulating.state import State, checked_state

Floats = NDArray[np.float64]

INTEGRATORS = (*FIXED, "adaptive")
#: Methods that have a way of their own to step: how they are made, from model, q, v and options.
OWN: dict[str, Callable[..., Any]] = {
    "quasi-statics": lambda model, q, v, **options: QuasiStatics(model, q, **options),
}
METHODS = (*EXACT, *OWN)


@dataclass
class Sample:
    """A piece of a run, with what is computed of its states."""

    piece: Piece
    kinetic: Floats
    potential: Floats
    joint_wrenches: Floats | None

    def until(self, row: int) -> Sample:
        """What is before a row."""
        p, w = self.piece, self.joint_wrenches
        active, error = None if p.active is None else p.active[:row], None if p.error is None else p.error[:row]
        piece = Piece(p.model, p.times[:row], p.q[:row], p.v[:row], active, error)
        return Sample(piece, self.kinetic[:row], self.potential[:row], None if w is None else w[:row])


class Simulation:
    """A run that is about to begin, or under way: iterate over its states, or over its samples (`samples`).

    The arguments are those of `simulate`. `cursor` is where it is; a run that is given another's cursor continues it.
    """

    def __init__(
        self,
        model: Model,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        duration: float | None = None,
        dt: float = 1e-3,
        integrator: str | None = None,
        method: str = "aba",
        forces: Sequence[Any] = (),
        tau: ArrayLike | Force | None = None,
        events: Sequence[Event] = (),
        every: int = 1,
        rtol: float = 1e-9,
        atol: float = 1e-9,
        joint_wrenches: bool = False,
        check_energy: bool = True,
        **options: Any,
    ) -> None:
        if method not in METHODS:
            raise StateError(unknown("method", str(method), METHODS))
        self.method, self.model, self.dt = method, model, _positive("dt", dt)
        self.integrator = _integrator(method, integrator)
        end = np.inf if duration is None else _positive("duration", duration, zero=True)
        if int(every) != every or every < 1:
            raise StateError(f"every must be a whole number of steps, at least 1; not {every!r}")
        self.grid = Grid(self.dt, int(every), end)
        self.events: list[Happened] = []
        self.joint_wrenches, self._check_energy = joint_wrenches, check_energy
        self._forces, self._tau = (forces,) if not isinstance(forces, Sequence) else tuple(forces), tau
        self._watch = Watch(events)
        q, v = checked_state(model, model.neutral() if q is None else q, v)
        self.cursor = Cursor(model, q, v, h=self.dt)
        self._adaptive = Adaptive(rtol, atol, self.dt, np.inf) if self.integrator == "adaptive" else None
        self.stepper: Any = None
        if method in OWN:
            self._refuse_for_own(events, v)
            self.stepper = OWN[method](model, q, v, **options)
            drivers.load_stepper(self.stepper, self._forces, tau)
            self._dynamics = Dynamics(model, "aba", self._forces, tau)
        else:
            if options:
                raise StateError(f"method {method!r} takes no {', '.join(options)}; {', '.join(OWN)} do")
            self._dynamics = Dynamics(model, method, self._forces, tau)

    @property
    def settings(self) -> dict[str, Any]:
        """How it is run, in words and numbers."""
        out: dict[str, Any] = {"method": self.method, "integrator": self.integrator}
        out |= {"dt": self.dt, "every": self.grid.every, "duration": self.grid.end}
        if self._adaptive is not None:
            out |= {"rtol": self._adaptive.rtol, "atol": self._adaptive.atol}
        return out

    def __iter__(self) -> Iterator[State]:
        """The states, the first one included."""
        for sample in self.samples():
            yield from map(sample.piece.state, range(len(sample.piece.times)))

    def samples(self) -> Iterator[Sample]:
        """The run piece by piece, from where the cursor is; the cursor's own state comes first if it is the beginning.

        When an error is raised, all that was good has been given, and the error has the last good state.
        """
        if self._adaptive is not None:
            self._adaptive.h = self.cursor.h
        guard: EnergyGuard | None = None
        if self.cursor.time == 0.0 and self.cursor.fresh is None:
            first = self._first()
            guard = self._guard(first)
            yield first
        for piece in self._pieces():
            if piece.model is not self._dynamics.model:
                self._dynamics = self._renewed(piece.model)
            self.events += piece.happened
            sample = self._sample(piece)
            guard = guard or self._guard(sample)
            bad = None if guard is None else guard.check(sample.kinetic, sample.potential)
            if bad is not None:
                yield sample.until(bad)
                raise energy_grew(*(piece.state(i) for i in (bad, max(bad - 1, 0))))
            guard = None if piece.ends_segment else guard
            yield sample

    def _guard(self, sample: Sample) -> EnergyGuard | None:
        f, p = self._dynamics, sample.piece
        if not (self._check_energy and self.stepper is None and f.forces.conserve):
            return None
        return EnergyGuard(f, p.q[0], float(sample.kinetic[0]), float(sample.potential[0]))

    def _first(self) -> Sample:
        c = self.cursor
        piece = Piece(c.model, np.array([c.time]), c.q[None].copy(), c.v[None].copy())
        if self.method == "quasi-statics":
            found = self.stepper.solve()
            piece.active, piece.error = [found.joints], np.array([found.error])
        elif self.stepper is not None and hasattr(self.stepper, "active_joints"):
            piece.active = [np.array(self.stepper.active_joints, dtype=np.int64)]
        return self._sample(piece)

    def _pieces(self) -> Iterator[Piece]:
        c, f, grid = self.cursor, self._dynamics, self.grid
        if self.stepper is not None:
            return drivers.own_steps(c, self.stepper, grid)
        compiled = self.method == "aba" and f.forces.at_joints_only and not self._watch.events
        if compiled and self.integrator in FIXED:
            return drivers.march(c, f, grid, self.integrator)
        return drivers.stepping(c, f, grid, self.integrator, self._watch, self._adaptive, self._renewed)

    def _renewed(self, model: Model) -> Dynamics:
        """The same method and forces for another model."""
        if isinstance(self._tau, np.ndarray | list | tuple) and model.nv != self.model.nv:
            raise SimulationError(
                "tau is a vector, and an event changed the model: give tau as a function (time, q, v)"
            )
        return Dynamics(model, self.method, self._forces, self._tau)

    def _sample(self, piece: Piece) -> Sample:
        f = self._dynamics
        kinetic, potential = f.energies(piece.q, piece.v)
        wrenches = f.joint_wrenches(piece.times, piece.q, piece.v) if self.joint_wrenches else None
        return Sample(piece, kinetic, potential, wrenches)

    def _refuse_for_own(self, events: Sequence[Event], v: Floats) -> None:
        if events:
            raise StateError(f"method {self.method!r} takes no events; an exact method does")
        if self.method == "quasi-statics" and v.any():
            raise StateError("quasi-statics moves bodies that are at rest: leave v out")

    def __repr__(self) -> str:
        how = f"{self.method}, {self.integrator}" if self.integrator else self.method
        return f"<Simulation of {self.cursor.model.name!r} at {self.cursor.time:.6g} s: {how}, dt={self.dt:g}>"


def simulation(model: Model, q: ArrayLike | None = None, v: ArrayLike | None = None, **how: Any) -> Simulation:
    """A run to iterate over: `for state in supple.simulation(model, q, v, dt=1e-3): ...`, for ever unless a duration is
    given. Takes what `simulate` takes, but for recording and progress."""
    return Simulation(model, q, v, **how)


class Collector:
    """Gathers samples into the segments of a result."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._open: list[Sample] = []

    def add(self, sample: Sample) -> None:
        self._open.append(sample)
        if sample.piece.ends_segment:
            self.close()

    def close(self) -> None:
        """End the segment that is being gathered."""
        if not self._open:
            return
        parts, one = [s.piece for s in self._open], self._open[0]
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(x, name) for x in source])
            for source, names in ((parts, ("times", "q", "v")), (self._open, ("kinetic", "potential")))
            for name in names
        }
        error = None if parts[0].error is None else np.concatenate([p.error for p in parts if p.error is not None])
        sets = None if parts[0].active is None else [a for p in parts for a in p.active or ()]
        carried = None
        if one.joint_wrenches is not None:
            carried = np.concatenate([s.joint_wrenches for s in self._open if s.joint_wrenches is not None])
        self.segments.append(Stretch(parts[0].model, **joined, error=error, joint_wrenches=carried, active_sets=sets))
        self._open = []


def simulate(
    model: Model,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    duration: float,
    dt: float = 1e-3,
    integrator: str | None = None,
    method: str = "aba",
    forces: Sequence[Any] = (),
    tau: ArrayLike | Force | None = None,
    events: Sequence[Event] = (),
    every: int = 1,
    joint_wrenches: bool = False,
    **options: Any,
) -> Result:
    """Follow a body through time.

    q, v: where it begins; the neutral position, at rest, by default. duration, dt: seconds. Every `every`-th step is
    kept, and the last; an adaptive integrator steps as it likes, and is asked where it is every dt.

    method: one of forward_dynamics, or "quasi-statics". integrator: "rk4" (by default), "euler", "semi-implicit", or
    "adaptive" with rtol and atol. Quasi-statics takes error and measure (see QuasiStatics), and steps as it does.
    forces: supple.Push, Spring, Controller, Limits, or functions (time, q, v) -> tau or wrenches. tau: constant forces
    at the joints, or a function. events: see supple.Event. joint_wrenches: keep what joints carry, too.

    Ctrl-C stops the run, and the result has what was done (result.about["stopped"] says so). A state that is not
    finite, or energy that grows although nothing puts any in (check_energy=False allows it), raises SimulationError
    with .time, .joint, the last good .state, and .result with all that was good.
    """
    run = Simulation(
        model, q, v, duration=duration, dt=dt, integrator=integrator, method=method, forces=forces, tau=tau,
        events=events, every=every, joint_wrenches=joint_wrenches, **options,
    )  # fmt: skip
    return follow(run)


def follow(run: Simulation) -> Result:
    """A run to its end, to Ctrl-C, or to what goes wrong."""
    kept, about, begun = Collector(), run.settings, clock.perf_counter()

    def result() -> Result:
        kept.close()
        return Result(kept.segments, run.events, about | {"seconds": clock.perf_counter() - begun})

    try:
        with Interrupted(run) as interrupted:
            for sample in run.samples():
                kept.add(sample)
    except SimulationError as e:
        about["stopped"] = str(e)
        e.result = result()
        raise
    if interrupted.told:
        about["stopped"] = f"stopped at {run.cursor.time:.6g} s"
    return result()


class Interrupted:
    """While it lasts, Ctrl-C stops a run after the step it is in: nothing is half done. A second one stops at once."""

    def __init__(self, run: Simulation) -> None:
        self._run, self.told = run, False
        self._before: Any = None

    def __enter__(self) -> Interrupted:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._tell)
        return self

    def __exit__(self, *what: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _tell(self, number: int, frame: Any) -> None:
        if self.told:
            raise KeyboardInterrupt
        self.told = self._run.cursor.halt = True


def _integrator(method: str, integrator: str | None) -> str:
    if method in OWN:
        if integrator is not None:
            raise StateError(f"method {method!r} steps in its own way: leave the integrator out")
        return ""
    name = "rk4" if integrator is None else integrator
    if name not in INTEGRATORS:
        raise StateError(unknown("integrator", str(name), INTEGRATORS))
    return name


def _positive(name: str, value: Any, zero: bool = False) -> float:
    try:
        x = float(value)
    except (TypeError, ValueError):
        x = np.nan
    if not (np.isfinite(x) and (x > 0 or (zero and x == 0))):
        raise StateError(f"{name} must be a positive number of seconds, not {value!r}")
    return x
