"""A biped robot is dropped on its feet; its motors keep it upright."""

from __future__ import annotations

from typing import Any

import numpy as np

from supple.arguments import Positive, checked
from supple.contact.settings import Contacts
from supple.model.builder import ModelBuilder
from supple.scenes.scene import NO_PUSHES, Scene
from supple.simulating.forces import Controller

HIP, THIGH, SHANK, ANKLE = 0.12, 0.35, 0.35, 0.08  #: metres: from the middle to a hip; lengths; height of an ankle
JOINTS = {"hip roll": 0.07, "ankle": 0.05}  #: radii of balls by which bodies without shapes are drawn
BEND = 0.35  #: radians: hips and ankles are bent by this angle, knees by twice as much
STIFFNESS, DAMPING = 600.0, 30.0  #: of its motors: N m/rad and N m s/rad
LEG = (
    ("hip roll", (1.0, 0.0, 0.0), 1.0, 0.0), ("hip", (0.0, 1.0, 0.0), 5.0, -BEND),
    ("knee", (0.0, 1.0, 0.0), 3.0, 2 * BEND), ("ankle", (0.0, 1.0, 0.0), 0.5, -BEND),
    ("ankle roll", (1.0, 0.0, 0.0), 1.2, 0.0),
)  # fmt: skip


@checked
def standing_robot(height: Positive = 0.05) -> Scene:
    """A robot with eleven motors is dropped on its feet from a height, with bent knees, and stands."""
    b, targets = ModelBuilder("standing robot"), {}
    b.add_body("trunk", joint="free", mass=22.0, com=(0.0, 0.0, 0.2), inertia=(0.6, 0.5, 0.3))
    b.add_shape("trunk", "box", (0.2, 0.3, 0.4), (0.0, 0.0, 0.22), name="trunk")
    b.add_body("head", parent="trunk", joint="revolute", axis=(0.0, 0.0, 1.0), position=(0.0, 0.0, 0.45), mass=2.0,
               com=(0.0, 0.0, 0.1), inertia=(0.01, 0.01, 0.01))  # fmt: skip
    b.add_shape("head", "capsule", (0.1, 0.05), (0.0, 0.0, 0.095), name="head")
    for side, y in (("left", HIP), ("right", -HIP)):
        parent, at = "trunk", (0.0, y, 0.0)
        for name, axis, mass, angle in LEG:
            length = {"hip": THIGH, "knee": SHANK}.get(name, 0.0)
            how: dict[str, Any] = dict(mass=mass, com=(0.0, 0.0, -0.5 * length))
            how["inertia"] = mass * (np.array([length**2 / 12] * 2 + [0.0]) + 4e-3)
            b.add_body(f"{side} {name}", parent=parent, joint="revolute", axis=axis, position=at,
                       joint_name=f"{side} {name}", **how)  # fmt: skip
            if name in JOINTS:
                b.add_visual(f"{side} {name}", "sphere", (JOINTS[name],))
            if length:
                limb = {"hip": "thigh", "knee": "shank"}[name]
                b.add_shape(f"{side} {name}", "capsule", (0.05, length - 0.1), (0.0, 0.0, -0.5 * length),
                            name=f"{side} {limb}")  # fmt: skip
            targets[f"{side} {name}"] = angle
            parent, at = f"{side} {name}", (0.0, 0.0, -length)
        b.add_shape(f"{side} ankle roll", "box", (0.24, 0.12, 0.04), (0.03, 0.0, 0.02 - ANKLE), friction=0.8,
                    name=f"{side} foot")  # fmt: skip
    model = b.build()
    q = model.neutral()
    for name, angle in targets.items():
        q[model.joints[name].q] = angle
    q[2] = (THIGH + SHANK) * np.cos(BEND) + ANKLE + height
    motors = [Controller(name, STIFFNESS, DAMPING, target=angle) for name, angle in targets.items()]
    motors.append(Controller(model.joint_names[1], 20.0, 1.0, target=0.0))
    rods = np.zeros((model.n_bodies, 2, 3))
    for i, name in enumerate(model.body_names):
        length = {"hip": THIGH, "knee": SHANK}.get(name.split(" ", 1)[-1], 0.0)
        rods[i, 1] = (0.0, 0.0, -length)
    rods[0, 1], rods[1, 1] = (0.0, 0.0, 0.45), (0.0, 0.0, 0.2)
    for side in ("left", "right"):
        foot = model.body_index(f"{side} ankle roll")
        rods[foot] = (-0.08, 0.0, -ANKLE), (0.14, 0.0, -ANKLE)
    return Scene(
        model, q, NO_PUSHES, 2e-3, rods, forces=tuple(motors), duration=3.0, contacts=Contacts(ground=0.0), solid=True
    )
