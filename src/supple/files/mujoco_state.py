"""q and v as MuJoCo lays them out, and back.

                        here                                MuJoCo
    quaternions         x, y, z, w                          w, x, y, z
    v of a free joint   linear, angular; the body's frame   linear in the world's, angular in the body's frame

Everything else is the same: the order of joints (depth first), angles and displacements (they include
MuJoCo's `ref`), and the angular velocity of ball joints (the body's frame).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple import arguments
from supple.errors import ModelError, StateError
from supple.model.geometry import rotation_from_quaternion
from supple.model.joints import KINDS, JointType
from supple.model.manifold import checked, layout, normalize
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARED = [t for t, kind in KINDS.items() if kind.mujoco]


@arguments.checked
def to_mujoco(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """MuJoCo's qpos and qvel of a state; q (nq,) or (B, nq), v (nv,) or (B, nv), None means zeros."""
    source = _quaternion_order(model)
    v = np.zeros(model.nv) if v is None else v
    q, v = _same_batch(checked("q", q, model.nq), checked("v", v, model.nv))
    return q[..., source].copy(), _turn_linear(model, q, v, to_world=True)


@arguments.checked
def from_mujoco(model: Model, qpos: ArrayLike, qvel: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """q and v of MuJoCo's qpos and qvel; qpos (nq,) or (B, nq), qvel (nv,) or (B, nv), None means zeros."""
    source = _quaternion_order(model)
    qvel = np.zeros(model.nv) if qvel is None else qvel
    qpos, qvel = _same_batch(checked("qpos", qpos, model.nq), checked("qvel", qvel, model.nv))
    q = np.empty_like(qpos)
    q[..., source] = qpos
    return q, _turn_linear(model, q, qvel, to_world=False)


def _quaternion_order(model: Model) -> Ints:
    """(nq,) where in q each entry of qpos stands: w before x, y, z."""
    bad = np.flatnonzero(~np.isin(model.joint_type, SHARED))
    if len(bad):
        kind = JointType(int(model.joint_type[bad[0]])).name.lower()
        raise ModelError(
            f"joint {model.joint_names[bad[0]]!r} is {kind}: MuJoCo has no such joint, so no layout for it"
        )
    source = np.arange(model.nq)
    at = layout(model)
    for quaternions in (at.ball_q, at.free_q):
        source[quaternions] = np.roll(quaternions, 1, axis=1)
    return source


def _turn_linear(model: Model, q: Floats, v: Floats, to_world: bool) -> Floats:
    """v with the linear velocities of free joints turned from the body's to the world's frame, or back."""
    out = v.copy()
    at = layout(model)
    if at.free_lin.size:
        R = rotation_from_quaternion(normalize(model, q)[..., at.free_q])
        if not to_world:
            R = np.swapaxes(R, -1, -2)
        out[..., at.free_lin] = np.einsum("...ij,...j->...i", R, v[..., at.free_lin])
    return out


def _same_batch(q: Floats, v: Floats) -> tuple[Floats, Floats]:
    try:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise StateError(f"batches of different lengths: {q.shape[0]} and {v.shape[0]}") from None
    return np.broadcast_to(q, batch + q.shape[-1:]), np.broadcast_to(v, batch + v.shape[-1:])
