"""What a URDF says and acts otherwise here, or not at all, is in the report by name; what acts alike is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import supple

INERTIAL = (
    '<inertial><origin xyz=".1 .2 .3" rpy=".1 .2 .3"/><mass value="2"/>'
    '<inertia ixx=".3" ixy="0" ixz="0" iyy=".2" iyz="0" izz=".4"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'


def write(
    folder: Path, joint: str = LIMIT, kind: str = "revolute", link: str = "", more: str = "", axis: str = "0 1 0"
) -> Path:
    """base, arm and hand, on joints 'j' (with these elements in it) and 'k'."""
    path = folder / "robot.urdf"
    turn = f'<axis xyz="{axis}"/>' if kind not in ("floating", "fixed") else ""
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="arm">{INERTIAL}{link}</link>'
        f'<joint name="j" type="{kind}"><origin xyz="0 0 1" rpy=".3 .2 .1"/><parent link="base"/><child link="arm"/>'
        f'{turn}{joint}</joint><link name="hand">{INERTIAL}</link>'
        f'<joint name="k" type="continuous"><origin xyz=".5 0 0"/><parent link="arm"/><child link="hand"/>'
        f'<axis xyz="1 0 0"/></joint>{more}</robot>'
    )
    return path


BOX = '<geometry><box size="1 1 1"/></geometry>'
TRANSMISSION = '<transmission name="t"><type>x</type><joint name="j"/></transmission>'
MESH = '<visual><geometry><mesh filename="no.stl"/></geometry></visual>'

#: How a file is written, the subject of its only remark, and words of that
TABLE = [
    (dict(joint='<dynamics damping="1"/>', kind="floating"), "damping", ("joint 'j'", "floating")),
    (dict(joint='<dynamics damping="1"/>', kind="planar"), "damping", ("joint 'j'", "planar")),
    (dict(joint='<dynamics friction="1"/>', kind="planar"), "friction", ("joint 'j'", "planar")),
    (dict(joint=LIMIT + '<dynamics damping="1" spring="3"/>'), "dynamics", ("joint 'j'", "'spring'")),
    (dict(joint=LIMIT + '<mimic joint="x" multiplier="2"/>'), "free mimic", ("joint 'j'", "'x'", "not there")),
    (dict(joint=LIMIT + '<mimic joint="k" ratio="2"/>'), "mimic", ("joint 'j'", "'ratio'")),
    (dict(joint='<mimic joint="k"/>', kind="fixed"), "fixed mimic", ("joint 'j'", "means nothing")),
    (dict(joint=LIMIT + '<safety_controller k_velocity="1"/>'), "safety_controller", ("joint 'j'",)),
    (dict(joint=LIMIT + '<calibration rising="0"/>'), "calibration", ("joint 'j'",)),
    (dict(joint=LIMIT + "<hardware/>"), "hardware", ("joint 'j'",)),
    (dict(joint=""), "limit", ("joint 'j'", "revolute")),
    (dict(joint="", kind="prismatic"), "limit", ("joint 'j'", "prismatic")),
    (dict(joint=LIMIT, kind="continuous"), "limit", ("joint 'j'", "'lower', 'upper'")),
    (dict(joint=LIMIT, kind="planar"), "limit", ("joint 'j'", "'lower', 'upper'")),
    (dict(joint=LIMIT, kind="floating"), "limit", ("joint 'j'", "'lower', 'upper'")),
    (dict(joint=LIMIT.replace("/>", ' jerk="1"/>')), "limit", ("joint 'j'", "'jerk'")),
    (dict(axis="0 2 0"), "axis", ("joint 'j'", "length 2")),
    (dict(link="<collision/>"), "collision", ("link 'arm'", "nothing touches")),
    (dict(link="<contact/>"), "contact", ("link 'arm'",)),
    (dict(link="<sensor/>"), "sensor", ("link 'arm'",)),
    (dict(link=MESH), "mesh missing", ("link 'arm'", "no.stl")),
    (dict(link=f'<visual>{BOX}<material name="no"/></visual>'), "material", ("'no'",)),
    (dict(more=TRANSMISSION), "transmission", ("transmission 't'",)),
    (dict(more='<gazebo reference="arm"><material>Red</material></gazebo>'), "gazebo", ("<gazebo>", "'arm'")),
    (dict(more='<ros2_control name="c"/>'), "ros2_control", ("ros2_control 'c'",)),
    (dict(more='<sensor name="s"/>'), "sensor", ("sensor 's'",)),
    (dict(more='<loop_joint name="l"/>'), "loop_joint", ("loop_joint 'l'",)),
    (dict(more="words"), "robot", ("text",)),
]  # fmt: skip


@pytest.mark.parametrize(("how", "subject", "words"), TABLE, ids=[str(how) for how, _, _ in TABLE])
def test_what_is_otherwise_is_said_by_name(tmp_path, how, subject, words):
    (remark,) = supple.load(write(tmp_path, **how)).report
    assert remark.subject == subject and remark.line is not None
    assert all(word in remark.message for word in words), remark.message


TAME = {
    "nothing": {},
    "an axis that is nearly of length one": dict(axis="0.70711 0 0.70711"),
    "friction": dict(joint=LIMIT + '<dynamics damping="1" friction="2"/>'),
    "no friction": dict(joint=LIMIT + '<dynamics damping="0" friction="0"/>'),
    "prismatic": dict(kind="prismatic"),
    "continuous": dict(kind="continuous", joint=""),
    "floating": dict(kind="floating", joint=""),
    "a shape": dict(link=f"<visual>{BOX}</visual>"),
    "damping": dict(joint=LIMIT + '<dynamics damping="3"/>'),
}


@pytest.mark.parametrize("name", TAME)
def test_what_acts_alike_is_not_remarked_upon(tmp_path, name):
    """Oracle: Pinocchio, which leaves damping to its caller."""
    pin = pytest.importorskip("pinocchio")
    path = write(tmp_path, **TAME[name])
    model = supple.load(path)
    assert list(model.report) == []
    theirs = pin.buildModelFromUrdf(str(path))
    data = theirs.createData()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q, v = model.random(rng), rng.standard_normal(model.nv)
        first, k = model.joints["j"], model.joints["k"].q.start
        turn = [np.cos(q[k]), np.sin(q[k])]  # of a continuous joint
        begin = q[first.q] if first.type != "continuous" else np.array([np.cos(q[0]), np.sin(q[0])])
        a = pin.aba(theirs, data, np.concatenate([begin, turn]), v, -model.damping * v)
        np.testing.assert_allclose(supple.forward_dynamics(model, q, v), a, rtol=1e-10, atol=1e-10 * np.abs(a).max())
