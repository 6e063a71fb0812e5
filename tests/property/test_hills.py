"""Shapes that overlap hills are found there: by points of their surfaces, which the search does not know of."""

from __future__ import annotations

import numpy as np
import pytest

from supple import Contacts, Model, ModelBuilder, poses
from supple.contact.memory import CONTACT
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from tests.touching import Floats

SIDE = 3.0  #: metres of the field, along x and y


def on_hills(kind: str, rng: np.random.Generator) -> tuple[Model, Floats, Floats]:
    """A shape over rough hills; points of its surface, in its frame; and the heights."""
    r, length, heights = rng.uniform(0.05, 0.15), rng.uniform(0.1, 0.3), rng.uniform(0.0, 0.12, (16, 16))
    turn, along = np.linspace(0.0, 2 * np.pi, 120), np.linspace(-0.5, 0.5, 60)
    b = ModelBuilder("on hills")
    b.add_body("body", joint="free", mass=1.0, inertia=(0.01, 0.01, 0.01))
    if kind == "box":
        edges = np.array([r, 1.5 * r, length])
        grid = np.stack(np.meshgrid(along, along, along[[0, -1]]), axis=-1).reshape(-1, 3)
        surface = np.concatenate([np.roll(grid, k, axis=1) for k in range(3)]) * edges
        b.add_shape("body", kind, edges)
    else:
        surface = np.array([(r * np.cos(a), r * np.sin(a), length * z) for a in turn for z in along])
        b.add_shape("body", kind, (r, length))
    b.add_shape(None, "heights", (SIDE, SIDE), points=heights)
    return b.build(), surface, heights


def lowest(heights: Floats, at: Floats) -> float:
    """How high points are above the surface, at least; negative below it. Cells are divided from their corner with the
    lowest indices to that with the highest."""
    x, y = ((at[:, k] / SIDE + 0.5) * (len(heights) - 1) for k in range(2))
    i, k = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = x - i, y - k
    a, d = heights[k, i], heights[k + 1, i + 1]
    first = a + fx * (heights[k, i + 1] - a) + fy * (d - heights[k, i + 1])
    second = a + fy * (heights[k + 1, i] - a) + fx * (d - heights[k + 1, i])
    return float((at[:, 2] - np.where(fx > fy, first, second)).min())


@pytest.mark.parametrize("kind", ["cylinder", "capsule", "box"])
def test_what_overlaps_hills_is_found(kind: str) -> None:
    """Also where the normals of all ridges inside a shape lean into the field."""
    rng = np.random.default_rng(1)
    for trial in range(150):
        model, surface, heights = on_hills(kind, rng)
        room, q, turn = ContactRoom(model, np.zeros((0, LAW)), Contacts()), model.neutral(), rng.normal(size=4)
        q[:2], q[3:7] = rng.uniform(-1.0, 1.0, 2), turn / np.linalg.norm(turn)
        above = lowest(heights, surface @ poses(model, q)[0].rotation.T + q[:3])
        for deep in (0.005, 0.01, 0.02):
            q[2] = -deep - above
            found = room.touching(q)
            assert found["gap"][found["kind"] == CONTACT].min(initial=1.0) < -5e-4, (kind, trial, deep)
