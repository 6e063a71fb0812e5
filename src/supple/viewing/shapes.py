"""What is drawn of a model.

Bodies that have visuals are drawn by them (solids.py), those that have none by the shapes by which they touch, and the
others as rods, from their origins to the joints on them, or between two points that a scene says; so are those of which
their shapes show less than half. A rod is as thick as
the body's mass is spread across it: an even rod of the same length would have the same moments of inertia. Where the
mass sits at one end, it is a ball there, on a thin stick. Where there are very many rods, a dot is drawn in the middle
of each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from supple.exact.answers import Poses
from supple.model.geometry import rotation_to_z
from supple.model.model import Model
from supple.viewing.batch import Batch, Kind, usual_length
from supple.viewing.colours import PLAIN
from supple.viewing.solids import solids, touching_solids
from supple.viewing.turned import Mesh, turned

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 16_384  #: instances of a batch: what did not move among so many is not sent
SIDES = 8  #: of a rod,
SIMPLY = 5000  #: where there are no more than so many; beyond, rods are spikes of four triangles,
DOTS = 20_000  #: and beyond this number dots: without a graphics card an instance costs as much as many triangles
THICKNESS = 0.2  #: of a rod whose body says nothing about it, as a share of its length
LEAST, MOST = 0.1, 1.2  #: between which that is in any case; less, where several rods are of one body:
SEVERAL = 0.4
THINNEST = 0.018  #: of a rod, as a share of how large a body is;
LONGER = 2.5  #: though no thicker than so many times the usual length
AT_END = 0.15  #: of a rod, from either end: a mass there is a ball
COVERED = 0.5  #: of a rod that a scene says: what shapes must show for it not to be drawn
STICK = 0.3  #: of a ball, how thick its stick is


def batches(model: Model, pose: Poses, rods: Floats | None = None) -> tuple[list[Batch], list[str]]:
    """All of a model, and what of it could not be drawn.

    pose: where it begins. rods: (n, 2, 3) two points of each body in its frame.
    """
    out, failed, left_out = solids(model)
    seen_on = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(b.body for b in out)]))
    many = len(model.shape_list) > SIMPLY
    touching = touching_solids(model, np.append(seen_on, np.arange(model.n_bodies)) if many else seen_on, left_out)
    seen = np.zeros(model.n_bodies, dtype=bool)
    seen[seen_on[seen_on >= 0]] = True
    out = out + touching
    if rods is None:
        for b in touching:
            seen[b.body[b.body >= 0]] = True
        body, begin, end = _sticks(model)
    else:
        body, begin, end = np.arange(model.n_bodies), rods[:, 0], rods[:, 1]
        seen |= _covered(touching, rods)
    here = ~seen[body]
    body, begin, end = body[here], begin[here], end[here]
    if len(body) == 0:
        return out, failed
    size = tree_size(model, pose)
    many = len(body) > SIMPLY
    made = _simple(body, begin, end, size) if many else _links(model, body, begin, end, size)
    return out + made, failed


def _covered(made: list[Batch], rods: Floats) -> NDArray[np.bool_]:
    """(n,) whether shapes on bodies reach along half of their rods, or more: the foot of a leg does not."""
    n, along = len(rods), rods[:, 1] - rods[:, 0]
    length2 = np.einsum("ni,ni->n", along, along)
    along = along / np.where(length2 > 0.0, length2, 1.0)[:, None]
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    still = np.broadcast_to(np.eye(3), (n + 1, 3, 3)), np.zeros((n + 1, 3))
    for batch in made:
        corners = batch.corners(*still).reshape(len(batch), -1, 3)
        mine = batch.body >= 0
        body = batch.body[mine]
        at = np.einsum("mki,mi->mk", corners[mine] - rods[body, :1], along[body])
        np.minimum.at(low, body, at.min(axis=1, initial=np.inf))
        np.maximum.at(high, body, at.max(axis=1, initial=-np.inf))
    return np.asarray((np.minimum(high, 1.0) - np.maximum(low, 0.0) >= COVERED) | ((length2 == 0.0) & (low <= high)))


def ball_radii(model: Model) -> Floats:
    """(n_bodies,) of balls whose mass is spread as widely as that of the bodies."""
    spread = np.trace(mass_spread(model), axis1=1, axis2=2)
    return np.asarray(np.sqrt(5.0 / 3.0 * np.maximum(spread, 0.0)))  # inertias of files may be below zero by rounding


def tree_size(model: Model, pose: Poses) -> float:
    """How large one of the trees of a model is, half of its box's diagonal, and at least as its bodies are: the usual
    one, if there are many."""
    roots = np.flatnonzero(model.parent < 0)
    bodies = ball_radii(model)
    at = pose.position + np.einsum("nij,nj->ni", pose.rotation, model.com)
    both = np.concatenate([pose.position, at], axis=1)
    sizes = []
    for i in roots[:: max(1, len(roots) // 50)]:
        own = both[i : model.subtree_end[i]].reshape(-1, 3)
        inside = float(bodies[i : model.subtree_end[i]].max())
        sizes.append(max(0.5 * float(np.linalg.norm(np.ptp(own, axis=0))), inside))
    return max(float(np.median(sizes)), 1e-6)


def link_length(model: Model) -> float:
    """How long the bodies of a model usually are, from joint to joint."""
    _, begin, end = _sticks(model)
    return usual_length(np.linalg.norm(end - begin, axis=1))


def _sticks(model: Model) -> tuple[Ints, Floats, Floats]:
    """From each body's origin to the joints on it; where there are none, through its centre of mass."""
    child = np.flatnonzero(model.parent >= 0)
    on = model.parent[child]
    tip = np.setdiff1d(np.arange(model.n_bodies), on)
    body = np.concatenate([on, tip])
    end = np.concatenate([model.position[child], 2.0 * model.com[tip]])
    order = np.argsort(body, kind="stable")
    return body[order], np.zeros((len(body), 3)), end[order]


