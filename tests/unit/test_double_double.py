"""Arithmetic of 32 digits, against fractions. An operation may be off by a few units of 2^-104, 5e-32."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numba import njit
from numba.core import config

from supple.spatial.addresses import address_of
from supple.spatial.compiler import OPTIONS
from supple.spatial.double_double import pair_vector

FEW = 4 * 2.0**-104


@pytest.fixture(scope="module")
def operations():
    if config.DISABLE_JIT:
        pytest.skip("a number type of compiled code")

    @njit(**OPTIONS)  # with contraction, as in kernels
    def run(x, out):
        a, b, c = pair_vector(x)[0], pair_vector(x)[1], pair_vector(x)[2]
        to = pair_vector(out)
        to[0], to[1], to[2], to[3] = a + b, a - b, a * b, a / b
        to[4], to[5], to[6] = a + 0.1, 0.1 / b, -a
        to[7] = a * b + c if a < b else a * b - c

    return run


def test_sums_products_and_quotients(operations):
    rng = np.random.default_rng(0)
    for case in range(2000):
        x = np.empty((3, 2))
        x[:, 0] = rng.standard_normal(3) * 10.0 ** rng.uniform(-8, 8, 3)
        if case % 3 == 0:
            x[1, 0] = x[0, 0] * rng.choice([-1, 1]) * (1 + 2.0 ** -rng.integers(20, 52))  # which cancel
        x[:, 1] = x[:, 0] * rng.uniform(-(2.0**-54), 2.0**-54, 3)
        out = np.empty((8, 2))
        operations(address_of(x), address_of(out))
        a, b, c = (Fraction(hi) + Fraction(lo) for hi, lo in x.tolist())
        tenth = Fraction(0.1)
        exact = [a + b, a - b, a * b, a / b, a + tenth, tenth / b, -a, a * b + c if a < b else a * b - c]
        sizes = [abs(y) for y in exact[:7]] + [abs(a * b) + abs(c)]
        for y, (hi, lo), size in zip(exact, out.tolist(), sizes):
            assert abs(Fraction(hi) + Fraction(lo) - y) <= FEW * size
            assert hi == hi + lo  # normalised: the second half is the rounding of the first
