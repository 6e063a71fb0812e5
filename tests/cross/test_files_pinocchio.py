"""Every robot of example-robot-data, loaded here and by Pinocchio: the same joints in the same order, with
the same placements, inertias and limits, so that q and v can be passed between the two."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

from robots import BROKEN, FILES, RIGID, body_poses, each_robot  # noqa: E402
from supple.errors import ParseError  # noqa: E402
from supple.files import load  # noqa: E402
from supple.model.joints import JointType  # noqa: E402
from supple.model.model import Model  # noqa: E402

#: Both read the same decimals; what differs is the rounding of a few products of rotations.
ROTATION = 1e-14
#: Inertias are sums over merged bodies: rounding relative to the largest entry of the sum, which
#: parallel-axis terms that cancel in the centre of mass can exceed by a factor of ten or so.
MERGED = 1e-13


@cache
def both(path: Path, floating: bool) -> tuple[Model, Any]:
    root = (pin.JointModelFreeFlyer(),) if floating else ()
    return load(path, floating_base=floating), pin.buildModelFromUrdf(str(path), *root)


def bases(path: Path) -> tuple[bool, ...]:
    return (True,) if path.name in RIGID else (False, True)


@each_robot()
def test_joints_come_in_the_same_order(path: Path) -> None:
    for floating in bases(path):
        ours, theirs = both(path, floating)
        assert list(ours.joint_names) == list(theirs.names)[1:]
        assert ours.parent.tolist() == [p - 1 for p in list(theirs.parents)[1:]]
        assert ours.v_index.tolist() == list(theirs.idx_vs)[1:]
        assert ours.nv == theirs.nv


@each_robot()
def test_placements_and_inertias(path: Path) -> None:
    for floating in bases(path):
        ours, theirs = both(path, floating)
        for i in range(ours.n_bodies):
            placement, inertia = theirs.jointPlacements[i + 1], theirs.inertias[i + 1]
            name = ours.joint_names[i]
            np.testing.assert_allclose(ours.rotation[i], placement.rotation, rtol=0, atol=ROTATION, err_msg=name)
            size = max(1.0, np.abs(placement.translation).max())
            np.testing.assert_allclose(
                ours.position[i], placement.translation, rtol=0, atol=ROTATION * size, err_msg=name
            )
            assert ours.mass[i] == pytest.approx(inertia.mass, rel=MERGED, abs=0), name
            lever = max(1.0, np.abs(inertia.lever).max())
            if inertia.mass > 0:
                np.testing.assert_allclose(ours.com[i], inertia.lever, rtol=0, atol=MERGED * lever, err_msg=name)
            scale = np.abs(inertia.inertia).max() + inertia.mass * lever**2
            np.testing.assert_allclose(ours.inertia[i], inertia.inertia, rtol=0, atol=MERGED * scale, err_msg=name)


@each_robot()
def test_limits_and_dynamics(path: Path) -> None:
    """Pinocchio has the largest number where we have infinity. The limits it has for the (cos, sin) of a
    continuous joint are not compared."""
    ours, theirs = both(path, True)
    for i, kind in enumerate(ours.joint_type):
        if kind in (JointType.REVOLUTE, JointType.PRISMATIC):
            at, name = theirs.idx_qs[i + 1], ours.joint_names[i]
            assert ours.joints[i].lower == theirs.lowerPositionLimit[at], name
            assert ours.joints[i].upper == theirs.upperPositionLimit[at], name
    most = sys.float_info.max
    np.testing.assert_array_equal(np.minimum(ours.effort_limit, most), np.minimum(theirs.upperEffortLimit, most))
    np.testing.assert_array_equal(np.minimum(ours.velocity_limit, most), np.minimum(theirs.upperVelocityLimit, most))
    np.testing.assert_array_equal(ours.damping, theirs.damping)
    np.testing.assert_array_equal(ours.friction, theirs.upperDryFrictionLimit)


@each_robot()
def test_bodies_are_where_pinocchio_has_them(path: Path) -> None:
    """With q passed over as it is, except that a continuous angle becomes its cosine and sine."""
    ours, theirs = both(path, True)
    q = ours.random(np.random.default_rng(1))
    parts = []
    for i, kind in enumerate(ours.joint_type):
        x = q[ours.joints[i].q]
        parts.append(np.array([np.cos(x[0]), np.sin(x[0])]) if kind == JointType.CONTINUOUS else x)
    data = theirs.createData()
    pin.forwardKinematics(theirs, data, np.concatenate(parts))
    for i, (R, x) in enumerate(body_poses(ours, q)):
        # a few roundings for each of up to 20 joints on the way
        np.testing.assert_allclose(R, data.oMi[i + 1].rotation, rtol=0, atol=1e-13)
        np.testing.assert_allclose(x, data.oMi[i + 1].translation, rtol=0, atol=1e-13)


@each_robot()
def test_fixed_links_become_the_same_frames(path: Path) -> None:
    ours, theirs = both(path, True)
    links = {f.name: f for f in theirs.frames if f.type == pin.FrameType.BODY}
    for frame in ours.frame_list:
        other = links[frame.name]
        assert frame.body == other.parentJoint - 1
        np.testing.assert_allclose(frame.rotation, other.placement.rotation, rtol=0, atol=ROTATION)
        np.testing.assert_allclose(frame.position, other.placement.translation, rtol=0, atol=ROTATION)
    assert {f.name for f in ours.frame_list} | set(ours.body_names) == set(links)


@each_robot(files=[p for p in FILES if p.name in BROKEN])
def test_what_pinocchio_refuses_is_refused(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError):
        pin.buildModelFromUrdf(str(path))
    capfd.readouterr()
    with pytest.raises(ParseError):
        load(path)


@each_robot(files=[p for p in FILES if p.name in RIGID])
def test_a_robot_that_cannot_move_needs_a_floating_base(path: Path) -> None:
    with pytest.raises(ParseError, match="floating_base=True"):
        load(path)
    assert load(path, floating_base=True).n_bodies == 1
