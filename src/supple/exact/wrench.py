"""External wrenches from forces at points, in any frame."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import memory
from supple.arguments import Triple, checked
from supple.errors import StateError
from supple.exact.kinematics import poses
from supple.model.model import Model

Floats = NDArray[np.float64]


@checked
def wrench(
    model: Model,
    body: str | int,
    force: Triple = (0.0, 0.0, 0.0),
    point: Triple = (0.0, 0.0, 0.0),
    torque: Triple = (0.0, 0.0, 0.0),
    frame: Literal["world", "body"] = "world",
    q: ArrayLike | None = None,
    point_frame: Literal["world", "body"] = "body",
) -> Floats:
    """(n_bodies, 6) wrenches, nonzero for one body, on which a force at a point and a torque act; add several as
    arrays.

    force, torque: along the axes of `frame`. point: in the frame `point_frame`; the body's origin by default. q is
    required if the world frame is used. Forward and inverse dynamics accept the result as `wrenches`. A batch of q
    gives a batch. `body` may also be a named frame: then "body" axes and points are the frame's.
    """
    f, r, t = np.asarray(force), np.asarray(point), np.asarray(torque)
    place = model.moving_place(body)
    i = place.body
    if frame == "body":
        f, t = place.rotation @ f, place.rotation @ t
    if point_frame == "body":
        r = place.rotation @ r + place.position
    if "world" in (frame, point_frame):
        if q is None:
            raise StateError("a force or point in the world needs q, to know where the body is; or use frame='body'")
        pose = poses(model, q)
        R, p = pose.rotation[..., i, :, :], pose.position[..., i, :]
        if frame == "world":
            f, t = (np.einsum("...ji,j->...i", R, x) for x in (f, t))
        if point_frame == "world":
            r = np.einsum("...ji,...j->...i", R, r - p)
    row = np.concatenate(np.broadcast_arrays(t + np.cross(r, f), f), axis=-1)
    memory.require(row.size * model.n_bodies, f"wrenches for a batch of {len(row):,}", "use smaller batches")
    out = np.zeros(row.shape[:-1] + (model.n_bodies, 6))
    out[..., i, :] = row
    return out
