"""Touches that are set aside because they seem to stay open [contact/steps/asides.py]."""

from __future__ import annotations

import numpy as np
import pytest

from supple import AdaptiveDynamics, Contacts, ModelBuilder
from supple.contact.room import ContactRoom
from supple.integrating.model_law import passive_rows
from supple.model.model import Model

DT, GAP, SPEED = 2e-3, 2e-3, 5.0


def row_of_balls(n: int, first: float = 1.0) -> tuple[Model, np.ndarray, np.ndarray]:
    """Balls that fly together without gravity, each a small gap from the next; the first one, which touches, is faster
    by 3 m/s. first: its mass."""
    b = ModelBuilder("balls", gravity=(0, 0, 0))
    for i in range(n):
        b.add_body(f"ball {i}", joint="prismatic", axis=(1, 0, 0), mass=first if i == 0 else 1.0)
        b.add_shape(f"ball {i}", "sphere", (0.05,), friction=0.0)
    q = np.array([0.1 * i + GAP * max(i - 1, 0) for i in range(n)])
    return b.build(), q, SPEED + np.where(np.arange(n) == 0, 3.0, 0.0)


@pytest.mark.parametrize(("n", "first", "struck"), [(3, 1.0, 2), (4, 1.0, 2), (8, 1000.0, 5)])
def test_what_is_struck_closes_gaps_that_seemed_to_stay_open(n: int, first: float, struck: int) -> None:
    """A ball that is struck runs into the next one within the step, and so on: all of it is found in one part, and
    every touch obeys the law: none overlaps before the middle of the next step, and momentum is kept."""
    model, q, v = row_of_balls(n, first)
    room = ContactRoom(model, passive_rows(model), Contacts(limits=False))
    room.take(q, v, DT, np.zeros(n), None)
    assert room.landing.parts == 1 and not room.found["aside"][:struck].any()
    gaps = np.diff(room.q) - 0.1 + 0.5 * DT * np.diff(room.v)
    assert gaps.min() > -1e-9 and room.v[2] > SPEED + 0.1
    mass = np.array([first] + [1.0] * (n - 1))
    np.testing.assert_allclose(mass @ room.v, mass @ v, rtol=1e-9)


def test_what_stays_open_takes_no_part() -> None:
    """The last ball is too far away for what strikes the others: its touch is set aside, in exact and adaptive runs,
    and nothing else changes."""
    model, q, v = row_of_balls(3)
    q[2] += 3e-3
    room = ContactRoom(model, passive_rows(model), Contacts(limits=False))
    v[0] = SPEED + 1.0
    room.take(q, v, DT, np.zeros(3), None)
    assert room.found["aside"].sum() == len(room.found) - 1 == 1 and room.v[2] == SPEED
    np.testing.assert_allclose(room.v[:2], SPEED + 0.5, rtol=1e-6)
    body = AdaptiveDynamics(model, q, v, active=3, contacts=Contacts(limits=False))
    body.run(DT, DT)
    touches = body._hybrid.touches
    assert touches is not None and touches.room.found["aside"].sum() == 1
    np.testing.assert_allclose(body.v, room.v, atol=1e-9)
