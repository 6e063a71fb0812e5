"""The figures of QS drawn anew, and the scenes they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.drawing import new_figure
from supple.exact.kinematics import poses
from supple.reproduce import qs_theirs as theirs
from supple.reproduce.qs_measure import Full, Run
from supple.scenes import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

INK, GREY, PALE = "#1d2b36", "#8fa0ad", "#c9d2d9"
COLOURS = ("#1b4f72", "#2e8b7a", "#d08c2e", "#a33b5c")
MARKERS = ("o", "s", "^", "D")


def power(error: float) -> str:
    return "exact" if error == 0 else f"$2^{{{round(np.log2(error))}}}$"


# --- Figure 1 -----------------------------------------------------------------------------------------------


def chain(scene: Scene, exact: Floats, found: Mapping[float, Floats]) -> Figure:
    """Above: where the chain begins and ends. Below: the end at some precisions, each with a close-up of its tip."""
    figure = new_figure(11.5, 7.4)
    rows: Any = [["top"] * len(found), [str(error) for error in found]]
    top, *below = figure.subplot_mosaic(rows, height_ratios=(1.25, 1)).values()
    _draw_chain(top, scene, scene.q0, PALE, GREY)
    _draw_chain(top, scene, exact, COLOURS[0], INK)
    start, end = (_pins(scene, q) for q in (scene.q0, exact))
    pitch = float(np.linalg.norm(start[1] - start[0]))
    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": 11}
    top.annotate("at first", start[2 * len(start) // 3], (0, -20), ha="center", color="#6b7c88", **words)
    top.annotate("at last, exactly", end[-1], (-16, -4), ha="right", color=INK, **words)
    force = scene.pushes.forces[0][[0, 2]]
    tip = start[-1] + 5 * pitch * force / np.linalg.norm(force)
    top.annotate("", tip, start[-1], arrowprops={"arrowstyle": "-|>", "color": COLOURS[3], "linewidth": 1.8})
    top.annotate("the force", tip, (6, -2), color=COLOURS[3], **words)
    for ax, (error, q) in zip(below, found.items()):
        inset = ax.inset_axes((0.56, 0.26, 0.44, 0.66))
        for to in (ax, inset):
            _draw_chain(to, scene, exact, PALE, GREY)
            _draw_chain(to, scene, q, COLOURS[0], INK)
        here = _pins(scene, q)[-1]
        middle = 0.5 * (here + end[-1])
        half = 1.4 * pitch + 0.6 * float(np.abs(here - end[-1]).max())
        inset.set(xlim=middle[0] + np.array([-half, half]), ylim=middle[1] + 1.1 * np.array([-half, half]))
        inset.set_aspect("equal")
        inset.set_xticks([])
        inset.set_yticks([])
        inset.spines[:].set_color("#9aa7b0")
        ax.indicate_inset_zoom(inset, edgecolor="#9aa7b0")
        ax.set_title(f"error {power(error)}", fontsize=12, loc="left")
    for ax in (top, *below):
        ax.axis("off")
        ax.set_aspect("equal")
    every = np.concatenate([start, end, *(_pins(scene, q) for q in found.values())])
    low, high = every.min(axis=0), every.max(axis=0)
    top.set(xlim=(low[0] - 2 * pitch, high[0] + 2 * pitch), ylim=(low[1] - 2 * pitch, high[1] + pitch))
    bent = np.concatenate([end, *(_pins(scene, q) for q in found.values())])[:, 0].max()
    for ax in below:
        ax.set(xlim=(low[0] - pitch, low[0] + 2.2 * (bent - low[0])), ylim=(low[1] - 2 * pitch, high[1] + pitch))
    return figure


def _pins(scene: Scene, q: Floats) -> Floats:
    """(n + 1, 2) the chain's pins in its plane."""
    R, x = poses(scene.model, q)
    last = R[-1] @ scene.rods[-1, 1] + x[-1]
    return np.concatenate([x, last[None]])[:, [0, 2]]


def _draw_chain(ax: Any, scene: Scene, q: Floats, plate: str, pin: str) -> None:
    """Plates with waists, every second one on top, and pins."""
    from matplotlib.collections import PatchCollection, PolyCollection
    from matplotlib.patches import Circle

    pins = _pins(scene, q)
    pitch = float(np.linalg.norm(pins[1] - pins[0]))
    angle = np.linspace(0.5 * np.pi, 1.5 * np.pi, 12)
    end = 0.34 * np.column_stack([np.cos(angle), np.sin(angle)])
    waist = np.array([[0.5, -0.2]])
    outline = pitch * np.concatenate([end, waist, [1, 0] - end, -waist + [1, 0]])
    along = np.diff(pins, axis=0) / pitch
    turn = np.stack([along, np.column_stack([-along[:, 1], along[:, 0]])], axis=1)  # rows: along, across
    shapes = pins[:-1, None] + outline @ turn
    for first, alpha in ((0, 1.0), (1, 0.72)):
        ax.add_collection(
            PolyCollection(list(shapes[first::2]), facecolor=plate, edgecolor="white", linewidth=0.5, alpha=alpha)
        )
    ax.add_collection(
        PatchCollection([Circle(p, 0.13 * pitch) for p in pins], facecolor=pin, edgecolor="none", zorder=3)
    )


