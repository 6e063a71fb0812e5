"""Runge-Kutta methods: conditions of order, and SciPy's own choice of steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.integrating.runge_kutta import FASTEST, RK4_NODES, RK4_WEIGHTS, SLOWEST, STAGES, blended, dop853, growth


def test_the_classical_method_is_of_order_four():
    """All eight conditions [Hairer, Norsett and Wanner 1993, II.1]; stage i begins c[i] along the slope before it."""
    c, b = np.array(RK4_NODES), np.array(RK4_WEIGHTS)
    A = np.diag(c[1:], -1)
    conditions = {
        1: [b.sum()], 2: [b @ c], 3: [b @ c**2, 2 * b @ A @ c],
        4: [b @ c**3, 2 * (b * c) @ A @ c, 3 * b @ A @ c**2, 6 * b @ A @ A @ c],
    }  # fmt: skip
    for order, found in conditions.items():
        np.testing.assert_allclose(found, [1 / order] * len(found), rtol=1e-15)


def test_dop853_is_of_order_eight_where_slopes_depend_on_time():
    T = dop853()
    np.testing.assert_allclose([T.B @ T.C**k for k in range(8)], [1 / (k + 1) for k in range(8)], rtol=1e-13)
    np.testing.assert_allclose(T.A.sum(axis=1), T.C, rtol=0, atol=1e-14)
    assert abs(T.B @ T.C**8 - 1 / 9) > 1e-9


def test_errors_are_blended_as_scipy_does():
    from scipy.integrate import DOP853

    rng = np.random.default_rng(0)
    T, scipys = dop853(), DOP853(lambda t, y: -y, 0.0, np.ones(5), 1.0)
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
