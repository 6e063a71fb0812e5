"""Cost formulas against brute force over random trees, and the small Cost type."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from supple.costs import matrices as costs
from supple.costs.matrices import Cost
from supple.errors import StateError
from supple.model import parents, trees

RANDOM = [parents.random(n, seed, along, world) for seed, (n, along, world) in enumerate(
    [(1, 0, 0), (2, 0, 0), (9, 0.2, 0), (30, 0.5, 0.1), (30, 0.9, 0), (40, 0, 0.5), (25, 1, 0), (25, 0, 1)]
)]  # fmt: skip


def ancestors(parent: np.ndarray, i: int) -> list[int]:
    """i, its parent, and so on to the body on the root."""
    out = []
    while i >= 0:
        out.append(i)
        i = int(parent[i])
    return out


@pytest.mark.parametrize("parent", RANDOM)
def test_sums_are_what_they_count(parent: np.ndarray) -> None:
    n = len(parent)
    d = [len(ancestors(parent, i)) for i in range(n)]
    assert costs.D0(parent) == sum(min(1, x - 1) for x in d)
    assert costs.D1(parent) == sum(x - 1 for x in d)
    assert costs.D2(parent) == sum(x * (x - 1) // 2 for x in d)
    nu = [[j for j in range(n) if i in ancestors(parent, j)] for i in range(n)]
    assert costs.subtree_sizes(parent).tolist() == [len(x) for x in nu]
    nonzero = sum(len(x) for x in nu) * 2 - n
    assert costs.density(parent) == nonzero / n**2


@pytest.mark.parametrize("parent", RANDOM)
def test_splits_add_up_and_count_the_nodes_that_are_not_dh(parent: np.ndarray) -> None:
    s = costs.split(parent)
    assert (s.D0a + s.D0b, s.D1a + s.D1b) == (costs.D0(parent), costs.D1(parent))
    children = np.bincount(parent + 1, minlength=len(parent) + 1)
    assert s.D0b == np.maximum(children[1:] - 1, 0).sum()
    assert costs.non_dh_nodes(parent) == np.maximum(children - 1, 0).sum()
    assert (s.D0c, s.D1c) == (0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_dh_nodes_are_chosen_best(seed: int) -> None:
    """No choice of one DH child a node gives a larger D1a [SF section 5]."""
    parent = parents.random(8, seed, along=0.2)
    size = costs.subtree_sizes(parent)
    families = [np.flatnonzero(parent == p) for p in range(8) if (parent == p).any()]
    best = max(sum(int(size[i]) for i in choice) for choice in product(*families))
    assert costs.split(parent).D1a == best


def test_floating_bases_count_their_dh_child() -> None:
    parent = np.array([-1, 0, 0, 2, -1, 4, 4, 4])
    assert costs.split(parent, [0]) == (4 - 1, 2 + 1 + 1, 1 + 2, 1 + 1 + 1, 1, 2)
    both = costs.split(parent, [0, 4])
    assert (both.D0c, both.D1c) == (2, 3)
    model = trees.random_tree(60, 1, ("free", "revolute"), world=0.3)
    free = costs.floating_bases(model)
    assert len(free) and all(model.parent[i] < 0 and model.joints[int(i)].type == "free" for i in free)


def test_ties_and_empty() -> None:
    assert costs.split(np.array([-1, 0, 0])) == (1, 1, 1, 1, 0, 0)
    assert costs.split(np.empty(0, dtype=int)) == (0, 0, 0, 0, 0, 0)
    assert costs.D2(np.empty(0, dtype=int)) == 0


def test_large_sums_are_exact() -> None:
    n = 500_000
    assert costs.D2(parents.chain(n)) == (n**3 - n) // 6 > 2**53  # more than a float64 can tell apart


def test_cost_arithmetic_and_words() -> None:
    x = Cost(m=2, a=3, div=4, sqrt=5)
    assert x + x == 2 * x == x * 2 and x - x == Cost()
    assert str(x) == "2m + 3a + 4 div + 5 sqrt" and str(Cost()) == "0" and str(Cost(a=1, sincos=2)) == "1a + 2 sincos"
    assert x.div_as_m() == Cost(m=6, a=3, sqrt=5)
    assert x.total() == 14 and x.total(a=0) == 11 and Cost(sincos=9).total() == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: costs.D1([0]),
        lambda: costs.D1([-1, 1]),
        lambda: costs.D1([-2]),
        lambda: costs.D1([-1.0, 0.0]),
        lambda: costs.D1([[-1]]),
        lambda: costs.factorization([-1, 0], "llt"),  # type: ignore[arg-type]
        lambda: costs.aba([-1, -1]),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(StateError):
        wrong()


def test_nothing_is_compiled() -> None:
    code = "import sys, supple.costs.matrices; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
