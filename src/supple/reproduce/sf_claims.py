"""Every number that SF prints, beside the same number worked out here from parent arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.costs import matrices as costs
from supple.costs.matrices import Cost
from supple.model import parents
from supple.reproduce.parts import Claim

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Family:
    """A row of SF Table 2: trees of one shape, by their parameter m, with the paper's formulas."""

    name: str
    parent: Callable[[int], Ints]
    n: Callable[[int], int]
    D1: Callable[[int], int]
    D2: Callable[[int], int]
    formula: str
    order: str


FAMILIES = (
    Family(
        "unbranched",
        parents.chain,
        lambda m: m,
        lambda m: (m**2 - m) // 2,
        lambda m: (m**3 - m) // 6,
        "D1 = (n²-n)/2, D2 = (n³-n)/6",
        "n³",
    ),
    Family(
        "short side branches",
        parents.side_branches,
        lambda m: 2 * m,
        lambda m: m**2,
        lambda m: (2 * m**3 + 3 * m**2 + m) // 6,
        "D1 = m², D2 = (2m³+3m²+m)/6, n = 2m",
        "n³",
    ),
    Family(
        "balanced tree",
        parents.balanced_binary,
        lambda m: 2**m - 1,
        lambda m: sum(i * 2**i for i in range(1, m)),
        lambda m: sum(i * (i + 1) * 2 ** (i - 1) for i in range(1, m)),
        "D1 = Σ i 2^i, D2 = Σ i(i+1) 2^(i-1), i < m, n = 2^m-1",
        "n log(n)²",
    ),
    Family(
        "spanning grid",
        parents.spanning_grid,
        lambda m: m**2,
        lambda m: m**3 - m**2,
        lambda m: (7 * m**4 - 6 * m**3 - m**2) // 12,
        "D1 = m³-m², D2 = (7m⁴-6m³-m²)/12, n = m²",
        "n²",
    ),
)

#: Tree 1 of SF Figure 1, the humanoid of Figure 6 and its equivalent chain, over bodies.
TREE_1 = parents.branching(7, 2)
HUMANOID, CHAIN = parents.humanoid(), parents.chain(25)
DOF = np.array([6] + [1] * 24)
FLOATING = np.array([0])


def operations(d1: int, d2: int) -> int:
    """The simple count of SF section 4.2: D1 + 2 D2."""
    return d1 + 2 * d2


def cost_of(parent: Ints) -> int:
    return operations(costs.D1(parent), costs.D2(parent))


def section_2() -> list[Claim]:
    """Parent arrays, and what the factorization of Tree 1 touches."""
    where = "2"
    expanded = parents.expanded(TREE_1, [2, 2, 1, 1, 1, 3, 1]) + 1
    depth = 3  # of body 7
    return [
        Claim.same(where, "Tree 1: parent array", "0 1 1 2 2 3 3", _listed(TREE_1 + 1)),
        Claim.same(where, "expanded, joints 1, 2, 6 of 2, 2, 3 DoF", "0 1 2 3 2 4 4 5 8 9 5", _listed(expanded)),
        Claim.same(where, "Tree 1, k = 7: updates at steps 2, 3", "2 3", f"{depth - 1} {depth * (depth - 1) // 2}"),
        Claim.same(where, "dense, k = 7: updates at steps 2, 3", "6 21", f"{7 - 1} {7 * 6 // 2}"),
    ]


def _listed(x: Ints) -> str:
    return " ".join(map(str, x.tolist()))


def section_4() -> list[Claim]:
    """Ratios of dense to sparse factorization, and limits for large n."""
    out = []
    for name, make, m, theirs, unit in (
        ("balanced tree, n = 15", parents.balanced_binary, 4, "7.8", None),
        ("balanced tree, n = 255", parents.balanced_binary, 8, "430", 10.0),
        ("spanning grid, n = 16", parents.spanning_grid, 4, "5.3", None),
        ("spanning grid, n = 256", parents.spanning_grid, 16, "74", None),
    ):
        sparse = make(m)
        ratio = cost_of(parents.chain(len(sparse))) / cost_of(sparse)
        out.append(Claim.rounded("4.2", f"dense / sparse, {name}", theirs, ratio, unit))
    for name, options, shares in (
        ("side branches of 1", (1, 1), (2, 4)),
        ("side branches of 2", (2, 1), (3, 9)),
        ("2 side branches a node", (1, 2), (3, 9)),
        ("3 side branches of 2", (2, 3), (7, 49)),  # the general statement, for beta = 1/7
    ):
        sparse = parents.side_branches(20_000, *options)
        found, most = (costs.D1(sparse), costs.D2(sparse)), costs.bounds(len(sparse))
        for what, value, dense, share in zip(("D1", "D2"), found, most, shares):
            text = f"{what} / dense, {name}, n = {len(sparse)}"
            holds = abs(dense / value / share - 1) < 1e-3
            out.append(Claim.stated("4.2", text, f"1/{share}", f"1/{dense / value:.4f}", holds))
    out.append(Claim.same("5", "Tree 1: non-DH nodes", "3", costs.non_dh_nodes(TREE_1)))
    return out


