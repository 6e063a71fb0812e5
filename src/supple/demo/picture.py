"""The picture of the demonstration: a crowd of which a few joints move, the speed of each way, and how many joints an
error takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter
from numpy.typing import NDArray

import supple
from supple.demo.promises import Comparison, Curve
from supple.drawing import save
from supple.scenes import Scene

Floats = NDArray[np.float64]

PAPER, INK, FAINT = "#fbfaf6", "#2b2d33", "#dedad0"
STILL, ACTIVE, EXACT = "#8fa3b0", "#e07a3f", "#1f6f8b"
EYE, AT = np.array([-3.6, -2.6, 2.4]), np.array([1.6, 0.0, 0.95])  #: of the camera, metres
MOMENT = 0.5  #: of the film that is drawn, as a share


def draw(file: Path, compared: list[Comparison], curve: Curve, film: supple.Result, scene: Scene) -> None:
    """Write the picture as PNG."""
    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(14, 7), dpi=110, facecolor=PAPER)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.3, 1.0), left=0.0, right=0.97, top=0.92, bottom=0.09,
                                   wspace=0.22, hspace=0.42)  # fmt: skip
        _crowd(figure.add_subplot(grid[:, 0]), film, scene)
        _speeds(figure.add_subplot(grid[0, 1]), compared)
        _errors(figure.add_subplot(grid[1, 1]), curve, compared[0].rows[0].joints)
        save(figure, file, dpi="figure", paper=PAPER)


def _crowd(axes: Any, film: supple.Result, scene: Scene) -> None:
    """Bodies as rods in perspective, those whose joints are active in orange."""
    state = film[round(MOMENT * (len(film) - 1))]
    R, r = supple.poses(scene.model, state.q)
    ends = np.einsum("bij,bkj->bki", R, scene.rods) + r[:, None]
    flat, depth = _seen(ends.reshape(-1, 3))
    lines, near = flat.reshape(-1, 2, 2), depth.reshape(-1, 2).mean(axis=1)
    order = np.argsort(-near)
    active = np.zeros(scene.model.n_bodies, dtype=bool)
    active[[] if state.active_joints is None else state.active_joints] = True
    width = 34.0 * np.cbrt(scene.model.mass / scene.model.mass.max()) / near
    colours = np.where(active, ACTIVE, STILL)
    axes.add_collection(
        LineCollection(list(lines[order]), colors=colours[order].tolist(), linewidths=width[order], capstyle="round")
    )
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.margins(0.02)
    axes.axis("off")
    n = int(active.sum())
    axes.set_title(f"A crowd of {scene.model.n_bodies:,} joints at {state.time:.1f} s: the {n} in orange move now",
                   fontsize=11, loc="left", x=0.04)  # fmt: skip


def _seen(points: Floats) -> tuple[Floats, Floats]:
    """Points in the picture, and their distances."""
    ahead = (AT - EYE) / np.linalg.norm(AT - EYE)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    off = points - EYE
    depth = off @ ahead
    return np.stack([off @ right / depth, off @ up / depth], axis=-1), depth


def _speeds(axes: Any, compared: list[Comparison]) -> None:
    """Bars of steps a second."""
    rows = [(c, row) for c in compared for row in c.rows]
    y = -np.arange(len(rows)) - np.repeat([0.4 * i for i in range(len(compared))], [len(c.rows) for c in compared])
    rate = [1.0 / row.seconds for _, row in rows]
    colours = [EXACT if row is c.rows[0] else ACTIVE for c, row in rows]
    axes.barh(y, rate, color=colours, height=0.7)
    for at, (_, row), steps in zip(y, rows, rate):
        axes.text(steps * 1.15, at, f"{steps:,.0f}/s, {row.joints:,.0f} joints", va="center", fontsize=8.5)
    axes.set_xscale("log")
    axes.set_xlim(min(rate) / 3, max(rate) * 30)
    axes.set_yticks(y, [f"{c.body}, {row.how}" if row is c.rows[0] else row.how for c, row in rows], fontsize=8.5)
    axes.set_title("Steps a second: exact, and within a promised error", fontsize=11, loc="left")
    _plain(axes)


def _errors(axes: Any, curve: Curve, joints: float) -> None:
    """The error over the number of joints computed."""
    axes.loglog(curve.joints, curve.certified, "o-", color=EXACT, label="certified before the step", markersize=4)
    shown = [(j, e) for j, e in zip(curve.joints, curve.measured) if e > 0.0]
    axes.loglog(*zip(*shown), "s", color=ACTIVE, label="measured", markersize=4)
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks([20, 40, 80])
    axes.set_xlabel(f"joints computed, of {joints:,.0f}")
    axes.set_ylabel("error, of the largest acceleration")
    axes.set_title("A molecule pulled at one atom: how many joints an error takes", fontsize=11, loc="left")
    axes.legend(frameon=False, fontsize=9)
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.set_facecolor(PAPER)
    axes.grid(True, axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
