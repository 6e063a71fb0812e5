"""The law of pushes: its energy is the work of its forces; exact and adaptive runs use it alike."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple.simulating.forces import Forces

FORCES = {
    "push": supple.Push("b", force=(1, -2, 3), point=(0.3, 0.1, -0.2)),
    "spring": supple.Spring("b", (0.5, 1, -0.4), 7.0, (0.3, 0.1, -0.2)),
    "spring of some length": supple.Spring("b", (0.5, 1, -0.4), 7.0, (0.3, 0.1, -0.2), length=0.6),
}


@pytest.fixture(scope="module")
def free():
    builder = supple.ModelBuilder("free")
    builder.add_body("b", "world", "free", mass=2.0, inertia=np.diag([0.3, 0.3, 0.3]), com=(0.1, 0.0, 0.2))
    return builder.build()


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    return model.integrate(model.neutral(), rng.standard_normal(6), 1.0), rng.standard_normal(6)


@pytest.mark.parametrize("name", FORCES)
def test_energy_is_the_work_of_the_force(free, name):
    forces, (q, v), h = Forces(free, [FORCES[name]], None), state(free), 1e-5
    _, wrenches = forces(0.0, q, v)
    before, after = forces.energy(np.array([free.integrate(q, v, -h), free.integrate(q, v, h)]))
    twist = supple.velocities(free, q, v).spatial[0]
    R = supple.poses(free, q).rotation[0]
    power = wrenches[0, :3] @ (R.T @ twist[:3]) + wrenches[0, 3:] @ (R.T @ twist[3:])
    assert (before - after) / (2 * h) == pytest.approx(power, rel=1e-8)  # central differences: h^2 = 1e-10


def test_a_spring_at_its_anchor_pulls_nowhere_and_has_the_energy_of_its_length(free):
    spring = supple.Spring("b", (0, 0, 0), 7.0, length=0.6)
    forces, q = Forces(free, [spring], None), free.neutral()
    assert not forces(0.0, q, np.zeros(6))[1].any()
    assert forces.energy(q[None]) == pytest.approx([0.5 * 7.0 * 0.6**2])


@pytest.mark.parametrize("frame", ["world", "body"])
def test_exact_and_adaptive_runs_push_alike(free, frame):
    """World axes in adaptive dynamics, those of the body in exact dynamics: the same accelerations."""
    q, v = state(free, 1)
    push, spring = supple.Push("b", (1, -2, 3), (0.3, 0.1, -0.2), (0.1, 0.2, -0.3), frame), FORCES["spring"]
    tau, wrenches = Forces(free, [push, spring], None)(0.0, q, v)
    exact = supple.forward_dynamics(free, q, v, tau, wrenches)
    ad, h = supple.AdaptiveDynamics(free, q, v), 1e-6
    ad.apply("b", (1, -2, 3), (0.3, 0.1, -0.2), (0.1, 0.2, -0.3), frame)
    ad.spring("b", spring.anchor, spring.stiffness, spring.point)
    ad.step(h)
    np.testing.assert_allclose((ad.v - v) / h, exact, rtol=0, atol=1e-4 * np.abs(exact).max())
