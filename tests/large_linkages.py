"""Mechanisms of any size, closed at a known state: four-bar chains, ladders and nets."""

from __future__ import annotations

import numpy as np

import supple
from supple.exact.closure import closure
from supple.model.model import Model

HINGE = dict(axis=(0, 1, 0))
ROD = dict(mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3))


def four_bar_chain(windows: int, hanging: bool = False) -> tuple[Model, np.ndarray, np.ndarray]:
    """Upright rods hinged to the ground and to the level ones that join their tops, all leaning by 0.3 rad and turning
    at 1 rad/s. hanging: in the tree the upright rods hang from the level ones, and their feet close the loops."""
    b = supple.ModelBuilder("four-bar chain")
    flat = dict(mass=1.0, com=(0.5, 0, 0), inertia=(1e-3, 1 / 12, 1 / 12))
    b.add_body("up0", None, "continuous", **HINGE, **ROD, com=(0, 0, 0.5))
    for i in range(windows):
        first = i == 0 or not hanging
        b.add_body(
            f"flat{i}", f"up{i}" if first else f"flat{i - 1}", "continuous", **HINGE, **flat,
            position=(0, 0, 1) if first else (1, 0, 0),
        )  # fmt: skip
        if hanging:
            b.add_body(f"up{i + 1}", f"flat{i}", "continuous", **HINGE, **ROD, position=(1, 0, 0), com=(0, 0, -0.5))
            b.close(f"up{i + 1}", None, "revolute", **HINGE, position=(0, 0, -1), other_position=(i + 1, 0, 0))
        else:
            b.add_body(f"up{i + 1}", None, "continuous", **HINGE, **ROD, position=(i + 1, 0, 0), com=(0, 0, 0.5))
            b.close(f"flat{i}", f"up{i + 1}", "revolute", **HINGE, position=(1, 0, 0), other_position=(0, 0, 1))
    model = b.build()
    turns = {"up": 1.0, "flat": -1.0}
    rate = np.array([turns[name.rstrip("0123456789")] for name in model.body_names])
    if hanging:
        rate[[int(name[4:]) > 0 if name.startswith("flat") else False for name in model.body_names]] = 0.0
    return model, 0.3 * rate, rate


def four_bar_acceleration(windows: int) -> float:
    """Of the upright rods, in closed form."""
    return (0.5 * (windows + 1) + windows) * 9.81 * np.sin(0.3) / ((windows + 1) / 3 + windows)


def ladder(rungs: int, rails: bool, armature: float = 0.0) -> Model:
    """Two ropes of ball joints with rungs between them. rails: the ropes are two branches of the tree, otherwise rungs
    are branches of one rope, and the other rope hangs from them piece by piece."""
    b = supple.ModelBuilder("ladder")
    piece = dict(mass=0.5, com=(0, 0, -0.5), inertia=(0.05, 0.04, 0.01), armature=armature)
    for i in range(rungs):
        above = None if i == 0 else f"left{i - 1}"
        b.add_body(f"left{i}", above, "ball", **piece, position=(0, 0, -1 if i else 0))
        b.add_body(
            f"rung{i}", f"left{i}", "universal", axis=(0, 1, 0), axis2=(0, 0, 1), position=(0, 0, -1), mass=0.3,
            com=(0.5, 0, 0), inertia=(0.002, 0.03, 0.03), armature=armature,
        )  # fmt: skip
        if rails:
            above = None if i == 0 else f"right{i - 1}"
            b.add_body(f"right{i}", above, "ball", **piece, position=(0, 0, -1) if i else (1, 0, 0))
            b.close(f"rung{i}", f"right{i}", "ball", position=(1, 0, 0), other_position=(0, 0, -1))
        else:
            hanging = dict(piece, com=(0, 0, 0.5))
            b.add_body(f"right{i}", f"rung{i}", "ball", **hanging, position=(1, 0, 0))
            other = None if i == 0 else f"rung{i - 1}"
            b.close(f"right{i}", other, "ball", position=(0, 0, 1), other_position=(1, 0, 0))
    return b.build()


def net(width: int, height: int) -> Model:
    """Knots on a grid, one hung from the world; threads of ball joints to the right of each and below it."""
    b = supple.ModelBuilder("net")
    knot, thread = dict(mass=0.1, inertia=(1e-3,) * 3), dict(mass=0.2, inertia=(0.02, 0.02, 0.02))
    for i in range(height):
        for j in range(width):
            if (i, j) == (0, 0):
                b.add_body("knot0_0", None, "ball", **knot)
                continue
            along, other = ((0, 0, -1), f"knot{i - 1}_{j}") if i else ((1, 0, 0), f"knot0_{j - 1}")
            middle = tuple(0.5 * x for x in along)
            b.add_body(f"thread{i}_{j}", other, "ball", **thread, com=middle)
            b.add_body(f"knot{i}_{j}", f"thread{i}_{j}", "ball", **knot, position=along)
            if i and j:
                b.add_body(f"cross{i}_{j}", f"knot{i}_{j - 1}", "ball", **thread, com=(0.5, 0, 0))
                b.close(f"cross{i}_{j}", f"knot{i}_{j}", "ball", position=(1, 0, 0))
    return b.build()


def moving(rng: np.random.Generator, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """A position near the neutral one with loops closed, and velocities that keep them closed."""
    q = supple.close_loops(model, model.integrate(model.neutral(), 0.1 * rng.normal(size=model.nv)))
    return q, supple.close_velocities(model, q, rng.normal(size=model.nv))


def opening(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    """The largest acceleration with which a loop opens."""
    rows = closure(model, q, v)
    return float(np.abs(rows.G @ a - rows.g).max())
