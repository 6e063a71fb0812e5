"""Sparse factors against NumPy's Cholesky factors of the reversed matrix: with J the reversal, H = L^T L means that
J L^T J is the lower Cholesky factor of J H J.

Tolerance: 1e-12 times the size of the result, on matrices whose condition number is below 100.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from oracle import random_model
from supple import memory
from supple.errors import ModelError, SingularError, StateError
from supple.model import parents

FORMS = ("ltdl", "ltl")
PATTERNS = {
    "one row": np.array([-1]),
    "two roots": np.array([-1, -1]),
    "chain": parents.chain(9),
    "long chain": parents.chain(300),
    "star": np.full(30, -1),
    "bush": np.append(-1, np.zeros(30, dtype=int)),
    "binary, breadth first": parents.balanced_binary(5),
    "forest": np.array([-1, 0, -1, 2, 2, 0, -1, 3]),
    "random": parents.random(60, 3, world=0.05),
    "comb": parents.spanning_grid(6),
}


def close(a, b, tolerance=1e-12):
    b = np.asarray(b)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max(initial=0.0)))


def allowed(parent):
    """Where L may differ from zero: at i, j where j is an ancestor of i, or i."""
    n = len(parent)
    above = np.zeros((n, n), dtype=bool)
    for i in range(n):
        j = i
        while j >= 0:
            above[i, j] = True
            j = parent[j]
    return above


def positive_definite(parent, rng, *batch):
    """With the zeros of the tree, and of condition number below 100: H = L^T L of a random L."""
    n = len(parent)
    L = np.where(allowed(parent), rng.standard_normal((*batch, n, n)) * 0.5 / np.sqrt(n), 0.0)
    i = np.arange(n)
    L[..., i, i] = rng.uniform(1, 2, (*batch, n))
    return np.swapaxes(L, -1, -2) @ L


def reversed_cholesky(H):
    """L with H = L^T L, by NumPy."""
    return np.linalg.cholesky(H[::-1, ::-1])[::-1, ::-1].T


def check(parent, form, seed=0):
    rng = np.random.default_rng(seed)
    H = positive_definite(parent, rng)
    factor = supple.factorize(H, parent, form)
    L, D = factor.L, factor.D
    truth = reversed_cholesky(H)
    if form == "ltl":
        close(L, truth)
        np.testing.assert_array_equal(D, np.ones(len(H)))
    else:
        d = np.diag(truth)
        close(L, truth / d[:, None])
        close(D, d**2)
        np.testing.assert_array_equal(np.diag(L), np.ones(len(H)))
    assert (L[~allowed(parent)] == 0).all()  # no fill-in: exactly zero
    close(L.T @ np.diag(D) @ L, H)
    close(factor.logdet(), np.linalg.slogdet(H)[1], 1e-11)
    x = rng.standard_normal((len(H), 3))
    for ours, theirs in (
        (factor.mul_L, L @ x),
        (factor.mul_Lt, L.T @ x),
        (factor.solve_L, np.linalg.solve(L, x)),
        (factor.solve_Lt, np.linalg.solve(L.T, x)),
        (factor.solve, np.linalg.solve(H, x)),
    ):
        close(ours(x), theirs, 1e-11)  # three columns
        close(ours(x[:, 1]), theirs[:, 1], 1e-11)  # a vector
        assert ours(x[:, :0]).shape == (len(H), 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("parent", PATTERNS.values(), ids=PATTERNS)
def test_factors(parent, form):
    check(parent, form)


@st.composite
def trees(draw):
    n = draw(st.integers(1, 20))
    return np.array([draw(st.integers(-1, i - 1)) for i in range(n)], dtype=np.int64)


@given(trees(), st.sampled_from(FORMS), st.integers(0, 1000))
@settings(max_examples=50)
def test_any_tree(parent, form, seed):
    check(parent, form, seed)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["random", "chain", "one row"])
def test_batches(name, form):
    """A batch is its members, bit for bit."""
    parent, rng = PATTERNS[name], np.random.default_rng(1)
    n = len(parent)
    H, x = positive_definite(parent, rng, 5), rng.standard_normal((5, n, 2))
    many = supple.factorize(H, parent, form)
    assert many.L.shape == (5, n, n) and many.D.shape == (5, n) and many.logdet().shape == (5,)
    for k in range(5):
        one = supple.factorize(H[k], parent, form)
        np.testing.assert_array_equal(many.L[k], one.L)
        np.testing.assert_array_equal(many.D[k], one.D)
        for name in ("mul_L", "mul_Lt", "solve_L", "solve_Lt", "solve"):
            np.testing.assert_array_equal(getattr(many, name)(x)[k], getattr(one, name)(x[k]))
            np.testing.assert_array_equal(getattr(many, name)(x[..., 0])[k], getattr(one, name)(x[k, :, 0]))


def test_batches_of_batches_and_of_none():
    parent = PATTERNS["forest"]
    H = positive_definite(parent, np.random.default_rng(0), 2, 3)
    x = np.ones((2, 3, 8))
    close(supple.factorize(H, parent).solve(x), np.linalg.solve(H, x[..., None])[..., 0])
    none = supple.factorize(H[:0, 0], parent)
    assert none.solve(np.ones((0, 8))).shape == (0, 8)
    assert none.D.shape == (0, 8)


def test_of_a_model():
    """A mass matrix, dense or packed, knows its tree."""
    rng = np.random.default_rng(2)
    model = random_model(rng, 15)
    q, b = model.random(rng), rng.standard_normal(model.nv)
    H = supple.mass_matrix(model, q)
    truth = np.linalg.solve(H, b)
    tolerance = 1e-14 * np.linalg.cond(H)
    for factor in (
        supple.factorize(H, model.expanded_parent),
        supple.factorize(supple.mass_matrix(model, q, sparse=True)),
        supple.factorize(H, supple.Pattern(model.expanded_parent)),
    ):
        close(factor.solve(b), truth, tolerance)
    batch = supple.factorize(supple.mass_matrix(model, np.array([q, q]), sparse=True))
    close(batch.solve(np.array([b, 2 * b])), [truth, 2 * truth], tolerance)


@pytest.mark.parametrize("form", FORMS)
def test_only_the_lower_triangle_and_the_pattern_are_read(form):
    for name in ("forest", "binary, breadth first"):
        parent = PATTERNS[name]
        H = positive_definite(parent, np.random.default_rng(3))
        cut = np.where(allowed(parent), H, np.nan)
        np.testing.assert_array_equal(supple.factorize(cut, parent, form).L, supple.factorize(H, parent, form).L)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["chain", "random", "binary, breadth first"])
def test_any_form_of_array(name, form):
    """Lists, float32, integers, Fortran order, strides, other byte orders: the same numbers."""
    parent, rng = PATTERNS[name], np.random.default_rng(4)
    n = len(parent)
    H = np.round(positive_definite(parent, rng) * 8)
    H += np.diag(np.full(n, 8 * n))
    truth = supple.factorize(H, parent, form).L
    strided = np.zeros((n, 2 * n))[:, ::2]
    strided[:] = H
    read_only = H.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + H.tobytes(), dtype=np.float64, offset=1).reshape(n, n)
    others = [H.tolist(), H.astype(np.float32), H.astype(int), np.asfortranarray(H), strided, H.astype(">f8")]
    for other in (*others, read_only, unaligned):
        np.testing.assert_array_equal(supple.factorize(other, parent, form).L, truth)


# --- not positive definite ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pivot", [-1.0, 0.0], ids=["negative", "zero"])
@pytest.mark.parametrize("name", ["one row", "chain", "forest", "binary, breadth first", "random"])
def test_the_row_at_fault_is_named(name, pivot, form):
    """The rows are eliminated from the last to the first: the first pivot met that is not positive is the one."""
    parent = PATTERNS[name]
    n = len(parent)
    for row in {0, n // 2, n - 1}:
        H = np.eye(n)
        H[row, row] = pivot
        with pytest.raises(SingularError, match=rf"not positive definite: .* at row {row}$"):
            supple.factorize(H, parent, form)
        with pytest.raises(SingularError, match=rf"not positive definite: .* at row {row}$"):
            supple.factorize(np.stack([np.eye(n), H]), parent, form)
        with pytest.raises(SingularError, match=rf"at row {row}$"):
            supple.factorize(H.tolist(), parent, form)


@pytest.mark.parametrize("form", FORMS)
def test_a_pivot_lost_on_the_way(form):
    """Positive diagonal, but not positive definite."""
    with pytest.raises(SingularError, match="at row 0"):
        supple.factorize([[1.0, 0], [2.0, 1.0]], [-1, 0], form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 0), (2, 2), (1, 1)])
def test_numbers_that_are_not_finite(form, bad, place):
    H = 4.0 * np.eye(3) + 1.0
    H[1, 2] = H[2, 1] = 0
    H[place] = bad
    for matrix in (H, H.tolist(), np.stack([4 * np.eye(3), H])):
        with pytest.raises(StateError, match="H has entries that are not finite"):
            supple.factorize(matrix, [-1, 0, 0], form)


# --- again ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_refactorize(form):
    parent, rng = PATTERNS["chain"], np.random.default_rng(6)
    first, second = positive_definite(parent, rng, 2)
    factor = supple.factorize(first, parent, form)
    factor.refactorize(second)
    np.testing.assert_array_equal(factor.L, supple.factorize(second, parent, form).L)
    factor.refactorize(factor.pattern.pack(first))
    again = supple.factorize(first, parent, form)
    np.testing.assert_array_equal(factor.values, again.values)
    close(factor.solve(np.ones(9)), np.linalg.solve(first, np.ones(9)))


def test_refactorize_packed_of_a_tree_not_numbered_depth_first():
    parent = PATTERNS["binary, breadth first"]
    first, second = positive_definite(parent, np.random.default_rng(7), 2)
    factor = supple.factorize(first, parent)
    assert factor.pattern.order is not None
    factor.refactorize(factor.pattern.pack(second))
    close(factor.L.T @ np.diag(factor.D) @ factor.L, second)


def test_what_refactorize_refuses():
    factor = supple.factorize(np.eye(3), [-1, 0, 1])
    for bad in (np.eye(2), np.eye(3).tolist(), np.eye(3, dtype=np.float32), np.asfortranarray(np.eye(3) + 1)[:, ::-1]):
        with pytest.raises(StateError, match="C-contiguous float64"):
            factor.refactorize(bad)
    with pytest.raises(SingularError, match="not positive definite"):
        factor.refactorize(-np.eye(3))
    with pytest.raises(SingularError, match="not positive definite"):
        factor.refactorize(np.full((3, 3), np.nan))
    factor.refactorize(2 * np.eye(3))  # and goes on
    np.testing.assert_array_equal(factor.D, [2, 2, 2])
    with pytest.raises(StateError, match="one factor"):
        supple.factorize(np.stack([np.eye(3)] * 2), [-1, 0, 1]).refactorize  # noqa: B018


def test_refactorize_outlives_its_factor():
    """It writes where the factor's numbers are: they are kept for as long as it is."""
    again = supple.factorize(np.eye(200), parents.chain(200)).refactorize
    gc.collect()
    elsewhere = [np.zeros(20_000 + k) for k in range(50)]  # where freed memory would be used again
    for _ in range(20):
        again(3.0 * np.eye(200))
    assert not any(x.any() for x in elsewhere)


