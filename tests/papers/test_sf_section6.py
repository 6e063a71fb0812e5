"""SF section 6 and Figure 7: every number of the humanoid and of its equivalent chain, as printed."""

from __future__ import annotations

import numpy as np
import pytest

from supple.costs import matrices as costs
from supple.exact.crba import mass_matrix
from supple.model import trees
from supple.model.joints import NV
from supple.reproduce import sf_claims

MODELS = {"humanoid": trees.humanoid(), "chain": trees.humanoid_chain()}


def dof(model) -> list[int]:
    return [NV[k] for k in model.joint_type]


def test_every_claim_holds() -> None:
    claims = [*sf_claims.section_2(), *sf_claims.section_4(), *sf_claims.section_6()]
    assert len(claims) >= 55
    assert [c for c in claims if c.counted and not c.holds] == []


def test_a_wrong_claim_would_show() -> None:
    assert not sf_claims.Claim.same("", "", "219", 220).holds
    assert not sf_claims.Claim.rounded("", "", "2.37", 2.376).holds
    assert not sf_claims.Claim.rounded("", "", "430", 436, unit=10).holds


def test_sums_of_the_expanded_graph() -> None:
    e = MODELS["humanoid"].expanded_parent
    assert (len(e), costs.D1(e), costs.D2(e)) == (30, 219, 1039)
    assert 30 + 2 * costs.D1(e) == 468 and 900 - 468 == 432
    assert costs.density(e) == 468 / 900  # 48 % are zero


def test_zeros_of_a_real_mass_matrix() -> None:
    model = MODELS["humanoid"]
    H = mass_matrix(model, model.random(1), sparse=True)
    assert H.pattern.nnz == 30 + 219 and H.density == 0.52
    dense = mass_matrix(model, model.random(1))
    branch_induced = H.pattern.unpack(np.ones(H.pattern.size)) == 0
    assert branch_induced.sum() == 432
    assert (dense[branch_induced] == 0).all()


@pytest.mark.parametrize(
    ("name", "factorize", "solve"),
    [("humanoid", "1258m + 1039a", "468m + 438a"), ("chain", "4930m + 4495a", "900m + 870a")],
)
def test_factors(name: str, factorize: str, solve: str) -> None:
    e = MODELS[name].expanded_parent
    assert str(costs.factorization(e).div_as_m()) == factorize
    assert str(costs.back_substitution(e).div_as_m()) == solve


@pytest.mark.parametrize(("name", "split"), [("humanoid", (21, 66, 3, 18, 1, 6)), ("chain", (24, 300, 0, 0, 1, 24))])
def test_splits(name: str, split: tuple[int, ...]) -> None:
    model = MODELS[name]
    assert costs.split(model.parent, costs.floating_bases(model)) == split
    assert (costs.D0(model.parent), costs.D1(model.parent)) == (24, 84 if name == "humanoid" else 300)


@pytest.mark.parametrize(
    ("name", "crba", "rnea", "aba", "total"),
    [
        ("humanoid", "2475m + 2124a", "2275m + 1996a", "5544m + 5054a", "6476m + 5597a"),
        ("chain", "6462m + 4419a", "2263m + 1972a", "5346m + 4883a", "14555m + 11756a"),
    ],
)
def test_dynamics(name: str, crba: str, rnea: str, aba: str, total: str) -> None:
    model = MODELS[name]
    floating = costs.floating_bases(model)
    assert str(costs.crba(model.parent, floating)) == crba
    assert str(costs.rnea(model.parent, floating)) == rnea
    assert str(costs.aba(model.parent)) == aba
    assert str(costs.forward_dynamics(model.parent, dof(model), floating)) == total


@pytest.mark.parametrize(
    ("a", "crba", "total", "slower", "chain"), [(1, 2.37, 2.18, 14, 2.57), (0, 2.61, 2.25, 17, 2.72)]
)
def test_ratios_of_figure_7(a: float, crba: float, total: float, slower: int, chain: float) -> None:
    """The last column from our errata; the paper rounds it to 2.6."""
    h, c = (sf_claims.dynamics(x) for x in (sf_claims.HUMANOID, sf_claims.CHAIN))
    assert round(c["CRBA"].total(a) / h["CRBA"].total(a), 2) == crba
    assert round(c["forward dynamics"].total(a) / h["forward dynamics"].total(a), 2) == total
    assert round(100 * (h["forward dynamics"].total(a) / h["ABA"].total(a) - 1)) == slower
    assert round(c["forward dynamics"].total(a) / c["ABA"].total(a), 2) == chain
    assert abs(c["forward dynamics"].total() / c["ABA"].total() - 2.6) < 0.05
