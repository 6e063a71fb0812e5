"""A bicycle chain, pulled at its end [QS section 6.1, Figure 1]."""

from __future__ import annotations

import numpy as np

from supple.arguments import checked
from supple.model.builder import ModelBuilder
from supple.model.parents import room
from supple.scenes.scene import Pushes, Scene, Some

PITCH, WIDTH, MASS = 12.7e-3, 8.5e-3, 3.0e-3  #: of a link: metres between its pins, metres, kilograms
DAMPING = 1e-5  #: of a pin, N m s
PULL = (-0.05, 0.0, 0.1)  #: newtons, at the last pin


@checked
def bicycle_chain(links: Some = 30) -> Scene:
    """A chain that lies straight along x, its pins along y, the first one in the world; its last pin is pulled up and
    back.

    Links are thin plates, pins have a little friction. There is no gravity. The chain peels off from its end: at first
    few joints move much.
    """
    n = links
    room(n)
    moments = MASS / 12 * np.array([WIDTH**2, PITCH**2 + WIDTH**2, PITCH**2])  # a plate of length, height and no depth
    b = ModelBuilder("bicycle chain", gravity=(0.0, 0.0, 0.0))
    position = np.zeros((n, 3))
    position[1:, 0] = PITCH
    b.add_bodies(
        np.arange(-1, n - 1),
        names=[f"link{i}" for i in range(n)],
        axis=(0.0, -1.0, 0.0),
        position=position,
        mass=MASS,
        com=(0.5 * PITCH, 0.0, 0.0),
        inertia=np.diag(moments),
        damping=DAMPING,
    )
    pull = Pushes(np.array([n - 1]), np.array([PULL]), np.array([[PITCH, 0.0, 0.0]]))
    rods = np.zeros((n, 2, 3))
    rods[:, 1, 0] = PITCH
    return Scene(b.build(), np.zeros(n), pull, 1e-3, rods, duration=2.0, quasi_static_dt=4e-3)
