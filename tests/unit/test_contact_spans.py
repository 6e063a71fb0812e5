"""Pairs of many shapes, which are swept in strips, against all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from supple import Contacts, Model, ModelBuilder
from supple.contact.geometry.finding import find_touches, find_touches_again
from supple.contact.geometry.spans import FEW
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW


def balls(radii: np.ndarray) -> Model:
    b = ModelBuilder("balls")
    for i, r in enumerate(radii):
        b.add_body(f"ball{i}", joint="free", mass=1.0, inertia=[1.0] * 3)
        b.add_shape(f"ball{i}", "sphere", (r,))
    return b.build()


def pairs_that_touch(at: np.ndarray, radii: np.ndarray) -> set[tuple[int, int]]:
    gaps = np.linalg.norm(at[:, None] - at[None], axis=2) - radii[:, None] - radii
    i, j = np.nonzero(np.triu(gaps < 1e-4, 1))
    return set(zip(i.tolist(), j.tolist()))


@pytest.mark.parametrize("long", [(1.0, 0.7, 0.2), (0.2, 1.0, 0.7), (0.7, 0.2, 1.0), (0.2, 0.7, 1.0)])
def test_all_pairs_are_found_wherever_shapes_go(long: tuple[float, float, float]) -> None:
    """One ball reaches over many strips. Between the places, the order of shapes is lost."""
    rng = np.random.default_rng(0)
    radii = rng.uniform(0.02, 0.3, 2 * FEW)
    radii[5] = 2.0
    model = balls(radii)
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    for _ in range(3):
        q = model.neutral()
        at = q.reshape(-1, 7)[:, :3]
        at[:] = rng.uniform(-6, 6, at.shape) * long
        found = room.touching(q)
        assert room.scene.n_strips > 5
        assert {(min(x), max(x)) for x in found[["shape", "other"]].tolist()} == pairs_that_touch(at, radii)
        assert len(found) == len(np.unique(found["key"]))


@pytest.mark.parametrize("far", [0.5, 20.0])
def test_touches_where_a_part_ends_are_those_of_a_new_search(far: float) -> None:
    """From the pairs of the search before, and if some shapes went farther than that expected."""
    rng, h = np.random.default_rng(1), 0.01
    radii = rng.uniform(0.02, 0.3, 2 * FEW)
    model = balls(radii)
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    q = model.neutral()
    q.reshape(-1, 7)[:, :3] = rng.uniform(-2, 2, (len(radii), 3))
    find, again = find_touches.load(), find_touches_again.load()
    room.make_room(20_000)
    room.touching(q)
    bodies = room.scene.bodies
    bodies["V"][:, 3:] = rng.normal(size=(len(radii), 3))
    find(room.scene.address, h)
    listed = room.pairs.n
    bodies["P"] += h * bodies["V"][:, 3:]
    bodies["P"][:5] += far * h * bodies["V"][:5, 3:]
    again(room.ahead.address)
    assert (room.pairs.n == listed) == (far < 1)
    keys = set(room.ahead.touches["key"][: room.ahead.n])
    room.scene.length = 0.0
    find(room.scene.address, 0.0)
    assert len(keys) > 100 and keys == set(room.found["key"])


def test_axes_of_a_sweep_are_those_along_which_shapes_spread_the_most_at_the_moment() -> None:
    model = balls(np.full(2, 0.1))
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    q = model.neutral()
    for spread, axis in (
        ((3, 2, 1), 0),
        ((1, 3, 2), 1),
        ((2, 1, 3), 2),
        ((3, 1, 2), 3),
        ((2, 3, 1), 4),
        ((1, 2, 3), 5),
    ):
        q[7:10] = spread
        room.touching(q)
        assert room.pairs.axis == axis
