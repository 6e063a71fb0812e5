"""AD: Redon, Galoppo and Lin 2005, Adaptive Dynamics of Articulated Bodies.

run() moves the paper's pendulums and its crowd again, with some joints active and with all. It writes ad.md and the
figures it shows. Times are ratios to our own full steps of the same run: machines have changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console

from supple import scenes
from supple.reproduce import ad_crowd as crowds
from supple.reproduce import ad_figures as figures
from supple.reproduce import ad_measure as measure
from supple.reproduce import ad_theirs as theirs
from supple.reproduce.ad_measure import Run
from supple.reproduce.ad_promise import promise
from supple.reproduce.parts import Claim, three
from supple.reproduce.qs_measure import Full, full
from supple.reproduce.report import Report
from supple.scenes import Scene

Row = Sequence[object]

LINKS, SPRING_LINKS, PEOPLE = 300, 50, (20, 10)
ACTIVE = (300, 100, 50, 20, 1)  #: joints, of 300, in Figure 5
MORE = (1, 5, 20, 50, 100, 200, 300)  #: in what the paper lacks
DT = 1e-4  #: seconds of a pendulum's step: in longer ones its end, cracking like a whip, gains much energy
SHORTER = (0.25, 0.5, 1.0, 2.0)  #: of that, to see what steps do to the choice of joints
DURATION, LOOKS, SHOWN = 1.2, 48, 8
EVERY = (1, 2, 5, 20, 100, 400)  #: steps from one update to the next
EARLY = 0.6  #: seconds, before the whip
FEW = 5  #: active joints of Figure 6
REST = 40.0  #: seconds until all is at rest


def run(out: Path, quick: bool = False, console: Console | None = None) -> None:
    """Reproduce the paper into the folder `out`. quick: shorter motions and fewer cases."""
    with Report(
        "ad", "AD: adaptive dynamics of articulated bodies (Redon, Galoppo and Lin 2005)", out, quick, console
    ) as report:
        claims = worked_example(report)
        claims += pendulum(report, quick)
        promise(report)
        claims += spring(report, quick)
        claims += table_1(report, quick)
        claims += crowds.crowd(report, PEOPLE, quick)
        report.heading("What the paper concludes")
        report.claims(claims)


def worked_example(report: Report) -> list[Claim]:
    """Figure 4."""
    report.heading("Figure 4: five sliding links, the second pushed by a force f")
    found = measure.figure_4()
    rows = [(name, *(f"{x + 0.0:.4f}" for x in np.round(a, 12))) for name, a in found.items()]
    report.table(["accelerations, in f/m", *(f"l{i}" for i in range(1, 6))], rows)
    report.text(
        "Exactly, only the second link moves. Were J1's acceleration kept and the joints after it held, four links "
        "would move as if four times the force acted. Adaptive dynamics computes J1 anew for the body as it has become."
    )
    a2 = float(found["recomputed"][1])
    return [Claim.rounded("5.3.2", "acceleration of the links that are held together, in f/m", "0.25", a2)]


def pendulum(report: Report, quick: bool) -> list[Claim]:
    """Figure 5, and errors and energies, which the paper does not give."""
    scene = scenes.pendulum(LINKS, planar=True, damping=0.0)
    n, duration = scene.model.n_bodies, 0.1 * DURATION if quick else DURATION
    count_of_looks = LOOKS // 4 if quick else LOOKS  # between two, enough steps for their times to be told
    between = round(duration / DT / count_of_looks)
    report.heading(f"Figure 5: a pendulum of {n} links, let go sideways, {duration:g} s in steps of {DT:g} s")
    counts = sorted({_share(c, n) for c in (*MORE, *ACTIVE)})
    runs = {
        c: measure.run(scene.adaptive_dynamics(c), DT, count_of_looks, between)
        for c in report.track(counts, "pendulum")
    }
    exact = measure.exactly(
        scene.model, scene.q0, DT, report.track(range(count_of_looks), "pendulum, exactly"), between
    )
    step = full(scene)
    shown = {_share(c, n): theirs.FIGURE_5[c] for c in ACTIVE}
    rows: list[Row] = []
    for count, ms in shown.items():
        r, slowest = runs[count], theirs.FIGURE_5[300]
        rows.append((count, ms, three(slowest / ms), _us(r.seconds), *_ratios(step, r.seconds)))
    report.table(["active", "theirs, ms", "theirs / 300 active", "ours, µs", "DCA / ours", "ABA / ours"], rows)
    report.text(
        f"A full step takes {_us(step.dca)} µs by our divide and conquer and {_us(step.aba)} µs by our "
        "articulated-body algorithm, accelerations alone. Times of ours are medians over the motion, with updates "
        "every 20 steps. "
        "What the paper's pendulum weighs and how it starts is not said: ours is 3 m long, straight, in a plane."
    )
    looks = np.linspace(0, count_of_looks, SHOWN).round().astype(int).tolist()
    faster = {c: step.dca / runs[c].seconds for c in shown}
    remarks = {c: f"{x:,.{0 if x > 10 else 1}f} x faster\nthan DCA" for c, x in faster.items()}
    strips = figures.strips(scene, {c: runs[c] for c in shown}, looks, remarks)
    report.figure(
        "ad-figure-5.png", "Figure 5: the same fall with fewer and fewer joints (orange: those that move)", strips
    )
    _errors(report, scene, runs, exact, duration)
    _energies(report, runs)
    gain = runs[n].seconds / runs[_share(1, n)].seconds
    kept = min(float(np.diff(r.removed).min()) for r in runs.values())
    return [
        Claim("7.1", "1 active joint instead of all: times faster", "250", three(gain), gain >= 100),
        Claim("7.3", "stopping joints never adds energy", "yes", "yes" if kept > -1e-9 else "no", kept > -1e-9),
    ]


def _errors(report: Report, scene: Scene, runs: dict[int, Run], exact: measure.Floats, duration: float) -> None:
    report.heading("Not in the paper: how far from the exact motion")
    n = scene.model.n_bodies
    off = {c: measure.distance(scene, r.q, exact) for c, r in runs.items()}
    times = runs[n].time
    at = [int(np.argmin(abs(times - t))) for t in duration * np.array([0.25, 0.5, 0.75, 1.0])]
    rows: list[Row] = [(c, *(f"{x[i]:.1e}" for i in at), f"{len(runs[c].joints[-1])}") for c, x in off.items()]
    report.table(["active", *(f"after {times[i]:.2f} s" for i in at), "active at last"], rows)
    report.text(
        "The root of the mean square of how far ends of links are from where the articulated-body algorithm, in the "
        "same steps, takes them, in metres. With all joints active, only rounding differs. With few, the joints that "
        "move gather near the first pin, and half of the pendulum remains rigid: a joint begins from rest, and after "
        "one step its velocity must be larger than that of one that has been moving, or it is stopped again."
    )
    seconds = min(EARLY, duration)
    at_end = exact[int(np.argmin(abs(times - seconds)))]
    every: dict[int, dict[int, float]] = {}
    lines: list[Row] = []
    for count in sorted({_share(c, n) for c in (50, 100, 200)}):
        every[count], cells = {}, []
        for k in report.track(EVERY, f"updates, {count} active"):
            found = measure.run(scene.adaptive_dynamics(count, update_every=k), DT, 1, round(seconds / DT))
            every[count][k] = float(measure.distance(scene, found.q[-1], at_end))
            cells.append(f"{every[count][k]:.1e} ({_us(found.seconds)} µs)")
        lines.append((count, *cells))
    report.text(f"How often the joints are chosen anew: the distance after {seconds:g} s (and what a step takes):")
    report.table(["active", *(f"every {k}" for k in EVERY)], lines)
    report.text(
        "Up to some 20 steps between updates the error is much the same, and the updates cost little more than the "
        "steps: the paper's choice is a good one. More seldom, the joints that matter are noticed too late."
    )
    _steps(report, scene, seconds)
    figure = figures.errors(times, off, every, seconds)
    caption = "Distance to the exact motion, over time and against how often joints are chosen"
    report.figure("ad-errors.png", caption, figure)


def _steps(report: Report, scene: Scene, seconds: float) -> None:
    """How the length of a step bears on the choice of joints."""
    n, counts, lines = scene.model.n_bodies, (20, 50, 100), []
    for part in report.track(SHORTER, "shorter steps"):
        dt = part * DT
        exact = measure.run(scene.adaptive_dynamics(), dt, 1, round(seconds / dt)).q[-1]
        found = [measure.run(scene.adaptive_dynamics(_share(c, n)), dt, 1, round(seconds / dt)).q[-1] for c in counts]
        lines.append((f"{dt:g}", *(f"{float(measure.distance(scene, q, exact)):.1e}" for q in found)))
    report.text("Steps of other lengths, each beside all joints in the same steps; the distance, an update every 20:")
    report.table(["seconds of a step", *(f"{_share(c, n)} active" for c in counts)], lines)
    report.text(
        "Shorter steps can be worse: what a joint gains in one step, by which it is chosen, becomes less beside the "
        "velocities of those that move already. The paper does not speak of this."
    )


def _energies(report: Report, runs: dict[int, Run]) -> None:
    report.heading("Not in the paper: energy")
    rows = [
        (c, f"{r.energy[-1] - r.energy[0]:+.3f}", f"{r.removed[-1]:.3g}", f"{r.drift:+.3f}") for c, r in runs.items()
    ]
    report.table(
        ["active", "change of the energy (J)", "removed by stopping joints (J)", "added by the steps (J)"], rows
    )
    report.text(
        "Falling to the lowest place sets 44 J free. Stopping joints only ever takes energy, and little. What the "
        "energy changes by is mostly the integrator's doing, when the end cracks like a whip, and with all joints as "
        "much as with some. With few joints active there is no whip, and it is tamer, as section 7.1 supposes."
    )
    report.figure("ad-energy.png", "Energy over time, and what stopping joints took", figures.energies(runs))


def spring(report: Report, quick: bool) -> list[Claim]:
    """Figure 6."""
    scene = scenes.spring_pendulum(SPRING_LINKS)
    n = scene.model.n_bodies
    report.heading(f"Figure 6: a pendulum of {n} links on a spring, at rest")
    runs = figure_6(scene, REST)
    off = {name: float(measure.distance(scene, r.q[-1], runs["b"].q[-1])) for name, r in runs.items()}
    report.table(
        ["", "joints that move", "distance from b (mm)"],
        [("c: fixed, breadth-first", _list(runs["c"]), _mm(off["c"])), ("d: chosen", _list(runs["d"]), _mm(off["d"]))],
        left=(0, 1),
    )
    report.text(
        f"Distance from the rest of all {n} joints (b): root of the mean square over links, of a pendulum 2 m long. "
        "The paper shows pictures only, and does not say what brings it to rest: ours has a drag on the end of the "
        "spring and on the last link."
    )
    titles = {"b": f"b: {n} active", "c": f"c: {FEW} fixed", "d": f"d: {FEW} chosen"}
    titles |= {x: f"{titles[x]}, off by {_mm(off[x])} mm" for x in "cd"}
    caption = "Figure 6: at first, and at rest; grey: the rest of all joints; orange: joints that move"
    report.figure("ad-figure-6.png", caption, figures.springs(scene, runs, titles))
    better = off["d"] <= off["c"]
    both = f"{_mm(off['d'])} against {_mm(off['c'])} mm"
    claims = [Claim("7.1", "joints chosen are better than joints fixed breadth-first", "yes", both, better)]
    return claims if quick else [*claims, spring_anywhere(report)]


def spring_anywhere(report: Report) -> Claim:
    """Figure 6, the spring on every link in turn."""
    off: list[tuple[float, float]] = []
    for link in report.track(range(SPRING_LINKS), "springs elsewhere"):
        scene = scenes.spring_pendulum(SPRING_LINKS, link)
        runs = figure_6(scene, REST)
        c, d = (float(measure.distance(scene, runs[x].q[-1], runs["b"].q[-1])) for x in "cd")
        off.append((c, d))
    worse = [link for link, (c, d) in enumerate(off) if d > c]
    means = np.mean(off, axis=0)
    report.text(
        f"Not in the paper: the spring on every link in turn. On average, fixed joints are {_mm(means[0])} mm off and "
        f"those chosen {_mm(means[1])} mm; the fixed ones are better where the spring pulls link "
        f"{', '.join(map(str, worse)) or 'none'}. There the link happens to hang near a joint that breadth-first has; "
        "a choice can use its few joints only after those above them in the assembly tree."
    )
    report.figure("ad-springs.png", "Figure 6, the spring on every link in turn", figures.spring_anywhere(off))
    better = len(off) - len(worse)
    return Claim("", "wherever the spring pulls", "", f"{better} of {len(off)} links", not worse)


def figure_6(scene: Scene, seconds: float) -> dict[str, Run]:
    """b, c and d of Figure 6, after so many seconds."""
    n = scene.model.n_bodies
    active: dict[str, int | list[int]] = {"b": n, "c": measure.breadth_first(scene.model)[:FEW].tolist(), "d": FEW}
    dt = scene.dt
    return {name: measure.run(measure.on_a_spring(scene, a), dt, 1, round(seconds / dt)) for name, a in active.items()}


def table_1(report: Report, quick: bool) -> list[Claim]:
    """Table 1: forces against sizes of the active region."""
    scene = scenes.pendulum(LINKS, damping=0.0)
    n = scene.model.n_bodies
    report.heading(f"Table 1: a pendulum of {n} links, forces against active joints")
    sizes = [max(1, round(s * n)) for s in theirs.SHARES]
    counts = [c for c in (theirs.FORCES[::2] if quick else theirs.FORCES) if c <= n]
    pushed = {c: measure.random_pushes(scene, c, 1.0 / c) for c in counts}
    steps = {c: full(pushed[c], 30) for c in report.track(counts, "Table 1, full steps")}
    bodies = {(c, size): pushed[c].adaptive_dynamics(size) for c in counts for size in sizes}
    rounds = report.track(range(2 if quick else 8), "Table 1")
    least = measure.step_seconds(bodies, 1e-4, 500, 400, rounds)
    ours = {c: [least[c, size] for size in sizes] for c in counts}
    rows: list[Row] = []
    for count, seconds in ours.items():
        dca, aba, printed = steps[count].dca, steps[count].aba, theirs.TABLE_1[count]
        rows.append((count, "theirs, over their DCA", *(three(theirs.DCA[count] / t) for t in printed)))
        rows.append(("", "ours, over our DCA", *(three(dca / t) for t in seconds)))
        rows.append(("", "ours, over our ABA", *(three(aba / t) for t in seconds)))
        rows.append(("", "ours, µs", *(_us(t) for t in seconds)))
    report.text("Times faster than a full step; an update every 20 steps:")
    report.table(["forces", "", *(str(s) for s in sizes)], rows, left=(0, 1))
    one = steps[counts[0]]
    report.text(
        "The paper's row of sizes is lost. Its times grow by about 0.018 ms a joint, from 0.02 ms with one to 5.3 ms "
        f"with 300, which makes the others about 28, 92, 175 and 237; ours are {', '.join(map(str, sizes))}. Forces "
        "are on random links, in random directions. A full step under one force takes "
        f"{_us(one.dca)} µs by our DCA and {_us(one.aba)} µs by our ABA, accelerations alone; theirs took 5.89 ms on a "
        "2.8 GHz Pentium. With all joints active there is nothing to choose, so that ours makes no updates; with most "
        "of them active, updates cost more than that saves. Our ABA is much quicker than our DCA: beside it, adaptive "
        "dynamics pays off below about a third of the joints."
    )
    report.figure(
        "ad-table-1.png", "Table 1 as curves; dashed: as fast as a full step", figures.table_1(sizes, ours, steps)
    )
    first = steps[1].dca / ours[1][0]
    fewer = np.mean([a < b for seconds in ours.values() for a, b in pairwise(seconds[:-1])])
    forces = np.mean([ours[a][i] < ours[b][i] for a, b in pairwise(ours) for i in range(2)])  # of 1 and 30 joints
    slower = one.dca / one.aba
    return [
        Claim("7.2", "1 active joint, one force: times faster than DCA", "295", three(first), first >= 100),
        Claim("7.2", "faster with fewer active joints, of some", "yes", f"{fewer:.0%} of pairs", bool(fewer > 0.9)),
        Claim(
            "7.2",
            "faster under fewer forces, few joints active",
            "yes",
            f"{forces:.0%} of pairs",
            bool(forces > 0.8),
        ),
        Claim("7.2", "DCA slower than ABA on one processor: about", "3", f"{slower:.2g}", bool(2 <= slower <= 4)),
    ]


def _share(count: int, n: int) -> int:
    """So many joints of 300, for a pendulum of n."""
    return max(1, round(count * n / 300))


def _list(r: Run) -> str:
    return ", ".join(map(str, r.joints[-1].tolist()))


def _us(seconds: float) -> str:
    return three(1e6 * seconds)


def _mm(metres: float) -> str:
    return three(1e3 * metres)


def _ratios(step: Full, seconds: float) -> tuple[str, str]:
    return three(step.dca / seconds), three(step.aba / seconds)
