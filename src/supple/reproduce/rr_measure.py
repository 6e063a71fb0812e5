"""What RR promises of a change of root, measured: A1 to A3 on random bodies, and its cost beside a dynamics step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.exact.energy import kinetic_energy
from supple.exact.forward import forward_dynamics
from supple.exact.inverse import inverse_dynamics
from supple.exact.joint_wrenches import joint_wrenches
from supple.exact.kinematics import poses, velocities
from supple.model import parents, trees
from supple.model.builder import ModelBuilder
from supple.model.joints import JOINT_NAMES, JointName
from supple.model.model import Model
from supple.reproduce.sf_measure import shortest
from supple.rerooting.reroot import reroot
from supple.walking.walkers import Steps, Walker

Floats = NDArray[np.float64]
KINDS: tuple[JointName, ...] = tuple(k for k in JOINT_NAMES if k != "fixed")  # type: ignore[misc]


def any_body(n: int, seed: int) -> Model:
    """A random tree of n bodies on joints of every type."""
    rng = np.random.default_rng(seed)
    b = ModelBuilder("any")
    for i in range(n):
        axis, turn = rng.standard_normal(3), rng.standard_normal(4)
        parent = None if i == 0 else int(rng.integers(max(0, i - 4), i))
        b.add_body(
            None, parent, KINDS[int(rng.integers(len(KINDS)))], axis=axis, axis2=np.cross(axis, rng.standard_normal(3)),
            pitch=0.2, position=rng.standard_normal(3), rotation=turn / np.linalg.norm(turn), mass=1.0,
            com=0.3 * rng.standard_normal(3), inertia=(0.3, 0.4, 0.5),
        )  # fmt: skip
    return b.build()


class Promises(NamedTuple):
    """The largest errors of a change of root and back, relative to the largest number of each kind."""

    back: float  #: A1: the model after there and back
    look: float  #: A2: positions of bodies
    energy: float  #: A3: kinetic energy
    velocity: float
    torque: float  #: of inverse dynamics, the old root being held from outside
    motion: float  #: of forward dynamics


def promises(n: int, seed: int) -> Promises:
    """Re-root a random body in a random state at a random point, on a free joint, and compare."""
    model, rng = any_body(n, seed), np.random.default_rng(seed + 1)
    q, v, a = model.random(rng), *rng.standard_normal((2, model.nv))
    new = reroot(model, q, v, a, body=int(rng.integers(n)), point=rng.standard_normal(3), joint="free")
    there, here = poses(model, q), poses(new.model, new.q)
    arm = np.einsum("nij,nj->ni", there.rotation, new.shift)
    moves = velocities(new.model, new.q, new.v).spatial[new.number]
    moves[:, 3:] -= np.cross(moves[:, :3], arm)
    held = np.zeros((n, 6))
    root = int(new.chain[0])
    held[root] = joint_wrenches(model, q, v, frame="child", a=a)[root]
    tau, wrenches = new.forces(inverse_dynamics(model, q, v, a)), new.wrenches(held)
    # there and back by computing, where `undo` would give the old model itself
    back = reroot(new.model, new.q, body=int(new.number[root]), point=there.position[root], joint=new.top)
    order = back.number[new.number]
    return Promises(
        _off(back.model.position[order], model.position),
        max(_off(here.position[new.number] - arm, there.position), _off(here.rotation[new.number], there.rotation)),
        _off(kinetic_energy(new.model, new.q, new.v), kinetic_energy(model, q, v)),
        _off(moves, velocities(model, q, v).spatial),
        _off(inverse_dynamics(new.model, new.q, new.v, new.a, wrenches), tau),
        _off(forward_dynamics(new.model, new.q, new.v, tau, wrenches), new.a),
    )


def _off(ours: Floats | float, wanted: Floats | float | None) -> float:
    return float(np.abs(np.asarray(ours) - wanted).max() / max(1e-300, np.abs(wanted).max()))  # type: ignore[arg-type]


class Cost(NamedTuple):
    """Seconds, by size."""

    sizes: tuple[int, ...]
    reroot: tuple[float, ...]
    step: tuple[float, ...]  #: of the articulated-body algorithm
    first: tuple[float, ...]  #: of the first such step of the new model, which makes its tables


SHAPES: dict[str, Callable[[int], Model]] = {
    "chain": trees.chain,
    "random tree": lambda n: trees.from_parents(parents.random(n, np.random.default_rng(2), 0.3)),
}


def cost(
    make: Callable[[int], Model], sizes: Sequence[int], budget: float,
    tracked: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> Cost:  # fmt: skip
    """Of re-rooting at the last body, a leaf, in motion, on a free joint; the least of several."""
    rows = []
    for n in tracked(sizes):
        model, rng = make(n), np.random.default_rng(0)
        q, v, a = model.random(rng), *rng.standard_normal((2, model.nv))

        def change(m: Model = model, q: Floats = q, v: Floats = v, a: Floats = a) -> object:
            return reroot(m, q, v, a, body=m.n_bodies - 1, point=(0.0, 0.0, 0.0), joint="free")

        def step(m: Model = model, q: Floats = q, v: Floats = v) -> Floats:
            return forward_dynamics(m, q, v)

        step()  # so that there are tables to be carried over, as there are in a run
        first = np.inf
        for _ in range(3):
            new = reroot(model, q, v, body=n - 1, point=(0.0, 0.0, 0.0), joint="free")
            begin = time.perf_counter()
            forward_dynamics(new.model, new.q, new.v)  # type: ignore[arg-type]
            first = min(first, time.perf_counter() - begin)
        rows.append((shortest(change, budget), shortest(step, budget), first))
    columns = [tuple(x) for x in zip(*rows)]
    return Cost(tuple(sizes), *columns)


def times_real(walker: Walker, tolerance: float, steps: int) -> tuple[float, float]:
    """How many times faster than real time it walks, and how far its last touchdown is from that at 1e-14."""
    exact = [s.before for s in Steps(walker, 1e-14).walk(4)][-1]
    near = Steps(walker, tolerance)
    off = [s.before for s in near.walk(4)][-1]
    best, walked = np.inf, 0.0
    for _ in range(3):
        begin = time.perf_counter()
        walked = sum(s.duration for s in near.walk(steps))
        best = min(best, time.perf_counter() - begin)
    return walked / best, float(np.abs(np.concatenate(off) - np.concatenate(exact)).max())
