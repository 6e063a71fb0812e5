"""Sines and cosines against the C library's in extended precision.

Bounds, in units in the last place of the result: 1.6 where angles of joints are (|x| <= 100), 4 up to 1e6 (worst
beside multiples of π/2, where the result is small and the three-part reduction rounds twice), and beyond that the C
library's own, which is below 1. Zeros, infinities and what is not a number come out as from NumPy.
"""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from supple.spatial.addresses import address_of
from supple.spatial.compiler import OPTIONS
from supple.spatial.cpu import WIDTH, lanes_vector
from supple.spatial.plain_structs import Table
from supple.spatial.trig import LARGEST, RING, Turn, sincos_ring

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="needs an extended long double")


turns, lanes_turns = Turn.table, Turn.lanes_table


@njit(**OPTIONS)
def numbers(q, index, first, stop, ring):
    sincos_ring(q, index, first, stop, turns(ring.ctypes.data))


@njit(**OPTIONS)
def lanes(q, index, first, stop, ring):
    sincos_ring(lanes_vector(q), index, first, stop, lanes_turns(ring))


def sincos(x):
    out, ring = np.full((len(x), 2), np.nan), np.empty((RING, 2))
    index = np.arange(len(x))
    for first in range(0, len(x), RING):
        stop = min(first + RING, len(x))
        numbers(x, index, first, stop, ring)
        out[first:stop] = ring[: stop - first]
    return out[:, 0], out[:, 1]


def aligned(shape):
    size = int(np.prod(shape))
    raw = np.zeros(size + 8)
    skip = -address_of(raw) % 64 // 8
    return raw[skip : skip + size].reshape(shape)


def error(x):
    """The largest error of either, in units in the last place."""
    worst = 0.0
    exact = x.astype(np.longdouble)
    for ours, truth in zip(sincos(x), (np.sin(exact), np.cos(exact))):
        unit = np.spacing(np.abs(truth.astype(np.float64))).astype(np.longdouble)
        worst = max(worst, float((np.abs(ours.astype(np.longdouble) - truth) / unit).max()))
    return worst


def cases():
    rng = np.random.default_rng(0)
    n = 50_000
    sign = rng.choice([-1.0, 1.0], n)
    multiples = np.arange(1.0, 630_000.0, 7.0) * (np.pi / 2)
    beside = multiples[: n // 4] + 10 ** rng.uniform(-12, -1, n // 4)
    yield "tiny", sign * 10 ** rng.uniform(-320, -2, n), 1.6
    yield "within a quadrant", rng.uniform(-np.pi / 4, np.pi / 4, n), 1.6
    yield "one turn", rng.uniform(-np.pi, np.pi, n), 1.6
    yield "many turns", rng.uniform(-100, 100, n), 1.6
    yield "thousands of turns", rng.uniform(-LARGEST, LARGEST, n), 4.0
    yield "multiples of π/2", multiples, 4.0
    yield "one below them", np.nextafter(multiples, 0), 4.0
    yield "negative ones", -multiples, 4.0
    yield "beside them", beside, 4.0
    yield "both sides of the largest", np.array([1, np.nextafter(1, 0), np.nextafter(1, 2), -1]) * LARGEST, 4.0
    yield "large", sign * 10 ** rng.uniform(6, 300, n), 1.0


@pytest.mark.parametrize(("x", "bound"), [pytest.param(x, b, id=name) for name, x, b in cases()])
def test_error(x, bound):
    assert error(x) <= bound


def test_special_values():
    s, c = sincos(np.array([0.0, -0.0, np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(s, [0.0, 0.0, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(c, [1.0, 1.0, np.nan, np.nan, np.nan])


def test_a_bad_neighbour_changes_little():
    """Four share a register; a large one among them sends all four through the C library."""
    alone = sincos(np.array([0.3, 0.4, 0.5, 0.6]))
    beside = sincos(np.array([0.3, 0.4, 1e300, np.nan]))
    for a, b in zip(alone, beside):
        np.testing.assert_allclose(a[:2], b[:2], rtol=4e-16, atol=0)


@pytest.mark.parametrize("first", [0, 1, 3, RING - 2])
def test_every_remainder(first):
    """Registers are filled up at the end: no row of the ring is missed, none beyond written."""
    x = np.linspace(-2, 2, 2 * RING + 5)
    index = np.arange(len(x))[::-2].copy()  # some of q, backwards
    index = np.tile(index, 2)
    for n in range(RING + 1):
        ring = np.full((RING, 2), np.nan)
        numbers(x, index, first, first + n, ring)
        expected = np.full((RING, 2), np.nan)
        for k in range(first, first + n):
            expected[k % RING] = np.sin(x[index[k]]), np.cos(x[index[k]])
        np.testing.assert_allclose(ring, expected, rtol=4e-16, err_msg=f"{n} numbers")


def test_lanes_are_the_numbers():
    """Bit for bit: a batch gives what its states give one by one."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-10, 10, (7, WIDTH)) * 10.0 ** rng.integers(-8, 9, (7, WIDTH))
    x[3] = [1e7, 0.1, -1e300, 2.0]
    q, ring = aligned((7, WIDTH)), aligned((RING, 2, WIDTH))
    q[:] = x
    lanes(address_of(q), np.arange(7), 0, 7, address_of(ring))
    s, c = sincos(np.ascontiguousarray(x).ravel())
    np.testing.assert_array_equal(ring[:7, 0].ravel(), s)
    np.testing.assert_array_equal(ring[:7, 1].ravel(), c)


def test_in_python():
    """With the compiler disabled, the function itself."""
    x, ring = np.array([0.5, -2.0]), np.zeros((RING, 2))
    sincos_ring(x, np.array([1, 0]), 0, 2, Table(Turn, address_of(ring), RING))
    np.testing.assert_array_equal(ring[:2], np.stack([np.sin(x[::-1]), np.cos(x[::-1])], axis=1))
    assert not ring[2:].any()
