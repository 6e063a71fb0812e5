"""QS: Redon and Lin 2005, An Efficient, Error-Bounded Approximation Algorithm for Simulating Quasi-Statics of Complex
Linkages.

run() steps the paper's three linkages again at every precision, beside exact runs. It writes qs.md and the figures it
shows. Times are ratios to our own full steps of the same run: machines have changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console

from supple import scenes
from supple.reproduce import qs_figures as figures
from supple.reproduce import qs_measure as measure
from supple.reproduce import qs_theirs as theirs
from supple.reproduce.parts import Claim, three
from supple.reproduce.qs_measure import Full, Run
from supple.reproduce.report import Report
from supple.scenes import Scene
from supple.scenes.molecule import pushes

Row = Sequence[object]

POWERS = tuple(range(20))  #: errors are 2^-power
FEW = (0, 3, 7, 11, 15, 19)
STEPS, FEW_STEPS = 4000, 30
CHAIN_STEPS = 10_000
CHAIN_ERRORS = (2.0**0, 2.0**-1, 2.0**-2, 2.0**-3, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-11, 2.0**-15, 2.0**-19)
SHOWN = (2.0**-1, 2.0**-3, 2.0**-6)  #: in Figure 1
SIZES: dict[str, tuple[int, ...]] = {"bicycle-chain": (30,), "millipede": (1000, 10, 3000), "molecule": (50_000,)}


def run(out: Path, quick: bool = False, console: Console | None = None) -> None:
    """Reproduce the paper into the folder `out`. quick: fewer steps and fewer precisions."""
    with Report("qs", "QS: quasi-statics within a promised error (Redon and Lin 2005)", out, quick, console) as report:
        made = {name: scenes.NAMES[name](*size) for name, size in SIZES.items()}
        bicycle_chain(report, made["bicycle-chain"])
        pictures(report, made["millipede"], made["molecule"])
        claims = millipede(report, made["millipede"], quick)
        claims += molecule(report, made["molecule"], quick)
        claims += reach(report, made)
        report.heading("What the paper concludes")
        report.claims(claims)


def bicycle_chain(report: Report, scene: Scene) -> None:
    """Figure 1."""
    report.heading(f"Figure 1: a bicycle chain of {scene.model.n_bodies} links, {CHAIN_STEPS:,} steps")
    exact = measure.exactly(scene, report.track(range(CHAIN_STEPS), "chain, exactly"))
    qs, start = scene.quasi_statics(), _tip(scene, scene.q0)
    end = _tip(scene, exact)
    way = float(np.linalg.norm(end - start))
    rows: list[Row] = [("exact", scene.model.n_bodies, *_millimetres(end), "", "")]
    found = {}
    for error in report.track(CHAIN_ERRORS, "chain, within errors"):
        joints = measure.run(qs, scene, error, CHAIN_STEPS).joints
        tip = _tip(scene, qs.q)
        off = float(np.linalg.norm(tip - end))
        rows.append((_power(error), f"{joints:.1f}", *_millimetres(tip), f"{1e3 * off:.3g}", f"{off / way:.2g}"))
        found[error] = qs.q.copy()
    columns = ["error", "joints computed", "end, x (mm)", "end, z (mm)", "off by (mm)", "share of its way"]
    report.table(columns, rows)
    report.text(
        "The paper shows pictures only. The exact run is by the articulated-body algorithm; where the last pin ends "
        "is what a step's errors add up to. A chain so short leaves few joints out at high precision."
    )
    shown = {error: found[error] for error in SHOWN}
    caption = "Figure 1: the chain at first and at last, and its end at three precisions (grey: exact)"
    report.figure("qs-figure-1.png", caption, figures.chain(scene, exact, shown))


def _tip(scene: Scene, q: figures.Floats) -> figures.Floats:
    """The last pin."""
    pins: figures.Floats = figures._pins(scene, q)[-1]
    return pins


def _millimetres(x: figures.Floats) -> tuple[str, str]:
    return f"{1e3 * x[0]:.2f}", f"{1e3 * x[1]:.2f}"


def pictures(report: Report, millipede: Scene, molecule: Scene) -> None:
    """Figures 4 and 6, coloured by the accelerations of the joints."""
    items = {}
    for name, scene in (("millipede", millipede), ("molecule", molecule)):
        items[name] = (scene, scene.quasi_statics().solve(error=0.0).dense())
    report.heading("Figures 4 and 6: the millipede and the molecule, and what one force does to them")
    caption = "Figures 4 and 6: all of them, and the joints near the force; colours show accelerations"
    report.figure("qs-figures-4-6.png", caption, figures.scene_pictures(items))


def millipede(report: Report, scene: Scene, quick: bool) -> list[Claim]:
    """Figure 5."""
    n, steps = scene.model.n_bodies, FEW_STEPS if quick else STEPS
    report.heading(f"Figure 5: a millipede of {n:,} links under one force, {steps:,} steps")
    full, qs = measure.full(scene), scene.quasi_statics()
    runs = [measure.run(qs, scene, 2.0**-p, steps) for p in report.track(FEW if quick else POWERS, "millipede")]
    rows = [
        (_power(r.error), f"{r.joints:,.0f}", f"{r.nodes:,.0f}", _ms(r.seconds), *_ratios(full, r.seconds))
        for r in runs
    ]
    report.table(["error", "joints computed", "nodes renewed", "ms a step", "DCA / ours", "ABA / ours"], rows)
    slower = [r.error for r in runs if r.seconds > full.dca]
    crossing = f"below {max(slower):.1g}" if slower else "nowhere"
    report.text(
        f"A full step takes {_ms(full.dca)} ms by divide and conquer and {_ms(full.aba)} ms by the articulated-body "
        f"algorithm. The paper, which prints curves only: slower than its DCA at errors below {theirs.CROSSING:g}. "
        f"Ours: {crossing}. Our first link hangs on the world by a revolute joint, so there is one joint more than the "
        "paper's 12,999."
    )
    report.figure(
        "qs-figure-5.png", "Figure 5: time and joints computed, against the error", figures.millipede(runs, full, n)
    )
    grows = all(a.joints <= b.joints for a, b in pairwise(runs))
    what, ours = "slower than DCA at errors below (millipede)", max(slower, default=0.0)
    return [
        Claim.stated("6.2", "more joints at higher precision (millipede)", "yes", "yes" if grows else "no", grows),
        Claim.least("6.2", what, theirs.CROSSING, ours, lambda x: f"{x:.1g}" if x else "nowhere"),
    ]


def molecule(report: Report, scene: Scene, quick: bool) -> list[Claim]:
    """Table 1, Figures 7 and 8."""
    steps, powers = FEW_STEPS if quick else STEPS, FEW if quick else POWERS
    report.heading(f"Table 1, Figures 7 and 8: a molecule of {scene.model.n_bodies:,} joints, {steps:,} steps")
    counts = [c for c in theirs.FORCES if c <= scene.model.n_bodies]
    runs: dict[int, list[Run]] = {}
    full: dict[int, Full] = {}
    off: dict[int, dict[float, float]] = {}
    for count in counts:
        pushed = scene.with_pushes(pushes(scene.model, count))
        name = f"molecule, {_forces(count)}"
        full[count], qs = measure.full(pushed), pushed.quasi_statics()
        runs[count] = [measure.run(qs, pushed, 2.0**-p, steps) for p in report.track(powers, name)]
        exact = measure.centres(pushed, measure.exactly(pushed, report.track(range(steps), f"{name}, exactly")))
        start = measure.centres(pushed, pushed.q0)
        off[count] = {r.error: measure.displacement_error(r.centres, exact, start) for r in runs[count]}
    full = dict.fromkeys(counts, measure.least(full.values()))  # the same work, whatever the number of forces
    _table_1(report, runs, full, off, steps)
    _where_forces_are(report, scene, counts)
    report.figure(
        "qs-figure-7.png", "Figure 7: speed and joints computed, against the error", figures.molecule(runs, full)
    )
    report.figure(
        "qs-figure-8.png", "Figure 8: displacement error, against the joints' error", figures.displacement(off, steps)
    )
    grows = all(a.joints <= b.joints for rows in runs.values() for a, b in pairwise(rows))
    shown = [i for i, power in enumerate(powers) if power in theirs.ERRORS]
    more = all(runs[a][i].joints <= runs[b][i].joints for a, b in pairwise(counts) for i in shown)
    claims = []
    for count in counts:
        ours = next(r for r in runs[count] if r.error == 2.0**-19)
        what = f"{_forces(count)} at 2^-19: times faster than DCA"
        faster = theirs.DCA[count] / theirs.TIME[count][-1]
        claims.append(Claim.most("6.4", what, faster, full[count].dca / ours.seconds))
    return [
        *claims,
        Claim.stated("6.4", "more joints at higher precision (molecule)", "yes", "yes" if grows else "no", grows),
        Claim.stated("6.4", "more joints under more forces", "yes", "yes" if more else "no", more),
        *figure_8(off, steps),
    ]


def figure_8(off: dict[int, dict[float, float]], steps: int) -> list[Claim]:
    """Displacement errors after so many steps: an average over few steps is another number than the paper's."""
    finest, why = 2.0 ** -theirs.ERRORS[-1], f"{steps:,} steps, theirs {theirs.STEPS:,}"
    claims = [
        Claim.least(
            "Figure 8",
            f"displacement error a step at 2^-19, {_forces(count)}",
            theirs.DISPLACEMENT[count][-1],
            found[finest] / steps,
            _exponent,
        )
        for count, found in off.items()
    ]
    last = max(found[finest] for found in off.values())
    what = "displacement error of the final configuration at 2^-19"
    claims.append(Claim.least("6.4", what, theirs.FINAL, last, _exponent))
    if steps != theirs.STEPS:
        claims = [Claim.aside(c.where, c.what, c.theirs, c.ours, why) for c in claims]
    at = [2.0**-p for p in theirs.ERRORS]
    pairs = [found[b] <= found[a] for found in off.values() for a, b in pairwise(at)]
    falls = f"{sum(pairs)} of {len(pairs)} times"
    return [
        *claims,
        Claim.stated("Figure 8", "displacement error falls with the joints' error", "yes", falls, all(pairs)),
    ]


