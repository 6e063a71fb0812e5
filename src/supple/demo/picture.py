"""The picture of the demonstration: the two bodies, the times, and the mass matrix of the robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

import supple
from supple.drawing import save
from supple.model.topology import depths

if TYPE_CHECKING:
    from supple.demo import Case

Floats = NDArray[np.float64]

PAPER, INK, FAINT = "#fbfaf6", "#2b2d33", "#dedad0"
WOOD = LinearSegmentedColormap.from_list("wood", ["#4a3728", "#6b4f2f", "#5d7a33", "#86b049", "#d3d95b"])
STEEL = LinearSegmentedColormap.from_list("steel", ["#16324f", "#1f6f8b", "#e07a3f"])
BARS = {"aba": "#1f6f8b", "crba": "#86b049", "virtual-work": "#8d6cab", "dense": "#e07a3f"}


def draw(cases: list[Case], file: Path) -> None:
    """Write the picture as PNG."""
    robot, tree = cases
    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.color": INK, "axes.labelcolor": INK}):
        figure = Figure(figsize=(14, 7), dpi=110, facecolor=PAPER)
        grid = figure.add_gridspec(
            2,
            3,
            width_ratios=(0.72, 1.3, 0.8),
            left=0.01,
            right=0.975,
            top=0.9,
            bottom=0.08,
            wspace=0.1,
            hspace=0.42,
        )
        _body(figure.add_subplot(grid[:, 0]), robot, STEEL, (62, 12), thick=(2.0, 7.0), joints=True)
        _body(figure.add_subplot(grid[:, 1]), tree, WOOD, (20, 7), thick=(0.3, 11.0), joints=False)
        _times(figure.add_subplot(grid[0, 2]), cases)
        _matrix(figure.add_subplot(grid[1, 2]), robot)
        save(figure, file, dpi="figure", paper=PAPER)


def _body(
    axes: Any, case: Case, colours: Any, view: tuple[float, float], thick: tuple[float, float], joints: bool
) -> None:
    """A body as lines from parents to children, thick where they carry much, over its shadow on the floor."""
    model = case.model
    rotation, position = supple.poses(model, case.q)
    links = np.flatnonzero(model.parent >= 0)
    starts, ends = position[model.parent[links]], position[links]
    carried = (model.subtree_end - np.arange(model.n_bodies))[links] / model.n_bodies
    depth = depths(model.parent)[links]
    tools = [f for f in model.frame_list if f.body >= 0]
    if tools:
        on = np.array([f.body for f in tools])
        tips = position[on] + np.einsum("nij,nj->ni", rotation[on], np.array([f.position for f in tools]))
        starts, ends = np.concatenate([starts, position[on]]), np.concatenate([ends, tips])
        carried = np.append(carried, np.zeros(len(on)))
        depth = np.append(depth, depths(model.parent)[on])
    floor = min(starts[:, 2].min(), ends[:, 2].min())
    shadow = [_project(x * (1, 1, 0) + (0, 0, floor), view)[0] for x in (starts, ends)]
    (a, _), (b, near) = _project(starts, view), _project(ends, view)
    order = np.argsort(near)
    widths = thick[0] + (thick[1] - thick[0]) * np.sqrt(carried)
    shade = np.sqrt(depth / depth.max())
    axes.add_collection(
        LineCollection(list(np.stack(shadow, 1)), linewidths=0.6 * widths, colors=FAINT, capstyle="round")
    )
    lines = np.stack([a, b], 1)[order]
    axes.add_collection(
        LineCollection(list(lines), linewidths=widths[order], colors=colours(shade[order]), capstyle="round")
    )
    if joints:
        at, _ = _project(position, view)
        axes.scatter(at[:, 0], at[:, 1], s=26, color=PAPER, edgecolors=INK, linewidths=1.1, zorder=3)
    axes.autoscale()
    axes.margins(0.04)
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")
    axes.set_title(case.title, fontsize=12, fontweight="bold", color=INK)


def _project(x: Floats, view: tuple[float, float]) -> tuple[Floats, Floats]:
    """Points as seen from (azimuth, elevation) in degrees, without perspective; and how near they are."""
    a, e = np.radians(view)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    near = np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    return np.stack([x @ right, x @ np.cross(near, right)], axis=-1), x @ near


def _times(axes: Any, cases: list[Case]) -> None:
    from supple.demo import duration

    labels, at = [], []
    y = 0.0
    for case in cases:
        axes.text(1e-6, y, case.name, va="center", fontweight="bold")
        for r in case.results:
            y += 1.0
            at.append(y)
            labels.append(r.method)
            if r.seconds is None:
                axes.text(1.2e-6, y, "left out: too large", va="center", fontsize=9, style="italic")
                continue
            axes.barh(y, r.seconds, color=BARS.get(r.method, INK), height=0.72)
            axes.text(r.seconds * 1.25, y, duration(r.seconds), va="center", fontsize=9)
        y += 1.4
    axes.set_yticks(at, labels)
    axes.set_xscale("log")
    axes.set_xlim(1e-6, 1.0)
    axes.set_ylim(y - 0.8, -0.6)
    axes.set_title("Forward dynamics, time a call", fontsize=12, fontweight="bold", color=INK)
    axes.set_facecolor(PAPER)
    axes.tick_params(length=0, colors=INK)
    axes.set_xticks([1e-6, 1e-3, 1.0], ["1 µs", "1 ms", "1 s"])
    axes.minorticks_off()
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)


def _matrix(axes: Any, case: Case) -> None:
    sparse = supple.mass_matrix(case.model, case.q, sparse=True)
    H = np.abs(sparse.dense())
    H[H == 0] = np.nan
    axes.imshow(H, cmap="YlGnBu", norm=LogNorm(np.nanmax(H) * 1e-5, np.nanmax(H)), interpolation="nearest")
    axes.set_facecolor("#f1eee6")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color(FAINT)
    axes.set_title(f"{case.name}: mass matrix", fontsize=12, fontweight="bold", color=INK)
    axes.set_xlabel(f"{1 - sparse.density:.0%} zero because the body branches")
