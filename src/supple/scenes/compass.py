"""The compass biped: two stiff legs on point feet that walk down a slope by gravity alone [RR section 8, Table 1]."""

from __future__ import annotations

from functools import wraps
from typing import Any, Literal

import numpy as np

from supple.errors import StateError
from supple.model.builder import ModelBuilder
from supple.scenes.scene import Pushes, Scene
from supple.simulating.gaits import gait
from supple.simulating.impacts import impact
from supple.simulating.walking import Walker, events

#: Table 1, just before an impact: angles of the stance leg and, from it, of the swing leg; their rates.
TABLE_1 = (-0.3236, 0.5424), (-1.4939, -0.3117)
SLOPE = 0.0524
AXIS = (0.0, -1.0, 0.0)  #: of all joints: angles count counter-clockwise in the x-z plane


def compass(
    slope: float = SLOPE,
    hip_mass: float = 2.0,
    leg_mass: float = 1.0,
    length: float = 1.0,
    leg_center: float = 0.5,
    gravity: float = 9.81,
    start: Literal["table", "cycle"] = "table",
) -> Walker:
    """A compass biped that walks towards +x, down a slope of so many radians.

    leg_center: how far above its foot a leg has its mass, as a share of the length. start: "table", just after the
    impact with which Table 1 ends (its angles shifted for other slopes, its rates scaled for other lengths); or
    "cycle", on the periodic gait near there.

    Legs are `left` and `right`, with frames `left foot`, `right foot` and `hip`; the hip's mass is on the left leg.
    """
    sizes = dict(hip_mass=hip_mass, leg_mass=leg_mass, length=length, leg_center=leg_center, gravity=gravity)
    for name, x in sizes.items():
        if not (np.isfinite(x) and x > 0) or (name == "leg_center" and x > 1):
            raise StateError(f"{name} must be a number above zero{' and up to 1' * (name == 'leg_center')}, not {x!r}")
    if not -1.0 < slope < 1.0:
        raise StateError(f"slope must be between -1 and 1 radians, not {slope!r}")
    if start not in ("table", "cycle"):
        raise StateError(f"start must be 'table' or 'cycle', not {start!r}")
    up = leg_center * length
    total = hip_mass + leg_mass
    com = (hip_mass * length + leg_mass * up) / total
    spread = hip_mass * (length - com) ** 2 + leg_mass * (up - com) ** 2
    b = ModelBuilder("compass", gravity=(0.0, 0.0, -gravity))
    leg = dict(axis=AXIS, joint="revolute")
    b.add_body("left", joint_name="support", mass=total, com=(0, 0, com), inertia=(spread, spread, 0.0), **leg)  # type: ignore[arg-type]
    place = dict(position=(0.0, 0.0, length), com=(0.0, 0.0, up - length))
    b.add_body("right", "left", joint_name="hip joint", mass=leg_mass, **place, **leg)  # type: ignore[arg-type]
    b.add_frame("left foot", "left")
    b.add_frame("right foot", "right", (0.0, 0.0, -length))
    b.add_frame("hip", "left", (0.0, 0.0, length))
    for name, z in (("left", 0.5 * length), ("right", -0.5 * length)):
        b.add_visual(name, "cylinder", (0.02 * length, length), position=(0.0, 0.0, z))
        b.add_visual(name, "sphere", (0.05 * length,), position=(0.0, 0.0, up if name == "left" else up - length))
    b.add_visual("left", "sphere", (0.08 * length,), position=(0.0, 0.0, length))
    model = b.build()
    (_, half), rates = TABLE_1
    q = np.array([-slope - 0.5 * half, half])  # both feet on the ground
    v = np.sqrt(gravity / (9.81 * length)) * np.array(rates)
    hit = impact(model, q, v, body="right foot", axis=AXIS)
    walker = Walker(
        name="compass",
        model=hit.model,
        q=hit.q,
        v=hit.v,
        feet=("right foot", "left foot"),
        guard="hip",
        least=0.3 * length,
        normal=np.array([np.sin(slope), 0.0, np.cos(slope)]),
        forward=np.array([np.cos(slope), 0.0, -np.sin(slope)]),
        axis=np.array(AXIS),
        clearance=1e-3 * length,
        parameters=dict(sizes, slope=slope),
    )
    return gait(walker).walker if start == "cycle" else walker


@wraps(compass)
def compass_scene(*args: Any, **parameters: Any) -> Scene:
    """The walker as a scene for `supple run`: its feet land and its root changes as events of the run."""
    walker = compass(*args, **parameters)
    model = walker.model
    rods = np.zeros((model.n_bodies, 2, 3))
    for foot in (model.frames[name] for name in walker.feet):
        rods[foot.body] = foot.position, foot.position + [0.0, 0.0, walker.parameters["length"]]
    nothing = Pushes(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
    return Scene(
        model, walker.q, nothing, 5e-3, rods, v0=walker.v, events=events(walker), method="aba", duration=6.0
    )  # fmt: skip
