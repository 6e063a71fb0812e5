"""Chains and ropes of capsules that fall on a floor and over a bar."""

from __future__ import annotations

from typing import Any

import numpy as np

from supple.arguments import checked
from supple.contact.settings import Contacts
from supple.model.builder import ModelBuilder
from supple.model.model import Model
from supple.model.parents import room
from supple.scenes.scene import NO_PUSHES, Floats, Scene, SeedNumber, Some

LINK, THICK, MASS = 0.12, 0.025, 0.1  #: metres from joint to joint, radius; kilograms
DAMPING, FRICTION = 2e-3, 0.6
BAR, HEIGHT = 0.15, 1.2  #: radius of the bar, and height of its axis
SPACING = 0.35  #: metres from chain to chain, and from layer to layer, at least
FINE = 8  #: parts of a link, by whose ends distances between chains are judged


def _add_rope(b: ModelBuilder, links: int, name: str) -> None:
    """A rope along x with a free root; its hinges are about y and z alternately."""
    inertia = MASS * np.array([0.5 * THICK**2, *[LINK**2 / 12 + THICK**2 / 4] * 2])
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # z of a capsule along x
    for i in range(links):
        how: dict[str, Any] = dict(mass=MASS, com=(0.5 * LINK, 0.0, 0.0), inertia=inertia)
        if i == 0:
            b.add_body(f"{name} {i}", joint="free", **how)
        else:
            axis = (0.0, 1.0, 0.0) if i % 2 else (0.0, 0.0, 1.0)
            b.add_body(
                f"{name} {i}", parent=f"{name} {i - 1}", joint="revolute", axis=axis, position=(LINK, 0.0, 0.0),
                damping=DAMPING, **how,
            )  # fmt: skip
        size, middle = (THICK, LINK - THICK), (0.5 * LINK, 0.0, 0.0)
        b.add_shape(f"{name} {i}", "capsule", size, middle, turn, name=f"{name} {i}", friction=FRICTION)


def _rods(model: Model) -> Floats:
    return np.tile([[0.0, 0.0, 0.0], [LINK, 0.0, 0.0]], (model.n_bodies, 1, 1))


@checked
def pile(chains: Some = 12, links: Some = 10, seed: SeedNumber = 0) -> Scene:
    """Chains of capsules fall on a floor and on each other, and come to rest."""
    room(chains * links)
    b, rng = ModelBuilder("pile"), np.random.default_rng(seed)
    for k in range(chains):
        _add_rope(b, links, f"chain {k}")
    model = b.build()
    q = model.neutral()
    for k, at in enumerate(model.q_index[model.parent < 0]):
        turn = rng.normal(size=4)
        q[at : at + 3] = 0.15 * rng.normal(), 0.15 * rng.normal(), 0.4 + SPACING * k
        q[at + 3 : at + 7] = turn / np.linalg.norm(turn)
    hinges = model.q_index[model.parent >= 0]
    q[hinges] = 0.5 * rng.normal(size=len(hinges))
    return Scene(
        model, _lifted(q, links), NO_PUSHES, 2e-3, _rods(model), duration=7.0, method="adaptive",
        adaptive={"active": max(1, model.n_bodies // 4)}, contacts=Contacts(ground="below"),
    )  # fmt: skip


def _lifted(q: Floats, links: int) -> Floats:
    """q, with chains that would overlap those below them lifted, and all above them, until none does."""
    from scipy.spatial import cKDTree

    chains, near = q.reshape(-1, 6 + links).copy(), 2.0 * THICK + LINK / FINE
    within_reach = int(2.0 * links * LINK / SPACING) + 1  # so many chains below
    lift, below = 0.0, [_points(chains[0])]
    for chain in chains[1:]:
        tree, points = cKDTree(np.concatenate(below[-within_reach:])), _points(chain)
        while tree.query(points + (0.0, 0.0, lift))[0].min() < near:
            lift += THICK
        chain[2] += lift
        below.append(points + (0.0, 0.0, lift))
    return chains.reshape(-1)


def _points(chain: Floats) -> Floats:
    """Points along the links of a chain, LINK / FINE apart."""
    from scipy.spatial.transform import Rotation

    at, turn, along, out = chain[:3], Rotation.from_quat(chain[3:7]), np.linspace(0.0, LINK, FINE + 1), []
    for i, angle in enumerate([0.0, *chain[7:]]):
        turn = turn * Rotation.from_euler("y" if i % 2 else "z", angle)
        ahead = turn.apply((1.0, 0.0, 0.0))
        out.append(at + np.outer(along, ahead))
        at = at + LINK * ahead
    return np.concatenate(out)


@checked
def rope(links: Some = 40) -> Scene:
    """A rope falls across a round bar above a floor, off-centre: it slides off, or friction holds it."""
    room(links)
    b = ModelBuilder("rope")
    _add_rope(b, links, "rope")
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # z along y
    b.add_shape(None, "capsule", (BAR, 1.0), (0.0, 0.0, HEIGHT), turn, name="bar", friction=FRICTION)
    model = b.build()
    q = model.neutral()
    q[:3] = -0.4 * links * LINK, 0.0, HEIGHT + BAR + THICK + 0.02
    return Scene(model, q, NO_PUSHES, 2e-3, _rods(model), duration=3.0, contacts=Contacts(ground=0.0, limits=False))
