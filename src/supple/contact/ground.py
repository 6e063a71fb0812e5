"""The ground that a run adds to the world: a plane perpendicular to gravity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.exact.kinematics import poses
from supple.model.geometry import rotation_to_z
from supple.model.model import Model
from supple.model.shapes import ALL_BITS, Shape

Floats = NDArray[np.float64]

NAME = "ground"


def upwards(model: Model) -> Floats:
    """The unit vector against gravity; z if there is no gravity."""
    g = np.linalg.norm(model.gravity)
    return np.asarray(-model.gravity / g) if g > 0 else np.array([0.0, 0.0, 1.0])


def ground_shape(model: Model, height: float) -> Shape:
    """A plane at a height, with a name that no other shape has; all groups touch it."""
    up, name = upwards(model), NAME
    while name in model.shapes:
        name += "_"
    turn = rotation_to_z(up[None])[0]
    return Shape(name, -1, "plane", (), height * up, turn, group=ALL_BITS, mask=ALL_BITS)


def only_plane(model: Model) -> Floats | None:
    """(4,) normal and height of the plane of the world; None if there is none, or several."""
    planes = [x for x in model.shape_list if x.kind == "plane"]
    if len(planes) != 1:
        return None
    up = planes[0].rotation[:, 2]
    return np.append(up, up @ planes[0].position)


def lowest_point(model: Model, q: Floats) -> float:
    """The height of the lowest point of all shapes, also of those fixed to the world, but not of planes; 0 if there are
    none."""
    up, at = upwards(model), poses(model, q)
    lowest = np.inf
    for x in model.shape_list:
        if x.kind != "plane":
            R, p = (at.rotation[x.body], at.position[x.body]) if x.body >= 0 else (np.eye(3), np.zeros(3))
            lowest = min(lowest, float(up @ (p + R @ x.position)) - _extent(x, (R @ x.rotation).T @ up))
    return lowest if np.isfinite(lowest) else 0.0


def _extent(x: Shape, up: Floats) -> float:
    """How far a shape extends below its origin. up: in its frame."""
    if x.kind == "sphere":
        out = x.size[0]
    elif x.kind == "capsule":
        out = x.size[0] + 0.5 * x.size[1] * abs(up[2])
    elif x.kind == "cylinder":
        out = x.size[0] * float(np.hypot(up[0], up[1])) + 0.5 * x.size[1] * abs(up[2])
    elif x.kind == "box":
        out = 0.5 * float(np.abs(up) @ np.array(x.size))
    elif x.kind == "hull":
        assert x.points is not None
        out = -float((x.points @ up).min())
    else:
        assert x.points is not None
        along_y, along_x = (np.linspace(-0.5, 0.5, n) for n in x.points.shape)
        out = -float((up[1] * x.size[1] * along_y[:, None] + up[0] * x.size[0] * along_x + up[2] * x.points).min())
    return float(out + x.margin)
