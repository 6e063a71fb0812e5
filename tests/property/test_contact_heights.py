"""Shapes that sink into height fields."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple import Contacts, ModelBuilder
from supple.contact.room import ContactRoom

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
