"""VW: Yamane and Nakamura, O(N) Forward Dynamics Computation of Open Kinematic Chains Based on the Principle of Virtual
Work.

run() draws Figures 6 and 7 again on this machine, goes on to sizes where growth shows, and does what the paper left for
later: operations and accuracy, beside the articulated-body algorithm and the mass matrix. It writes vw.md and figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from supple.costs.matrices import Cost
from supple.exact.virtual_hubs import split_hubs
from supple.reproduce import vw_figures as figures
from supple.reproduce import vw_measure as measure
from supple.reproduce.counting import counts
from supple.reproduce.parts import Claim, Verdict
from supple.reproduce.report import Report
from supple.reproduce.vw_measure import Errors, Times, crossing, growth
from supple.reproduce.vw_methods import DCA, DCA_MEANING, METHODS, ball_chain, star

Row = Sequence[object]
Counts = dict[int, dict[str, Cost]]  #: by size and method

CHAIN_6, STAR_7 = tuple(range(2, 17)), tuple(range(2, 13))  #: the paper's sizes
LONG_CHAINS, LARGE_STARS = tuple(2**k for k in range(1, 13)), tuple(2**k for k in range(1, 12))
CROSS_6, CROSS_7 = 15, 30  #: degrees of freedom at which it finds virtual work faster than unit vectors
COUNTED_CHAINS, COUNTED_STARS, ROBOT = (2, 4, 8, 16, 32, 64, 128), (2, 4, 8, 16, 24), 32

LENGTHS, RATIOS, BRANCHES = tuple(2**k for k in range(1, 11)), tuple(10**k for k in range(6)), (4, 16, 64, 256)


def run(out: Path, quick: bool = False, console: Console | None = None) -> None:
    """Reproduce the paper into the folder `out`. quick: smaller sizes and fewer samples."""
    with Report("vw", "VW: forward dynamics by virtual work (Yamane and Nakamura)", out, quick, console) as report:
        meanings = {name: method.meaning for name, method in METHODS.items()} | {DCA: DCA_MEANING}
        report.text("\n".join(f"- **{name}**: {meaning}" for name, meaning in meanings.items()))
        figure_6(report, quick)
        figure_7(report, quick)
        operations(report, quick)
        accuracy(report, quick)


# --- times ----------------------------------------------------------------------------------------------------------


def figure_6(report: Report, quick: bool) -> None:
    """Serial chains of ball joints."""
    report.heading("Figure 6: serial chains of 2 to 16 ball joints")
    methods, budget = measure.methods_for(branched=False), 0.02 if quick else 0.15
    sizes = CHAIN_6[::2] if quick else CHAIN_6
    small = measure.times(ball_chain, sizes, methods, budget, partial(report.track, doing="timing chains"))
    most = {"unit vectors": 64 if quick else 128, "CRBA + LTDL": 128 if quick else 256}
    longer = LONG_CHAINS[:8] if quick else LONG_CHAINS
    large = measure.times(ball_chain, longer, methods, budget, partial(report.track, doing="timing long chains"), most)
    _table_of_times(report, small)
    report.text(
        "Microseconds a call, the smallest of several in turns; the call from Python is part of it, about 0.1 µs. Unit "
        "vectors is compiled and fair: bodies are placed once for all columns, a column takes only what its joint "
        "carries, H is symmetric, and the dense factors are made in the same kernel."
    )
    caption = "VW Figure 6: time of forward dynamics of serial chains of ball joints"
    drawn = figures.figure_of_times(small, large, CROSS_6, "virtual work", "ball joints n")
    report.figure("vw-figure-6.png", caption, drawn)
    _table_of_growth(report, small, large, {"virtual work": f"{CROSS_6}"}, {"virtual work": "n"})
    report.claims([_crosses("virtual work", (small, large), CROSS_6)])


def figure_7(report: Report, quick: bool) -> None:
    """Stars: end links on one link."""
    report.heading("Figure 7: 2 to 12 end links on a link that a ball joint connects to the ground")
    methods, budget = measure.methods_for(branched=True), 0.02 if quick else 0.15
    sizes = STAR_7[::2] if quick else STAR_7
    small = measure.times(star, sizes, methods, budget, partial(report.track, doing="timing stars"))
    most = {"pairs": 32 if quick else 128, "unit vectors": 64 if quick else 256, "split": 256}
    larger = LARGE_STARS[:7] if quick else LARGE_STARS
    large = measure.times(star, larger, methods, budget, partial(report.track, doing="timing large stars"), most)
    _table_of_times(report, small)
    caption = "VW Figure 7: time of forward dynamics of branched chains, without and with splitting of the hub"
    drawn = figures.figure_of_times(small, large, CROSS_7, "splitting", "end links n")
    report.figure("vw-figure-7.png", caption, drawn)
    theirs = {"pairs": "same as unit vectors throughout", "split": f"{CROSS_7}"}
    _table_of_growth(report, small, large, theirs, {"pairs": "n² at worst", "split": "n"})
    report.claims([_crosses("split", (small, large), CROSS_7)])
    report.text(
        "Absorbing joints into the link's mobility needs neither pairs nor pieces: what a joint sees of the others on "
        "its link goes through that link, so one 6x6 matrix holds it all. Without splitting the paper expects n² at "
        "worst; a joint with t others on its link costs t², so n of them cost n³, as unit vectors do. Ours is slower "
        "at it than theirs: its matrices are 6x6 whatever the joint, theirs as large as a joint has constraints, 3x3 "
        "here, which is an eighth of the multiplications."
    )


def _table_of_times(report: Report, times: Times) -> None:
    rows = [
        (size, dof, *(_micros(seconds[i]) for seconds in times.seconds.values()))
        for i, (size, dof) in enumerate(zip(times.sizes, times.dof))
    ]
    report.table(["n", "DoF", *times.seconds], rows, left=())


def _micros(seconds: float) -> str:
    return f"{1e6 * seconds:.3g}" if seconds < 1e-3 else f"{1e6 * seconds:,.0f}"


def _table_of_growth(
    report: Report, small: Times, large: Times, crossings: Mapping[str, str], orders: Mapping[str, str]
) -> None:
    """Exponents, and from how many degrees of freedom on a method is faster than unit vectors: theirs and ours."""
    rows: list[Row] = []
    for name, seconds in large.seconds.items():
        sizes = [n for n, s in zip(large.sizes, seconds) if np.isfinite(s)]
        first, last = crossing((small, large), name, "unit vectors")
        ours = "" if name == "unit vectors" else f"not by {last}" if first is None else f"{first}"
        exponent = f"n^{growth(large.sizes, seconds):.2f}, to n = {sizes[-1]:,}"
        rows.append((name, orders.get(name, ""), exponent, crossings.get(name, ""), ours))
    columns = ["method", "growth, theirs", "growth, ours", "faster than unit vectors from DoF, theirs", "ours"]
    report.table(columns, rows, left=(0, 1, 2))


def _crosses(name: str, measured: tuple[Times, Times], theirs: int) -> Claim:
    """The paper's statement that a method is at last faster than unit vectors."""
    first, last = crossing(measured, name, "unit vectors")
    what = f"faster than unit vectors from so many degrees of freedom on: {name}"
    ours = np.inf if first is None else float(first)
    return Claim.least("6", what, theirs, ours, lambda x: f"from {x:.0f}" if np.isfinite(x) else f"not by {last}")


