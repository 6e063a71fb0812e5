"""Pushes that act for a while: their impulse is exact with every method, wherever they start and stop."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple.simulating.timed_pushes import Switches

METHODS: list[dict[str, Any]] = [
    {"integrator": "rk4"},
    {"integrator": "implicit"},
    {"integrator": "semi-implicit"},
    {"integrator": "euler"},
    {"integrator": "dop853"},
    {"integrator": "rk4", "method": "crba"},
    {"method": "adaptive", "active": 1},
    {"method": "adaptive", "error": 0.01, "guaranteed": True},
]
SECOND_ORDER = [m for m in METHODS if m.get("integrator") not in ("semi-implicit", "euler", "implicit")]
DT, END = 1e-2, 0.5


def sledge() -> supple.Model:
    builder = supple.ModelBuilder("sledge", gravity=(0, 0, 0))
    builder.add_body("sledge", joint="prismatic", axis=(1, 0, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
    return builder.build()


def push(force: float, start: float, stop: float) -> supple.Push:
    return supple.Push("sledge", (force, 0, 0), start=start, stop=stop)


def closed_form(pushes: list[supple.Push], time: float) -> tuple[float, float]:
    """Position and velocity of the sledge, which starts at rest."""
    q = v = 0.0
    for p in pushes:
        first, last = min(p.start, time), min(p.stop, time)
        if first < last:
            a = p.force[0] / 2.0
            q += a * (last - first) * (time - 0.5 * (first + last))
            v += a * (last - first)
    return q, v


def random_pushes(rng: np.random.Generator) -> list[supple.Push]:
    """Within steps, of several steps, at their instants, as close to those as numbers are, at the same instants as each
    other, of no duration, and past the end."""
    grid = DT * rng.integers(0, 50, 4)
    instants = np.concatenate(
        [
            grid,
            np.nextafter(grid, 1.0),
            grid + 1e-12,
            np.maximum(grid - 1e-12, 0.0),
            grid + 1e-4,
            rng.uniform(0.0, 0.6, 4),
            [0.0, END, 2.0, np.inf],
        ]
    )
    picked = rng.choice(instants, (5, 2))
    return [push(float(rng.uniform(-3e3, 3e3)), min(a, 1.0), b) for a, b in picked]


@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
def test_a_short_blow_is_never_missed(how: dict[str, Any]) -> None:
    """One newton second in a millisecond, wherever it is in a step."""
    for start, stop in ((0.3, 0.301), (0.3003, 0.3013), (0.2999, 0.3009), (0.305, 0.306)):
        for dt in (1e-2, 1e-3):
            run = supple.simulate(sledge(), duration=END, dt=dt, forces=[push(1000.0, start, stop)], **how)
            assert run.final.v[0] == pytest.approx(0.5, rel=1e-9), (start, dt)
            assert np.array_equal(run.times, supple.simulate(sledge(), duration=END, dt=dt, **how).times)


@pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())))
def test_impulses_are_exact_whatever_starts_and_stops(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    for _ in range(12):
        pushes = random_pushes(rng)
        run = supple.simulate(sledge(), duration=END, dt=DT, forces=pushes, check_energy=False, **how)
        scale = max(1.0, sum(abs(p.force[0]) for p in pushes))
        for k in (10, 20, 35, 50):
            q, v = closed_form(pushes, float(run.times[k]))
            assert run.v[k, 0] == pytest.approx(v, abs=1e-10 * scale), (k, pushes)
            if how in SECOND_ORDER:
                assert run.q[k, 0] == pytest.approx(q, abs=1e-10 * scale), (k, pushes)


@pytest.mark.parametrize("how", METHODS[:6], ids=lambda how: "-".join(map(str, how.values())))
def test_events_within_a_blow_leave_its_impulse_as_it_is(how: dict[str, Any]) -> None:
    """Something happens before, while and after it acts, in the same step."""
    clicks = [supple.Event(f"at {t}", lambda state, t=t: state.time - t) for t in (0.3001, 0.3007, 0.3031)]
    run = supple.simulate(sledge(), duration=END, dt=DT, forces=[push(2000.0, 0.3003, 0.3013)], events=clicks, **how)
    assert len(run.events) == 3
    assert run.final.v[0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("how", METHODS[:7], ids=lambda how: "-".join(map(str, how.values())))
def test_runs_with_blows_resume_bit_identically(how: dict[str, Any], tmp_path: Path) -> None:
    """Also from ends within a blow, and at its instants."""
    blows = [push(500.0, 0.1037, 0.1291), push(-300.0, 0.12, 0.1501), push(40.0, 0.15, np.inf)]
    settings: dict[str, Any] = {"dt": DT, "forces": blows, **how}
    whole = supple.simulate(sledge(), duration=0.2, **settings)
    for end in (0.1, 0.12, 0.13, 0.16):
        path = tmp_path / f"{end}.h5"
        supple.simulate(sledge(), duration=end, record=path, **settings)
        again = supple.simulate(sledge(), duration=0.2, record=path, resume=True, **settings)
        assert np.array_equal(again.times, whole.times)
        assert np.array_equal(again.q, whole.q) and np.array_equal(again.v, whole.v), end


def test_quasi_statics_counts_steps() -> None:
    """A push acts in the steps that begin within its time, and in no part of a step."""

    def moved(start: float, stop: float) -> int:
        run = supple.simulate(
            sledge(), duration=END, dt=DT, forces=[push(1.0, start, stop)], method="quasi-statics", error=0.0
        )
        return int(np.count_nonzero(np.diff(run.q[:, 0])))

    assert moved(0.1, 0.2) == 10
    assert moved(0.105, 0.205) == 10
    assert moved(0.1, 0.101) == 1
    assert moved(0.101, 0.109) == 0


def test_instants_of_switches() -> None:
    """Those of the grid are exactly so; what never acts has none."""
    start, stop = np.array([0.3, 0.5, 0.7, 0.0]), np.array([0.7, 0.5, 0.2, np.inf])
    switches = Switches((start, stop), 0.1)
    assert switches.after(0.0) == 3 * 0.1 != 0.3
    assert switches.after(3 * 0.1) == 7 * 0.1
    assert switches.after(0.8) == np.inf
    assert switches.before(0.8) == 7 * 0.1 and switches.before(3 * 0.1) == 0.0
