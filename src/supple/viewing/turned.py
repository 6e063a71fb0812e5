"""Meshes that are round about z."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mesh = tuple[Floats, Ints]


def turned(sides: int, rings: tuple[tuple[float, float], ...], ends: tuple[float, float] = (0.0, 1.0)) -> Mesh:
    """What is round about z: rings by height and radius, and the points in which it ends."""
    angle = 2 * np.pi * np.arange(sides) / sides
    around = [np.stack([r * np.cos(angle), r * np.sin(angle), 0 * angle + z], 1) for z, r in rings]
    vertices = np.concatenate([*around, [(0.0, 0.0, z) for z in ends]])
    first, last = len(vertices) - 2 + 0 * angle.astype(int), len(vertices) - 1 + 0 * angle.astype(int)
    i = np.arange(sides)
    j, top = (i + 1) % sides, (len(rings) - 1) * sides
    faces = [(j, i, first), (i + top, j + top, last)]
    faces += [
        f for k in range(0, top, sides) for f in ((i + k, j + k, j + k + sides), (i + k, j + k + sides, i + k + sides))
    ]
    return vertices, np.concatenate([np.stack(f, 1) for f in faces])


@cache
def capsule(cap: float, sides: int) -> Mesh:
    """A capsule of radius 1/2 about z from 0 to 1, with caps of this height beyond: round, if it is drawn so much
    longer than wide that caps are half as high as it is wide."""
    angle = 0.5 * np.pi * np.arange(sides // 4) / (sides // 4)
    rings = [(cap * float(np.sin(a)), 0.5 * float(np.cos(a))) for a in angle]
    both = (*((-z, r) for z, r in reversed(rings)), *((1.0 + z, r) for z, r in rings))
    return turned(sides, both, (-cap, 1.0 + cap))
