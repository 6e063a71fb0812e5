"""A crowd of people on a grid before a camera, pushed away from it [AD Figure 1]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.model.builder import ModelBuilder
from supple.model.model import Model
from supple.scenes.scene import Floats, Pushes, Scene, at_least
from supple.scenes.skeleton import PELVIS, skeleton

CAMERA = (-4.0, 0.0, 1.7)  #: metres; it looks along x
SPACING = 1.2  #: metres from one person to the next
PUSH = (150.0, 350.0)  #: newtons: the least and the most that somebody is pushed with
SIZES = 0.06  #: people are so much smaller or taller than the skeleton, at most, as a share
DAMPING = 4.0  #: of joints, as a rate: a limb alone would lose its turning so quickly, a second


def crowd(rows: int = 20, columns: int = 10, seed: int = 0) -> Scene:
    """rows x columns people (89 bodies and 95 degrees of freedom each), the first row nearest to the camera.

    They stand at ease, facing the camera, no two alike; each is pushed at the chest, away from the camera. There is
    no ground to fall on, and no gravity. Joints have limits, which nothing enforces, and are damped a little.
    """
    rows, columns = at_least("rows", rows, 1), at_least("columns", columns, 1)
    people, person = rows * columns, skeleton()
    n, rng = len(person.names), np.random.default_rng(seed)
    size = np.repeat(rng.uniform(1 - SIZES, 1 + SIZES, people), n)
    which = np.arange(people).repeat(n)

    def tiled(x: NDArray[Any]) -> NDArray[Any]:
        return np.tile(x, (people,) + (1,) * (x.ndim - 1))

    parent = tiled(person.parent)
    root = parent < 0
    position = tiled(person.position) * size[:, None]
    position[root] = 0.0  # a free joint says where its body is
    mass, com = tiled(person.mass) * size**3, tiled(person.com) * size[:, None]
    inertia = tiled(person.inertia) * (size**5)[:, None, None]
    rods = tiled(person.rods) * size[:, None, None]
    length = np.linalg.norm(rods[:, 1], axis=1)
    damping = np.where(root, 0.0, DAMPING * (mass * length**2 / 3 + inertia[:, 1, 1]))
    b = ModelBuilder("crowd", gravity=(0.0, 0.0, 0.0))
    b.add_bodies(
        np.where(root, -1, parent + n * which),
        person.joint * people,
        names=[f"person {i} {name}" for i in range(people) for name in person.names],
        axis=tiled(person.axis),
        axis2=np.where((np.array(person.joint * people) == "universal")[:, None], (0.0, 0.0, 1.0), np.nan),
        position=position,
        mass=mass,
        com=com,
        inertia=inertia,
        lower=tiled(person.lower),
        upper=tiled(person.upper),
        damping=damping,
    )
    model = b.build()
    chest = np.array([model.body_index(f"person {i} chest") for i in range(people)])
    forces = np.zeros((people, 3))
    forces[:, 0] = rng.uniform(*PUSH, people)
    push = Pushes(chest, forces, np.tile((0.1, 0.0, 0.08), (people, 1)))
    return Scene(model, _standing(model, rows, columns, size[::n], rng), push, 1e-3, rods)


def _standing(model: Model, rows: int, columns: int, size: Floats, rng: np.random.Generator) -> Floats:
    """q of people at ease on the grid, each turned to the camera more or less, each a little different."""
    people, person = rows * columns, skeleton()
    lower, upper, ease = (np.tile(x, people) for x in (person.lower, person.upper, person.ease))
    one = np.flatnonzero(np.array(person.joint * people) == "revolute")
    q = model.neutral()
    room = upper[one] - lower[one]
    angle = ease[one] + 0.03 * room * rng.standard_normal(len(one))
    q[model.q_index[one]] = np.clip(angle, lower[one], upper[one])
    row, column = np.divmod(np.arange(people), columns)
    turn = np.pi + 0.3 * rng.standard_normal(people)
    at = model.q_index[model.parent < 0]
    jitter = 0.1 * SPACING * rng.standard_normal((people, 2))
    q[at] = SPACING * row + jitter[:, 0]
    q[at + 1] = SPACING * (column - 0.5 * (columns - 1)) + jitter[:, 1]
    q[at + 2] = PELVIS * size
    q[at + 5], q[at + 6] = np.sin(0.5 * turn), np.cos(0.5 * turn)
    return q
