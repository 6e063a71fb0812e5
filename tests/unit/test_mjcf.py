"""The MJCF loader: what each part becomes, what is remarked upon, what is refused. (Poses: tests/cross.)"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from supple.errors import ModelError, ParseError
from supple.files import load, load_mjcf
from supple.model.model import Model

pytest.importorskip("mujoco")

GEOM = '<geom size="0.1" mass="1"/>'


@pytest.fixture
def read(tmp_path: Path):
    def read(world: str, more: str = "", **options: object) -> Model:
        path = tmp_path / "robot.xml"
        path.write_text(f'<mujoco model="m">\n{more}\n<worldbody>\n{world}\n</worldbody></mujoco>')
        return load(path, **options)  # type: ignore[arg-type]

    return read


def body(inside: str, name: str = "b", more: str = "") -> str:
    return f'<body name="{name}" {more}>{inside}{GEOM}</body>'


def subjects(model: Model) -> set[str]:
    return {r.subject for r in model.report}


def test_names_and_gravity(read) -> None:
    model = read(body('<joint name="j"/>'), '<option gravity="0 1 2"/>')
    assert (model.name, model.body_names, model.joint_names) == ("m", ("b",), ("j",))
    np.testing.assert_array_equal(model.gravity, [0, 1, 2])
    np.testing.assert_array_equal(read(body("<joint/>"), gravity=(3, 0, 0)).gravity, [3, 0, 0])
    off = read(body("<joint/>"), '<option><flag gravity="disable"/></option>')
    np.testing.assert_array_equal(off.gravity, [0, 0, 0])


def test_unnamed_parts_get_names(read) -> None:
    model = read(f"<body><joint/><joint axis='1 0 0'/>{GEOM}<site/></body>" + body("<joint/>", "body1"))
    assert model.body_names == ("body1_/body1__joint", "body1_", "body1")
    assert model.joint_names == ("body1__joint", "body1__joint_", "body1_joint")
    assert "site0" in model.frames


@pytest.mark.parametrize(
    ("joint", "kind"),
    [
        ("<joint/>", "continuous"),
        ('<joint range="-10 10"/>', "revolute"),
        ('<joint type="slide"/>', "prismatic"),
        ('<joint type="ball"/>', "ball"),
        ("<freejoint/>", "free"),
    ],
)
def test_joint_types(read, joint: str, kind: str) -> None:
    assert read(body(joint)).joints[0].type == kind


def test_a_hinge_with_an_anchor_and_a_reference(read) -> None:
    """qpos = 90° is where the body is drawn in the file; the body's frame is shifted to the anchor."""
    model = read(body('<joint name="j" axis="0 0 1" pos="1 0 0" ref="90"/>', more='pos="0 0 5"'))
    np.testing.assert_array_equal(model.position[0], [1, 0, 5])
    # turned back by 90°, so that turning by q = 90° gives the file's pose
    np.testing.assert_allclose(model.rotation[0], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], rtol=0, atol=1e-15)
    frame = model.frames["b/frame"]
    assert frame.body == 0
    np.testing.assert_array_equal(frame.position, [-1, 0, 0])
    np.testing.assert_array_equal(model.com[0], [-1, 0, 0])


def test_a_slide_with_a_reference(read) -> None:
    model = read(body('<joint type="slide" axis="0 0 1" pos="7 7 7" ref="2"/>', more='pos="0 0 5"'))
    np.testing.assert_array_equal(model.position[0], [0, 0, 3])
    assert "b/frame" not in model.frames


def test_several_joints_on_a_body(read) -> None:
    model = read(body('<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>'))
    assert model.body_names == ("b/x", "b")
    assert model.joint_names == ("x", "y")
    assert model.mass.tolist() == [0, 1]
    assert not model.report.about("singular")


def test_bodies_without_joints_are_frames(read) -> None:
    model = read(body('<joint name="j"/>' + body("", "tool", 'pos="1 0 0"')))
    assert model.n_bodies == 1
    assert model.mass[0] == 2
    np.testing.assert_array_equal(model.frames["tool"].position, [1, 0, 0])


