"""Impulses that are not unique: what bodies hold each other with does not grow without bound
[contact/solvers/relieving.py]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple import Contacts, Model, ModelBuilder, simulate
from supple.contact.solvers.relieving import STRAINED
from tests.touching import Floats

G = 9.81
ADAPTIVE: dict[str, Any] = dict(method="adaptive", active=1)


def wedged(seed: int) -> tuple[Model, Floats, Floats]:
    """A box with a ball on it, beside which the ball of a hinged link is wedged: the line through both almost goes
    through the hinge, so that however hard they are pressed together, friction holds the link. It falls to the
    floor."""
    rng, b = np.random.default_rng(seed), ModelBuilder("wedged")
    angle = rng.uniform(0.02, 0.15)
    b.add_body("base", joint="free", mass=5.0, inertia=(0.05, 0.05, 0.05))
    b.add_shape("base", "box", (0.3, 0.3, 0.1), friction=0.8)
    b.add_shape("base", "sphere", (0.05,), (0.0, 0.0, 0.2), friction=0.8)
    b.add_body(
        "link", "base", axis=(0, 1, 0), position=(-0.25, 0, 0.2), mass=1.0, inertia=(0.01, 0.01, 0.01), com=(0.2, 0, 0)
    )
    b.add_shape("link", "sphere", (0.05,), (0.25 + 0.1 * np.cos(angle), 0.0, 0.1 * np.sin(angle)), friction=0.8)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[2] = 0.05 + rng.uniform(0, 0.02)
    v[:2], v[2], v[3:6] = rng.normal(size=3)[:2], -rng.uniform(0, 3), rng.normal(size=3)
    return model, q, v


@pytest.mark.parametrize("how", [{}, ADAPTIVE], ids=["exact", "adaptive"])
@pytest.mark.parametrize("seed", [30, 120, 156, 164])
def test_what_was_struck_is_not_held_by_that_for_good(seed: int, how: dict[str, Any]) -> None:
    """An impulse between the balls moves them apart by 2 m/s for every N s, or more across their line: one that does
    sixty times what gravity does in a step is the largest that is left alone."""
    model, q, v = wedged(seed)
    r = simulate(model, q, v, duration=0.4, dt=2e-3, contacts=Contacts(ground=0.0, neighbours=True), **how)
    last = r.contacts(-1)
    assert np.abs(r.v[-1]).max() < 1e-6 and any("ground" not in (c.shape, c.other) for c in last)
    np.testing.assert_allclose(sum(c.force[2] for c in last if c.other == "ground"), 6.0 * G, rtol=1e-4)
    assert max(np.linalg.norm(c.force) for c in last) < STRAINED * G / 2.0
