"""Running AD's benchmarks: bodies of which some joints move, beside the same bodies exactly."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.dynamics import AdaptiveDynamics
from supple.assembly.tree import JOIN, LIGHT, assemble
from supple.comparisons.plain_step import plain_step
from supple.exact.forward import forward_dynamics
from supple.exact.kinematics import poses
from supple.model.builder import ModelBuilder
from supple.model.model import Model
from supple.scenes import Pushes, Scene

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Run:
    """A motion, looked at now and then. An entry for each look, the first before anything moves."""

    time: Floats
    q: Floats  #: (looks, nq)
    joints: list[Ints]  #: those that move
    energy: Floats
    removed: Floats  #: energy, by stopping joints, since the beginning
    seconds: float  #: that a step takes: the median over what is between looks

    @property
    def drift(self) -> float:
        """Energy that the steps added over the whole: not what was taken away by stopping joints."""
        return float(self.energy[-1] + self.removed[-1] - self.energy[0])


def run(ad: AdaptiveDynamics, dt: float, looks: int, between: int) -> Run:
    """looks times so many steps."""
    times, q, joints, energy, removed = [ad.time], [ad.q.copy()], [ad.active_joints], [ad.energy], [0.0]
    seconds = []
    for _ in range(looks):
        start = time.perf_counter()
        ad.run(between * dt, dt)
        seconds.append((time.perf_counter() - start) / between)
        times.append(ad.time)
        q.append(ad.q.copy())
        joints.append(ad.active_joints)
        energy.append(ad.energy)
        removed.append(ad.stats.energy_removed)
    return Run(np.array(times), np.array(q), joints, np.array(energy), np.array(removed), float(np.median(seconds)))


def exactly(model: Model, q: Floats, dt: float, looks: Iterable[int], between: int) -> Floats:
    """(looks + 1, nq) the same steps by the articulated-body algorithm, under gravity alone."""
    q, v = q.copy(), np.zeros(model.nv)
    out = [q.copy()]
    for _ in looks:
        for _ in range(between):
            q, v = plain_step(model, q, v, dt, partial(forward_dynamics, model))
        out.append(q.copy())
    return np.array(out)


def points(scene: Scene, q: Floats) -> Floats:
    """(..., n, 3) where the bodies end; q may have leading axes."""
    R, x = poses(scene.model, q)
    return np.asarray(x + np.einsum("...nij,nj->...ni", R, scene.rods[:, 1]))


def distance(scene: Scene, q: Floats, other: Floats) -> Floats:
    """How far ends of bodies are from where they are at other positions: the root of the mean square, in metres."""
    away = ((points(scene, q) - points(scene, other)) ** 2).sum(axis=-1)
    return np.asarray(np.sqrt(away.mean(axis=-1)))


def breadth_first(model: Model) -> Ints:
    """Joints in the order in which a breadth-first traversal of the assembly tree meets them."""
    tree = assemble(model)
    nodes = np.flatnonzero((tree.kind == JOIN) | (tree.kind == LIGHT))
    order: Ints = tree.item[nodes[np.argsort(tree.level[nodes], kind="stable")]]
    return order


def sliding_links(mass: float = 1.0) -> Model:
    """Figure 4: five links of the same mass on prismatic joints along x."""
    b = ModelBuilder("sliding links", gravity=(0.0, 0.0, 0.0))
    b.add_bodies(
        np.arange(-1, 4),
        "prismatic",
        names=[f"l{i}" for i in range(1, 6)],
        axis=(1.0, 0.0, 0.0),
        position=[[0.3 * (i > 0), 0.0, 0.0] for i in range(5)],
        mass=mass,
        inertia=0.01 * mass * np.eye(3),
    )
    return b.build()


def figure_4(force: float = 1.0, mass: float = 1.0) -> dict[str, Floats]:
    """Accelerations of the five links when a force pushes the second.

    "exactly"; "J1 kept": the exact acceleration of J1, and none of the joints after it; "recomputed": by adaptive
    dynamics, which may move J1 and the joint above it, and whose assembly tree has them first.
    """
    model, dt = sliding_links(mass), 1e-3
    ad = AdaptiveDynamics(model, active=2, order=[4, 3, 2, 1, 0])
    ad.apply("l2", force=(force, 0.0, 0.0))
    W = Pushes(np.array([1]), np.array([[force, 0.0, 0.0]]), np.zeros((1, 3))).wrenches(model, ad.q)
    exact = forward_dynamics(model, ad.q, ad.v, None, W)
    ad.step(dt)
    kept = np.where(np.arange(5) < 2, exact, 0.0)
    return {name: np.cumsum(a) for name, a in (("exactly", exact), ("J1 kept", kept), ("recomputed", ad.v / dt))}


DRAG = (4.0, 1.0)  #: N s/m, on the spring's end and on the last link: the paper does not say what brings it to rest


def on_a_spring(scene: Scene, active: int | list[int]) -> AdaptiveDynamics:
    """Figure 6: a pendulum on a spring, with a drag that brings it to rest."""
    ad = AdaptiveDynamics(scene.model, scene.q0, active=active)
    s, last = scene.springs, scene.model.n_bodies - 1
    ad.spring(int(s.bodies[0]), s.anchors[0], float(s.stiffness[0]), s.points[0], damping=DRAG[0])
    ad.spring(last, (0.0, 0.0, 0.0), 0.0, scene.rods[last, 1], damping=DRAG[1])
    return ad


def random_pushes(scene: Scene, count: int, size: float, seed: int = 0) -> Scene:
    """The scene with so many forces on different bodies, of random directions."""
    rng = np.random.default_rng((seed, count))
    bodies = np.sort(rng.choice(scene.model.n_bodies, count, replace=False))
    return replace(scene, pushes=Pushes(bodies, size * rng.standard_normal((count, 3)), np.zeros((count, 3))))


def step_seconds(
    bodies: Mapping[K, AdaptiveDynamics], dt: float, warm: int, steps: int, rounds: Iterable[int]
) -> dict[K, float]:
    """Seconds of a step of each: once they have been moving, the least of rounds in which all take turns, and each
    makes the same steps again."""
    states = {}
    for key, ad in bodies.items():
        ad.run(warm * dt, dt)
        states[key] = ad.q.copy(), ad.v.copy()
    best: dict[K, float] = dict.fromkeys(bodies, np.inf)
    for _ in rounds:
        for key, ad in bodies.items():
            ad.set_state(*states[key])
            start = time.perf_counter()
            ad.run(steps * dt, dt)
            best[key] = min(best[key], (time.perf_counter() - start) / steps)
    return best
