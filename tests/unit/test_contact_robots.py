"""Robots of example-robot-data that fall limp on the ground, or stand there: what was hard for the solver."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from supple import Contacts, ModelBuilder, simulate
from supple.contact.room import PLAY
from supple.model.joints import JointType
from tests.robots import robot


@pytest.mark.parametrize(
    ("name", "dt", "duration"),
    [
        ("centauro.urdf", 0.001, 0.1),  # legs with joints that have no room between their limits
        ("centauro.urdf", 0.002, 0.1),
        ("alex_psyonic_hands.urdf", 0.005, 0.3),  # hands of a few grams at their limits, under an arm
    ],
)
def test_a_limp_robot_falls(name: str, dt: float, duration: float) -> None:
    model = supple.load(robot(name), floating_base=True)
    run = simulate(model, duration=duration, dt=dt, contacts=Contacts(ground="below"))
    assert run.about["contact_faults"]["rough"] == 0


def test_a_robot_on_feet_with_chamfers_rests() -> None:
    """Of the quadrotor's hull, the corners of the chamfers are farther out than those of the soles, and 0.6 mm higher:
    it would rock for ever between one corner and another."""
    model = supple.load(robot("quadrotor_base.urdf"), floating_base=True)
    run = simulate(model, duration=0.2, dt=0.005, contacts=Contacts(ground="below"))
    assert len(run.contacts(-1)) >= 2
    assert run.kinetic.max() < 1e-9
    assert np.ptp(run.potential) < 1e-7


def test_a_robot_that_begins_beyond_its_limits_is_led_back_without_faults() -> None:
    """The knees of the a1 begin 0.92 rad beyond their limits, and its controllers hold them within."""
    model = supple.load(robot("a1.urdf"), floating_base=True)
    joints = [model.joints[i] for i in range(model.n_bodies) if model.joint_type[i] == JointType.REVOLUTE]
    lower, upper = (np.array([limit[j.q][0] for j in joints]) for limit in (model.lower, model.upper))
    mass, targets = float(model.mass.sum()), np.clip(0.0, lower + 0.05, upper - 0.05)
    forces = [supple.Controller(j.name, 10.0 * mass, mass, float(x)) for j, x in zip(joints, targets)]
    run = simulate(model, duration=0.3, dt=0.005, contacts=Contacts(ground="below"), forces=forces)
    begin, end = (np.array([q[j.q][0] for j in joints]) for q in run.q[[0, -1]])
    assert (begin - upper).max() > 0.9
    assert (end > lower - 1e-6).all() and (end < upper + 1e-6).all()
    assert run.about["contact_faults"]["rough"] == 0


@pytest.mark.parametrize("dt", [0.001, 0.005])
def test_a_joint_without_room_between_its_limits_hardly_moves(dt: float) -> None:
    b = ModelBuilder("arm")
    for name, parent, limits in (("one", None, (-9.0, 9.0)), ("two", "one", (0.3, 0.3))):
        b.add_body(name, parent, axis=(0, 1, 0), position=(1.0 if parent else 0.0, 0, 0), mass=1.0, com=(0.5, 0, 0),
                   inertia=(0.01, 0.1, 0.1), lower=limits[0], upper=limits[1])  # fmt: skip
        b.add_shape(name, "sphere", [0.01])
    run = simulate(b.build(), [0.0, 0.3], duration=1.0, dt=dt, contacts=True)
    assert abs(run.q[:, 0]).max() > 1.0
    assert abs(run.q[:, 1] - 0.3).max() < 2.0 * PLAY
