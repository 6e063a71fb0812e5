"""What is hard about robots: hands of a few grams, joints without room, or beyond their limits, feet with chamfers."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import supple
from supple import Contacts, Controller, ModelBuilder, simulate
from supple.contact.joint_limits import PLAY
from supple.contact.memory import LIMIT, Scene, Touch
from supple.contact.steps.judging import deepest_of
from supple.spatial.compiler import kernel
from tests.robots import robot


@pytest.mark.parametrize(
    ("name", "dt", "duration"),
    [
        ("centauro.urdf", 0.002, 0.1),  # legs with joints that have no room between their limits
        ("alex_psyonic_hands.urdf", 0.005, 0.3),  # hands of a few grams at their limits, under an arm
    ],
)
def test_a_limp_robot_falls(name: str, dt: float, duration: float) -> None:
    model = supple.load(robot(name), floating_base=True)
    run = simulate(model, duration=duration, dt=dt, contacts=Contacts(ground="below"))
    assert run.about["contact_faults"]["rough"] == 0


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.005])
def test_a_humanoid_with_limits_and_motors_stands(dt: float) -> None:
    """The motors of its shoulders and elbows press against their limits."""
    model = supple.load(robot("icub.urdf"), floating_base=True)
    joints = [model.joints[i] for i in range(model.n_joints) if model.joints[i].type == "revolute"]
    at = np.array([joint.q.start for joint in joints])
    q, target = model.neutral(), np.clip(0.0, model.lower[at], model.upper[at])
    q[at] = target
    pressed = (model.upper[at] - target < 1e-9) * 0.1 - (target - model.lower[at] < 1e-9) * 0.1
    assert (pressed != 0.0).sum() >= 4
    motors = [Controller(joint.name, 500.0, 20.0, target=x) for joint, x in zip(joints, target + pressed)]
    run = simulate(model, q, duration=1.0, dt=dt, forces=motors, contacts=Contacts(ground="below"))
    assert np.abs(run.q[:, :3]).max() < 5e-3 and run.kinetic[-1] < 1e-4  # motors give way a little
    assert max((run.q[:, at] - model.upper[at]).max(), (model.lower[at] - run.q[:, at]).max()) < 1e-6
    carried = sum(c.force[2] for c in run.contacts(-1) if c.other == "ground")
    assert carried == pytest.approx(9.81 * model.total_mass, rel=1e-2)
    assert not any(run.about["contact_faults"].values())


def test_a_robot_on_feet_with_chamfers_rests() -> None:
    """Of the quadrotor's hull, the corners of the chamfers are farther out than those of the soles, and 0.6 mm higher:
    it would rock for ever between one corner and another."""
    model = supple.load(robot("quadrotor_base.urdf"), floating_base=True)
    run = simulate(model, duration=0.2, dt=0.005, contacts=Contacts(ground="below"))
    assert len(run.contacts(-1)) >= 2
    assert run.kinetic.max() < 1e-9
    assert np.ptp(run.potential) < 1e-7


@kernel(types.float64(Scene.type, Scene.type), "overlap that has grown")
def deepest_kernel(scene, ahead):
    return deepest_of(scene, ahead)


@pytest.mark.parametrize(("more", "fault"), [(-0.02, 0.0), (1e-10, 0.0), (1e-7, 0.6)])
def test_a_joint_that_began_beyond_its_limit_is_a_fault_only_if_it_goes_farther(more: float, fault: float) -> None:
    """Than rounding, and the tolerance of the law, let it: the knees of a1, go1 and go2 begin 0.9 rad beyond."""
    scenes = []
    for gap in (-0.6, -0.6 - more):
        touches = Touch.zeros(1)
        touches["kind"], touches["shape"], touches["other"], touches["gap"] = LIMIT, -1, -1, gap
        scenes.append(Scene.of(touches=touches, capacity=1, n=1))
    found = deepest_kernel.load()(scenes[0].address, scenes[1].address)
    assert found == pytest.approx(fault, abs=1e-6)


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
