"""The robots of the package example-robot-data, and where bodies are, worked out in plain NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.model.geometry import rotation_about, rotation_from_quaternion
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.physical import joint_motions
from supple.robots import folder

#: Files of the package that are not robots (Pinocchio refuses them too), and why.
BROKEN = {
    "falcon.urdf": "a joint names the link Z_propeller, which is not there",
    "ur3.urdf": "an empty <robot>",
}

#: Robots without any joint that moves: they need a floating base.
RIGID = {"bluevolta.urdf", "quadrotor_base.urdf", "iris_simple.urdf"}


FOLDER = folder()
FILES = [] if FOLDER is None else sorted(FOLDER.rglob("*.urdf"))
ROBOTS = [p for p in FILES if p.name not in BROKEN]


def robot(name: str) -> Path:
    """The file of a robot, by its file name; skips the test where example-robot-data is not installed."""
    if FOLDER is None:
        pytest.skip("example-robot-data is not installed")
    return next(p for p in FILES if p.name == name)


def each_robot(argument: str = "path", files: list[Path] | None = None) -> pytest.MarkDecorator:
    """Run a test for every robot (a skipped one if example-robot-data is not installed)."""
    files = ROBOTS if files is None else files
    return pytest.mark.parametrize(argument, files, ids=[f"{p.parent.parent.name}/{p.stem}" for p in files])


def body_poses(model: Model, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rotation and position of every body in the world: the product of all placements and motions."""
    out: list[tuple[np.ndarray, np.ndarray]] = []
    for i in range(model.n_bodies):
        p = int(model.parent[i])
        R, x = (np.eye(3), np.zeros(3)) if p < 0 else out[p]
        R, x = R @ model.rotation[i], x + R @ model.position[i]
        turn, shift = joint_pose(model, i, q)
        out.append((R @ turn, x + R @ shift))
    return out


def joint_pose(model: Model, i: int, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rotation and shift that joint i gives its body at q, for the joint types that files can hold."""
    kind = JointType(int(model.joint_type[i]))
    x, axis = q[model.joints[i].q], model.axis[i]
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return rotation_about(axis, x[0]), np.zeros(3)
    if kind == JointType.PRISMATIC:
        return np.eye(3), x[0] * axis
    if kind == JointType.BALL:
        return rotation_from_quaternion(x), np.zeros(3)
    if kind == JointType.FREE:
        return rotation_from_quaternion(x[3:]), x[:3]
    if kind == JointType.PLANAR:
        in_plane = joint_motions(kind, axis[None], axis[None], np.zeros(1))[0, 3:, :2]
        return rotation_about(axis, np.arctan2(x[3], x[2])), in_plane @ x[:2]
    raise NotImplementedError(kind)
