"""What is drawn of the models of a result, and how far that reaches while it moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.exact.answers import Poses
from supple.exact.kinematics import poses
from supple.model.joints import JointType
from supple.model.model import Model
from supple.simulating.state import State
from supple.viewing.batch import Batch
from supple.viewing.camera import reach
from supple.viewing.cameras import extremes
from supple.viewing.scenery import Scenery
from supple.viewing.shapes import batches
from supple.viewing.timeline import Timeline

Floats = NDArray[np.float64]

LOOKS = (12, 300)  #: at states, the least and the most, to find out how much room a motion needs:
BODIES = 200_000  #: so many bodies in all


class Shapes:
    """What is drawn of the models of a result, made once for each."""

    def __init__(self, rods: Floats | None) -> None:
        self._rods = rods
        self._made: dict[int, tuple[Model, list[Batch]]] = {}

    def of(self, state: State) -> list[Batch]:
        model = state.model
        if id(model) not in self._made:
            pose = poses(model, state.q)
            self._made[id(model)] = model, batches(model, pose, None if self._made else self._rods)[0]
        return self._made[id(model)][1]


def motion(timeline: Timeline, rods: Floats | None, scenery: Scenery) -> Floats:
    """The outermost points of all that is drawn, at states spread over a result."""
    n = max(s.model.n_bodies for s in timeline.segments)
    states = timeline.spread(int(np.clip(BODIES // n, *LOOKS)))
    shapes, out = Shapes(rods), np.zeros((0, 3))
    for i in states:
        state = timeline.state(i)
        pose = poses(state.model, state.q)
        drawn = [b for b in (*shapes.of(state), *scenery.needing_room(state.model, pose, state.time)) if len(b)]
        out = extremes(np.concatenate([out, reach(drawn, pose)]))
    return out


def around(model: Model, points: Floats, pose: Poses) -> Floats:
    """Points of a body whose motion is not known yet, and of how far it swings if it hangs on the world."""
    if not np.any(model.gravity):
        return points
    fixed = (model.parent < 0) & (model.joint_type != JointType.FREE)
    for i in np.flatnonzero(fixed)[:50]:
        own = np.linalg.norm(pose.position[i : model.subtree_end[i]] - pose.position[i], axis=1).max()
        ball = pose.position[i] + own * np.concatenate([np.eye(3), -np.eye(3)])
        points = np.concatenate([points, ball])
    return points
