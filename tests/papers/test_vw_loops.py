"""VW section 2: its equations (1) to (10) of closed chains, from finite differences of poses, against our dynamics.

Nothing here uses the rows of closure.py: the constraint matrix K is VW's, constant in the frame of the cut joint.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import supple
from linkages import random_linkage

STEP = 1e-3
#: K: the directions that each joint forbids, rotations about x, y, z then translations, in the frame of its second body
#: whose z is the joint's axis. Of these joints K is constant, as VW assumes.
FORBIDDEN = {"revolute": (0, 1, 3, 4, 5), "prismatic": (0, 1, 2, 3, 4), "ball": (3, 4, 5), "fixed": (0, 1, 2, 3, 4, 5)}


def along_z(axis):
    """A rotation whose third column is the axis."""
    x = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def derivative(f):
    """Of f at zero, to the fourth order of STEP."""
    one, two = (f(k * STEP) - f(-k * STEP) for k in (1, 2))
    return (8.0 * one - two) / (12.0 * STEP)


class CutChain:
    """A closed chain, virtually cut at its loop joint [VW Figure 1]."""

    def __init__(self, model: supple.Model) -> None:
        self.model, self.loop = model, model.loop_list[0]
        self.turn = np.eye(3) if self.loop.joint in ("ball", "fixed") else along_z(self.loop.axis)
        self.forbidden = list(FORBIDDEN[self.loop.joint])
        self.allowed = [k for k in range(6) if k not in self.forbidden]

    def frames(self, q):
        """The pair of frames at the cut joint."""
        pose, x, out = supple.poses(self.model, q), self.loop, []
        for body, p, R in ((x.body, x.position, x.rotation), (x.other, x.other_position, x.other_rotation)):
            S, s = (np.eye(3), np.zeros(3)) if body < 0 else (pose.rotation[body], pose.position[body])
            out.append((S @ R @ self.turn, S @ p + s))
        return out

    def relative(self, q, dq):
        """r_C' for velocities dq: of the second frame relative to the first, in the second one's axes [VW (8)]."""
        (R, P), (S, Q) = self.frames(q)

        def moved(t):
            now = self.frames(self.model.integrate(q, t * dq))
            turns = [Rotation.from_matrix(now[k][0] @ x.T).as_rotvec() for k, x in enumerate((R, S))]
            slides = now[0][1] - P + np.cross(turns[0], Q - P), now[1][1] - Q
            return np.concatenate([S.T @ (turns[1] - turns[0]), S.T @ (slides[1] - slides[0])])

        return derivative(moved)

    def H_C(self, q):
        """[VW (3)]"""
        return np.column_stack([self.relative(q, e) for e in np.eye(self.model.nv)])

    def H(self, q):
        """K H_C [VW (4)]"""
        return self.H_C(q)[self.forbidden]


def long_loop(joint: str):
    """A linkage whose loop is so long that all of its rows are independent, and its joint moves."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, (joint,), n=12, loops=1)
        s = np.linalg.svd(CutChain(model).H_C(q), compute_uv=False)
        if len(s) == 6 and s[-1] > 0.1:
            return rng, model, q
    raise AssertionError("no such linkage")


@pytest.mark.parametrize("joint", FORBIDDEN)
def test_the_equations_of_closed_chains(joint: str):
    rng, model, q = long_loop(joint)
    chain = CutChain(model)
    v = supple.close_velocities(model, q, rng.normal(size=model.nv))
    tau = 5.0 * rng.normal(size=model.nv)
    H = chain.H(q)
    np.testing.assert_allclose(H @ v, 0.0, atol=1e-7)  # (2) and (4)
    rate = derivative(lambda t: chain.H(model.integrate(q, t * v)))
    a = supple.forward_dynamics(model, q, v, tau)
    np.testing.assert_allclose(H @ a + rate @ v, 0.0, atol=1e-7 * (1 + np.abs(a).max()))  # (5)
    A, b = supple.mass_matrix(model, q), supple.inverse_dynamics(model, q, v, np.zeros(model.nv))
    n, m = len(A), len(H)
    K = np.block([[A, -H.T], [H, np.zeros((m, m))]])  # (7)
    found = np.linalg.solve(K, np.concatenate([tau - b, -rate @ v]))
    np.testing.assert_allclose(found[:n], a, atol=1e-7 * (1 + np.abs(a).max()))
    forces = np.zeros(6)
    forces[chain.forbidden] = found[n:]
    R, P = chain.frames(q)[1]
    other = chain.loop.other
    carried = supple.joint_wrenches(model, q, v, tau, joint=chain.loop.name, frame="world")
    origin = supple.poses(model, q).position[other]
    moment = R @ forces[:3] + np.cross(P - origin, R @ forces[3:])
    np.testing.assert_allclose(carried[3:], R @ forces[3:], atol=1e-7 * (1 + np.abs(forces).max()))  # (6)
    np.testing.assert_allclose(carried[:3], moment, atol=1e-7 * (1 + np.abs(forces).max()))


@pytest.mark.parametrize("joint", ["revolute", "prismatic"])
def test_a_cut_joint_moves_along_what_its_constraint_leaves(joint: str):
    """(9) and (10): of the relative velocity, K sees nothing and K_J the joint's own."""
    rng, model, q = long_loop(joint)
    chain = CutChain(model)
    v = supple.close_velocities(model, q, rng.normal(size=model.nv))
    r = chain.relative(q, v)
    np.testing.assert_allclose(r[chain.forbidden], 0.0, atol=1e-7)

    def coordinate(t):
        (R, P), (S, Q) = chain.frames(model.integrate(q, t * v))
        turn = R.T @ S
        return np.arctan2(turn[1, 0], turn[0, 0]) if joint == "revolute" else (R.T @ (Q - P))[2]

    rate = derivative(coordinate)
    assert r[chain.allowed] == pytest.approx(rate, abs=1e-6) and abs(rate) > 1e-3
