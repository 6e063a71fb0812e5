"""Dry friction stops joints and never speeds them up: however light what they turn is, in any posture, with any
integrator, in steps of a millisecond."""

from typing import Any

import numpy as np
import pytest

import supple
from supple.integrating.model_law import slip_speeds

METHODS: list[dict[str, Any]] = [
    {},
    {"integrator": "rk4"},
    {"integrator": "semi-implicit"},
    {"integrator": "euler"},
    {"integrator": "implicit"},
    {"integrator": "rk4", "method": "crba"},
    {"method": "adaptive"},
    {"method": "adaptive", "error": 0.01, "guaranteed": True},
]
every_method = pytest.mark.parametrize("how", METHODS, ids=lambda how: "-".join(map(str, how.values())) or "default")


def run(model: supple.Model, q: Any, v: Any, duration: float, how: dict[str, Any], **more: Any) -> supple.Result:
    active = {"active": model.n_bodies} if how == {"method": "adaptive"} else {}
    return supple.simulate(model, q, v, duration=duration, dt=1e-3, **how, **active, **more)


@every_method
@pytest.mark.parametrize("inertia", [1.0, 1e-2, 1e-3, 1e-4])
def test_a_heavy_wheel_on_a_light_body_stops(how: dict[str, Any], inertia: float) -> None:
    builder = supple.ModelBuilder("drone", gravity=(0, 0, 0))
    builder.add_body("frame", joint="free", mass=1.0, inertia=np.eye(3) * inertia)
    builder.add_body("wheel", "frame", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3), friction=1.0)
    model = builder.build()
    went = run(model, None, [0.0] * 6 + [0.1], 0.3, how)
    assert np.abs(went.v[:, 6]).max() <= 0.1
    assert np.abs(went.v[-100:, 6]).max() <= 1.01e-3
    assert (np.diff(went.kinetic) < 1e-6 * went.kinetic[0]).all()


@every_method
def test_a_turntable_stops_wherever_its_weight_is(how: dict[str, Any]) -> None:
    """Its inertia is 2,500 times that of the neutral position, or less."""
    builder = supple.ModelBuilder("turntable", gravity=(0, 0, 0))
    builder.add_body("table", axis=(0, 0, 1), mass=0.1, inertia=(1e-4,) * 3, friction=1.0)
    builder.add_body("weight", "table", "prismatic", axis=(1, 0, 0), position=(0.5, 0, 0), mass=2.0,
                     inertia=(1e-4,) * 3)  # fmt: skip
    model = builder.build()
    for x in (0.0, -0.4, -0.5, -0.6):
        hold = supple.Controller(1, 1e4, 300.0, target=x)
        went = run(model, [0.0, x], [0.01, 0.0], 0.2, how, forces=[hold])
        assert np.abs(went.v[:, 0]).max() <= 0.0101
        assert np.abs(went.v[-50:, 0]).max() <= 1.2 * slip_speeds(model)[0]


def random_model(rng: np.random.Generator) -> supple.Model:
    """A chain or tree of bodies whose inertias differ by thousands, most of whose joints have friction."""
    builder = supple.ModelBuilder(gravity=(0, 0, 0))
    for i in range(int(rng.integers(2, 7))):
        kind = "free" if i == 0 and rng.random() < 0.6 else str(rng.choice(["revolute", "prismatic", "universal"]))
        mass = float(10.0 ** rng.uniform(-2.0, 0.3))
        friction = 0.0 if kind == "free" or rng.random() < 0.2 else float(rng.uniform(0.5, 2.0))
        axis = rng.standard_normal(3)
        builder.add_body(
            None, None if i == 0 else int(rng.integers(max(0, i - 2), i)), kind, axis=axis,
            axis2=np.cross(axis, rng.standard_normal(3)), position=0.3 * rng.standard_normal(3), mass=mass,
            com=0.2 * rng.standard_normal(3), inertia=np.eye(3) * mass * 10.0 ** rng.uniform(-4.0, -1.0),
            friction=friction,
        )  # fmt: skip
    return builder.build()


@every_method
def test_friction_only_takes_energy(how: dict[str, Any]) -> None:
    """From a random posture, with all joints moving, whatever the others do to each."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = random_model(rng)
        v = rng.uniform(-0.3, 0.3, model.nv)
        went = run(model, model.random(rng), v, 0.25, how)
        rough = how.get("integrator") in ("euler", "semi-implicit") or "guaranteed" in how
        small = 1e-3 if rough else 1e-5
        assert (went.kinetic - np.minimum.accumulate(went.kinetic)).max() < small * went.kinetic[0], seed


def test_a_joint_that_slides_is_retarded_to_the_order_of_the_integrator() -> None:
    """Steps are taken otherwise only where friction jumps: v = v0 - F t / M, exactly, for all of them."""
    builder = supple.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("wheel", axis=(0, 0, 1), mass=1.0, inertia=(0.5,) * 3, friction=0.2)
    model = builder.build()
    for how in METHODS:
        if how.get("integrator", "implicit") != "implicit" or how.get("method"):
            went = run(model, None, [1.0], 1.0, how)
            np.testing.assert_allclose(went.v[:, 0], 1.0 - 0.4 * went.times, rtol=1e-12)
