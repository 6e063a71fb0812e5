"""Torques and ground reaction of a captured motion as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from supple.capture.support import NONE, SEVERAL, phases
from supple.capture.torques import Loads
from supple.drawing import new_figure, saved
from supple.errors import StateError
from supple.model.model import unknown

COLOURS = ("#1b4f72", "#c0792a", "#3c7a3c", "#8e3b76")
BOTH = "#f1f1f1"
SHADES = ("#eaf1f6", "#fbf1e4", "#eef5ec", "#f5ecf3")


def plot_loads(loads: Loads, joints: Sequence[str] | None = None, path: str | Path | None = None) -> Any:
    """The ground reaction, and joint moments, each about that axis of its body about which it is largest (of joints
    that are no hinges or balls, the size of their force).

    joints: by default those from the first foot up to the trunk. The background shows which foot stands.
    """
    clip = loads.moving.clip
    names = list(joints) if joints is not None else leg_joints(loads)
    figure = new_figure(9.5, 6.6)
    top, bottom = figure.subplots(2, 1, sharex=True)
    t, weight = clip.times, -clip.model.total_mass * float(clip.model.gravity[2])
    along = _ahead(loads)
    up = loads.reaction[:, 2]
    top.plot(t, up, COLOURS[0], label="up")
    top.plot(t, loads.reaction[:, :2] @ along, COLOURS[1], label="forward")
    top.plot(t, loads.reaction[:, :2] @ [-along[1], along[0]], COLOURS[2], label="to the left")
    top.axhline(weight, color="0.5", lw=0.8, ls=":")
    top.text(t[-1], weight, " weight", va="center", fontsize=8.5, color="0.4")
    top.set_ylabel("ground reaction, N")
    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        if name not in loads.joints:
            raise StateError(unknown("joint", name, loads.joints))
        k = loads.joints.index(name)
        label, moments = name.removesuffix("_joint"), loads.moments[:, k]
        axis = int(np.square(moments).sum(axis=0).argmax())
        turns = moments.any()
        bottom.plot(t, moments[:, axis] if turns else loads.supported[:, k], colour,
                    label=f"{label}, about {'xyz'[axis]}" if turns else label)  # fmt: skip
    bottom.axhline(0.0, color="0.5", lw=0.8, ls=":")
    bottom.set_ylabel("moment, N m")
    bottom.set_xlabel("s")
    seen: set[int] = set()
    for phase in phases(loads.support.foot):
        if phase.foot == NONE:
            continue
        who = "more than one stands" if phase.foot == SEVERAL else f"{clip.feet[phase.foot]} stands"
        stands = None if phase.foot in seen else who
        seen.add(phase.foot)
        shade = BOTH if phase.foot == SEVERAL else SHADES[phase.foot % len(SHADES)]
        span = t[phase.first], t[min(phase.stop, len(t) - 1)]
        for axes, said in ((top, stands), (bottom, None)):
            axes.axvspan(*span, color=shade, lw=0, zorder=0, label=said)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:  # no joints may be asked for
            axes.legend(loc="center left", bbox_to_anchor=(1.05, 0.5), frameon=False, fontsize=8.5)
        axes.set_xlim(t[0], t[-1])
    return saved(figure, path)


def leg_joints(loads: Loads) -> list[str]:
    """The joints from the first foot up to the root."""
    model = loads.moving.clip.model
    i = model.body_index(loads.moving.clip.feet[0])
    out = []
    while model.parent[i] >= 0:
        out.append(model.joint_names[i])
        i = int(model.parent[i])
    return out[::-1][: len(COLOURS)]


def _ahead(loads: Loads) -> Any:
    """The horizontal direction in which the root moves."""
    model = loads.moving.clip.model
    path = loads.moving.clip.q[:, model.joints[0].q][:, :2]
    way = path[-1] - path[0]
    length = float(np.linalg.norm(way))
    return way / length if length > 1e-9 else np.array([1.0, 0.0])
