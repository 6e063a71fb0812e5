"""Joint wrenches against Pinocchio's data.f and MuJoCo's cfrc_int: random forests of every joint type, and real robots.

Pinocchio leaves in data.f what its inverse dynamics hands from child to parent, in the child's frame. MuJoCo's cfrc_int
(mj_rnePostConstraint) is along world axes about the centre of mass of the whole tree. Neither knows the accelerations
as we do: they are given ours, or find their own.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import supple
from oracle import MOVING, pinocchio_model, random_model
from robots import robot
from supple.bench.peers import Mujoco, PeerState
from supple.model.geometry import rotation_to_z
from supple.model.joints import JointType

METHODS = ("aba", "crba", "virtual-work", "dense")
REAL = [("panda.urdf", False), ("panda.urdf", True), ("talos_reduced.urdf", False), ("talos_reduced.urdf", True)]


def close(ours, theirs, tolerance=1e-10):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max()))


def of_pinocchio(data, count):
    return np.array([np.r_[data.f[i].angular, data.f[i].linear] for i in range(1, count + 1)])


@pytest.mark.parametrize(
    "kinds", [*((kind,) for kind in MOVING), MOVING], ids=lambda k: k[0] if len(k) == 1 else "mixed"
)
def test_every_joint_type_against_pinocchio(kinds):
    rng = np.random.default_rng(len(kinds) + MOVING.index(kinds[0]))
    model = random_model(rng, 15, kinds, world=0.15)
    peer = pinocchio_model(model)
    data = peer.createData()
    q, v, tau = model.random(rng), *rng.standard_normal((2, model.nv))
    wrenches = rng.standard_normal((model.n_bodies, 6))
    # its frames of bodies on planar joints are turned: the normal is z
    turns = [rotation_to_z(model.axis[i : i + 1])[0] if model.joint_type[i] == JointType.PLANAR else np.eye(3)
             for i in range(model.n_bodies)]  # fmt: skip
    external = pin.StdVec_Force()
    external.append(pin.Force.Zero())
    for T, w in zip(turns, wrenches):
        external.append(pin.Force(T.T @ w[3:], T.T @ w[:3]))
    a = pin.aba(peer, data, q, v, tau - model.damping * v, external)
    pin.rnea(peer, data, q, v, a, external)
    theirs = of_pinocchio(data, model.n_bodies)
    theirs = np.array([np.r_[T @ w[:3], T @ w[3:]] for T, w in zip(turns, theirs)])
    for method in METHODS:
        close(supple.joint_wrenches(model, q, v, tau, wrenches, "child", method=method), theirs, 1e-9)
    close(supple.joint_wrenches(model, q, v, None, wrenches, "child", a=np.array(a)), theirs, 1e-10)


@pytest.mark.parametrize(("name", "floating"), REAL)
def test_robots_against_pinocchio(name, floating):
    path = robot(name)
    model = supple.load(path, floating_base=floating, loops=False)
    peer = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    data = peer.createData()
    rng = np.random.default_rng(3)
    q, v, tau = model.random(rng), *rng.standard_normal((2, model.nv))
    a = pin.aba(peer, data, q, v, tau - model.damping * v)
    pin.rnea(peer, data, q, v, a)
    theirs = of_pinocchio(data, model.n_bodies)
    names = [peer.names[i] for i in range(1, model.n_bodies + 1)]
    assert names == list(model.joint_names)
    for method in METHODS:
        close(supple.joint_wrenches(model, q, v, tau, frame="child", method=method), theirs, 1e-9)
    joint = model.joint_names[-1]
    close(supple.joint_wrenches(model, q, v, tau, frame="child", joint=joint), theirs[-1], 1e-9)


@pytest.mark.parametrize(("name", "floating"), REAL)
def test_robots_against_mujoco(name, floating):
    state = PeerState(supple.load(robot(name), floating_base=floating, loops=False))
    model, peer = state.model, Mujoco(mujoco, state)
    peer.acceleration()
    mujoco.mj_rnePostConstraint(peer.model, peer.data)
    centre = peer.data.subtree_com[peer.model.body_rootid[1:]]
    moment, force = peer.data.cfrc_int[1:, :3], peer.data.cfrc_int[1:, 3:]
    theirs = np.hstack([moment + np.cross(centre - peer.data.xpos[1:], force), force])
    for method in METHODS:
        close(supple.joint_wrenches(model, state.q, state.v, state.tau, frame="world", method=method), theirs, 1e-9)
    ground = supple.ground_wrench(model, state.q, state.v, state.tau)
    roots = model.parent < 0
    close(ground[3:], -force[roots].sum(axis=0), 1e-9)
