"""The compass biped of compass.py, with feet held by contact and friction only: no root changes, no events.

Legs of equal length scuff the ground: a swinging foot is a few millimetres below it before it passes the other one.
Experimental walkers use stepping stones, and so does this one: a checkerboard whose squares are a step long. Each foot
has its own row, side by side, with a pit between two squares of a row:

    left    ####....####....####....
    right   ....####....####....####       -> down the slope

A foot lands a little beyond the middle of a square; the next square of its row begins after it has passed the other
foot.

Feet have a tiny restitution, so that a part of a time step ends at touchdown and both feet take part in the impact, as
where roots change. Without it, an impact would be spread over two time steps, the first of which stops the foot
tangentially and presses the other one on the ground: stride lengths would scatter by half a percent, however short the
time steps.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from supple.arguments import checked
from supple.contact.settings import Contacts
from supple.exact.kinematics import poses, velocities
from supple.model.builder import ModelBuilder
from supple.scenes.compass import AXIS, BETWEEN, SLOPE, compass, compass_model
from supple.scenes.scene import NO_PUSHES, Floats, Scene, Some
from supple.simulating.result import Result
from supple.walking.gaits import gait
from supple.walking.walkers import Walker

BEHIND = 0.6  #: of a stride: from where a square begins to where a foot lands on it
APART, WIDE, THICK = 0.2, 0.15, 0.05  #: of the leg length: between the feet; width and thickness of squares
SOLE = 0.015  #: of the leg length: how thick the drawn part of a foot is, beside its leg
ACROSS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  #: z of a capsule along y
POINT = 1e-6  #: of the leg length: the radius of a foot
DULL = 1e-9  #: the restitution of feet
SIZES = ("hip_mass", "leg_mass", "length", "leg_center", "gravity")


@checked
def walker_by_contact(slope: Annotated[float, BETWEEN] = SLOPE, steps: Some = 8) -> Scene:
    """The compass biped walks down a slope, in radians, over stepping stones, for a number of steps.

    It is the walker of `compass`, which changes its root where a foot lands; here contact and friction hold its feet.
    """
    found = gait(compass(slope, start="cycle"))
    walker, step = found.walker, found.step_length
    length = walker.parameters["length"]
    along = np.stack([walker.forward, (0.0, 1.0, 0.0), walker.normal], axis=1)

    def dress(b: ModelBuilder) -> None:
        for leg, side, z in (("left", 1, 0.0), ("right", -1, -length)):
            place = (0.0, 0.5 * side * APART * length, z)
            b.add_shape(leg, "sphere", (POINT * length,), place, name=f"{leg} foot", restitution=DULL)
            sole = (SOLE * length, 0.5 * APART * length)  # from the leg, which is halfway between the rows
            b.add_visual(leg, "capsule", sole, 0.5 * np.array(place) + (0.0, 0.0, 0.5 * z + SOLE * length), ACROSS)
        for i in range(-1, steps + 1):  # the right foot stands on square 0, the left one has left square -1
            side = 1 if i % 2 else -1
            middle = ((i + 0.5 - BEHIND) * step, 0.5 * side * APART * length, -(0.5 * THICK + POINT) * length)
            size = (step, WIDE * length, THICK * length)
            b.add_shape(None, "box", size, walker.model.position[0] + along @ middle, along, name=f"square {i}")

    sizes = {x: walker.parameters[x] for x in SIZES}
    model = compass_model("walker by contact", **sizes, support="planar", dress=dress)
    rods = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, length]], [[0.0, 0.0, 0.0], [0.0, 0.0, -length]]])
    q, v = free_state(walker)
    duration = round((steps - 0.5) * found.period, 1)
    return Scene(model, q, NO_PUSHES, 1e-3, rods, v0=v, duration=duration, contacts=Contacts())


def free_state(walker: Walker) -> tuple[Floats, Floats]:
    """q and v of the same walker with a planar joint at its left foot."""
    at, moving = poses(walker.model, walker.q), velocities(walker.model, walker.q, walker.v, frame="body")
    foot, V = at["left foot"], moving["left foot"]
    hip = foot.rotation.T @ at["right foot"].rotation
    turns = [np.dot(AXIS, x[:3]) for x in (V, moving["right foot"])]
    x, _, z = foot.position
    q = np.array([x, z, foot.rotation[2, 2], -foot.rotation[0, 2], math.atan2(-hip[0, 2], hip[2, 2])])
    return q, np.array([V[3], V[5], turns[0], turns[1] - turns[0]])


def footfalls(result: Result) -> tuple[Floats, Floats]:
    """(k,) times and (k, 3) positions of footfalls, in a run that stores every step; the first foot stands already."""
    times, places = [], []
    standing: set[str] = set()
    for i, time in enumerate(result.times):
        now = {x.shape: x.point for x in result.contacts(i)}
        for foot in now.keys() - standing:
            times.append(time)
            places.append(now[foot])
        standing = set(now)
    return np.array(times), np.array(places)
