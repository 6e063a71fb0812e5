"""The compass walker's gaits over the slope and the ratio of masses, hip to leg, for docs/draw/sweeps.py.

The gait of one step is found by Newton's method; the derivative of the return map is from differences of order 6 of 24
states around it, one batch for the compiled walk. Its eigenvalues say how small disturbances grow. What the walker
settles to is seen by walking, on each slope from where it was on the one before.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import supple
from supple import scenes
from supple.drawing import new_figure
from supple.scenes.compass import on_slope
from supple.walking.gaits import SIXTH, mirrored
from supple.walking.impacts import impact
from supple.walking.many import LONGEST_OF_MANY, Walking

Floats = NDArray[np.float64]
START = 2.0, 0.05  # ratio and slope of a gait that is easily found; all others are continued from it
SETTLE, KEEP = 1000, 64  # steps
LONGEST = 32  # steps of a period that is told from chaos
APART = 1e-4  # relative to durations: periods are told by what differs more
AROUND = np.concatenate([sign * k * np.eye(4) for k in (1, 2, 3) for sign in (1.0, -1.0)])
H = 1e-4  # of the differences


def gaits_of(ratio: Floats, slope: Floats) -> dict[str, Floats]:
    """A row of one ratio, slopes rising. period: steps after which the walk repeats itself, 0 if it does not, -1 if the
    walker falls; largest: eigenvalue of the gait of one step; lowest: of their real parts, -1 where steps double."""
    walker = scenes.compass(START[1], float(ratio[0]))
    found = _continued(walker, slope)
    values = np.array([eigenvalues for _, eigenvalues in found])
    return {
        "period": _settled(walker, slope, found[0][0]),
        "largest": np.abs(values).max(axis=1),
        "lowest": values.real.min(axis=1),
    }


def on(walker: supple.Walker, slope: float) -> supple.Walker:
    """The walker on another slope."""
    return on_slope(walker.model, walker.q, walker.v, slope, walker.parameters)


def _settled(walker: supple.Walker, slope: Floats, x: Floats) -> Floats:
    """The period on each slope, from where it was on the one before: the same angles from the ground."""
    walks, last = np.full(len(slope), -1.0), slope[0]
    for i, one in enumerate(slope):
        q, v = x[None, :2] + [last - one, 0.0], x[None, 2:]
        made = supple.walk_many(on(walker, float(one)), q, v, SETTLE + KEEP, keep=KEEP)
        if not made.fell[0]:
            x, last, walks[i] = np.concatenate([made.q[0], made.v[0]]), one, period(made.durations[0])
    return walks


def period(durations: Floats) -> int:
    """After so many steps they repeat themselves; 0: they do not."""
    for p in range(1, LONGEST + 1):
        if np.ptp(np.stack([durations[p:], durations[:-p]]), axis=0).max() < APART * durations.mean():
            return p
    return 0


def _continued(walker: supple.Walker, slope: Floats) -> list[tuple[Floats, Floats]]:
    """The gait of one step at each slope, and its eigenvalues; NaN where it is lost."""
    easy = scenes.compass(START[1], START[0], start="cycle")
    state = np.concatenate([easy.q, easy.v])
    for one in np.geomspace(START[0], walker.parameters["hip_mass"], 24).tolist():
        state = gait_near(scenes.compass(START[1], one), state)[0]
    out = [(np.full(4, np.nan), np.full(4, np.nan, dtype=complex))] * len(slope)
    middle = int(np.argmin(np.abs(slope - START[1])))
    for way in (range(middle, len(slope)), range(middle, -1, -1)):
        near = before = state
        for i in way:
            out[i] = gait_near(on(walker, float(slope[i])), 2 * near - before)
            near, before = out[i][0], near if i != middle else out[i][0]
            if np.isnan(near).any():
                break
    return out


def gait_near(walker: supple.Walker, x: Floats) -> tuple[Floats, Floats]:
    """The gait of one step near x = (q, v), and the eigenvalues of the return map; NaN if there is none."""
    walking = Walking(walker, 1e-12, LONGEST_OF_MANY)
    for _ in range(12):
        y = _returned(walking, np.concatenate([x[None], x + H * AROUND]))
        sides = y[1:].reshape(3, 2, 4, 4)  # of k, of the side, of what is changed
        J = sum(w * (sides[k, 0] - sides[k, 1]) for k, w in enumerate(SIXTH)).T / H
        off = y[0] - x
        if not np.isfinite(y).all() or np.abs(off).max() < 1e-9:
            break
        change = np.linalg.solve(np.eye(4) - J, off)
        x = x + change * min(1.0, 0.2 / np.abs(change).max())
    good = np.isfinite(y).all() and np.abs(off).max() < 1e-9
    return (x, np.linalg.eigvals(J)) if good else (np.full(4, np.nan), np.full(4, np.nan, dtype=complex))


def _returned(walking: Walking, x: Floats) -> Floats:
    """States after a step, read as if the walker stood on its first foot again; NaN of those that fall."""
    states, ends = x.copy(), np.zeros((len(x), 2), dtype=np.int64)
    walking(states, ends, np.empty((len(x), 0, 2)), 1)
    return np.where(ends[:, :1] == 1, states * np.tile(_signs(), 2), np.nan)


@cache
def _signs() -> Floats:
    """Of coordinates on the second foot: those of all compasses are alike."""
    walker = scenes.compass()
    there = impact(walker.model, walker.q, walker.v, body=walker.feet[1], axis=walker.axis).model
    return mirrored(walker.model, there)[1]


# --- the picture ----------------------------------------------------------------------------------------------------

KINDS = ["1 step", "2 steps", "4 steps", "more", "no period", "falls"]
COLOURS = ["#d7e6f4", "#8db9df", "#3f83bf", "#1d4a7d", "#e8833a", "#f4f4f4"]


def kinds(periods: Floats) -> Floats:
    """Rows of KINDS."""
    out = np.select([periods == 1, periods == 2, periods == 4, periods >= 3, periods == 0], [0, 1, 2, 3, 4], 5)
    return out.astype(float)


def first_doubling(s: supple.Sweep) -> Floats:
    """Of each ratio, the slope at which the lowest eigenvalue passes -1."""
    slope, out = s.axes["slope"], []
    for row in s["lowest"]:
        i = int(np.argmax(row < -1.0))
        out.append(np.interp(1.0, -row[i - 1 : i + 1], slope[i - 1 : i + 1]) if i > 0 else np.nan)
    return np.array(out)


def draw_gaits(s: supple.Sweep):
    from matplotlib.colors import BoundaryNorm, ListedColormap

    figure = new_figure(11, 4.4)
    axes = figure.subplots(1, 2, sharey=True)
    ratio, slope = s.axes["ratio"], np.degrees(s.axes["slope"])
    norm = BoundaryNorm(np.arange(7) - 0.5, 6)
    image = axes[0].pcolormesh(
        slope, ratio, kinds(s["period"]), cmap=ListedColormap(COLOURS), norm=norm, rasterized=True
    )
    bar = figure.colorbar(image, ax=axes[0], ticks=range(6))
    bar.ax.set_yticklabels(KINDS)
    axes[0].set_title("After how many steps the walk repeats itself", loc="left", fontsize=11)
    shown = axes[1].pcolormesh(
        slope, ratio, np.clip(s["largest"], 0, 2), cmap="RdBu_r", vmin=0, vmax=2, rasterized=True
    )
    figure.colorbar(shown, ax=axes[1], extend="max")
    axes[1].set_title("Largest eigenvalue of the gait of one step", loc="left", fontsize=11)
    line = np.degrees(first_doubling(s))
    for ax in axes:
        ax.plot(line, ratio, color="black", linewidth=1.2)
        ax.set(xlabel="slope (degrees)", yscale="log")
    axes[0].set_ylabel("mass of the hip / mass of a leg")
    return figure
