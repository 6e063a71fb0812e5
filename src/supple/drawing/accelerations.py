"""What quasi-statics found: accelerations of joints, and how many of them forces reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.drawing import BLUE, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAINTEST = 1e-9  #: of the largest acceleration; joints that are only on the way to others have much smaller ones


def _plain(ax: Any) -> None:
    ax.grid(True, color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def accelerations(title: str, dofs: Ints, values: Floats) -> Figure:
    """The accelerations that were computed: left in the order of computing, right by where they belong."""
    figure = new_figure(10.0, 3.8)
    left, right = figure.subplots(1, 2, sharey=True)
    size = np.where(values == 0, np.nan, np.abs(values))
    left.plot(1 + np.arange(len(size)), size, "o-", color=BLUE, markersize=3, linewidth=0.8)
    left.set(xlabel="in the order in which they were computed", ylabel="size of the acceleration", yscale="log")
    right.plot(dofs, size, "o", color=ORANGE, markersize=3.5)
    right.set(xlabel="degree of freedom")
    if np.isfinite(size).any():
        largest = float(np.nanmax(size))
        left.set_ylim(FAINTEST * largest, 3 * largest)
    for ax in (left, right):
        _plain(ax)
    left.set_title(title, loc="left", fontsize=11)
    return figure


def reach(title: str, errors: Sequence[float], joints: Sequence[int], n: int, measure: str) -> Figure:
    """How many joints are computed at each error; of n."""
    figure = new_figure(7.0, 4.2)
    ax = figure.subplots()
    ax.plot(errors, joints, "o-", color=BLUE, markersize=4)
    ax.axhline(n, color=GREY, linestyle="--", linewidth=1)
    ax.annotate(
        f"all {n:,} joints", (errors[0], n), (0, -4), textcoords="offset points", va="top", fontsize=9, color=GREY
    )
    ax.set(xscale="log", yscale="log", xlabel=f"error allowed, {measure}", ylabel="joints computed")
    ax.invert_xaxis()
    ax.set_title(title, loc="left", fontsize=11)
    _plain(ax)
    return figure
