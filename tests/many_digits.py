"""Forward dynamics of mechanisms with loops, at rest, in 60 digits: an oracle for what float64 may lose.

Written from the conventions alone (docs/conventions.md), along world axes, 6-vectors angular first. Loops leave the
motions N with G N = 0; accelerations are N y with N^T H N y = N^T (tau - C), whatever the masses are.
"""

from __future__ import annotations

from decimal import Decimal, getcontext

import numpy as np

from supple.model.geometry import frames_along
from supple.model.joints import AXES, DIRECTIONS, KINDS, JointType
from supple.model.model import Model

getcontext().prec = 60
ONE, ZERO = Decimal(1), Decimal(0)
APART = "1e-9"  #: rows of unit length of which less is left depend on others


def many(x):
    """Floats, with all digits that they have."""
    x = np.asarray(x, dtype=float)
    return np.array([Decimal(float(t)) for t in x.ravel()], dtype=object).reshape(x.shape)


def zeros(*shape):
    return many(np.zeros(shape))


def eye(n):
    return many(np.eye(n))


def skew(r):
    x, y, z = r
    return np.array([[ZERO, -z, y], [z, ZERO, -x], [-y, x, ZERO]], dtype=object)


def unit(a):
    return a / (a @ a).sqrt()


def about(axis, angle):
    """Rotation by Rodrigues' formula; sine and cosine by their series."""
    K, x, sums, term, k = skew(unit(many(axis))), Decimal(float(angle)), [ZERO] * 4, ONE, 0
    while k < 10 or abs(term) > Decimal("1e-65"):
        sums[k % 4] += term
        k += 1
        term = term * x / k
    return eye(3) + K * (sums[1] - sums[3]) + (K @ K) * (1 - sums[0] + sums[2])


def of_quaternion(q):
    x, y, z, w = unit(many(q))
    v = skew((x, y, z))
    return eye(3) + v * (2 * w) + (v @ v) * 2


def rotation(R):
    """The rotation next to a matrix of floats."""
    R = many(R)
    for _ in range(4):
        R = R @ (3 * eye(3) - R.T @ R) * Decimal("0.5")
    return R


def joint(model: Model, i: int, q):
    """Rotation and position of the body's frame in its joint's, and its motion subspace (6, k) in the body's frame."""
    kind, none, e = JointType(int(model.joint_type[i])), zeros(3), eye(6)
    if kind == JointType.BALL:
        return of_quaternion(q), none, e[:, :3]
    if kind == JointType.FREE:
        return of_quaternion(q[3:]), many(q[:3]), np.concatenate([e[:, 3:], e[:, :3]], axis=1)
    a = unit(many(model.axis[i]))
    turn, slide = np.r_[a, none], np.r_[none, a]
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        return about(a, q[0]), none, turn[:, None]
    if kind == JointType.PRISMATIC:
        return eye(3), a * Decimal(float(q[0])), slide[:, None]
    if kind == JointType.CYLINDRICAL:
        return about(a, q[0]), a * Decimal(float(q[1])), np.stack([turn, slide], axis=1)
    assert kind == JointType.UNIVERSAL
    b = unit(many(model.axis2[i]))
    second = about(b, q[1])
    return about(a, q[0]) @ second, none, np.stack([np.r_[second.T @ a, none], np.r_[b, none]], axis=1)


def placed(model: Model, q):
    """R, P and the Jacobian of each body's origin; H, and the joint forces that hold the body against gravity."""
    R, P, J = [], [], []
    H, hold = np.diag(many(model.armature)) + zeros(model.nv, model.nv), zeros(model.nv)
    for i in range(model.n_bodies):
        p = int(model.parent[i])
        turn, slide, S = joint(model, i, q[model.joints[i].q])
        up, at, over = (eye(3), zeros(3), zeros(6, model.nv)) if p < 0 else (R[p], P[p], J[p])
        here = rotation(model.rotation[i])
        R.append(up @ here @ turn)
        P.append(at + up @ (many(model.position[i]) + here @ slide))
        J.append(moved(over, P[i] - at))
        J[i][:3, model.joints[i].v] += R[i] @ S[:3]
        J[i][3:, model.joints[i].v] += R[i] @ S[3:]
        m, centre = Decimal(float(model.mass[i])), moved(J[i], R[i] @ many(model.com[i]))
        H = H + m * centre[3:].T @ centre[3:] + J[i][:3].T @ R[i] @ many(model.inertia[i]) @ R[i].T @ J[i][:3]
        hold = hold - m * centre[3:].T @ many(model.gravity)
    return R, P, J, H, hold


