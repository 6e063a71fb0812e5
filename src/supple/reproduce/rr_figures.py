"""The figures of RR drawn anew, and what they leave open: other slopes, cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.drawing import new_figure
from supple.exact.kinematics import poses
from supple.reproduce.rr_measure import Cost
from supple.walking.gaits import Gait
from supple.walking.walkers import Step, Walker, leg_angles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
BLUE, RED, GREEN, GREY = "#1b4f72", "#c0392b", "#3c7a3c", "#777777"
LEGS = ("left", "right")


def _plain(ax: Any) -> None:
    ax.grid(True, color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def portrait(steps: Sequence[Step]) -> Figure:
    """Figure 10: angle and rate of one leg, over two steps; arrows where impacts change the rate."""
    figure = new_figure(6.4, 5.0)
    ax = figure.subplots()
    ends = []
    for step in steps:
        leg = LEGS.index("left")
        angle = leg_angles(step, LEGS)[:, leg]
        rate = np.gradient(angle, step.trace[:, 0], edge_order=2)
        stands = step.feet[0] == "left foot"
        ax.plot(angle, rate, color=RED if stands else BLUE, label="supports" if stands else "swings", linewidth=1.8)
        ends.append(((angle[0], rate[0]), (angle[-1], rate[-1])))
    for (_, last), (first, _) in zip(ends, [*ends[1:], ends[0]]):
        how = dict(arrowstyle="->", color=GREY, linestyle="--", linewidth=1.2)
        ax.annotate("", first, last, arrowprops=how)
    ax.text(ends[0][1][0] - 0.012, 0.5 * (ends[0][1][1] + ends[1][0][1]), "impact", fontsize=9, color=GREY, ha="right")
    ax.set_xlabel("θ, angle of the leg from the vertical, rad")
    ax.set_ylabel("θ', rad/s")
    ax.legend(frameon=False, loc="center")
    _plain(ax)
    return figure


def energies(steps: Sequence[Step]) -> Figure:
    """Figure 11: potential against kinetic energy over two steps."""
    figure = new_figure(6.4, 5.0)
    ax = figure.subplots()
    corners: list[tuple[str, float, float]] = []
    for i, step in enumerate(steps):
        kinetic, potential = step.kinetic, step.potential
        colour, prime = (BLUE, RED)[i % 2], "'" * i
        ax.plot(kinetic, potential, color=colour, linewidth=1.8, label=("first", "second")[i % 2] + " step")
        top = int(potential.argmax())
        corners += [(f"A{prime}", kinetic[0], potential[0]), (f"B{prime}", kinetic[top], potential[top])]
        corners += [(f"C{prime}", kinetic[-1], potential[-1])]
        ax.plot(list(step.impact_kinetic), [potential[-1]] * 2, color=GREY, linestyle="--", linewidth=1.2)
    after = steps[-1].impact_kinetic[1]
    corners.append(("A" + "'" * len(steps), after, corners[-1][2]))
    for name, x, y in corners:
        ax.plot(x, y, "o", color="black", markersize=4)
        ax.annotate(name, (x, y), textcoords="offset points", xytext=(7, 5), fontsize=10)
    ax.set_xlabel("kinetic energy, J")
    ax.set_ylabel("potential energy, J")
    ax.legend(frameon=False, loc="upper right")
    ax.margins(0.08)
    _plain(ax)
    return figure


def strip(walker: Walker, steps: Sequence[Step], frames: int = 9) -> Figure:
    """The walk as a row of pictures."""
    figure = new_figure(11.5, 3.4)
    ax = figure.subplots()
    ground = []
    for i, step in enumerate(steps):
        rows = np.unique(np.linspace(0, len(step.trace) - 1, frames).astype(int))[: None if i == len(steps) - 1 else -1]
        found = poses(step.model, np.ascontiguousarray(step.trace[rows, 1 : 1 + step.model.nq]))
        places = {}
        for name in (*walker.feet, walker.guard):
            f = step.model.frames[name]
            at = found.position[:, f.body] + found.rotation[:, f.body] @ f.position + step.origin
            places[name] = at[:, [0, 2]]
        for k in range(len(rows)):
            fade = 0.25 + 0.75 * k / max(1, len(rows) - 1)
            for foot, colour in (("left foot", BLUE), ("right foot", RED)):
                line = np.stack([places[walker.guard][k], places[foot][k]])
                ax.plot(line[:, 0], line[:, 1], color=colour, alpha=fade, linewidth=1.4)
            ax.plot(*places[walker.guard][k], "o", color="black", alpha=fade, markersize=3.5)
        ground += [places[f] for f in walker.feet]
    x = np.concatenate(ground)[:, 0]
    slope = walker.forward
    far = np.array([x.min() - 0.1, x.max() + 0.1])
    support = steps[0].origin + steps[0].model.position[0]
    ax.plot(far, support[2] + (far - support[0]) * slope[2] / slope[0], color="black", linewidth=1.0)
    ax.set_aspect("equal")
    ax.set_xlabel("m")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_yticks([])
    return figure


def slopes(found: Sequence[tuple[float, Gait]], ends: Mapping[float, Floats], walker_slope: float) -> Figure:
    """Eigenvalues of the symmetric gait over the slope, and the durations of steps that walks settle to."""
    figure = new_figure(11.5, 4.6)
    left, right = figure.subplots(1, 2)
    x = np.array([s for s, _ in found])
    sizes = np.abs([g.eigenvalues for _, g in found])
    for k in range(sizes.shape[1]):
        left.plot(x, sizes[:, k], color=(BLUE, GREEN, GREY)[k % 3], label=f"eigenvalue {k + 1}")
    left.axhline(1.0, color=RED, linewidth=1.0, linestyle=":")
    left.text(x[0], 1.02, "unstable above", fontsize=8.5, color=RED, va="bottom")
    left.set_ylabel("size of the eigenvalues of the return map")
    left.legend(frameon=False, fontsize=9)
    for slope, durations in ends.items():
        right.plot(np.full(len(durations), slope), durations, ".", color=BLUE, markersize=2.2)
    right.plot(x, [g.period for _, g in found], color=GREY, linewidth=1.0, linestyle="--", label="the symmetric gait")
    right.set_ylabel("duration of a step, s")
    right.legend(frameon=False, fontsize=9)
    for ax in (left, right):
        ax.axvline(walker_slope, color="#bbbbbb", linewidth=0.9, linestyle=":")
        ax.set_xlabel("slope, rad")
        _plain(ax)
    return figure


def costs(measured: Mapping[str, Cost]) -> Figure:
    """Re-rooting and a dynamics step against n."""
    figure = new_figure(7.2, 4.8)
    ax = figure.subplots()
    for (name, c), colour in zip(measured.items(), (BLUE, GREEN)):
        ax.plot(c.sizes, 1e3 * np.array(c.reroot), "o-", color=colour, markersize=4, label=f"{name}: change of root")
        ax.plot(c.sizes, 1e3 * np.array(c.step), "x--", color=colour, markersize=5, label=f"{name}: a dynamics step")
        ax.plot(c.sizes, 1e3 * np.array(c.first), "+:", color=colour, markersize=5, label=f"{name}: the first after it")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("bodies n")
    ax.set_ylabel("ms")
    ax.legend(frameon=False, fontsize=9)
    _plain(ax)
    return figure
