"""How touches of two shapes share their force, as results report it [simulating/sharing.py]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supple import Contacts, ModelBuilder, scenes, simulate
from supple.simulating.sharing import share_evenly
from tests.touching import Floats

G = 9.81


def touches(rng: np.random.Generator, n: int, mu: float, kind: str) -> Floats:
    """Rows of n touches of shapes 0 and 1, about a point far away, with friction within its cones and, of some, at
    their rims."""
    points, normal = rng.normal(size=(n, 3)), rng.normal(size=3)
    normals = np.tile(normal / np.linalg.norm(normal), (n, 1))
    if kind == "plane":
        points -= (points * normals).sum(axis=1)[:, None] * normals
    elif kind == "line":
        points = np.outer(rng.normal(size=n), normals[0] if n % 2 else rng.normal(size=3))
    elif kind == "curved":
        normals += 0.3 * rng.normal(size=(n, 3))
        normals /= np.linalg.norm(normals, axis=1)[:, None]
    across = np.cross(normals, rng.normal(size=(n, 3)))
    across /= np.linalg.norm(across, axis=1)[:, None]
    pressure, share = rng.exponential(size=(n, 1)), np.minimum(1.5 * rng.random((n, 1)), 1.0)
    rows = np.zeros((n, 15))
    rows[:, 1], rows[:, 3:6], rows[:, 6:9] = 1, points + 5.0, normals
    rows[:, 9:12] = pressure * (normals + mu * share * across)
    return rows


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.sampled_from(["plane", "line", "curved", "any"]))
def test_shared_forces_do_the_same_within_their_cones(seed: int, n: int, kind: str) -> None:
    """Their sum and moment are the same; none pulls, friction is within its cone, and none of this takes more force."""
    rng = np.random.default_rng(seed)
    mu = float(rng.choice([0.0, rng.uniform(0.01, 3.0)]))
    rows = touches(rng, n, mu, kind)
    other = touches(rng, 3, mu, "plane")  # another state does not take part
    shared, _ = share_evenly([rows, other], np.array([mu, -1.0]))
    np.testing.assert_array_equal(np.delete(shared, [9, 10, 11], axis=1), np.delete(rows, [9, 10, 11], axis=1))
    f, g, normal = rows[:, 9:12], shared[:, 9:12], rows[:, 6:9]
    size = np.abs(f).sum()
    np.testing.assert_allclose(g.sum(axis=0), f.sum(axis=0), atol=1e-12 * size)
    np.testing.assert_allclose(np.cross(rows[:, 3:6], g - f).sum(axis=0), 0.0, atol=1e-9 * size)
    along = (g * normal).sum(axis=1)
    across = np.linalg.norm(g - along[:, None] * normal, axis=1)
    assert (along >= -1e-15 * size).all() and (across <= mu * along * (1 + 1e-9) + 1e-13 * size).all()
    assert (g * g).sum() <= (f * f).sum() * (1 + 1e-12)


@pytest.mark.parametrize("slip", [0.0, 0.1])
def test_friction_that_pulls_against_itself_is_not_reported_unless_bodies_slide(slip: float) -> None:
    corners = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, -1.0, 0.0]])
    rows = np.zeros((4, 15))
    rows[:, 1], rows[:, 3:6], rows[:, 8], rows[:, 12] = 1, corners, 1.0, slip
    rows[:, 9:12] = 0.5 * corners + [0.1, 0.0, 1.0]
    (shared,) = share_evenly([rows], np.array([0.8, 0.9]))
    wanted = rows[:, 9:12] if slip else np.tile([0.1, 0.0, 1.0], (4, 1))
    np.testing.assert_allclose(shared[:, 9:12], wanted, atol=1e-12)


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 1}])
def test_a_box_that_was_thrown_down_stands_on_each_corner_alike(how: dict[str, Any]) -> None:
    b = ModelBuilder("box")
    b.add_body("box", joint="free", mass=2.0, inertia=[0.02] * 3)
    b.add_shape("box", "box", [0.4, 0.3, 0.2], friction=0.9)
    model = b.build()
    q, v = model.neutral(), np.zeros(6)
    q[2], v[:] = 0.15, (0.3, -0.2, -1.0, 0.5, 1.0, 0.8)
    r = simulate(model, q, v, duration=2.0, contacts=Contacts(ground=0.0), **how)
    last = r.contacts(-1)
    np.testing.assert_allclose([c.force for c in last], np.tile([0, 0, 2.0 * G / 4], (4, 1)), atol=1e-3)


def test_a_robot_stands_without_spreading_its_feet() -> None:
    scene = scenes.standing_robot()
    r = simulate(
        scene.model, scene.q0, duration=1.5, dt=scene.dt, forces=scene.all_forces(), contacts=scene.contacts, every=50
    )
    last = r.contacts(-1)
    assert len(last) == 8
    assert max(np.linalg.norm(c.force - c.pressure * c.normal) / c.pressure for c in last) < 0.1
    weight = scene.model.total_mass * G
    np.testing.assert_allclose(sum(c.pressure for c in last), weight, rtol=1e-3)
    assert max(c.pressure for c in last) < weight / 4
