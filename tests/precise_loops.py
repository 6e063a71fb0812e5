"""Forward dynamics at rest of bodies with loops in extended precision, by dense matrices. Loop joints: ball, fixed,
revolute, prismatic."""

from __future__ import annotations

import numpy as np

from precise import Long, link, mass_matrix_and_forces, precise_pose, skew
from supple.model.model import Model

NOTHING = 1e-13  #: of a row, scaled to one: it depends on the others
ROUNDING = 1e-12  #: of the longest row: what is shorter is zero


def jacobian(model: Model, q, i: int, point):
    """(6, nv) of a body, along world axes: its angular velocity, and the velocity of a point in the world."""
    J = np.zeros((6, model.nv), dtype=Long)
    if i < 0:
        return J
    path = [i]
    while model.parent[path[-1]] >= 0:
        path.append(int(model.parent[path[-1]]))
    for k in reversed(path):
        X, S, _ = link(model, k, q)
        J = X @ J
        J[:, model.joints[k].v] += S
    R, r = precise_pose(model, i, q)
    turn = R @ J[:3]
    return np.vstack([turn, R @ J[3:] - skew(point - r) @ turn])


def frame(model: Model, q, body: int, position, rotation):
    R, r = (np.eye(3, dtype=Long), np.zeros(3, dtype=Long)) if body < 0 else precise_pose(model, body, q)
    return R @ rotation.astype(Long), r + R @ position.astype(Long)


def perpendicular(axis):
    a = axis.astype(Long) / np.sqrt((axis.astype(Long) ** 2).sum())
    x = np.cross(a, np.eye(3, dtype=Long)[int(np.argmin(np.abs(a)))])
    x = x / np.sqrt(x @ x)
    return np.stack([x, np.cross(a, x)])


def rows(model: Model, q):
    """G."""
    out = []
    for loop in model.loop_list:
        R_A, _ = frame(model, q, loop.body, loop.position, loop.rotation)
        R_B, P = frame(model, q, loop.other, loop.other_position, loop.other_rotation)
        J = jacobian(model, q, loop.other, P) - jacobian(model, q, loop.body, P)
        if loop.joint == "revolute":
            turns, slides = perpendicular(loop.axis) @ R_B.T, np.eye(3, dtype=Long)
        elif loop.joint == "prismatic":
            turns, slides = np.eye(3, dtype=Long), perpendicular(loop.axis) @ R_A.T
        else:
            turns, slides = np.eye(3 if loop.joint == "fixed" else 0, 3, dtype=Long), np.eye(3, dtype=Long)
        out += [*(turns @ J[:3]), *(slides @ J[3:])]
    for relation in model.relation_list:
        row = np.zeros(model.nv, dtype=Long)
        for name, factor in zip(relation.joints, relation.factors, strict=True):
            row[model.joints[name].v] = factor
        out.append(row)
    return np.array(out)


def factor(H):
    L = np.array(H, dtype=Long)
    for k in range(len(L)):
        L[k, k] = np.sqrt(L[k, k] - L[k, :k] @ L[k, :k])
        L[k + 1 :, k] = (L[k + 1 :, k] - L[k + 1 :, :k] @ L[k, :k]) / L[k, k]
    return np.tril(L)


def forward(L, b):
    y = np.array(b, dtype=Long)
    for k in range(len(y)):
        y[k] = (y[k] - L[k, :k] @ y[:k]) / L[k, k]
    return y


def backward(L, b):
    y = np.array(b, dtype=Long)
    for k in range(len(y) - 1, -1, -1):
        y[k] = (y[k] - L[k + 1 :, k] @ y[k + 1 :]) / L[k, k]
    return y


def accelerations_with_loops(model: Model, q, tau, wrenches=None):
    """(nv,) H a = tau - hold + G^T x, G a = 0: L^T a is what is left of L^-1 (tau - hold) beside the columns of
    L^-1 G^T, with H = L L^T."""
    H, hold = mass_matrix_and_forces(model, q, wrenches)
    L = factor(H)
    y, columns, basis = forward(L, np.asarray(tau, dtype=Long) - hold), list(forward(L, rows(model, q).T).T), []
    longest = max((c @ c for c in columns), default=Long(0))
    columns = [c / np.sqrt(c @ c) for c in columns if c @ c > ROUNDING**2 * longest]
    while columns:
        best = int(np.argmax([c @ c for c in columns]))
        c = columns.pop(best)
        if np.sqrt(c @ c) < NOTHING:
            break
        for b in basis + basis:
            c = c - b * (b @ c)
        c = c / np.sqrt(c @ c)
        basis.append(c)
        columns = [x - c * (c @ x) for x in columns]
    for b in basis + basis:
        y = y - b * (b @ y)
    return backward(L, y)