# --- operations -----------------------------------------------------------------------------------------------------


def operations(report: Report, quick: bool) -> None:
    """Counted in the kernels' own source."""
    report.heading("Operations, counted")
    chains, stars = (COUNTED_CHAINS[:5], COUNTED_STARS[:4]) if quick else (COUNTED_CHAINS, COUNTED_STARS)
    names = [*(f"chain:{n}" for n in chains), *(f"star:{n}" for n in stars), "ball-chain:16", "chain:16"]
    found = counts(names, "supple.reproduce.vw_counts")
    on_chains: Counts = {n: found[f"chain:{n}"] for n in chains}
    on_stars: Counts = {n: found[f"star:{n}"] for n in stars}
    rows: list[Row] = []
    for name, cost in on_chains[ROBOT].items():
        each = [f"{x / ROBOT:.0f}" for x in (cost.m, cost.a, cost.div)]
        times_aba = cost.total() / on_chains[ROBOT]["ABA"].total()
        rows.append((name, *each, f"{times_aba:.2f}", *(f"{on_chains[n][name].total() / n:.0f}" for n in chains[::2])))
    columns = ["chain of hinges, a joint", "m", "a", "div", "times ABA", *(f"n = {n}" for n in chains[::2])]
    report.table(columns, rows)
    report.text(
        f"Multiplications, additions and divisions a joint at n = {ROBOT}, as many as a humanoid has, and all of them "
        "for other n: counted by running the kernels' own source on numbers that count (sines and cosines apart). "
        "Virtual work inverts a 6x6 matrix at each joint where the articulated-body algorithm inverts a number, and "
        "gives every joint's wrench with it."
    )
    dca = {n: counted[DCA].total() / counted["ABA"].total() for n, counted in on_chains.items()}
    dca_star = max(counted[DCA].total() / counted["ABA"].total() for counted in on_stars.values())
    report.text(
        "The paper does not speak of divide and conquer. That on adaptive dynamics (AD 7.2) reads from Featherstone's "
        "count of 1999 that on one processor it is about three times the articulated-body algorithm. Ours executes "
        f"{dca[chains[0]]:.1f} times as much on {chains[0]} hinges, {dca[chains[-1]]:.1f} times on {chains[-1]}, and "
        f"at most {dca_star:.1f} times on stars, whose end links are absorbed and not joined: rows of six numbers go "
        "through registers whole, the zeros of triangles included. `supple bench quasi-statics` tells what that is in "
        "time."
    )
    columns = ["star, n end links", *(f"n = {n}" for n in stars), "growth"]
    rows = [
        (name, *(f"{on_stars[n][name].total():,.0f}" for n in stars), f"n^{_exponent(on_stars, name):.2f}")
        for name in on_stars[stars[0]]
    ]
    report.table(columns, rows)
    report.figure(
        "vw-operations.png", "Operations a joint, counted in the kernels", figures.figure_of_counts(on_chains, on_stars)
    )
    report.heading("What the paper says of cost, against the counts")
    report.claims(claims(on_chains, on_stars))
    ratios = {name: found["ball-chain:16"][name].total() / found["chain:16"][name].total() for name in on_chains[2]}
    report.text(
        "The paper: virtual work depends on the number of links alone, unit vectors on the degrees of freedom as well. "
        "Ours takes the axes of a joint out one by one, so it depends a little on both. Sixteen links on ball joints "
        "cost, in times sixteen on hinges: " + ", ".join(f"{name} {x:.2f}" for name, x in ratios.items()) + "."
    )


