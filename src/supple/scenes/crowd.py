"""A crowd of people on a grid before a camera [AD Figure 1], hung up like puppets, and pushed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import checked
from supple.exact.crba import mass_matrix
from supple.exact.kinematics import poses
from supple.model.builder import ModelBuilder
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.parents import room
from supple.scenes.scene import Floats, Pushes, Scene, SeedNumber, Some, Springs
from supple.scenes.skeleton import PELVIS, skeleton

CAMERA = (-4.0, 0.0, 1.7)  #: metres; it looks along x
SPACING = 1.2  #: metres from one person to the next
PUSH = (150.0, 350.0)  #: newtons: the least and the most that somebody is pushed with
AT = (0.1, 0.0, 0.08)  #: where, on the chest
SIZES = 0.06  #: people are so much smaller or taller than the skeleton, at most, as a share
DAMPING = 4.0  #: of joints, as a rate, a second
DURATION = 10.0
SECONDS = 0.3  #: that a push of a puppet lasts
WAVES = ((0.5, 4.5), (5.0, 9.0))  #: seconds in which pushes run through the crowd: from the front, from one side
ACTIVE = 0.05  #: of the joints move, in adaptive dynamics
#: What holds a puppet: of which body, at what point, the share of the weight that it carries. The head's carries a
#: little more than what is above the pelvis, so that the spine hangs straight.
STRINGS = (("pelvis", (0.0, 0.0, 0.08), 0.44), ("head", (0.02, 0.0, 0.2), 0.56))
SAG, STRING_DAMPING = 0.6, 0.6  #: metres that weight lengthens a string; a second: of what it carries
GRAVITY = (0.0, 0.0, -9.81)


@checked
def crowd(rows: Some = 20, columns: Some = 10, seed: SeedNumber = 0, puppets: bool = True) -> Scene:
    """rows x columns people (89 bodies and 95 degrees of freedom each), the first row nearest to the camera.

    They stand at ease, facing the camera, no two alike. There is no ground to fall on: each hangs on two soft springs,
    at the pelvis and the head, and is pushed at the chest twice, for a moment: one wave of pushes runs through the
    crowd from the front to the back, another one from side to side. Joints have limits, which nothing enforces, and are
    damped. puppets=False is the crowd of AD Figure 1: no gravity, no springs, and everybody is pushed away from the
    camera all the time.
    """
    people, rng = rows * columns, np.random.default_rng(seed)
    room(people * len(skeleton().names))
    size = rng.uniform(1 - SIZES, 1 + SIZES, people)
    model = make_people(size, joint_damping(), GRAVITY if puppets else (0.0, 0.0, 0.0))
    chest = np.array([model.body_index(f"person {i} chest") for i in range(people)])
    strength = rng.uniform(*PUSH, people)
    at = np.tile(AT, (people, 1))
    rods = (skeleton().rods * size[:, None, None, None]).reshape(-1, 2, 3)
    adaptive = {"active": max(1, round(ACTIVE * model.n_bodies))}
    q = standing(model, rows, columns, size, rng)
    if not puppets:
        push = Pushes(chest, strength[:, None] * (1.0, 0.0, 0.0), at)
        return Scene(model, q, push, 1e-3, rods, method="adaptive", adaptive=adaptive, duration=1.0)
    row, column = np.divmod(np.arange(people), columns)
    along = np.array([row / max(1, rows - 1), column / max(1, columns - 1)])  # how far a wave has come, from 0 to 1
    begin = np.concatenate([a + (b - a) * x for (a, b), x in zip(WAVES, along)])
    forces = np.concatenate([strength[:, None] * way for way in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))])
    push = Pushes(np.tile(chest, 2), forces, np.tile(at, (2, 1)), np.stack([begin, begin + SECONDS], axis=1))
    springs = _strings(model, q, size)
    return Scene(model, q, push, 1e-3, rods, springs, method="adaptive", adaptive=adaptive, duration=DURATION)


def _strings(model: Model, q: Floats, size: Floats) -> Springs:
    """The springs of puppets that stand as they do at q."""
    weight = -GRAVITY[2] * np.add.reduceat(model.mass, np.flatnonzero(model.parent < 0))
    rotation, position = poses(model, q)
    rows = []
    for name, point, share in STRINGS:
        bodies = np.array([model.body_index(f"person {i} {name}") for i in range(len(size))])
        points = size[:, None] * point
        anchors = position[bodies] + np.einsum("mij,mj->mi", rotation[bodies], points) + (0.0, 0.0, SAG)
        stiffness = share * weight / SAG
        rows.append((bodies, points, anchors, stiffness, STRING_DAMPING * share * weight / -GRAVITY[2]))
    return Springs(*(np.concatenate(x) for x in zip(*rows)))


def make_people(
    size: Floats,
    damping: Floats | float,
    gravity: ArrayLike = (0.0, 0.0, 0.0),
    stiffness: Floats | float = 0.0,
    dress: Callable[[ModelBuilder, int, float], None] | None = None,
    name: str = "crowd",
) -> Model:
    """People of given sizes, as shares of the skeleton's; damping, stiffness: of its joints, whose springs are at rest
    where somebody stands at ease. dress: adds shapes to a person of a number and a size."""
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
    b = ModelBuilder(name, gravity=gravity)
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
        stiffness=scaled(np.broadcast_to(stiffness, n), 4),
        rest=scaled(person.ease, 0),
    )
    for i in range(count if dress is not None else 0):
        assert dress is not None
        dress(b, i, float(size[i]))
    return b.build()


@cache
def joint_damping() -> Floats:
    """(n,) of the joints of the skeleton; 0 where a person is free.

    Each is DAMPING times an inertia: the mean of that of all it carries, rigid, and of that with which it begins to
    move where all other joints give way. By the first alone small joints would stop at once, and explicit steps would
    have to be as short; by the second alone large ones would hardly be damped.
    """
    one = make_people(np.ones(1), 0.0)
    turning = np.flatnonzero(one.joint_type == JointType.REVOLUTE)
    at_ease = one.neutral()
    at_ease[one.q_index[turning]] = skeleton().ease[turning]
    H = mass_matrix(one, at_ease)
    inertia = np.sqrt(np.diag(H) / np.diag(np.linalg.inv(H)))
    return np.where(one.parent < 0, 0.0, DAMPING * inertia[one.v_index])


def standing(model: Model, rows: int, columns: int, size: Floats, rng: np.random.Generator) -> Floats:
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
