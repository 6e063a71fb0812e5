"""The figures of AD drawn anew, and what the paper does not show: errors and energies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.drawing import new_figure
from supple.reproduce import ad_theirs as theirs
from supple.reproduce.ad_measure import Run, points
from supple.reproduce.qs_measure import Full
from supple.scenes import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INK, GREY, PALE, RIGID, ACTIVE = "#1d2b36", "#8fa0ad", "#cdd5db", "#4d6373", "#e0702a"
SHADES = ("#123a56", "#1f6f8b", "#3a9c84", "#9bb24a", "#d9a13a", "#b8485f", "#7a3b6d")


def _chain(scene: Scene, q: Floats) -> Floats:
    """(n + 1, 2) a pendulum's pins, seen along y."""
    return np.concatenate([np.zeros((1, 3)), points(scene, q)])[:, [0, 2]]


def _pendulum(ax: Any, scene: Scene, q: Floats, joints: Ints, width: float, dot: float) -> None:
    """A line, and a dot on each joint that moves."""
    pins = _chain(scene, q)
    ax.plot(*pins.T, color=RIGID, linewidth=width, solid_capstyle="round", zorder=3)
    ax.plot(*pins[joints].T, "o", color=ACTIVE, markersize=dot, markeredgewidth=0, zorder=4)


def _bare(ax: Any) -> None:
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


# --- Figures 5 and 6 --------------------------------------------------------------------------------------------


def strips(scene: Scene, runs: Mapping[int, Run], looks: Sequence[int], remarks: Mapping[int, str]) -> Figure:
    """Figure 5: a row for each number of active joints, a column for each moment, all in one scale."""
    pins = np.array([[_chain(scene, run.q[i]) for i in looks] for run in runs.values()])
    low, high = pins.min(axis=(0, 2)) - 0.15, pins.max(axis=(0, 2)) + 0.15  # of each column
    wide, bottom, top = high[:, 0] - low[:, 0], low[:, 1].min(), high[:, 1].max()
    scale = 10.4 / wide.sum()
    bottom = min(bottom, top - 0.65 / scale)  # inches, the room that a row's name needs
    figure = new_figure(11.5, 0.4 + len(runs) * scale * (top - bottom))
    figure.get_layout_engine().set(w_pad=0.0, h_pad=0.01, wspace=0.0, hspace=0.0)  # type: ignore[union-attr,call-arg]
    axes = figure.subplots(len(runs), len(looks), squeeze=False, width_ratios=wide.tolist())
    for row, (count, run) in zip(axes, runs.items()):
        for k, (ax, i) in enumerate(zip(row, looks)):
            _pendulum(ax, scene, run.q[i], run.joints[i], 1.8, 2.8 if count < 60 else 2.0)
            ax.plot(0, 0, "s", color=INK, markersize=4, zorder=5)
            ax.set(xlim=(low[k, 0], high[k, 0]), ylim=(bottom, top))
            _bare(ax)
        row[0].set_ylabel(f"{count} active\n{remarks[count]}", rotation=0, ha="right", va="center", fontsize=9.5)
        row[0].yaxis.set_label_coords(-0.02, 0.6)
    for ax, i in zip(axes[0], looks):
        ax.set_title(f"{run.time[i]:.2f} s", fontsize=10, color=INK)
    return figure


def springs(scene: Scene, runs: Mapping[str, Run], titles: Mapping[str, str]) -> Figure:
    """Figure 6: at first, and at rest; the exact rest in grey."""
    figure = new_figure(11.5, 6.0)
    axes = figure.subplots(1, 1 + len(runs), sharex=True, sharey=True)
    s = scene.springs
    link, anchor = int(s.bodies[0]), s.anchors[0, [0, 2]]
    exact = _chain(scene, next(iter(runs.values())).q[-1])
    shown = {"a: at first": (scene.q0, np.zeros(0, dtype=np.int64))}
    shown |= {titles[name]: (run.q[-1], run.joints[-1]) for name, run in runs.items()}
    for i, (ax, (title, (q, joints))) in enumerate(zip(axes, shown.items())):
        if i > 1:
            ax.plot(*exact.T, color=PALE, linewidth=7, solid_capstyle="round", zorder=1)
        _pendulum(ax, scene, q, joints, 3.0, 4.0 if i == 1 else 8.0)
        end = _chain(scene, q)[link + 1]
        ax.plot(*_coil(end, anchor).T, color=SHADES[5], linewidth=1.3, zorder=2)
        ax.plot(*anchor, "s", color=SHADES[5], markersize=6)
        ax.plot(0, 0, "s", color=INK, markersize=6, zorder=5)
        ax.set_title(title, fontsize=11, loc="left")
        _bare(ax)
    return figure


