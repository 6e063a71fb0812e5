"""Inverse kinematics of bodies with loops: they are closed in every answer, and the answers are the best there are.

Where loops are closed is told by poses of the pins, and what is best by scipy's own minimiser under that condition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import supple
from linkages import CLOSING, four_bar, random_linkage
from robots import robot
from supple.errors import StateError

RODS = dict(crank=0.3, coupler=0.8, rocker=0.6, base=0.7)


def pin_gap(q: np.ndarray) -> np.ndarray:
    """By which the end of the rocker is off its place on the world, in the plane."""
    angles = np.cumsum(q)
    lengths = np.array([RODS["crank"], RODS["coupler"], RODS["rocker"]])
    return np.array([lengths @ np.cos(angles) - RODS["base"], -lengths @ np.sin(angles)])


def coupler_point(q: np.ndarray, point: np.ndarray) -> np.ndarray:
    a, b = np.cumsum(q)[:2]
    x = RODS["crank"] * np.array([np.cos(a), 0, -np.sin(a)])
    R = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    return x + R @ point


@pytest.fixture
def linkage():
    model = four_bar(**RODS)
    return model, supple.close_loops(model, [-1.0, -0.2, 2.0])


@pytest.mark.parametrize("seed", range(5))
def test_a_point_of_a_four_bar_linkage(linkage, seed):
    model, start = linkage
    rng = np.random.default_rng(seed)
    point = 0.3 * rng.normal(size=3)
    there = supple.close_loops(model, start + 0.8 * rng.normal(size=3))
    goal = supple.Goal(coupler_point(there, point), point=point)
    found = supple.inverse_kinematics(model, {"coupler": goal}, start, attempts=20)
    assert found.reached and np.abs(pin_gap(found.q)).max() < 1e-11
    np.testing.assert_allclose(coupler_point(found.q, point), goal.position, atol=2e-9)


@pytest.mark.parametrize("seed", range(5))
def test_what_cannot_be_reached_is_approached_with_loops_closed(linkage, seed):
    """One degree of freedom, and two coordinates to reach."""
    model, start = linkage
    rng = np.random.default_rng(seed)
    point, aim = np.array([0.4, 0.0, 0.2]), np.array([0.6, 0.0, -1.0]) + 0.3 * rng.normal(size=3) * (1, 0, 1)
    found = supple.inverse_kinematics(model, {"coupler": supple.Goal(aim, point=point)}, start, attempts=5)
    assert not found.reached and np.abs(pin_gap(found.q)).max() < 1e-11
    miss = lambda q: float(np.sum((coupler_point(q, point) - aim) ** 2))  # noqa: E731
    best = minimize(miss, found.q, constraints={"type": "eq", "fun": pin_gap}, method="SLSQP", tol=1e-14)
    assert np.abs(pin_gap(best.x)).max() < 1e-6
    assert miss(found.q) <= best.fun + 1e-7
    assert found.misses["coupler"].position == pytest.approx(np.sqrt(miss(found.q)), abs=1e-12)


def test_a_posture_is_the_nearest_with_loops_closed():
    """A hexagon of equal rods: three degrees of freedom, one of which the goal leaves."""
    builder = supple.ModelBuilder("hexagon")
    for i in range(5):
        at = (1, 0, 0) if i else (0, 0, 0)
        place = dict(axis=(0, 1, 0), position=at)
        builder.add_body(f"r{i}", i - 1 if i else None, "continuous", **place, mass=1, inertia=(0.01, 0.1, 0.1))
    builder.close("r4", None, "revolute", axis=(0, 1, 0), position=(1, 0, 0), other_position=(1, 0, 0))
    model = builder.build()
    end = lambda q: np.array([np.cos(np.cumsum(q)).sum() - 1, -np.sin(np.cumsum(q)).sum()])  # noqa: E731
    middle = lambda q: np.array([np.cos(np.cumsum(q[:3])).sum(), -np.sin(np.cumsum(q[:3])).sum()])  # noqa: E731
    start = supple.close_loops(model, np.array([2, -1, -1, -1, -1.2]))
    aim, posture = middle(start) + (0.1, 0.05), start + (0.3, -0.2, 0.1, 0.2, -0.4)
    goal = {"r2": supple.Goal((aim[0], 0, aim[1]), point=(1, 0, 0))}
    found = supple.inverse_kinematics(model, goal, start, posture=posture)
    assert found.reached and np.abs(end(found.q)).max() < 1e-11
    holds = [{"type": "eq", "fun": end}, {"type": "eq", "fun": lambda q: middle(q) - aim}]
    best = minimize(lambda q: np.sum((q - posture) ** 2), found.q, constraints=holds, method="SLSQP", tol=1e-15)
    assert np.sum((found.q - posture) ** 2) <= best.fun + 1e-6
    np.testing.assert_allclose(found.q, best.x, atol=1e-4)


@pytest.mark.parametrize("seed", range(16))
def test_loops_of_every_type(seed):
    rng = np.random.default_rng(seed)
    model, start = random_linkage(rng, (CLOSING[seed % len(CLOSING)],))
    there = supple.close_loops(model, model.integrate(start, 0.2 * rng.normal(size=model.nv)))
    goal = supple.poses(model, there)[5]
    found = supple.inverse_kinematics(model, {5: goal}, start, limits=False)
    assert found.reached
    nearest = supple.close_loops(model, found.q, 1e-10)
    assert np.abs(model.difference(found.q, nearest)).max() < 1e-14  # nothing had to move
    np.testing.assert_allclose(supple.poses(model, found.q)[5].position, goal.position, atol=2e-9)


def test_panda_opens_both_fingers():
    panda = supple.load(robot("panda.urdf"))
    goal = supple.poses(panda, panda.random(0))["panda_hand_tcp"]
    found = supple.inverse_kinematics(panda, {"panda_hand_tcp": goal}, panda.random(1), attempts=30)
    assert found.reached and found.q[7] == pytest.approx(found.q[8], abs=1e-12)
    assert (found.q >= panda.lower).all() and (found.q <= panda.upper).all()
    hand, finger = supple.poses(panda, found.q)["panda_hand"], supple.poses(panda, found.q)["panda_leftfinger"]
    aim = finger.position + 0.01 * hand.rotation[:, 1]
    again = supple.inverse_kinematics(panda, {"panda_leftfinger": aim, "panda_hand": hand}, found.q)
    assert again.reached and again.q[7] == pytest.approx(again.q[8], abs=1e-12)
    assert again.q[7] == pytest.approx(found.q[7] + 0.01, abs=1e-7)


def test_loops_of_which_no_goal_knows_are_closed_and_else_stay():
    panda = supple.load(robot("panda.urdf"))
    q = np.array([0.1, 0.2, 0.3, -1.0, 0.5, 1.0, 0.2, 0.01, 0.03])
    found = supple.inverse_kinematics(panda, {"panda_link3": supple.poses(panda, q)["panda_link3"].position}, q)
    np.testing.assert_array_equal(found.q[:7], q[:7])
    np.testing.assert_allclose(found.q[7:], 0.02, atol=1e-12)
    q[7:] = 0.01
    held = supple.inverse_kinematics(panda, {"panda_hand_tcp": (0.4, 0.1, 0.5)}, q)
    np.testing.assert_array_equal(held.q[7:], q[7:])


def test_joints_that_cannot_close_loops_are_named(linkage):
    model, start = linkage
    with pytest.raises(StateError, match=r"cannot close the loops.*close_loops"):
        supple.inverse_kinematics(model, {"crank": (0.3, 0, 0)}, start + 0.3, joints=["crank_joint"])
