"""The pictures of scenes that touch, in contact.md: python docs/draw/touching.py [scene ...]"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import supple
from supple import scenes
from supple.drawing import BLUE, GREY, INK, ORANGE, new_figure
from supple.scenes.walker_by_contact import footfalls

TILES = 6  #: of a floor, from its middle to its edge
PICTURES = Path(__file__).parents[1] / "pictures"
#: By scene: its parameters, times that are drawn, seconds of the run, where it is seen from (turn, height), and what of
#: the picture's plane is drawn.
DRAWN: dict[str, Any] = {
    "falling-crowd": ({"rows": 6, "columns": 5}, (0.0, 0.9, 1.6, 5.0), (0.5, 0.35), (-4.7, 4.7, -1.9, 3.3)),
    "pile": ({}, (0.0, 0.5, 1.0, 5.0), (0.5, 0.3), (-1.5, 1.5, -0.6, 4.9)),
    "rope": ({}, (0.0, 0.3, 0.7, 3.0), (0.25, 0.15), (-0.3, 4.9, -0.5, 1.6)),
    "standing-robot": ({}, (0.0, 0.1, 3.0), (0.9, 0.15), (-0.6, 0.6, -0.2, 1.5)),
}


def seen_from(turn: float, height: float) -> np.ndarray:
    """Rows: to the right, up in the picture, and towards the eye."""
    to_eye = np.array([-np.sin(turn) * np.cos(height), -np.cos(turn) * np.cos(height), np.sin(height)])
    right = np.cross([0.0, 0.0, 1.0], to_eye)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(to_eye, right), to_eye])


def outline(points: np.ndarray) -> np.ndarray:
    """The convex hull of points in a plane, counterclockwise [Andrew 1979]."""
    order = points[np.lexsort(points.T[::-1])]
    halves = []
    for some in (order, order[::-1]):
        half: list[np.ndarray] = []
        for p in some:
            while len(half) > 1:
                a, b = half[-1] - half[-2], p - half[-2]
                if a[0] * b[1] - a[1] * b[0] > 0:
                    break
                half.pop()
            half.append(p)
        halves += half[:-1]
    return np.array(halves)


def corners(shape: supple.Shape) -> np.ndarray:
    """Points of a shape, in its frame, whose hull it looks like."""
    round_ = np.linspace(0.0, 2 * np.pi, 17)[:-1]
    if shape.kind == "box":
        signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1]), axis=-1).reshape(-1, 3)
        return 0.5 * signs * np.array(shape.size)
    r, half = shape.size[0], 0.5 * shape.size[1] if shape.kind == "capsule" else 0.0
    ball = [
        (r * np.cos(a) * np.cos(b), r * np.sin(a) * np.cos(b), r * np.sin(b))
        for a in round_ for b in np.linspace(-np.pi / 2, np.pi / 2, 9)
    ]  # fmt: skip
    return np.concatenate([np.array(ball) + (0.0, 0.0, z) for z in (-half, half)])


def draw(axes: Any, scene: scenes.Scene, q: np.ndarray, active: set[int], view: np.ndarray) -> None:
    at = supple.poses(scene.model, q)
    drawn = []
    for x in scene.model.shape_list:
        R, p = (at.rotation[x.body], at.position[x.body]) if x.body >= 0 else (np.eye(3), np.zeros(3))
        points = (p + (corners(x) @ x.rotation.T + x.position) @ R.T) @ view.T
        drawn.append((points[:, 2].mean(), outline(points[:, :2]), x.body))
    for _, hull, body in sorted(drawn, key=lambda x: x[0]):
        colour = GREY if body < 0 else ORANGE if body in active else BLUE
        axes.fill(*hull.T, facecolor=colour, edgecolor=INK, lw=0.3)


def draw_floor(axes: Any, middle: np.ndarray, height: float, wide: float, view: np.ndarray) -> None:
    """A chequered floor about a point, as wide as the picture."""
    tile = wide / 2 / TILES
    square = tile * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for i in range(-TILES, TILES):
        for k in range(-TILES, TILES):
            at = np.column_stack([middle + square + (i * tile, k * tile), np.full(4, height)])
            axes.fill(*(at @ view.T)[:, :2].T, color="0.9" if (i + k) % 2 else "0.95", lw=0)


def picture(name: str) -> None:
    given, times, seen, window = DRAWN[name]
    scene = scenes.NAMES[name](**given)
    view, adaptive = seen_from(*seen), scene.method == "adaptive"
    how = {"method": "adaptive", **scene.adaptive} if adaptive else {}
    r = supple.simulate(
        scene.model, scene.q0, duration=times[-1], dt=scene.dt, every=5, forces=scene.all_forces(),
        contacts=scene.contacts, **how,
    )  # fmt: skip
    wide, high = window[1] - window[0], window[3] - window[2]
    figure = new_figure(11.0, 11.0 / len(times) * high / wide + 0.3)
    for time, axes in zip(times, figure.subplots(1, len(times))):
        i = round(time / (5 * scene.dt))
        moving = r[i].active_joints
        active = set() if moving is None else set(moving.tolist())
        middle = scene.q0[scene.model.q_index[scene.model.parent < 0][:, None] + np.arange(2)].mean(axis=0)
        shift = np.append(middle, 0.0) @ view.T
        draw_floor(axes, supple.poses(scene.model, scene.q0).position[:, :2].mean(axis=0), r.ground[3], wide, view)
        draw(axes, scene, r.q[i], active, view)
        axes.set(xlim=np.add(window[:2], shift[0]), ylim=np.add(window[2:], shift[1]), aspect="equal")
        axes.set_title(f"{time:g} s")
        axes.axis("off")
        print(name, time, "overlap at most", max((-c.gap for c in r.contacts(i)), default=0.0))
    figure.savefig(PICTURES / f"contact-{name}.png", dpi=110)


def legs(r: supple.Result, i: int) -> np.ndarray:
    """(3, 2) left foot, hip and right foot of a compass biped, in its plane."""
    state = r[i]
    at = supple.poses(state.model, state.q)
    return np.array([at[name].position[[0, 2]] for name in ("left foot", "hip", "right foot")])


def walkers() -> None:
    """The compass biped, by changing its root and by contact alone, and how far apart their steps are."""
    root, scene = scenes.NAMES["compass"](start="cycle"), scenes.walker_by_contact(steps=9)
    gait, runs = supple.gait(scenes.compass(start="cycle")), {}
    by_root = supple.simulate(root.model, root.q0, root.v0, duration=5.5, dt=1e-3, events=root.events)
    for dt in (4e-3, 2e-3, 1e-3, 5e-4):
        runs[dt] = supple.simulate(
            scene.model, scene.q0, scene.v0, duration=6.5, dt=dt, contacts=scene.contacts, check_energy=False
        )
    figure = new_figure(11.0, 4.4)
    left, right = figure.subplots(1, 2, width_ratios=(2.5, 1.0))
    for r, lift, title in ((by_root, 1.3, "by changing the root"), (runs[1e-3], 0.0, "by contact alone")):
        for time in np.arange(0.0, 4.75, 0.12):
            a, hip, b = legs(r, int(np.searchsorted(r.times, time))) + (0.0, lift)
            left.plot(*np.transpose([a, hip]), color=BLUE, lw=1.0)
            left.plot(*np.transpose([b, hip]), color=ORANGE, lw=1.0)
            left.plot(*hip, "o", color=INK, ms=2.0)
        left.text(0.25, lift + 1.04, title, ha="left")
    down = np.array([np.cos(0.0524), -np.sin(0.0524)])
    left.plot(*np.transpose([-0.35 * down, 4.0 * down]) + [[0.0], [1.3]], color=GREY, lw=2.0)
    for x in scene.model.shape_list:
        if x.body < 0 and x.position[0] < 4.0:
            middle, half = x.position[[0, 2]], 0.5 * x.size[0] * down
            under = 0.0 if x.position[1] < 0 else -0.03  # rows side by side, one drawn below the other
            colour = ORANGE if x.position[1] < 0 else BLUE
            ends = np.transpose([middle - half, middle + half]) + [[0.0], [0.5 * x.size[2] - 0.01 + under]]
            left.plot(*ends, color=colour, lw=3.0, solid_capstyle="butt")
    left.set(aspect="equal", xlim=(-0.35, 4.0))
    left.axis("off")
    off = []
    for dt, r in runs.items():
        times, places = footfalls(r)
        far = np.hypot(places[:, 0], places[:, 2])
        length, period = (far[-1] - far[-5]) / 4, (times[-1] - times[-5]) / 4
        off.append([abs(length / gait.step_length - 1), abs(length / period * gait.period / gait.step_length - 1)])
        print(f"{1e3 * dt:g} ms: {length:.6f} m, {period:.5f} s; {gait.step_length:.6f} m, {gait.period:.5f} s")
    right.loglog(1e3 * np.array(list(runs)), 100 * np.array(off)[:, 0], "o-", color=BLUE, label="length of a step")
    right.loglog(1e3 * np.array(list(runs)), 100 * np.array(off)[:, 1], "s-", color=ORANGE, label="speed")
    right.set(xlabel="step size (ms)", ylabel="difference from changing the root (%)")
    right.set(xticks=[0.5, 1, 2, 4], xticklabels=["0.5", "1", "2", "4"])
    right.set(yticks=[0.01, 0.03, 0.1, 0.3, 1], yticklabels=["0.01", "0.03", "0.1", "0.3", "1"])
    right.minorticks_off()
    right.legend(frameon=False)
    figure.savefig(PICTURES / "contact-walkers.png", dpi=80)


if __name__ == "__main__":
    for each in sys.argv[1:] or [*DRAWN, "walkers"]:
        walkers() if each == "walkers" else picture(each)