def _forces(count: int) -> str:
    return f"{count:,} force{'s' if count > 1 else ''}"


def _exponent(x: float) -> str:
    return f"{x:.0e}"


def _table_1(
    report: Report,
    runs: dict[int, list[Run]],
    full: dict[int, Full],
    off: dict[int, dict[float, float]],
    steps: int,
) -> None:
    speed: list[Row] = []
    joints: list[Row] = []
    displacement: list[Row] = []
    at = [2.0**-p for p in theirs.ERRORS]
    for count, rows in runs.items():
        ours = {r.error: r for r in rows}
        dca, aba = full[count].dca, full[count].aba
        speed.append(
            (f"{count:,}", "theirs, over their DCA", *(three(theirs.DCA[count] / t) for t in theirs.TIME[count]))
        )
        speed.append(("", "ours, over our DCA", *(three(dca / ours[e].seconds) for e in at)))
        speed.append(("", "ours, over our ABA", *(three(aba / ours[e].seconds) for e in at)))
        speed.append(("", "ours, ms", *(_ms(ours[e].seconds) for e in at)))
        joints.append((f"{count:,}", "theirs", *(f"{j:,}" for j in theirs.JOINTS[count])))
        joints.append(("", "ours", *(f"{ours[e].joints:,.0f}" for e in at)))
        displacement.append((f"{count:,}", "theirs", *(f"{x:.0e}" for x in theirs.DISPLACEMENT[count])))
        displacement.append(("", "ours, a step", *(f"{off[count][e] / steps:.0e}" for e in at)))
        displacement.append(("", f"ours, after {steps:,}", *(f"{off[count][e]:.0e}" for e in at)))
    columns = ["forces", "", *(f"2^-{p}" for p in theirs.ERRORS)]
    report.text("Times faster than a full step; the median of our steps, the least time of full ones:")
    report.table(columns, speed, left=(0, 1))
    one = next(iter(full.values()))
    report.text(
        f"A full step takes {_ms(one.dca)} ms by our divide and conquer and {_ms(one.aba)} ms by our articulated-body "
        "algorithm, on one thread. Theirs took 875 ms on a 2.8 GHz Pentium."
    )
    report.text("Joints computed in a step, the mean:")
    report.table(columns, joints, left=(0, 1))
    report.text(
        "Relative displacement error against the exact run, which is by the articulated-body algorithm; with the "
        f"difference that the paper's formula lacks. The paper's is, says its text, the average a time step, over "
        f"{theirs.STEPS:,} steps; so ours is divided by the number of steps, too, here {steps:,}."
    )
    report.table(columns, displacement, left=(0, 1))
    report.text(
        "After all steps the error is larger than that of the joints: a joint that is left out would have turned all "
        "that hangs on it, with arms much longer than those of the few joints that move most. The paper says both that "
        f"its errors are averages a step and that the final configuration is within {theirs.FINAL:.0e} of the exact "
        "one; of ours, both are in the claims below."
    )