# --- wrong inputs ---------------------------------------------------------------------------------------------------


def test_what_factorize_refuses():
    with pytest.raises(StateError, match=r"parent is needed: model\.expanded_parent"):
        supple.factorize(np.eye(2))
    with pytest.raises(StateError, match="form must be 'ltdl' or 'ltl', not 'lu'"):
        supple.factorize(np.eye(2), [-1, 0], "lu")
    with pytest.raises(StateError, match=r"H has shape \(3, 3\); the parent array has 2 entries"):
        supple.factorize(np.eye(3), [-1, 0])
    with pytest.raises(StateError, match=r"parent\[1\] is 1"):
        supple.factorize(np.eye(2), [-1, 1])
    for bad in (np.eye(2) * 1j, [["a", "b"], ["c", "d"]], None, [[1.0], [1.0, 2.0]]):
        with pytest.raises(StateError, match="H must be an array of real numbers"):
            supple.factorize(bad, [-1, 0])
    for bad in (1.0, np.ones(2)):
        with pytest.raises(StateError, match="H has shape"):
            supple.factorize(bad, [-1, 0])


@pytest.mark.parametrize("name", ["mul_L", "mul_Lt", "solve_L", "solve_Lt", "solve"])
def test_what_products_refuse(name):
    one = getattr(supple.factorize(np.eye(3), [-1, 0, 1]), name)
    for bad in (np.ones(2), np.ones((2, 3)), np.ones((3, 2, 2)), 1.0, np.ones(0)):
        with pytest.raises(StateError, match=r"x has shape .*; expected \(3\) or \(3, k\)"):
            one(bad)
    for bad in (["a", "b", "c"], np.ones(3) * 1j, None):
        with pytest.raises(StateError, match="x must be an array of real numbers"):
            one(bad)
    many = getattr(supple.factorize(np.stack([np.eye(3)] * 2), [-1, 0, 1]), name)
    for bad in (np.ones(3), np.ones((3, 3)), np.ones((2, 4)), np.ones((2, 3, 1, 1))):
        with pytest.raises(StateError, match=r"expected \(2, 3\) or \(2, 3, k\)"):
            many(bad)
    nested = getattr(supple.factorize(np.broadcast_to(np.eye(3), (2, 2, 3, 3)), [-1, 0, 1]), name)
    with pytest.raises(StateError, match=r"expected \(2, 2, 3\)"):
        nested(np.ones((2, 5, 3)))  # which would read beyond the factors


