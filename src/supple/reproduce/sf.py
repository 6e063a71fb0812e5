"""SF: Featherstone 2005, Efficient Factorization of the Joint Space Inertia Matrix for Branched Trees.

run() works out every number, table and figure of the paper again, counts the operations that our kernels
execute, and measures time and accuracy on this machine. It writes sf.md and the figures it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from supple.costs import matrices as costs
from supple.costs.matrices import Cost
from supple.exact.crba import mass_matrix
from supple.exact.factor import factorize
from supple.model import parents, trees
from supple.reproduce import sf_claims as claims
from supple.reproduce import sf_figures as figures
from supple.reproduce import sf_measure as measure
from supple.reproduce.counting import counts
from supple.reproduce.parts import CROSS, TICK, Claim
from supple.reproduce.report import Report

Row = Sequence[object]
SYSTEMS = {"humanoid": "humanoid", "chain": "humanoid-chain"}  #: the two of section 6, as counting names them


def run(out: Path, quick: bool = False, console: Console | None = None) -> None:
    """Reproduce the paper into the folder `out`. quick: smaller sizes and fewer samples."""
    with Report("sf", "SF: sparse factorization of the mass matrix (Featherstone 2005)", out, quick, console) as report:
        found = counts(list(SYSTEMS.values()))
        numbers(report)
        table_1(report, found["humanoid"])
        table_2(report)
        pictures(report)
        section_6(report, found)
        times(report, quick)
        accuracy(report, quick)


def numbers(report: Report) -> None:
    """Every number in the text."""
    report.heading("Every number in the text")
    report.text("Worked out from parent arrays by supple.costs.matrices.")
    report.claims([*claims.section_2(), *claims.section_4(), *claims.section_6()])


def table_1(report: Report, kernels: dict[str, Cost]) -> None:
    """The costs of factors by formula, and counted."""
    report.heading("Table 1: cost of factorizing, solving and multiplying, on the humanoid")
    lam = parents.expanded(claims.HUMANOID, claims.DOF)
    rows: list[Row] = []
    for form in costs.FORMS:
        name, printed = form.upper(), costs.factorization(lam, form)
        listing, kernel = kernels[f"{form} listed"], kernels[form]
        rows.append((f"{name} factorize, the paper's listing", printed, listing, _compare(printed, listing)))
        rows.append((f"{name} factorize, our kernel", printed, kernel, _compare(printed, kernel)))
        for what, cost, operations in (
            ("solve", costs.back_substitution(lam, form), ("solve",)),
            ("L x, L^T x", costs.product(lam, form), ("L x", "L^T x")),
            ("L^-1 x, L^-T x", costs.triangle_solve(lam, form), ("L^-1 x", "L^-T x")),
        ):
            found = {kernels[f"{form} {operation}"] for operation in operations}
            ours = found.pop()
            rows.append((f"{name} {what}", cost, ours, CROSS if found else _compare(cost, ours)))
    report.table(["operation", "formula", "counted", ""], rows, left=(0, 3))
    report.text(
        "Counted by running the paper's listings, and our kernels' own source, on numbers that count. `=` "
        "means equal with divisions taken as multiplications: our factors keep the reciprocals of their "
        "diagonals, so solving divides nothing. Our factorization makes the same D2 updates, but each row "
        "collects them from its descendants, which saves the stores of the inner loop and lets it run four "
        "columns to a register; for that it forms the quotients A_ki / A_kk, as products with reciprocals, "
        "anew for each column (when compiled for a single state, for each eight)."
    )


def table_2(report: Report) -> None:
    """D1 and D2 of the four families, and how they grow."""
    report.heading("Table 2: D1 and D2 of four families")
    rows: list[Row] = []
    for family in claims.FAMILIES:
        for m in _samples(family):
            parent = family.parent(m)
            d1, d2 = costs.D1(parent), costs.D2(parent)
            same = (len(parent), d1, d2) == (family.n(m), family.D1(m), family.D2(m))
            rows.append((family.name, m, len(parent), d1, family.D1(m), d2, family.D2(m), _tick(same)))
    columns = ["family", "m", "n", "D1 counted", "D1 formula", "D2 counted", "D2 formula", ""]
    report.table(columns, rows)
    right = {family.name: all(row[-1] == TICK for row in rows if row[0] == family.name) for family in claims.FAMILIES}
    report.claims([
        Claim.stated("Table 2", f.name, f.formula, "the same, at five sizes" if holds else "not so", holds)
        for f in claims.FAMILIES for holds in (right[f.name],)
    ])  # fmt: skip
    report.table(
        ["family", "formulas", "order, theirs", "growth of D1 + 2 D2"],
        [
            (f.name, f.formula, f.order, f"n^{_growth(f, _samples(f)[-1]):.2f} at n = {f.n(_samples(f)[-1])}")
            for f in claims.FAMILIES
        ],
        left=(0, 1, 2),
    )
    report.text("The rule of thumb: sparse factorization takes about alpha² of the dense cost, alpha the density.")
    rows.clear()
    for name, parent in (
        ("side branches, m = 500", parents.side_branches(500)),
        ("balanced tree, n = 255", parents.balanced_binary(8)),
        ("spanning grid, n = 256", parents.spanning_grid(16)),
        ("humanoid, expanded", parents.expanded(claims.HUMANOID, claims.DOF)),
    ):
        exact = claims.cost_of(parent) / claims.cost_of(parents.chain(len(parent)))
        square, alpha = costs.rule_of_thumb(parent)
        rows.append((name, f"{alpha:.4f}", f"{square:.5f}", f"{exact:.5f}"))
    report.table(["tree", "alpha", "alpha²", "cost / dense cost"], rows)


def _samples(family: claims.Family) -> tuple[int, ...]:
    return (2, 4, 8, 12, 16) if family.name == "balanced tree" else (2, 5, 16, 50, 300)


def _growth(family: claims.Family, m: int) -> float:
    """The exponent with which the cost grows from m to m + 1."""
    cost = [claims.operations(family.D1(k), family.D2(k)) for k in (m, m + 1)]
    return float(np.log(cost[1] / cost[0]) / np.log(family.n(m + 1) / family.n(m)))


def _tick(truth: bool) -> str:
    return TICK if truth else CROSS


def _compare(theirs: Cost, ours: Cost) -> str:
    if theirs == ours:
        return TICK
    a, b = theirs.div_as_m(), ours.div_as_m()
    return f"{TICK} =" if a == b else f"{b.m - a.m:+d}m {b.a - a.a:+d}a"


def pictures(report: Report) -> None:
    """The sparsity of H and L, and Figure 5."""
    report.heading("What the matrices look like, and Figure 5")
    humanoid, chain = trees.humanoid(), trees.humanoid_chain()
    H = mass_matrix(humanoid, humanoid.random(0), sparse=True)
    shown = {
        "H of the humanoid": H.dense(),
        "its factor L": factorize(H).L,
        "H of the equivalent chain": mass_matrix(chain, chain.random(0)),
    }
    caption = "Where mass matrices of 30 degrees of freedom, and a factor, are not zero; darker is larger"
    report.figure("sf-sparsity.png", caption, figures.sparsity(shown))
    caption = "SF Figure 5: operations of an LTDL factorization, D1 + 2 D2, against n"
    report.figure("sf-figure-5.png", caption, figures.figure_5())


def section_6(report: Report, found: dict[str, dict[str, Cost]]) -> None:
    """Figure 7, by the paper's formulas and by what our kernels execute."""
    report.heading("Section 6 and Figure 7: forward dynamics of the humanoid and its equivalent chain")
    theirs = {"humanoid": claims.dynamics(claims.HUMANOID), "chain": claims.dynamics(claims.CHAIN)}
    ours = {name: _named(found[system]) for name, system in SYSTEMS.items()}
    rows: list[Row] = [
        (system, part, theirs[system][part], ours[system][part])
        for system in SYSTEMS
        for part in ("RNEA", "CRBA", "factorize", "back-substitution", "forward dynamics", "ABA")
    ]
    report.table(["system", "part", "theirs, by formula", "ours, counted"], rows, left=(0, 1))
    report.text(
        "Theirs assumes Denavit-Hartenberg frames and revolute joints, and axes of five zeros and a one; "
        "sines and cosines are not counted. Ours is what our kernels execute, for any joint: components "
        "along world axes (no change of frame from body to body, but every inertia is turned into them, and "
        "an axis is three numbers), kinematics in RNEA and in CRBA both, damping and armature, products with "
        "the world's rotation. In the figure divisions count as multiplications."
    )
    rows = []
    fd = "forward dynamics"
    for what, top, bottom in (
        ("CRBA, chain / humanoid", ("chain", "CRBA"), ("humanoid", "CRBA")),
        ("factorize, chain / humanoid", ("chain", "factorize"), ("humanoid", "factorize")),
        (f"{fd}, chain / humanoid", ("chain", fd), ("humanoid", fd)),
        (f"humanoid, {fd} / ABA", ("humanoid", fd), ("humanoid", "ABA")),
        (f"chain, {fd} / ABA", ("chain", fd), ("chain", "ABA")),
    ):
        pairs = [(side[top[0]][top[1]], side[bottom[0]][bottom[1]]) for side in (theirs, ours)]
        rows.append((what, *(f"{x.total(a) / y.total(a):.2f}" for x, y in pairs for a in (1.0, 0.0))))
    report.table(["ratio", "theirs, a = m", "theirs, a = 0", "ours, a = m", "ours, a = 0"], rows)
    panels = {"by the paper's formulas": theirs, "counted in our kernels": ours}
    caption = "SF Figure 7: forward dynamics by the mass matrix and by the ABA"
    weights = (("a = m", 1.0), ("a = 0", 0.0))
    report.figure("sf-figure-7.png", caption, figures.figure_7(panels, weights))


