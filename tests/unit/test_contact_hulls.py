"""Hulls of many corners, which are climbed, against looking at all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple import Contacts, ModelBuilder, simulate
from supple.contact.geometry.hulls import SCANNED, SECTORS, graph_of
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from supple.model import shapes
from supple.model.shapes import corners


def potato(rng: np.random.Generator) -> np.ndarray:
    points = rng.normal(size=(300, 3))
    return points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.1, 0.3, 3)


def prism(rng: np.random.Generator) -> np.ndarray:
    """Whose ends have many corners each, all of them farthest at once."""
    angle = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    ring = np.column_stack([0.2 * np.cos(angle), 0.15 * np.sin(angle), np.full(40, 0.1)])
    return np.concatenate([ring, ring * (1, 1, -1)])


@pytest.mark.parametrize("kinds", [(potato, potato), (potato, prism), (prism, prism)])
def test_touches_are_those_of_looking_at_all_corners(kinds) -> None:
    rng, b, several = np.random.default_rng(3), ModelBuilder("hulls"), 0
    for i, kind in enumerate(kinds):
        b.add_body(f"hull{i}", joint="free", mass=1.0, inertia=[0.1] * 3)
        b.add_shape(f"hull{i}", "hull", points=kind(rng))
    model = b.build()
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    room.scene.length, placed = 0.02, room.scene.shapes
    graph = placed["graph"].copy()
    assert (placed["count"] > SCANNED).all() and (graph >= 0).all()
    for _ in range(60):
        q, way = model.neutral(), rng.normal(size=3)
        q[:3] = way / np.linalg.norm(way) * rng.uniform(0.2, 0.5)
        q[3:7], q[10:14] = Rotation.random(2, random_state=rng).as_quat()
        placed["graph"] = graph
        climbed = room.touching(q).copy()
        placed["graph"] = -1
        scanned = room.touching(q)
        assert len(climbed) == len(scanned)
        for name in ("gap", "n", "point"):
            np.testing.assert_allclose(climbed[name], scanned[name], rtol=0, atol=1e-12)
        several += len(climbed) > 0
    assert several > 20


def climbed_by_hand(points: np.ndarray, way: np.ndarray) -> float:
    graph, far = graph_of(points, 0), points @ way
    corner, starts = graph[0], graph[SECTORS:]  # sector 0 is that of (2, 1, 1)
    while (best := max([corner, *graph[starts[corner] : starts[corner + 1]]], key=lambda k: far[k])) != corner:
        corner = best
    return float(far[corner])


@pytest.mark.parametrize("flat", [1.0, 1e-3, 1e-5])
@pytest.mark.parametrize("apart", [1e-13, 1e-12, 1e-11])
def test_corners_that_nearly_coincide_are_one(flat: float, apart: float) -> None:
    """Otherwise some have no edges, and climbs end at them. The corners of corners are the same, as recordings need."""
    rng = np.random.default_rng(0)
    ball = potato(rng)[:100] * (1.0, 1.0, flat)
    points = corners("a hull", np.concatenate([ball + apart * rng.normal(size=ball.shape) for _ in range(3)]) + 100.0)
    assert SCANNED < len(points) <= 100
    shapes._KNOWN.clear()
    assert len(corners("a hull", points)) == len(points)
    for way in np.abs(rng.normal(size=(30, 3))) + (3.0, 0.0, 0.0):
        assert climbed_by_hand(points, way) > (points @ way).max() - 1e-8


def test_a_foot_with_a_chamfer_stands_on_its_sole() -> None:
    """The corners of the chamfer are farther out than those of the sole, and hardly higher."""
    rings = [(0.1, 0.0), (0.1015, 0.0006), (0.05, 0.3)]
    points = [(x * r, y * r, z) for r, z in rings for x in (-1, 1) for y in (-1, 1)]
    b = ModelBuilder("foot")
    b.add_body("foot", joint="free", mass=2.0, com=(0, 0, 0.1), inertia=[0.01] * 3)
    b.add_shape("foot", "hull", points=points)
    run = simulate(b.build(), duration=0.2, dt=0.005, contacts=Contacts(ground=0.0))
    assert run.kinetic.max() < 1e-12
    assert len(run.contacts(-1)) == 4
