"""Recordings continued: to the same bits, beyond their duration, by every kind of run."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import supple
from recorded import CASES, MODEL, bouncing, equal
from supple.simulating.watch import restored, saved


@pytest.mark.parametrize("name", CASES)
def test_a_resumed_run_has_the_same_bits(name, tmp_path, monkeypatch):
    """Stopped in the middle, several times, and resumed each time: the same as in one go, in memory."""
    model, how = CASES[name]
    how = {"dt": 1e-3, "check_energy": False} | how
    steps, path = 200, tmp_path / "run.h5"
    dt = float(how["dt"])  # type: ignore[arg-type]
    whole = supple.simulate(model, duration=steps * dt, **how)
    from supple.simulating import drivers, run

    monkeypatch.setattr(drivers, "NUMBERS", 12 * (model.nq + model.nv))  # small pieces
    monkeypatch.setattr("supple.record.recorder.SECONDS", 0.0)
    real, left = run.InFile.add, [0]

    def add(self: run.InFile, sample: object) -> None:
        real(self, sample)  # type: ignore[arg-type]
        left[0] -= 1
        if left[0] == 0:
            raise MemoryError  # what nothing is prepared for

    monkeypatch.setattr(run.InFile, "add", add)
    died = 0
    for first in (3, 2, 5, 4, 0):
        left[0] = first
        try:
            supple.simulate(model, duration=steps * dt, record=path, resume=True, **how)
        except MemoryError:
            died += 1
    assert died >= 2
    equal(supple.load_run(path), whole)


def test_a_longer_duration_goes_on(tmp_path):
    how = {"q": MODEL.random(0), "dt": 1e-3, "record": tmp_path / "run.h5"}
    first = supple.simulate(MODEL, duration=0.1, **how)
    assert first.about["duration"] == 0.1 and "stopped" not in first.about
    both = supple.simulate(MODEL, duration=0.2, resume=True, **how)
    assert both.about["duration"] == 0.2
    equal(both, supple.simulate(MODEL, q=MODEL.random(0), duration=0.2, dt=1e-3))


def test_a_stepper_goes_on_from_within_a_step(tmp_path):
    """A method that steps by itself goes on from the state at which it was over: half a step after 10 dt, to 11 dt. It
    has the states of one run but for what two short steps differ from a long one."""
    how = {"q": MODEL.random(0), "dt": 1e-4, "check_energy": False, "method": "adaptive"}
    supple.simulate(MODEL, duration=1.05e-3, record=tmp_path / "run.h5", **how).close()
    both = supple.simulate(MODEL, duration=2e-3, record=tmp_path / "run.h5", resume=True, **how)
    whole = supple.simulate(MODEL, duration=2e-3, **how)
    np.testing.assert_array_equal(both.times, np.insert(whole.times, 11, 1.05e-3))
    step = np.abs(np.diff(whole.q, axis=0)).max()
    assert np.abs(np.delete(both.q, 11, axis=0) - whole.q).max() < 0.1 * step


def test_energy_from_nowhere_is_noticed_across_a_resumption(tmp_path):
    """At the same instant as in one go."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1))
    model, how = b.build(), {"q": [1.0], "dt": 0.01, "integrator": "euler"}
    with pytest.raises(supple.SimulationError, match="energy grows") as whole:
        supple.simulate(model, duration=60.0, **how)
    steps = round(whole.value.time / 0.01)
    for end in (0.01 * (steps // 2), 0.01 * (steps - 2)):
        supple.simulate(model, duration=end, record=tmp_path / "run.h5", resume=True, **how).close()
    with pytest.raises(supple.SimulationError, match="energy grows") as parts:
        supple.simulate(model, duration=60.0, record=tmp_path / "run.h5", resume=True, **how)
    assert parts.value.time == whole.value.time


def test_a_run_that_an_event_stopped_is_over(tmp_path):
    model, _ = bouncing()
    stop = supple.Event("floor", lambda s: s.q[0], -1, "stop")
    how = {"q": [1.0], "events": [stop], "record": tmp_path / "run.h5", "resume": True}
    first = supple.simulate(model, duration=1.0, **how)
    again = supple.simulate(model, duration=2.0, **how)
    assert first.final.time == again.final.time < 0.5 and len(first) == len(again)
    assert "stopped" not in again.about


class Walker:
    """A stepper with a memory of its own, which it saves."""

    def __init__(self, model: supple.Model, q: np.ndarray, v: np.ndarray) -> None:
        self.model, self.q, self.v, self.time = model, q.copy(), v.copy(), 0.0
        self._memory = np.zeros(1)

    def step(self, dt: float) -> None:
        self._memory = np.sin(self._memory + 1.0)
        self.q = self.q + dt * self._memory

    def save(self) -> dict[str, np.ndarray]:
        return {"memory": self._memory}

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        self._memory = saved["memory"]


def test_a_stepper_may_save_more_than_q_and_v(tmp_path, monkeypatch):
    from supple.simulating import simulation

    monkeypatch.setitem(simulation.OWN, "walker", simulation.Own(Walker, ()))
    model, _ = bouncing()
    how = {"method": "walker", "dt": 0.1, "every": 3}
    supple.simulate(model, [0.0], duration=1.2, record=tmp_path / "run.h5", **how)
    both = supple.simulate(model, [0.0], duration=3.0, record=tmp_path / "run.h5", resume=True, **how)
    equal(both, supple.simulate(model, [0.0], duration=3.0, **how))


@pytest.mark.parametrize("name", ["events together", "events together, adaptive"])
def test_what_is_remembered_of_events_is_all_that_is_needed(name):
    """From a cursor just after an event, where only memory tells on which side of zero it is, through JSON."""
    model, how = CASES[name]
    how = {"duration": 0.5, "dt": 1e-3, "check_energy": False, "every": 50} | how
    run = supple.Simulation(model, **how)
    run.cursor.watched = True
    cursors = []
    for _ in run.samples():
        c = run.cursor
        if any(s.zero for s in c.seen):
            rows = json.loads(json.dumps(saved(c.seen)))
            cursors.append((len(run.events), replace(c, q=c.q.copy(), v=c.v.copy(), seen=restored(rows))))
    assert len(cursors) >= len(run.events) // 3 > 5
    for happened, cursor in cursors[:: max(1, len(cursors) // 8)]:
        again = supple.Simulation(model, **how)
        again.resume(cursor, {})
        list(again.samples())
        assert again.events == run.events[happened:]
        np.testing.assert_array_equal(again.cursor.q, run.cursor.q)
        np.testing.assert_array_equal(again.cursor.v, run.cursor.v)
