"""Virtual work on any tree: hypothesis draws the tree, its joints and its state (drawn.py).

Accelerations agree with the articulated-body algorithm's to 1e-10 of the largest, joint wrenches with those that
inverse dynamics hands from body to body to 1e-9; and both obey Newton and Euler, written down here without the
library's dynamics.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near, systems
from supple.comparisons.unit_vectors import UNIT_VECTORS

HUBS = ("absorb", "split", "pairs")


@SETTINGS
@given(systems())
def test_every_treatment_of_hubs_gives_accelerations_and_wrenches(system):
    model, q, v, tau, wrenches = system
    a = supple.forward_dynamics(model, q, v, tau, wrenches)
    carried = supple.joint_wrenches(model, q, v, None, wrenches, "world", a=a)  # by inverse dynamics
    for hubs in HUBS:
        ours = supple.virtual_work(model, q, v, tau, wrenches, hubs)
        near(ours.accelerations, a, 1e-10)
        near(ours.wrenches, carried, 1e-9)
    near(supple.forward_dynamics(model, q, v, tau, wrenches, "virtual-work"), a, 1e-10)
    near(UNIT_VECTORS(model, q, v, tau, wrenches), a, 1e-10)


@SETTINGS
@given(systems())
def test_methods_and_inverse_dynamics_agree_on_joint_wrenches_in_all_frames(system):
    model, q, v, tau, wrenches = system
    a, R = supple.forward_dynamics(model, q, v, tau, wrenches), supple.poses(model, q).rotation
    up = [np.eye(3) if p < 0 else R[p] for p in model.parent]
    world = supple.joint_wrenches(model, q, v, tau, wrenches, "world")
    turned = {"world": [np.eye(3)] * model.n_bodies, "child": R, "parent": up}
    for frame, axes in turned.items():
        wanted = np.array([np.concatenate([T.T @ w[:3], T.T @ w[3:]]) for T, w in zip(axes, world)])
        for method in ("aba", "crba", "virtual-work", "dense"):
            near(supple.joint_wrenches(model, q, v, tau, wrenches, frame, method=method), wanted, 1e-9)
        near(supple.joint_wrenches(model, q, v, None, wrenches, frame, a=a), wanted, 1e-9)


@SETTINGS
@given(systems())
def test_every_body_obeys_newton_and_euler(system):
    """What a joint does to its child, it does the other way round to the parent; with weight and external wrenches that
    is all there is."""
    model, q, v, tau, wrenches = system
    a, carried = supple.virtual_work(model, q, v, tau, wrenches)
    R, x = supple.poses(model, q)
    V, A = supple.velocities(model, q, v).spatial, supple.accelerations(model, q, v, a).spatial
    for i in range(model.n_bodies):
        c, I, m = R[i] @ model.com[i], R[i] @ model.inertia[i] @ R[i].T, model.mass[i]
        w, dw = V[i, :3], A[i, :3]
        a_c = A[i, 3:] + np.cross(w, V[i, 3:]) + np.cross(dw, c) + np.cross(w, np.cross(w, c))
        force = carried[i, 3:] + R[i] @ wrenches[i, 3:] + m * model.gravity
        moment = carried[i, :3] + R[i] @ wrenches[i, :3] + np.cross(c, m * model.gravity)
        for k in np.flatnonzero(model.parent == i):
            force = force - carried[k, 3:]
            moment = moment - carried[k, :3] - np.cross(x[k] - x[i], carried[k, 3:])
        scale = 1 + np.abs(carried).max()
        near(force / scale, m * a_c / scale, 1e-10)
        near((moment - np.cross(c, force)) / scale, (I @ dw + np.cross(w, I @ w)) / scale, 1e-10)


@SETTINGS
@given(systems())
def test_along_its_directions_a_joint_carries_what_drives_it(system):
    """S^T f = tau - damping v - armature a, S found from a Jacobian."""
    model, q, v, tau, wrenches = system
    a = supple.forward_dynamics(model, q, v, tau, wrenches)
    carried = supple.joint_wrenches(model, q, v, tau, wrenches, "child")
    net = tau - model.damping * v - model.armature * a
    for i in range(model.n_bodies):
        at = model.joints[i].v
        S = supple.jacobian(model, q, i, frame="body")[:, at]
        scale = 1 + np.abs(carried[i]).max()
        near(S.T @ carried[i] / scale, net[at] / scale, 1e-10)


@SETTINGS
@given(systems())
def test_the_ground_feels_weight_and_loads_less_what_goes_into_motion(system):
    """ground = weight + external wrenches - d/dt momentum, about the world's origin; the derivative by differences."""
    model, q, v, tau, wrenches = system
    a = supple.forward_dynamics(model, q, v, tau, wrenches)
    ground = supple.ground_wrench(model, q, v, tau, wrenches)

    def momentum(s):
        q1, v1 = model.integrate(q, v + 0.5 * s * a, s), v + s * a
        p, c = supple.momentum(model, q1, v1), supple.center_of_mass(model, q1)
        return np.concatenate([p[:3] + np.cross(c, p[3:]), p[3:]])

    h = 1e-4
    rate = (8 * (momentum(h) - momentum(-h)) - momentum(2 * h) + momentum(-2 * h)) / (12 * h)
    weight = model.total_mass * model.gravity
    load = np.concatenate([np.cross(supple.center_of_mass(model, q), weight), weight])
    R, x = supple.poses(model, q)
    for i, w in enumerate(wrenches):
        force = R[i] @ w[3:]
        load += np.concatenate([R[i] @ w[:3] + np.cross(x[i], force), force])
    near(ground, load - rate, 1e-5)  # h^3 of the exponential map's error, times accelerations in the hundreds