# --- scenes, coloured by what moves ---------------------------------------------------------------------------


SLANT = np.radians(38)  # the millipede is seen from above at this angle
VIEWS = {  #: the world's directions that are to the right and up in the picture
    "millipede": np.array([[1.0, 0.0, 0.0], [0.0, np.sin(SLANT), np.cos(SLANT)]]).T,
    "molecule": np.eye(3)[:, [0, 2]],
}
CLOSE = {"millipede": (0.55, 0.145), "molecule": (17.0, 11.0)}  #: half the width and height of a close-up


def scene_pictures(items: Mapping[str, tuple[Scene, Floats]]) -> Figure:
    """The scenes and their accelerations: all of each, and what is near the force, coloured by how much joints move."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure = new_figure(11.5, 10.4)
    rows: Any = [["millipede"] * 2, ["millipede, close"] * 2, ["molecule", "molecule, close"]]
    axes = figure.subplot_mosaic(rows, height_ratios=(0.13, 0.62, 1), width_ratios=(1, 1.3))
    scale = Normalize(-19, 0)
    for name, (scene, a) in items.items():
        size = np.log2(np.maximum(np.abs(a) / np.abs(a).max(), 2.0**-40))
        R, x = poses(scene.model, scene.q0)
        view, near = VIEWS[name], CLOSE[name]
        flat = (np.einsum("nij,nkj->nki", R, scene.rods) + x[:, None]) @ view
        tip = flat[int(scene.pushes.bodies[-1]), 1]
        whole, close = axes[name], axes[f"{name}, close"]
        for ax, width in ((whole, 0.8), (close, 3.4)):
            _rods(ax, flat, size, scale, width)
            ax.set_xticks([])
            ax.set_yticks([])
            ax.spines[:].set_visible(False)
        whole.autoscale_view()
        whole.set_aspect("equal" if name == "molecule" else "auto")
        close.set_aspect("equal")
        whole.set_title(f"{name}, {scene.model.n_bodies:,} joints", fontsize=11, loc="left")
        if name == "molecule":
            close.set_title("near the force", fontsize=11, loc="left")
            whole.plot(*tip, "o", markersize=20, markerfacecolor="none", markeredgecolor=COLOURS[3])
        close.set(xlim=tip[0] + np.array([-1, 1]) * near[0], ylim=tip[1] + np.array([-1, 1]) * near[1])
        force = scene.pushes.forces[-1] @ view
        style = {"arrowstyle": "-|>", "color": COLOURS[3], "linewidth": 2.4, "mutation_scale": 18}
        close.annotate("", tip + 0.4 * near[1] * force / np.linalg.norm(force), tip, arrowprops=style, zorder=9)
    bar = figure.colorbar(
        ScalarMappable(scale, "viridis_r"), ax=list(axes.values()), shrink=0.5, aspect=38, location="bottom"
    )
    bar.set_label("acceleration of the joint, as a share of the largest; grey: below")
    bar.set_ticks([-19, -15, -11, -7, -3, 0], labels=[f"$2^{{{k}}}$" for k in (-19, -15, -11, -7, -3)] + ["1"])
    return figure


def _rods(ax: Any, flat: Floats, size: Floats, scale: Any, width: float) -> None:
    from matplotlib.collections import LineCollection

    still = size < scale.vmin
    ax.add_collection(LineCollection(list(flat[still]), colors="#d5dbe0", linewidths=0.6 * width, capstyle="round"))
    order = np.flatnonzero(~still)[np.argsort(size[~still])]
    lines = LineCollection(list(flat[order]), linewidths=width * (1 + 0.5 * (width < 1)), capstyle="round", zorder=3)
    lines.set(array=size[order], norm=scale, cmap="viridis_r")
    ax.add_collection(lines)


# --- Figures 5, 7 and 8, and how far forces reach -------------------------------------------------------------


def millipede(runs: Sequence[Run], full: Full, n: int) -> Figure:
    figure = new_figure(11.5, 4.6)
    left, right = figure.subplots(1, 2)
    x = [r.error for r in runs]
    left.loglog(
        x, [1e3 * r.seconds for r in runs], color=COLOURS[0], marker="o", markersize=4, label="within the error"
    )
    left.axhline(1e3 * full.dca, color=COLOURS[2], label="divide and conquer, all joints")
    left.axhline(1e3 * full.aba, color=COLOURS[3], linestyle="--", label="articulated bodies, all joints")
    left.axvspan(min(x) / 2, theirs.CROSSING, color="#f3efe6", zorder=0)
    words = "here theirs is slower\nthan its DCA"
    left.text(0.70, 0.04, words, transform=left.transAxes, fontsize=9, color="#8a7a55")
    left.set_ylabel("milliseconds a step")
    right.loglog(x, [r.joints for r in runs], color=COLOURS[0], marker="o", markersize=4)
    right.axhline(n, color=COLOURS[2])
    right.text(1.0, n, f" all {n:,} joints", va="bottom", fontsize=9, color=COLOURS[2])
    right.set_ylabel("joints computed in a step")
    for ax in (left, right):
        _errors(ax, x)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def molecule(runs: Mapping[int, Sequence[Run]], full: Mapping[int, Full]) -> Figure:
    """Figure 7: full steps' time over ours, and joints computed; theirs dotted."""
    figure = new_figure(11.5, 5.0)
    left, right = figure.subplots(1, 2)
    printed = [2.0**-p for p in theirs.ERRORS]
    for (count, rows), colour, marker in zip(runs.items(), COLOURS, MARKERS):
        x = [r.error for r in rows]
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4.5}
        dotted: dict[str, Any] = {**style, "linestyle": ":", "markerfacecolor": "white", "alpha": 0.8}
        name = f"{count:,} force{'s' if count > 1 else ''}"
        left.loglog(x, [full[count].dca / r.seconds for r in rows], **style, label=name)
        left.loglog(printed, [theirs.DCA[count] / t for t in theirs.TIME[count]], **dotted)
        right.loglog(x, [r.joints for r in rows], **style, label=name)
        right.loglog(printed, theirs.JOINTS[count], **dotted)
    left.set_ylabel("time of a full step by divide and conquer / time of ours")
    right.set_ylabel("joints computed in a step")
    for ax in (left, right):
        _errors(ax, x)
    left.plot([], [], color="#777777", linestyle=":", marker="o", markerfacecolor="white", label="theirs")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return figure


