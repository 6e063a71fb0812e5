"""A model as a picture of its tree: bodies by name where they are few, the shape of the whole where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.drawing import GREY, INK, ORANGE, footnote, new_figure
from supple.drawing.layout import lanes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Ints = NDArray[np.int64]
Loop = tuple[int, int, str, str]  #: its two bodies (-1: the world), its name and the type of its joint

CLOSING = "#c0392b"
NAMED = 80  #: bodies up to which each has a line with its name
COLOURS = {
    "revolute": "#1b4f72", "continuous": "#2e86c1", "prismatic": "#b9770e", "screw": "#6e2c00",
    "cylindrical": "#a04000", "universal": "#117a65", "planar": "#5b7d2a", "ball": "#1e8449", "free": "#8e3b76",
}  # fmt: skip
LINE = 0.21  #: inches of a named body
BARS = 400  #: of how many bodies there are at each depth


def tree(
    title: str,
    parent: Ints,
    bodies: Sequence[str],
    joints: Sequence[str],
    kinds: Sequence[str],
    mark: Sequence[int] | None,
    loops: Sequence[Loop] = (),
) -> Figure:
    """mark: joints to show in orange; all others are grey then. loops: joints that close them, dashed."""
    few = len(parent) <= NAMED
    return (
        _named(title, parent, bodies, joints, kinds, mark, loops) if few else _shape(title, parent, kinds, mark, loops)
    )


def _colours(kinds: Sequence[str], mark: Sequence[int] | None) -> list[str]:
    if mark is None:
        return [COLOURS.get(kind, INK) for kind in kinds]
    marked = {int(i) for i in mark}
    return [ORANGE if i in marked else GREY for i in range(len(kinds))]


def _named(
    title: str,
    parent: Ints,
    bodies: Sequence[str],
    joints: Sequence[str],
    kinds: Sequence[str],
    mark: Sequence[int] | None,
    loops: Sequence[Loop],
) -> Figure:
    n = len(parent)
    depth = lanes(parent)[0]
    x, y, up = 0.9 * depth.astype(float), np.arange(n), parent.tolist()
    figure = new_figure(6.0 + min(0.3 * int(depth.max()), 5.0), 0.7 + LINE * n)
    ax = figure.subplots()
    how: dict[str, Any] = dict(textcoords="offset points", va="center")
    right = []  # the last words of each line
    for i, (p, colour) in enumerate(zip(up, _colours(kinds, mark))):
        start = (x[p], y[p]) if p >= 0 else (0.0, -1.0)
        ax.plot([start[0], start[0], x[i]], [start[1], y[i], y[i]], color="#b4bec6", linewidth=1.0, zorder=1)
        ax.plot(x[i], y[i], "o", color=colour, markersize=5.5, zorder=2)
        body = ax.annotate(bodies[i], (x[i], y[i]), (7, 0), fontsize=9, color=INK, **how)
        joint = f"{joints[i]}, {kinds[i]}"
        right.append(ax.annotate(joint, (1, 0.5), (8, 0), xycoords=body, fontsize=8, color=GREY, **how))
    ax.plot(0.0, -1.0, "s", color=INK, markersize=5)
    for one, two, name, kind in loops:
        start, end = ((0.0, -1.0) if i < 0 else (x[i], float(y[i])) for i in (one, two))
        bent = f"arc3,rad={0.3 if one > two else -0.3}"
        line = dict(arrowstyle="-", color=CLOSING, linestyle=(0, (3, 2)), connectionstyle=bent)
        ax.annotate("", start, end, arrowprops=line)
        last, to = max(one, two), min(one, two)
        said = f"{name}, {kind}, to {bodies[to] if to >= 0 else 'the world'}"
        right[last] = ax.annotate(said, (1, 0.5), (8, 0), xycoords=right[last], fontsize=8, color=CLOSING, **how)
    ax.set(xlim=(-0.3, float(x.max()) + 0.3), ylim=(n - 0.4, -1.6))
    ax.set_axis_off()
    ax.set_title(title, loc="left", fontsize=11)
    return figure


def _shape(title: str, parent: Ints, kinds: Sequence[str], mark: Sequence[int] | None, loops: Sequence[Loop]) -> Figure:
    depth, lane = lanes(parent)
    tall = float(np.clip(0.08 * lane.max(), 0.8, 5.5))
    figure = new_figure(11.0, tall + 2.8)
    from matplotlib.collections import LineCollection

    ax, below = figure.subplots(2, 1, sharex=True, height_ratios=(tall, 1.4))
    inner = parent >= 0
    x0, y0 = np.where(inner, depth[parent], 0), np.where(inner, lane[parent], lane)
    corners = np.stack([np.stack([x0, y0], 1), np.stack([x0, lane], 1), np.stack([depth, lane], 1)], 1)
    colours = np.array(_colours(kinds, mark))
    width = float(np.clip(min(60.0 / (1 + lane.max()), 300.0 / depth.max()), 0.3, 2.0))
    order = np.argsort(colours == ORANGE, kind="stable")  # what is marked is drawn last
    ax.add_collection(LineCollection(corners[order].tolist(), colors=colours[order].tolist(), linewidths=width))
    if loops:
        ends = np.array([[(0, 0) if i < 0 else (depth[i], lane[i]) for i in loop[:2]] for loop in loops])
        dashed: dict[str, Any] = dict(colors=CLOSING, linewidths=width, linestyles=(0, (3, 2)), zorder=0)
        ax.add_collection(LineCollection(ends.tolist(), **dashed))
    ax.set(ylim=(lane.max() + 0.8, -0.8), yticks=[], xlim=(-0.01 * depth.max(), 1.01 * depth.max()))
    ax.set_title(title, loc="left", fontsize=11)
    ax.spines[:].set_visible(False)
    ax.tick_params(bottom=False)
    count = np.bincount(depth)[1:]
    width = -(-len(count) // BARS)
    starts = np.arange(0, len(count), width)
    mean = np.add.reduceat(count, starts) / np.diff(np.append(starts, len(count)))
    below.stairs(mean, np.append(starts, len(count)) + 0.5, fill=True, color="#c9d6df")
    below.set(xlabel="joints from the world", ylabel="bodies" if width == 1 else "bodies, mean", ylim=(0, None))
    below.spines[["top", "right"]].set_visible(False)
    _legend(figure, kinds, mark, bool(loops))
    footnote(figure, f"Not shown: the names of {len(parent):,} bodies (they are up to {NAMED}).")
    return figure


def _legend(figure: Figure, kinds: Sequence[str], mark: Sequence[int] | None, closed: bool) -> None:
    from matplotlib.lines import Line2D

    if mark is None:
        shown = {kind: COLOURS.get(kind, INK) for kind in sorted(set(kinds))}
    else:
        shown = {f"{len(mark):,} joints marked": ORANGE, "others": GREY}
    lines = [Line2D([], [], color=colour, linewidth=2) for colour in shown.values()]
    if closed:
        lines.append(Line2D([], [], color=CLOSING, linewidth=2, linestyle=(0, (3, 2))))
        shown["closes a loop"] = CLOSING
    figure.legend(lines, list(shown), frameon=False, fontsize=9, ncols=len(shown), loc="outside lower center")
