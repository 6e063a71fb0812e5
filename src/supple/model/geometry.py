"""Rotations and inertias as NumPy arrays: what building and loading need, before anything is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import TRIPLE, reals, shown, take
from supple.errors import ModelError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def as_reals(x: Any) -> Floats:
    """x as a separate float64 array; TypeError or ValueError if it contains anything but real numbers."""
    try:
        return np.array(reals(x))
    except (TypeError, ValueError):
        raise
    except Exception as e:  # raised by an object whose own conversion fails
        raise TypeError(f"no real numbers: {shown(x)}") from e


def rotation_from_quaternion(q: ArrayLike) -> Floats:
    """Rotation matrices of unit quaternions (x, y, z, w); any leading axes."""
    q = np.asarray(q, dtype=np.float64)
    x, y, z, w = np.moveaxis(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, 0)
    out = np.empty(q.shape[:-1] + (3, 3))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = 2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    return out


def quaternion_from_rotation(R: ArrayLike) -> Floats:
    """Unit quaternions (x, y, z, w), w >= 0, of rotation matrices; any leading axes."""
    R = np.asarray(R, dtype=np.float64)
    d = np.diagonal(R, axis1=-2, axis2=-1)
    trace = d.sum(axis=-1)
    # Four ways to compute it (the rows of 4 q q^T); the one with the largest diagonal entry has no cancellation.
    rows = np.empty(R.shape[:-2] + (4, 4))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        rows[..., i, i] = 1 + 2 * d[..., i] - trace
        rows[..., i, j] = rows[..., j, i] = R[..., i, j] + R[..., j, i]
        rows[..., i, 3] = rows[..., 3, i] = R[..., k, j] - R[..., j, k]
    rows[..., 3, 3] = 1 + trace
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.asarray(np.where(q[..., 3:] < 0, -q, q))


def rotation_about(axis: ArrayLike, angle: ArrayLike) -> Floats:
    """Rotation by an angle about a unit axis; leading axes broadcast."""
    a = np.asarray(axis, dtype=np.float64)
    half = 0.5 * np.asarray(angle, dtype=np.float64)[..., None]
    a, half = np.broadcast_arrays(a, half)
    return rotation_from_quaternion(np.concatenate([a * np.sin(half), np.cos(half[..., :1])], axis=-1))


def rotation_from_rpy(rpy: ArrayLike) -> Floats:
    """URDF's roll, pitch, yaw: Rz(yaw) Ry(pitch) Rx(roll)."""
    angles = np.asarray(rpy, dtype=np.float64)
    cr, cp, cy = np.moveaxis(np.cos(angles), -1, 0)
    sr, sp, sy = np.moveaxis(np.sin(angles), -1, 0)
    out = np.empty(angles.shape[:-1] + (3, 3))
    out[..., 0, 0], out[..., 0, 1], out[..., 0, 2] = cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr
    out[..., 1, 0], out[..., 1, 1], out[..., 1, 2] = sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr
    out[..., 2, 0], out[..., 2, 1], out[..., 2, 2] = -sp, cp * sr, cp * cr
    return out


def rpy_from_rotation(R: ArrayLike) -> Floats:
    """Roll, pitch, yaw of one rotation matrix, pitch in ±π/2."""
    R = np.asarray(R, dtype=np.float64)
    yaw = np.arctan2(R[1, 0], R[0, 0])
    # The rest is read off Rz(-yaw) R: near pitch = ±π/2 yaw is ill-conditioned, and roll compensates for its error.
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw])


def rotation_to_z(axis: Floats) -> Floats:
    """(n, 3, 3) rotations Q with Q e_z = axis, for (n, 3) unit axes; the identity where the axis is z."""
    x, y, z = axis[:, 0], axis[:, 1], axis[:, 2]
    # The smallest rotation from z to the axis; from -z where the axis points down, so that nothing divides by zero.
    sign = np.where(z >= 0, 1.0, -1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    Q = np.empty((len(axis), 3, 3))
    Q[:, 0, 0], Q[:, 1, 0], Q[:, 2, 0] = 1 + sign * x * x * a, sign * b, -sign * x
    Q[:, 0, 1], Q[:, 1, 1], Q[:, 2, 1] = b, sign + y * y * a, -y
    Q[:, :, 2] = axis
    return Q


def frames_along(axes: Ints, axis: Floats, axis2: Floats) -> Floats:
    """(n, 3, 3) rotations whose z is `axis`, for joints with one axis; whose x is `axis` and z `axis2`, for those with
    two, which are perpendicular; the identity for those with none."""
    Q = np.broadcast_to(np.eye(3), (len(axes), 3, 3)).copy()
    one, two = axes == 1, axes == 2
    Q[one] = rotation_to_z(axis[one])
    Q[two] = np.stack([axis[two], np.cross(axis2[two], axis[two]), axis2[two]], axis=2)
    return Q


def as_vector(what: str, x: ArrayLike) -> Floats:
    """Three finite numbers as a separate array; anything else is refused."""
    return np.array(take(what, x, TRIPLE, ModelError))


def as_rotation(x: Any, what: str = "rotation") -> Floats:
    """None, a 3x3 matrix or a quaternion, as a 3x3 matrix; anything that is not a rotation is refused."""
    if x is None:
        return np.eye(3)
    try:
        R = as_reals(x)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be a 3x3 matrix or a quaternion (x, y, z, w), not {shown(x)}") from None
    if not np.isfinite(R).all():
        raise ModelError(f"{what} is not finite")
    if R.shape == (4,):
        if abs(R @ R - 1.0) > 1e-6:
            raise ModelError(f"{what}: quaternion {shown(x)} (x, y, z, w) is not of unit length; divide it by its norm")
        return rotation_from_quaternion(R)
    if R.shape != (3, 3):
        raise ModelError(f"{what} must be a 3x3 matrix or a quaternion (x, y, z, w), not of shape {R.shape}")
    matrices, good = are_rotations(R[None])
    if not good[0]:
        raise ModelError(f"{what} is not a rotation matrix: R R^T must be 1 and det R = 1")
    return np.asarray(matrices[0])


def are_rotations(stack: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The rotations nearest to (n, 3, 3) matrices or (n, 4) quaternions, and which of them as_rotation would accept."""
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if stack.shape[1:] == (4,):
            return rotation_from_quaternion(stack), np.abs(np.sum(stack * stack, axis=1) - 1.0) <= 1e-6
        off = np.abs(stack @ stack.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        good = (off <= 1e-6) & (np.linalg.det(stack) >= 0)
        # Printed with seven digits, a matrix stretches what it rotates: inertias would depend on who rotates them.
        rough = np.flatnonzero(good & (off > 1e-14))
        if len(rough):
            stack = stack.copy()
            for _ in range(2):  # Newton-Schulz: an error e becomes e^2
                R = stack[rough]
                stack[rough] = 0.5 * R @ (3 * np.eye(3) - R.transpose(0, 2, 1) @ R)
        return stack, good


def point_inertia(mass: float, r: Floats) -> Floats:
    """Rotational inertia about the origin of a point mass at r."""
    return np.asarray(mass * ((r @ r) * np.eye(3) - np.outer(r, r)))
