"""The pictures of the gallery, from runs of a few seconds each. python docs/draw/gallery.py"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import supple
from supple import scenes
from supple.drawing import BLUE, GREY, INK, ORANGE, new_figure
from supple.scenes import walk_bvh

PICTURES = Path(__file__).parents[1] / "pictures"
GREEN = "#2e8b7a"


def points(model: supple.Model, rods: Any, q: Any) -> Any:
    """(..., n, 2, 3) where the two ends of each rod are."""
    R, x = supple.poses(model, q)
    return np.einsum("...nij,nkj->...nki", R, rods) + x[..., None, :]


def plain(ax: Any, title: str) -> None:
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, loc="left", fontsize=10, color=INK)


def strobe(ax: Any, ends: Any, colour: str, width: float = 1.2) -> None:
    """Poses over each other, the later the darker. ends: (poses, n, 2, 2)."""
    from matplotlib.collections import LineCollection

    for k, pose in enumerate(ends):
        shade = 0.12 + 0.88 * (k + 1) / len(ends)
        ax.add_collection(
            LineCollection(list(pose), colors=colour, alpha=shade**1.5, linewidths=width, capstyle="round")
        )
    ax.autoscale_view()


def rope() -> Any:
    """A chain of 200 links let go sideways: its end cracks like a whip."""
    scene = scenes.pendulum(200, planar=True)
    run = supple.simulate(scene.model, scene.q0, duration=1.3, dt=1e-4, every=400, integrator="semi-implicit")
    figure = new_figure(8, 4)
    ax = figure.subplots()
    strobe(ax, points(scene.model, scene.rods, run.q)[..., [0, 2]], BLUE)
    ax.plot(0, 0, "s", color=INK, markersize=6)
    plain(ax, "A rope of 200 links, every 40 ms from level to 1.3 s")
    return figure


def chaos() -> Any:
    """Four links, started a thousandth of a degree apart."""
    scene = scenes.pendulum(4, planar=True, length=2.0)
    figure = new_figure(8, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
    tips = []
    for k, colour in enumerate((BLUE, ORANGE, GREEN)):
        q = scene.q0 + np.radians(1e-3) * k * np.eye(4)[0]
        run = supple.simulate(scene.model, q, duration=6.0, dt=1e-3, every=10)
        tips.append(points(scene.model, scene.rods, run.q)[:, -1, 1][:, [0, 2]])
        left.plot(*tips[-1].T, color=colour, linewidth=0.7)
        if k:
            right.semilogy(run.times, np.linalg.norm(tips[k] - tips[0], axis=1) + 1e-12, color=colour)
    left.plot(0, 0, "s", color=INK, markersize=6)
    plain(left, "The end of a pendulum of four links, 6 s")
    right.set(xlabel="s", ylabel="m", ylim=(1e-6, 10))
    right.set_title("Two others, begun 0.001° and 0.002° away: distance", loc="left", fontsize=10, color=INK)
    right.spines[["top", "right"]].set_visible(False)
    return figure


def racket() -> Any:
    """A free body that turns about its middle axis turns over, again and again."""
    b = supple.ModelBuilder("racket", gravity=(0, 0, 0))
    b.add_body("racket", joint="free", mass=1.0, inertia=(1.0, 2.0, 3.0))
    model = b.build()
    v = np.array([0, 0, 0, 1e-3, 6.0, 0])  # linear first
    run = supple.simulate(model, model.neutral(), v, duration=20.0, dt=1e-2, integrator="dop853")
    figure = new_figure(8, 2.6)
    ax = figure.subplots()
    for i, (name, colour) in enumerate((("1 kg m²", BLUE), ("2 kg m², the middle one", ORANGE), ("3 kg m²", GREEN))):
        ax.plot(run.times, run.v[:, 3 + i], color=colour, label=f"about the axis of {name}")
    ax.set(xlabel="s", ylabel="rad/s")
    ax.set_title("A racket in free fall, in its own axes", loc="left", fontsize=10, color=INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    return figure


def walk() -> Any:
    """A captured walk from the side, and the ground's forces on the feet that stand."""
    clip = supple.load_bvh(walk_bvh.FILE)
    loads = supple.motion_loads(clip)
    model = clip.model
    x = supple.poses(model, clip.q).position
    bones = [(int(p), i) for i, p in enumerate(model.parent) if p >= 0]
    figure = new_figure(9, 3.6)
    ax = figure.subplots()
    shown = range(0, len(clip), 8)
    strobe(ax, np.array([[[x[k, a][[1, 2]], x[k, b][[1, 2]]] for a, b in bones] for k in shown]), INK, 1.6)
    for k in shown:
        for start, force in zip(loads.arrows.points[k][:, [1, 2]], loads.arrows.vectors[k][:, [1, 2]] / 900.0):
            if np.linalg.norm(force) > 0.05:
                style = {"arrowstyle": "-|>", "color": ORANGE, "linewidth": 1.2}
                ax.annotate("", start + force, start, arrowprops=style)
    ax.axhline(float(loads.support.ground), color=GREY, linewidth=1)
    plain(ax, "A walk from the side, every 0.16 s, and the ground's forces (orange)")
    return figure


def linkages() -> Any:
    """Mechanisms with closed loops: windows that fall over, Andrews' squeezer, a net that is let go."""
    figure = new_figure(9, 3.2)
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.5, 1, 1.2))
    scene = scenes.four_bar_chain(3)
    run = supple.simulate(scene.model, scene.q0, scene.v0, duration=0.9, dt=1e-3, every=90)
    strobe(left, points(scene.model, scene.rods, run.q)[..., [0, 2]], BLUE, 1.6)
    left.plot(range(4), [0] * 4, "s", color=INK, markersize=5)
    plain(left, "Three windows fall over, every 90 ms")
    scene = scenes.andrews()
    run = supple.simulate(scene.model, scene.q0, forces=scene.forces, duration=0.03, dt=2e-5, every=100)
    ends = points(scene.model, scene.rods, run.q)[..., :2]
    strobe(middle, ends, ORANGE, 1.4)
    plain(middle, "Andrews' squeezer, every 2 ms")
    scene = scenes.net(7, 5)
    run = supple.simulate(scene.model, scene.q0, duration=0.6, dt=2e-3, every=100)
    view = np.array([[0.95, 0.3, 0.0], [0.1, -0.32, 0.95]])  # from before and above
    strobe(right, points(scene.model, scene.rods, run.q) @ view.T, GREEN, 1.2)
    plain(right, "A net of 58 threads, every 0.2 s")
    return figure


FIGURES = {
    "gallery-rope": rope,
    "gallery-chaos": chaos,
    "gallery-racket": racket,
    "gallery-walk": walk,
    "loops": linkages,
}


def main(folder: Path = PICTURES, names: Iterable[str] = FIGURES) -> None:
    for name in names:
        FIGURES[name]().savefig(folder / f"{name}.png", dpi=110, facecolor="white")
        print(f"{name}.png: {(folder / f'{name}.png').stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
