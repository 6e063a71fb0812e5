"""`supple bench dynamics`: steps of adaptive dynamics beside full steps by divide and conquer and by the ABA.

A step of ours is half a drift, a kick with the accelerations of the middle, and half a drift: three evaluations. A full
one is a single forward_dynamics, then velocities, then positions with the new ones in NumPy: the cheapest that there
is, and of first order. Every repeat starts where the one before started, so that all do the same work, updates of the
active region included; forces turn with their bodies, which spares full steps finding them.

A stretch of steps is timed in slices, in time of the processor, and of each slice the least of all repeats counts: on
a busy machine long stretches are interrupted more often than short ones, which would favour full steps.

Free roots always move, `active` does not count them, and each costs about as much as three revolute joints. Floors and
aims for a share of a crowd's joints are for its roots and as many others as make up the share: 200 roots, which are
1.1 % of the joints, and 690 others make up 5 %. Earlier versions could let roots rest: their floor for 5 % was 4 as
now, with 890 joints of one degree of freedom, and one of 15 for 1 % took the place of that for roots alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import supple
from supple import scenes
from supple.adaptive.dynamics import AdaptiveDynamics
from supple.bench.measure import agree
from supple.bench.rows import Row
from supple.comparisons.plain_step import plain_step
from supple.scenes import Scene

Floats = NDArray[np.float64]
Bounds = tuple[float | None, float | None]

NOTHING: Bounds = (None, None)
WARM = 2000  #: steps before anything is timed
EVERY = 20  #: steps from one update of the active region to the next
SPEED = 1e-3  #: of joints where full steps start: numbers so small that processors are slow with them would flatter us
#: Active joints: (floor, aim) against divide and conquer, and against the ABA.
PENDULUM: dict[int, tuple[Bounds, Bounds]] = {
    1: ((60.0, 250.0), (15.0, 50.0)),
    20: ((8.0, 20.0), NOTHING),
    100: ((2.0, 3.0), NOTHING),
}
ALL = 1.5  #: all joints active: times the cost of divide and conquer, at most
#: Share of the joints that move, free roots included, see above (None: only those): (floor, aim) against the ABA.
CROWD: dict[float | None, Bounds] = {0.05: (4.0, 8.0), None: (12.0, None)}
MOLECULE, FASTER = 100, 60.0  #: active joints: times faster than the ABA, at least
SLICES = 10  #: of a stretch of steps
AGREEING = 3  #: full steps that are compared with those of adaptive dynamics
SIZES: dict[str, tuple[Any, ...]] = {"pendulum": (300,), "crowd": (20, 10, 0, False), "molecule": (50_000,)}


@dataclass(frozen=True, eq=False)
class Stretch:
    """Slices of so many steps, always the same: start puts everything back, and is not timed."""

    start: Callable[[], Any]
    go: Callable[[], Any]  #: one slice
    steps: int
    slices: int


def groups(console: Console, quick: bool) -> Iterator[tuple[str, list[Row]]]:
    supple.set_threads(1)
    console.print(
        f"Steps on one thread, each repeat from the same state. Active joints are chosen anew every {EVERY} steps, "
        "which the times include. A full step (DCA, ABA) is one forward_dynamics and semi-implicit Euler.\n",
        highlight=False,
    )
    made = {name: scenes.NAMES[name](*size) for name, size in SIZES.items()}
    rounds = 3 if quick else 15
    n = made["pendulum"].model.n_bodies
    yield f"A step of a pendulum of {n} links, one force", _pendulum(made["pendulum"], rounds)
    n, people = made["crowd"].model.n_bodies, len(made["crowd"].pushes)
    yield (
        f"A step of a crowd: {n:,} joints, of which {people} free roots always move",
        _crowd(made["crowd"], rounds),
    )
    yield f"A step of a molecule of {made['molecule'].model.n_bodies:,} joints", _molecule(made["molecule"], rounds)


def _pendulum(scene: Scene, rounds: int) -> list[Row]:
    n = scene.model.n_bodies
    middle = scenes.Pushes(np.array([n // 2]), np.array([[0.0, 0.3, 0.0]]), np.zeros((1, 3)))
    scene = scene.with_pushes(middle)
    active = {count: _adaptive(scene, count, 200 if count <= n // 10 else 20) for count in (*PENDULUM, n)}
    best = _least({**active, "DCA": full(scene, "dca", 1), "ABA": full(scene, "aba", 4)}, rounds)
    rows = []
    for count, bounds in PENDULUM.items():
        for peer, (floor, aim) in zip(("DCA", "ABA"), bounds):
            rows.append(Row(f"{count} active", best[count], "s", best[peer], peer, floor, aim))
    rows.append(Row("all active", best[n] / best["DCA"], "x DCA", floor=ALL))
    return rows


def _crowd(scene: Scene, rounds: int) -> list[Row]:
    n, roots = scene.model.n_bodies, len(scene.pushes)
    free = {share: 0 if share is None else max(1, round(share * n) - roots) for share in CROWD}
    active = {share: _adaptive(scene, count, 1, 2 * EVERY) for share, count in free.items()}
    alone = "ABA alone"  # not integrated
    best = _least({**active, "ABA": full(scene, "aba", 1), alone: full(scene, "aba", 1, move=False)}, rounds)
    rows = []
    for share, bounds in CROWD.items():
        name = "roots alone" if share is None else f"{share:.0%}: {roots} roots + {free[share]}"
        rows.append(Row(name, best[share], "s", best["ABA"], "ABA", *bounds))
        rows.append(Row(name, best[share], "s", best[alone], alone))
    return rows


def _molecule(scene: Scene, rounds: int) -> list[Row]:
    best = _least({"ours": _adaptive(scene, MOLECULE, 40), "ABA": full(scene, "aba", 1)}, rounds)
    return [Row(f"{MOLECULE} active", best["ours"], "s", best["ABA"], "ABA", FASTER)]


def _adaptive(scene: Scene, active: int, steps: int, slices: int = SLICES) -> Stretch:
    """Steps of a body that has been moving for a while, and whose active region is no longer new."""
    ad = adaptive(scene, active)
    dt = _dt(scene)
    ad.run(WARM * dt, dt)
    q, v = ad.q.copy(), ad.v.copy()

    def start() -> None:
        ad.set_state(q, v)
        ad.run(EVERY * dt, dt)

    def go() -> Any:
        return ad.step(dt) if steps == 1 else ad.run(steps * dt, dt)  # the latter with statistics

    return Stretch(start, go, steps, slices)


def _dt(scene: Scene) -> float:
    """Seconds of a step: short, so that the body remains in much the same motion."""
    return 0.1 * scene.dt


def adaptive(scene: Scene, active: int) -> AdaptiveDynamics:
    ad = AdaptiveDynamics(scene.model, scene.q0, active=active, update_every=EVERY)
    for b, f, p in zip(scene.pushes.bodies.tolist(), scene.pushes.forces, scene.pushes.points):
        ad.apply(b, force=f, point=p, frame="body")
    return ad


def full(scene: Scene, method: Any, steps: int, move: bool = True) -> Stretch:
    """Steps of all joints, once their accelerations are known to be those of adaptive dynamics with all joints active.

    move: whether positions and velocities are renewed.
    """
    model, dt = scene.model, _dt(scene)
    W = np.zeros((model.n_bodies, 6))
    W[scene.pushes.bodies] = np.concatenate(
        [np.cross(scene.pushes.points, scene.pushes.forces), scene.pushes.forces], axis=1
    )
    first = SPEED * np.random.default_rng(0).standard_normal(model.nv)
    plain = model.nq == model.nv  # coordinates are plain numbers
    q, v = scene.q0.copy(), first.copy()

    def start() -> None:
        q[:], v[:] = scene.q0, first

    def accelerate(q: Floats, v: Floats) -> Floats:
        return supple.forward_dynamics(model, q, v, None, W, method=method)

    def go() -> None:
        for _ in range(steps):
            a = accelerate(q, v)
            if move:
                np.add(v, dt * a, out=v)
                q[:] = q + dt * v if plain else model.integrate(q, v, dt)

    if move:
        ours = adaptive(scene, model.n_bodies)
        ours.set_state(scene.q0, first)
        ours.run(AGREEING * dt, dt)
        x, u = scene.q0, first
        for _ in range(AGREEING):
            x, u = plain_step(model, x, u, dt, accelerate)
        agree(f"{model.name}: full steps and those of all joints", ours.v, u, 1e-9)
    return Stretch(start, go, steps, SLICES)


def _least(stretches: Mapping[Any, Stretch], rounds: int) -> dict[Any, float]:
    """The seconds of a step of each: the mean over its slices, of each of which the least counts, all taking turns."""
    best = {name: np.full(stretch.slices, np.inf) for name, stretch in stretches.items()}
    for _ in range(rounds):
        for name, stretch in stretches.items():
            stretch.start()
            for k in range(stretch.slices):
                start = time.thread_time()
                stretch.go()
                best[name][k] = min(best[name][k], time.thread_time() - start)
    return {name: float(best[name].mean()) / stretch.steps for name, stretch in stretches.items()}