def _where_forces_are(report: Report, scene: Scene, counts: Sequence[int]) -> None:
    """Why the forces lie on a patch: counts at the first step, for forces anywhere and in a row."""
    rows: list[Row] = []
    for count in counts:
        found = {}
        for where in ("end", "middle", "spread"):
            pushed = scene.with_pushes(pushes(scene.model, count, where))  # type: ignore[arg-type]
            found[where] = list(measure.reaches(pushed, theirs.ERRORS))
        rows.append((f"{count:,}", "theirs", *(f"{x:,}" for x in theirs.JOINTS[count])))
        rows.append(("", "ours, the last atoms", *(f"{x:,}" for x in found["end"])))
        rows.append(("", "ours, atoms amid", *(f"{x:,}" for x in found["middle"])))
        rows.append(("", "ours, atoms anywhere", *(f"{x:,}" for x in found["spread"])))
    report.text(
        "Where the forces act the paper does not say, and it matters more than anything else. Its counts at 2^-19 are "
        "72, 75, 106 and 86 joints more than there are forces. Forces anywhere cannot give that: a joint is computed "
        "only after those above it in the assembly tree, which for 1,000 places in 50,000 are some 6,000, and each "
        "force needs its surroundings. Forces on atoms that follow each other can. On the last atoms, as on the "
        "bicycle chain's last link, our counts come out as theirs; amid the molecule there are surroundings on two "
        "sides. So our forces are on the last atoms, random in direction and strength, at random points of their "
        "surfaces. Joints computed by the first step:"
    )
    report.table(["forces", "", *(f"2^-{p}" for p in theirs.ERRORS)], rows, left=(0, 1))
    report.text(
        "What remains different: under 100 and 1,000 forces we compute more at low precision. None of our "
        "accelerations is far larger than all others, as some of theirs must be. Forces spread over the molecule reach "
        "most of it, and then a full step is the better choice."
    )


