"""Bodies with loops against Pinocchio, which knows welds between two bodies.

A loop joint of any type is a joint of the tree if the body at its end is cut in two: one half stays where it is, the
other hangs on the loop joint, and a weld holds them together. Pinocchio then has the same mechanism in another tree.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import supple
from linkages import CLOSING, allowed_velocity, random_linkage
from oracle import pinocchio_model
from supple.exact.closure import closure
from supple.model.joint_motion import JointShape
from supple.model.joints import JointType


def cut(model, q, v):
    """The tree with the last half of each loop's `other` on the loop's joint; its state; and pairs to be welded."""
    builder, shares = supple.ModelBuilder(gravity=model.gravity), np.ones(model.n_bodies)
    for loop in model.loop_list:
        shares[loop.other] += 1
    for i in range(model.n_bodies):
        joint, share = model.joints[i], shares[i]
        builder.add_body(
            model.body_names[i], int(model.parent[i]) if model.parent[i] >= 0 else None, joint.type,
            axis=model.axis[i], axis2=model.axis2[i], position=model.position[i], rotation=model.rotation[i],
            mass=model.mass[i] / share, com=model.com[i], inertia=model.inertia[i] / share,
            armature=model.armature[joint.v], damping=0.0,
        )  # fmt: skip
    poses, motions = supple.poses(model, q), supple.velocities(model, q, v)
    state = [], []
    for loop in model.loop_list:
        T, t = loop.other_rotation, loop.other_position  # the joint's far frame on `other`
        half = dict(
            mass=model.mass[loop.other] / shares[loop.other], com=T.T @ (model.com[loop.other] - t),
            inertia=T.T @ model.inertia[loop.other] @ T / shares[loop.other],
        )  # fmt: skip
        builder.add_body(
            f"{loop.name} half", None if loop.body < 0 else model.body_names[loop.body], loop.joint, axis=loop.axis,
            axis2=loop.axis2, pitch=loop.pitch, position=loop.position, rotation=loop.rotation, **half,
        )  # fmt: skip
        if loop.joint == "fixed":
            continue
        shape = JointShape(JointType[loop.joint.upper()], loop.axis, loop.axis2, loop.pitch)
        R_A, P_A, V_A = frame(poses, motions, loop.body, loop.rotation, loop.position)
        R_B, P_B, V_B = frame(poses, motions, loop.other, T, t)
        V_A[3:] += np.cross(V_A[:3], P_B - P_A)
        relative = V_B - V_A
        own = shape.coordinates(R_A.T @ R_B, R_A.T @ (P_B - P_A))
        rates, left = shape.rates(own, np.concatenate([R_B.T @ relative[:3], R_B.T @ relative[3:]]))
        assert np.abs(left).max() < 1e-9
        state[0].append((f"{loop.name} half", own))
        state[1].append((f"{loop.name} half", rates))
    tree = builder.build()
    q_cut, v_cut = tree.neutral(), np.zeros(tree.nv)
    for i, name in enumerate(model.joint_names):
        old, new = model.joints[i], tree.joints[tree.joint_names[tree.body_index(model.body_names[i])]]
        assert name
        q_cut[new.q], v_cut[new.v] = q[old.q], v[old.v]
    for (name, own), (_, rates) in zip(*state):
        joint = tree.joints[tree.body_index(name)]
        q_cut[joint.q], v_cut[joint.v] = own, rates
    return tree, q_cut, v_cut


def frame(poses, motions, body, rotation, position):
    if body < 0:
        return rotation, position, np.zeros(6)
    R, P, V = poses.rotation[body], poses.position[body], motions.spatial[body].copy()
    V[3:] += np.cross(V[:3], R @ position)
    return R @ rotation, P + R @ position, V


def welds(model, tree, theirs):
    out = pin.StdVec_RigidConstraintModel()
    for loop in model.loop_list:
        one = pin.SE3(np.array(loop.other_rotation), np.array(loop.other_position))
        other, place = half_place(tree, loop)
        at = tree.body_index(model.body_names[loop.other]) + 1
        out.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_6D, theirs, at, one, other, place, pin.ReferenceFrame.LOCAL
            )
        )
    return out


def half_place(tree, loop):
    """The joint of the half in Pinocchio, and the half's frame on it: a fixed one was merged."""
    name = f"{loop.name} half"
    if name in tree.frames:
        part = tree.frames[name]
        return part.body + 1, pin.SE3(np.array(part.rotation), np.array(part.position))
    return tree.body_index(name) + 1, pin.SE3.Identity()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", CLOSING)
