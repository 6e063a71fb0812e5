"""The figures of VW drawn anew, and what they leave open: growth, operations, accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from supple.costs.matrices import Cost
from supple.drawing import new_figure
from supple.reproduce.vw_measure import Errors, Times, growth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: One look for each method in every figure: colour, marker, line.
LOOKS = {
    "virtual work": ("#1b4f72", "o", "-"),
    "pairs": ("#c0392b", "s", "-"),
    "split": ("#c0792a", "D", "-."),
    "unit vectors": ("#555555", "x", "--"),
    "ABA": ("#3c7a3c", "^", "-"),
    "CRBA + LTDL": ("#8e3b76", "v", "-"),
    "DCA": ("#2a9d8f", "*", "-"),
    "absorbed": ("#1b4f72", "o", "-"),
    "split, absorbed": ("#5b9bd5", "o", "-."),
    "split, pairs": ("#c0792a", "D", "-."),
}
OTHER = ("#000000", "P", ":")


def _line(ax: Any, name: str, x: Sequence[float], y: Iterable[float], label: str | None = None) -> None:
    colour, marker, line = LOOKS.get(name, OTHER)
    height = np.array(list(y))
    known = np.isfinite(height)
    ax.plot(
        np.asarray(x)[known], height[known], linestyle=line, color=colour, marker=marker, markersize=4.5,
        linewidth=1.5, label=label or name,
    )  # fmt: skip


def _grid(ax: Any) -> None:
    ax.grid(True, which="major", color="#e2e2e2", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)


def figure_of_times(small: Times, large: Times, mark: int, crossing: str, x_name: str) -> Figure:
    """Left, the paper's sizes, marked where a method crosses unit vectors in it; right, on to where growth shows."""
    figure = new_figure(11.5, 4.9)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    for name, seconds in small.seconds.items():
        _line(left, name, small.dof, 1e6 * np.array(seconds))
    fastest = max(x for name, xs in small.seconds.items() if name != "pairs" for x in xs)
    left.set_ylim(0, 1.15e6 * fastest)
    left.set_xlim(0, small.dof[-1] + 1)
    left.axvline(mark, color="#999999", linewidth=0.9, linestyle=":")
    text = f"in the paper {crossing}\ncrosses unit vectors here"
    side, shift = ("right", -0.4) if mark > 0.6 * small.dof[-1] else ("left", 0.4)
    left.text(mark + shift, 1.13e6 * fastest, text, va="top", ha=side, fontsize=8.5, color="#777777")
    left.set_xlabel("degrees of freedom, 3 a joint")
    left.set_ylabel("time of forward dynamics, µs")
    left.set_title("the paper's sizes", fontsize=11)
    for name, seconds in large.seconds.items():
        _line(right, name, large.sizes, seconds, f"{name}: n^{growth(large.sizes, seconds):.2f}")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel(x_name)
    right.set_ylabel("seconds")
    right.set_title("growth, fitted to the larger half", fontsize=11)
    for ax in (left, right):
        _grid(ax)
        ax.legend(frameon=False, fontsize=9, loc="upper left")
    return figure


def figure_of_counts(chains: Mapping[int, Mapping[str, Cost]], stars: Mapping[int, Mapping[str, Cost]]) -> Figure:
    """Operations a joint against size: on chains of hinges, and on stars."""
    from matplotlib.ticker import LogLocator

    figure = new_figure(11.5, 4.6)
    for ax, counts, title in zip(
        figure.subplots(1, 2), (chains, stars), ("chains of n hinges", "a link with n ball joints beyond its own")
    ):
        sizes = list(counts)
        for name in counts[sizes[0]]:
            joints = [n + (counts is stars) for n in sizes]
            _line(ax, name, sizes, [counts[n][name].total() / k for n, k in zip(sizes, joints)])
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.set_xlabel("n")
        ax.set_title(title, fontsize=11)
        _grid(ax)
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:,.0f}")
    figure.axes[0].set_ylabel("operations a joint (m + a + div)")
    lines, names = figure.axes[1].get_legend_handles_labels()
    figure.legend(lines, names, frameon=False, fontsize=9, loc="outside lower center", ncols=len(names))
    return figure


def figure_of_errors(
    chains: Mapping[str, Mapping[int, Mapping[str, Errors]]], stars: Mapping[int, Mapping[str, Errors]]
) -> Figure:
    """Accelerations above, joint wrenches below; in columns the kinds of chains, then stars by what is done to hubs."""
    figure = new_figure(14.0, 7.0)
    columns = [*chains, "stars"]
    names = {
        "random chains": "links", "stretched chains": "links", "light links": "how much lighter every other link is",
        "stars": "joints on one link",
    }  # fmt: skip
    grid = figure.subplots(2, len(columns), sharey=True)
    for column, of in enumerate(columns):
        results = stars if of == "stars" else chains[of]
        x = list(results)
        for row, part in enumerate(Errors._fields):
            ax = grid[row, column]
            for name in results[x[0]]:
                _line(ax, name, x, [getattr(results[n][name], part) for n in x])
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.axhline(np.finfo(float).eps, color="black", linewidth=0.7, linestyle=":")
            _grid(ax)
            if of == "stars":
                ax.set_xticks(x, [str(n) for n in x])
            if row == 0:
                ax.set_title(of, fontsize=11)
                if column in (0, len(columns) - 1):
                    ax.legend(frameon=False, fontsize=8.5, loc="upper left")
            else:
                ax.set_xlabel(names.get(of, "n"))
    grid[0, 0].set_ylabel("error of accelerations")
    grid[1, 0].set_ylabel("error of joint wrenches")
    return figure
