"""Dry friction stops joints and never speeds them up: however light what they turn is, in any posture, with any
integrator, in steps of a millisecond."""

from typing import Any

import numpy as np
import pytest

import supple
from supple.integrating.joint_law import new_rows
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


def wheel_on_a_frame(friction: float = 0.0) -> supple.Model:
    builder = supple.ModelBuilder("drone", gravity=(0, 0, 0))
    builder.add_body("frame", joint="free", mass=1.0, inertia=np.eye(3) * 1e-4)
    builder.add_body("wheel", "frame", axis=(0, 0, 1), mass=1.0, inertia=np.eye(3), friction=friction)
    return builder.build()


def test_a_controller_that_becomes_friction_stops_its_joint() -> None:
    """As friction of the model does, to the last bit: a limited damper in the place of a spring is found out."""
    slip = slip_speeds(wheel_on_a_frame(1.0))[6]
    v = [0.0] * 6 + [0.1]
    rubbed = supple.AdaptiveDynamics(wheel_on_a_frame(1.0), v=v, active=2)
    held = supple.AdaptiveDynamics(wheel_on_a_frame(), v=v, active=2)
    held.control("wheel_joint", 5.0, 0.1)
    held.control("wheel_joint", 0.0, 1.0 / slip, most=1.0)
    for ad in (rubbed, held):
        ad.run(0.2, 1e-3)
    assert abs(held.v[6]) <= 1.01e-3
    np.testing.assert_array_equal(held.v, rubbed.v)


@pytest.mark.parametrize("guaranteed", [False, True])
def test_a_body_without_friction_moves_as_if_it_were_looked_for(guaranteed: bool) -> None:
    """Kernels skip friction, and laws of joints, where there are none: the same numbers as of a look at each joint."""
    scene = supple.scenes.crowd(1, 2, puppets=False)
    ends = []
    for looked_for in (0, 1):
        how = {"error": 0.1, "guaranteed": True} if guaranteed else {"active": 12}
        ad = supple.AdaptiveDynamics(scene.model, scene.q0, update_every=3, **how)
        for b, force in zip(scene.pushes.bodies.tolist(), scene.pushes.forces):
            ad.apply(b, force=force, frame="body")
        memory = ad._hybrid.memory
        assert memory.n_rows == memory.has_friction == 0
        if looked_for:
            ad.joint_law(new_rows(scene.model, np.array([20])))  # of a law that does nothing
            memory.has_friction = 1
        ad.run(0.02, 1e-3)
        ends.append((ad.q.copy(), ad.v.copy(), ad.energy))
    for one, other in zip(*ends):
        np.testing.assert_array_equal(one, other)