def section_6() -> list[Claim]:
    """All of the practical example."""
    where = "6"
    e, dense = parents.expanded(HUMANOID, DOF), parents.chain(30)
    nonzero = 30 + 2 * costs.D1(e)
    out = [
        Claim.same(where, "humanoid: D1 expanded", "219", costs.D1(e)),
        Claim.same(where, "humanoid: D2 expanded", "1039", costs.D2(e)),
        Claim.same(where, "humanoid: nonzero elements of H", "468", nonzero),
        Claim.same(where, "humanoid: zeros of H", "432", 900 - nonzero),
        Claim.rounded(where, "humanoid: share of zeros", "48", 100 * (1 - costs.density(e)), suffix=" %"),
    ]
    factor, solve = costs.factorization, costs.back_substitution
    for name, lam, theirs in (
        ("humanoid", e, ("1258m + 1039a", "468m + 438a")),
        ("dense 30 x 30", dense, ("4930m + 4495a", "900m + 870a")),
    ):
        out.append(Claim.same(where, f"{name}: factorize", theirs[0], factor(lam).div_as_m()))
        out.append(Claim.same(where, f"{name}: back-substitution", theirs[1], solve(lam).div_as_m()))
    out.append(Claim.same(where, "humanoid: D0", "24", costs.D0(HUMANOID)))
    out.append(Claim.same(where, "humanoid: D1", "84", costs.D1(HUMANOID)))
    for name, parent, splits in (
        ("humanoid", HUMANOID, (21, 66, 3, 18, 1, 6)),
        ("chain", CHAIN, (24, 300, 0, 0, 1, 24)),
    ):
        for what, number, value in zip(costs.Split._fields, splits, costs.split(parent, FLOATING)):
            out.append(Claim.same(where, f"{name}: {what}", str(number), value))
    return out + _section_6_dynamics(where)


def _section_6_dynamics(where: str) -> list[Claim]:
    h, c = dynamics(HUMANOID), dynamics(CHAIN)
    out = [
        Claim.same(where, f"{name}: {what}", theirs, all_[what])
        for name, all_, printed in (
            ("humanoid", h, ("2475m + 2124a", "2275m + 1996a", "5544m + 5054a", "6476m + 5597a")),
            ("chain", c, ("6462m + 4419a", "2263m + 1972a", "5346m + 4883a", "14555m + 11756a")),
        )
        for what, theirs in zip(("CRBA", "RNEA", "ABA", "forward dynamics"), printed)
    ]
    fd = "forward dynamics"
    for what, top, bottom, theirs in (
        ("CRBA, chain / humanoid", c["CRBA"], h["CRBA"], ("2.37", "2.61")),
        (f"{fd}, chain / humanoid", c[fd], h[fd], ("2.18", "2.25")),
    ):
        for a, number in zip((1.0, 0.0), theirs):
            text = f"{what}, a = {'m' if a else '0'}"
            out.append(Claim.rounded(where, text, number, top.total(a) / bottom.total(a)))
    ratios = {letter: c[fd].total(a) / c["ABA"].total(a) for letter, a in (("m", 1.0), ("0", 0.0))}
    out.append(Claim.rounded(where, f"chain, {fd} / ABA, in round numbers", "2.6", ratios["m"]))
    why = "the paper prints a round number only"
    out.append(Claim.aside(where, f"chain, {fd} / ABA, a = 0", "2.6", f"{ratios['0']:.4f}", why))
    slower = [100 * (h[fd].total(a) / h["ABA"].total(a) - 1) for a in (1.0, 0.0)]
    text = "humanoid, slower than the ABA"
    for letter, number, percent in zip("m0", ("14", "17"), slower):
        out.append(Claim.rounded(where, f"{text}, a = {letter}", number, percent, suffix=" %"))
    between = f"{slower[0]:.1f} to {slower[1]:.1f} %"
    out.append(Claim.stated(where, f"{text}, about", "15 %", between, slower[0] < 15 < slower[1]))
    return out


def dynamics(parent: Ints) -> dict[str, Cost]:
    """The paper's costs of one of the two systems of section 6, divisions as multiplications."""
    e = parents.expanded(parent, DOF)
    return {
        "RNEA": costs.rnea(parent, FLOATING),
        "CRBA": costs.crba(parent, FLOATING),
        "factorize": costs.factorization(e).div_as_m(),
        "back-substitution": costs.back_substitution(e).div_as_m(),
        "forward dynamics": costs.forward_dynamics(parent, DOF, FLOATING),
        "ABA": costs.aba(parent),
    }