def spring_anywhere(off: Sequence[tuple[float, float]]) -> Figure:
    """How far off fixed and chosen joints are, by the link that the spring pulls."""
    figure = new_figure(11.5, 3.8)
    ax = figure.subplots()
    for found, colour, name in zip(1e3 * np.array(off).T, (GREY, ACTIVE), ("fixed, breadth-first", "chosen")):
        ax.plot(found, color=colour, marker="o", markersize=4, label=name)
    ax.set(xlabel="link that the spring pulls", ylabel="distance from the rest\nof all joints (mm)", ylim=(0, None))
    ax.legend(frameon=False, loc="upper left")
    _plain(ax)
    return figure


def _coil(a: Floats, b: Floats) -> Floats:
    """A zigzag from a to b."""
    along = b - a
    across = np.array([-along[1], along[0]]) / max(float(np.linalg.norm(along)), 1e-9)
    t = np.linspace(0.0, 1.0, 29)
    side = np.where(np.arange(29) % 2, 0.025, -0.025)
    side[[0, 1, 2, -3, -2, -1]] = 0.0
    return np.asarray(a + t[:, None] * along + side[:, None] * across)


# --- Table 1 ----------------------------------------------------------------------------------------------------


def table_1(sizes: Sequence[int], ours: Mapping[int, Sequence[float]], full: Mapping[int, Full]) -> Figure:
    """How much faster than full steps, against active joints: theirs, and ours."""
    figure = new_figure(11.5, 4.8)
    axes = figure.subplots(1, 3, sharey=True)
    for (count, seconds), colour in zip(ours.items(), SHADES):
        style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4}
        name = f"{count} force{'s' if count > 1 else ''}"
        axes[0].semilogy(sizes, [theirs.DCA[count] / t for t in theirs.TABLE_1[count]], **style, label=name)
        axes[1].semilogy(sizes, [full[count].dca / t for t in seconds], **style)
        axes[2].semilogy(sizes, [full[count].aba / t for t in seconds], **style)
    for ax, title in zip(axes, ("theirs, over their DCA", "ours, over our DCA", "ours, over our ABA")):
        ax.axhline(1.0, color=GREY, linewidth=1, linestyle="--", zorder=0)
        ax.set_title(title, fontsize=11, loc="left")
        ax.set_xlabel("active joints")
        ax.set_xticks(sizes, [str(n) for n in sizes], fontsize=8)
        ax.minorticks_off()
        _plain(ax)
    axes[0].set_ylabel("times faster than a full step")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    return figure


# --- what the paper lacks ---------------------------------------------------------------------------------------


def errors(time: Floats, off: Mapping[int, Floats], every: Mapping[int, Mapping[int, float]], at: float) -> Figure:
    """Left: distance to the exact motion over time. Right: after some time, against steps between updates."""
    figure = new_figure(11.5, 4.8)
    left, right = figure.subplots(1, 2)
    for (count, x), colour in zip(off.items(), SHADES):
        left.semilogy(time[1:], x[1:], color=colour, linewidth=1.7, label=f"{count} active")
    left.set(xlabel="seconds", ylabel="distance to the exact motion (m)")
    left.set_ylim(bottom=1e-15)
    left.set_title("over time, an update every 20 steps", fontsize=11, loc="left")
    colours = dict(zip(off, SHADES))
    for count, found in every.items():
        right.loglog(list(found), list(found.values()), color=colours[count], marker="o", markersize=4)
    right.set(xlabel="steps from one update to the next", ylabel=f"distance after {at:.2g} s (m)")
    right.set_title("against how seldom joints are chosen anew", fontsize=11, loc="left")
    for ax in (left, right):
        _plain(ax)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(off), frameon=False)
    return figure


