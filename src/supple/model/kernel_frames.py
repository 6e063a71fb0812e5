"""Body frames inside kernels: rotated so that the axis of the body's joint is z.

Joints with two axes have the first along x and the second along z, planar joints their normal along z. Frames of
joints without an axis (ball and free) are not rotated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.model.geometry import frames_along
from supple.model.joints import AXES
from supple.model.model import Model

Floats = NDArray[np.float64]


def inside_turns(model: Model) -> Floats:
    """(n, 3, 3) the rotation of each body frame inside kernels relative to the user's: so that its joint's axis is
    z."""
    return frames_along(np.array(AXES)[model.joint_type], model.axis, model.axis2)


def tree_poses(model: Model, Q: Floats | None = None) -> tuple[Floats, Floats]:
    """(n, 3, 3) and (n, 3) the pose of each joint's frame, before it moves, in the frame of its parent body.

    Q: the rotations, if known.
    """
    Q = inside_turns(model) if Q is None else Q
    up = np.where(model.parent[:, None, None] < 0, np.eye(3), Q[model.parent])  # none for the world
    up_T = up.transpose(0, 2, 1)
    return up_T @ model.rotation @ Q, np.einsum("nij,nj->ni", up_T, model.position)


def inside_inertias(model: Model, Q: Floats | None = None) -> tuple[Floats, Floats]:
    """(n, 3) first moments and (n, 3, 3) rotational inertias about the bodies' origins, inside frames."""
    Q = inside_turns(model) if Q is None else Q
    c = np.einsum("nji,nj->ni", Q, model.com)
    m = model.mass[:, None]
    about = np.einsum("ni,ni->n", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    return m * c, Q.transpose(0, 2, 1) @ model.inertia @ Q + m[:, :, None] * about
