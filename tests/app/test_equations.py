"""The equations as docs/algorithms prints them, written in NumPy and held against what they are to solve.

One frame for all bodies, so every X is the identity; bodies have random inertias and forces p, joints one direction s.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

PARENT = [-1, 0, 1, 1, 0, 4, 4]
N = len(PARENT)
NEAR: dict[str, Any] = dict(rtol=1e-9, atol=1e-9)


def positive(rng: np.random.Generator, n: int = 6) -> np.ndarray:
    a = rng.standard_normal((n, n))
    return a @ a.T + np.eye(n)


class Tree:
    """A tree, and by dense matrices its accelerations (qdd) and what each joint does to its child (carried)."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.I = [positive(rng) for _ in PARENT]
        self.p, self.s = rng.standard_normal((2, N, 6))
        self.tau, self.rho = rng.standard_normal(N), rng.random(N)
        J = np.zeros((N, 6, N))
        for i, up in enumerate(PARENT):
            J[i] = J[up] if up >= 0 else 0.0
            J[i, :, i] += self.s[i]
        self.H = sum(J[i].T @ self.I[i] @ J[i] for i in range(N)) + np.diag(self.rho)
        self.qdd = np.linalg.solve(self.H, self.tau - sum(J[i].T @ self.p[i] for i in range(N)))
        self.carried = np.array([self.I[i] @ J[i] @ self.qdd + self.p[i] for i in range(N)])
        for i in range(N - 1, 0, -1):
            self.carried[PARENT[i]] += self.carried[i]


@pytest.fixture(params=range(3))
def tree(request: pytest.FixtureRequest) -> Tree:
    return Tree(request.param)


def take_out(tree: Tree, i: int, M: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[Any, ...]]:
    """A joint's direction out of a matrix and a force: the same five lines on both pages."""
    s = tree.s[i]
    U = M @ s
    D = s @ U + tree.rho[i]
    u = tree.tau[i] - s @ f
    return M - np.outer(U, U) / D, f + U * u / D, (U, D, u)


def test_articulated_bodies(tree: Tree) -> None:
    IA, pA, kept = [x.copy() for x in tree.I], tree.p.copy(), [()] * N
    for i in range(N - 1, -1, -1):
        Ia, pa, kept[i] = take_out(tree, i, IA[i], pA[i])
        if PARENT[i] >= 0:
            IA[PARENT[i]] += Ia
            pA[PARENT[i]] += pa
    a, qdd = np.zeros((N + 1, 6)), np.zeros(N)  # the last row is the world
    for i, (U, D, u) in enumerate(kept):
        qdd[i] = (u - U @ a[PARENT[i]]) / D
        a[i] = a[PARENT[i]] + tree.s[i] * qdd[i]
    np.testing.assert_allclose(qdd, tree.qdd, **NEAR)


def test_virtual_work(tree: Tree) -> None:
    P = [np.linalg.inv(x) for x in tree.I] + [np.zeros((6, 6))]  # the world does not give way
    y = np.array([-P[i] @ tree.p[i] for i in range(N)] + [np.zeros(6)])
    f, W, before, kept = np.zeros((N, 6)), [P[-1]] * N, [P[-1]] * N, [()] * N
    for b in range(N - 1, -1, -1):
        L = PARENT[b]
        V_inverse = np.linalg.inv(P[b] + P[L])
        W[b], f[b], kept[b] = take_out(tree, b, V_inverse, -V_inverse @ (y[b] - y[L]))
        before[b] = P[L]
        y[L] = y[L] - P[L] @ f[b]
        P[L] = P[L] - P[L] @ W[b] @ P[L]
    later, qdd = np.zeros((N + 1, 6)), np.zeros(N)
    for b, (U, D, u) in enumerate(kept):
        a = before[b] @ later[PARENT[b]]
        f[b] += W[b] @ a
        qdd[b] = (u - U @ a) / D
        later[b] = f[b]
        later[PARENT[b]] -= f[b]
    np.testing.assert_allclose(qdd, tree.qdd, **NEAR)
    np.testing.assert_allclose(f, tree.carried, **NEAR)


