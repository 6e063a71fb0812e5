"""A finished run that goes on for longer: the bits of one run in one go, wherever the first one ended."""

from __future__ import annotations

import multiprocessing
import time as clock
from pathlib import Path

import numpy as np
import pytest

import supple
from recorded import MODEL, bouncing, equal
from supple.record.recording import Recording
from supple.simulating.result import Result

BALL = bouncing()


def turning(state: supple.State) -> float:
    return float(state.v[1] - 0.4)


def moved(state: supple.State) -> supple.State:
    return state.replace(q=MODEL.integrate(state.q, np.full(MODEL.nv, 0.05), 1.0))


def motor(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.sin(7 * time) - 0.1 * v


#: adaptive: step lengths are its own. The last step of each run in one go ends nowhere near the ends tried here.
ADAPTIVE = {"integrator": "dop853", "dt": 0.01}
HOW = {
    "smooth": (MODEL, {"q": MODEL.random(0), **ADAPTIVE}),
    "loose": (MODEL, {"q": MODEL.random(1), **ADAPTIVE, "rtol": 1e-4, "atol": 1e-4, "every": 3}),
    "forces": (
        MODEL,
        {"q": MODEL.random(0), **ADAPTIVE, "tau": motor, "forces": [supple.Push(3, force=(0, 1, 2)), motor]},
    ),
    "events": (BALL[0], BALL[1] | ADAPTIVE),
    "events that only tell": (MODEL, {"q": MODEL.random(0), **ADAPTIVE, "events": [supple.Event("turn", turning)]}),
    "events with jumps": (
        MODEL,
        {"q": MODEL.random(0), **ADAPTIVE, "events": [supple.Event("turn", turning, 0, moved)], "forces": [motor]},
    ),
    "march": (MODEL, {"q": MODEL.random(0), "dt": 0.01}),
    "crba": (MODEL, {"q": MODEL.random(0), "dt": 0.01, "method": "crba", "integrator": "semi-implicit"}),
    "fixed, events": (BALL[0], BALL[1] | {"dt": 0.01}),
}


def but_for(result: Result, times: list[float]) -> list[np.ndarray]:
    """All states of a result except those at the ends of its parts."""
    keep = ~np.isin(result.times, times)
    return [x[keep] for x in (result.times, result.q, result.v, result.energy)]


@pytest.mark.parametrize("name", HOW)
def test_wherever_it_ended(name, tmp_path):
    """On the grid and off it, within a step, once or several times: no state is another one."""
    model, how = HOW[name]
    how = {"check_energy": False} | how
    whole = supple.simulate(model, duration=1.5, **how)
    rng, dt = np.random.default_rng(0), float(how["dt"])
    for k in range(4):
        path = tmp_path / f"{k}.h5"
        on_grid = k % 2 == 0
        ends = sorted(float(x) for x in rng.integers(1, 149, 2) * dt) if on_grid else sorted(rng.uniform(0.01, 1.5, 2))
        for end in (*ends, 1.5):
            supple.simulate(model, duration=end, record=path, resume=True, **how).close()
        parts = supple.load_run(path)
        assert parts.events == whole.events
        if on_grid and how.get("every", 1) == 1:
            equal(parts, whole)
        for a, b in zip(but_for(parts, ends), but_for(whole, ends)):
            np.testing.assert_array_equal(a, b)
        parts.close()


@pytest.mark.parametrize("name", ["events", "fixed, events", "events with jumps"])
def test_states_come_once_however_they_are_handed_on(name, tmp_path, monkeypatch):
    """One by one, or many together: events at the instant of a state that was handed on before do not repeat it."""
    model, how = HOW[name]
    how = {"check_energy": False, "joint_wrenches": True} | how
    whole = supple.simulate(model, duration=1.0, **how)
    monkeypatch.setattr("supple.simulating.drivers.SECONDS", 0.0)
    equal(supple.simulate(model, duration=1.0, **how), whole)
    equal(supple.simulate(model, duration=1.0, record=tmp_path / "run.h5", **how), whole)


@pytest.mark.parametrize("name", ["events", "fixed, events", "events with jumps", "events that only tell"])
def test_an_event_beside_the_end_is_the_same(name, tmp_path):
    """Just before the end of the first run, at it, or just after, where only the second run finds it."""
    model, how = HOW[name]
    how = {"check_energy": False} | how
    whole = supple.simulate(model, duration=2.0, **how)
    assert len(whole.events) >= 2
    for shift in (-1e-3, -1e-9, 0.0, 1e-9, 1e-4):
        path, end = tmp_path / f"{shift}.h5", whole.events[1].time + shift
        first = supple.simulate(model, duration=end, record=path, **how)
        assert first.events == tuple(e for e in whole.events if e.time <= end)
        both = supple.simulate(model, duration=2.0, record=path, resume=True, **how)
        assert both.events == whole.events
        np.testing.assert_array_equal(both.final.q, whole.final.q)


@pytest.mark.parametrize("name", ["events", "fixed, events", "events with jumps", "events that only tell"])
def test_an_end_at_the_instant_of_an_event_changes_no_row(name, tmp_path):
    """The state there is the event's own, not the interpolant's; with loose tolerances these are far apart."""
    model, how = HOW[name]
    how = {"check_energy": False} | how | ({"rtol": 1e-3, "atol": 1e-3} if "integrator" in how else {})
    whole = supple.simulate(model, duration=2.0, **how)
    assert len(whole.events) >= 2
    for i, event in enumerate(whole.events[:3]):
        path = tmp_path / f"{i}.h5"
        supple.simulate(model, duration=event.time, record=path, **how).close()
        equal(supple.simulate(model, duration=2.0, record=path, resume=True, **how), whole)


def test_an_event_on_the_grid_has_its_own_state():
    """Of dop853, whose other states on the grid are interpolated."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    how = {"integrator": "dop853", "rtol": 1e-3, "atol": 1e-3, "events": supple.Event("x", lambda s: s.q[0] - 0.3)}
    model, q = b.build(), [2.9]
    when = supple.simulate(model, q, duration=3.0, dt=0.01, **how).events[0].time
    for dt in (when / 100, when / 7):
        run = supple.simulate(model, q, duration=3.0, dt=dt, **how)
        at = run.events[0].time
        row = int(np.flatnonzero(run.times == at)[0])
        assert abs(run.q[row, 0] - 0.3) < 1e-13


def test_resumed_to_where_it_is_nothing_is_added(tmp_path):
    for end in (0.1, 0.1234):
        path, how = tmp_path / f"{end}.h5", {"q": MODEL.random(0), "duration": end, **ADAPTIVE}
        first = supple.simulate(MODEL, record=path, **how)
        for _ in range(2):
            equal(supple.simulate(MODEL, record=path, resume=True, **how), first)
        longer = supple.simulate(MODEL, record=path, resume=True, **how | {"duration": 0.3})
        np.testing.assert_array_equal(
            longer.final.q, supple.simulate(MODEL, **how | {"duration": 0.3}).final.q, strict=True
        )


def test_forces_that_end_with_the_run_are_not_asked_beyond(tmp_path):
    """Steps go beyond the end, unless a function cannot: then the last one is cut."""

    def table(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if time > 0.5:
            raise IndexError("the table ends at 0.5 s")
        return np.full(MODEL.nv, time)

    how = {"q": MODEL.random(0), **ADAPTIVE}
    run = supple.simulate(MODEL, duration=0.5, tau=table, **how)
    free = supple.simulate(MODEL, duration=0.5, tau=lambda time, q, v: np.full(MODEL.nv, time), **how)
    assert run.final.time == 0.5
    np.testing.assert_allclose(run.q, free.q, rtol=0, atol=1e-8)  # tolerances of 1e-9
    with pytest.raises(IndexError):
        supple.simulate(MODEL, duration=0.6, tau=table, **how)


def test_nothing_happens_for_as_long_as_you_like():
    """A body at rest: steps grow, but no longer than a hundred states that are kept, so that these stay exact."""
    b = supple.ModelBuilder("still", gravity=(0, 0, 0))
    b.add_body("a", mass=1.0, joint="prismatic", axis=(0, 0, 1))
    run = supple.simulate(b.build(), [1.0], [0.5], duration=30.0, dt=0.01, integrator="dop853")
    np.testing.assert_allclose(run.q[:, 0], 1.0 + 0.5 * run.times, rtol=1e-14)


def reached(path: Path) -> float:
    with Recording(path) as r:
        return float(r.segments[-1].times[-1])


def _for_long(path: Path) -> None:
    """To 50 s; after 67 s its events come ever faster, which ends it."""
    model, how = HOW["events with jumps"]
    supple.simulate(model, duration=50.0, record=path, resume=True, check_energy=False, **how)


def test_after_a_kill(tmp_path):
    """A run over at one end, gone on with, killed, gone on with to another: the bits of one."""
    model, how = HOW["events with jumps"]
    how = {"check_energy": False} | how
    path = tmp_path / "run.h5"
    supple.simulate(model, duration=0.777, record=path, **how).close()
    process = multiprocessing.get_context("spawn").Process(target=_for_long, args=(path,), daemon=True)
    process.start()
    begun = clock.monotonic()
    while reached(path) == 0.777 and clock.monotonic() - begun < 60:
        clock.sleep(0.05)
    process.kill()
    process.join()
    assert reached(path) > 0.777
    end = float(np.ceil(reached(path)) + 0.25)
    parts = supple.simulate(model, duration=end, record=path, resume=True, **how)
    whole = supple.simulate(model, duration=end, **how)
    assert parts.events == whole.events
    for a, b in zip(but_for(parts, [0.777]), but_for(whole, [0.777])):
        np.testing.assert_array_equal(a, b)
