"""View-dependent simplification [AD section 7.4]: weights that express the metrics in pixels of an image.

A joint that rotates by dq moves the bodies it carries by at most reach dq, where reach is the distance of the farthest
point that it carries. A point at distance d from the eye moves by at most focal / d pixels per metre. So the weight is
(focal lever / d)^2, where the lever is the reach, 1 for a sliding joint, or the combination of both. The root of the
velocity metric is then the root of the sum of squares of the image velocities, in pixels per second, due to each joint
alone; that of the acceleration metric is in pixels per second squared.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import Positive, Triple, checked, number
from supple.errors import StateError
from supple.exact.kinematics import poses
from supple.model.joints import KINDS
from supple.model.model import Model

Floats = NDArray[np.float64]
ANGLE = number("a number between 0 and pi, neither included", 0.0, np.nextafter(np.pi, 0.0), above=True)


@checked
def camera_weights(
    model: Model,
    q: ArrayLike,
    eye: Triple,
    target: Triple | None = None,
    *,
    focal: Positive = 1000.0,
    view_angle: Annotated[float, ANGLE] | None = None,
    near: Positive = 0.1,
    unseen: Positive = 1e-3,
) -> Floats:
    """(n_bodies,) the joints' weights for an eye in the world that looks at a target.

    focal: in pixels. near: metres; smaller distances count as this. view_angle: of the whole image, in radians; if
    given, joints that are certainly out of view are weighted by the factor `unseen`. Costs O(n log n).
    """
    o, pose = np.asarray(eye), poses(model, q)
    if pose.position.ndim != 2:
        raise StateError("camera_weights takes one state, not a batch")
    com = pose.position + np.einsum("nij,nj->ni", pose.rotation, model.com)
    low = _over_subtrees(np.minimum(pose.position, com), model.subtree_end, np.minimum)
    high = _over_subtrees(np.maximum(pose.position, com), model.subtree_end, np.maximum)
    reach = np.linalg.norm(np.maximum(pose.position - low, high - pose.position), axis=1)
    away = np.linalg.norm(np.clip(o, low, high) - o, axis=1)
    lever = _levers(model, reach)
    pixels = focal * np.maximum(lever, near * 1e-3) / np.maximum(away, near)
    if view_angle is not None:
        if target is None:
            raise StateError("with a view_angle, say what the eye looks at: target=...")
        pixels = np.where(_outside(low, high, o, np.asarray(target), view_angle), pixels * unseen, pixels)
    return np.asarray(pixels**2)


def _levers(model: Model, reach: Floats) -> Floats:
    """The largest speed of the bodies a joint carries, divided by the norm of its velocity."""
    out = reach.copy()
    for t, kind in KINDS.items():
        who = model.joint_type == t
        if kind.pitched:
            out[who] = np.hypot(reach[who], model.pitch[who])
        elif not kind.turns:
            out[who] = 1.0
        elif kind.slides:  # along its only axis, or perhaps in the direction of the rotation
            out[who] = np.maximum(1.0, reach[who]) if kind.nv == 2 else np.hypot(1.0, reach[who])
    return out


def _over_subtrees(x: Floats, end: NDArray[np.int64], best: np.ufunc) -> Floats:
    """The smallest or largest row over each body's subtree, rows i ... end[i] - 1: two overlapping ranges whose length
    is a power of two."""
    n, out = len(x), x.copy()
    spans, size = x.copy(), 1
    length = end - np.arange(n)
    while True:
        here = np.flatnonzero((length >= size) & (length < 2 * size))
        out[here] = best(spans[here], spans[end[here] - size])
        if 2 * size > n:
            return out
        spans = best(spans[: len(spans) - size], spans[size:])
        size *= 2


def _outside(low: Floats, high: Floats, eye: Floats, target: Floats, angle: float) -> NDArray[np.bool_]:
    """Whether the bounding ball of a box is outside the view cone."""
    ahead = target - eye
    length = np.linalg.norm(ahead)
    if length == 0:
        raise StateError("the eye must be somewhere else than what it looks at")
    ahead = ahead / length
    centre, radius = 0.5 * (low + high) - eye, 0.5 * np.linalg.norm(high - low, axis=1)
    along = centre @ ahead
    across = np.linalg.norm(centre - along[:, None] * ahead, axis=1)
    # distance of the ball's centre from the cone's surface, positive outwards
    return np.asarray(across * np.cos(angle / 2) - along * np.sin(angle / 2) > radius)
