"""The pictures of docs/sweeps.md: python docs/draw/sweeps.py [FOLDER [steps] [basin] [errors] [gaits]].

All of them take about ten minutes on two cores. The stores are kept in the folder: killed, it goes on where it was.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sweep_gaits import draw_gaits, first_doubling, gaits_of, on

import supple
from supple import scenes
from supple.drawing import BLUE, ORANGE, new_figure, save
from supple.simulating.run import follow
from supple.simulating.simulation import Simulation

Floats = NDArray[np.float64]
PICTURES = Path(__file__).parents[1] / "pictures"
PARTS = ["steps", "basin", "errors", "gaits"]
SETTLE, KEEP = 200, 48  # steps


# --- the compass walker's steps over the slope ----------------------------------------------------------------------


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


# --- adaptive dynamics: error against cost --------------------------------------------------------------------------

BODIES = {
    "pendulum": lambda: scenes.pendulum(links=300),
    "spring": lambda: scenes.spring_pendulum(),
    "crowd": lambda: scenes.crowd(rows=2, columns=5),
}
STEPS, REPEATS = 200, 9


def final(scene: Any, **how: Any) -> tuple[Floats, float]:
    """Where the bodies are after STEPS steps, and the CPU time of a step in seconds: the least of REPEATS runs, without
    what a run of one step takes."""
    settings = dict(dt=scene.dt, forces=scene.all_forces(), check_energy=False, **how)

    def timed(steps: int) -> tuple[float, Floats]:
        run = Simulation(scene.model, scene.q0, scene.v0, duration=steps * scene.dt, every=steps, **settings)
        begun = time.process_time()
        made = follow(run)
        return time.process_time() - begun, made.final.q

    once, runs = (sorted((timed(n) for _ in range(REPEATS)), key=lambda x: x[0])[0] for n in (1, STEPS))
    return supple.poses(scene.model, runs[1]).position, (runs[0] - once[0]) / (STEPS - 1)


def exactly(body: str) -> tuple[Any, Floats, float]:
    """The scene, where its bodies are with all joints active, and the CPU time of a step of the articulated-body
    algorithm, which evaluates accelerations once a step, too."""
    if body not in KNOWN:
        scene = BODIES[body]()
        whole, _ = final(scene, method="adaptive", active=scene.model.n_joints)
        KNOWN[body] = scene, whole, final(scene, method="aba", integrator="semi-implicit")[1]
    return KNOWN[body]


def adaptive_error(body: str, by: str, amount: float) -> dict[str, float]:
    """distance: of bodies from where they are exactly, as a share of the way that they went; seconds: of CPU time a
    step, and of the exact one. amount: the share of joints that are active, or the error that is allowed."""
    scene, whole, exact = exactly(body)
    n, start = scene.model.n_joints, supple.poses(scene.model, scene.q0).position
    given = {"active": max(1, round(amount * n))} if by == "active" else {"error": amount}
    there, seconds = final(scene, method="adaptive", **given)
    off = float(np.linalg.norm(there - whole) / np.linalg.norm(whole - start))
    return {"distance": off, "seconds": seconds, "exact_seconds": exact}


# --- pictures -------------------------------------------------------------------------------------------------------


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def made(name: str, *given: Any, **how: Any) -> supple.Sweep:
        done = supple.sweep(*given, out=folder / f"{name}.zarr", resume=True, progress=True, **how)
        print(done, flush=True)
        return done

    if "steps" in names:
        draw_steps(made("steps", last_steps, {"slope": supple.Range(0.07, 0.0915, 10_400)}, batch=520))
    if "basin" in names:
        window = {
            "slope": [0.004, 0.009, 0.014],
            "angle": supple.Range(0.08, 0.32, 1000),
            "rate": supple.Range(-0.36, -0.06, 1000),
        }
        draw_basin(made("basin", steps_before_a_fall, window, batch=4000))
    if "errors" in names:
        amounts = {"body": list(BODIES), "by": ["active", "error"], "amount": supple.Range(1e-3, 1.0, 10, log=True)}
        draw_errors(made("errors", adaptive_error, amounts, workers=1))  # one at a time: it is timed
    if "gaits" in names:
        over = {"ratio": supple.Range(0.1, 100.0, 49, log=True), "slope": supple.Range(0.01, 0.13, 181)}
        found = made("gaits", gaits_of, over, batch=181)
        save(draw_gaits(found), PICTURES / "sweep-gaits.png", dpi=100)
        for ratio, slope in zip(found.axes["ratio"], np.degrees(first_doubling(found))):
            print(f"hip/leg {ratio:8.3f}: the first doubling at {slope:.3f} degrees")


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
    figure = new_figure(11, 4.0)
    axes = figure.subplots(1, 3, sharey=True)
    said = ("share of joints that are active", "error that is allowed")
    for i, (ax, body) in enumerate(zip(axes, s.axes["body"])):
        for by, (colour, mark) in enumerate(((BLUE, "o-"), (ORANGE, "s--"))):
            cost, off = np.maximum(1e6 * s["seconds"][i, by], 1.0), np.maximum(s["distance"][i, by], 1e-9)
            ax.loglog(cost, off, mark, color=colour, label=said[by], markersize=4)
            for k in (0, 3, 6, 9):  # 0.001, 0.01, 0.1, 1
                place = {"xytext": (5, 3) if by else (-5, -9), "textcoords": "offset points"}
                words = {"fontsize": 7.5, "color": colour, "ha": "left" if by else "right"}
                ax.annotate(f"{s.axes['amount'][k]:g}", (cost[k], off[k]), **place, **words)
        exact = 1e6 * np.nanmin(s["exact_seconds"][i])
        ax.axvline(exact, color="#777777", linewidth=1, linestyle=":", label="articulated-body algorithm")
        ax.set_title(f"{body}: {BODIES[str(body)]().model.n_joints} joints", loc="left", fontsize=11)
        ax.set_xlabel("CPU time a step (microseconds)")
        ax.grid(True, color="#e6e6e6", linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("distance of bodies (way that they went: 1)")
    axes[0].legend(frameon=False, fontsize=8, loc="lower left")
    save(figure, PICTURES / "sweep-errors.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/sweeps"), sys.argv[2:] or PARTS)
