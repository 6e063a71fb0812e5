"""Rotations and inertias before anything is compiled, against SciPy. Tolerance 1e-14: a handful of roundings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supple.errors import ModelError
from supple.model.geometry import (
    are_rotations,
    as_rotation,
    as_vector,
    point_inertia,
    quaternion_from_rotation,
    rotation_about,
    rotation_from_quaternion,
    rotation_from_rpy,
    rotation_to_z,
    rpy_from_rotation,
)

Rotation = pytest.importorskip("scipy.spatial.transform").Rotation
seeds = st.integers(0, 2**32 - 1)


def close(a, b, tolerance=1e-14):
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


def quaternions(seed, *shape):
    q = np.random.default_rng(seed).standard_normal((*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@given(seeds)
def test_rotation_of_quaternion(seed):
    q = quaternions(seed, 5)
    close(rotation_from_quaternion(q), Rotation.from_quat(q).as_matrix())
    close(rotation_from_quaternion(3.0 * q[0]), rotation_from_quaternion(q[0]))


@given(seeds)
def test_quaternion_of_rotation(seed):
    q = quaternions(seed, 5)
    out = quaternion_from_rotation(rotation_from_quaternion(q))
    close(out, np.where(q[:, 3:] < 0, -q, q))


@pytest.mark.parametrize("axis", np.eye(3).tolist())
def test_quaternion_of_half_turns(axis):
    """w = 0, where one of the four ways to write it does not cancel; and a hair beside it."""
    for angle in (np.pi, np.pi - 1e-9, np.pi + 1e-9):
        R = Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
        q = quaternion_from_rotation(R)
        assert q[3] >= 0
        close(rotation_from_quaternion(q), R)


@given(seeds)
def test_rotation_about_axis(seed):
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal((4, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = rng.uniform(-7, 7, 4)
    close(rotation_about(axis, angle), Rotation.from_rotvec(axis * angle[:, None]).as_matrix())
    close(rotation_about(axis[0], angle)[2], rotation_about(axis[0], angle[2]))


@given(seeds)
def test_roll_pitch_yaw(seed):
    rpy = np.random.default_rng(seed).uniform(-np.pi, np.pi, 3)
    R = rotation_from_rpy(rpy)
    close(R, Rotation.from_euler("xyz", rpy).as_matrix())
    close(rotation_from_rpy(rpy_from_rotation(R)), R)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1e-9 - np.pi / 2])
def test_roll_pitch_yaw_at_the_poles(pitch):
    """Where yaw is ill determined the angles still give the same rotation."""
    R = rotation_from_rpy([0.3, pitch, -1.1])
    close(rotation_from_rpy(rpy_from_rotation(R)), R, 2e-9)


@given(seeds)
def test_rotation_to_z(seed):
    axis = np.random.default_rng(seed).standard_normal((3, 3))
    axis = np.concatenate([axis / np.linalg.norm(axis, axis=1, keepdims=True), [[0, 0, 1], [0, 0, -1], [1, 0, 0]]])
    Q = rotation_to_z(axis)
    close(Q[:, :, 2], axis)
    close(Q @ Q.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (6, 3, 3)))
    close(np.linalg.det(Q), 1.0)
    close(Q[3], np.eye(3), 0)


def test_rotation_to_z_near_the_poles():
    """The axis may be within rounding of either pole."""
    for z in (1.0, -1.0):
        axis = np.array([[1e-12, -3e-12, z]])
        Q = rotation_to_z(axis)[0]
        close(Q @ Q.T, np.eye(3))
        close(Q[:, 2], axis[0])


@given(seeds)
def test_point_inertia(seed):
    """w^T I w = m |w x r|^2 for every w."""
    rng = np.random.default_rng(seed)
    r, w = rng.standard_normal((2, 3))
    close(w @ point_inertia(1.3, r) @ w, 1.3 * np.sum(np.cross(w, r) ** 2), 1e-12)


def test_vectors():
    x = np.array([1.0, 2.0, 3.0])
    out = as_vector("gravity", x)
    assert out is not x and not np.shares_memory(out, x)
    np.testing.assert_array_equal(as_vector("gravity", (1, 2, 3)), x)


@pytest.mark.parametrize("bad", [(1, 2), 3.0, "up", None, (1, 2, np.nan), (1, 2, np.inf), [[1, 2, 3]], (1, 2j, 3)])
def test_what_is_no_vector(bad):
    with pytest.raises(ModelError, match="gravity must be three finite numbers"):
        as_vector("gravity", bad)


def test_rotations():
    R = rotation_from_rpy([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(as_rotation(None), np.eye(3))
    np.testing.assert_array_equal(as_rotation(R), R)
    close(as_rotation(quaternion_from_rotation(R)), R)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (np.diag([1.0, 1.0, -1.0]), "not a rotation matrix"),  # a mirror
        (2 * np.eye(3), "not a rotation matrix"),
        (np.eye(3) + 1e-4, "not a rotation matrix"),
        ((0, 0, 0, 2), "not of unit length"),
        ((0, 0, 0, 0), "not of unit length"),
        (np.eye(2), "3x3 matrix or a quaternion"),
        ((1, 2, 3), "3x3 matrix or a quaternion"),
        (np.full((3, 3), np.nan), "not finite"),
        ("upside down", "3x3 matrix or a quaternion"),
        (np.eye(3) * 1j, "3x3 matrix or a quaternion"),
    ],
)
def test_what_is_no_rotation(bad, why):
    with pytest.raises(ModelError, match=rf"^turn.* {why}"):
        as_rotation(bad, "turn")


def test_printed_rotations_are_straightened():
    """Seven digits are enough to be accepted, not to be used as they are; those that are right are not touched."""
    good = rotation_from_rpy([0.1, 0.2, 0.3])
    rough = np.round(good, 7)
    assert np.abs(rough @ rough.T - np.eye(3)).max() > 1e-8
    for out in (as_rotation(rough), are_rotations(np.stack([good, rough]))[0][1]):
        close(out @ out.T, np.eye(3), 1e-15)
        close(out, good, 1e-7)
    np.testing.assert_array_equal(are_rotations(np.stack([good, rough]))[0][0], good)


def test_many_rotations_at_once():
    """The verdict on a stack is that on each alone."""
    good = rotation_from_rpy([0.1, 0.2, 0.3])
    stack = np.stack([good, np.diag([1.0, 1.0, -1.0]), 1.1 * good, np.full((3, 3), np.nan), np.eye(3)])
    out, verdict = are_rotations(stack)
    assert verdict.tolist() == [True, False, False, False, True]
    np.testing.assert_array_equal(out[0], good)
    q = quaternion_from_rotation(good)
    out, verdict = are_rotations(np.stack([q, 2 * q, 0 * q, np.nan * q]))
    assert verdict.tolist() == [True, False, False, False]
    close(out[0], good)
