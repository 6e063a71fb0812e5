"""A crowd on a floor is pushed over: people fall, some of them on others, and come to rest."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked
from supple.contact.room import ContactRoom
from supple.contact.settings import Contacts
from supple.integrating.joint_law import LAW
from supple.model.builder import ModelBuilder
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.parents import room
from supple.scenes.crowd import ACTIVE, AT, GRAVITY, SIZES, joint_damping, make_people, standing
from supple.scenes.scene import Floats, Pushes, Scene, SeedNumber, Some
from supple.scenes.skeleton import skeleton

PUSH = (220.0, 420.0)  #: newtons: the range of pushes
SECONDS = 0.3  #: duration of a push
WAVE = (0.2, 2.2)  #: seconds: start times of pushes, from the front to the back of the crowd
DURATION = 10.0
FRICTION = 0.8
#: N m/rad of the springs that hold a person upright, by limb.
HOLD = {
    "foot": 500.0, "shank": 700.0, "thigh": 700.0, "loin": 600.0, "waist": 500.0, "chest": 400.0, "neck": 60.0,
    "head": 40.0, "collar": 60.0, "upper arm": 15.0, "forearm": 8.0, "palm": 2.0,
}  # fmt: skip
FINGER, SLACK = 0.2, 0.06  #: the same for other limbs; seconds: damping relative to stiffness
#: Contact shapes: capsules along limbs; hands and feet are boxes with these edges and positions.
ROUND = ("pelvis", "waist", "chest", "head", "upper arm", "forearm", "thigh", "shank")
SQUARE = {"foot": ((0.24, 0.09, 0.04), (0.05, 0.0, -0.06)), "palm": ((0.08, 0.03, 0.17), (0.0, 0.0, -0.095))}


@checked
def falling_crowd(rows: Some = 20, columns: Some = 10, seed: SeedNumber = 0) -> Scene:
    """rows x columns people (89 bodies and 95 degrees of freedom each) stand on a floor, no two alike; springs in their
    joints hold them up. A wave of pushes at the chest runs through the crowd: they fall, and come to rest."""
    count, rng = rows * columns, np.random.default_rng(seed)
    room(count * len(skeleton().names))
    size = rng.uniform(1 - SIZES, 1 + SIZES, count)
    model = make_people(size, joint_damping() + SLACK * _hold(), GRAVITY, _hold(), _dress, "falling crowd")
    chest = np.array([model.body_index(f"person {i} chest") for i in range(count)])
    way = np.pi * rng.uniform(-1.0, 1.0, count)
    force = rng.uniform(*PUSH, count)[:, None] * np.stack([np.cos(way), np.sin(way), 0 * way], axis=1)
    begin = WAVE[0] + (WAVE[1] - WAVE[0]) * (np.arange(count) // columns) / max(1, rows - 1)
    push = Pushes(chest, force, np.tile(AT, (count, 1)), np.stack([begin, begin + SECONDS], axis=1))
    rods = (skeleton().rods * size[:, None, None, None]).reshape(-1, 2, 3)
    q = _with_arms_beside(model, standing(model, rows, columns, size, rng))
    return Scene(
        model, q, push, 2e-3, rods, method="adaptive", adaptive={"active": max(1, round(ACTIVE * model.n_bodies))},
        duration=DURATION, contacts=Contacts(ground="below", friction=FRICTION),
    )  # fmt: skip


def _limb(name: str) -> str:
    """The limb of a body: its name without the side, and without the part of a joint."""
    return name.removeprefix("right ").removeprefix("left ").split(" joint ")[0]


@cache
def _hold() -> Floats:
    """(n,) stiffness of the joints of the skeleton."""
    person = skeleton()
    values = [HOLD.get(_limb(name), FINGER) for name in person.names]
    return np.where(person.parent < 0, 0.0, values)


def _with_arms_beside(model: Model, q: Floats) -> Floats:
    """q, with people whose limbs would overlap their own bodies moved halfway to a relaxed posture, repeatedly, until
    nothing overlaps."""
    person, turning = len(skeleton().names), model.joint_type == JointType.REVOLUTE
    ease, room = model.neutral(), ContactRoom(model, np.zeros((0, LAW)), Contacts())
    ease[model.q_index[turning]] = np.tile(skeleton().ease, model.n_bodies // person)[turning]
    on = np.array([shape.body for shape in model.shape_list]) // person
    while True:
        found = room.touching(q)
        inside = (found["gap"] < 0.0) & (on[found["shape"]] == on[found["other"]])
        again = turning & np.isin(np.arange(model.n_bodies) // person, on[found["shape"][inside]])
        if not again.any():
            return q
        at = model.q_index[again]
        q[at] = 0.5 * (q[at] + ease[at])


@cache
def _capsules() -> dict[int, tuple[float, float, Floats, NDArray[np.float64]]]:
    """By body of the skeleton: radius, length, middle and rotation of its capsule."""
    person, out = skeleton(), {}
    for k, name in enumerate(person.names):
        if " joint " not in name and _limb(name) in ROUND:
            begin, end = person.rods[k]
            length = float(np.linalg.norm(end - begin))
            turn = rotation_to_z(((end - begin) / length)[None])[0]
            out[k] = float(person.radius[k]), length, 0.5 * (begin + end), turn
    return out


def _dress(b: ModelBuilder, i: int, size: float) -> None:
    """Adds the shapes of person i."""
    names = skeleton().names
    for k, (radius, length, at, turn) in _capsules().items():
        limb = f"person {i} {names[k]}"
        b.add_shape(limb, "capsule", (size * radius, size * length), size * at, turn, name=limb)
    for side in ("right", "left"):
        for limb, (edges, place) in SQUARE.items():
            end = f"person {i} {side} {limb}"
            b.add_shape(end, "box", [size * x for x in edges], size * np.array(place), name=end)
