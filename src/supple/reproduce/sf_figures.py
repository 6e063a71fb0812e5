"""The figures of SF drawn anew: sparsity, Figure 5, Figure 7; then time and accuracy on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.costs.matrices import Cost
from supple.drawing import new_figure
from supple.reproduce.sf_claims import FAMILIES, operations
from supple.reproduce.sf_measure import MEASURES, Accuracy, Timing, in_bins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#1b4f72", "#c0792a", "#3c7a3c", "#8e3b76")  # of the four families
MARKERS = ("o", "s", "^", "D")
PARTS = {
    "RNEA": "#9fb8c8",
    "CRBA": "#4d7f9c",
    "factorize": "#e0a458",
    "back-substitution": "#b5651d",
    "ABA": "#6b8f5e",
}


def sparsity(matrices: Mapping[str, NDArray[np.float64]]) -> Figure:
    """Where matrices are not zero, by title."""
    figure = new_figure(3.2 * len(matrices), 3.6)
    for ax, (title, H) in zip(np.atleast_1d(figure.subplots(1, len(matrices))), matrices.items()):
        n = len(H)
        size = np.where(H == 0, np.nan, np.log10(np.maximum(np.abs(H) / np.abs(H).max(), 1e-5)))
        ax.imshow(size, cmap="Blues", vmin=-6.5, vmax=0.5, interpolation="nearest")
        share = 100 * np.mean(H == 0)
        ax.set_title(title, fontsize=11)
        ax.set_xlabel(f"{n} × {n}, {share:.0f} % zero", fontsize=10)
        ax.set_xticks([])
        ax.set_yticks([])
    return figure


def figure_5() -> Figure:
    """Operations of a factorization, D1 + 2 D2, against n."""
    figure = new_figure(7.5, 5.2)
    ax = figure.subplots()
    for family, colour, marker in zip(FAMILIES, COLOURS, MARKERS):
        m = [k for k in range(2, 1001) if family.n(k) <= 1000]
        if len(m) > 40:
            m = sorted({round(x) for x in np.geomspace(m[0], m[-1], 24)})
        n = [family.n(k) for k in m]
        cost = [operations(family.D1(k), family.D2(k)) for k in m]
        ax.loglog(n, cost, color=colour, marker=marker, markersize=4, label=f"{family.name}, O({family.order})")
    ax.set_xlabel("degrees of freedom n")
    ax.set_ylabel("operations to factorize, D1 + 2 D2")
    ax.legend(frameon=False, loc="upper left")
    _grid(ax)
    return figure


def figure_7(panels: Mapping[str, Mapping[str, Mapping[str, Cost]]], weights: Sequence[tuple[str, float]]) -> Figure:
    """Stacked bars: panels[title][system][part] of costs, a row a title, a column a weight of additions."""
    figure = new_figure(9.5, 3.9 * len(panels))
    grid = np.atleast_2d(figure.subplots(len(panels), len(weights)))
    for axes, (title, systems) in zip(grid, panels.items()):
        for ax, (name, a) in zip(axes, weights):
            _stacks(ax, systems, a)
            ax.set_title(f"{title}, {name}", fontsize=11)
        for ax in axes:
            ax.set_ylim(0, 1.12 * max(other.dataLim.y1 for other in axes))
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _stacks(ax: Any, systems: Mapping[str, Mapping[str, Cost]], a: float) -> None:
    places, ticks = [], []
    for i, (system, parts) in enumerate(systems.items()):
        for k, stack in enumerate((("RNEA", "CRBA", "factorize", "back-substitution"), ("ABA",))):
            x, bottom = 2.6 * i + k, 0.0
            for part in stack:
                height = parts[part].total(a) / 1000
                label = part if i == 0 else None
                ax.bar(x, height, 0.8, bottom, color=PARTS[part], edgecolor="white", linewidth=0.7, label=label)
                bottom += height
            ax.text(x, bottom, f"{bottom:.1f}", ha="center", va="bottom", fontsize=9)
            places.append(x)
            ticks.append(f"{system}\n{'ABA' if k else 'matrix'}")
    ax.set_xticks(places, ticks, fontsize=9)
    ax.set_ylabel("thousand operations")
    ax.spines[["top", "right"]].set_visible(False)


def times(measured: Mapping[str, Sequence[Timing]], cholesky: Mapping[int, float]) -> Figure:
    """Left: seconds against n. Right: how much faster than the same kernel on a dense matrix."""
    figure = new_figure(11.5, 5.0)
    left, right = figure.subplots(1, 2)
    for (name, rows), colour, marker in zip(measured.items(), COLOURS, MARKERS):
        n = [t.n for t in rows]
        left.loglog(n, [t.sparse for t in rows], color=colour, marker=marker, markersize=5, label=f"LTDL, {name}")
        if name == "unbranched":
            continue
        right.loglog(
            n,
            [t.dense_ltdl / t.sparse for t in rows],
            color=colour,
            marker=marker,
            markersize=5,
            label=f"{name}, measured",
        )
        right.loglog(n, [t.predicted for t in rows], color=colour, linestyle=":", label=f"{name}, by operations")
    dense = measured["unbranched"]
    left.loglog([t.n for t in dense], [cholesky[t.n] for t in dense], "k--", label="dense Cholesky, LAPACK")
    left.set_ylabel("seconds to factorize")
    right.set_ylabel("time of dense LTDL / time of sparse LTDL")
    for ax in (left, right):
        ax.set_xlabel("degrees of freedom n")
        ax.set_xticks([2**k for k in range(4, 11) if 2**k <= dense[-1].n + 1])
        ax.xaxis.set_major_formatter("{x:.0f}")
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        _grid(ax)
    return figure


def accuracies(samples: Sequence[Accuracy]) -> Figure:
    """Errors of the sparse LTDL as multiples of those of LAPACK's Cholesky, against density."""
    figure = new_figure(12.5, 4.4)
    density = [s.density for s in samples]
    for ax, measure in zip(figure.subplots(1, len(MEASURES), sharey=True), MEASURES):
        ratio = [s.errors[measure]["ltdl"] / s.errors[measure]["cholesky"] for s in samples]
        ax.semilogy(density, ratio, ".", color=COLOURS[0], alpha=0.25, markersize=5, label="one matrix")
        bins = in_bins(samples, measure, "ltdl")
        x = [0.5 * (b.low + b.high) for b in bins]
        middle = np.array([b.quartiles for b in bins])
        spread = np.abs(middle[:, [0, 2]].T - middle[:, 1])
        ax.errorbar(x, middle[:, 1], spread, color=COLOURS[1], marker="o", capsize=4, label="median and quartiles")
        ax.axhline(1.0, color="black", linewidth=0.8)
        ax.set_title(measure, fontsize=11)
        ax.set_xlabel("share of H that is not zero")
        _grid(ax)
    axes = figure.axes
    axes[0].set_ylabel("error of sparse LTDL / error of dense Cholesky")
    axes[0].set_yticks([0.25, 0.5, 1, 2, 4], ["1/4", "1/2", "1", "2", "4"])
    axes[0].set_ylim(0.15, 7)
    axes[-1].legend(frameon=False, loc="lower right", fontsize=9)
    return figure


def _grid(ax: Any) -> None:
    ax.grid(True, which="major", color="#dddddd", linewidth=0.7)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
