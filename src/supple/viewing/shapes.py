"""What is drawn of a model.

Bodies that have visuals are drawn by them (solids.py); the others as rods, from their origins to the joints on them, or
between two points that a scene says. Where there are very many rods, a dot is drawn in the middle of each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from supple.model.model import Model
from supple.viewing.batch import Batch, usual_length
from supple.viewing.colours import PLAIN
from supple.viewing.solids import solids

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 16_384  #: instances of a batch: what did not move among so many is not sent
SIDES = 8  #: of a rod,
SIMPLY = 5000  #: where there are no more than so many; beyond, rods are spikes of four triangles,
DOTS = 20_000  #: and beyond this number dots: without a graphics card an instance costs as much as many triangles
THICKNESS = 0.2  #: of a rod, as a share of its length or of the usual one, whichever is smaller
THINNEST = 0.005  #: of a rod, as a share of what all is as large as; though no thicker than long


def batches(model: Model, size: float, rods: Floats | None = None) -> tuple[list[Batch], list[str]]:
    """All of a model, and what of it could not be drawn.

    size: how large it is, about. rods: (n, 2, 3) two points of each body in its frame.
    """
    out, failed = solids(model)
    seen = np.zeros(model.n_bodies, dtype=bool)
    for b in out:
        seen[b.body[b.body >= 0]] = True
    body, begin, end = _sticks(model) if rods is None else (np.arange(model.n_bodies), rods[:, 0], rods[:, 1])
    here = ~seen[body]
    return out + _rods(body[here], begin[here], end[here], THINNEST * size), failed


def _sticks(model: Model) -> tuple[Ints, Floats, Floats]:
    """From each body's origin to the joints on it; where there are none, through its centre of mass."""
    child = np.flatnonzero(model.parent >= 0)
    on = model.parent[child]
    tip = np.setdiff1d(np.arange(model.n_bodies), on)
    body = np.concatenate([on, tip])
    end = np.concatenate([model.position[child], 2.0 * model.com[tip]])
    order = np.argsort(body, kind="stable")
    return body[order], np.zeros((len(body), 3)), end[order]


def _rods(body: Ints, begin: Floats, end: Floats, least: float) -> list[Batch]:
    length = np.linalg.norm(end - begin, axis=1)
    usual = usual_length(length)
    usual_thick = max(THICKNESS * usual, min(least, usual))
    dot = length < 1e-3 * usual  # drawn as a bit as long as thick, around the point
    d = np.where(dot[:, None], (0.0, 0.0, 1.0), (end - begin) / np.where(dot, 1.0, length)[:, None])
    begin = np.where(dot[:, None], begin - 0.5 * usual_thick * d, begin)
    length = np.where(dot, usual_thick, length)
    thick = np.where(dot, usual_thick, np.minimum(usual_thick, np.maximum(THICKNESS * length, least)))
    rotation = np.zeros((len(body), 3, 3))
    rotation[:, :, 2] = d
    scale = np.stack([thick, thick, length], axis=1)
    own = np.tile(np.array(PLAIN, dtype=np.uint8), (len(body), 1))
    parts = [slice(i, i + CHUNK) for i in range(0, len(body), CHUNK)]
    mesh = _rod(SIDES) if len(body) <= SIMPLY else _spike()
    dots = len(body) > DOTS
    return [Batch(*mesh, body[s], begin[s], rotation[s], scale[s], own[s], True, dots) for s in parts]


@cache
def _rod(sides: int) -> tuple[Floats, Ints]:
    """A rod along z from 0 to 1, of radius 1/2, thicker near where it begins: a body's joint is there."""
    rings = ((0.06, 0.5), (0.94, 0.38))
    angle = 2 * np.pi * np.arange(sides) / sides
    around = [np.stack([r * np.cos(angle), r * np.sin(angle), 0 * angle + z], 1) for z, r in rings]
    vertices = np.concatenate([*around, [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]])
    first, last = len(vertices) - 2 + 0 * angle.astype(int), len(vertices) - 1 + 0 * angle.astype(int)
    i = np.arange(sides)
    j, top = (i + 1) % sides, (len(rings) - 1) * sides
    faces = [(j, i, first), (i + top, j + top, last)]
    faces += [
        f for k in range(0, top, sides) for f in ((i + k, j + k, j + k + sides), (i + k, j + k + sides, i + k + sides))
    ]
    return vertices, np.concatenate([np.stack(f, 1) for f in faces])


def _spike() -> tuple[Floats, Ints]:
    """The simplest mesh like that: three sides, which end in a point."""
    angle = 2 * np.pi * np.arange(3) / 3
    foot = np.stack([0.5 * np.cos(angle), 0.5 * np.sin(angle), 0 * angle], 1)
    return np.concatenate([foot, [(0.0, 0.0, 1.0)]]), np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)])