def _links(model: Model, body: Ints, begin: Floats, end: Floats, size: float) -> list[Batch]:
    """Rods as thick as bodies are, and balls."""
    length = np.linalg.norm(end - begin, axis=1)
    usual = usual_length(length)
    least = min(THINNEST * size, LONGER * usual)
    point = length < 1e-3 * usual
    d = np.where(point[:, None], (0.0, 0.0, 1.0), (end - begin) / np.where(point, 1.0, length)[:, None])
    spread = mass_spread(model)[body]
    around = 2.0 * ball_radii(model)[body]
    at = np.einsum("mi,mi->m", model.com[body] - begin, d) / np.where(point, 1.0, length)
    ball = point | ((np.abs(at - 0.5) > 0.5 - AT_END) & (around > 0.0) & (around < 2.0 * length))
    around = np.where(ball & ~point, np.minimum(around, 0.65 * length), around)
    around = np.maximum(np.where(around > 0.0, around, THICKNESS * usual), least)
    rotation, wide = _across(spread, d)
    several = np.bincount(body, minlength=model.n_bodies)[body] > 1
    most = np.where(several, SEVERAL, MOST) * length
    wide = np.where(wide > 0.0, wide, THICKNESS * length[:, None])
    wide = np.clip(wide, np.maximum(LEAST * length, least)[:, None], np.maximum(most, least)[:, None])
    wide = np.where(ball[:, None], STICK * around[:, None], wide)
    rods, balls = ~point, np.flatnonzero(ball)
    scale = np.concatenate([wide, length[:, None]], axis=1)
    out = _chunks("rod", _rod(SIDES), body[rods], begin[rods], rotation[rods], scale[rods])
    centre = np.where(point[:, None], begin, model.com[body])[balls]
    turn = np.broadcast_to(np.eye(3), (len(balls), 3, 3))
    return out + _chunks("ball", _ball(), body[balls], centre, turn, np.repeat(around[balls, None], 3, axis=1))


