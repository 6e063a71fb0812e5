"""Shapes that sink into height fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import types
from scipy.spatial.transform import Rotation

from supple import Contacts, ModelBuilder
from supple.contact.geometry.finding import find_touches
from supple.contact.geometry.heights import shape_on_heights
from supple.contact.memory import Scene
from supple.contact.room import ContactRoom
from supple.spatial.compiler import kernel

KINDS = ("sphere", "capsule", "box", "cylinder", "hull")
FIELDS = ("rough", "spiky", "stepped", "smooth")
SUNK = (1e-4, 4e-4, 2e-3, 0.01, 0.05)


def heights(rng: np.random.Generator, field: str) -> np.ndarray:
    if field == "rough":
        return 0.08 * rng.normal(size=(9, 9))
    if field == "spiky":
        return np.where(rng.random((9, 9)) < 0.2, rng.uniform(0.1, 0.8, (9, 9)), 0.02 * rng.random((9, 9)))
    if field == "stepped":
        return 0.15 * rng.integers(0, 3, (9, 9))
    return 0.005 * rng.normal(size=(9, 9))


def room_over(rng: np.random.Generator, kind: str, field: str) -> ContactRoom:
    """A free shape of 4 to 25 cm, and a field of a square metre."""
    b, size = ModelBuilder("field"), 0.25 * 10.0 ** rng.uniform(-0.8, 0.0, 3)
    b.add_body("body", joint="free", mass=1.0, inertia=[0.1] * 3)
    points = rng.normal(size=(20, 3))
    given = {"points": points / np.linalg.norm(points, axis=1)[:, None] * size} if kind == "hull" else {}
    b.add_shape("body", kind, size[: {"sphere": 1, "box": 3, "hull": 0}.get(kind, 2)], **given)
    b.add_shape(None, "heights", (1.0, 1.0), points=heights(rng, field))
    return ContactRoom(b.build(), np.zeros((0, 11)), Contacts())


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_has_sunk_is_no_deeper_than_it_has_sunk(kind: str, field: str) -> None:
    """From where it just touches, straight down: lifting it by as much is one way out, and no overlap is deeper than
    any way out is long."""
    rng = np.random.default_rng((KINDS.index(kind), FIELDS.index(field)))
    for _ in range(30):
        room = room_over(rng, kind, field)
        q, low, high = room.model.neutral(), -1.0, 2.0
        q[:2], q[3:7] = rng.uniform(-0.2, 0.2, 2), Rotation.from_quat(rng.normal(size=4)).as_quat()
        for _ in range(40):
            q[2] = 0.5 * (low + high)
            low, high = (low, q[2]) if room.touching(q)["gap"].min(initial=1.0) > 0.0 else (q[2], high)
        for sunk in SUNK:
            q[2] = high - sunk
            assert -room.touching(q)["gap"].min(initial=1.0) < 1.001 * sunk + 1e-5, (sunk, q)


@kernel(types.void(Scene.type), "touches of height fields with all shapes")
def try_all(scene):
    scene.n, n = 0, scene.n_shapes - scene.n_flat
    for j in range(n, scene.n_shapes):
        for i in range(n):
            A, B = scene.shapes[i], scene.shapes[j]
            shape_on_heights(scene, i, j, A.reach + A.margin + B.margin + scene.length)


def border(edges: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The corners of a height field along its border, and its highest one, in its frame."""
    x, y = (np.linspace(-0.5 * edges[k], 0.5 * edges[k], points.shape[1 - k]) for k in range(2))
    at = np.stack([*np.meshgrid(x, y), points], axis=-1)
    highest = at[np.unravel_index(points.argmax(), points.shape)]
    return np.concatenate([at[0], at[-1], at[:, 0], at[:, -1], [highest] * 20])


def many_near_fields(rng: np.random.Generator, field: str, count: int = 60) -> tuple[ContactRoom, np.ndarray]:
    """Free shapes of a few millimetres to decimetres, most of which hardly touch the borders and the tops of two fields
    that lean, or nearly do; they touch nothing else."""
    b, places = ModelBuilder("fields"), []
    for k in range(2):
        middle, edges, points = rng.uniform(-2.0, 2.0, 3), rng.uniform(0.5, 3.0, 2), heights(rng, field) + rng.normal()
        turn = Rotation.from_rotvec(0.6 * rng.normal(size=3))
        b.add_shape(None, "heights", edges, middle, turn.as_quat(), points=points, margin=0.01 * k, group=2, mask=1)
        for at in rng.choice(border(edges, points), count):
            kind, size = KINDS[len(places) % len(KINDS)], 0.2 * 10.0 ** rng.uniform(-2.0, 0.0, 3)
            given: dict[str, Any] = {"points": rng.normal(size=(12, 3)) * size} if kind == "hull" else {}
            name, size = f"b{len(places)}", size[: {"sphere": 1, "box": 3, "hull": 0}.get(kind, 2)]
            b.add_body(name, joint="free", mass=1.0, inertia=[0.1] * 3)
            b.add_shape(name, kind, size, margin=0.01 * rng.random(), group=1, mask=2, **given)
            way = rng.normal(size=3)
            away = way / np.linalg.norm(way) * rng.uniform(0.5, 1.2) * np.linalg.norm(size if len(size) else 0.1)
            places.append(turn.apply(at + away) + middle)
    room = ContactRoom(b.build(), np.zeros((0, 11)), Contacts())
    room.make_room(10_000)
    turns = rng.normal(size=(len(places), 4))
    return room, np.hstack([places, turns / np.linalg.norm(turns, axis=1)[:, None]]).ravel()


@pytest.mark.parametrize("field", FIELDS)
def test_no_shape_that_touches_a_field_is_thought_to_be_far_from_it(field: str) -> None:
    """Touches are those found without a look at how far a shape is, now and of a step to come."""
    rng, touching = np.random.default_rng(FIELDS.index(field)), 0
    for _ in range(12):
        room, q = many_near_fields(rng, field)
        room.touching(q)
        for h in (0.0, 0.02, 0.04):
            find_touches.load()(room.scene.address, h)
            found = {(t["shape"], t["other"]) for t in room.found}
            try_all.load()(room.scene.address)
            assert found == {(t["shape"], t["other"]) for t in room.found}
            touching += len(found)
    assert 2000 < touching < 4000
