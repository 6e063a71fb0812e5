"""Matrices over trees: the pattern of zeros, packing, and products, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import supple
from oracle import random_model
from supple import memory
from supple.errors import ModelError, StateError
from supple.exact.treematrix import BLOCK
from supple.model import parents

PATTERNS = {
    "one row": [-1],
    "chain": parents.chain(7),
    "star": np.full(6, -1),
    "bush": [-1, 0, 0, 0, 0],
    "binary, breadth first": parents.balanced_binary(4),
    "forest": [-1, 0, -1, 2, 2, 0, -1, 3],
    "random": parents.random(40, 3, world=0.1),
}


def allowed(parent):
    """Where entries may differ from zero, by definition: one is an ancestor of the other [SF (6)]."""
    n = len(parent)
    above = np.zeros((n, n), dtype=bool)
    for i in range(n):
        j = i
        while j >= 0:
            above[i, j] = True
            j = parent[j]
    return above | above.T


def random_symmetric(parent, rng, *batch):
    """A matrix with the zeros of a tree."""
    A = rng.standard_normal((*batch, len(parent), len(parent)))
    return np.where(allowed(parent), A + np.swapaxes(A, -1, -2), 0.0)


@st.composite
def trees(draw):
    n = draw(st.integers(1, 25))
    return np.array([draw(st.integers(-1, i - 1)) for i in range(n)], dtype=np.int64)


def check(parent):
    pattern, rng = supple.Pattern(parent), np.random.default_rng(0)
    parent = np.asarray(parent)
    n, mask = len(parent), allowed(parent)
    H = random_symmetric(parent, rng)
    values = pattern.pack(H)
    assert values.shape == (pattern.size,)
    np.testing.assert_array_equal(pattern.unpack(values), H)
    np.testing.assert_array_equal(pattern.unpack(values, symmetric=False), np.tril(H))
    matrix = supple.TreeMatrix(pattern, values)
    np.testing.assert_array_equal(matrix.dense(), H)
    assert pattern.nnz == np.tril(mask).sum()
    assert matrix.density == mask.sum() / n**2
    assert pattern.nnz <= pattern.size <= pattern.nnz + 3 * n
    assert matrix.shape == (n, n) and np.array_equal(matrix.parent, parent)
    x = rng.standard_normal(n)
    np.testing.assert_allclose(matrix @ x, H @ x, rtol=0, atol=1e-13 * n)


@pytest.mark.parametrize("parent", PATTERNS.values(), ids=PATTERNS)
def test_pattern(parent):
    check(parent)


@given(trees())
def test_any_pattern(parent):
    check(parent)


@pytest.mark.parametrize("parent", PATTERNS.values(), ids=PATTERNS)
def test_packing(parent):
    """Rows from the root down, filled up to four, so that a column stands at one place in every descendant's row."""
    pattern = supple.Pattern(parent)
    n = pattern.n
    order = np.arange(n) if pattern.order is None else pattern.order
    assert sorted(order) == list(range(n))
    np.testing.assert_array_equal(pattern.starts % BLOCK, np.zeros(n))
    ends = np.append(pattern.starts, pattern.size)[1:]
    assert ((ends - pattern.starts >= pattern.depth) & (ends - pattern.starts < pattern.depth + BLOCK)).all()
    np.testing.assert_array_equal(pattern.packed_parent < np.arange(n), True)
    up = np.asarray(parent)
    np.testing.assert_array_equal(
        np.where(pattern.packed_parent < 0, -1, order[pattern.packed_parent]), up[order]
    )  # the same tree
    row, column, at = pattern.entries
    assert len(set(at.tolist())) == pattern.nnz == len(at)
    place = {(i, j): k for i, j, k in zip(row.tolist(), column.tolist(), at.tolist())}
    start = dict(zip(order.tolist(), pattern.starts.tolist()))
    for (i, j), k in place.items():
        assert k - start[i] == place[j, j] - start[j]
    np.testing.assert_array_equal(pattern.diagonal, [place[i, i] for i in order.tolist()])


