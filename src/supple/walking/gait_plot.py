"""A plot of a periodic gait."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from supple.drawing import BLUE, GREY, ORANGE, new_figure, saved
from supple.walking.walkers import walk

if TYPE_CHECKING:
    from supple.walking.gaits import Gait

COLOURS = (BLUE, ORANGE, "#3c7a3c", "#8e3b76")


def plot(gait: Gait, path: str | Path | None = None) -> Any:
    """Left, joints over a period, from just after an impact; right, the eigenvalues of the return map."""
    figure = new_figure(10.0, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    for number, step in enumerate(walk(gait.walker, gait.steps)):
        n = step.model.nq
        for i, colour in zip(range(n), COLOURS):
            q, v = step.trace[:, 1 + i], step.trace[:, 1 + n + i]
            joint = step.model.joint_names[int(step.model.dof_body[i])]
            left.plot(q, v, color=colour, label=joint if number == 0 else None)
            left.plot(q[0], v[0], "o", color=colour, markersize=5)
            left.plot(q[-1], v[-1], "x", color=colour, markersize=6)
    left.set(xlabel="position (rad, m)", ylabel="velocity (rad/s, m/s)")
    left.set_title(f"{gait.walker.name}: after an impact (o) to before the next (x)", loc="left", fontsize=11)
    left.legend(frameon=False, fontsize=9)
    around = np.linspace(0.0, 2 * np.pi, 200)
    right.plot(np.cos(around), np.sin(around), color=GREY, linewidth=1)
    right.plot(gait.eigenvalues.real, gait.eigenvalues.imag, "o", color=BLUE)
    right.set_aspect("equal")
    right.set_title(f"return map: {'stable' if gait.stable else 'unstable'}", loc="left", fontsize=11)
    right.set(xlabel="real part of eigenvalues", ylabel="imaginary part")
    for ax in (left, right):
        ax.grid(True, color="#e6e6e6", linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
    return saved(figure, path)