def _exponent(counted: Counts, name: str) -> float:
    return growth(list(counted), [counted[n][name].total() for n in counted])


def claims(on_chains: Counts, on_stars: Counts) -> list[Claim]:
    """The paper's statements on growth. An exponent holds if it is within 0.2: these bodies are small."""
    out = []
    for where, what, exponent, theirs in (
        ("3", "serial chains, virtual work", _exponent(on_chains, "virtual work"), 1),
        ("4", "branched, with splitting", _exponent(on_stars, "split"), 1),
        ("4", "branched, without splitting, at worst", _exponent(on_stars, "pairs"), 2),
    ):
        verdict: Verdict = "agrees" if abs(exponent - theirs) < 0.2 else "worse" if exponent > theirs else "better"
        out.append(Claim(where, f"growth: {what}", f"n^{theirs}", f"n^{exponent:.2f}", verdict))
    for branches in (5, 1000):
        model = star(branches)
        split = split_hubs(model).model
        what = f"a link with {branches + 1} joints"
        pieces = split.n_bodies - model.n_bodies + 1
        out.append(Claim.same("4", f"{what}: pieces", str(branches + 1 - 2), pieces))
        share = split.n_joints / model.n_joints
        out.append(Claim.stated("4", f"{what}: joints, split / whole", "at most 2", f"{share:.3f}", share <= 2))
    return out


# --- accuracy -------------------------------------------------------------------------------------------------------


def accuracy(report: Report, quick: bool) -> None:
    """Beyond the paper: errors against extended precision."""
    report.heading("Accuracy")
    report.text(
        "Errors relative to the largest number of the true result, which is found in extended precision; medians over "
        "random bodies and states. Joint wrenches of the other methods are what inverse dynamics makes of their "
        "accelerations."
    )
    lengths = LENGTHS[:7] if quick else LENGTHS
    sizes = {"random chains": lengths, "stretched chains": lengths, "light links": RATIOS}
    seeds = range(3 if quick else 9)
    jobs = [(kind, n) for kind in measure.CHAINS for n in sizes[kind]]
    chains: dict[str, dict[int, dict[str, Errors]]] = {kind: {} for kind in measure.CHAINS}
    for kind, n in report.track(jobs, "measuring accuracy"):
        chains[kind][n] = measure.median([measure.CHAINS[kind](n, seed) for seed in seeds])
    branches = BRANCHES[:3] if quick else BRANCHES
    stars = {
        n: measure.median([measure.hub_errors(n, seed, 64) for seed in seeds])
        for n in report.track(branches, "measuring stars")
    }
    for part, what in (("accelerations", "accelerations"), ("wrenches", "joint wrenches")):
        rows = [
            (kind, f"{n:,}", *(_error(getattr(e, part)) for e in results[n].values()))
            for kind, results in chains.items()
            for n in list(results)[2::2]
        ]
        report.table([f"error of {what}", "n", *measure.ACCURATE], rows)
    rows = [(f"{n} joints", *(_error(e.accelerations) for e in stars[n].values())) for n in stars]
    report.table(["stars, error of accelerations", *measure.HUBS], rows)
    caption = "Errors against extended precision; the dotted line is the spacing of float64 at 1"
    report.figure("vw-accuracy.png", caption, figures.figure_of_errors(chains, stars))
    report.text(
        "Virtual work inverts what gives way at a joint, so it loses digits where a link is lighter than what it "
        "carries, in the measure that it is (where none may be left, it refuses, and names the joint); splitting a "
        "link makes its pieces lighter, and matrices of pairs lose digits with the square of it. On chains of like "
        "links its errors stay where they are however long the chain, as those of the articulated-body algorithm do. "
        "Joint wrenches that inverse dynamics sums up from the leaves of a long random chain become less accurate than "
        "those of virtual work, which are found where they act; on a stretched chain it is the other way round."
    )


def _error(x: float) -> str:
    return f"{x:.1e}" if np.isfinite(x) else ""
