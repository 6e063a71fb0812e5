"""6x6 matrices in a vector, against NumPy. Helpers have no entry for Python: they are run as the Python they are."""

from __future__ import annotations

import numpy as np
import pytest

from plain import as_python
from supple.spatial import algebra, blocks, rows
from supple.spatial.algebra import Mat3, Motion, Vec3
from supple.spatial.blocks import BLOCK


@pytest.fixture
def plain(monkeypatch):
    return as_python(monkeypatch, algebra, rows, blocks)


@pytest.fixture
def x():
    """Four matrices, with a number between every two that nobody may touch."""
    out = np.random.default_rng(0).standard_normal(4 * (BLOCK + 1))
    out[BLOCK :: BLOCK + 1] = np.nan
    return out


A, B, C, D = (k * (BLOCK + 1) for k in range(4))


def at(x, k):
    return x[k : k + BLOCK].reshape(6, 6).copy()


def changed(before, after):
    """Which of the four matrices changed; the numbers between them did not."""
    assert np.isnan(after[BLOCK :: BLOCK + 1]).all()
    return {k for k in (A, B, C, D) if (at(before, k) != at(after, k)).any()}


def test_products(plain, x):
    before = x.copy()
    plain.multiply_add(x, A, 6, 1, B, C)
    np.testing.assert_allclose(at(x, C), at(before, C) + at(before, A) @ at(before, B), atol=1e-14)
    plain.multiply_add(x, A, 1, 6, B, D)
    np.testing.assert_allclose(at(x, D), at(before, D) + at(before, A).T @ at(before, B), atol=1e-14)
    assert changed(before, x) == {C, D}


def test_copies(plain, x):
    before = x.copy()
    plain.transpose_into(x, A, B)
    np.testing.assert_array_equal(at(x, B), at(x, A).T)
    plain.fill(x, C, 2.5)
    assert (at(x, C) == 2.5).all()
    plain.symmetrise(x, D)
    np.testing.assert_allclose(at(x, D), 0.5 * (at(before, D) + at(before, D).T), atol=1e-15)
    assert changed(before, x) == {B, C, D}


def test_blocks_and_vectors(plain, x):
    before, rng = x.copy(), np.random.default_rng(1)
    parts = rng.standard_normal((4, 3, 3))
    plain.store_blocks(x, B, [Mat3(*(Vec3(*row) for row in part)) for part in parts])
    np.testing.assert_array_equal(at(x, B), np.block([[parts[0], parts[1]], [parts[2], parts[3]]]))
    assert changed(before, x) == {B}
    v = rng.standard_normal(6)
    m = Motion(Vec3(*v[:3]), Vec3(*v[3:]))
    np.testing.assert_allclose(np.concatenate(plain.apply(x, A, m)), at(x, A) @ v, atol=1e-14)
    np.testing.assert_allclose(np.concatenate(plain.apply_transposed(x, A, m)), at(x, A).T @ v, atol=1e-14)
    P = plain.load_symmetric(x, A)
    want = 0.5 * (at(before, A) + at(before, A).T)
    np.testing.assert_allclose([P.A.xx, P.A.yz, P.M.xy, P.M.zz], want[[0, 1, 3, 5], [0, 2, 4, 5]], atol=1e-15)
    np.testing.assert_allclose(P.B, want[:3, 3:], atol=1e-15)
