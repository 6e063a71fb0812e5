"""The step of kick.py with all joints active, in NumPy: the reference for adaptive steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from supple.model.model import Model

Floats = NDArray[np.float64]


def plain_step(
    model: Model, q: Floats, v: Floats, dt: float, acceleration: Callable[[Floats, Floats], Floats]
) -> tuple[Floats, Floats]:
    """Positions and velocities after a time dt, given accelerations as a function of both."""
    q = model.integrate(q, v, 0.5 * dt)
    first = acceleration(q, v)
    middle = acceleration(q, v + 0.5 * dt * first)
    v = v + 0.25 * dt * (first + 2.0 * middle + acceleration(q, v + dt * middle))
    return model.integrate(q, v, 0.5 * dt), v
