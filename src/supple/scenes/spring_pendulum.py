"""A hanging pendulum, one of whose links a spring pulls to a point of the world [AD section 7.1, Figure 6]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from supple.arguments import NotNegative, Whole, checked
from supple.errors import StateError
from supple.scenes.pendulum import pendulum
from supple.scenes.scene import Scene, Some, Springs

LENGTH, MASS = 2.0, 2.0  #: metres and kilograms of the whole
STIFFNESS = 40.0  #: newtons a metre


@checked
def spring_pendulum(links: Some = 50, link: Whole | None = None, damping: NotNegative = 0.002) -> Scene:
    """A pendulum that hangs straight down; a spring pulls the end of a link (the one two thirds down, unless another is
    named) sideways and up.

    The spring's other end is beside the pendulum, a third of its length away and as far down as a third of it. At rest,
    weight and spring are in balance, and the pendulum is bent at that link. damping: of each joint, N m s. It quiets
    how links move against each other, and hardly how all of them swing: more of it makes explicit steps of dt unstable,
    so whoever wants rest within seconds adds a drag on the velocities of bodies.
    """
    n = links
    i = 2 * (n - 1) // 3 if link is None else link
    if i >= n:
        raise StateError(f"link must be a whole number from 0 to {n - 1}, not {link!r}")
    hanging = pendulum(n, LENGTH, MASS, planar=True, angle=0.0, damping=damping)
    spring = Springs(
        np.array([i], dtype=np.int64),
        np.array([[0.0, 0.0, -LENGTH / n]]),
        np.array([[LENGTH / 3, 0.0, -LENGTH / 3]]),
        np.array([STIFFNESS]),
    )
    return replace(hanging, springs=spring, dt=1e-3, duration=4.0, quasi_static_dt=1e-3)
