"""A joint as a motion, and the inverse: the pose of a body from q, and the q, v and a from its pose and motion.

R, p   (3, 3), (3,)  the body's frame in the joint's frame
S      (6, nv)       V = S v is the velocity across the joint, along the body's axes, at its origin, angular first
c      (6,)          A = S a + c is its acceleration, in the same components
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.model.geometry import (
    quaternion_from_rotation,
    rotation_about,
    rotation_from_quaternion,
    rotation_to_z,
)
from supple.model.joints import ANGLES, KINDS, JointType
from supple.once import made_once

Floats = NDArray[np.float64]
OVERSHOOT = 0.1  #: radians that a joint may exceed its limits (springs allow it) before another turn is preferred


@made_once("kind")
@dataclass(frozen=True)
class JointShape:
    """The motion that a joint allows. axis, axis2: unit vectors in the joint's frame."""

    kind: JointType
    axis: Floats
    axis2: Floats
    pitch: float = 0.0

    def pose(self, q: Floats) -> tuple[Floats, Floats]:
        """R and p at q."""
        kind, e = self.kind, self.axis
        if kind == JointType.FREE:
            return rotation_from_quaternion(q[3:]), q[:3].copy()
        if kind == JointType.BALL:
            return rotation_from_quaternion(q), np.zeros(3)
        if kind == JointType.PLANAR:
            return rotation_about(e, np.arctan2(q[3], q[2])), self._plane() @ [q[0], q[1], 0.0]
        if kind == JointType.UNIVERSAL:
            return rotation_about(e, q[0]) @ rotation_about(self.axis2, q[1]), np.zeros(3)
        if kind == JointType.PRISMATIC:
            return np.eye(3), e * q[0]
        along = q[1] if kind == JointType.CYLINDRICAL else self.pitch * q[0] if kind == JointType.SCREW else 0.0
        return rotation_about(e, q[0]), e * along

    def coordinates(self, R: Floats, p: Floats) -> Floats:
        """The q whose pose is R and p, if there is one; otherwise some other q."""
        kind, e = self.kind, self.axis
        if kind == JointType.FREE:
            return np.concatenate([p, quaternion_from_rotation(R)])
        if kind == JointType.BALL:
            return quaternion_from_rotation(R)
        if kind == JointType.UNIVERSAL:
            # R = R1 R2 puts e, seen from the body, at R2^T e, and axis2 in the joint's frame at R1 axis2
            second = np.cross(self.axis2, e)
            seen, turned = R.T @ e, R @ self.axis2
            return np.array([np.arctan2(-turned @ second, turned @ self.axis2), np.arctan2(-seen @ second, seen @ e)])
        if kind == JointType.PLANAR:
            Q, angle = self._plane(), self._angle(R)
            return np.array([*(Q.T @ p)[:2], np.cos(angle), np.sin(angle)])
        if kind == JointType.PRISMATIC:
            return np.array([p @ e])
        angle = self._angle(R)
        if kind == JointType.SCREW and self.pitch:
            # of all equivalent angles, the one consistent with the displacement
            angle += 2 * np.pi * round(float(p @ e / self.pitch - angle) / (2 * np.pi))
        return np.array([angle, p @ e] if kind == JointType.CYLINDRICAL else [angle])

    def alike(self, q: Floats, near: Floats | None, lower: Floats, upper: Floats) -> Floats:
        """Among all coordinates with the pose of q, those nearest to `near` (to zero, if not given) or, if these are
        beyond the joint's limits and a turn more or less is not, within them."""
        kind, out = self.kind, q.copy()
        if kind in (JointType.BALL, JointType.FREE):
            if near is not None and near[-4:] @ q[-4:] < 0.0:
                out[-4:] *= -1.0
            return out
        # another full turn gives the same pose; a screw's displacement distinguishes its turns
        angles = 0 if KINDS[kind].pitched and self.pitch else ANGLES[kind]
        for i in range(angles):
            out[i] += 2 * np.pi * _turns(float(q[i]), 0.0 if near is None else float(near[i]), lower[i], upper[i])
        return out

    def directions(self, q: Floats, v: Floats) -> tuple[Floats, Floats]:
        """S and c."""
        kind, e = self.kind, self.axis
        S, c = np.zeros((6, kind.nv)), np.zeros(6)
        if kind == JointType.FREE:
            S[3:, :3] = S[:3, 3:] = np.eye(3)
        elif kind == JointType.BALL:
            S[:3] = np.eye(3)
        elif kind == JointType.PLANAR:
            S[3:, :2], S[:3, 2] = self._plane()[:, :2], e
        elif kind == JointType.UNIVERSAL:
            S[:3, 0], S[:3, 1] = rotation_about(self.axis2, -q[1]) @ e, self.axis2
            c[:3] = np.cross(S[:3, 0], S[:3, 1]) * (v[0] * v[1])  # the second axis turns with the first
        elif kind == JointType.PRISMATIC:
            S[3:, 0] = e
        else:
            S[:3, 0] = e
            if kind == JointType.SCREW:
                S[3:, 0] = self.pitch * e
            if kind == JointType.CYLINDRICAL:
                S[3:, 1] = e
        return S, c

    def rates(self, q: Floats, V: Floats) -> tuple[Floats, Floats]:
        """The v with S v nearest to V, and the remainder of V."""
        S, _ = self.directions(q, np.zeros(self.kind.nv))
        v = _solve(S, V)
        return v, V - S @ v

    def accelerations(self, q: Floats, v: Floats, A: Floats) -> tuple[Floats, Floats]:
        """The a with S a + c nearest to A, and the remainder of A."""
        S, c = self.directions(q, v)
        a = _solve(S, A - c)
        return a, A - c - S @ a

    def _plane(self) -> Floats:
        return np.asarray(rotation_to_z(self.axis[None])[0])

    def _angle(self, R: Floats) -> float:
        """The angle by which R rotates about the axis, if it does nothing else."""
        (_, xy, xz), (yx, _, yz), (zx, zy, _) = R.tolist()
        sine = 0.5 * float(self.axis @ [zy - yz, xz - zx, yx - xy])
        return math.atan2(sine, 0.5 * (float(R.trace()) - 1.0))


def _turns(angle: float, near: float, lower: float, upper: float) -> int:
    """How many turns to add to an angle."""
    nearest = round((near - angle) / (2 * math.pi))
    x = angle + 2 * math.pi * nearest
    if lower - OVERSHOOT <= x <= upper + OVERSHOOT:
        return nearest
    more = math.ceil((lower - x) / (2 * math.pi)) if x < lower else -math.ceil((x - upper) / (2 * math.pi))
    return nearest + more if lower <= x + 2 * math.pi * more <= upper else nearest


def _solve(S: Floats, V: Floats) -> Floats:
    return np.asarray(np.linalg.solve(S.T @ S, S.T @ V))
