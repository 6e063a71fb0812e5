"""The energy that forces store: conserved where nothing dissipates, and one thing in every kind of run."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_joint_law import any_law, every_kind, limited_model

import supple
from drawn import SETTINGS, near
from supple.integrating import joint_law
from supple.integrating.model_law import law_energy


def sledge(**servo: Any) -> supple.Model:
    builder = supple.ModelBuilder("sledge", gravity=(0, 0, 0))
    builder.add_body("sledge", joint="prismatic", axis=(1, 0, 0), mass=1.0, inertia=(0.1, 0.1, 0.1), joint_name="rail",
                     lower=-0.4, upper=0.5)  # fmt: skip
    if servo:
        builder.add_actuator(supple.Actuator("servo", "rail", **servo))
    return builder.build()


@pytest.mark.parametrize("how", [{"integrator": "rk4"}, {"method": "adaptive", "active": 1}], ids=str)
@pytest.mark.parametrize("range_", [(-2.0, 2.0), (-1.0, 3.0), (1.0, 2.0), (-5.0, 0.5)])
def test_a_limited_servo_conserves_energy(how: dict[str, Any], range_: tuple[float, float]) -> None:
    """Also one whose force is not limited alike in both directions; under any control."""
    model = sledge(gain=70.0, stiffness=100.0, bias=0.3, force_range=range_)
    for control in (0.0, 0.4, -1.0):
        run = supple.simulate(
            model, [0.3], duration=0.5, dt=2e-4, forces=[supple.Controls([control]), supple.Limits(400.0)], **how
        )
        assert np.ptp(run.kinetic) > 0.01
        assert np.ptp(run.energy) < 2e-4 * np.ptp(run.kinetic)


@pytest.mark.parametrize("how", [{"integrator": "rk4"}, {"method": "adaptive", "active": 1}], ids=str)
def test_a_limited_controller_conserves_energy(how: dict[str, Any]) -> None:
    for most in (0.5, 2.0, 20.0, np.inf):
        force = supple.Controller("rail", 100.0, target=-0.2, most=most)
        run = supple.simulate(sledge(), [0.3], duration=1.0, dt=5e-4, forces=[force], **how)
        assert np.ptp(run.energy) < 1e-3 * np.ptp(run.kinetic)


def test_where_a_servo_exerts_no_force_it_stores_nothing() -> None:
    model = sledge(gain=50.0, stiffness=100.0, force_range=(-1.0, 3.0))
    run = supple.simulate(model, [0.25], duration=0.0, forces=[supple.Controls([0.5])])
    assert run.potential[0] == pytest.approx(0.0, abs=1e-12)


@settings(SETTINGS, max_examples=80)
@given(st.integers(0, 2**32 - 1))
def test_energy_is_what_the_law_does_as_work(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law = any_law(rng)
    law.rate = 0.0
    x, y = rng.uniform(-2, 2, 2)
    stored = law_energy(np.array([law.tolist()]), np.array([[x], [y]]))
    near(stored[0] - stored[1], joint_law.law_work.py_func(law, x, y), 1e-12)


@settings(SETTINGS, max_examples=30)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_adaptive_bodies_have_the_energy_of_exact_runs(n: int, seed: int) -> None:
    """Whichever joints move, under every kind of force."""
    rng = np.random.default_rng(seed)
    model = limited_model(rng, n)
    q = model.integrate(model.neutral(), rng.uniform(-0.7, 0.7, model.nv))
    v = np.where(np.isin(model.dof_body, rng.integers(n, size=2)), rng.standard_normal(model.nv), 0.0)
    forces, tau = every_kind(model, rng)
    exact = supple.simulate(model, q, v, duration=0.0, forces=forces, tau=tau)
    body = supple.Simulation(model, q, v, duration=1.0, method="adaptive", active=n, forces=forces, tau=tau).stepper
    near(body.kinetic, exact.kinetic[0], 1e-10)
    near(body.potential, exact.potential[0], 1e-10)
    near(body.energy, exact.energy[0], 1e-10)
