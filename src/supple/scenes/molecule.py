"""A molecule: a long backbone with short side groups, turning about its bonds [QS section 6.3, Figure 6].

Lengths are in angstroms, masses in daltons. Each body is an atom with the hydrogens on it, a ball; its frame is in its
centre, z along the bond from its parent, about which its joint turns. Bonds leave an atom at 109.5 degrees to the one
it hangs by; a side group's is turned about that by 120 degrees from where the backbone goes on.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from supple.arguments import Whole, checked
from supple.errors import StateError
from supple.model.builder import ModelBuilder
from supple.model.geometry import rotation_about
from supple.model.model import Model
from supple.model.parents import room
from supple.scenes.scene import Pushes, Scene, SeedNumber, Some

Ints = NDArray[np.int64]

BOND, ANGLE = 1.53, np.radians(109.5)
#: A group's mass, and the radius of the ball: carbon or nitrogen with its hydrogens inside; oxygen.
GROUPS = ((13.0, 0.77), (14.0, 0.75), (16.0, 0.66))
DAMPING = 0.3  #: of a bond, so that it settles in the end: daltons angstrom^2 / s
SIDE = 0.5  #: the chance that an atom of the backbone has a side group
SIDE_BONDS = 4  #: at most, in a side group

Where = Literal["end", "middle", "spread"]


@checked
def molecule(joints: Some = 50_000, seed: SeedNumber = 0, forces: Whole = 1, where: Where = "end") -> Scene:
    """A random molecule of so many bonds, all of which turn; the first is fixed to the world.

    forces, where: see pushes.
    """
    n, rng = joints, np.random.default_rng(seed)
    room(n)
    parent, side = _bonds(n, rng)
    kind = rng.integers(0, len(GROUPS), n)
    mass, radius = np.array(GROUPS)[kind].T
    inertia = np.eye(3) * (0.4 * mass * radius**2)[:, None, None]
    bend = rotation_about([0.0, 1.0, 0.0], np.pi - ANGLE)
    around = rotation_about([0.0, 0.0, 1.0], np.where(side, 2 * np.pi / 3, 0.0))
    rotation = around @ bend
    position = BOND * rotation[:, :, 2]
    rotation[0], position[0] = np.eye(3), 0.0
    b = ModelBuilder("molecule", gravity=(0.0, 0.0, 0.0))
    names = [f"atom{i}" for i in range(n)]
    b.add_bodies(
        parent, names=names, position=position, rotation=rotation, mass=mass, inertia=inertia, damping=DAMPING
    )  # fmt: skip
    q0 = rng.uniform(-np.pi, np.pi, n)
    rods = np.zeros((n, 2, 3))
    rods[1:, 0, 2] = -BOND  # back along the bond to the parent
    model = b.build()
    how = dict(method="adaptive", duration=50.0, quasi_static_dt=0.03)
    return Scene(model, q0, pushes(model, forces, where, seed), 0.05, rods, **how)  # type: ignore[arg-type]


@checked
def pushes(model: Model, count: Whole, where: Where = "end", seed: SeedNumber = 0) -> Pushes:
    """Forces of random directions and strengths on so many atoms of a molecule, each at a random point of its surface.

    where: "end" takes the last atoms, "middle" atoms that follow each other amid the molecule, "spread" any.
    """
    n = model.n_bodies
    if count > n:
        raise StateError(f"{count} forces do not fit on a molecule of {n} atoms, one each")
    rng = np.random.default_rng((seed, count))
    begin = n - count if where == "end" else (n - count) // 2
    bodies = np.sort(rng.choice(n, count, replace=False)) if where == "spread" else begin + np.arange(count)
    radius = np.sqrt(2.5 * model.inertia[bodies, 0, 0] / model.mass[bodies])
    points = rng.standard_normal((count, 3))
    points *= (radius / np.linalg.norm(points, axis=1))[:, None]
    return Pushes(bodies, rng.standard_normal((count, 3)), points)


def _bonds(n: int, rng: np.random.Generator) -> tuple[Ints, NDArray[np.bool_]]:
    """Which atom each atom hangs on, depth first, and whether it begins a side group."""
    group = np.where(rng.random(n) < SIDE, rng.integers(1, SIDE_BONDS + 1, n), 0)  # of each atom of the backbone
    place = np.cumsum(1 + group) - (1 + group)
    place, group = place[place < n], group[place < n]
    parent = np.arange(-1, n - 1)
    parent[place[1:]] = place[:-1]
    side = np.zeros(n, dtype=bool)
    first = place[group > 0] + 1
    side[first[first < n]] = True
    return parent, side
