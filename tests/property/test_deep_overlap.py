"""Shapes that begin deep inside each other, or inside hills, come apart by the shortest way or nearly so, at rest."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple import Contacts, Model, ModelBuilder, poses, simulate
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from tests.law_of_contact import lowest_points

KINDS = ("sphere", "capsule", "box", "cylinder", "hull")
NUMBERS = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "hull": 0}


def add(b: ModelBuilder, name: str, kind: str, size: np.ndarray, rng: np.random.Generator, **how: Any) -> None:
    if kind == "hull":
        points = rng.normal(size=(20, 3))
        how["points"] = points / np.linalg.norm(points, axis=1)[:, None] * size
    b.add_body(name, joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_shape(name, kind, size[: NUMBERS[kind]], **how)


def touches(model: Model, q: np.ndarray, near: float = 1e-4) -> np.ndarray:
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    room.scene.length = near
    return room.touching(q).copy()


@pytest.mark.parametrize("kinds", [*itertools.combinations_with_replacement(KINDS, 2)], ids="-".join)
@pytest.mark.parametrize("how", ["same place", "turned", "off"])
def test_shapes_inside_each_other_come_apart(kinds: tuple[str, str], how: str) -> None:
    """Along a line, by at most half as much again as the overlap; nothing moves afterwards."""
    for seed in range(2):
        rng = np.random.default_rng((seed, 7))
        b = ModelBuilder("pair", gravity=(0, 0, 0))
        for i, kind in enumerate(kinds):
            add(b, f"body{i}", kind, rng.uniform(0.06, 0.2, 3), rng)
        model = b.build()
        q = model.neutral()
        if how != "same place":
            q[3:7] = Rotation.from_quat(rng.normal(size=4)).as_quat()
        if how == "off":
            q[:3] = rng.normal(size=3) * 0.03
        deep = -touches(model, q)["gap"].min()
        r = simulate(model, q, duration=0.1, dt=2e-3, contacts=True)
        assert touches(model, r.q[-1])["gap"].min(initial=0.0) > -1e-5, seed
        assert np.abs(r.v).max() < 1e-9 and np.ptp(r.q[:, :3] + r.q[:, 7:10], axis=0).max() < 1e-9
        way = r.q[:, :3] - r.q[:, 7:10]
        moved, path = np.linalg.norm(way[-1] - way[0]), np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
        assert moved < 1.5 * deep and path < 1.2 * moved + 1e-6, seed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rough", [0.12, 0.5])
def test_shapes_inside_hills_come_out(kind: str, rough: float) -> None:
    """Shapes larger and smaller than a cell, up to a metre below the surface."""
    for seed, (size, depth) in enumerate(itertools.product((0.1, 0.4), (0.1, 1.0))):
        rng = np.random.default_rng((seed, 11))
        heights = rng.uniform(0, rough, (12, 12))
        b = ModelBuilder("hills")
        add(b, "body", kind, rng.uniform(0.3, 1.0, 3) * size, rng, friction=0.5)
        b.add_shape(None, "heights", (2.4, 2.4), points=heights, friction=0.5)
        model = b.build()
        q = model.neutral()
        q[:3], q[3:7] = (0.0, 0.0, 0.5 * rough - depth), Rotation.from_quat(rng.normal(size=4)).as_quat()
        r = simulate(model, q, duration=0.4, dt=2e-3, every=200, contacts=True)
        place, shape = poses(model, r.q[-1]), model.shape_list[0]
        middle = shape.points.mean(axis=0) if shape.points is not None else np.zeros(3)
        x, y, z = place.position[0] + place.rotation[0] @ middle
        cell = 2.4 / 11
        around = heights[int((y + 1.2) // cell) :, int((x + 1.2) // cell) :][:2, :2]
        assert z > around.min() and -lowest_points(shape, place.rotation[0], place.position[0], (0, 0, -1.0)) > -0.01
        assert touches(model, r.q[-1])["gap"].min(initial=0.0) > -1e-3, seed


def test_thin_capsules_that_cross_at_a_small_angle_meet() -> None:
    """Where their lines cross, not at the ends of what they have side by side."""
    for degrees in (0.2, 1.0, 1.7, 3.0, 60.0):
        b = ModelBuilder("cross", gravity=(0, 0, 0))
        for i in range(2):
            b.add_body(f"rod{i}", joint="free", mass=1.0, inertia=(0.1, 0.1, 0.01))
            b.add_shape(f"rod{i}", "capsule", (1e-3, 1.0))
        model = b.build()
        q = model.neutral()
        q[1], q[3:7] = 2.5e-3, Rotation.from_euler("y", degrees, degrees=True).as_quat()
        found = touches(model, q, 1e-3)
        assert found["gap"].min() == pytest.approx(5e-4, abs=1e-9), degrees


@pytest.mark.parametrize("kind", ["box", "cylinder", "hull"])
def test_parallel_edges_touch_at_both_ends(kind: str) -> None:
    """Bars beside each other, edge to edge or line to line for all of their length."""
    corners = np.array([[x, y, z] for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.2, 0.2)])
    size = {"box": (0.1, 0.1, 0.4), "cylinder": (0.05, 0.4), "hull": ()}[kind]
    b = ModelBuilder("bars", gravity=(0, 0, 0))
    for i in range(2):
        b.add_body(f"bar{i}", joint="free", mass=1.0, inertia=(0.1, 0.1, 0.01))
        b.add_shape(f"bar{i}", kind, size, points=corners if kind == "hull" else None)
    model = b.build()
    q = model.neutral()
    edge = 0.05 if kind == "cylinder" else 0.05 * np.sqrt(2)
    q[0] = 2.0 * edge + 1e-5
    for at, tilt in ((3, 0.0), (10, 1e-5)):
        q[at : at + 4] = (Rotation.from_euler("x", tilt) * Rotation.from_euler("z", np.pi / 4)).as_quat()
    found = touches(model, q)
    assert np.ptp(found["point"][:, 2]) > 0.39 and 0.0 < found["gap"].max() < 1.3e-5
    np.testing.assert_allclose(np.abs(found["n"][:, 0]), 1.0, atol=1e-3)


def test_hulls_touch_alike_wherever_their_origins_are() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(2, 20, 3))
    points = 0.1 * points / np.linalg.norm(points, axis=2)[:, :, None]
    found = []
    for away in (np.zeros(3), np.array([3.0, -10.0, 5.0])):
        b = ModelBuilder("hulls")
        for i in range(2):
            b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.01] * 3)
            b.add_shape(f"body{i}", "hull", points=points[i] + away, position=-away)
        model = b.build()
        q = model.neutral()
        for q[2] in np.arange(0.1, 0.2, 0.005):
            found.append(touches(model, q, 0.01)["gap"])
    for one, two in zip(found[: len(found) // 2], found[len(found) // 2 :]):
        assert len(one) == len(two)
        np.testing.assert_allclose(one, two, atol=1e-9)