def test_accelerations(kind, seed):
    rng = np.random.default_rng([CLOSING.index(kind), seed])
    model, q = random_linkage(rng, [kind], n=7, loops=2)
    v = allowed_velocity(rng, closure(model, q).G)
    tau = rng.normal(size=model.nv)
    ours = supple.forward_dynamics(model, q, v, tau)
    tree, q_cut, v_cut = cut(model, q, v)
    theirs = pinocchio_model(tree)
    data, rows = theirs.createData(), welds(model, tree, theirs)
    memory = pin.StdVec_RigidConstraintData()
    for row in rows:
        memory.append(row.createData())
    pin.initConstraintDynamics(theirs, data, rows, memory)
    force = np.zeros(tree.nv)
    for i in range(model.n_bodies):
        joint = tree.joints[tree.body_index(model.body_names[i])]
        old = model.joints[i].v
        force[joint.v] = tau[old] - model.damping[old] * v[old]
    settings = pin.ProximalSettings(1e-14, 1e-12, 200)  # rows may be redundant: a few steps of the proximal method
    a = pin.constraintDynamics(theirs, data, q_cut, v_cut, force, rows, memory, settings)
    for i in range(model.n_bodies):
        joint = tree.joints[tree.body_index(model.body_names[i])]
        np.testing.assert_allclose(ours[model.joints[i].v], a[joint.v], atol=1e-9 * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("kind", "theirs"), [("ball", pin.ContactType.CONTACT_3D), ("fixed", pin.ContactType.CONTACT_6D)]
)
def test_forces(kind, theirs, seed):
    """What loop joints carry is what Pinocchio's multipliers say, except where it is not unique: there ours are
    smaller."""
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, [kind], n=7, loops=2)
    v, tau = allowed_velocity(rng, closure(model, q).G), rng.normal(size=model.nv)
    other = pinocchio_model(model)
    rows, memory = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in model.loop_list:
        one = pin.SE3(np.array(loop.rotation), np.array(loop.position))
        two = pin.SE3(np.array(loop.other_rotation), np.array(loop.other_position))
        ends = loop.body + 1, one, loop.other + 1, two
        rows.append(pin.RigidConstraintModel(theirs, other, *ends, pin.ReferenceFrame.LOCAL))
        memory.append(rows[len(rows) - 1].createData())
    data = other.createData()
    pin.initConstraintDynamics(other, data, rows, memory)
    settings = pin.ProximalSettings(1e-14, 1e-12, 200)
    a = pin.constraintDynamics(other, data, q, v, tau - model.damping * v, rows, memory, settings)
    np.testing.assert_allclose(supple.forward_dynamics(model, q, v, tau), a, atol=1e-9)
    carried, pose = supple.joint_wrenches(model, q, v, tau)[model.n_bodies :], supple.poses(model, q)
    not_unique, sizes = supple.mobility(model, q).overconstrained, np.zeros(2)
    for w, loop, found in zip(carried, model.loop_list, memory):
        R, P = (np.eye(3), np.zeros(3)) if loop.body < 0 else pose[loop.body]
        at, turned = P + R @ loop.position, R @ loop.rotation
        force, moment = -turned @ found.contact_force.linear, -turned @ found.contact_force.angular
        ours = np.concatenate([w[:3] - np.cross(at - pose[loop.other].position, w[3:]), w[3:]])  # about the joint
        sizes += [ours @ ours, moment @ moment + force @ force]
        if f"loop {loop.name!r}" not in not_unique:
            np.testing.assert_allclose(ours, [*moment, *force], atol=1e-7)
    assert sizes[0] <= sizes[1] * (1 + 1e-9)
