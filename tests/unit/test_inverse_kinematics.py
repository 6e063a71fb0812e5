"""Inverse kinematics: goals made from known states are reached, limits hold, the posture is nearest, closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from robots import robot
from supple.errors import ModelError, StateError


@pytest.fixture(scope="module")
def panda():
    return supple.load(robot("panda.urdf"), loops=False)


def arm(*lengths):
    """Links in the plane y = 0, hanging down, hinges along y."""
    builder = supple.ModelBuilder("arm")
    for i, length in enumerate(lengths):
        at = (0, 0, -lengths[i - 1]) if i else (0, 0, 0)
        parent = f"link{i - 1}" if i else None
        builder.add_body(f"link{i}", parent, "revolute", position=at, axis=(0, 1, 0), mass=1.0, com=(0, 0, -length / 2),
                     inertia=np.eye(3) * 0.1)  # fmt: skip
    return builder.build()


@pytest.mark.parametrize("seed", range(6))
def test_poses_of_known_states_are_reached(panda, seed):
    goal = supple.poses(panda, panda.random(seed))["panda_hand_tcp"]
    found = supple.inverse_kinematics(panda, {"panda_hand_tcp": goal}, panda.random(100 + seed), attempts=30)
    assert found.reached
    assert (found.q >= panda.lower).all() and (found.q <= panda.upper).all()
    here = supple.poses(panda, found.q)["panda_hand_tcp"]
    np.testing.assert_allclose(here.position, goal.position, atol=2e-9)
    np.testing.assert_allclose(here.rotation, goal.rotation, atol=2e-9)


@pytest.mark.parametrize("seed", range(4))
def test_several_goals_on_trees_of_every_joint_type(seed):
    model = supple.trees.random_tree(14, seed=seed)
    rng = np.random.default_rng(seed)
    q = model.random(rng)
    there = supple.poses(model, model.integrate(q, 0.3 * rng.standard_normal(model.nv)))
    point = rng.standard_normal(3)
    goals = {13: there[13], 7: supple.Goal(there[7].position + there[7].rotation @ point, point=point)}
    found = supple.inverse_kinematics(model, goals, q, limits=False)
    assert found.reached
    here = supple.poses(model, found.q)
    np.testing.assert_allclose(here[13].rotation, there[13].rotation, atol=2e-9)
    np.testing.assert_allclose(here[7].position + here[7].rotation @ point, goals[7].position, atol=2e-9)


def test_two_links_by_the_law_of_cosines():
    model, a, b = arm(0.5, 0.4), 0.5, 0.4
    x, z = 0.3, -0.6
    found = supple.inverse_kinematics(model, {"link1": supple.Goal((x, 0, z), point=(0, 0, -b))}, [0.1, 0.2])
    assert found.reached
    bend = np.arccos((x * x + z * z - a * a - b * b) / (2 * a * b))
    assert abs(found.q[1]) == pytest.approx(bend, abs=1e-8)


def test_what_is_out_of_reach_is_approached():
    """A stretched arm points at it: what is left is the distance minus the length."""
    model = arm(0.5, 0.4, 0.3)
    goal = np.array([1.5, 0.0, -2.0])
    found = supple.inverse_kinematics(model, {"link2": supple.Goal(goal, point=(0, 0, -0.3))}, [0.3, -0.2, 0.4])
    assert not found.reached
    assert found.misses["link2"].position == pytest.approx(2.5 - 1.2, abs=1e-6)
    assert "not reached" in repr(found)


def test_the_posture_is_the_nearest_among_solutions():
    """Five links and a point to reach: the gradient of the distance to the posture has no part in the null space."""
    model = arm(0.4, 0.4, 0.3, 0.3, 0.2)
    point = (0, 0, -0.2)
    goal = {"link4": supple.Goal((0.5, 0, -0.8), point=point)}
    start, posture = np.array([0.5, -0.4, 0.3, 0.2, -0.1]), np.array([0.2, 0.1, 0.4, -0.3, 0.2])
    found = supple.inverse_kinematics(model, goal, start, posture=posture)
    plain = supple.inverse_kinematics(model, goal, start)
    assert found.reached and plain.reached
    assert np.linalg.norm(found.q - posture) < np.linalg.norm(plain.q - posture)
    J = supple.jacobian(model, found.q, "link4", point)[[3, 5]]
    off = posture - found.q
    along = off - np.linalg.pinv(J) @ (J @ off)
    assert np.abs(along).max() < 1e-6


def test_limits_hold_and_matter(panda):
    """A goal that only lies beyond a limit is not reached, and no joint passes its limit."""
    builder = supple.ModelBuilder("slide")
    builder.add_body("cart", None, "prismatic", axis=(1, 0, 0), lower=-1.0, upper=1.0, mass=1.0, inertia=np.eye(3))
    cart = builder.build()
    found = supple.inverse_kinematics(cart, {"cart": (3.0, 0, 0)})
    assert not found.reached and found.q[0] == 1.0
    assert found.misses["cart"].position == pytest.approx(2.0)
    assert supple.inverse_kinematics(cart, {"cart": (3.0, 0, 0)}, limits=False).reached


def test_only_some_joints_move(panda):
    q = 0.5 * (panda.lower + panda.upper)
    some = ["panda_joint1", "panda_joint2"]
    goal = supple.poses(panda, q)["panda_hand_tcp"].position + [0.02, 0.01, 0.0]
    found = supple.inverse_kinematics(panda, {"panda_hand_tcp": goal}, q, joints=some)
    moved = {panda.joint_names[int(panda.dof_body[j])] for j in np.flatnonzero(panda.difference(q, found.q))}
    assert moved <= set(some) and moved


def test_joints_that_do_not_matter_stay(panda):
    q = panda.random(3)
    found = supple.inverse_kinematics(
        panda, {"panda_link3": supple.poses(panda, panda.random(4))["panda_link3"].position}, q
    )
    np.testing.assert_array_equal(found.q[3:], q[3:])


def test_with_a_posture_they_go_there_and_within_the_limits(panda):
    q, posture = panda.random(3), panda.random(5)
    goal = {"panda_link3": supple.poses(panda, panda.random(4))["panda_link3"].position}
    found = supple.inverse_kinematics(panda, goal, q, posture=posture)
    np.testing.assert_array_equal(found.q[3:], posture[3:])
    assert found.reached
    beyond = supple.inverse_kinematics(panda, goal, q, posture=posture + 10.0)
    np.testing.assert_array_equal(beyond.q[3:], panda.upper[3:])
    held = supple.inverse_kinematics(panda, goal, q, posture=posture, joints=list(panda.joint_names[:5]))
    np.testing.assert_array_equal(held.q[5:], q[5:])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: supple.inverse_kinematics(m, {}), StateError, "at least one goal"),
        (lambda m: supple.inverse_kinematics(m, {"hnd": (0, 0, 0)}), ModelError, "no body"),
        (lambda m: supple.inverse_kinematics(m, {"link0": (0, 0)}), StateError, "goal of 'link0' must be three"),
        (lambda m: supple.inverse_kinematics(m, {"link0": (0, 0, np.nan)}), StateError, "three finite numbers"),
        (lambda m: supple.Goal(), StateError, "a position, a rotation or both"),
        (lambda m: supple.Goal(rotation=2 * np.eye(3)), StateError, "rotation matrix"),
        (lambda m: supple.inverse_kinematics(m, {0: (0, 0, 1)}, [[0.0]]), StateError, "one state"),
        (lambda m: supple.inverse_kinematics(m, {0: (0, 0, 1)}, [np.inf]), StateError, "finite"),
        (lambda m: supple.inverse_kinematics(m, {0: (0, 0, 1)}, joints=["x"]), ModelError, "no joint named 'x'"),
        (lambda m: supple.inverse_kinematics(m, {0: (1e200, 0, 0)}), StateError, "position of a Goal is too large"),
        (lambda m: supple.Goal((0, 0, 1), point=(0, 1e99, 0)), StateError, "point of a Goal is too large"),
        (lambda m: supple.inverse_kinematics(m, {0: (0, 0, 1)}, [1e200]), StateError, "q is too large"),
        (lambda m: supple.inverse_kinematics(m, {0: (0, 0, 1)}, posture=[1e200]), StateError, "posture is too large"),
        (lambda m: supple.inverse_kinematics(m, {0: (0, 0, 1)}, lever=1e200), StateError, "lever is too large"),
        (
            lambda m: supple.inverse_kinematics(m, {"link0": (0, 0, 1), 0: (1, 0, 0)}),
            StateError,
            "'link0' and 0 are the same body",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(arm(0.5))


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e60, 1e200, 1e300])
def test_no_setting_overflows(size):
    """Only ratios of weights matter, and every tolerance is one: warnings are errors in tests."""
    model, start = arm(0.5, 0.4, 0.3), [0.3, -0.2, 0.4]
    near, far = supple.Goal((0.4, 0, -0.9), weight=size), supple.Goal((3.0, 0.0, 0.0), weight=2.0 * size)
    found = supple.inverse_kinematics(model, {"link2": near, "link1": far}, start, attempts=2)
    usual = [supple.Goal(goal.position, weight=w) for goal, w in ((near, 1.0), (far, 2.0))]
    same = supple.inverse_kinematics(model, dict(zip(("link2", "link1"), usual)), start, attempts=2)
    np.testing.assert_allclose(found.q, same.q, atol=1e-7)
    for posture in (None, [0.1, 0.2, 0.3]):
        for lever in (1e-60, 1e60):
            at = supple.inverse_kinematics(
                model, {"link2": near}, start, tolerance=size, posture=posture, lever=lever, attempts=2
            )
            assert at.reached == (at.misses["link2"].position <= size)


def limited_arm(rng):
    builder, parent = supple.ModelBuilder("arm"), None
    for i in range(4):
        parent = builder.add_body(
            f"link{i}", parent, axis=(0, 1, 0), position=(0, 0, float(i > 0)), mass=1.0, com=(0, 0, 0.5),
            inertia=np.eye(3) * 0.1, lower=rng.uniform(-2.5, -0.5), upper=rng.uniform(0.5, 2.5),
        )  # fmt: skip
    builder.add_frame("tip", parent, (0, 0, 1.0))
    return builder.build()


@pytest.mark.parametrize("seed", [0, 4, 9, 14])
def test_the_nearest_to_the_posture_is_not_missed(seed):
    """Four links within limits: no search from elsewhere ends nearer to it."""
    model = limited_arm(np.random.default_rng(seed))
    goal, posture = {"tip": supple.poses(model, model.random(seed))["tip"].position}, model.random(seed + 100)
    found = supple.inverse_kinematics(model, goal, posture=posture)
    assert found.reached
    for other in range(4):
        x = supple.inverse_kinematics(model, goal, model.random(other), posture=posture, attempts=1)
        assert not x.reached or np.linalg.norm(found.q - posture) <= np.linalg.norm(x.q - posture) + 1e-6


def test_one_goal_is_not_goals():
    model = arm(0.5, 0.4)
    assert "1 goal reached" in repr(supple.inverse_kinematics(model, {1: (0, 0, -0.5)}))