def test_entries_the_pattern_lacks_are_not_looked_at():
    pattern = supple.Pattern([-1, 0, 0])
    H = np.array([[2.0, np.nan, np.nan], [1.0, 3.0, np.nan], [1.0, np.nan, 4.0]])
    np.testing.assert_array_equal(pattern.unpack(pattern.pack(H)), [[2, 1, 1], [1, 3, 0], [1, 0, 4]])


def test_batches():
    parent = PATTERNS["random"]
    pattern, H = supple.Pattern(parent), random_symmetric(parent, np.random.default_rng(1), 2, 3)
    matrix = supple.TreeMatrix(pattern, pattern.pack(H))
    assert matrix.values.shape == (2, 3, pattern.size) and matrix.shape == (2, 3, 40, 40)
    np.testing.assert_array_equal(matrix.dense(), H)


def test_of_a_model():
    """mass_matrix(sparse=True) has the numbers of the dense one and the parent array of the model."""
    rng = np.random.default_rng(5)
    model = random_model(rng, 20)
    q = np.array([model.random(rng) for _ in range(2)])
    sparse, dense = supple.mass_matrix(model, q, sparse=True), supple.mass_matrix(model, q)
    np.testing.assert_array_equal(sparse.parent, model.expanded_parent)
    np.testing.assert_allclose(sparse.dense(), dense, rtol=0, atol=1e-13 * np.abs(dense).max())
    assert (dense[:, ~allowed(model.expanded_parent)] == 0).all()
    one = supple.mass_matrix(model, q[0], sparse=True)
    np.testing.assert_allclose(one.dense(), dense[0], rtol=0, atol=1e-13 * np.abs(dense).max())
    x = rng.standard_normal(model.nv)
    np.testing.assert_allclose(one @ x, dense[0] @ x, rtol=0, atol=1e-12 * np.abs(dense).max())


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ([0], r"parent\[0\] is 0: parents come before children, so it must be from -1 \(the root\) to -1"),
        ([-1, 2, 1], r"parent\[1\] is 2"),
        ([-1, 1], r"parent\[1\] is 1"),
        ([-1, -2], r"parent\[1\] is -2"),
        ([-1.0, 0.0], "array of whole numbers"),
        ([[-1], [0]], "one-dimensional array of integers"),
        ("abc", "array of whole numbers"),
        ([True, False], "array of whole numbers"),
    ],
)
def test_what_is_no_parent_array(parent, message):
    with pytest.raises(StateError, match=message):
        supple.Pattern(parent)


def test_parent_arrays_of_every_integer_type():
    for dtype in (np.int8, np.int32, np.int64, ">i4"):
        np.testing.assert_array_equal(supple.Pattern(np.array([-1, 0, 0], dtype=dtype)).parent, [-1, 0, 0])


def test_the_parent_array_is_the_patterns_own():
    given = np.array([-1, 0, 1])
    pattern = supple.Pattern(given)
    given[2] = 0
    np.testing.assert_array_equal(pattern.parent, [-1, 0, 1])
    assert not pattern.parent.flags.writeable


def test_shapes_that_do_not_fit():
    pattern = supple.Pattern([-1, 0])
    with pytest.raises(StateError, match=r"H has shape \(3, 3\); the parent array has 2 entries"):
        pattern.pack(np.eye(3))
    with pytest.raises(StateError, match="H has shape"):
        pattern.pack(np.ones(2))
    matrix = supple.TreeMatrix(pattern, pattern.pack(np.eye(2)))
    with pytest.raises(StateError, match=r"of shape \(2, 2\) with an array of shape \(3,\)"):
        matrix @ np.ones(3)
    with pytest.raises(StateError, match="cannot multiply"):
        matrix @ np.ones((2, 2))


def test_dense_form_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(memory, "physical_memory", lambda: 8 * 100)
    pattern = supple.Pattern(np.full(20, -1))
    matrix = supple.TreeMatrix(pattern, np.ones(pattern.size))
    with pytest.raises(ModelError, match=r"a dense matrix of 20 rows would take .* GB and this machine has"):
        matrix.dense()
    assert (matrix @ np.ones(20) == 1).all()  # the packed form goes on


def test_repr():
    pattern = supple.Pattern([-1, 0, 0])
    assert repr(supple.TreeMatrix(pattern, np.zeros(pattern.size))) == "<TreeMatrix 3x3, 5 numbers, 77.8 % full>"
