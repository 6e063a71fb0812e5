"""Bodies for tests of contacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple import Model, ModelBuilder
from supple.model.geometry import rotation_from_quaternion
from supple.model.joints import JointType

Floats = NDArray[np.float64]
LENGTH, RADIUS = 0.2, 0.04


def add_chain(b: ModelBuilder, links: int, prefix: str = "l", **joint: float) -> None:
    """A free chain of capsules, hinged about x and y in turn."""
    for i in range(links):
        name, how = f"{prefix}{i}", dict(mass=1.0, inertia=(0.01, 0.01, 0.002), com=(0.0, 0.0, -LENGTH / 2))
        if i == 0:
            b.add_body(name, joint="free", **how)  # type: ignore[arg-type]
        else:
            axis = (1.0, 0.0, 0.0) if i % 2 else (0.0, 1.0, 0.0)
            b.add_body(
                name, parent=f"{prefix}{i - 1}", joint="revolute", axis=axis, position=(0.0, 0.0, -LENGTH),
                **how, **joint,  # type: ignore[arg-type]
            )  # fmt: skip


def add_capsules(b: ModelBuilder, links: int, prefix: str = "l", **shape: float) -> None:
    for i in range(links):
        b.add_shape(f"{prefix}{i}", "capsule", (RADIUS, LENGTH), position=(0, 0, -LENGTH / 2), **shape)  # type: ignore[arg-type]


def chains(links: int, count: int = 1, gravity: float = 9.81, restitution: float = 0.0, **joint: float) -> Model:
    """Several of them."""
    b = ModelBuilder("chains", gravity=(0.0, 0.0, -gravity))
    for k in range(count):
        add_chain(b, links, f"c{k}l", **{"damping": 0.05, **joint})
        add_capsules(b, links, f"c{k}l", friction=0.6, restitution=restitution)
    return b.build()


def strewn(model: Model, seed: int, height: float = 0.6, apart: float = 0.9) -> Floats:
    """Each in the air somewhere else, turned and bent at random."""
    rng, q = np.random.default_rng(seed), model.neutral()
    roots = np.flatnonzero(model.parent < 0)
    q[:] += 0.0
    for k, at in enumerate(model.q_index[roots]):
        turn = rng.normal(size=4)
        q[at : at + 3] = apart * k, 0.1 * rng.normal(), height
        q[at + 3 : at + 7] = turn / np.linalg.norm(turn)
    hinges = model.q_index[model.parent >= 0]
    q[hinges] = 0.5 * rng.normal(size=len(hinges))
    return q


def jammed(seed: int, parts: int = 2, touches: int = 16) -> tuple[Model, Floats]:
    """Rigid parts that meet the world and each other in many places at once, with velocities. Nothing weighs anything,
    and no touch has a gap: however short a step is, its forces follow from the same equations."""
    rng, size = np.random.default_rng(seed), 0.01
    b = ModelBuilder("jammed", gravity=(0.0, 0.0, 0.0))
    for i in range(parts):
        mass, inertia = 10 ** rng.uniform(-1, 1), np.array([10 ** rng.uniform(-3, 0), 1.0, 1.0])
        b.add_body(f"part{i}", joint="free", mass=mass, inertia=inertia * 0.05 * 10 ** rng.uniform(-1, 1))
    for _ in range(touches):
        ends: list[int] = [] if rng.random() < 0.6 else rng.choice(parts, 2, replace=False).tolist()
        one, other = ends or (int(rng.integers(parts)), None)
        n = rng.normal(size=3) * (0.3, 0.3, 1.0)
        n[2] = abs(n[2]) if other is None else n[2]
        at, away = rng.uniform(-0.5, 0.5, 3), 2 * size * n / np.linalg.norm(n)
        for body, place in ((one, at), (other, at - away)):
            name = None if body is None else f"part{body}"
            b.add_shape(name, "sphere", (size,), place, friction=0.8)
    return b.build(), rng.normal(size=6 * parts)


def moved_on(model: Model, q: Floats, v: Floats, time: float) -> tuple[Floats, Floats]:
    """Where bodies come with velocities v in some time, and these velocities there: free bodies move along straight
    lines, with the same velocity in the world."""
    after, turned = model.integrate(q, v, time), v.copy()
    for joint in np.flatnonzero(model.joint_type == JointType.FREE):
        k, j = model.q_index[joint], model.v_index[joint]
        velocity = rotation_from_quaternion(q[k + 3 : k + 7]) @ v[j : j + 3]
        after[k : k + 3] = q[k : k + 3] + time * velocity
        turned[j : j + 3] = rotation_from_quaternion(after[k + 3 : k + 7]).T @ velocity
    return after, turned