def displacement(errors: Mapping[int, Mapping[float, float]], steps: int) -> Figure:
    """Figure 8: errors after so many steps, divided by their number, as theirs are."""
    figure = new_figure(7.5, 5.2)
    ax = figure.subplots()
    printed = [2.0**-p for p in theirs.ERRORS]
    for (count, found), colour, marker in zip(errors.items(), COLOURS, MARKERS):
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4.5}
        ax.loglog(
            list(found),
            [e / steps for e in found.values()],
            **style,
            label=f"{count:,} force{'s' if count > 1 else ''}",
        )
        ax.loglog(printed, theirs.DISPLACEMENT[count], **style, linestyle=":", markerfacecolor="white", alpha=0.8)
    ax.plot([], [], color="#777777", linestyle=":", marker="o", markerfacecolor="white", label="theirs")
    x = list(found)
    ax.set_ylabel(f"relative displacement error after {steps:,} steps, a step")
    ax.legend(frameon=False, fontsize=9, loc="lower left")
    _errors(ax, x)
    return figure


def reach(counts: Mapping[str, tuple[int, Sequence[int]]], powers: Sequence[int]) -> Figure:
    """How many joints one force reaches, and which share of all that is."""
    figure = new_figure(11.5, 4.6)
    left, right = figure.subplots(1, 2)
    x = [2.0**-p for p in powers]
    for (name, (n, found)), colour, marker in zip(counts.items(), COLOURS, MARKERS):
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4.5}
        left.loglog(x, found, **style, label=f"{name}, {n:,} joints")
        right.loglog(x, np.array(found) / n, **style)
    left.set_ylabel("joints that one force reaches")
    right.set_ylabel("as a share of all joints")
    left.legend(frameon=False, fontsize=9, loc="upper left")
    for ax in (left, right):
        _errors(ax, x)
    return figure


def _errors(ax: Any, x: Sequence[float]) -> None:
    """The axis of errors, which get smaller to the right."""
    ax.set_xlabel("relative joint error")
    ax.set_xlim(1.6 * max(x), min(x) / 1.6)
    ticks = [p for p in (0, 3, 7, 11, 15, 19) if min(x) <= 2.0**-p <= max(x)]
    ax.set_xticks([2.0**-p for p in ticks], [f"$2^{{-{p}}}$" if p else "1" for p in ticks])
    ax.grid(True, which="major", color="#e3e6e8", linewidth=0.7)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
