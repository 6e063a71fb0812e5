"""A crowd of people on a grid before a camera, pushed away from it [AD Figure 1]."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked
from supple.exact.crba import mass_matrix
from supple.model.builder import ModelBuilder
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.parents import room
from supple.scenes.scene import Floats, Pushes, Scene, SeedNumber, Some
from supple.scenes.skeleton import PELVIS, skeleton

CAMERA = (-4.0, 0.0, 1.7)  #: metres; it looks along x
SPACING = 1.2  #: metres from one person to the next
PUSH = (150.0, 350.0)  #: newtons: the least and the most that somebody is pushed with
SIZES = 0.06  #: people are so much smaller or taller than the skeleton, at most, as a share
DAMPING = 4.0  #: of joints, as a rate: what a joint carries would lose its turning so quickly, a second


@checked
def crowd(rows: Some = 20, columns: Some = 10, seed: SeedNumber = 0) -> Scene:
    """rows x columns people (89 bodies and 95 degrees of freedom each), the first row nearest to the camera.

    They stand at ease, facing the camera, no two alike; each is pushed at the chest, away from the camera. There is
    no ground to fall on, and no gravity. Joints have limits, which nothing enforces, and are damped as much as explicit
    steps of dt bear.
    """
    people, rng = rows * columns, np.random.default_rng(seed)
    room(people * len(skeleton().names))
    size = rng.uniform(1 - SIZES, 1 + SIZES, people)
    model = _people(size, DAMPING * _turning_inertias())
    chest = np.array([model.body_index(f"person {i} chest") for i in range(people)])
    forces = np.zeros((people, 3))
    forces[:, 0] = rng.uniform(*PUSH, people)
    push = Pushes(chest, forces, np.tile((0.1, 0.0, 0.08), (people, 1)))
    rods = (skeleton().rods * size[:, None, None, None]).reshape(-1, 2, 3)
    return Scene(model, _standing(model, rows, columns, size, rng), push, 2.5e-4, rods)


def _people(size: Floats, damping: Floats | float) -> Model:
    """People of given sizes, as shares of the skeleton's; damping: of its joints."""
    person, count = skeleton(), len(size)
    n = len(person.names)

    def scaled(x: NDArray[Any], power: int) -> Floats:
        """x of all people, lengths to this power being in it."""
        out = x * (size**power).reshape(count, *[1] * x.ndim)
        return out.reshape(count * n, *x.shape[1:])

    root = np.tile(person.parent < 0, count)
    position = scaled(person.position, 1)
    position[root] = 0.0  # a free joint says where its body is
    above = person.parent + n * np.arange(count)[:, None]
    b = ModelBuilder("crowd", gravity=(0.0, 0.0, 0.0))
    b.add_bodies(
        np.where(root, -1, above.ravel()),
        person.joint * count,
        names=[f"person {i} {name}" for i in range(count) for name in person.names],
        axis=scaled(person.axis, 0),
        axis2=np.where((np.array(person.joint * count) == "universal")[:, None], (0.0, 0.0, 1.0), np.nan),
        position=position,
        mass=scaled(person.mass, 3),
        com=scaled(person.com, 1),
        inertia=scaled(person.inertia, 5),
        lower=scaled(person.lower, 0),
        upper=scaled(person.upper, 0),
        damping=scaled(np.broadcast_to(damping, n), 5),
    )
    return b.build()


@cache
def _turning_inertias() -> Floats:
    """(n,) what each joint of the skeleton turns, about its own axis, at ease; 0 where a person is free."""
    one = _people(np.ones(1), 0.0)
    turning = np.flatnonzero(one.joint_type == JointType.REVOLUTE)
    at_ease = one.neutral()
    at_ease[one.q_index[turning]] = skeleton().ease[turning]
    inertia = np.diag(mass_matrix(one, at_ease))
    return np.where(one.parent < 0, 0.0, inertia[one.v_index])


def _standing(model: Model, rows: int, columns: int, size: Floats, rng: np.random.Generator) -> Floats:
    """q of people at ease on the grid, each turned to the camera more or less, each a little different."""
    people, person = rows * columns, skeleton()
    lower, upper, ease = (np.tile(x, people) for x in (person.lower, person.upper, person.ease))
    one = np.flatnonzero(model.joint_type == JointType.REVOLUTE)
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
