"""Body frames inside kernels: rotated so that the axis of the body's joint is z.

Universal joints have their first axis along x and the second along z, planar joints their normal along z. Frames of
ball and free joints are not rotated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model

Floats = NDArray[np.float64]


def inside_turns(model: Model) -> Floats:
    """(n, 3, 3) the rotation of each body frame inside kernels relative to the user's: so that its joint's axis is
    z."""
    Q = np.broadcast_to(np.eye(3), (model.n_bodies, 3, 3)).copy()
    about_z = np.isin(
        model.joint_type,
        (
            JointType.REVOLUTE,
            JointType.CONTINUOUS,
            JointType.PRISMATIC,
            JointType.SCREW,
            JointType.CYLINDRICAL,
            JointType.PLANAR,
        ),
    )
    Q[about_z] = rotation_to_z(model.axis[about_z])
    u = model.joint_type == JointType.UNIVERSAL
    Q[u] = np.stack([model.axis[u], np.cross(model.axis2[u], model.axis[u]), model.axis2[u]], axis=2)
    return Q


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
