"""Forward dynamics at rest in extended precision: an oracle for what float64 may lose.

Written from the conventions alone (docs/conventions.md). Body frames, 6-vectors angular first. By dense matrices,
O(n^3); or by articulated bodies [RBDA 7.3], O(n), which also keep their digits where light bodies carry heavy ones.
"""

from __future__ import annotations

import numpy as np
import pytest

from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType
from supple.model.model import Model

Long = np.longdouble
needs_extended = pytest.mark.skipif(np.finfo(Long).nmant < 60, reason="needs an extended long double")


def skew(r):
    x, y, z = r
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=Long)


def about(axis, angle):
    """Rotation by Rodrigues' formula."""
    K = skew(np.asarray(axis, dtype=Long) / np.sqrt((np.asarray(axis, dtype=Long) ** 2).sum()))
    return np.eye(3, dtype=Long) + np.sin(Long(angle)) * K + (1 - np.cos(Long(angle))) * (K @ K)


def of_quaternion(q):
    x, y, z, w = np.asarray(q, dtype=Long) / np.sqrt((np.asarray(q, dtype=Long) ** 2).sum())
    v = skew((x, y, z))
    return np.eye(3, dtype=Long) + 2 * w * v + 2 * (v @ v)


def joint(model: Model, i: int, q):
    """Rotation and position of the body's frame in its joint's, and its motion subspace (6, k) in the body's frame."""
    kind, a = JointType(int(model.joint_type[i])), model.axis[i].astype(Long)
    a = a / np.sqrt(a @ a)
    R, p, none = np.eye(3, dtype=Long), np.zeros(3, dtype=Long), np.zeros(3, dtype=Long)
    turn, slide = np.r_[a, none], np.r_[none, a]
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return about(a, q[0]), p, turn[:, None]
    if kind == JointType.PRISMATIC:
        return R, a * Long(q[0]), slide[:, None]
    if kind == JointType.SCREW:
        pitch = Long(model.pitch[i])
        return about(a, q[0]), a * pitch * Long(q[0]), (turn + pitch * slide)[:, None]
    if kind == JointType.CYLINDRICAL:
        return about(a, q[0]), a * Long(q[1]), np.stack([turn, slide], axis=1)
    if kind == JointType.UNIVERSAL:
        second = about(model.axis2[i], q[1])
        b = model.axis2[i].astype(Long) / np.sqrt((model.axis2[i].astype(Long) ** 2).sum())
        return about(a, q[0]) @ second, p, np.stack([np.r_[second.T @ a, none], np.r_[b, none]], axis=1)
    if kind == JointType.PLANAR:
        T = rotation_to_z(model.axis[i : i + 1])[0].astype(Long)
        c, s = np.asarray(q[2:4], dtype=Long) / np.hypot(*np.asarray(q[2:4], dtype=Long))
        turned = T @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=Long) @ T.T
        S = np.stack([np.r_[none, T[:, 0]], np.r_[none, T[:, 1]], np.r_[T[:, 2], none]], axis=1)
        return turned, T[:, 0] * Long(q[0]) + T[:, 1] * Long(q[1]), S
    eye = np.eye(6, dtype=Long)
    if kind == JointType.BALL:
        return of_quaternion(q), p, eye[:, :3]
    assert kind == JointType.FREE
    return of_quaternion(q[3:]), np.asarray(q[:3], dtype=Long), np.concatenate([eye[:, 3:], eye[:, :3]], axis=1)


def precise_pose(model: Model, i: int, q):
    """Rotation and position of a body in the world."""
    R, r = np.eye(3, dtype=Long), np.zeros(3, dtype=Long)
    while i >= 0:
        turn, slide, _ = joint(model, i, q[model.joints[i].q])
        up = model.rotation[i].astype(Long)
        R, r = up @ turn @ R, model.position[i].astype(Long) + up @ (slide + turn @ r)
        i = int(model.parent[i])
    return R, r


def link(model: Model, i: int, q):
    """Of a body: X from its parent, its joint's motion subspace, its inertia."""
    R, r, S = joint(model, i, q[model.joints[i].q])
    r = model.position[i].astype(Long) + model.rotation[i].astype(Long) @ r
    R = model.rotation[i].astype(Long) @ R
    X = np.block([[R.T, np.zeros((3, 3), dtype=Long)], [-R.T @ skew(r), R.T]])
    m, C = Long(model.mass[i]), skew(model.com[i].astype(Long))
    I = np.block([[model.inertia[i].astype(Long) + m * C @ C.T, m * C], [m * C.T, m * np.eye(3, dtype=Long)]])
    return X, S, I