def _named(found: dict[str, Cost]) -> dict[str, Cost]:
    """Counts of the kernels under the names of the paper's parts."""
    names = {
        "RNEA": "rnea", "CRBA": "crba", "factorize": "ltdl", "back-substitution": "ltdl solve",
        "forward dynamics": "forward dynamics", "ABA": "aba",
    }  # fmt: skip
    return {part: found[name].div_as_m() for part, name in names.items()}


def times(report: Report, quick: bool) -> None:
    """Sparse against dense on this machine."""
    report.heading("Measured: sparse against dense factorization on this machine")
    budget = 0.02 if quick else 0.15
    jobs = [(name, m) for name, (_, sizes) in measure.SHAPES.items() for m in (sizes[:5] if quick else sizes)]
    measured: dict[str, list[measure.Timing]] = {name: [] for name in measure.SHAPES}
    for name, m in report.track(jobs, "measuring factorizations"):
        measured[name].append(measure.time_factorization(measure.SHAPES[name][0](m), budget))
    sizes = sorted({t.n for timings in measured.values() for t in timings})
    cholesky = measure.time_cholesky(sizes, budget)
    rows: list[Row] = []
    for name, timings in measured.items():
        for t in timings:
            micros = [1e6 * x for x in (t.sparse, t.dense_ltdl, cholesky[t.n])]
            ratios = t.dense_ltdl / t.sparse, t.predicted, cholesky[t.n] / t.sparse
            rows.append((name, t.n, *map(_short, (*micros, *ratios))))
    columns = ["family", "n", "sparse", "dense", "LAPACK", "dense / sparse", "by count", "LAPACK / sparse"]
    report.table(columns, rows)
    report.text(
        "Microseconds, the smallest of several runs. Sparse is our LTDL, dense the same kernel with "
        "lambda(i) = i - 1, LAPACK is numpy.linalg.cholesky, all on one thread. 'By count' is "
        "dense / sparse in operations, D1 + 2 D2: small matrices pay for the call and for short rows, which "
        "fill registers badly, large dense ones for memory, so the measured ratio is below the count at "
        "first and may pass it later."
    )
    caption = "Time to factorize mass matrices of four families, and how much sparsity saves"
    report.figure("sf-time.png", caption, figures.times(measured, cholesky))
    rows.clear()
    for name, model in (("humanoid", trees.humanoid()), ("chain", trees.humanoid_chain())):
        seconds = measure.time_dynamics(model, budget)
        matrix, aba = seconds["crba"], seconds["aba"]
        rows.append((name, f"{1e6 * matrix:.2f}", f"{1e6 * aba:.2f}", f"{matrix / aba:.2f}"))
    report.table(["system", "matrix, µs", "ABA, µs", "matrix / ABA"], rows)
    report.text("Forward dynamics of the two systems of section 6, measured; the call from Python is part of it.")


