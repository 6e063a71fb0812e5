"""Systems whose motion is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

import supple

G = 9.81


def test_pendulum():
    """A rod about its end: (I + m c^2) a = -m g c sin q."""
    b = supple.ModelBuilder()
    b.add_body("rod", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.5), inertia=(0.3, 0.3, 0.01))
    model = b.build()
    for angle in np.linspace(-3, 3, 13):
        expected = -2.0 * G * 0.5 * np.sin(angle) / (0.3 + 2.0 * 0.25)
        np.testing.assert_allclose(supple.forward_dynamics(model, [angle], [0.7])[0], expected, rtol=1e-14, atol=1e-14)


def test_double_pendulum():
    """Two point masses on massless rods: the textbook's equations of motion in absolute angles."""
    m1, m2, l1, l2 = 1.3, 0.7, 0.9, 1.1
    b = supple.ModelBuilder()
    upper = b.add_body("upper", joint="revolute", axis=(0, -1, 0), mass=m1, com=(0, 0, -l1))
    b.add_body("lower", upper, "revolute", axis=(0, -1, 0), position=(0, 0, -l1), mass=m2, com=(0, 0, -l2))
    model = b.build()
    t1, t2, w1, w2 = 0.4, -1.1, 1.5, -0.6
    d = t1 - t2
    M = np.array([[(m1 + m2) * l1**2, m2 * l1 * l2 * np.cos(d)], [m2 * l1 * l2 * np.cos(d), m2 * l2**2]])
    f = -np.array(
        [
            m2 * l1 * l2 * w2**2 * np.sin(d) + (m1 + m2) * G * l1 * np.sin(t1),
            -m2 * l1 * l2 * w1**2 * np.sin(d) + m2 * G * l2 * np.sin(t2),
        ]
    )
    absolute = np.linalg.solve(M, f)
    a = supple.forward_dynamics(model, [t1, t2 - t1], [w1, w2 - w1])
    np.testing.assert_allclose([a[0], a[0] + a[1]], absolute, rtol=1e-13)


def test_screw_under_gravity():
    """A nut on a vertical screw: (I + m p^2) a = -m g p."""
    b = supple.ModelBuilder()
    b.add_body("nut", joint="screw", axis=(0, 0, 1), pitch=0.2, mass=3.0, inertia=(0.1, 0.1, 0.05))
    model = b.build()
    a = supple.forward_dynamics(model, [0.3], [1.0])[0]
    np.testing.assert_allclose(a, -3.0 * G * 0.2 / (0.05 + 3.0 * 0.04), rtol=1e-14)
    np.testing.assert_allclose(supple.poses(model, [0.3]).position[0], [0, 0, 0.06], atol=1e-15)


def test_euler_top():
    """A free body without gravity: I dw/dt = -w x I w about its centre."""
    I = np.diag([1.0, 2.0, 2.5])
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("top", joint="ball", mass=1.0, inertia=I)
    w = np.array([0.3, -1.2, 0.8])
    a = supple.forward_dynamics(b.build(), [0, 0, 0, 1], w)
    np.testing.assert_allclose(a, -np.linalg.solve(I, np.cross(w, I @ w)), rtol=1e-14)


def test_falling_free_body():
    """Linear velocity in the body's frame: in free fall dv/dt = R^T g - w x v."""
    b = supple.ModelBuilder()
    b.add_body("stone", joint="free", mass=4.0, inertia=(1.0, 1.5, 2.0))
    model = b.build()
    q = model.normalize([1, 2, 3, 0.1, -0.4, 0.3, 0.8])
    v = np.array([0.4, -0.2, 0.1, 0.9, 0.5, -0.7])
    a = supple.forward_dynamics(model, q, v)
    R = supple.poses(model, q).rotation[0]
    np.testing.assert_allclose(a[:3], R.T @ [0, 0, -G] - np.cross(v[3:], v[:3]), atol=1e-14)


def test_atwood_by_two_trees():
    """Trees on the world do not feel each other."""
    b = supple.ModelBuilder()
    for i in range(3):
        b.add_body(f"weight {i}", joint="prismatic", axis=(0, 0, 1), mass=i + 1.0)
    a = supple.forward_dynamics(b.build(), np.zeros(3), np.zeros(3), [0.0, 5.0, -2.0])
    np.testing.assert_allclose(a, [-G, 2.5 - G, -2.0 / 3.0 - G], rtol=1e-14)


@pytest.mark.parametrize("method", ["aba", "crba", "dense"])
def test_armature_and_damping(method):
    """(I + armature) a = tau - damping v for a wheel about its axle."""
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    b.add_body("wheel", joint="continuous", mass=1.0, inertia=(1, 1, 0.5), armature=0.25, damping=0.4)
    a = supple.forward_dynamics(b.build(), [0.0], [2.0], [3.0], method=method)
    np.testing.assert_allclose(a, (3.0 - 0.8) / 0.75, rtol=1e-14)


def test_a_long_chain_hangs_still():
    """20,000 links hanging straight down, at rest: every acceleration is zero, and stays so though H is badly
    conditioned."""
    model = supple.trees.chain(20_000, joint="revolute", general=False)
    q = model.neutral()
    tau = supple.bias_force(model, q)
    a = supple.forward_dynamics(model, q, np.zeros(model.nv), tau)
    assert np.abs(a).max() < 1e-6
