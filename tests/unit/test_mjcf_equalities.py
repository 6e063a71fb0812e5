"""Equalities of MJCF files: names, places, what is left out and said. cross/test_loops_mujoco.py has what they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")

import supple  # noqa: E402
from supple.files.lost import left_out  # noqa: E402

INERTIAL = '<inertial mass="1" pos=".1 .2 .3" diaginertia=".1 .2 .25"/>'
TENDONS = (
    '<tendon><fixed name="s"><joint joint="j" coef="1"/></fixed>'
    '<fixed name="t"><joint joint="k" coef="1"/></fixed></tendon>'
)


def write(folder: Path, equality: str, more: str = "", world: str = "", option: str = "") -> Path:
    """Bodies a, b and c in a row, on hinges j, k and l; d is fixed to b."""
    path, inside = folder / "robot.xml", ""
    for body, joint in (("c", "l"), ("b", "k"), ("a", "j")):
        fixed = f'<body name="d" pos="0 .2 0">{INERTIAL}</body>' if body == "b" else ""
        inside = (
            f'<body name="{body}" pos=".5 0 0"><joint name="{joint}" axis="0 1 0"/>{INERTIAL}'
            f'<site name="s{body}" pos=".1 0 .1"/>{fixed}{inside}</body>'
        )
    path.write_text(
        f'<mujoco><compiler angle="radian"/>{option}<worldbody>{inside}{world}</worldbody>{more}'
        f"<equality>{equality}</equality></mujoco>"
    )
    return path


def test_names_that_joints_have_already(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<connect name="j" body1="c" anchor="0 0 0"/><weld body1="a"/>'))
    assert list(model.loops) == ["j_", "equality1"]
    assert "equality 'j', 'equality1'" in model.report.about("hard equality")[0].message


def test_a_joint_alone_is_held(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<joint name="e" joint1="k" polycoef="0.3 5 7 0 0"/>'))
    (relation,) = model.relation_list
    assert (relation.joints, relation.factors, relation.offset) == (("k",), (1.0,), 0.3)
    assert supple.close_loops(model, [1.0, 2.0, 3.0]) == pytest.approx([1.0, 0.3, 3.0], abs=1e-12)


def test_bodies_without_joints_are_places_on_those_that_carry_them(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<connect body1="d" anchor="0.1 0 0"/>'))
    (loop,) = model.loop_list
    assert (loop.body, loop.other, loop.joint) == (model.body_index("b"), -1, "ball")
    np.testing.assert_allclose(loop.position, [0.1, 0.2, 0.0])


def test_what_holds_nothing_is_left_out(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<weld name="e" body1="b" body2="d"/>'))
    assert model.is_tree and left_out(model) == []
    assert "equality 'e': holds nothing" in model.report.about("idle equality")[0].message


def test_what_is_not_active_is_left_out_and_named(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<weld name="e" body1="a" active="false"/><weld name="f" body1="b"/>'))
    assert list(model.loops) == ["f"] and left_out(model) == []
    assert "'e'" in model.report.about("idle equality")[0].message


@pytest.mark.parametrize(
    ("equality", "why"),
    [
        ('<joint name="e" joint1="j" joint2="k" polycoef="0 1 0 0 2"/>', "higher terms"),
        ('<tendon name="e" tendon1="s" tendon2="t"/>', "tendons"),
        ('<tendon name="e" tendon1="s"/>', "tendons"),
    ],
)
def test_what_has_no_counterpart_is_named_in_one_line(tmp_path: Path, caplog, equality: str, why: str) -> None:
    model = supple.load(write(tmp_path, equality, TENDONS))
    (remark,) = model.report.about("equality")
    assert model.is_tree and "equality 'e'" in remark.message and why in remark.message
    (line,) = caplog.messages
    assert "not simulated: " in line and "some equalities" in line and "\n" not in line


def test_switched_off_there_are_none(tmp_path: Path) -> None:
    for flag in ("equality", "constraint"):
        path = write(tmp_path, '<weld body1="a"/>', option=f'<option><flag {flag}="disable"/></option>')
        model = supple.load(path)
        assert model.is_tree and not model.report


def test_without_loops_there_is_the_tree_alone(tmp_path: Path, caplog) -> None:
    path = write(tmp_path, '<weld name="e" body1="a"/><joint name="f" joint1="k" joint2="l"/>')
    model = supple.load(path, loops=False)
    (remark,) = model.report
    assert model.is_tree and remark.subject == "equality" and "'e', 'f'" in remark.message
    assert "loops=False" in remark.message and "some equalities" in caplog.messages[0]
    caplog.clear()
    assert not supple.load(path).is_tree and not caplog.messages


def test_a_base_that_floats_is_held_as_one_that_is_fixed(tmp_path: Path) -> None:
    """The weld of a fixed base to the world holds nothing, and that of a floating one all of it."""
    path = tmp_path / "robot.xml"
    path.write_text(
        f'<mujoco><worldbody><body name="base" pos="1 2 3">{INERTIAL}<body name="a"><joint axis="0 1 0"/>{INERTIAL}'
        '</body></body></worldbody><equality><weld name="e" body1="base"/></equality></mujoco>'
    )
    assert supple.load(path).is_tree
    model = supple.load(path, floating_base=True)
    q = supple.close_loops(model, model.neutral())
    np.testing.assert_allclose(q[:3], [1, 2, 3], atol=1e-12)
    assert model.mobility(q).degrees == 1


def test_a_body_welded_to_a_mocap_body_stays_there(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<weld name="e" body1="c" body2="m"/>', world='<body name="m" mocap="true"/>'))
    assert model.loop_list[0].other == -1 and "mocap" in {r.subject for r in model.report}


def test_recordings_and_changed_models_keep_them(tmp_path: Path) -> None:
    model = supple.load(write(tmp_path, '<connect name="e" body1="c" anchor="0.1 0 0"/><joint joint1="j" joint2="k"/>'))
    supple.simulate(model, duration=0.05, dt=0.01, record=tmp_path / "run.h5")
    recorded = supple.load_run(tmp_path / "run.h5")
    assert recorded.model.loop_list == model.loop_list and recorded.model.relation_list == model.relation_list
    other = model.with_body("c", mass=3.0)
    assert other.loop_list == model.loop_list and other.relation_list == model.relation_list


@pytest.mark.parametrize("scale", ["nan", "inf", "-INF"])
def test_a_torque_scale_that_is_no_number_is_refused(tmp_path: Path, scale: str) -> None:
    """MuJoCo takes it: whether the weld holds rotations would be anyone's guess."""
    path = write(tmp_path, f'\n<weld name="e" body1="c" torquescale="{scale}"/>')
    with pytest.raises(supple.ParseError, match=f"robot.xml:2: <weld>: torquescale needs a finite .* '{scale}'"):
        supple.load(path)
