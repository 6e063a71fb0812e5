"""Runge-Kutta methods: conditions of order, and SciPy's own choice of steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import supple
from supple.integrating.runge_kutta import (
    FASTEST,
    RK4,
    SLOWEST,
    STAGES,
    blended,
    dop853,
    dop853_tableau,
    growth,
)


def test_the_classical_method_is_of_order_four():
    """All eight conditions [Hairer, Norsett and Wanner 1993, II.1]."""
    s, b = RK4.stages, RK4.weights
    A, c = RK4.A[:s, :s], RK4.C[:s]
    np.testing.assert_array_equal(A.sum(axis=1), c)
    conditions = {
        1: [b.sum()], 2: [b @ c], 3: [b @ c**2, 2 * b @ A @ c],
        4: [b @ c**3, 2 * (b * c) @ A @ c, 3 * b @ A @ c**2, 6 * b @ A @ A @ c],
    }  # fmt: skip
    for order, found in conditions.items():
        np.testing.assert_allclose(found, [1 / order] * len(found), rtol=1e-15)


def test_dop853_is_of_order_eight_where_slopes_depend_on_time():
    T = dop853()
    b, c = T.weights, T.C[: T.stages]
    np.testing.assert_allclose([b @ c**k for k in range(8)], [1 / (k + 1) for k in range(8)], rtol=1e-13)
    np.testing.assert_allclose(T.A.sum(axis=1), T.C, rtol=0, atol=1e-14)
    assert abs(b @ c**8 - 1 / 9) > 1e-9


def test_errors_are_blended_as_scipy_does():
    from scipy.integrate import DOP853

    rng = np.random.default_rng(0)
    T, scipys = dop853_tableau(), DOP853(lambda t, y: -y, 0.0, np.ones(5), 1.0)
    for _ in range(20):
        K, scale, h = rng.standard_normal((STAGES + 1, 5)), rng.uniform(0.1, 2.0, 5), rng.uniform(-1, 1)
        five, three = (float(np.sum((E @ K[:STAGES] / scale) ** 2)) for E in (T.E5, T.E3))
        assert blended(five, three, h, 5) == pytest.approx(scipys._estimate_error_norm(K, h, scale), rel=1e-12)
    assert blended(0.0, 0.0, 1.0, 5) == 0.0 and blended(0.0, 1.0, 1.0, 5) == 0.0


def test_steps_grow_with_the_eighth_root_within_bounds():
    assert growth(0.5, False) == pytest.approx(0.9 * 0.5 ** (-1 / 8))
    assert growth(1e-30, False) == growth(0.0, False) == FASTEST
    assert growth(1e-30, True) == growth(0.0, True) == 1.0  # after a step that was too long, the next is no longer
    assert growth(2.0, True) == pytest.approx(0.9 * 2.0 ** (-1 / 8))
    assert growth(1e30, True) == growth(math.inf, True) == growth(math.nan, True) == SLOWEST


def test_steps_in_python_are_the_compiled_ones():
    """A run that is watched for an event takes the same steps."""
    model = supple.trees.random_tree(12, seed=3)
    v = np.random.default_rng(0).standard_normal(model.nv)
    run = {"duration": 0.05, "dt": 1e-3, "integrator": "rk4", "check_energy": False}
    plain = supple.simulate(model, None, v, **run)
    watched = supple.simulate(model, None, v, events=[supple.Event("never", lambda s: 1.0)], **run)
    for a, b in ((plain.q, watched.q), (plain.v, watched.v)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13 * np.abs(a).max())  # rounding of 50 steps