def test_joint_numbers(read) -> None:
    joint = '<joint range="-0.5 0.25" damping="1" armature="2" frictionloss="3" actuatorfrcrange="-4 4"/>'
    model = read(body(joint), '<compiler angle="radian"/>')
    assert (model.lower[0], model.upper[0]) == (-0.5, 0.25)
    assert (model.damping[0], model.armature[0], model.friction[0], model.effort_limit[0]) == (1, 2, 3, 4)


def test_inertia_is_turned_into_the_bodys_axes(read) -> None:
    inertial = '<inertial mass="2" pos="1 2 3" euler="90 0 0" diaginertia="4 5 6"/>'
    model = read(f'<body name="b"><joint/>{inertial}</body>')
    np.testing.assert_array_equal(model.com[0], [1, 2, 3])
    np.testing.assert_allclose(model.inertia[0], np.diag([4, 6, 5]), rtol=0, atol=1e-14)  # roundings of entries ~5


def test_sites_are_frames_and_never_clash(read) -> None:
    model = read(body('<joint name="j"/><site name="tool" pos="0 1 0"/>' + body("", "tool", 'pos="1 0 0"')))
    np.testing.assert_array_equal(model.frames["tool"].position, [1, 0, 0])
    np.testing.assert_array_equal(model.frames["tool/site"].position, [0, 1, 0])


def test_geoms_are_visuals(read) -> None:
    shapes = (
        '<geom name="g0" type="sphere" size="1" rgba="1 0 0 1"/>'
        '<geom type="box" size="1 2 3" material="blue"/>'
        '<geom type="capsule" size="1 2"/><geom type="cylinder" size="1 2"/>'
        '<geom type="ellipsoid" size="1 2 3"/>'
        '<geom type="sphere" size="9" group="3"/>'
    )
    model = read(
        '<geom type="plane" size="1 2 0.1"/>' + f'<body name="b"><joint/>{shapes}</body>',
        '<asset><material name="blue" rgba="0 0 1 1"/></asset>',
    )
    assert [(v.body, v.kind, v.size) for v in model.visuals] == [
        (-1, "plane", (2, 4)),
        (0, "sphere", (1,)),
        (0, "box", (2, 4, 6)),
        (0, "capsule", (1, 4)),
        (0, "cylinder", (1, 4)),
        (0, "ellipsoid", (1, 2, 3)),
    ]
    assert model.visuals[1].name == "g0"
    assert (model.visuals[1].rgba, model.visuals[2].rgba) == ((1, 0, 0, 1), (0, 0, 1, 1))
    assert "hides group 3" in model.report.about("geom")[0].message


def test_a_mesh_has_no_file(read) -> None:
    asset = '<asset><mesh name="tetra" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>'
    model = read('<body name="b"><joint/><geom type="mesh" mesh="tetra"/></body>', asset)
    assert [(v.kind, v.mesh) for v in model.visuals] == [("mesh", None)]
    assert "mesh" in subjects(model)


def test_what_is_not_used_is_remarked_upon(read) -> None:
    world = (
        body(
            '<joint name="j" damping="1"/><site name="s"/>' + body('<joint name="k"/>', "c"),
            more='gravcomp="1"',
        )
        + body('<joint name="l" type="ball" range="0 10" stiffness="3"/>', "d")
        + '<body mocap="true"/><camera/><light/>'
    )
    more = """
    <option timestep="0.5" density="1.2"/>
    <tendon><fixed><joint joint="j" coef="1"/></fixed></tendon>
    <actuator><motor joint="l"/></actuator>
    <equality><joint joint1="j" joint2="k"/></equality>
    <sensor><jointpos joint="j"/></sensor>
    <contact><exclude body1="b" body2="d"/></contact>
    <keyframe><key/></keyframe>
    <custom><numeric name="n" data="1"/><text name="t" data="x"/></custom>
    """
    model = read(world, more)
    expected = {
        "stiffness", "gravcomp", "range", "mocap", "camera", "light", "option", "fluid", "tendon", "actuator",
        "hard equality", "sensor", "keyframe", "numeric", "text",
    }  # fmt: skip
    assert subjects(model) == expected
    assert "joint 'l'" in model.report.about("stiffness")[0].message
    assert "joint 'l'" in model.report.about("range")[0].message
    assert "timestep = 0.5" in model.report.about("option")[0].message


