"""Where a camera is, so that all of a motion is in its picture; the same for pages and for pictures.

A camera has three axes: right, up, and ahead. Of a point (x, y, z) along them, what is seen is (x - cx) / (z - cz) and
(y - cy) / (z - cz), each between -t and t, t being the tangent of half the field of view. So, for all points,

    max(x - t z) + t cz <= cx <= min(x + t z) - t cz,

and the same for y: the nearest place from which all is seen has the largest cz for which both are possible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError
from supple.exact.answers import Poses
from supple.model.checks import LARGEST
from supple.model.model import Model
from supple.viewing.batch import Batch, with_world
from supple.viewing.shapes import link_length

Floats = NDArray[np.float64]

FIELD = float(np.radians(45.0))  #: of view, upright
MARGIN = 1.12  #: of the picture around what is in it
EYE = np.array([-0.75, -0.55, 0.35])  #: from what is looked at to the eye, where nothing else is better
NEAREST = 0.007  #: of the size of what is looked at: how near it may be to the eye
LONG = 2.5  #: how much longer than wide: looked at from the side
FINE = 600.0  #: how many links long: looked at along it, since from the side its links would be too small to be seen
NAMED = {  #: from what is looked at to the eye, along the world's axes
    "front": (1.0, 0.0, 0.12), "back": (-1.0, 0.0, 0.12), "left": (0.0, 1.0, 0.12), "right": (0.0, -1.0, 0.12),
    "top": (-0.02, 0.0, 1.0), "corner": (0.75, -0.55, 0.35),
}  # fmt: skip
FARTHEST = 1e4  #: of the radius of a motion: from there it would be a seventh of a pixel, of 600
WAYS = f"{', '.join(NAMED)}, X,Y,Z (the eye) or X,Y,Z:X,Y,Z (the eye, and what it looks at)"


class View(NamedTuple):
    """Where the eye is, and a point that it looks at."""

    eye: Floats
    target: Floats

    @property
    def back(self) -> Floats:
        """The direction towards the eye."""
        d: Floats = self.eye - self.target
        return d / np.linalg.norm(d)

    def see(self, x: Floats, size: tuple[int, int]) -> tuple[Floats, Floats]:
        """Pixels (m, 2) of points in a picture of this size, and how far ahead (m,) they are."""
        at = (x - self.eye) @ axes(self.back)
        ahead = at[:, 2]
        per = self.pixels(ahead, size)
        return np.stack([0.5 * size[0] + per * at[:, 0], 0.5 * size[1] - per * at[:, 1]], axis=1), ahead

    def pixels(self, ahead: Floats, size: tuple[int, int]) -> Floats:
        """How many a metre is, so far ahead."""
        return np.asarray(0.5 * size[1] / np.tan(0.5 * FIELD) / np.maximum(ahead, 1e-9))


def axes(back: Floats) -> Floats:
    """(3, 3) in columns: right, up, ahead of who looks from there."""
    ahead = -np.asarray(back) / np.linalg.norm(back)
    right = np.cross(ahead, (0.0, 0.0, 1.0))
    right = right / np.linalg.norm(right) if np.any(right) else np.array([0.0, -1.0, 0.0])
    return np.stack([right, np.cross(right, ahead), ahead], axis=1)


def fit(points: Floats, back: Floats, aspect: float) -> View:
    """The nearest view from a direction that has all points in it. aspect: the picture's width by its height."""
    A, t = axes(back), np.tan(0.5 * FIELD) / MARGIN * np.array([aspect, 1.0])
    p = points @ A
    side, z = p[:, :2], p[:, 2:]
    low, high = (side - t * z).max(axis=0), (side + t * z).min(axis=0)
    size = max(float(np.ptp(p, axis=0).max()), 1e-6)
    cz = min(float(((high - low) / (2.0 * t)).min()), float(z.min()) - NEAREST * size)
    centre = _middle(side, z - cz, low + t * cz, high - t * cz)
    return View(A @ [*centre, cz], A @ [*centre, 0.5 * float(z.min() + z.max())])


def _middle(side: Floats, away: Floats, low: Floats, high: Floats) -> Floats:
    """Where between two bounds a camera has as much room on one side of the picture as on the other."""
    for _ in range(50):
        c = 0.5 * (low + high)
        seen = (side - c) / away
        right = seen.max(axis=0) + seen.min(axis=0) > 0.0  # too far to the right: the camera must follow
        low, high = np.where(right, c, low), np.where(right, high, c)
    return np.asarray(0.5 * (low + high))


def first_look(model: Model, points: Floats) -> Floats:
    """The direction from a motion to where it is first looked at from.

    Robots face along x, and are seen from before them. What is long is seen from its side; what is very long, along it,
    so that its near end is large. points: of the whole motion.
    """
    level = points[:, :2] - points[:, :2].mean(axis=0)
    _, turn = np.linalg.eigh(level.T @ level)
    short, long = np.ptp(level @ turn, axis=0)
    if long <= LONG * short:
        return EYE * (-1.0, 1.0, 1.0) if model.visuals else EYE
    along, across = turn[:, 1], turn[:, 0]
    along, across = along * np.sign(along[0] or 1.0), across * -np.sign(across[1] or across[0] or 1.0)
    share = (0.35, 0.9, 0.28) if long <= FINE * link_length(model) else (0.95, 0.2, 0.12)
    level_back = -share[0] * along + share[1] * across
    return np.array([*level_back, share[2]])


def asked_view(text: str, points: Floats, aspect: float) -> View:
    """As somebody asks for it: WAYS."""
    if text in NAMED:
        return fit(points, np.array(NAMED[text]), aspect)
    try:
        parts = [np.array([float(x) for x in part.split(",")]) for part in text.split(":")]
    except ValueError:
        parts = []
    if not 1 <= len(parts) <= 2 or any(p.shape != (3,) or not np.isfinite(p).all() for p in parts):
        raise ViewError(f"a camera is {WAYS}; not {text!r}")
    target = parts[1] if len(parts) == 2 else 0.5 * (points.min(axis=0) + points.max(axis=0))
    middle, radius = bounds(points)
    far = float(np.abs(parts[0] - middle).max()) / radius
    if far > FARTHEST:
        raise ViewError(f"camera {text!r}: from {far:.3g} times the size of the motion, nothing of it would be seen")
    if np.abs(target).max() > LARGEST:
        raise ViewError(f"camera {text!r}: it cannot look at anything beyond {LARGEST:g} m")
    if np.allclose(parts[0], target):
        raise ViewError(f"camera {text!r}: the eye must be somewhere else than what it looks at")
    return View(parts[0], target)


def reach(drawn: list[Batch], pose: Poses) -> Floats:
    """(k, 3) corners of all that is drawn, where bodies are so."""
    placed = with_world(pose)
    return np.concatenate([b.corners(*placed) for b in drawn])


def bounds(points: Floats) -> tuple[Floats, float]:
    """The centre of a box around points, and the distance from there to its corners."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), 1e-3) * 1.05
