"""The coefficients that kernels keep for each JOIN of an assembly tree are those of the papers' equations, in dense
matrices: [QS (2), (4), (5)] for the articulated-body equation and its joint, [QS (9)] for the total acceleration.

At the neutral position a joint turns nothing, so that the bases of both its sides are the same: what the joint allows
comes last (assembly/frames.py). S takes these last entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from drawn import near
from oracle import MOVING, random_model
from supple import QuasiStatics
from supple.assembly.nodes import RIGID, Joint, JointRow, Stretch
from supple.assembly.tree import JOIN, LEAF


class Join(NamedTuple):
    """A JOIN of A and B to C, by a joint whose force is Q and whose armature is rho."""

    A: dict[str, Any]
    B: dict[str, Any]
    C: dict[str, Any]
    J: dict[str, Any]
    Q: np.ndarray
    rho: np.ndarray
    is_open: bool
    right: bool  #: whether C keeps Phi12 and Psi12, not Phi21 and Psi21


def read(struct, numbers, at, words):
    row = np.zeros(struct.words)
    row[:words] = numbers[at : at + words]
    return {name: row.view(struct.dtype)[0][name] for name in struct.dtype.names}


def joins(qs: QuasiStatics) -> Iterator[Join]:
    """Of a solver, as its kernels left them."""
    tables, body = qs._solver.tables, qs._solver.memory.body
    a, numbers, node_at, joint_at = tables.assembly, body.numbers, tables.node_at, tables.joint_at

    def stretch(i):
        rigid = a.kind[i] == LEAF and a.left[i] < 0
        return read(Stretch, numbers, node_at[i], RIGID if rigid else Stretch.words)

    for i in np.flatnonzero(a.kind == JOIN):
        v = qs.model.joints[int(a.item[i])].v
        J = read(Joint, numbers, joint_at[i], Joint.words)
        rows = joint_at[i] + Joint.words + JointRow.words * np.arange(v.stop - v.start)
        J |= {
            name: np.array([read(JointRow, numbers, at, JointRow.words)[name] for at in rows])
            for name in ("U1", "U2", "R")
        }
        right = a.up[i] >= 0 and a.right[a.up[i]] == i
        own = body.force[v], qs.model.armature[v]
        yield Join(*map(stretch, (a.left[i], a.right[i], i)), J, *own, bool(tables.tree.open[i]), right)


@pytest.mark.parametrize("seed", range(8))
def test_joins_follow_the_papers(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 14, MOVING, chain=1.0 if seed % 2 else 0.6, world=0.1)
    qs = QuasiStatics(model, model.neutral())
    for body in range(model.n_bodies):
        qs.apply(body, force=rng.standard_normal(3), point=rng.standard_normal(3), torque=rng.standard_normal(3))
        part = model.joints[body]
        qs.torque(body, rng.standard_normal(part.v.stop - part.v.start))
    qs.solve()
    found = list(joins(qs))
    for join in found:
        check(join)
    assert len(found) >= 3 and any(join.is_open for join in found)


def check(join: Join) -> None:
    A, B, C, J, Q, rho, is_open, right = join
    k = len(Q)
    S = np.eye(6)[:, 6 - k :]
    Phi21_A, Phi12_B, Psi21_A, Psi12_B = A["Phi_cross"], B["Phi_cross"], A["Psi_cross"], B["Psi_cross"]
    V = np.linalg.inv(A["Phi2"] + B["Phi1"])
    G = np.linalg.inv(S.T @ V @ S + np.diag(rho))  # armature: S^T f = Q - rho qdd
    W, U = V - V @ S @ G @ S.T @ V, G @ S.T @ V
    beta = A["b2"] - B["b1"]
    gamma, R = W @ beta + U.T @ Q, G @ Q - U @ beta
    # the joint [QS (4), (5)]
    F1, F2, U1, U2 = W @ Phi21_A, W @ Phi12_B, -U @ Phi21_A, -U @ Phi12_B
    for name, wanted in (("F1", F1), ("gamma", gamma), ("U1", U1), ("R", R)):
        near(J[name], wanted, 1e-9)
    # the articulated-body equation [QS (2)]
    near(C["Phi1"], A["Phi1"] - Phi21_A.T @ W @ Phi21_A, 1e-9)
    near(C["b1"], A["b1"] - Phi21_A.T @ gamma, 1e-9)
    # the total acceleration [QS (9)]
    Sigma = A["Psi2"] + B["Psi1"]
    pi = B["p1"] - A["p2"] + 2 * Sigma @ gamma
    near(C["Psi1"], A["Psi1"] - Psi21_A.T @ F1 - F1.T @ Psi21_A + F1.T @ Sigma @ F1 + U1.T @ U1, 1e-9)
    near(C["p1"], A["p1"] - 2 * Psi21_A.T @ gamma + F1.T @ pi + 2 * U1.T @ R, 1e-9)
    near(C["eta"], A["eta"] + B["eta"] + gamma @ Sigma @ gamma + (B["p1"] - A["p2"]) @ gamma + R @ R, 1e-9)
    if not is_open:
        return
    near(J["F2"], F2, 1e-9)
    near(J["U2"], U2, 1e-9)
    near(C["Phi2"], B["Phi2"] - Phi12_B.T @ W @ Phi12_B, 1e-9)
    near(C["b2"], B["b2"] + Phi12_B.T @ gamma, 1e-9)
    Phi21 = Phi12_B.T @ W @ Phi21_A
    near(C["Phi_cross"], Phi21.T if right else Phi21, 1e-9)
    near(C["Psi2"], B["Psi2"] - Psi12_B.T @ F2 - F2.T @ Psi12_B + F2.T @ Sigma @ F2 + U2.T @ U2, 1e-9)
    Psi21 = Psi12_B.T @ F1 + F2.T @ Psi21_A - F2.T @ Sigma @ F1 - U2.T @ U1
    near(C["Psi_cross"], Psi21.T if right else Psi21, 1e-9)
    near(C["p2"], B["p2"] + 2 * Psi12_B.T @ gamma - F2.T @ pi - 2 * U2.T @ R, 1e-9)
