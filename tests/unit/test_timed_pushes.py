"""Pushes that act for a limited time: by every method, and across an interruption."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import Push

MASS, FORCE, START, STOP = 2.0, 3.0, 0.2, 0.5


def slider() -> supple.Model:
    b = supple.ModelBuilder("slider", gravity=(0, 0, 0))
    b.add_body("block", joint="prismatic", axis=(1, 0, 0), mass=MASS, inertia=(0.1, 0.1, 0.1))
    return b.build()


PUSH = Push("block", (FORCE, 0, 0), start=START, stop=STOP)


@pytest.mark.parametrize("how", [{"method": "aba"}, {"method": "adaptive"}, {"integrator": "dop853"}], ids=str)
def test_the_impulse_is_force_times_time(how):
    dt = 1e-3
    r = supple.simulate(slider(), duration=0.8, dt=dt, forces=[PUSH], **how)
    speed = np.clip(FORCE / MASS * (r.times - START), 0.0, FORCE / MASS * (STOP - START))
    np.testing.assert_allclose(r.v[:, 0], speed, atol=FORCE / MASS * dt)
    assert (r.v[r.times < START] == 0.0).all() and r.v[-1, 0] == pytest.approx(speed[-1], rel=1e-2)
    assert "from 0.2 to 0.5 s" in repr(PUSH) and not PUSH.always
    np.testing.assert_allclose(r.potential, 0.0)  # it is not there all the time: it has no potential


def test_quasi_statics_moves_while_it_is_pushed():
    r = supple.simulate(slider(), duration=0.8, dt=0.1, method="quasi-statics", forces=[PUSH])
    step = 0.5 * 0.1**2 * FORCE / MASS
    np.testing.assert_allclose(np.diff(r.q[:, 0]), step * np.array([0, 0, 1, 1, 1, 0, 0, 0]), atol=1e-12)


def test_scaled_pushes_keep_their_time():
    run = supple.Simulation(slider(), duration=0.8, dt=0.01, method="adaptive", forces=[PUSH])
    run.scale_pushes(2.0)
    states = list(run)
    assert states[20].v[0] == 0.0
    assert states[-1].v[0] == pytest.approx(2 * FORCE / MASS * (STOP - START))


@pytest.mark.parametrize("method", ["adaptive", "quasi-statics", "aba"])
@pytest.mark.parametrize("until", [0.1, 0.2, 0.35, 0.5, 0.6])
def test_a_run_that_is_resumed_is_the_same(method: str, until: float, tmp_path):
    """... wherever it ended: before, at the beginning, while pushed, at the end, and after it."""
    chain = supple.trees.chain(12)
    forces = [Push(5, (0, 3, 0), start=0.2, stop=0.5), Push(5, (1, 0, 0), (0.1, 0, 0)), Push(9, (0, 0, 5), stop=0.35)]
    how = dict(dt=0.01, method=method, forces=forces) | ({"active": 5} if method == "adaptive" else {})
    whole = supple.simulate(chain, duration=0.8, **how)
    supple.simulate(chain, duration=until, record=tmp_path / "run.h5", **how)
    r = supple.simulate(chain, duration=0.8, record=tmp_path / "run.h5", resume=True, **how)
    np.testing.assert_array_equal(r.q, whole.q)
    np.testing.assert_array_equal(r.v, whole.v)
    r.close()
    other = how | {"forces": [Push(5, (0, 3, 0), start=0.3, stop=0.5), *forces[1:]]}
    with pytest.raises(supple.RecordingError, match=r"start 0\.2, not 0\.3"):
        supple.simulate(chain, duration=0.9, record=tmp_path / "run.h5", resume=True, **other)
