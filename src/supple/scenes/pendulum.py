"""A pendulum of many links that falls under its own weight [AD section 7.1, Figure 5]."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from supple.arguments import NotNegative, Positive, checked
from supple.model.builder import ModelBuilder
from supple.model.parents import room
from supple.scenes.scene import NO_PUSHES, Scene, Some

THICKNESS = 0.2  #: of a link, as a share of its length
LINKS, LENGTH, MASS = 300, 3.0, 3.0
DAMPING, DT, DURATION = 2e-4, 5e-4, 6.0  #: N m s, s and s, of the pendulum of these sizes


@checked
def pendulum(
    links: Some = LINKS,
    length: Positive = LENGTH,
    mass: Positive = MASS,
    planar: bool = False,
    angle: float = pi / 2,
    damping: NotNegative | None = None,
) -> Scene:
    """A chain of equal links, its first pin in the world, straight and at an angle to the vertical: at first sideways,
    along x.

    length, mass: of the whole. Links are round rods; they turn about y and about x by turns, or, planar, all about y.
    damping: of each joint, N m s. The free end cracks like a whip when it turns back, as that of a falling chain does;
    by default there is just enough damping for steps of dt to follow that. Nothing pushes: gravity does all.
    """
    n = links
    pace, fineness = sqrt(length / LENGTH), min(1.0, LINKS / n)
    if damping is None:
        damping = DAMPING * mass / MASS * (length / LENGTH) ** 2 / pace * fineness**2
    room(n)
    each, m = length / n, mass / n
    radius = 0.5 * THICKNESS * each
    across, along = m * (each * each / 12 + radius * radius / 4), 0.5 * m * radius * radius
    position, axis = np.zeros((n, 3)), np.zeros((n, 3))
    position[1:, 2] = -each
    axis[:, 1] = 1.0
    if not planar:
        axis[1::2] = (1.0, 0.0, 0.0)
    b = ModelBuilder("pendulum")
    b.add_bodies(
        np.arange(-1, n - 1),
        names=[f"link{i}" for i in range(n)],
        axis=axis,
        position=position,
        mass=m,
        com=(0.0, 0.0, -0.5 * each),
        inertia=np.diag([across, across, along]),
        damping=damping,
    )
    q0 = np.zeros(n)
    q0[0] = -angle  # turns -z towards +x
    rods = np.zeros((n, 2, 3))
    rods[:, 1, 2] = -each
    return Scene(
        b.build(), q0, NO_PUSHES, DT * pace * fineness, rods, duration=DURATION * pace, quasi_static_dt=8e-3 * pace
    )  # fmt: skip
