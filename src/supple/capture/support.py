"""Which feet stand on the ground, from heights and speeds, and where their soles are."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.capture.motion import Moving
from supple.errors import StateError
from supple.exact.answers import Poses
from supple.exact.kinematics import poses, velocities
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NONE, SEVERAL = -1, -2  #: no foot stands, or more than one
SHORTEST = 0.06  #: seconds: a foot that stands or swings for less does not


@dataclass(frozen=True)
class Support:
    """down: (frames, feet) which feet stand at each frame; ground: how high the ground is."""

    down: Flags
    ground: float

    @property
    def foot(self) -> Ints:
        """(frames,) the foot that stands alone; NONE, or SEVERAL."""
        count = self.down.sum(axis=1)
        return np.select([count == 0, count == 1], [NONE, self.down.argmax(axis=1)], SEVERAL)

    def __repr__(self) -> str:
        times = sum(phase.foot != NONE for phase in phases(self.foot))
        return f"<Support: {len(self.down)} frames, {times} times on a foot, ground at {self.ground:.4g} m>"


def find_support(moving: Moving, height: float = 0.04, speed: float = 0.8) -> Support:
    """The feet that stand: near the ground, and slow, for more than a moment.

    height: metres above the lowest point that any foot reaches; speed: metres per second.
    """
    clip = moving.clip
    if not clip.feet:
        raise StateError("the clip does not say which bodies are feet: give it `feet`, their names")
    P, V = poses(clip.model, clip.q), velocities(clip.model, clip.q, moving.v).spatial
    low, slow = np.empty((2, len(clip), len(clip.feet)))
    for k, foot in enumerate(clip.feet):
        points = []
        for body, r in soles(clip.model, foot):
            arm = P.rotation[:, body] @ r
            moves = V[:, body, 3:] + np.cross(V[:, body, :3], arm)
            points.append((P.position[:, body, 2] + arm[:, 2], np.linalg.norm(moves, axis=1)))
        heights, speeds = (np.array(x) for x in zip(*points))
        lowest = heights.argmin(axis=0)
        low[:, k], slow[:, k] = heights.min(axis=0), speeds[lowest, np.arange(len(clip))]
    ground = float(low.min())
    return Support(_steady((low - ground < height) & (slow < speed), SHORTEST * clip.rate), ground)


def _steady(down: Flags, least: float) -> Flags:
    """Without lifting a foot, or putting it down, for fewer frames than that. At the ends, nobody knows how many."""
    out = down.copy()
    for foot in out.T:
        for stands in (False, True):
            for phase in phases(foot.astype(np.int64))[1:-1]:
                if bool(phase.foot) == stands and phase.stop - phase.first < least:
                    foot[phase.first : phase.stop] = not stands
    return out


def soles(model: Model, foot: str) -> list[tuple[int, Floats]]:
    """The points of a foot that can touch the ground: the ends of its bodies and those below, or else their origins."""
    first = model.body_index(foot)
    below = range(first, int(model.subtree_end[first]))
    ends = [(f.body, f.position) for f in model.frame_list if f.body in below and f.name.endswith("/end")]
    return ends or [(i, np.zeros(3)) for i in below]


def sole_points(model: Model, P: Poses, foot: str) -> Floats:
    """(frames, points, 2) where a foot is, from above: first its ankle, then its soles."""
    ankle = P.position[:, model.body_index(foot)]
    ends = [P.position[:, body] + P.rotation[:, body] @ r for body, r in soles(model, foot)]
    return np.stack([ankle, *ends], axis=1)[..., :2]


class Phase(NamedTuple):
    """A run of frames in which the same feet stand. foot: that one, NONE or SEVERAL."""

    foot: int
    first: int
    stop: int


def phases(foot: Ints) -> list[Phase]:
    cuts = [0, *(np.flatnonzero(np.diff(foot)) + 1).tolist(), len(foot)]
    return [Phase(int(foot[i]), i, j) for i, j in pairwise(cuts)]
