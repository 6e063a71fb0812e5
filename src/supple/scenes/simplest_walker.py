"""The simplest walker: a mass at the hip on two legs of no mass, with point feet of vanishing mass [GCRC].

[GCRC] Garcia, Chatterjee, Ruina, Coleman 1998, The Simplest Walking Model: Stability, Complexity, and Scaling, Journal
of Biomechanical Engineering 120. With the hip's mass, the legs' length and gravity all 1, time counts in
sqrt(length / gravity), and nothing but the slope is left to choose. With theta the stance leg's angle from the slope's
normal, phi the angle between the legs, and gamma the slope,

    theta'' = sin(theta - gamma)
    phi''   = theta'' + theta'^2 sin(phi) - cos(theta - gamma) sin(phi)

until phi = 2 theta, when theta+ = -theta, theta'+ = cos(2 theta) theta', phi+ = -2 theta, phi'+ = cos(2 theta)
(1 - cos(2 theta)) theta'. Here it is a compass whose feet weigh 2^-50 of the hip: the limit, to rounding.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Annotated, Any, Literal

import numpy as np

from supple.arguments import Positive, checked, number
from supple.scenes.compass import AXIS, compass_model, on_slope, walker_scene
from supple.scenes.scene import Scene
from supple.walking.gaits import on_gait
from supple.walking.impacts import impact
from supple.walking.walkers import Walker

#: theta = a gamma^(1/3) + b gamma, theta' = (c + d gamma^(2/3)) theta: both gaits on small slopes
SERIES = {"long": (0.970956, -0.1865, -1.045203, 1.0948), "short": (0.943976, -0.2646, -1.090331, 0.9179)}
LEAST, STEEPEST = 1e-8, 0.05  #: slopes; on smaller ones an eigenvalue is 1 to rounding, and no gait can be told
GENTLE = number(f"a number from {LEAST} to {STEEPEST} (radians)", LEAST, STEEPEST)


@checked
def simplest_walker(
    slope: Annotated[float, GENTLE] = 0.009,
    start: Literal["long", "short"] = "long",
    hip_mass: Positive = 1.0,
    length: Positive = 1.0,
    gravity: Positive = 1.0,
) -> Walker:
    """The simplest walker on a gait, just after a foot came down. It walks towards +x, down a slope of so many radians.

    start: the gait of the longer period, stable up to a slope of 0.0151, or that of the shorter, which is never stable.
    Slopes are from 1e-8 to 0.05. Units are those of hip_mass, length and gravity: 1 by default.

    q is (theta - slope, phi) and v their rates, angles as in the module. Legs are `left` and `right`, with frames `left
    foot`, `right foot` and `hip`.
    """
    sizes = dict(hip_mass=hip_mass, length=length, gravity=gravity)
    a, b, c, d = SERIES[start]
    theta = a * np.cbrt(slope) + b * slope
    rate = (c + d * np.cbrt(slope) ** 2) * theta * np.sqrt(gravity / length)
    left = compass_model("simplest walker", hip_mass, 0.0, length, 0.0, gravity)
    pose = np.array([-theta - slope, 2 * theta])
    right = impact(left, pose, np.zeros(2), body="right foot", axis=AXIS)
    v = np.array([rate, rate * (1 - np.cos(2 * theta))])
    walker = on_slope(right.model, right.q, v, slope, dict(sizes, leg_mass=0.0, leg_center=0.0))
    return on_gait(replace(walker, clearance=min(walker.clearance, 0.1 * theta * length)))


@wraps(simplest_walker)
def simplest_walker_scene(*args: Any, **parameters: Any) -> Scene:
    """The walker as a scene for `supple run`."""
    walker = simplest_walker(*args, **parameters)
    return walker_scene(walker, duration=20.0 * walker.pace, dt=0.02 * walker.pace)
