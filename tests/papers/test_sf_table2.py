"""SF Table 2, Figures 4 and 5: D1 and D2 of four families, bounds (10) to (13), limits and ratios."""

from __future__ import annotations

import math

import numpy as np
import pytest

from supple.costs import matrices as costs
from supple.model import parents
from supple.model.topology import depths
from supple.reproduce.sf_claims import FAMILIES, cost_of, operations

SIZES = {"balanced tree": range(1, 15)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_formulas_of_table_2(family) -> None:
    for m in SIZES.get(family.name, range(1, 60)):
        parent = family.parent(m)
        assert len(parent) == family.n(m)
        assert costs.D1(parent) == family.D1(m)
        assert costs.D2(parent) == family.D2(m)


def test_every_shortest_path_tree_of_a_grid_has_the_same_sums() -> None:
    """ "Any spanning tree is acceptable": each node hangs on any neighbour that is nearer to the corner."""
    rng = np.random.default_rng(0)
    for m in (2, 5, 9):
        parent = np.full(m * m, -1)
        for k in range(1, m * m):
            i, j = divmod(k, m)
            nearer = [k - m] * (i > 0) + [k - 1] * (j > 0)
            parent[k] = rng.choice(nearer)
        assert costs.D1(parent) == m**3 - m**2
        assert costs.D2(parent) == (7 * m**4 - 6 * m**3 - m**2) // 12


@pytest.mark.parametrize("seed", range(10))
def test_bounds_10_to_13_and_16(seed: int) -> None:
    parent = parents.random(50, seed, along=seed / 10, world=0.05)
    n, deepest = 50, int(depths(parent).max())
    d1, d2 = costs.D1(parent), costs.D2(parent)
    for most in (costs.bounds(n), costs.bounds(n, deepest)):
        assert 0 <= d1 <= most[0] and 0 <= d2 <= most[1]
    assert 0 <= costs.D0(parent) <= n - 1


def test_bounds_are_reached() -> None:
    chain, star = parents.chain(12), np.full(12, -1)
    assert (costs.D1(chain), costs.D2(chain)) == costs.bounds(12) == ((12**2 - 12) // 2, (12**3 - 12) // 6)
    assert (costs.D0(star), costs.D1(star), costs.D2(star)) == (0, 0, 0)
    swarm = np.where(np.arange(12) % 3 == 0, -1, np.arange(-1, 11))  # four robots of three bodies
    assert costs.bounds(12, 3) == (24, 36) and (costs.D1(swarm), costs.D2(swarm)) == (4 * 3, 4 * 4)


@pytest.mark.parametrize("m", range(2, 14))
def test_bounds_of_the_balanced_tree(m: int) -> None:
    parent = parents.balanced_binary(m)
    assert (m - 1) * 2 ** (m - 1) <= costs.D1(parent) <= (m - 1) * 2**m
    assert m * (m - 1) * 2 ** (m - 2) <= costs.D2(parent) <= m * (m - 1) * 2 ** (m - 1)


@pytest.mark.parametrize(
    ("make", "m", "n", "ratio", "unit"),
    [
        (parents.balanced_binary, 4, 15, 7.8, 0.1),
        (parents.balanced_binary, 8, 255, 430, 10),
        (parents.spanning_grid, 4, 16, 5.3, 0.1),
        (parents.spanning_grid, 16, 256, 74, 1),
    ],
)
def test_dense_over_sparse_of_section_4_2(make, m: int, n: int, ratio: float, unit: float) -> None:
    parent = make(m)
    assert len(parent) == n
    assert round(cost_of(parents.chain(n)) / cost_of(parent) / unit) == round(ratio / unit)


@pytest.mark.parametrize(("length", "per_node"), [(1, 1), (2, 1), (1, 2), (3, 1), (2, 2)])
def test_side_branches_converge_to_beta_and_its_square(length: int, per_node: int) -> None:
    beta = 1 / (1 + length * per_node)
    gaps = []
    for m in (500, 1000):
        parent = parents.side_branches(m, length, per_node)
        most = costs.bounds(len(parent))
        gaps.append((costs.D1(parent) / most[0] / beta - 1, costs.D2(parent) / most[1] / beta**2 - 1))
    assert all(abs(g) < 0.02 for g in gaps[0])
    assert all(abs(b) < 0.6 * abs(a) or abs(b) < 1e-12 for a, b in zip(*gaps))  # the gap closes as 1/n


def test_orders_of_figure_5() -> None:
    """Slopes on log axes at large n: 3, 3, just over 1, 2."""
    for family, m, low, high in zip(FAMILIES, (3000, 1500, 16, 60), (2.99, 2.99, 1.05, 1.95), (3.01, 3.01, 1.3, 2.05)):
        a, b = (operations(family.D1(k), family.D2(k)) for k in (m, m + 1))
        slope = math.log(b / a) / math.log(family.n(m + 1) / family.n(m))
        assert low < slope < high, family.name


def test_rule_of_thumb() -> None:
    """ "If 50% of the elements are nonzero then the sparse factorization will be about four times faster"."""
    parent = parents.side_branches(500)
    square, alpha = costs.rule_of_thumb(parent)
    assert abs(alpha - 0.5) < 2e-3 and square == alpha**2
    dense = parents.chain(len(parent))
    assert abs(cost_of(parent) / cost_of(dense) / square - 1) < 0.01
    half = costs.back_substitution(parent).total() / costs.back_substitution(dense).total()
    assert abs(half / alpha - 1) < 0.01
