"""How the touches of two shapes share the force between them, as results report it.

A foot that stands on four corners can do so with many forces: pressure may be moved from corner to corner, and friction
at one corner may pull against that at another. Steps only depend on the sum and the moment of all of them, and keep
whatever friction the foot landed with. Results report the smallest forces with the same sum F and moment M about the
mean r of the points,

    f_k = F / n + b x d_k,    d_k = p_k - r,    J b = M,    J = sum |d_k|^2 - d_k d_k^T

which are spread linearly over the area; or, where friction would exceed its cone or a touch would pull, forces as far
on the way there as the law of contact allows. Touches that slide keep their forces, which are unique.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from supple.contact.room import FORCE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SLIDES = 1e-6  #: m/s: touches that are faster than this slide
FLAT = 1e-12  #: of the largest moment of points about an axis: smaller ones are zero, as about a line through them
EXACT = 1e-10  #: of the moment of all forces: a larger change of it is more than rounding
INSIDE = 1.0 - 1e-9  #: of the way to the rim of a cone


def share_evenly(states: Sequence[Floats], friction: Floats) -> list[Floats]:
    """The rows of touches of several states [contact/room.py], with forces shared evenly. friction: coefficients by
    shape, negative where none is given [contact/geometry/points.py]."""
    if not sum(map(len, states)):
        return list(states)
    rows, ends = np.concatenate(states), np.cumsum([len(x) for x in states])
    state, (one, two) = np.repeat(np.arange(len(states)), np.diff(ends, prepend=0)), rows[:, :2].astype(np.int64).T
    mu = np.maximum(friction[one], friction[two])
    mu = np.where(mu < 0.0, 1.0, mu)
    pair = (state * len(friction) + one) * len(friction) + two
    _, group, count = np.unique(pair, return_inverse=True, return_counts=True)
    slides = np.bincount(group, np.linalg.norm(rows[:, 12:15], axis=1) > SLIDES) > 0
    some = ((count > 1) & ~slides)[group] & (mu > 0.0)
    if some.any():
        _, group = np.unique(group[some], return_inverse=True)
        rows[some, FORCE] += _change(rows[some], mu[some], group)
    return np.split(rows, ends[:-1])


def _change(rows: Floats, mu: Floats, group: Ints) -> Floats:
    """(k, 3) the change of forces. group: by touch, those that share a force."""
    point, normal, force = rows[:, 3:6], rows[:, 6:9], rows[:, FORCE]
    n = np.bincount(group)[:, None]
    d = point - (_sums(point, group) / n)[group]
    J = _sums((d * d).sum(axis=1)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :], group)
    M = _sums(np.cross(d, force), group)
    b = (np.linalg.pinv(J, rcond=FLAT, hermitian=True) @ M[:, :, None])[:, :, 0]
    change = (_sums(force, group) / n)[group] + np.cross(b[group], d) - force
    size = _sums(np.linalg.norm(force, axis=1), group) * np.sqrt(np.trace(J, axis1=1, axis2=2))
    off = np.linalg.norm(_sums(np.cross(d, change), group), axis=1) > EXACT * size
    way = np.ones(len(n))
    np.minimum.at(way, group, _within(normal, force, change, mu))
    return np.where(off, 0.0, way)[group, None] * change


def _within(normal: Floats, force: Floats, change: Floats, mu: Floats) -> Floats:
    """How much of its change leaves each force within its cone, |t| <= mu n; at most 1."""
    (n, t), (dn, dt) = (_split(x, normal) for x in (force, change))
    a, b = (dt * dt).sum(axis=1) - (mu * dn) ** 2, (t * dt).sum(axis=1) - mu * mu * n * dn
    c = np.minimum((t * t).sum(axis=1) - (mu * n) ** 2, 0.0)
    inward, square = b < 0.0, b * b - a * c  # a x^2 + 2 b x + c = 0 on the rim, where c <= 0
    root = np.sqrt(np.maximum(square, 0.0))
    rim = np.full(len(n), np.inf)
    np.divide(root - b, a, out=rim, where=inward & (a > 0.0))
    np.divide(-c, b + root, out=rim, where=~inward & (square >= 0.0) & (b + root > 0.0))
    rim[~inward & (b + root == 0.0) & (a > 0.0)] = 0.0
    pulls = np.divide(-n, dn, out=np.full(len(n), np.inf), where=dn < 0.0)
    way = np.minimum(rim, pulls)
    return np.where(way < 1.0, INSIDE * way, 1.0)


def _split(force: Floats, normal: Floats) -> tuple[Floats, Floats]:
    """Along the normal, and the rest."""
    along = (force * normal).sum(axis=1)
    return along, force - along[:, None] * normal


def _sums(x: Floats, group: Ints) -> Floats:
    """Sums over groups."""
    out = np.zeros((int(group.max()) + 1, *x.shape[1:]))
    np.add.at(out, group, x)
    return out
