"""The pictures of docs/sweeps.md: python docs/draw/sweeps.py [FOLDER], about ten minutes on two cores.

The stores are kept in the folder: killed, it goes on where it was.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import supple
from supple import scenes
from supple.drawing import BLUE, ORANGE, new_figure, save
from supple.scenes.compass import on_slope
from supple.walking.gaits import gait

Floats = NDArray[np.float64]
PICTURES = Path(__file__).parents[1] / "pictures"
SETTLE, KEEP = 200, 48  # steps


# --- the compass walker's steps over the slope ----------------------------------------------------------------------


def on(walker: supple.Walker, slope: float) -> supple.Walker:
    """The walker on another slope."""
    return on_slope(walker.model, walker.q, walker.v, slope, walker.parameters)


def last_steps(slope: Floats) -> dict[str, Floats]:
    """Durations of the last steps on slopes that follow each other: a walk begins where the one before has ended."""
    walker, out = scenes.compass(0.05, start="cycle"), []
    q, v = walker.q, walker.v
    for x in np.arange(0.05, slope[0], 2.5e-4).tolist():  # from a gentle slope to where these begin
        made = supple.walk_many(on(walker, x), q[None], v[None], 30)
        q, v = (made.q[0], made.v[0]) if not made.fell[0] else (q, v)
    for x in slope.tolist():
        made = supple.walk_many(on(walker, x), q[None], v[None], SETTLE + KEEP, keep=KEEP, tolerance=1e-9)
        out.append(made.durations[0])
        if not made.fell[0]:
            q, v = made.q[0], made.v[0]
    return {"step_duration": np.array(out)}


# --- the simplest walker's basin of attraction ----------------------------------------------------------------------


KNOWN: dict[Any, Any] = {}  # what a process has at hand


def steps_before_a_fall(slope: Floats, angle: Floats, rate: Floats) -> dict[str, Floats]:
    """From just after an impact [GCRC]: theta and its rate; phi = 2 theta, and its rate follows."""
    out = np.empty(len(slope))
    for one in np.unique(slope).tolist():
        here = slope == one
        if one not in KNOWN:
            KNOWN[one] = scenes.simplest_walker(one)
        q = np.stack([angle[here] - one, 2 * angle[here]], axis=1)
        v = np.stack([rate[here], rate[here] * (1 - np.cos(2 * angle[here]))], axis=1)
        out[here] = supple.walk_many(KNOWN[one], q, v, 40).steps
    return {"steps": out}


# --- gaits over slope and mass --------------------------------------------------------------------------------------


def gaits_of(hip_mass: Floats, slope: Floats) -> dict[str, Floats]:
    """A row of one mass: the gait is continued from slope to slope, after it was continued from the usual mass."""
    state = None
    for mass in np.geomspace(2.0, hip_mass[0], 8):
        state = _gait(scenes.compass(0.05, float(mass)), state)
    middle = int(np.argmin(np.abs(slope - 0.05)))
    found: dict[int, Any] = {}
    for way in (range(middle, len(slope)), range(middle, -1, -1)):
        last = state
        for i in way:
            made = _gait(scenes.compass(float(slope[i]), float(hip_mass[0])), last)
            if made is None:
                break
            found[i] = last = made
    values = np.full((3, len(slope)), np.nan)
    for i, made in found.items():
        values[:, i] = made.period, np.abs(made.eigenvalues).max(), made.step_length
    return dict(zip(("period", "largest_eigenvalue", "step_length"), values))


def _gait(walker: supple.Walker, near: Any) -> Any:
    try:
        return gait(walker if near is None else walker.at(near.walker.q, near.walker.v), tolerance=1e-10)
    except supple.SimulationError:
        return None


# --- adaptive dynamics: error against cost --------------------------------------------------------------------------

BODIES = {
    "pendulum": lambda: scenes.pendulum(links=300),
    "spring": lambda: scenes.spring_pendulum(),
    "crowd": lambda: scenes.crowd(rows=2, columns=5),
}
STEPS = 200


def final(scene: Any, **how: Any) -> tuple[Floats, float]:
    """Where the bodies are after some steps, and the least time of a step of three runs."""
    best, settings = np.inf, dict(duration=STEPS * scene.dt, dt=scene.dt, forces=scene.all_forces(), **how)
    for _ in range(3):
        begun = time.perf_counter()
        run = supple.simulate(scene.model, scene.q0, scene.v0, every=STEPS, check_energy=False, **settings)
        best = min(best, (time.perf_counter() - begun) / STEPS)
    return supple.poses(scene.model, run.final.q).position, best


def adaptive_error(body: str, by: str, amount: float) -> dict[str, float]:
    """The distance of bodies from where they are exactly, and the time of a step, as shares of the way and of the time
    of all joints. amount: the share of joints that are active, or the error that is allowed."""
    scene = BODIES[body]()
    n = scene.model.n_joints
    if body not in KNOWN:
        KNOWN[body] = final(scene, method="adaptive", active=n)
    start, (whole, longest) = supple.poses(scene.model, scene.q0).position, KNOWN[body]
    given = {"active": max(1, round(amount * n))} if by == "active" else {"error": amount}
    there, seconds = final(scene, method="adaptive", **given)
    off = float(np.linalg.norm(there - whole) / np.linalg.norm(whole - start))
    return {"distance": off, "cost": seconds / longest}


# --- pictures -------------------------------------------------------------------------------------------------------


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def made(name: str, *given: Any, **how: Any) -> supple.Sweep:
        done = supple.sweep(*given, out=folder / f"{name}.zarr", resume=True, progress=True, **how)
        print(done, flush=True)
        return done

    draw_steps(made("steps", last_steps, {"slope": supple.Range(0.07, 0.0915, 10_400)}, batch=520))
    window = {
        "slope": [0.004, 0.009, 0.014],
        "angle": supple.Range(0.08, 0.32, 1000),
        "rate": supple.Range(-0.36, -0.06, 1000),
    }
    draw_basin(made("basin", steps_before_a_fall, window, batch=4000))
    amounts = {"body": list(BODIES), "by": ["active", "error"], "amount": supple.Range(1e-3, 1.0, 10, log=True)}
    draw_errors(made("errors", adaptive_error, amounts))
    over = {"hip_mass": supple.Range(0.5, 20.0, 24, log=True), "slope": supple.Range(0.02, 0.09, 36)}
    draw_gaits(made("gaits", gaits_of, over, batch=36))


def draw_steps(s: supple.Sweep) -> None:
    figure = new_figure(9, 4.6)
    ax = figure.subplots()
    whole = np.isfinite(s["step_duration"]).all(axis=1)  # who fell has none
    slope, y = s.axes["slope"][whole], s["step_duration"][whole]
    ax.plot(np.repeat(slope, y.shape[1]), y.reshape(-1), ",", color=BLUE, alpha=0.5)
    ax.set(xlabel="slope (rad)", ylabel="duration of steps (s)", xlim=(slope[0], slope[-1]))
    ax.set_title(
        f"Compass walker: the last {KEEP} of {SETTLE + KEEP} steps on {len(s):,} slopes", loc="left", fontsize=11
    )
    ax.spines[["top", "right"]].set_visible(False)
    save(figure, PICTURES / "sweep-steps.png", dpi=110)


def draw_basin(s: supple.Sweep) -> None:
    figure = new_figure(10.5, 3.9)
    axes = figure.subplots(1, 3, sharey=True)
    x, y = s.axes["angle"], s.axes["rate"]
    for ax, slope, steps in zip(axes, s.axes["slope"], s["steps"]):
        image = ax.imshow(
            steps.T, origin="lower", extent=(x[0], x[-1], y[0], y[-1]), aspect="auto", cmap="magma_r", vmax=12
        )
        walker = scenes.simplest_walker(float(slope))
        ax.plot(walker.q[0] + slope, walker.v[0], "+", color="#2f6fb5", markersize=9)
        ax.set_title(f"slope {slope:g}: {100 * (steps >= 40).mean():.2f} % walk on", fontsize=10)
        ax.set_xlabel("angle of the stance leg (rad)")
    axes[0].set_ylabel("its rate (rad per unit of time)")
    figure.colorbar(image, ax=axes.tolist(), label="steps before it falls")
    save(figure, PICTURES / "sweep-basin.png", dpi=90)


def draw_errors(s: supple.Sweep) -> None:
    figure = new_figure(9, 4.0)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, by, said in zip(axes, range(2), ("share of joints that are active", "error that is allowed")):
        for i, body in enumerate(s.axes["body"]):
            off = np.maximum(s["distance"][i, by], 1e-9)
            joints = BODIES[str(body)]().model.n_joints
            if np.isfinite(off).any():
                ax.loglog(s.axes["amount"], off, "o-", label=f"{body}: {joints} joints", markersize=4)
        ax.set_xlabel(said)
        ax.grid(True, color="#e6e6e6", linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("distance of bodies (way that they went: 1)")
    axes[0].legend(frameon=False, fontsize=9)
    save(figure, PICTURES / "sweep-errors.png", dpi=100)


def draw_gaits(s: supple.Sweep) -> None:
    figure = new_figure(8, 4.6)
    ax = figure.subplots()
    mass, slope, size = s.axes["hip_mass"], s.axes["slope"], s["largest_eigenvalue"]
    ax.set_facecolor("#eeeeee")
    image = ax.pcolormesh(slope, mass, np.clip(size, 0, 2), cmap="RdBu_r", vmin=0, vmax=2, rasterized=True)
    ax.contour(slope, mass, np.nan_to_num(size, nan=9.0), levels=[1.0], colors=ORANGE)
    ax.set(xlabel="slope (rad)", ylabel="mass of the hip (legs: 1 kg each)", yscale="log")
    ax.set_title(
        "Gaits of the compass: stable left of the line, of twice the period right of it", loc="left", fontsize=11
    )
    figure.colorbar(image, label="largest eigenvalue of the return map")
    save(figure, PICTURES / "sweep-gaits.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/sweeps"))
