"""Time per step of chains that fall on the ground and lie there, by number of links."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from supple.bench.rows import Row
from supple.contact.room import ContactRoom
from supple.contact.settings import Contacts
from supple.integrating.joint_law import LAW
from supple.model.builder import ModelBuilder
from supple.model.joints import JointName
from supple.model.model import Model
from supple.model.shapes import Shape

Floats = NDArray[np.float64]

CHAINS = 100, 500, 1_000, 5_000, 20_000  #: links
LINK, RADIUS, MASS, FRICTION = 0.1, 0.01, 0.1, 0.5
TURN, SPEED, DT = 0.5, 0.2, 2e-3  #: radians between links; m/s at the start, as after a fall of 2 mm; seconds
LANDING, SETTLING, WINDOW = 5, 50, 20  #: steps


def lying(n: int) -> list[Row]:
    """Mean times of the steps in which a chain lands, and of those in which it lies still."""
    model, q = _zigzag(n)
    room, v = ContactRoom(model, np.zeros((0, LAW)), Contacts(ground=0.0)), np.zeros(model.nv)
    v[2], tau, taken = -SPEED, np.zeros(model.nv), []
    room.take(q, v, DT, tau, None)  # allocates memory
    for _ in range(LANDING + SETTLING + WINDOW):
        begun = time.process_time()
        room.take(q, v, DT, tau, None)
        taken.append(time.process_time() - begun)
        q, v = room.q.copy(), room.v.copy()
    return [
        Row(f"{n:,} links, landing", float(np.mean(taken[:LANDING])), "s"),
        Row(f"{n:,} links, lying", float(np.mean(taken[-WINDOW:])), "s"),
    ]


def _zigzag(n: int) -> tuple[Model, Floats]:
    """A zigzag of capsules connected by ball joints, that just touches the ground."""
    b, along = ModelBuilder("chain"), np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    joints: list[JointName] = ["ball"] * n
    joints[0] = "free"
    middle = np.array([0.5 * LINK, 0.0, 0.0])
    b.add_bodies(
        np.arange(-1, n - 1), joints, position=np.where(np.arange(n)[:, None] > 0, 2.0 * middle, 0.0), mass=MASS,
        com=middle, inertia=MASS * np.diag([0.5 * RADIUS**2, LINK**2 / 12, LINK**2 / 12]),
    )  # fmt: skip
    shapes = tuple(Shape(f"s{i}", i, "capsule", (RADIUS, LINK), middle, along, friction=FRICTION) for i in range(n))
    model = replace(b.build(), shape_list=shapes)
    q, half = model.neutral(), np.where(np.arange(n - 1) % 2, 0.5 * TURN, -0.5 * TURN)
    q[2] = RADIUS
    q[9::4], q[10::4] = np.sin(half), np.cos(half)
    return model, q