@SETTINGS
@given(systems(), st.integers(1, 9))
def test_batches_equal_loops_and_joints_can_be_named(system, size):
    model, _, _, _, wrenches = system
    rng = np.random.default_rng(size)
    q = np.array([model.random(rng) for _ in range(size)])
    v, tau = rng.standard_normal((2, size, model.nv))
    name = model.joint_names[int(rng.integers(model.n_joints))]
    index = model.joints[name].index
    for hubs in HUBS:
        many = supple.virtual_work(model, q, v, tau, wrenches, hubs)
        alone = [supple.virtual_work(model, *state, wrenches, hubs) for state in zip(q, v, tau)]
        near(many.accelerations, [x.accelerations for x in alone], 1e-10)
        near(many.wrenches, [x.wrenches for x in alone], 1e-10)
    for frame in ("child", "parent", "world"):
        all_of_them = supple.joint_wrenches(model, q, v, tau, wrenches, frame)
        assert all_of_them.shape == (size, model.n_joints, 6)
        near(all_of_them, [supple.joint_wrenches(model, *s, wrenches, frame) for s in zip(q, v, tau)], 1e-10)
        one = supple.joint_wrenches(model, q, v, tau, wrenches, frame, joint=name)
        np.testing.assert_array_equal(one, all_of_them[:, index])
        np.testing.assert_array_equal(one[0], supple.joint_wrenches(model, q, v, tau, wrenches, frame, joint=index)[0])
    ground = supple.ground_wrench(model, q, v, tau, wrenches)
    near(ground, [supple.ground_wrench(model, *s, wrenches) for s in zip(q, v, tau)], 1e-10)


@SETTINGS
@given(systems())
def test_multipliers_are_what_the_joint_forbids(system):
    model, q, v, tau, wrenches = system
    carried = supple.joint_wrenches(model, q, v, tau, wrenches, "child")
    found = supple.multipliers(model, q, v, tau, wrenches)
    assert len(found) == model.n_joints
    for i, (n, K) in enumerate(found):
        S = supple.jacobian(model, q, i, frame="body")[:, model.joints[i].v]
        assert n.shape == (6 - S.shape[1],) and K.shape == (6 - S.shape[1], 6)
        near(K @ K.T, np.eye(len(K)), 1e-12)
        near(K @ S, np.zeros((len(K), S.shape[1])), 1e-12)  # [VW (11)]
        along = S @ np.linalg.solve(S.T @ S, S.T @ carried[i])
        near(K.T @ n + along, carried[i], 1e-11)


def test_a_pendulum_at_rest_hangs_on_its_hinge():
    """By hand: 2 kg on a hinge about y, 0.5 m out along x, let go: the hinge holds a quarter of the weight of a rod."""
    builder = supple.ModelBuilder()
    m, l = 2.0, 1.0
    builder.add_body("rod", axis=(0, 1, 0), mass=m, com=(l / 2, 0, 0), inertia=(1e-9, m * l**2 / 12, m * l**2 / 12))
    rod = builder.build()
    hinge = supple.joint_wrenches(rod, [0.0])[0]
    np.testing.assert_allclose(hinge, [0, 0, 0, 0, 0, m * 9.81 / 4], atol=1e-12)
    held = supple.joint_wrenches(rod, [0.0], tau=[-m * 9.81 * l / 2])[0]
    np.testing.assert_allclose(held, [0, -m * 9.81 * l / 2, 0, 0, 0, m * 9.81], atol=1e-12)
    np.testing.assert_allclose(supple.ground_wrench(rod, [0.0]), [0, 0, 0, 0, 0, -m * 9.81 / 4], atol=1e-12)


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.fixture
def arm():
    return supple.trees.chain(3, seed=1)


def test_wrong_words_are_answered_with_the_right_ones(arm):
    q = arm.neutral()
    with pytest.raises(supple.StateError, match=r"not 'splitt' \(did you mean 'split'\?\)"):
        supple.virtual_work(arm, q, np.zeros(3), hubs="splitt")
    with pytest.raises(supple.StateError, match=r"not 'childs' \(did you mean 'child'\?\)"):
        supple.joint_wrenches(arm, q, frame="childs")
    with pytest.raises(supple.ModelError, match=r"no joint named 'link9_joint'; did you mean"):
        supple.joint_wrenches(arm, q, joint="link9_joint")
    with pytest.raises(supple.ModelError, match="no joint 3"):
        supple.joint_wrenches(arm, q, joint=3)
    with pytest.raises(supple.StateError, match=r"method must be .* not 'abba'"):
        supple.joint_wrenches(arm, q, method="abba")
    with pytest.raises(supple.StateError, match="either forces tau or accelerations a"):
        supple.joint_wrenches(arm, q, tau=np.zeros(3), a=np.zeros(3))
    with pytest.raises(supple.StateError, match="one state, not a batch"):
        supple.multipliers(arm, [q, q])


@pytest.mark.parametrize("hubs", HUBS)
def test_states_that_do_not_fit_are_refused(arm, hubs):
    q, v, pull = arm.neutral(), np.zeros(3), np.zeros((3, 6))
    pull[1, 2] = np.inf
    for what, arguments in (
        (r"q has shape \(2,\)", (q[:2], v)),
        (r"v has shape \(4,\)", (q, np.zeros(4))),
        (r"tau\[1\] \(joint 'link1_joint'\) is nan", (q, v, [0, np.nan, 0])),
        (r"wrenches has shape \(3,\)", (q, v, None, v)),
        (r"wrenches\[1, 2\] of body 'link1' is inf", (q, v, None, pull)),
        ("a batch of 3, the arguments before it one of 2", ([q, q], np.zeros((3, 3)))),
    ):
        with pytest.raises(supple.StateError, match=what):
            supple.virtual_work(arm, *arguments, hubs=hubs)
