"""SF Table 1: the cost of factorizing, solving and multiplying, by formula and counted as it runs."""

from __future__ import annotations

import pytest

from supple.costs import matrices as costs
from supple.costs.matrices import Cost
from supple.model import parents
from supple.reproduce.counting import counts

#: Systems by the names that counting knows, with their parent arrays over degrees of freedom.
SYSTEMS = {
    "humanoid": parents.expanded(parents.humanoid(), [6] + [1] * 24),
    "humanoid-chain": parents.chain(30),
    "chain:7": parents.chain(7),
    "side-branches:6": parents.side_branches(6),
    "binary:4": parents.balanced_binary(4),
    "grid:4": parents.spanning_grid(4),
}


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, Cost]]:
    return counts(list(SYSTEMS))


def numbers(name: str) -> tuple[int, int, int]:
    lam = SYSTEMS[name]
    return len(lam), costs.D1(lam), costs.D2(lam)


@pytest.mark.parametrize("name", SYSTEMS)
def test_formulas(name: str) -> None:
    lam = SYSTEMS[name]
    n, d1, d2 = numbers(name)
    assert costs.factorization(lam, "ltl") == Cost(m=d2, a=d2, div=d1, sqrt=n)
    assert costs.factorization(lam, "ltdl") == Cost(m=d2, a=d2, div=d1)
    assert costs.back_substitution(lam, "ltl") == Cost(m=2 * d1, a=2 * d1, div=2 * n)
    assert costs.back_substitution(lam, "ltdl") == Cost(m=2 * d1, a=2 * d1, div=n)
    assert costs.product(lam, "ltl") == Cost(m=n + d1, a=d1)
    assert costs.product(lam, "ltdl") == Cost(m=d1, a=d1)
    assert costs.triangle_solve(lam, "ltl") == Cost(m=d1, a=d1, div=n)
    assert costs.triangle_solve(lam, "ltdl") == Cost(m=d1, a=d1)


@pytest.mark.parametrize("form", costs.FORMS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_listings_cost_what_the_table_says(name: str, form: costs.Form, counted) -> None:
    assert counted[name][f"{form} listed"] == costs.factorization(SYSTEMS[name], form)


@pytest.mark.parametrize("form", costs.FORMS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_our_factorization_makes_the_same_updates(name: str, form: costs.Form, counted) -> None:
    """D2 subtractions and a division a row (two with square roots): reciprocals do the rest."""
    n, d1, d2 = numbers(name)
    cost = counted[name][form]
    assert (cost.a, cost.sqrt) == (d2, n if form == "ltl" else 0)
    assert cost.div == (n if form == "ltdl" else 2 * n)
    assert d2 + d1 <= cost.m <= 2 * d2 + d1 + n  # quotients may be formed again for each column


@pytest.mark.parametrize("form", costs.FORMS)
@pytest.mark.parametrize("name", SYSTEMS)
def test_our_products_and_solves_cost_what_the_table_says(name: str, form: costs.Form, counted) -> None:
    """With divisions as multiplications: a factor keeps the reciprocals of its diagonal."""
    lam, found = SYSTEMS[name], counted[name]
    for what in ("L x", "L^T x"):
        assert found[f"{form} {what}"] == costs.product(lam, form)
    for what in ("L^-1 x", "L^-T x"):
        assert found[f"{form} {what}"].div_as_m() == costs.triangle_solve(lam, form).div_as_m()
    assert found[f"{form} solve"].div_as_m() == costs.back_substitution(lam, form).div_as_m()


def test_forward_dynamics_is_the_sum_of_its_parts(counted) -> None:
    """RNEA, CRBA, LTDL, back-substitution, and nv subtractions for tau - C."""
    for name, found in counted.items():
        parts = found["rnea"] + found["crba"] + found["ltdl"] + found["ltdl solve"]
        assert found["forward dynamics"] - parts == Cost(a=len(SYSTEMS[name]))


def test_branches_do_not_change_what_rnea_and_aba_cost_us(counted) -> None:
    """Along world axes there are no DH nodes to lose: only CRBA and the factors depend on the shape."""
    a, b = counted["humanoid"], counted["humanoid-chain"]
    assert a["rnea"] == b["rnea"] and a["aba"] == b["aba"]
    assert a["crba"].total() < b["crba"].total() and a["ltdl"].total() < b["ltdl"].total()
