"""SF sections 2 and 3, Figures 1 to 3: sparsity patterns (4), (7), of L; expanded parent array; no fill-in.

Patterns (4) and (7) as our errata correct them.
"""

from __future__ import annotations

import numpy as np
import pytest

from supple.costs.matrices import D1, D2, Cost, factorization
from supple.exact.crba import mass_matrix
from supple.exact.factor import factorize
from supple.model import parents, trees
from supple.model.topology import depth_first

TREE_1 = np.array([0, 1, 1, 2, 2, 3, 3]) - 1  # the paper counts from 1, its root is 0

H_4 = "xxxxxxx xx.xx.. x.x..xx xx.x... xx..x.. x.x..x. x.x...x"
H_7 = "x.x...x .xx...x xxx...x ...x.xx ....xxx ...xxxx xxxxxxx"
L_1 = "x...... xx..... x.x.... xx.x... xx..x.. x.x..x. x.x...x"


def pattern(text: str) -> np.ndarray:
    return np.array([[c == "x" for c in row] for row in text.split()])


@pytest.fixture(scope="module")
def tree_1() -> tuple[np.ndarray, np.ndarray]:
    """H of a body like Tree 1, and the paper's numbers of its rows (the model counts depth first)."""
    model = trees.from_parents(TREE_1)
    H = mass_matrix(model, model.random(0))
    return H, np.array([int(name[4:]) for name in model.body_names])


def test_4(tree_1) -> None:
    H, number = tree_1
    np.testing.assert_array_equal(H[np.ix_(np.argsort(number), np.argsort(number))] != 0, pattern(H_4))


def test_7_depth_first_and_reversed(tree_1) -> None:
    """The model's own numbering is the depth-first one that SF section 3 asks for."""
    H, number = tree_1
    np.testing.assert_array_equal(number + 1, [1, 2, 4, 5, 3, 6, 7])
    np.testing.assert_array_equal(H[::-1, ::-1] != 0, pattern(H_7))


def test_L_has_no_fill_in(tree_1) -> None:
    H, number = tree_1
    paper = H[np.ix_(np.argsort(number), np.argsort(number))]
    for form in ("ltl", "ltdl"):
        factor = factorize(paper, TREE_1, form)
        np.testing.assert_array_equal(factor.L != 0, pattern(L_1))
        np.testing.assert_allclose(factor.L.T @ np.diag(factor.D) @ factor.L, paper, rtol=1e-12, atol=1e-14)
    assert (np.linalg.cholesky(paper) != 0).sum() == 28  # the ordinary factor is full


def test_envelope_of_7_is_kept_by_cholesky(tree_1) -> None:
    """SF section 3: H~ has no zeros inside its envelope, so that a standard factorization keeps the rest."""
    H, _ = tree_1
    G = np.linalg.cholesky(np.ascontiguousarray(H[::-1, ::-1]))
    np.testing.assert_array_equal(np.abs(G) > 1e-15, np.tril(pattern(H_7)))
    np.testing.assert_allclose(G[::-1, ::-1].T, factorize(H, depth_first_parent(), "ltl").L, rtol=1e-10, atol=1e-14)


def depth_first_parent() -> np.ndarray:
    return trees.from_parents(TREE_1).parent


def test_expanded_parent_array() -> None:
    """Figure 2: joints 1, 2 and 6 of Tree 1 with 2, 2 and 3 degrees of freedom."""
    expanded = parents.expanded(TREE_1, [2, 2, 1, 1, 1, 3, 1])
    assert (expanded + 1).tolist() == [0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5]


def test_expanded_parent_array_of_a_model() -> None:
    """The same from joint types, up to the depth-first numbering of a model."""
    joints = ["universal", "cylindrical", "revolute", "revolute", "prismatic", "ball", "screw"]
    model = trees.from_parents(TREE_1, joint=joints)
    paper = np.array([0, 1, 2, 3, 2, 4, 4, 5, 8, 9, 5]) - 1
    order = depth_first(paper)
    number = np.empty(12, dtype=int)
    number[order], number[-1] = np.arange(11), -1
    np.testing.assert_array_equal(model.expanded_parent, number[paper[order]])
    H = mass_matrix(model, model.random(2), sparse=True)
    assert H.pattern.nnz == 11 + D1(paper)


def test_what_one_row_of_tree_1_updates() -> None:
    """Figure 3: for k = 7 two elements at step 2 and three at step 3, against 6 and 21 in a dense matrix."""

    def added_by_the_last_row(parent: np.ndarray) -> Cost:
        return factorization(parent) - factorization(parent[:-1])

    assert added_by_the_last_row(TREE_1) == Cost(m=3, a=3, div=2)
    assert added_by_the_last_row(parents.chain(7)) == Cost(m=21, a=21, div=6)
    assert (D1(TREE_1), D2(TREE_1)) == (10, 14)
