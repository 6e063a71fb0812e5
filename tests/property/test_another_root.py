"""Changing the root of any tree, in any state: reversible (A1), looks the same (A2), is physically the same (A3).

Tolerances: a chain of a dozen joints loses a few digits of 16; 1e-11 of the largest number leaves room for poses far
from the origin.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near
from oracle import MOVING, random_model
from supple.model.topology import depth_first, subtree_ends


@st.composite
def moving(draw, kinds=MOVING, largest=12):
    """A model without damping or armature, its state, a body and a point in the world."""
    some = tuple(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4, unique=True)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    chain, world = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([0.0, 0.2]))
    model = random_model(rng, draw(st.integers(1, largest)), some, chain=chain, world=world, extras=False)
    v, a = rng.standard_normal((2, model.nv))
    return model, model.random(rng), v, a, int(rng.integers(model.n_bodies)), rng.standard_normal(3), rng


def at_old_origins(model, q, new, motions):
    """Motions of the new bodies, along world axes, where the old bodies had their origins."""
    r = np.einsum("nij,nj->ni", supple.poses(model, q).rotation, new.shift)
    m = motions[new.number]
    return np.concatenate([m[:, :3], m[:, 3:] - np.cross(m[:, :3], r)], axis=1)


@SETTINGS
@given(moving())
def test_looks_and_moves_the_same(case):
    model, q, v, a, body, point, _ = case
    new = supple.reroot(model, q, v, a, body=body, point=point, joint="free")
    old_poses, poses = supple.poses(model, q), supple.poses(new.model, new.q)
    near(poses.rotation[new.number], old_poses.rotation)
    r = np.einsum("nij,nj->ni", old_poses.rotation, new.shift)
    near(poses.position[new.number], old_poses.position + r)
    near(poses.position[new.number[body]], point)
    near(at_old_origins(model, q, new, supple.velocities(new.model, new.q, new.v).spatial),
         supple.velocities(model, q, v).spatial)  # fmt: skip
    near(at_old_origins(model, q, new, supple.accelerations(new.model, new.q, new.v, new.a).spatial),
         supple.accelerations(model, q, v, a).spatial)  # fmt: skip
    near(supple.kinetic_energy(new.model, new.q, new.v), supple.kinetic_energy(model, q, v))
    near(supple.potential_energy(new.model, new.q), supple.potential_energy(model, q))
    near(supple.momentum(new.model, new.q, new.v), supple.momentum(model, q, v))


@SETTINGS
@given(moving())
def test_the_new_model_is_numbered_depth_first_and_named_as_before(case):
    model, q, v, a, body, point, _ = case
    new = supple.reroot(model, q, v, a, body=body, point=point, joint="free").model
    np.testing.assert_array_equal(depth_first(new.parent), np.arange(model.n_bodies))
    np.testing.assert_array_equal(subtree_ends(new.parent), new.subtree_end)
    assert set(new.body_names) == set(model.body_names) and set(new.joint_names) == set(model.joint_names)

    def links(m):  # which bodies each joint joins, the top joints apart
        pairs = {m.joint_names[i]: {i, int(m.parent[i])} for i in range(m.n_bodies) if m.parent[i] >= 0}
        return {joint: {m.body_names[i] for i in pair} for joint, pair in pairs.items()}

    assert links(new) == links(model)


@SETTINGS
@given(moving())
def test_inverse_and_forward_dynamics_are_the_same(case):
    """The old root is now held by an external wrench, that of its old joint; the new top joint carries nothing."""
    model, q, v, a, body, point, rng = case
    new = supple.reroot(model, q, v, a, body=body, point=point, joint="free")
    root = int(new.chain[0])
    pushes = rng.standard_normal((model.n_bodies, 6))
    tau = supple.inverse_dynamics(model, q, v, a, pushes)
    hold = np.zeros((model.n_bodies, 6))
    hold[root] = supple.joint_wrenches(model, q, v, frame="child", a=a, wrenches=pushes)[root]
    wrenches = new.wrenches(pushes + hold)
    forces = new.forces(tau)
    near(supple.inverse_dynamics(new.model, new.q, new.v, new.a, wrenches), forces, 1e-10)
    # forward dynamics: mass matrices of random trees lose some six digits
    near(supple.forward_dynamics(new.model, new.q, new.v, forces, wrenches), new.a, 1e-7)


@SETTINGS
@given(moving())
def test_reversible(case):
    model, q, v, a, body, point, _ = case
    new = supple.reroot(model, q, v, a, body=body, point=point, joint="free")
    for back in (new.undo(), by_hand(model, q, new)):
        the_same(model, q, v, a, new, back)
    assert new.undo().model is model
    forces, wrenches = new.forces(v), new.wrenches(np.ones((model.n_bodies, 6)))
    back = new.undo()
    kept = np.delete(np.arange(model.nv), model.joints[int(new.chain[0])].v)
    near(back.forces(forces)[kept], v[kept])
    near(back.wrenches(wrenches), np.ones((model.n_bodies, 6)))
    near(back.q, q)


def by_hand(model, q, new):
    """The old root again, where it was."""
    root = int(new.chain[0])
    place = supple.poses(model, q).position[root]
    return supple.reroot(new.model, new.q, new.v, new.a, body=int(new.number[root]), point=place, joint=new.top)


def the_same(model, q, v, a, new, back):
    assert back.model.name == model.name
    to = back.number[new.number]  # where each old body is now
    for name in ("position", "rotation", "axis", "axis2", "pitch", "mass", "com", "inertia", "joint_type"):
        near(getattr(back.model, name)[to], getattr(model, name))
    assert [back.model.body_names[i] for i in to] == list(model.body_names)
    assert [back.model.joint_names[i] for i in to] == list(model.joint_names)
    for i in range(model.n_bodies):
        old, now = model.joints[i], back.model.joints[int(to[i])]
        near(back.v[now.v], v[old.v])
        near(back.a[now.v], a[old.v])
    near(supple.poses(back.model, back.q).position[to], supple.poses(model, q).position)
    near(supple.poses(back.model, back.q).rotation[to], supple.poses(model, q).rotation)


@SETTINGS
@given(moving())
def test_power_of_joint_forces_is_the_same(case):
    """Joint forces and velocities map so that every reversed joint has the power it had."""
    model, q, v, a, body, point, rng = case
    tau = rng.standard_normal(model.nv)
    new = supple.reroot(model, q, v, a, body=body, point=point, joint="free")
    forces = new.forces(tau)
    for i in range(model.n_bodies):
        if i != new.chain[0]:
            old = model.joints[i]
            now = new.model.joints[old.name]
            near(forces[now.v] @ new.v[now.v], tau[old.v] @ v[old.v])


def test_a_thousand_roots_in_a_row():
    """Nothing drifts: after a thousand changes of root, through every joint type, bodies are where they were. 1e-9 is
    promised, 1e-11 is kept."""
    rng = np.random.default_rng(5)
    n = 40
    model = random_model(rng, n, MOVING, chain=0.5, world=0.0, extras=False)
    assert len(set(model.joint_type.tolist())) == len(MOVING)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    start, q0, v0 = model, q, v
    for _ in range(1000):
        body = int(rng.integers(n))
        new = supple.reroot(model, q, v, body=body, point=rng.standard_normal(3), joint="free")
        model, q, v = new.model, new.q, new.v
    names = [model.body_names.index(name) for name in start.body_names]
    R0, R = supple.poses(start, q0).rotation, supple.poses(model, q).rotation[names]
    near(R, R0, 1e-11)
    com0 = np.einsum("nij,nj->ni", R0, start.com) + supple.poses(start, q0).position
    com = np.einsum("nij,nj->ni", R, model.com[names]) + supple.poses(model, q).position[names]
    near(com, com0, 1e-11)
    near(supple.kinetic_energy(model, q, v), supple.kinetic_energy(start, q0, v0), 1e-11)
    near(supple.momentum(model, q, v), supple.momentum(start, q0, v0), 1e-11)


@pytest.mark.parametrize("kind", MOVING)
def test_every_joint_type_can_be_the_top_joint(kind: str):
    """A body that moves as some joint lets it is put on that joint, and has its coordinates."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        tree = random_model(rng, 6, MOVING, world=0.0, extras=False)
        free = supple.reroot(tree, tree.random(rng), body=5, point=rng.standard_normal(3), joint="free")
        # The same tree on the joint, in a state of its own:
        axis = rng.standard_normal(3)
        axis2, now = np.cross(axis, rng.standard_normal(3)), supple.poses(free.model, free.q).rotation[0]
        shape = dict(joint=kind, axis=axis, axis2=axis2, pitch=0.3, rotation=now)
        wanted = supple.reroot(free.model, free.q, body=0, point=rng.standard_normal(3), **shape)
        q, v, a = wanted.model.random(rng), *rng.standard_normal((2, wanted.model.nv))
        away = supple.reroot(wanted.model, q, v, a, body=3, point=rng.standard_normal(3), joint="free")
        back = away.undo()
        top = back.model.joints[0]
        assert top.type == kind
        near(back.v[top.v], v[top.v])
        near(back.a[top.v], a[top.v])
        near(supple.poses(back.model, back.q).rotation[0], supple.poses(wanted.model, q).rotation[0])
        if kind in ("prismatic", "screw", "planar"):
            near(back.q[top.q], q[top.q])
