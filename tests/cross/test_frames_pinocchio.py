"""Named frames, and inverse kinematics, against Pinocchio: real robots read by both, on the ground and floating.

Frames: every named frame's pose, velocity, spatial acceleration, Jacobian and its time derivative.
Inverse kinematics: goals are made, and what is found is checked, by Pinocchio alone; where several positions reach a
goal, or none does, the conditions of an optimum are checked with Pinocchio's Jacobians.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from test_dynamics_pinocchio import close, peer_position

import supple
from robots import robot

FRAMES = [("panda.urdf", False), ("talos_reduced.urdf", True), ("tiago.urdf", False), ("solo12.urdf", True)]
ORDER = [3, 4, 5, 0, 1, 2]  # Pinocchio has linear parts first


@cache
def both(name, floating):
    path = robot(name)
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    peer = pin.buildModelFromUrdf(str(path), *root)
    return supple.load(path, floating_base=floating, loops=False), peer, peer.createData()


def six(motion):
    return np.r_[motion.angular, motion.linear]


@pytest.mark.parametrize("name, floating", FRAMES)
def test_named_frames(name, floating):
    model, peer, data = both(name, floating)
    rng = np.random.default_rng(3)
    q, v, a = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    theirs = peer_position(model, peer, q)
    pin.forwardKinematics(peer, data, theirs, v, a)
    pin.computeJointJacobians(peer, data, theirs)
    pin.updateFramePlacements(peer, data)
    pin.computeJointJacobiansTimeVariation(peer, data, theirs, v)
    poses = supple.poses(model, q)
    frames = [name for name in model.frames if model.frames[name].body >= 0 and peer.existFrame(name, pin.BODY)]
    assert len(frames) > 2
    for name in frames:
        k = peer.getFrameId(name, pin.BODY)
        close(poses[name].rotation, data.oMf[k].rotation)
        close(poses[name].position, data.oMf[k].translation)
        for frame, axes in (("world", pin.LOCAL_WORLD_ALIGNED), ("body", pin.LOCAL)):
            close(supple.velocities(model, q, v, frame)[name], six(pin.getFrameVelocity(peer, data, k, axes)))
            close(supple.accelerations(model, q, v, a, frame)[name], six(pin.getFrameAcceleration(peer, data, k, axes)))
            J = pin.getFrameJacobian(peer, data, k, axes)[ORDER]
            close(supple.jacobian(model, q, name, frame=frame), J)
            close(supple.jacobian(model, q, name, frame=frame) @ v, supple.velocities(model, q, v, frame)[name])
            dJ = pin.getFrameJacobianTimeVariation(peer, data, k, axes)[ORDER]
            close(supple.jacobian_derivative(model, q, v, name, frame=frame), dJ)


def theirs_of(model, peer, data, q, name):
    """Pinocchio's pose of a frame."""
    pin.framesForwardKinematics(peer, data, peer_position(model, peer, q))
    return data.oMf[peer.getFrameId(name, pin.BODY)].copy()


def jacobians(model, peer, data, q, names):
    """Pinocchio's, of several frames, one below the other."""
    at = peer_position(model, peer, q)
    pin.computeJointJacobians(peer, data, at)
    pin.updateFramePlacements(peer, data)
    ids = [peer.getFrameId(name, pin.BODY) for name in names]
    return np.concatenate([pin.getFrameJacobian(peer, data, k, pin.LOCAL_WORLD_ALIGNED)[ORDER] for k in ids])


