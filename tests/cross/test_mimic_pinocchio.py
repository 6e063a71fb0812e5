"""Joints that mimic others, against Pinocchio, which has them as joints without coordinates of their own."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import supple
from robots import robot

#: Those that Pinocchio reads: in others it misses the leader where it comes after its followers, or is not there.
READ = ("panda.urdf", "baxter.urdf", "pr2.urdf", "tiago_pro.urdf")


def their_q(model: supple.Model, theirs: pin.Model, q: np.ndarray) -> np.ndarray:
    """Pinocchio's coordinates: none for followers, cosine and sine for continuous joints."""
    out = np.zeros(theirs.nq)
    for name in model.joint_names:
        mine, j = q[model.joints[name].q], theirs.getJointId(name)
        at, n = theirs.idx_qs[j], theirs.nqs[j]
        if n:
            out[at : at + n] = mine if n == len(mine) else (np.cos(mine[0]), np.sin(mine[0]))
    return out


def own_velocities(model: supple.Model, theirs: pin.Model) -> np.ndarray:
    """(nv, theirs.nv) all velocities by those that are Pinocchio's."""
    N = np.zeros((model.nv, theirs.nv))
    for name in model.joint_names:
        at, j = model.joints[name].v, theirs.getJointId(name)
        N[at, theirs.idx_vs[j] : theirs.idx_vs[j] + theirs.nvs[j]] = np.eye(at.stop - at.start)[:, : theirs.nvs[j]]
    for x in model.relation_list:  # in these robots leaders follow nobody
        follower, leader = (model.joints[name].v.start for name in x.joints)
        N[follower] = -x.factors[1] * N[leader]
    return N


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("name", READ)
def test_accelerations_are_pinocchios(name: str, floating: bool) -> None:
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    model = supple.load(robot(name), floating_base=floating)
    theirs = pin.buildModelFromUrdf(str(robot(name)), *root, mimic=True)
    assert len(theirs.mimicking_joints) == len(model.relation_list) == model.nv - theirs.nv > 0
    data, N = theirs.createData(), own_velocities(model, theirs)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        q, own = supple.close_loops(model, model.random(rng)), rng.normal(size=theirs.nv)
        tau, x = rng.normal(size=model.nv), their_q(model, theirs, q)
        H = pin.crba(theirs, data, x)
        H = np.triu(H) + np.triu(H, 1).T
        a = np.linalg.solve(H, N.T @ tau - pin.nonLinearEffects(theirs, data, x, own))
        ours = supple.forward_dynamics(model, q, N @ own, tau + model.damping * (N @ own))
        np.testing.assert_allclose(ours, N @ a, rtol=0, atol=1e-9 * np.abs(a).max())