def test_products_leave_their_arguments_alone():
    factor, x = supple.factorize(4.0 * np.eye(3) + 1, [-1, 0, 1]), np.ones(3)
    for name in ("mul_L", "mul_Lt", "solve_L", "solve_Lt", "solve"):
        out = getattr(factor, name)(x)
        assert not np.shares_memory(out, x) and out.flags.writeable
    np.testing.assert_array_equal(x, np.ones(3))


def test_factorize_leaves_its_argument_alone():
    H = 4.0 * np.eye(3) + 1
    packed = supple.TreeMatrix(supple.Pattern([-1, 0, 1]), supple.Pattern([-1, 0, 1]).pack(H))
    before = H.copy(), packed.values.copy()
    supple.factorize(H, [-1, 0, 1])
    supple.factorize(packed)
    np.testing.assert_array_equal(H, before[0])
    np.testing.assert_array_equal(packed.values, before[1])


def test_too_large_is_refused(monkeypatch):
    parent = parents.chain(50)
    monkeypatch.setattr(memory, "physical_memory", lambda: 8 * 1000)
    with pytest.raises(ModelError, match="the factor of a matrix with 50 rows would take"):
        supple.factorize(np.eye(50), parent)


def test_repr():
    assert repr(supple.factorize(np.eye(3), [-1, 0, 0])) == "<Factor ltdl of 3 rows, 5 numbers>"