def moved(J, r):
    """The Jacobian of a point at r from the one of J."""
    out = J.copy()
    out[3:] = J[3:] - skew(r) @ J[:3]
    return out


def rows(model: Model, R, P, J):
    """G."""
    out = []
    for x in model.loop_list:
        along = rotation(frames_along(np.array([AXES[x._type]]), x.axis[None], x.axis2[None])[0])
        ends = []
        for b, p, turn in ((x.body, x.position, x.rotation), (x.other, x.other_position, x.other_rotation)):
            up, at, over = (eye(3), zeros(3), zeros(6, model.nv)) if b < 0 else (R[b], P[b], J[b])
            ends.append((up @ rotation(turn) @ along, at + up @ many(p), at, over))
        (A, _, at_A, J_A), (B, point, at_B, J_B) = ends
        apart = moved(J_B, point - at_B) - moved(J_A, point - at_A)
        for k in (k for k, name in enumerate(DIRECTIONS) if name in KINDS[x._type].forbidden.split()):
            if k >= 3:
                out.append(A[:, k - 3] @ apart[3:])
                if x._type == JointType.SCREW and k == 5:
                    out[-1] = out[-1] - Decimal(float(x.pitch)) * B[:, 2] @ apart[:3]
            else:
                out.append((skew(B[:, 2]) @ A[:, 0] if x._type == JointType.UNIVERSAL else B[:, k]) @ apart[:3])
    for relation in model.relation_list:
        out.append(zeros(model.nv))
        for name, factor in zip(relation.joints, relation.factors, strict=True):
            out[-1][model.joints[name].v] = Decimal(factor)
    return np.array(out, dtype=object)


def motions(G, apart):
    """N, by elimination with full pivoting."""
    G, k = np.array([x / max((x @ x).sqrt(), Decimal("1e-12")) for x in G], dtype=object), 0
    r, n = G.shape
    order = np.arange(n)
    while k < min(r, n):
        i, j = np.unravel_index(int(np.argmax(np.abs(G[k:, k:]))), (r - k, n - k))
        if abs(G[k + i, k + j]) < apart:
            break
        G[[k, k + i]] = G[[k + i, k]]
        G[:, [k, k + j]] = G[:, [k + j, k]]
        order[[k, k + j]] = order[[k + j, k]]
        G[k] = G[k] / G[k, k]
        for i in range(r):
            if i != k:
                G[i] = G[i] - G[k] * G[i, k]
        k += 1
    N = zeros(n, n - k)
    N[order[:k]], N[order[k:]] = -G[:k, k:], eye(n - k)
    return N


def solve(A, b):
    """By elimination with pivoting."""
    A, n = np.column_stack([A, b]), len(b)
    for k in range(n):
        i = k + int(np.argmax(np.abs(A[k:, k])))
        A[[k, i]] = A[[i, k]]
        A[k] = A[k] / A[k, k]
        for i in range(n):
            if i != k:
                A[i] = A[i] - A[k] * A[i, k]
    return A[:, -1]


def basis(G, apart):
    """Orthonormal rows that span those of G, by Gram and Schmidt with pivoting."""
    left, out = list(G), []
    while left:
        x = left.pop(max(range(len(left)), key=lambda i: left[i] @ left[i]))
        if (x @ x).sqrt() < apart:
            break
        out.append(unit(x))
        left = [y - out[-1] * (out[-1] @ y) for y in left]
    return np.array(out, dtype=object)


def _solved(model: Model, q, tau, apart):
    """Accelerations, the forces that loops have to exert along joints for them, and G."""
    R, P, J, H, hold = placed(model, q)
    free = not (model.loop_list or model.relation_list)
    G = None if free else rows(model, R, P, J)
    N = eye(model.nv) if free else motions(G, apart)
    a = N @ solve(N.T @ H @ N, N.T @ (many(tau) - hold))
    return a, H @ a + hold - many(tau), G


def accelerations(model: Model, q, tau, apart: str = APART):
    """(nv,) rounded to floats."""
    return _solved(model, q, tau, Decimal(apart))[0].astype(float)


def smallest_forces(model: Model, q, tau, apart: str = APART):
    """(rows,) along the rows of loops, in the order of exact/closure.py, rounded to floats: G = L B, where the rows of
    B are independent, and G^T x is what loops exert."""
    _, exerted, G = _solved(model, q, tau, Decimal(apart))
    B = basis(G, Decimal(apart))
    L = G @ B.T
    return (L @ solve(L.T @ L, B @ exerted)).astype(float)