def mass_spread(model: Model) -> Floats:
    """(n, 3, 3) how far mass is from the centre of mass: the mean of x x^T. None where there is no mass."""
    I = model.inertia
    mass = np.where(model.mass > 0.0, model.mass, np.inf)[:, None, None]
    return np.asarray((0.5 * np.trace(I, axis1=1, axis2=2)[:, None, None] * np.eye(3) - I) / mass)


def _across(spread: Floats, d: Floats) -> tuple[Floats, Floats]:
    """Rotations whose z is d, x being where a body is widest across it, and how wide an even rod with that spread is
    along x and y."""
    Q = rotation_to_z(d)
    S = np.swapaxes(Q, 1, 2) @ spread @ Q
    mean, half, mixed = 0.5 * (S[:, 0, 0] + S[:, 1, 1]), 0.5 * (S[:, 0, 0] - S[:, 1, 1]), S[:, 0, 1]
    angle, more = 0.5 * np.arctan2(mixed, half), np.hypot(half, mixed)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = c * Q[:, :, 0] + s * Q[:, :, 1], c * Q[:, :, 1] - s * Q[:, :, 0]
    wide = 4.0 * np.sqrt(np.maximum(np.stack([mean + more, mean - more], axis=1), 0.0))
    return np.stack([x, y, d], axis=2), wide


def _simple(body: Ints, begin: Floats, end: Floats, size: float) -> list[Batch]:
    """Very many rods, all of a kind."""
    length = np.linalg.norm(end - begin, axis=1)
    usual = usual_length(length)
    thick = max(1.5 * THICKNESS * usual, min(THINNEST * size, LONGER * usual))
    point = length < 1e-3 * usual  # drawn as a bit as long as thick, around the point
    d = np.where(point[:, None], (0.0, 0.0, 1.0), (end - begin) / np.where(point, 1.0, length)[:, None])
    begin = np.where(point[:, None], begin - 0.5 * thick * d, begin)
    length = np.where(point, thick, length)
    wide = np.where(
        point, thick, np.minimum(thick, np.maximum(1.5 * THICKNESS * length, min(THINNEST * size, LONGER * usual)))
    )
    rotation = np.zeros((len(body), 3, 3))
    rotation[:, :, 2] = d
    scale = np.stack([wide, wide, length], axis=1)
    return _chunks("rod", _spike(), body, begin, rotation, scale, round=True, dots=len(body) > DOTS)


def _chunks(
    kind: Kind, mesh: Mesh, body: Ints, begin: Floats, rotation: Floats, scale: Floats, round: bool = False,
    dots: bool = False,
) -> list[Batch]:  # fmt: skip
    own = np.tile(np.array(PLAIN, dtype=np.uint8), (len(body), 1))
    parts = [slice(i, i + CHUNK) for i in range(0, len(body), CHUNK)]
    return [Batch(*mesh, body[s], begin[s], rotation[s], scale[s], own[s], kind, round, dots) for s in parts]


@cache
def _rod(sides: int) -> Mesh:
    """A rod along z from 0 to 1, of radius 1/2, thicker near where it begins: a body's joint is there."""
    return turned(sides, ((0.0, 0.25), (0.04, 0.5), (0.96, 0.42), (1.0, 0.2)))


@cache
def _ball(sides: int = 10) -> Mesh:
    angles = np.radians((-60.0, -20.0, 20.0, 60.0))
    rings = ((0.5 * float(np.sin(a)), 0.5 * float(np.cos(a))) for a in angles)
    return turned(sides, tuple(rings), (-0.5, 0.5))


def _spike() -> Mesh:
    """The simplest mesh like that: three sides, which end in a point."""
    angle = 2 * np.pi * np.arange(3) / 3
    foot = np.stack([0.5 * np.cos(angle), 0.5 * np.sin(angle), 0 * angle], 1)
    return np.concatenate([foot, [(0.0, 0.0, 1.0)]]), np.array([(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)])