def test_one_sided_force_limit_is_remarked_upon(read) -> None:
    model = read(body('<joint name="j" actuatorfrcrange="-1 4"/>'))
    assert model.effort_limit[0] == np.inf
    assert "joint 'j'" in model.report.about("actuatorfrcrange")[0].message


def test_a_plain_model_has_nothing_to_remark(read) -> None:
    model = read('<body name="b"><joint/><geom size="0.1" contype="0" conaffinity="0"/></body>')
    assert len(model.report) == 0


# --- floating base --------------------------------------------------------------------------------


def test_floating_base(read) -> None:
    model = read(body(body('<joint name="j"/>', "arm"), "base", 'pos="1 2 3"'), floating_base=True)
    assert (model.body_names, model.joint_names) == (("base", "arm"), ("root_joint", "j"))
    np.testing.assert_array_equal(model.position[0], [0, 0, 0])  # where it is stands in q
    assert "floating base" in subjects(model)


def test_a_base_that_floats_already(read) -> None:
    model = read(body('<freejoint name="f"/>'), floating_base=True)
    assert model.joint_names == ("f",)
    assert "already" in model.report.about("floating base")[0].message


def test_bases_that_cannot_float(read) -> None:
    with pytest.raises(ModelError, match="exactly one top-level body; there are 2"):
        read(body("<joint/>", "a") + body("<joint/>", "b"), floating_base=True)
    with pytest.raises(ModelError, match="without joints"):
        read(body("<joint/>"), floating_base=True)


# --- refused --------------------------------------------------------------------------------------


def test_errors_have_file_and_line(read, tmp_path: Path) -> None:
    for world, message in (
        ("<bdy/>", "MuJoCo refuses it: .*unrecognized element"),
        ('<body name="b"><joint/></body>', "mass and inertia of moving bodies"),
    ):
        with pytest.raises(ParseError, match=message) as e:
            read(world)
        assert (e.value.file, e.value.line) == (str(tmp_path / "robot.xml"), 4)


@pytest.mark.parametrize(
    ("included", "line", "message"),
    [
        (
            '<mujoco><worldbody>\n<geom size="-1"/></worldbody></mujoco>',
            None,
            "a file that it includes: .*size 0",
        ),
        ('<mujoco>\n<include file="robot.xml"/></mujoco>', None, "a file that it includes: .*already included"),
        ("<mujoco><worldbody>\n<geom></worldbody></mujoco>", 7, "refuses it: .*Include error"),
    ],
)
def test_errors_in_included_files_have_no_line_but_that_of_the_include(
    read, tmp_path: Path, included: str, line: int | None, message: str
) -> None:
    (tmp_path / "more.xml").write_text(included)
    with pytest.raises(ParseError, match=message) as e:
        read(body("<joint/>"), '\n\n\n\n\n<include file="more.xml"/>')
    assert (e.value.file, e.value.line) == (str(tmp_path / "robot.xml"), line)


def test_files_that_are_no_mjcf(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text("<robot/>")
    with pytest.raises(ParseError, match=r"robot.xml: not an MJCF, .* not <robot>"):
        load_mjcf(path)
    with pytest.raises(ParseError, match=r"gone.xml: there is no such file"):
        load_mjcf(tmp_path / "gone.xml")
    for text in ("<mujoco", "<mujoco>\n<worldbody>"):
        path.write_text(text)
        with pytest.raises(ParseError, match=r"robot.xml:[12]: MuJoCo refuses it"):
            load(path)


def test_nothing_that_moves(read) -> None:
    with pytest.raises(ParseError, match=r"robot.xml: every joint is fixed"):
        read(body(""))
    with pytest.raises(ParseError, match=r"robot.xml: a model needs at least one body"):
        read("")


def test_without_mujoco(read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ModelError, match=r"pip install 'supple\[mjcf\]'"):
        read(body("<joint/>"))