def test_sparse_factors(tree: Tree) -> None:
    A = tree.H.copy()
    for i in range(N - 1, -1, -1):
        for k in range(i + 1, N):  # rows that are no descendants of i have zeros there
            A[i, : i + 1] -= A[k, i] * A[k, : i + 1] / A[k, k]
    D, L = np.diag(A), np.tril(A) / np.diag(A)[:, None]
    np.testing.assert_allclose(L.T @ np.diag(D) @ L, tree.H, **NEAR)
    assert (np.abs(L[np.abs(tree.H) < 1e-12]) < 1e-12).all()  # nothing fills in


@pytest.mark.parametrize("dof", [1, 3])
def test_divide_and_conquer_and_total_accelerations(dof: int) -> None:
    rng = np.random.default_rng(dof)
    (A, bA), (B, bB) = [(positive(rng, 12), rng.standard_normal(12)) for _ in range(2)]
    S, Q, f1, f2 = rng.standard_normal((6, dof)), rng.standard_normal(dof), *rng.standard_normal((2, 6))
    one, two = slice(0, 6), slice(6, 12)

    V = np.linalg.inv(A[two, two] + B[one, one])
    beta, N_ = bA[two] - bB[one], np.linalg.inv(S.T @ V @ S)
    W = V - V @ S @ N_ @ S.T @ V
    gamma = W @ beta + V @ S @ N_ @ Q
    f = W @ A[two, one] @ f1 - W @ B[one, two] @ f2 + gamma
    qdd = N_ @ (Q - S.T @ V @ (A[two, one] @ f1 - B[one, two] @ f2 + beta))
    aA, aB = A @ np.concatenate([f1, -f]) + bA, B @ np.concatenate([f, f2]) + bB
    np.testing.assert_allclose(aB[one] - aA[two], S @ qdd, **NEAR)  # the joint moves in its directions alone,
    np.testing.assert_allclose(S.T @ f, Q, **NEAR)  # along which its own force acts
    top = (A[one, one] - A[one, two] @ W @ A[two, one]) @ f1
    top += (B[two, one] @ W @ A[two, one]).T @ f2 + bA[one] - A[one, two] @ gamma
    np.testing.assert_allclose(top, aA[one], **NEAR)
    bottom = B[two, one] @ W @ A[two, one] @ f1 + (B[two, two] - B[two, one] @ W @ B[one, two]) @ f2
    np.testing.assert_allclose(bottom + bB[two] + B[two, one] @ gamma, aB[two], **NEAR)

    def total(Psi: np.ndarray, p: np.ndarray, eta: float, x: np.ndarray, y: np.ndarray) -> float:
        z = np.concatenate([x, y])
        return float(z @ Psi @ z + p @ z + eta)

    a, b = [(positive(rng, 12), rng.standard_normal(12), rng.random()) for _ in range(2)]
    F1, F2, U1, U2 = W @ A[two, one], W @ B[one, two], -N_ @ S.T @ V @ A[two, one], -N_ @ S.T @ V @ B[one, two]
    r = N_ @ (Q - S.T @ V @ beta)
    (Pa, pa, ea), (Pb, pb, eb) = a, b
    Sigma = Pa[two, two] + Pb[one, one]
    pi = pb[one] - pa[two] + 2 * Sigma @ gamma
    Psi, p = np.zeros((12, 12)), np.zeros(12)
    Psi[one, one] = Pa[one, one] - Pa[one, two] @ F1 - F1.T @ Pa[two, one] + F1.T @ Sigma @ F1 + U1.T @ U1
    Psi[two, two] = Pb[two, two] - Pb[two, one] @ F2 - F2.T @ Pb[one, two] + F2.T @ Sigma @ F2 + U2.T @ U2
    Psi[two, one] = Pb[two, one] @ F1 + F2.T @ Pa[two, one] - F2.T @ Sigma @ F1 - U2.T @ U1
    Psi[one, two] = Psi[two, one].T
    p[one] = pa[one] - 2 * Pa[one, two] @ gamma + F1.T @ pi + 2 * U1.T @ r
    p[two] = pb[two] + 2 * Pb[two, one] @ gamma - F2.T @ pi - 2 * U2.T @ r
    eta = ea + eb + gamma @ Sigma @ gamma + (pb[one] - pa[two]) @ gamma + r @ r
    parts = total(*a, f1, -f) + total(*b, f, f2) + qdd @ qdd
    np.testing.assert_allclose(total(Psi, p, eta, f1, f2), parts, **NEAR)
