"""The compass biped: two stiff legs on point feet that walk down a slope by gravity alone [RR section 8, Table 1]."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from supple.arguments import NotNegative, Positive, checked, number
from supple.model.builder import ModelBuilder
from supple.model.model import Model
from supple.scenes.scene import NO_PUSHES, Scene
from supple.walking.gaits import on_gait
from supple.walking.impacts import impact
from supple.walking.walkers import Walker, events

Floats = NDArray[np.float64]

#: Table 1, just before an impact: angles of the stance leg and, from it, of the swing leg; their rates.
TABLE_1 = (-0.3236, 0.5424), (-1.4939, -0.3117)
SLOPE = 0.0524
AXIS = (0.0, -1.0, 0.0)  #: of all joints: angles count counter-clockwise in the x-z plane


#: Of the length: legs so light that the centre of mass of hip and leg is nearer to the hip get a mass that puts it
#: there. It changes how the hip moves by less than rounding does.
VANISHING = 2.0**-50

BETWEEN = number("a number between -1 and 1 (radians)", -1.0, np.nextafter(1.0, 0.0), above=True)
CENTER = number(
    "a number from 0 to less than 1 (with its mass in the hip, a leg that swings has no inertia)",
    0.0,
    np.nextafter(1.0, 0.0),
)


@checked
def compass(
    slope: Annotated[float, BETWEEN] = SLOPE,
    hip_mass: Positive = 2.0,
    leg_mass: NotNegative = 1.0,
    length: Positive = 1.0,
    leg_center: Annotated[float, CENTER] = 0.5,
    gravity: Positive = 9.81,
    start: Literal["table", "cycle"] = "table",
) -> Walker:
    """A compass biped that walks towards +x, down a slope of so many radians.

    leg_mass: 0 is the limit of vanishing mass. leg_center: how far above its foot a leg has its mass, as a share of the
    length: from 0, in the foot, to less than 1 (in the hip it would leave the leg without inertia). start: "table",
    just after the impact with which Table 1 ends (its angles shifted for other slopes, its rates scaled for other
    lengths); or "cycle", on the periodic gait near there.

    Legs are `left` and `right`, with frames `left foot`, `right foot` and `hip`; the hip's mass is on the left leg.
    """
    sizes = dict(hip_mass=hip_mass, leg_mass=leg_mass, length=length, leg_center=leg_center, gravity=gravity)
    model = compass_model("compass", hip_mass, leg_mass, length, leg_center, gravity)
    (_, half), rates = TABLE_1
    q = np.array([-slope - 0.5 * half, half])  # both feet on the ground
    v = np.sqrt(gravity / (9.81 * length)) * np.array(rates)
    hit = impact(model, q, v, body="right foot", axis=AXIS)
    walker = on_slope(hit.model, hit.q, hit.v, slope, sizes)
    return on_gait(walker) if start == "cycle" else walker


def compass_model(
    name: str,
    hip_mass: float,
    leg_mass: float,
    length: float,
    leg_center: float,
    gravity: float,
    support: Literal["revolute", "planar"] = "revolute",
    dress: Callable[[ModelBuilder], None] | None = None,
) -> Model:
    """Standing on its left foot, or with a planar joint free to move. dress: adds shapes.

    Of a light leg the digits are in how far below the hip the left leg and the hip have their centre of mass: `lower`.
    That is rounded first to what can be told from the foot, and the masses follow: so no digits are lost when the tree
    is re-rooted, and the legs stay alike.
    """
    total, up = hip_mass + leg_mass, leg_center * length
    lower = max(leg_mass / total * (length - up), VANISHING * length)
    lower = length - (length - lower)
    leg_mass = total * lower / (length - up)
    above = length - up - lower
    spread = (total - leg_mass) * (lower * lower) + leg_mass * (above * above)
    b = ModelBuilder(name, gravity=(0.0, 0.0, -gravity))
    com, inertia = (0.0, 0.0, length - lower), (spread, spread, 0.0)
    b.add_body("left", joint=support, axis=AXIS, joint_name="support", mass=total, com=com, inertia=inertia)
    b.add_body("right", "left", joint="revolute", axis=AXIS, joint_name="hip joint", mass=leg_mass,
               position=(0.0, 0.0, length), com=(0.0, 0.0, up - length))  # fmt: skip
    b.add_frame("left foot", "left")
    b.add_frame("right foot", "right", (0.0, 0.0, -length))
    b.add_frame("hip", "left", (0.0, 0.0, length))
    for leg_name, z in (("left", 0.5 * length), ("right", -0.5 * length)):
        b.add_visual(leg_name, "cylinder", (0.02 * length, length), position=(0.0, 0.0, z))
        b.add_visual(leg_name, "sphere", (0.05 * length,), position=(0.0, 0.0, up + z - 0.5 * length))
    b.add_visual("left", "sphere", (0.08 * length,), position=(0.0, 0.0, length))
    if dress is not None:
        dress(b)
    return b.build()


def on_slope(model: Model, q: Floats, v: Floats, slope: float, sizes: dict[str, float]) -> Walker:
    """The walker of a model that stands on its right foot."""
    length = sizes["length"]
    return Walker(
        name=model.name,
        model=model,
        q=q,
        v=v,
        feet=("right foot", "left foot"),
        guard="hip",
        least=0.3 * length,
        normal=np.array([np.sin(slope), 0.0, np.cos(slope)]),
        forward=np.array([np.cos(slope), 0.0, -np.sin(slope)]),
        axis=np.array(AXIS),
        clearance=1e-3 * length,
        parameters=dict(sizes, slope=slope),
    )


def walker_scene(walker: Walker, duration: float, dt: float) -> Scene:
    """A walker as a scene for `supple run`: its feet land and its root changes as events of the run."""
    model = walker.model
    rods = np.zeros((model.n_bodies, 2, 3))
    for foot in (model.frames[name] for name in walker.feet):
        rods[foot.body] = foot.position, foot.position + [0.0, 0.0, walker.parameters["length"]]
    return Scene(
        model, walker.q, NO_PUSHES, dt, rods, v0=walker.v, events=events(walker), duration=duration,
        ground=np.array([*walker.normal, walker.normal @ model.position[0]]),
    )  # fmt: skip


@wraps(compass)
def compass_scene(*args: Any, **parameters: Any) -> Scene:
    """The walker as a scene for `supple run`."""
    return walker_scene(compass(*args, **parameters), duration=6.0, dt=5e-3)