def energies(runs: Mapping[int, Run]) -> Figure:
    """Left: all energy, which ought to stay. Right: what stopping joints took."""
    figure = new_figure(11.5, 4.6)
    left, right = figure.subplots(1, 2)
    for (count, run), colour in zip(runs.items(), SHADES):
        left.plot(run.time, run.energy - run.energy[0], color=colour, linewidth=1.7, label=f"{count} active")
        right.plot(run.time, run.removed, color=colour, linewidth=1.7)
    left.axhline(0.0, color=GREY, linewidth=1, linestyle="--", zorder=0)
    left.set(xlabel="seconds", ylabel="change of the energy (J)")
    left.set_title("kinetic and potential energy", fontsize=11, loc="left")
    right.set(xlabel="seconds", ylabel="energy removed since the beginning (J)")
    right.set_title("what stopping joints took", fontsize=11, loc="left")
    for ax in (left, right):
        _plain(ax)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(runs), frameon=False)
    return figure


# --- the crowd --------------------------------------------------------------------------------------------------

EYE, DOWN = np.array([-6.5, 0.0, 5.2]), np.radians(17)  #: where the picture is taken from, and how far down it looks


def crowd(scene: Scene, q: Floats, joints: Ints, shares: Floats, off: Mapping[str, Floats]) -> Figure:
    """The crowd, coloured by what moves; below, joints and errors by row."""
    figure = new_figure(11.5, 8.4)
    axes = figure.subplot_mosaic([["crowd", "crowd"], ["joints", "errors"]], height_ratios=(2.1, 1))  # type: ignore[list-item]
    _people(axes["crowd"], scene, q, joints)
    rows, names = len(shares), ("all joints weigh alike", "by inertia carried, and nearness")
    x = np.arange(1, rows + 1)
    axes["joints"].bar(x, 100 * shares, color=ACTIVE, width=0.75)
    axes["joints"].set(ylabel="joints that move (%)")
    for name, found, colour in zip(names, off.values(), (GREY, ACTIVE)):
        axes["errors"].plot(x, 1e3 * found, color=colour, marker="o", markersize=4, label=name)
    axes["errors"].set(ylabel="distance to the exact motion (mm)", ylim=(0, None))
    axes["errors"].legend(frameon=False, fontsize=9, loc="lower right")
    for name in ("joints", "errors"):
        axes[name].set_xlabel("row of people, the first nearest to the camera")
        axes[name].set_xticks(x[:: max(1, rows // 10)])
        _plain(axes[name])
    return figure


def _people(ax: Any, scene: Scene, q: Floats, joints: Ints) -> None:
    """In perspective, far ones first and paler; orange: bodies whose joint moves."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb

    from supple.exact.kinematics import poses

    R, x = poses(scene.model, q)
    ends = np.einsum("nij,nkj->nki", R, scene.rods) + x[:, None] - EYE
    depth = ends @ np.array([np.cos(DOWN), 0.0, -np.sin(DOWN)])
    up = ends @ np.array([np.sin(DOWN), 0.0, np.cos(DOWN)])
    flat = np.stack([-ends[..., 1], up], axis=-1) / depth[..., None]
    active = np.zeros(len(x), dtype=bool)
    active[joints] = True
    order = np.argsort(-depth.mean(axis=1))
    far = depth.mean(axis=1)
    fog = np.clip(0.62 * (far - far.min()) / (far.max() - far.min() + 1e-9), 0.0, 1.0)[:, None]
    colour = np.where(active[:, None], to_rgb(ACTIVE), to_rgb(RIGID))
    colour = colour + np.where(active[:, None], 0.45, 1.0) * fog * (1 - colour)
    width = np.clip(17.0 / far, 0.6, 4.0)
    ax.add_collection(
        LineCollection(list(flat[order]), colors=colour[order], linewidths=width[order], capstyle="round")
    )
    ax.autoscale_view()
    _bare(ax)
    ax.plot([], [], color=ACTIVE, linewidth=4, label="bodies whose joints move")
    ax.plot([], [], color=RIGID, linewidth=4, label="bodies that are rigid with their neighbours")
    ax.legend(frameon=False, loc="upper right", fontsize=10)


def _plain(ax: Any) -> None:
    ax.grid(True, which="major", color="#e3e6e8", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