def _short(x: float) -> str:
    return f"{x:.3g}" if x < 1000 else f"{x:,.0f}"


def accuracy(report: Report, quick: bool) -> None:
    """SF section 2: sparse ones tend to be slightly more accurate than Cholesky, dense ones slightly less."""
    report.heading("Measured: accuracy against LAPACK's Cholesky (SF section 2)")
    jobs = range(80 if quick else 800)
    samples = [
        measure.accuracy(measure.sample(i), np.random.default_rng(i)) for i in report.track(jobs, "measuring accuracy")
    ]
    for name, meaning in measure.MEASURES.items():
        report.text(f"**{name}**: {meaning}")
        rows = []
        for bins in zip(*(measure.in_bins(samples, name, method) for method in measure.METHODS)):
            low, high, size, rival, _ = bins[0]
            density = "dense" if low > 0.99 else f"{100 * low:.0f} to {100 * high:.0f} %"
            rows.append((density, size, f"{rival:.2g}", *(f"{b.quartiles[1]:.2f}" for b in bins)))
        report.table(["density", "matrices", "Cholesky", *measure.METHODS.values()], rows)
    report.text("Medians: Cholesky's error, then that of each method as a multiple of Cholesky's.")
    report.text(
        "The paper: on matrices with substantial sparsity LTL and LTDL tend to be slightly more accurate "
        "than Cholesky, on dense ones slightly less. It does not say by what measure. Is it so here, with "
        "less than 20 % of H not zero, and with no zeros?"
    )
    report.table(["measure", "method", "sparse", "dense", ""], verdicts(samples), left=(0, 1))
    caption = "Errors of the sparse LTDL against those of a dense Cholesky, for random trees of 48 joints"
    report.figure("sf-accuracy.png", caption, figures.accuracies(samples))


def verdicts(samples: Sequence[measure.Accuracy]) -> list[Row]:
    """Whether the paper's claim is seen: medians on sparse and dense matrices, over Cholesky's."""
    rows: list[Row] = []
    for name in measure.MEASURES:
        for method, called in measure.METHODS.items():
            bins = measure.in_bins(samples, name, method, edges=(0.0, 0.2, 0.999, 1.0))
            sparse, dense = bins[0].quartiles[1], bins[-1].quartiles[1]
            rows.append((name, called, f"{sparse:.2f}", f"{dense:.2f}", "yes" if sparse < 1 < dense else "no"))
    return rows
