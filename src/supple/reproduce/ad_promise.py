"""Not in the paper: what a promise on accelerations, or on velocities, means for positions after many steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from supple import scenes
from supple.adaptive.measures import percent
from supple.drawing import new_figure
from supple.reproduce import ad_measure as measure
from supple.reproduce.ad_measure import Run
from supple.reproduce.report import Report
from supple.scenes import Scene

Floats = NDArray[np.float64]

LINKS, DT, SECONDS, LOOKS = 30, 1e-4, 1.0, 50
ALLOWED = (0.1, 0.01, 1e-3, 1e-4)  #: errors, as shares of the motion
COLOURS = ("#c1272d", "#e08214", "#2a6fbb", "#0f7c83")
MODES = {"guaranteed: of the accelerations of every step": True, "otherwise: of the velocities at every update": False}


def promise(report: Report) -> None:
    """A pendulum within errors of 10% down to 0.01%, beside all of its joints."""
    scene = scenes.pendulum(LINKS, damping=0.0)
    report.heading(f"Not in the paper: what an error allowed means for positions, on a pendulum of {LINKS} links")
    between = round(SECONDS / DT / LOOKS)
    exact = measure.run(scene.adaptive_dynamics(), DT, LOOKS, between)
    jobs = [(mode, e) for mode in MODES for e in ALLOWED]
    runs: dict[str, dict[float, Run]] = {mode: {} for mode in MODES}
    for mode, e in report.track(jobs, "promises"):
        ad = scene.adaptive_dynamics(error=e, guaranteed=MODES[mode], check_energy=False)
        runs[mode][e] = measure.run(ad, DT, LOOKS, between)
    off = {m: {e: _distance(scene, r, exact) for e, r in found.items()} for m, found in runs.items()}
    at = (LOOKS // 10, LOOKS // 2, LOOKS)
    rows = [
        (mode.split(":")[0], percent(e), *(f"{1e3 * off[mode][e][i]:.3g}" for i in at),
         f"{runs[mode][e].energy[-1] - exact.energy[-1]:+.2g}", len(runs[mode][e].joints[-1]))
        for mode, e in jobs
    ]  # fmt: skip
    seconds = [f"after {exact.time[i]:.2g} s (mm)" for i in at]
    report.table(["mode", "error allowed", *seconds, "energy gained (J)", "joints at last"], rows, left=(0,))
    report.text(
        "A promise on accelerations holds at every instant, and for positions it is a rate: what is left out adds up "
        "twice over time, and then grows as nearby motions of the body diverge. It is proportional to the error "
        "allowed as long as it is small. Joints that are left out move on with no acceleration, so momentum and "
        "energy are not kept; where joints are stopped instead, momentum is, and energy is only ever taken."
    )
    caption = "Distance to the motion of all joints, for errors allowed of 10% to 0.01%"
    report.figure("ad-promise.png", caption, figure(exact.time, off))


def _distance(scene: Scene, run: Run, exact: Run) -> Floats:
    """(looks,) the root of the mean square of how far links are from where they ought to be."""
    away = np.array([measure.points(scene, a) - measure.points(scene, b) for a, b in zip(run.q, exact.q)])
    return np.asarray(np.sqrt((away**2).sum(axis=-1).mean(axis=-1)))


def figure(time: Floats, off: Mapping[str, Mapping[float, Floats]]) -> Figure:
    """A panel for each mode, a curve for each error."""
    out = new_figure(11.5, 4.8)
    for ax, (mode, found) in zip(out.subplots(1, 2, sharey=True), off.items()):
        for (e, x), colour in zip(found.items(), COLOURS):
            ax.semilogy(time[1:], 1e3 * x[1:], color=colour, linewidth=1.7, label=percent(e))
            end = (time[-1], 1e3 * x[-1])
            ax.annotate(percent(e), end, (4, 0), textcoords="offset points", color=colour, va="center")
        ax.set_title(mode, fontsize=11, loc="left")
        ax.set(xlabel="seconds", xlim=(0, 1.1 * time[-1]))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="0.9", linewidth=0.8)
    out.axes[0].set_ylabel("distance to the motion of all joints (mm)")
    return out