def mass_matrix_and_forces(model: Model, q, wrenches=None):
    """H, and the joint forces that hold the body at rest against gravity and the wrenches on its bodies."""
    n, nv = model.n_bodies, model.nv
    J = np.zeros((n, 6, nv), dtype=Long)  # of each body, in its frame
    a = np.zeros((n, 6), dtype=Long)  # against gravity
    H, tau = np.zeros((nv, nv), dtype=Long), np.zeros(nv, dtype=Long)
    for i in range(n):
        part, p = model.joints[i], int(model.parent[i])
        X, S, I = link(model, i, q)
        up = np.r_[np.zeros(3, dtype=Long), -np.asarray(model.gravity, dtype=Long)] if p < 0 else a[p]
        a[i] = X @ up
        if p >= 0:
            J[i] = X @ J[p]
        J[i][:, part.v] += S
        H += J[i].T @ I @ J[i]
        f = I @ a[i] - (0 if wrenches is None else wrenches[i].astype(Long))
        tau += J[i].T @ f
    return H + np.diag(model.armature.astype(Long)), tau


def solve(H, b):
    """By Cholesky's factors."""
    n, L = len(b), np.array(H, dtype=Long)
    for k in range(n):
        L[k, k] = np.sqrt(L[k, k] - L[k, :k] @ L[k, :k])
        L[k + 1 :, k] = (L[k + 1 :, k] - L[k + 1 :, :k] @ L[k, :k]) / L[k, k]
    y = np.array(b, dtype=Long)
    for k in range(n):
        y[k] = (y[k] - L[k, :k] @ y[:k]) / L[k, k]
    for k in range(n - 1, -1, -1):
        y[k] = (y[k] - L[k + 1 :, k] @ y[k + 1 :]) / L[k, k]
    return y


def accelerations_at_rest(model: Model, q, tau, wrenches=None):
    """(nv,) in extended precision."""
    H, hold = mass_matrix_and_forces(model, q, wrenches)
    return solve(H, np.asarray(tau, dtype=Long) - hold)


def articulated(model: Model, q, tau, wrenches=None):
    """The same, by articulated bodies."""
    n, parent, tau = model.n_bodies, model.parent, np.asarray(tau, dtype=Long)
    links = [link(model, i, q) for i in range(n)]
    IA = [I.copy() for _, _, I in links]
    pA = np.zeros((n, 6), dtype=Long) if wrenches is None else -wrenches.astype(Long)
    joints = [None] * n
    for i in range(n - 1, -1, -1):
        X, S, _ = links[i]
        v = model.joints[i].v
        U = IA[i] @ S
        D, u = S.T @ U + np.diag(model.armature[v].astype(Long)), tau[v] - S.T @ pA[i]
        joints[i] = U, D, u
        if parent[i] >= 0:
            IA[parent[i]] += X.T @ (IA[i] - U @ np.stack([solve(D, row) for row in U], axis=1)) @ X
            pA[parent[i]] += X.T @ (pA[i] + U @ solve(D, u))
    a, qdd = np.zeros((n, 6), dtype=Long), np.zeros(model.nv, dtype=Long)
    world = np.r_[np.zeros(3, dtype=Long), -np.asarray(model.gravity, dtype=Long)]
    for i in range(n):
        (X, S, _), (U, D, u), v = links[i], joints[i], model.joints[i].v
        a[i] = X @ (world if parent[i] < 0 else a[parent[i]])
        qdd[v] = solve(D, u - U.T @ a[i])
        a[i] += S @ qdd[v]
    return qdd


def norms(model, x):
    """The length of each joint's part of x."""
    return np.sqrt(np.add.reduceat(x * x, model.v_index))


def true_error(model, exact, found, measure):
    """The error of accelerations in one of the measures of quasi-statics."""
    e, a = norms(model, found - exact), norms(model, exact)
    error = e.max() if measure.endswith("joint") else np.linalg.norm(e)
    size = a.max() if measure.endswith("joint") else np.linalg.norm(a)
    return error / (size if measure.startswith("relative") else 1.0)
