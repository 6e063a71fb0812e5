"""Ragdolls that fall and come to rest: Supple and MuJoCo from the same states, with the same shapes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.bench.contact_peers import mujoco_data, mujoco_model
from supple.bench.rows import Row
from supple.contact.room import ContactRoom
from supple.contact.settings import Contacts
from supple.integrating.implicit import PARTS
from supple.integrating.model_law import passive_rows
from supple.model.builder import ModelBuilder
from supple.model.joints import JointName
from supple.model.model import Model

Floats = NDArray[np.float64]

DT, WHOLE, DROPS = 2e-3, 3.0, 3  #: seconds of a step, and of a run; number of runs
BOUNDS = (1.0, 1.5)  #: times faster than mj_step: (floor, aim)
BENDS = 2.4  #: radians that elbows and knees bend at most
UP, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)
ASIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  #: a capsule along y


def ragdoll() -> Model:
    """A person of eleven capsules, with damped joints; elbows and knees have limits."""
    b = ModelBuilder("ragdoll")

    def limb(
        name: str, above: str | None, joint: JointName, at: tuple[float, float, float], radius: float, length: float,
        way: tuple[float, float, float], mass: float, lower: float = -np.inf,
    ) -> None:  # fmt: skip
        out, across = np.array(way), mass * (0.25 * radius**2 + length**2 / 12)
        b.add_body(
            name, parent=above, joint=joint, position=at, mass=mass, com=0.5 * length * out,
            inertia=across + (0.5 * mass * radius**2 - across) * np.abs(out), damping=0.0 if above is None else 0.3,
            axis=(0.0, 1.0, 0.0) if way[2] else UP, lower=lower, upper=np.inf if lower == -np.inf else BENDS,
        )  # fmt: skip
        b.add_shape(name, "capsule", (radius, length - 0.02), 0.5 * length * out, np.eye(3) if way[2] else ASIDE)

    limb("pelvis", None, "free", (0.0, 0.0, 0.0), 0.11, 0.15, UP, 11.0)
    limb("chest", "pelvis", "ball", (0.0, 0.0, 0.2), 0.13, 0.30, UP, 22.0)
    limb("head", "chest", "ball", (0.0, 0.0, 0.48), 0.09, 0.14, UP, 5.0)
    for side, y in (("left", 1.0), ("right", -1.0)):
        out = (0.0, y, 0.0)
        limb(f"{side} arm", "chest", "ball", (0.0, 0.22 * y, 0.28), 0.045, 0.28, out, 2.5)
        limb(f"{side} forearm", f"{side} arm", "revolute", (0.0, 0.30 * y, 0.0), 0.04, 0.26, out, 1.5, -BENDS)
        limb(f"{side} thigh", "pelvis", "ball", (0.0, 0.12 * y, -0.08), 0.07, 0.42, DOWN, 8.0)
        limb(f"{side} shank", f"{side} thigh", "revolute", (0.0, 0.0, -0.44), 0.055, 0.42, DOWN, 4.0, 0.0)
    return b.build()


def dropped(model: Model, seed: int) -> tuple[Floats, Floats]:
    """A random initial state."""
    rng, q = np.random.default_rng(seed), model.neutral()
    turn = rng.normal(size=4) + (0.0, 0.0, 0.0, 2.0)
    q[2], q[3:7] = 1.3, turn / np.linalg.norm(turn)
    return q, 0.5 * rng.normal(size=model.nv)


def _ours(room: ContactRoom, q: Floats, v: Floats, steps: int) -> Floats:
    """Seconds of each step, from a state."""
    room.known, tau, taken = room.known[:0], np.zeros(room.model.nv), np.zeros(steps)
    for k in range(steps):
        begun = time.process_time()
        if not room.take(q, v, DT, tau, None):
            for part in range(PARTS):
                room.part(part, DT, tau, None)
        taken[k] = time.process_time() - begun
        q, v = room.q.copy(), room.v.copy()
    return taken


def _theirs(mujoco: Any, model: Any, room: ContactRoom, q: Floats, v: Floats, steps: int) -> Floats:
    data, taken = mujoco_data(mujoco, model, room.model, q, v), np.zeros(steps)
    for k in range(steps):
        begun = time.process_time()
        mujoco.mj_step(model, data)
        taken[k] = time.process_time() - begun
    return taken


def falls(mujoco: Any, quick: bool) -> list[Row]:
    """Medians and means over all steps; the time of each step is the least of several runs."""
    model, steps, found = ragdoll(), round(WHOLE / DT), []
    room = ContactRoom(model, passive_rows(model), Contacts(ground=0.0, friction=0.8))
    other = mujoco_model(mujoco, room, DT, False)
    for seed in range(DROPS):
        q, v = dropped(model, seed)
        ours, theirs = np.full((2, steps), np.inf)
        for _ in range(2 if quick else 5):
            ours = np.minimum(ours, _ours(room, q, v, steps))
            theirs = np.minimum(theirs, _theirs(mujoco, other, room, q, v, steps))
        for name, of in (("median", np.median), ("mean", np.mean)):
            found.append(Row(f"drop {seed + 1}, {name}", float(of(ours)), "s", float(of(theirs)), "mj_step", *BOUNDS))
    return found
