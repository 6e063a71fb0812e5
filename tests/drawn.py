"""Random systems for hypothesis to draw, and how near two results are."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from oracle import MOVING, random_model

SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def systems(draw, kinds=MOVING, largest=14):
    """A model, and q, v, a, wrenches."""
    some = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4, unique=True))
    n = draw(st.integers(1, largest))
    chain, world = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([0.0, 0.2, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    model = random_model(rng, n, tuple(some), chain=chain, world=world)
    v, a = rng.standard_normal((2, model.nv))
    return model, model.random(rng), v, a, rng.standard_normal((model.n_bodies, 6))


def near(x, y, tolerance=1e-11):
    """Equal to within a share of the largest number (of one, if all are smaller)."""
    scale = max(1.0, float(np.abs(x).max(initial=0)), float(np.abs(y).max(initial=0)))
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * scale)
