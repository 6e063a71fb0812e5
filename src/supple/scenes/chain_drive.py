"""A bicycle chain closed around its two wheels, pulled at its lower run."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked
from supple.errors import ModelError
from supple.model.builder import ModelBuilder
from supple.model.parents import room
from supple.scenes.bicycle_chain import DAMPING, MASS, PITCH, WIDTH
from supple.scenes.scene import Pushes, Scene, Some

Floats = NDArray[np.float64]

TEETH = 16  #: of a wheel, half of which the chain covers
WHEEL, BEARING = 0.15, 2e-3  #: of a wheel: kilograms; damping of its axle, N m s
SAG = 0.7  #: radians by which a run turns from its first link to its last
PULL = (0.3, 0.0, -0.6)  #: newtons, in the middle of the lower run
ABOUT: dict[str, Any] = dict(axis=(0.0, -1.0, 0.0))
ON_ITS_SIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  #: turns z to y
RADIUS = 0.5 * PITCH / sin(pi / TEETH)  #: of the circle on which a wheel has the pins


@checked
def chain_drive(links: Some = 80) -> Scene:
    """Two wheels of 16 teeth side by side in the plane of x and z, and a chain around them, whose upper and lower runs
    sag. Links on a wheel are fixed to it. The lower run is pulled down and to the side.

    The upper run begins at the left wheel and the lower one at the right wheel; where each ends at the other wheel, a
    pin closes a loop. Of the ten directions that the two pins forbid, six hold by themselves, as everything is plane.
    """
    if links < TEETH + 4 or links % 2:
        raise ModelError(f"links is {links}: an even number from {TEETH + 4} on, of which {TEETH} lie on the wheels")
    room(links + 2)
    n = (links - TEETH) // 2
    turn = SAG / (n - 1)
    headings = turn * (np.arange(n) - 0.5 * (n - 1))
    span = PITCH * float(np.cos(headings).sum())
    b = ModelBuilder("chain drive")
    for side, x, first in (("left", 0.0, 0.5 * pi), ("right", span, -0.5 * pi)):
        inertia = WHEEL * RADIUS**2 * np.array([0.25, 0.5, 0.25])
        b.add_body(
            f"{side} wheel", None, "continuous", **ABOUT, position=(x, 0, 0), mass=WHEEL, inertia=inertia,
            damping=BEARING,
        )  # fmt: skip
        b.add_visual(f"{side} wheel", "cylinder", (0.85 * RADIUS, 0.4 * WIDTH), rotation=ON_ITS_SIDE)
        for k in range(TEETH // 2):
            at = first + 2 * pi * k / TEETH
            _link(b, f"{side} {k}", f"{side} wheel", _pin(at), at + pi / TEETH + 0.5 * pi)
    for run, wheel, other, first in (("upper", "left", "right", 0.5 * pi), ("lower", "right", "left", -0.5 * pi)):
        for i in range(n):
            above = f"{wheel} wheel" if i == 0 else f"{run} {i - 1}"
            _link(b, f"{run} {i}", above, _pin(first) if i == 0 else np.array([PITCH, 0.0, 0.0]))
        b.close(
            f"{run} {n - 1}", f"{other} wheel", "revolute", name=f"pin of the {run} run", **ABOUT,
            position=(PITCH, 0, 0), other_position=_pin(first),
        )  # fmt: skip
    model = b.build()
    q = np.zeros(model.nq)
    for run, start, sign in (("upper", 0.0, 1.0), ("lower", pi, -1.0)):
        for i in range(n):
            q[model.joints[model.body_index(f"{run} {i}")].q] = start + sign * headings[0] if i == 0 else sign * turn
    rods = np.zeros((model.n_bodies, 2, 3))
    rods[:, 1, 0] = PITCH
    for side in ("left", "right"):
        rods[model.body_index(f"{side} wheel"), 1] = _pin(0.0)
    pulled = model.body_index(f"lower {n // 2}")
    pull = Pushes(np.array([pulled]), np.array([PULL]), np.zeros((1, 3)))
    return Scene(model, q, pull, 1e-3, rods, duration=2.0, quasi_static_dt=4e-3)


def _pin(angle: float) -> Floats:
    """Where a wheel has a pin."""
    return np.array([RADIUS * cos(angle), 0.0, RADIUS * sin(angle)])


def _link(b: ModelBuilder, name: str, above: str, position: Floats, heading: float | None = None) -> None:
    """A link, which turns about its first pin; with a heading, fixed to a wheel."""
    moments = MASS / 12 * np.array([WIDTH**2, PITCH**2 + WIDTH**2, PITCH**2])
    plate: dict[str, Any] = dict(mass=MASS, com=(0.5 * PITCH, 0.0, 0.0), inertia=moments, position=position)
    if heading is None:
        b.add_body(name, above, "continuous", **ABOUT, **plate, damping=DAMPING)
    else:
        c, s = cos(heading), sin(heading)
        b.add_body(name, above, "fixed", **plate, rotation=np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]))
    b.add_visual(name, "box", (0.95 * PITCH, 0.6 * WIDTH, 0.45 * WIDTH), position=(0.5 * PITCH, 0.0, 0.0))
