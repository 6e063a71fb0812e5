"""The pictures of scenes that touch, in contact.md: python docs/draw/touching.py [scene ...]"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import supple
from supple import scenes
from supple.drawing import BLUE, GREY, INK, ORANGE, new_figure
from supple.scenes.walker_by_contact import footfalls
from supple.viewing.movie import Wanted, drawn, nothing
from supple.viewing.timeline import Timeline

PICTURES = Path(__file__).parents[1] / "pictures"
COLOURS = 128  #: of a strip of pictures
#: By scene: its parameters, times that are drawn, where it is seen from, and the size of each picture.
DRAWN: dict[str, Any] = {
    "falling-crowd": ({"rows": 6, "columns": 5}, (0.0, 0.9, 1.8, 10.0), "-3.4,-7.2,4.6:2.7,-0.3,0.5", (560, 380)),
    "pile": ({}, (0.0, 0.5, 1.2, 7.0), "-3.4,-6.6,3.4:0,0.2,2.2", (340, 500)),
    "rope": ({}, (0.0, 0.3, 0.7, 3.0), "1.9,-4.9,1.7:0.45,0,0.66", (500, 290)),
    "standing-robot": ({}, (0.0, 0.1, 3.0), "1.7,-1.7,1.1:0,0,0.62", (420, 480)),
}


def picture(name: str) -> None:
    """A scene at some times, side by side, as movies show it."""
    given, times, camera, (wide, high) = DRAWN[name]
    scene = scenes.NAMES[name](**given)
    how: dict[str, Any] = {"method": "adaptive", **scene.adaptive} if scene.method == "adaptive" else {}
    r = supple.simulate(
        scene.model, scene.q0, duration=times[-1], dt=scene.dt, every=5, forces=scene.all_forces(),
        contacts=scene.contacts, **how,
    )  # fmt: skip
    frames = [round(time / (5 * scene.dt)) for time in times]
    for i in frames:
        print(name, r.times[i], "overlap at most", max((-c.gap for c in r.contacts(i)), default=0.0))
    strip, wanted = Image.new("RGB", (wide * len(times), high)), Wanted(size=(wide, high), camera=camera)
    for k, each in enumerate(drawn(Timeline(r), frames, wanted, scene.drawn_rods, nothing)):
        strip.paste(each, (k * wide, 0))
    strip.quantize(COLOURS).save(PICTURES / f"contact-{name}.png", optimize=True)


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
