"""`simulate`: a run followed to its end, kept in memory or in a recording, continued where it was left."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from supple import memory
from supple.arguments import checked, checked_as, number
from supple.errors import RecordingError, SimulationError
from supple.interrupting import Interrupted
from supple.model.model import Model
from supple.record.recorder import Recorder
from supple.record.recording import Recording
from supple.simulating.described import described, forces_again, given, other_forces, plane_again
from supple.simulating.events import Happened
from supple.simulating.faults import ContactFaults
from supple.simulating.names import about_run, when
from supple.simulating.progress import Progress
from supple.simulating.result import Result, Segment, SegmentInMemory
from supple.simulating.resuming import checkpoint, go_on
from supple.simulating.simulation import Sample, Simulation
from supple.writing import check_target

#: What `simulate` requires of a duration.
ENDING = number("a finite number of seconds >= 0 (for a run without an end, iterate over supple.Simulation(...))", 0.0)


@checked
def simulate(
    model: Model,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    duration: Annotated[float, ENDING],
    record: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    **settings: Any,
) -> Result:
    """Follow a body through time.

    q, v: initial state; by default the neutral position, with loops closed, at rest. duration, dt: seconds. Every
    `every`-th step and the last one are kept. "dop853" chooses its own step length, and its state is sampled every dt.
    All settings except duration, record, resume, overwrite and progress are those of supple.Simulation.

    method: one of those of forward_dynamics, or "quasi-statics", or "adaptive". The last two accept the settings of
    QuasiStatics (error, measure) and AdaptiveDynamics (active, error, measure, update_every, ...), and step as these
    do. Quasi-statics knows no time: duration / dt steps are taken, and progress is counted in steps.
    integrator, for the other methods: "rk4", "implicit" (for stiff springs, dampers and limits of joints; method "aba"
    only), "euler", "semi-implicit", or "dop853" with rtol and atol (default 1e-9). If none is given, it is "rk4", or
    "implicit" where that would be unstable with this dt (Simulation.why_implicit says so).
    forces: supple.Push, Spring, SpringBetween, Controller, Limits, Controls, or functions (state) or
    (time, q, v) -> tau (nv,), forces by joint {"elbow": 2.0}, or wrenches (n_bodies, 6); functions (state) and
    (time, q, v, model) know the model, which they need if an event changes the root. state["elbow"] has the q and v of
    a joint. tau: constant joint forces, as an array or by joint, or a function. Forces stay at their points and joints
    whatever the root. events: see supple.Event.
    contacts: True lets bodies touch by the shapes of the model, supple.Contacts(ground=0.0) also a floor; joints are
    held within their limits. Where nothing touches, steps are the integrator's. result.contacts(i) has what touched.
    joint_wrenches: also keep the wrenches that the joints carry. joint_forces: also keep the forces at the joints, as
    result.applied, result.passive and result.pushed.

    record: an HDF5 file in which everything is kept, instead of in memory (supple.load_run reads it); if the run is
    killed, the file is intact up to a second before. resume=True continues an existing recording bit-identically; a
    start, model, setting, force or event other than the recorded one is refused. Functions are compared by name only:
    they must return what they returned before. overwrite=True replaces the recording. progress=True shows a progress
    bar.

    Ctrl-C stops the run, and the result contains what was computed so far (result.about["stopped"] says so). A run that
    diverges raises SimulationError with .time, .joint, the last good .state, and .result with everything up to there:
    joints become faster and faster, or energy grows although nothing supplies any (check_energy=False allows both, as
    long as numbers are finite).
    """
    run = Simulation(model, q, v, duration=duration, **settings)
    return follow(run, record, resume=resume, overwrite=overwrite, progress=progress)


def _whole_signature() -> Signature:
    """Signature of `simulate`, including the settings, which only Simulation lists."""
    own, takes = (dict(signature(x).parameters) for x in (simulate, Simulation))
    _, (_, options) = own.popitem(), takes.popitem()
    return signature(simulate).replace(parameters=[*(takes | own).values(), options])


simulate.__signature__ = _whole_signature()  # type: ignore[attr-defined]


class Keeper(Protocol):
    """Where the samples of a run go."""

    def add(self, sample: Sample) -> None: ...

    def end(self, about: dict[str, Any], failed: str | None) -> Result: ...

    def close(self) -> None: ...


class InMemory:
    """Gathers samples into the segments of a result."""

    def __init__(self, run: Simulation, keep: bool = True) -> None:
        self._run, self._keep = run, keep
        rows, model = run.grid.end / (run.grid.dt * run.grid.every), run.model
        if keep and not run.may_stop and np.isfinite(rows):
            size = (
                model.nq + model.nv + 3 + 6 * model._n_carrying * run.joint_wrenches + 3 * model.nv * run.joint_forces
            )
            size *= int(rows)
            memory.require(size, f"{rows:.3g} states of this run", "keep fewer (every=...), or record it (record=...)")
        self.segments: list[Segment] = []
        self._open: list[Sample] = []

    def add(self, sample: Sample) -> None:
        if not self._keep:
            self._open, self.segments = [], []
        self._open.append(sample)
        if sample.piece.ends_segment:
            self._end_segment()

    def end(self, about: dict[str, Any], failed: str | None) -> Result:
        self._end_segment()
        run = self._run
        others = other_forces(run.given)
        return Result(
            self.segments, run.events, about, rods=run.rods, forces=run.forces, ground=run.ground, others=others
        )

    def close(self) -> None:
        pass

    def _end_segment(self) -> None:
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
        forces = None
        if one.joint_forces is not None:
            forces = np.concatenate([s.joint_forces for s in self._open if s.joint_forces is not None])
        touches = None if parts[0].touches is None else [x for p in parts for x in p.touches or ()]
        joined |= {"error": error, "joint_wrenches": carried, "joint_forces": forces, "active_sets": sets}
        joined["touches"] = touches
        self.segments.append(SegmentInMemory(parts[0].model, **joined))
        self._open = []


class InFile:
    """Writes samples to a recording; memory does not grow."""

    def __init__(self, run: Simulation, path: str | Path, resume: bool, overwrite: bool, about: dict[str, Any]) -> None:
        self._run, self._path = run, Path(path)
        self._events = 0
        check_target(path, RecordingError)
        if resume and self._path.exists():
            models, generation = go_on(run, self._path)
            self._recorder = Recorder(path, generation=generation)
            self._recorder.go_on(models, described(run.settings))
            self._events = len(run.events)
        else:
            stands = {} if run.ground is None else {"ground": described(run.ground)}
            said = described(run.settings) | stands | about
            self._recorder = Recorder(path, said, overwrite or resume, given=given(run))
        self._wrote, self._shapes = run.cursor.step > 0, run.shape_names

    def add(self, sample: Sample) -> None:
        p, at_rest = sample.piece, self._run.stepper is not None and not hasattr(self._run.stepper, "v")
        self._recorder.add(
            p.model, p.times, p.q, None if at_rest else p.v, sample.kinetic, sample.potential,
            error=p.error, active=p.active, joint_wrenches=sample.joint_wrenches, joint_forces=sample.joint_forces,
            touches=p.touches,
            rods=self._run.rods if p.model is self._run.model else None,
        )  # fmt: skip
        if self._run.shape_names != self._shapes:
            self._shapes = self._run.shape_names
            self._recorder.say({"shapes": self._shapes})
        for event in self._run.events[self._events :]:
            self._recorder.event(event.time, event.name)
        self._events = len(self._run.events)
        if p.ends_segment:  # the cursor is already past it, at a state that comes with the next piece
            self._recorder.end_segment()
        elif self._recorder.due or not self._wrote:
            self._commit()

    def end(self, about: dict[str, Any], failed: str | None) -> Result:
        c = self._run.cursor
        finished = failed is None and (c.time >= self._run.grid.end or c.over is not None)
        self._commit(finished, failed)
        self._recorder.close()
        result = load_run(self._path)
        result.about |= {name: about[name] for name in ("seconds", "stopped") if name in about}
        return result

    def close(self) -> None:
        self._recorder.close()

    def _commit(self, finished: bool = False, failed: str | None = None) -> None:
        self._wrote = True
        self._recorder.commit(*checkpoint(self._run, failed), finished)


@checked_as(RecordingError)
def load_run(path: str | Path) -> Result:
    """The result of a recorded run: r.times, r.q, r.energy, r[i], r.segments, r.plot(), as returned by `simulate`.

    q, v, joint_wrenches and joint_forces of a segment are read from the file on access: r.segments[0].q[1000] reads
    one row.
    """
    r = Recording(path)
    try:
        segments, rods = r.segments, r.rods
        for segment in (segments[0], segments[-1]):
            _ = segment.model  # raises at once if the recorded model is invalid
    except BaseException:
        r.close()
        raise
    state = r.state
    about = about_run(r.about) | {"versions": r.versions, "steered": bool(state.get("steered"))}
    faults = ContactFaults.restored(state.get("contact_faults"))
    if faults is not None:
        about["contact_faults"] = faults.save()
    if not r.finished:
        about["stopped"] = state["failed"] or f"not finished, at {when(state['time'], about)}"
    happened = [Happened(name, time) for time, name in r.events]
    acted = forces_again(r.given.get("forces"))
    ground, others = plane_again(about.get("ground")), other_forces(r.given)
    return Result(segments, happened, about, str(path), r, rods, acted, ground, others)


def follow(
    run: Simulation,
    record: str | Path | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    about: dict[str, Any] | None = None,
    watch: Callable[[Sample], None] | None = None,
    keep: bool = True,
) -> Result:
    """Run to the end, to Ctrl-C, or to an error.

    about: further entries for the recording. watch: is shown every sample, and may change the run before the next.
    keep: False keeps only the last sample, in memory.
    """
    begun, extra = clock.perf_counter(), about or {}
    keeper: Keeper = InMemory(run, keep) if record is None else InFile(run, record, resume, overwrite, extra)

    def result(failed: str | None = None, stopped: str | None = None) -> Result:
        more: dict[str, Any] = {"seconds": clock.perf_counter() - begun} | ({"stopped": stopped} if stopped else {})
        more |= {} if run.contact_faults is None else {"contact_faults": run.contact_faults}
        return keeper.end(run.settings | extra | more, failed)

    try:
        with Interrupted(run.halt) as interrupted, Progress(run, progress) as bar:
            for sample in run.samples():
                keeper.add(sample)
                bar.show(sample)
                if watch is not None and len(sample.piece.times):
                    watch(sample)
        return result(stopped=f"stopped at {run.when(run.cursor.time)}" if interrupted.told else None)
    except SimulationError as e:
        e.result = result(str(e), str(e))
        raise
    finally:
        keeper.close()
