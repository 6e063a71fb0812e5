"""RR: Stepien, Polanski and Wojciechowski 2012, A General On-the-fly Algorithm for Modifying the Kinematic Tree
Hierarchy.

run() measures the three promises and the cost of a change of root, walks the compass biped of section 8 (Table 1,
Figures 10 and 11), and goes on to what the paper leaves open: how stable its gait is, other slopes, and section 7.1,
captured motion, with torques. It writes rr.md and figures.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from supple.capture.plot import plot_loads
from supple.capture.torques import motion_loads
from supple.errors import SimulationError
from supple.files.bvh import load_bvh
from supple.reproduce import rr_figures as figures
from supple.reproduce import rr_measure as measure
from supple.reproduce.parts import Claim
from supple.reproduce.report import Report
from supple.reproduce.vw_measure import growth
from supple.scenes import walk_bvh
from supple.scenes.compass import SLOPE, TABLE_1, compass
from supple.walking.gaits import Gait, follow, gait, settled
from supple.walking.walkers import walk

SIZES = tuple(10 * 2**k for k in range(11)) + (20_000,)
DOUBLES, STEEPEST = 0.074, 0.0905  #: rad; the gait is stable up to a little above the first
SLOPES, SETTLE = 75, 400  #: how many slopes; steps before a walk counts as settled
TOLERANCE = 1e-10
#: What rounding may leave of the three promises, on random trees; forward dynamics solves with their mass matrices.
PROMISED = {"back": 1e-9, "look": 1e-9, "energy": 1e-9, "velocity": 1e-9, "torque": 1e-9, "motion": 1e-5}


def run(out: Path, quick: bool = False, console: Console | None = None) -> None:
    """Reproduce the paper into the folder `out`. quick: fewer slopes and smaller sizes."""
    with Report(
        "rr", "RR: changing the root of a moving tree (Stepien, Polanski, Wojciechowski)", out, quick, console
    ) as report:
        found = gait(compass())
        promises(report, quick)
        table_1(report, found)
        portraits(report, found)
        other_slopes(report, quick)
        capture(report)
        cost(report, quick)


def promises(report: Report, quick: bool) -> None:
    """A1, A2, A3."""
    report.heading("The three promises, on random trees of every joint type")
    errors = np.array([measure.promises(12, seed) for seed in range(10 if quick else 60)]).max(axis=0)
    names = {
        "back": "A1: there and back, positions of joints",
        "look": "A2: poses of bodies",
        "energy": "A3: kinetic energy",
        "velocity": "A3: velocities of bodies",
        "torque": "A3: joint torques of inverse dynamics",
        "motion": "A3: accelerations of forward dynamics",
    }
    report.claims(
        [
            Claim.stated("3", f"{text}: error, relative, at most", "none", f"{x:.1e}", bool(x < PROMISED[name]))
            for (name, text), x in zip(names.items(), errors)
        ]
    )
    report.text(
        "The old root is held by the wrench that its joint gave, from outside; the new root hangs on a free joint. "
        "Forward dynamics loses the digits that the mass matrices of such trees cost."
    )


def table_1(report: Report, found: Gait) -> None:
    """The state that the paper begins with, beside the periodic gait."""
    report.heading("Table 1 and the periodic gait")
    light = gait(compass(gravity=9.8))
    states = [np.concatenate([g.last.before[0] * [1, -1], g.last.before[1] * [1, -1]]) for g in (light, found)]
    theirs = np.concatenate(TABLE_1)
    names = ("q_st, rad", "q_sw, rad", "q_st', rad/s", "q_sw', rad/s")
    rows = [(n, f"{t:.4f}", f"{a:.4f}", f"{b:.10f}") for n, t, a, b in zip(names, theirs, *states)]
    report.table(["just before an impact", "Table 1", "periodic, g = 9.8", "periodic, g = 9.81"], rows)
    off = [float(np.abs(s - theirs).max()) for s in states]
    report.text(
        f"Table 1 is the state just before an impact. It is {off[0]:.0e} away from the periodic gait with g = 9.8, and "
        f"{off[1]:.0e} with 9.81 m/s². Below, g = 9.81."
    )
    near = f"yes, within {off[0]:.0e}"
    report.claims([Claim.stated("Table 1", "its state repeats itself, with g = 9.8", "yes", near, off[0] < 5e-4)])
    values = [f"{x.real:.9f}" + (f" {x.imag:+.9f} i" if abs(x.imag) > 1e-9 else "") for x in found.eigenvalues]
    gravity = 4 * 9.81 * found.step_length * np.sin(SLOPE)
    report.table(
        ["the periodic gait", ""],
        [
            ("period, s", f"{found.period:.10f}"),
            ("step length, m", f"{found.step_length:.10f}"),
            ("kinetic energy before and after an impact, J", "{:.10f}, {:.10f}".format(*found.last.impact_kinetic)),
            ("lost in an impact, J", f"{found.energy_lost:.10f}"),
            ("given by the slope, m g L sin γ, J", f"{gravity:.10f}"),
            ("eigenvalues of the return map", ", ".join(values)),
            ("state after a period, less that before", f"{found.residual:.0e}"),
        ],
        left=(0, 1),
    )
    fast, error = measure.times_real(found.walker, TOLERANCE, 200)
    report.text(
        f"At a tolerance of {TOLERANCE:g} it walks {fast:,.0f} times faster than real time, impacts and changes of "
        f"root included; the fourth touchdown is then {error:.0e} from what 1e-14 gives."
    )


def portraits(report: Report, found: Gait) -> None:
    """Figures 10 and 11, and the walk as a strip."""
    report.heading("Figures 10 and 11")
    steps = walk(found.walker, 4)
    caption = "RR Figure 10: the phase portrait of one leg on the periodic gait"
    report.figure("rr-figure-10.png", caption, figures.portrait(steps[:2]))
    caption = "RR Figure 11: potential against kinetic energy for two steps; A start, B highest, C touchdown"
    report.figure("rr-figure-11.png", caption, figures.energies(steps[:2]))
    caption = "Three steps of the compass biped; the leg that is left behind becomes the one that swings"
    report.figure("rr-strip.png", caption, figures.strip(found.walker, steps[:3]))
    drift, closes = 0.0, 0.0
    for step in steps:
        total = step.energy
        drift = max(drift, float(np.ptp(total)))
        closes = max(closes, abs(step.energy_lost - found.energy_lost))
    first = [step.potential[0] for step in steps[:2]]
    report.claims(
        [
            Claim.stated("8.7", "a steady gait from Table 1: forty steps", "yes", _yes(_walks(40)), _walks(40)),
            Claim.stated(
                "8.7", "the total energy is constant between impacts, J", "yes", f"within {drift:.0e}", drift < 1e-9
            ),
            Claim.stated("8.7", "each impact loses the same, J", "yes", f"within {closes:.0e}", closes < 1e-8),
            Claim.stated(
                "8.7", "the next step lies lower, J", "yes", f"{first[0] - first[1]:.4f}", first[0] > first[1]
            ),
        ]
    )


def _walks(steps: int) -> bool:
    return all(s.landed for s in walk(compass(), steps, trace=False))


def _yes(x: bool) -> str:
    return "yes" if x else "no"


def other_slopes(report: Report, quick: bool) -> None:
    """Beyond the paper: the gait continued over the slope, and period doubling."""
    report.heading("Other slopes")
    count = min(12, SLOPES) if quick else SLOPES
    gentle = np.linspace(0.02, DOUBLES, count // 3, endpoint=False)  # most of them where steps become of many kinds
    values = np.concatenate([gentle, np.linspace(DOUBLES, STEEPEST, count - len(gentle))])
    near = int(np.abs(values - SLOPE).argmin())
    up = dict(follow(lambda s: compass(slope=s), report.track(list(values[near:]), "following the gait")))
    down = dict(follow(lambda s: compass(slope=s), values[: near + 1][::-1]))
    found = sorted((down | up).items())
    ends = {}
    for slope, g in report.track(found, "settling walks"):
        start = g.walker.at(g.walker.q, 1.0001 * g.walker.v)
        try:
            ends[slope] = settled(start, 60 if quick else SETTLE, 16 if quick else 64)[:, 0]
        except SimulationError:  # it falls: nothing is drawn there
            continue
    unstable = [s for s, g in found if not g.stable]
    caption = "The gait over the slope: how disturbances grow, and what walks settle to: steps double, then all kinds"
    report.figure("rr-slopes.png", caption, figures.slopes(found, ends, SLOPE))
    distinct = {s: len(np.unique(np.round(x, 5))) for s, x in ends.items()}
    two = [s for s, n in distinct.items() if n == 2]
    four = [s for s, n in distinct.items() if n == 4]
    rows = [("the symmetric gait is stable up to", f"{max(s for s, g in found if g.stable):.4f} rad")]
    rows += [("and no longer at", f"{min(unstable):.4f} rad")] if unstable else []
    rows += [("steps alternate between two kinds", f"{min(two):.4f} to {max(two):.4f} rad")] if two else []
    rows += [("between four", f"{min(four):.4f} to {max(four):.4f} rad")] if four else []
    report.table(["slopes looked at", f"{len(found)}"], rows, left=(0, 1))


def capture(report: Report) -> None:
    """Section 7.1: captured motion on the foot that stands."""
    report.heading("Section 7.1: captured motion")
    clip = load_bvh(walk_bvh.FILE)
    carried = motion_loads(clip)
    caption = "A walk (made, not measured): ground reaction, and moments of a leg"
    report.figure("rr-capture.png", caption, plot_loads(carried))
    knee = carried.joints.index("LeftLeg_joint")
    stands = carried.support.foot == 0
    rows = [
        ("frames", len(clip)),
        ("frames on both feet", int(np.count_nonzero(carried.support.down.all(axis=1)))),
        ("weight, N", f"{9.81 * clip.model.total_mass:.0f}"),
        ("mean reaction upwards, N", f"{carried.reaction[:, 2].mean():.0f}"),
        ("mean moment of the left knee while that foot stands alone, N m",
         f"{carried.supported[stands, knee].mean():.0f}"),
        ("the same without the ground, N m", f"{carried.pelvis[stands, knee].mean():.0f}"),
    ]  # fmt: skip
    report.table(["captured motion", ""], rows)


def cost(report: Report, quick: bool) -> None:
    """Linear, and cheap beside a dynamics step."""
    report.heading("Cost of a change of root")
    sizes = SIZES[:8:2] if quick else SIZES
    budget = 0.05 if quick else 0.4
    found = {
        name: measure.cost(make, sizes, budget, partial(report.track, doing=f"timing: {name}"))
        for name, make in measure.SHAPES.items()
    }
    rows = [
        (name, f"{n:,}", *(f"{1e3 * x:.3g}" for x in (change, step)), f"{change / step:.1f}", f"{1e3 * first:.3g}")
        for name, c in found.items()
        for n, change, step, first in zip(*c)
    ]
    columns = ["body", "n", "change of root, ms", "dynamics step, ms", "ratio", "first step after it, ms"]
    report.table(columns, rows)
    report.figure("rr-cost.png", "Cost of a change of root to a leaf, beside a dynamics step", figures.costs(found))
    grows = {name: growth(c.sizes, c.reroot) for name, c in found.items()}
    report.claims(
        [
            Claim.stated("3", f"linear at worst ({name})", "n^1", f"n^{x:.2f}", x < 1.2) for name, x in grows.items()
        ]
    )  # fmt: skip
    report.text(
        "On a small body the time is that of the call. The first dynamics step of a new model also makes its tables, "
        "which no later step does."
    )