#: Robots, whether they float, and frames that have goals at the same time.
REACH = [
    ("panda.urdf", False, ["panda_hand_tcp"]),
    ("ur5_robot.urdf", False, ["tool0"]),
    ("talos_reduced.urdf", True, ["left_sole_link", "right_sole_link", "gripper_left_base_link"]),
    ("solo12.urdf", True, ["FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"]),
    ("tiago_dual.urdf", False, ["hand_right_tool_link", "hand_left_tool_link"]),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name, floating, frames", REACH)
def test_goals_of_pinocchio_are_reached(name, floating, frames, seed):
    """From a random position within the limits, some way off."""
    model, peer, data = both(name, floating)
    rng = np.random.default_rng(seed)
    there = model.random(rng)
    goals = {f: theirs_of(model, peer, data, there, f) for f in frames}
    start = model.integrate(there, 0.4 * rng.standard_normal(model.nv))
    wanted = {f: supple.Goal(M.translation, M.rotation) for f, M in goals.items()}
    found = supple.inverse_kinematics(model, wanted, start, attempts=30)
    assert found.reached, found
    for f, M in goals.items():
        off = pin.log6(M.actInv(theirs_of(model, peer, data, found.q, f))).vector
        assert np.abs(off).max() < 5e-9
    lower, upper = model.lower, model.upper
    assert (found.q >= lower).all() and (found.q <= upper).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_posture_is_nearest_in_the_null_space(seed):
    """Along the null space of Pinocchio's Jacobian the distance to the posture no longer falls, except beyond limits:
    seven joints with six conditions for a pose, and with three for a point."""
    model, peer, data = both("panda.urdf", False)
    rng = np.random.default_rng(seed)
    middle = 0.5 * (model.lower + model.upper)
    there = middle + 0.3 * rng.uniform(-1, 1, model.nv) * (model.upper - model.lower) / 2
    posture = middle + 0.2 * rng.uniform(-1, 1, model.nv) * (model.upper - model.lower) / 2
    M = theirs_of(model, peer, data, there, "panda_hand_tcp")
    for goal, rows in (
        (supple.Goal(M.translation, M.rotation), slice(0, 6)),
        (supple.Goal(M.translation), slice(3, 6)),
    ):
        found = supple.inverse_kinematics(model, {"panda_hand_tcp": goal}, there, posture=posture)
        assert found.reached
        off = theirs_of(model, peer, data, found.q, "panda_hand_tcp").translation - M.translation
        assert np.abs(off).max() < 5e-9
        inside = (found.q > model.lower + 1e-9) & (found.q < model.upper - 1e-9)
        J = jacobians(model, peer, data, found.q, ["panda_hand_tcp"])[rows][:, inside]
        away = (posture - found.q)[inside]
        along = away - np.linalg.pinv(J) @ (J @ away)
        assert np.abs(along).max() < 1e-5
        assert np.linalg.norm(found.q - posture) <= np.linalg.norm(there - posture) + 1e-9


@pytest.mark.parametrize("floating", [False, True])
def test_out_of_reach_is_an_optimum_within_the_limits(floating):
    """Two goals that contradict each other: the gradient of the squared error, by Pinocchio's Jacobians, is zero, or
    points out of the limits. A floating robot puts itself between them."""
    model, peer, data = both("talos_reduced.urdf", floating)
    frames = ["gripper_left_base_link", "gripper_right_base_link"]
    q = model.neutral()
    x = [theirs_of(model, peer, data, q, f).translation for f in frames]
    goals = {frames[0]: x[0] + (0.0, 3.0, 0.5), frames[1]: x[1] - (0.0, 3.0, 0.2)}
    found = supple.inverse_kinematics(model, goals, q, attempts=1, iterations=2000)
    assert not found.reached
    off = [theirs_of(model, peer, data, found.q, f).translation - goals[f] for f in frames]
    J = jacobians(model, peer, data, found.q, frames)[[3, 4, 5, 9, 10, 11]]
    gradient = J.T @ np.concatenate(off)
    for joint in model.joints.values():
        for k, i in enumerate(range(joint.v.start, joint.v.stop)):
            if joint.type == "revolute":
                held = (found.q[joint.q] <= joint.lower + 1e-9) & (gradient[i] > 0.0)
                held |= (found.q[joint.q] >= joint.upper - 1e-9) & (gradient[i] < 0.0)
                if held[k]:
                    continue
            assert abs(gradient[i]) < 1e-4 * np.linalg.norm(off), joint.name
    for f, error in zip(frames, off):
        assert found.misses[f].position == pytest.approx(np.linalg.norm(error), rel=1e-9)
