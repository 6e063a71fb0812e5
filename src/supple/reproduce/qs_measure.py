"""Running QS's benchmarks: steps within an error, the same steps exactly, and what a full step costs."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.quasistatics import QuasiStatics
from supple.exact import threads
from supple.exact.forward import forward_dynamics
from supple.exact.kinematics import poses
from supple.scenes import Pushes, Scene

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Run:
    """Many steps at one error: medians and means of a step, and where the bodies' centres of gravity are at the end."""

    error: float
    seconds: float
    joints: float
    nodes: float
    centres: Floats


@dataclass(frozen=True)
class Full:
    """Seconds of a full step on one thread, the least of many: ratios to it rather say too little."""

    dca: float
    aba: float


def run(qs: QuasiStatics, scene: Scene, error: float, steps: int) -> Run:
    """Steps from the scene's own position."""
    qs.set_state(scene.q0)
    qs.error = error
    seconds, joints, nodes = np.empty((3, steps))
    for i in range(steps):
        start = time.perf_counter()
        qs.step(scene.step_of("quasi-statics"))
        seconds[i] = time.perf_counter() - start
        joints[i], nodes[i] = qs._solver.memory.n_computed, qs._solver.memory.n_touched
    return Run(error, float(np.median(seconds)), float(joints.mean()), float(nodes.mean()), centres(scene, qs.q))


def centres(scene: Scene, q: Floats) -> Floats:
    """(n, 3) where the centres of gravity are."""
    R, x = poses(scene.model, q)
    return np.asarray(x + np.einsum("nij,nj->ni", R, scene.model.com))


def exactly(scene: Scene, steps: Iterable[int]) -> Floats:
    """(nq,) after the same steps by the articulated-body algorithm, all joints computed. For joints with one degree of
    freedom, as the scenes have."""
    model, push = scene.model, scene.pushes
    q, rest = scene.q0.copy(), np.zeros(model.nv)
    for _ in steps:
        q += (
            0.5 * scene.step_of("quasi-statics") ** 2 * forward_dynamics(model, q, rest, None, wrenches(scene, push, q))
        )
    return q


def wrenches(scene: Scene, push: Pushes, q: Floats) -> Floats:
    """(n_bodies, 6) the pushes in the frames of their bodies, where these are now."""
    R = poses(scene.model, q).rotation[push.bodies]
    force = np.einsum("nji,nj->ni", R, push.forces)
    out = np.zeros((scene.model.n_bodies, 6))
    np.add.at(out, push.bodies, np.concatenate([np.cross(push.points, force), force], axis=1))
    return out


def full(scene: Scene, calls: int = 15) -> Full:
    """A full step by divide and conquer and by the articulated-body algorithm, taking turns. With a little torque at
    every joint: else numbers far from the forces are so small that processors are ten times slower with them."""
    rest, W = np.zeros(scene.model.nv), wrenches(scene, scene.pushes, scene.q0)
    tau = 1e-3 * np.random.default_rng(0).standard_normal(scene.model.nv)
    taken: dict[str, list[float]] = {"dca": [], "aba": []}
    before = threads.threads()
    threads.set_threads(1)
    for i in range(calls + 1):
        for method in ("dca", "aba"):
            start = time.perf_counter()
            forward_dynamics(scene.model, scene.q0, rest, tau, W, method=method)  # type: ignore[arg-type]
            if i:  # the first may compile
                taken[method].append(time.perf_counter() - start)
    threads.set_threads(before)
    return Full(*(min(taken[m]) for m in ("dca", "aba")))


def least(steps: Collection[Full]) -> Full:
    """Of the same step, measured several times."""
    return Full(min(x.dca for x in steps), min(x.aba for x in steps))


def displacement_error(found: Floats, exact: Floats, start: Floats) -> float:
    """max |d_i(eps) - d_i| / max |d_i|, d_i the way of body i's centre of gravity."""
    return float(np.linalg.norm(found - exact, axis=1).max() / np.linalg.norm(exact - start, axis=1).max())


def reaches(scene: Scene, powers: Iterable[int]) -> Iterator[int]:
    """How many joints the scene's forces reach at errors of 2^-power, at its own position."""
    qs = scene.quasi_statics()
    for power in powers:
        yield qs.reach(2.0**-power)