def reach(report: Report, made: dict[str, Scene]) -> list[Claim]:
    """Section 6.4: how complex a motion is."""
    report.heading("Section 6.4: how far a force reaches")
    counts = {
        name.replace("-", " "): (scene.model.n_bodies, list(measure.reaches(scene, POWERS)))
        for name, scene in made.items()
    }
    report.table(
        ["linkage", "joints", *(f"2^-{p}" for p in FEW)],
        [(name, f"{n:,}", *(f"{found[p]:,}" for p in FEW)) for name, (n, found) in counts.items()],
    )
    report.text(
        "Joints computed by the first step under one force, which the paper suggests as a measure of how complex a "
        "motion is. A molecule's soon stops growing; a millipede's does not, since its spine hands on what its legs do."
    )
    caption = "Section 6.4: the joints that one force reaches, and their share of all"
    report.figure("qs-reach.png", caption, figures.reach(counts, POWERS))
    share = {name: found[-1] / n for name, (n, found) in counts.items()}
    local = share["molecule"] < share["millipede"]
    both = f"{100 * share['molecule']:.1g} % against {100 * share['millipede']:.2g} %"
    return [
        Claim.stated("6.4", "a force's effect is more local on the molecule than on the millipede", "yes", both, local)
    ]


def _power(error: float) -> str:
    return f"2^{round(np.log2(error))}"


def _ms(seconds: float) -> str:
    return three(1e3 * seconds)


def _ratios(full: Full, seconds: float) -> tuple[str, str]:
    return three(full.dca / seconds), three(full.aba / seconds)
