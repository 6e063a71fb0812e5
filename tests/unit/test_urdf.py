"""The URDF loader: what each element becomes, what is remarked upon, and what every error says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from robots import robot
from supple.errors import ModelError, ParseError, SuppleError
from supple.files import load
from supple.model.model import Model

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
ENDS = '<parent link="base"/><child link="arm"/>'


def urdf(inside: str, name: str = 'name="r"') -> str:
    return f"<robot {name}>\n{inside}\n</robot>\n"


def two_links(joint: str = LIMIT, kind: str = "revolute", arm: str = INERTIAL, extra: str = "") -> str:
    """base (line 2), arm (line 3), the joint 'j' between them (line 4), something more (line 5)."""
    return urdf(
        f'<link name="base"/>\n<link name="arm">{arm}</link>\n'
        f'<joint name="j" type="{kind}">{ENDS}{joint}</joint>\n{extra}'
    )


def put(tmp_path: Path, text: str | bytes, name: str = "robot.urdf") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def read(tmp_path: Path):
    def read(text: str | bytes, **options: object) -> Model:
        return load(put(tmp_path, text), **options)  # type: ignore[arg-type]

    return read


# --- links ----------------------------------------------------------------------------------------


def test_names_counts_and_source(read, tmp_path: Path) -> None:
    model = read(two_links())
    assert (model.name, model.body_names, model.joint_names) == ("r", ("arm",), ("j",))
    assert [(f.name, f.body) for f in model.frame_list] == [("base", -1)]
    assert model.report.source == str(tmp_path / "robot.urdf")
    assert len(model.report) == 0


def test_inertial_is_turned_into_the_links_axes(read) -> None:
    """A quarter turn about x takes y to z, so the inertial frame's y moment is the link's z moment."""
    arm = (
        f'<inertial><origin xyz="1 2 3" rpy="{np.pi / 2} 0 0"/><mass value="5"/>'
        '<inertia ixx="4" ixy="0" ixz="0" iyy="5" iyz="0.5" izz="6"/></inertial>'
    )
    model = read(two_links(arm=arm))
    assert model.mass[0] == 5
    np.testing.assert_array_equal(model.com[0], [1, 2, 3])
    # R I R^T with R = [[1,0,0],[0,0,-1],[0,1,0]]; entries of a few units, so roundings of 1e-15
    np.testing.assert_allclose(model.inertia[0], [[4, 0, 0], [0, 6, -0.5], [0, -0.5, 5]], rtol=0, atol=1e-14)


def test_rpy_is_fixed_axes_roll_first(read) -> None:
    """Roll 90°, yaw 90°: Rz Ry Rx takes x to y, y to z."""
    model = read(two_links(f'<origin xyz="1 2 3" rpy="{np.pi / 2} 0 {np.pi / 2}"/>' + LIMIT))
    np.testing.assert_allclose(model.rotation[0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(model.position[0], [1, 2, 3])


def test_link_without_inertial_is_massless_and_reported(read) -> None:
    model = read(two_links(arm=""))
    assert model.mass[0] == 0
    (remark,) = model.report.about("singular")
    assert "'arm'" in remark.message and "SingularError" in remark.message and remark.line == 3
    with pytest.raises(ParseError, match=r"robot.urdf:3: body 'arm' and everything beyond it has no mass"):
        read(two_links(arm=""), strict=True)


def test_unphysical_inertia_is_reported_or_refused(read) -> None:
    arm = INERTIAL.replace('izz="1"', 'izz="5"')
    model = read(two_links(arm=arm))
    (remark,) = model.report.about("unphysical inertia")
    assert "'arm'" in remark.message and remark.line == 3
    assert model.inertia[0, 2, 2] == 5
    with pytest.raises(ParseError, match=r"robot.urdf:3: body 'arm': no real body"):
        read(two_links(arm=arm), strict=True)


def test_inertias_that_are_almost_nothing(read) -> None:
    """Moments of 1e-35 and of rank one, as in iCub: used as they are."""
    tiny = INERTIAL.replace('"1"', '"1e-35"')
    assert read(two_links(arm=tiny)).inertia[0, 0, 0] == 1e-35
    rank_one = INERTIAL.replace('iyy="1"', 'iyy="0"').replace('izz="1"', 'izz="0"')
    model = read(two_links(arm=rank_one))
    assert model.report.about("unphysical inertia")
    assert not model.report.about("singular")  # the default axis is x, about which there is inertia
    across = read(two_links('<axis xyz="0 1 0"/>' + LIMIT, arm=rank_one))
    assert [r.line for r in across.report.about("singular")] == [3]


# --- joints ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        ("revolute", "revolute"),
        ("continuous", "continuous"),
        ("prismatic", "prismatic"),
        ("floating", "free"),
        ("planar", "planar"),
    ],
)
def test_joint_types(read, kind: str, ours: str) -> None:
    model = read(two_links("" if kind in ("continuous", "floating", "planar") else LIMIT, kind))
    assert model.joints["j"].type == ours
    assert len(model.report) == 0


def test_default_axis_is_x_and_axes_are_normalised(read) -> None:
    np.testing.assert_array_equal(read(two_links()).axis[0], [1, 0, 0])
    np.testing.assert_array_equal(read(two_links('<axis xyz="0 -5 0"/>' + LIMIT)).axis[0], [0, -1, 0])


def test_limits_and_dynamics(read) -> None:
    model = read(two_links(LIMIT + '<dynamics damping="0.5" friction="0.25"/>'))
    assert (model.lower[0], model.upper[0]) == (-1, 2)
    assert (model.effort_limit[0], model.velocity_limit[0]) == (3, 4)
    assert (model.damping[0], model.friction[0]) == (0.5, 0.25)


def test_limits_have_urdfs_defaults(read) -> None:
    """lower and upper are zero unless given; a continuous joint has neither; without <limit>, none."""
    model = read(two_links('<limit effort="3" velocity="4"/>'))
    assert (model.lower[0], model.upper[0]) == (0, 0)
    model = read(two_links(LIMIT, "continuous"))
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (-np.inf, np.inf, 3)
    assert "'lower', 'upper' not used" in model.report.about("limit")[0].message
    model = read(two_links("", "prismatic"))
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (-np.inf, np.inf, np.inf)
    assert [r.line for r in model.report.about("limit")] == [4]


def test_the_largest_number_is_no_limit(read) -> None:
    most = repr(sys.float_info.max)
    model = read(two_links(f'<limit lower="-{most}" upper="7" effort="{most}" velocity="{most}"/>'))
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (-np.inf, 7, np.inf)


def test_fixed_joints_are_merged(read) -> None:
    tool = f'<link name="tool">{INERTIAL}</link>'
    ends = '<parent link="arm"/><child link="tool"/>'
    joint = f'<joint name="grip" type="fixed"><origin xyz="1 0 0"/>{ends}</joint>'
    model = read(two_links(extra=tool + joint))
    assert model.n_bodies == 1
    assert model.mass[0] == 4
    np.testing.assert_array_equal(model.com[0], [0.5, 0, 0])
    # two bodies of 2 kg with unit moments, half a metre from their common centre: 2 + 2 * 2 * 0.25 across x
    np.testing.assert_array_equal(model.inertia[0], np.diag([2, 3, 3]))
    frame = model.frames["tool"]
    assert frame.body == 0
    np.testing.assert_array_equal(frame.position, [1, 0, 0])


def test_children_come_in_the_order_of_joint_names(read) -> None:
    names = ["z", "B", "a", "a10", "a9"]
    links = "".join(f'<link name="l{n}">{INERTIAL}</link>' for n in names)
    joints = "".join(
        f'<joint name="{n}" type="continuous"><parent link="base"/><child link="l{n}"/></joint>' for n in names
    )
    model = read(urdf('<link name="base"/>' + links + joints))
    assert model.joint_names == ("B", "a", "a10", "a9", "z")


def test_floating_base(read) -> None:
    model = read(two_links(), floating_base=True)
    assert model.joint_names == ("root_joint", "j")
    assert model.body_names == ("base", "arm")
    assert model.joints["root_joint"].type == "free"


def test_a_joint_called_root_joint_is_no_trouble_unless_the_base_floats(read) -> None:
    text = two_links().replace('name="j"', 'name="root_joint"')
    assert read(text).joint_names == ("root_joint",)
    with pytest.raises(ParseError, match=r"robot.urdf:4: two joints are called 'root_joint'"):
        read(text, floating_base=True)


def test_root_link_called_world(read) -> None:
    model = read(two_links().replace("base", "world"))
    assert [(f.name, f.body) for f in model.frame_list] == [("world", -1)]
    assert read(two_links().replace("base", "world"), floating_base=True).body_names == ("world", "arm")


def test_gravity(read) -> None:
    np.testing.assert_array_equal(read(two_links()).gravity, [0, 0, -9.81])
    np.testing.assert_array_equal(read(two_links(), gravity=(0, 1, 2)).gravity, [0, 1, 2])


def test_default_namespace_and_unused_doctype_are_accepted(read) -> None:
    text = two_links().replace("<robot", '<!DOCTYPE robot>\n<robot xmlns="http://www.ros.org" version="1.0"')
    assert len(read(text).report) == 0


def test_one_link_floats(read) -> None:
    text = urdf(f'<link name="drone">{INERTIAL}</link>')
    assert read(text, floating_base=True).nv == 6
    with pytest.raises(ParseError, match=r"robot.urdf: every joint is fixed.*floating_base=True \(--floating-base\)"):
        read(text)


def test_a_deep_chain_is_no_trouble(read) -> None:
    """3000 joints in a row: nothing recurses."""
    n = 3000
    links = "".join(f'<link name="l{i}">{INERTIAL}</link>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i:04}" type="continuous"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(n - 1)
    )
    model = read(urdf(links + joints))
    assert model.parent.tolist() == list(range(-1, n - 2))


# --- what is not used -----------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["transmission", "gazebo", "sensor", "ros2_control", "no_such_thing"])
def test_unused_elements_of_the_robot(read, tag: str) -> None:
    (remark,) = read(two_links(extra=f"<{tag}/>")).report
    assert (remark.subject, remark.line) == (tag, 5)


@pytest.mark.parametrize("tag", ["safety_controller", "calibration", "no_such_thing"])
def test_unused_elements_of_a_joint(read, tag: str) -> None:
    (remark,) = read(two_links(LIMIT + f"<{tag}/>")).report
    assert (remark.subject, remark.line) == (tag, 4)
    assert "joint 'j'" in remark.message


@pytest.mark.parametrize("tag", ["sensor", "contact"])
def test_unused_elements_of_a_link(read, tag: str) -> None:
    (remark,) = read(two_links(arm=INERTIAL + f"<{tag}/>")).report
    assert (remark.subject, remark.line) == (tag, 3)
    assert "link 'arm'" in remark.message


@pytest.mark.parametrize("tag", ["axis", "limit", "dynamics"])
def test_parts_that_mean_nothing_on_a_fixed_joint(read, tag: str) -> None:
    model = read(two_links(f"<{tag}/>", "fixed"), floating_base=True)
    (remark,) = model.report
    assert (remark.subject, remark.line) == (tag, 4)


def test_unused_attributes_and_text(read) -> None:
    model = read(two_links(LIMIT.replace("<limit", '<limit current="3" gear="2"') + "hello"))
    assert [(r.subject, r.line) for r in model.report] == [("joint", 4), ("limit", 4)]
    assert "'current', 'gear'" in model.report.remarks[1].message


def test_comments_and_whitespace_are_not_remarked_upon(read) -> None:
    text = two_links(arm=f"\n<!-- an arm -->\n{INERTIAL}\n<!-- --> ", extra="<!-- end -->")
    assert len(read(text).report) == 0


def test_remarks_come_in_the_order_of_the_file(read) -> None:
    model = read(two_links(LIMIT + "<x/>", arm="<y/>", extra="<z/>"))
    assert [r.line for r in model.report] == [3, 3, 4, 5]


# --- visuals --------------------------------------------------------------------------------------


def visual(shape: str, more: str = "") -> str:
    return f'<visual name="v"><origin xyz="1 0 0"/><geometry>{shape}</geometry>{more}</visual>'


@pytest.mark.parametrize(
    ("shape", "kind", "size"),
    [
        ('<box size="1 2 3"/>', "box", (1, 2, 3)),
        ('<sphere radius="2"/>', "sphere", (2,)),
        ('<cylinder radius="2" length="3"/>', "cylinder", (2, 3)),
        ('<capsule radius="2" length="3"/>', "capsule", (2, 3)),
    ],
)
def test_shapes(read, shape: str, kind: str, size: tuple[float, ...]) -> None:
    model = read(two_links(arm=INERTIAL + visual(shape)))
    (v,) = model.visuals
    assert (v.body, v.kind, v.size, v.rgba, v.name) == (0, kind, size, None, "v")
    np.testing.assert_array_equal(v.position, [1, 0, 0])
    assert len(model.report) == 0


def test_materials_from_here_there_and_nowhere(read) -> None:
    box = '<box size="1 1 1"/>'
    arm = INERTIAL + "".join(
        visual(box, f"<material {m}</material>")
        for m in (
            'name="red">',
            'name="own"><color rgba="0 1 0 1"/>',
            '><color rgba="0 0 0 1"/>',
            'name="own">',
            'name="no">',
        )
    )
    model = read(two_links(arm=arm, extra='<material name="red"><color rgba="1 0 0 0.5"/></material>'))
    assert [v.rgba for v in model.visuals] == [(1, 0, 0, 0.5), (0, 1, 0, 1), (0, 0, 0, 1), (0, 1, 0, 1), None]
    (remark,) = model.report
    assert remark.subject == "material" and "'no'" in remark.message


def test_texture_is_remarked_upon(read) -> None:
    arm = INERTIAL + visual('<box size="1 1 1"/>', '<material name="m"><texture filename="x.png"/></material>')
    assert [r.subject for r in read(two_links(arm=arm)).report] == ["texture"]


@pytest.mark.parametrize("broken", ["<visual/>", "<visual><geometry/></visual>", visual("<torus/>")])
def test_visuals_that_show_nothing(read, broken: str) -> None:
    model = read(two_links(arm=INERTIAL + broken))
    assert model.visuals == ()
    assert len(model.report.about("visual")) == 1


def mesh(name: str) -> str:
    return two_links(arm=INERTIAL + visual(f'<mesh filename="{name}" scale="1 2 3"/>'))


@pytest.mark.parametrize(
    "name",
    [
        "../meshes/arm.stl",
        "../urdf/../meshes/arm.stl",
        "package://bot/meshes/arm.stl",
        "package:///bot/meshes/arm.stl",
        "model://bot/meshes/arm.stl",
        "file://{root}/bot/meshes/arm.stl",
        "{root}/bot/meshes/arm.stl",
    ],
)
def test_meshes_of_its_own_package(tmp_path: Path, name: str) -> None:
    put(tmp_path, "", "bot/package.xml")
    file = put(tmp_path, "", "bot/meshes/arm.stl")
    path = put(tmp_path, mesh(name.format(root=tmp_path)), "bot/urdf/robot.urdf")
    model = load(path)
    assert len(model.report) == 0
    assert (model.visuals[0].mesh, model.visuals[0].size) == (str(file.resolve()), (1, 2, 3))


def test_meshes_of_other_packages(tmp_path: Path) -> None:
    """A folder beside the robot's is a package if it holds a package.xml, or if package_dirs says so."""
    file = put(tmp_path, "", "src/hand/arm.stl")
    path = put(tmp_path, mesh("package://hand/arm.stl"), "src/bot/urdf/robot.urdf")
    assert [r.subject for r in load(path).report] == ["mesh missing"]
    for folder in ("src", "src/hand"):
        assert load(path, package_dirs=[tmp_path / folder]).visuals[0].mesh == str(file.resolve())
    put(tmp_path, "", "src/hand/package.xml")
    assert load(path).visuals[0].mesh == str(file.resolve())


def test_package_without_package_xml_is_found_above_the_robot(tmp_path: Path) -> None:
    file = put(tmp_path, "", "bot/meshes/arm.stl")
    path = put(tmp_path, mesh("package://bot/meshes/arm.stl"), "bot/urdf/robot.urdf")
    assert load(path).visuals[0].mesh == str(file.resolve())


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.stl",
        "file://{root}/secret.stl",
        "{root}/secret.stl",
        "package://bot/../secret.stl",
        "link.stl",
        "/etc/passwd",
        "file:///etc/passwd",
    ],
)
def test_meshes_outside_are_left_alone(tmp_path: Path, name: str) -> None:
    put(tmp_path, "", "secret.stl")
    path = put(tmp_path, mesh(name.format(root=tmp_path)), "bot/urdf/robot.urdf")
    (tmp_path / "bot/urdf/link.stl").symlink_to(tmp_path / "secret.stl")
    model = load(path)
    assert model.visuals == ()
    (remark,) = model.report
    assert remark.subject == "mesh outside" and remark.line == 3


def test_system_folders_are_no_packages(tmp_path: Path) -> None:
    """/etc is beside a parent of the file, but holds no package.xml; /tmp is a parent, but top-level."""
    secret = put(tmp_path, "", "secret.stl")
    top = f"package:/{secret.resolve()}"
    for name in ("package://etc/passwd", top, "package://../secret.stl", "package://./secret.stl"):
        model = load(put(tmp_path, mesh(name), "bot/robot.urdf"))
        assert model.visuals == () and [r.subject for r in model.report] == ["mesh missing"]


@pytest.mark.parametrize(
    ("name", "subject"),
    [("gone.stl", "mesh missing"), ("http://x.org/a.stl", "mesh unknown"), ("a" * 5000, "mesh unknown")],
)
def test_meshes_that_are_not_there(read, name: str, subject: str) -> None:
    model = read(mesh(name))
    assert model.visuals == () and [r.subject for r in model.report] == [subject]


# --- refused: every message has file and line -----------------------------------------------------

BAD_ROBOTS = {
    "not XML": ("<robot", None, "not well-formed XML"),
    "unclosed": ("<robot>\n<link>\n</robot>", 3, "not well-formed XML"),
    "no robot": ("<html/>", 1, "<html>: not a URDF, whose outermost element is <robot>"),
    "no link": (urdf(""), 1, "robot 'r': the robot has no link"),
    "no robot name": (urdf('<link name="a"/>', ""), 1, "attribute 'name' is missing"),
    "no link name": (urdf("<link/>"), 2, "<link>: attribute 'name' is missing"),
    "empty link name": (urdf('<link name=""/>'), 2, "attribute 'name' is empty"),
    "no joint name": (two_links().replace(' name="j"', ""), 4, "<joint>: attribute 'name' is missing"),
    "two links": (
        two_links(extra='<link name="arm"/>'),
        5,
        r"link 'arm': a second link of this name .* line 3",
    ),
    "two joints": (
        two_links(extra=f'<joint name="j" type="fixed">{ENDS}</joint>'),
        5,
        "joint 'j': a second joint",
    ),
    "no type": (two_links().replace(' type="revolute"', ""), 4, "joint 'j': attribute 'type' is missing"),
    "bad type": (
        two_links(kind="revolut"),
        4,
        "joint 'j': no joint type named 'revolut'; did you mean 'revolute'",
    ),
    "no parent": (two_links().replace('<parent link="base"/>', ""), 4, "joint 'j': <parent> is missing"),
    "no child": (two_links().replace('<child link="arm"/>', ""), 4, "joint 'j': <child> is missing"),
    "no parent link": (
        two_links().replace('<parent link="base"/>', "<parent/>"),
        4,
        "<parent> of joint 'j': attribute 'link'",
    ),
    "unknown link": (
        two_links().replace('child link="arm"', 'child link="amr"'),
        4,
        "joint 'j': no link named 'amr'; did you mean 'arm'",
    ),
    "two parents": (
        two_links(extra=f'<joint name="k" type="fixed">{ENDS}</joint>'),
        5,
        "joint 'k': link 'arm' already hangs on joint 'j'",
    ),
    "two roots": (two_links(extra='<link name="b2"/>'), 5, "2 links have no parent: 'base', 'b2'"),
    "itself": (
        two_links().replace('"base"/><child', '"arm"/><child'),
        3,
        "the bodies 'arm' -> 'arm' are each other's parents",
    ),
    "all in a cycle": (
        two_links(extra='<joint name="k" type="fixed"><parent link="arm"/><child link="base"/></joint>'),
        4,
        r"every link has a parent \(link 'arm' by joint 'j'\): they form a cycle",
    ),
    "a cycle aside": (
        two_links(
            extra='<link name="a"/><link name="b"/>'
            '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint>'
            '<joint name="l" type="fixed"><parent link="b"/><child link="a"/></joint>'
        ),
        5,
        "the bodies '[ab]' -> '[ab]' -> '[ab]' are each other's parents",
    ),
    "negative mass": (
        two_links(arm=INERTIAL.replace('"2"', '"-1e-9"')),
        3,
        "<mass> of link 'arm': the mass is -1e-09",
    ),
    "no mass": (
        two_links(arm=INERTIAL.replace('<mass value="2"/>', "")),
        3,
        "<inertial> of link 'arm': <mass> is missing",
    ),
    "no inertia": (
        two_links(arm='<inertial><mass value="2"/></inertial>'),
        3,
        "<inertial> of link 'arm': <inertia> is missing",
    ),
    "no ixy": (
        two_links(arm=INERTIAL.replace('ixy="0"', "")),
        3,
        "<inertia> of link 'arm': attribute 'ixy' is missing",
    ),
    "two inertials": (two_links(arm=INERTIAL * 2), 3, "<inertial> of link 'arm': a second <inertial>"),
    "two axes": (
        two_links('<axis xyz="1 0 0"/><axis xyz="0 1 0"/>' + LIMIT),
        4,
        "<axis> of joint 'j': a second <axis>",
    ),
    "zero axis": (
        two_links('<axis xyz="0 0 0"/>' + LIMIT),
        4,
        r"<axis> of joint 'j': axis \[0.0, 0.0, 0.0\] has no direction",
    ),
    "axis of two": (
        two_links('<axis xyz="0 1"/>' + LIMIT),
        4,
        "<axis> of joint 'j': xyz needs 3 numbers, not 2: '0 1'",
    ),
    "axis of none": (two_links("<axis/>" + LIMIT), 4, "<axis> of joint 'j': attribute 'xyz' is missing"),
    "origin": (two_links('<origin xyz="0 1 two"/>' + LIMIT), 4, "<origin> of joint 'j': xyz holds 'two'"),
    "no effort": (
        two_links('<limit velocity="1"/>'),
        4,
        "<limit> of joint 'j': attribute 'effort' is missing",
    ),
    "limits crossed": (
        two_links(LIMIT.replace('"-1"', '"3"')),
        4,
        "joint 'j': lower limit 3 is above the upper 2",
    ),
    "negative damping": (
        two_links(LIMIT + '<dynamics damping="-1"/>'),
        4,
        "joint 'j': damping must be finite",
    ),
    "box": (two_links(arm=visual('<box size="1 2"/>')), 3, "<box> of link 'arm': size needs 3 numbers"),
    "colour": (
        urdf('<link name="a"/>\n<material name="m"><color rgba="1 0 0"/></material>'),
        3,
        "<color> of material 'm': rgba needs 4 numbers",
    ),
    "xacro under another prefix": (
        two_links(extra="<x:include/>").replace("<robot", '<robot xmlns:x="http://www.ros.org/wiki/xacro"'),
        None,
        "this is xacro, not URDF; expand it",
    ),
    "a name that xacro would fill in": (
        two_links(extra='<link name="${side}_arm"/>'),
        None,
        "this is xacro, not URDF; expand it",
    ),
    "xacro": (
        two_links(extra="<xacro:include/>").replace("<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"'),
        5,
        "this is xacro, not URDF; expand it",
    ),
    "entity": ('<!DOCTYPE r [\n<!ENTITY a "b">]>\n' + urdf(""), 2, "the DOCTYPE declares entities"),
}


@pytest.mark.parametrize("case", BAD_ROBOTS)
def test_refused(read, tmp_path: Path, case: str) -> None:
    text, line, message = BAD_ROBOTS[case]
    with pytest.raises(ParseError, match=message) as e:
        read(text)
    assert e.value.file == str(tmp_path / "robot.urdf")
    assert str(e.value).startswith(e.value.file)
    if line is not None:
        assert e.value.line == line


@pytest.mark.parametrize("bad", ["nan", "inf", "-INF", "1e999", "1_0", "1,5", "0x10", "", " ", "1 2", "١", "--1", "1e"])
def test_numbers_that_are_none(read, bad: str) -> None:
    with pytest.raises(ParseError, match=r"robot.urdf:3: <mass> of link 'arm': "):
        read(two_links(arm=INERTIAL.replace('"2"', f'"{bad}"')))


@pytest.mark.parametrize(("good", "value"), [("2", 2), (" 2.5 ", 2.5), ("+.5e1", 5), ("2.", 2), ("1E-3", 1e-3)])
def test_numbers_that_are(read, good: str, value: float) -> None:
    assert read(two_links(arm=INERTIAL.replace('"2"', f'"{good}"'))).mass[0] == value


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match=r"gone.urdf: there is no such file"):
        load(tmp_path / "gone.urdf")
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(ParseError, match=r"folder.urdf: this is a folder"):
        load(tmp_path / "folder.urdf")
    for content in (b"", b" \n\t"):
        with pytest.raises(ParseError, match=r"robot.urdf: the file is empty"):
            load(put(tmp_path, content))
    for content in (b"\x00\x01\x02\xff", b"\x89PNG\r\n\x1a\n", b"\x7fELF", b"solid arm"):
        with pytest.raises(ParseError, match=r"robot.urdf:1: not well-formed XML"):
            load(put(tmp_path, content))
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(ParseError, match=r"pipe.urdf: this is not a regular file"):
        load(tmp_path / "pipe.urdf")
    with pytest.raises(ParseError, match=r"path must be the path of a file"):
        load(tmp_path / ("x" * 5000 + ".urdf"))
    with pytest.raises(ParseError, match=r"path must be the path of a file"):
        load(f"{tmp_path}/a\0b.urdf")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = put(tmp_path, two_links())
    path.chmod(0)
    with pytest.raises(ParseError, match=r"robot.urdf: cannot be read: Permission denied"):
        load(path)


def test_suffixes(tmp_path: Path) -> None:
    assert load(put(tmp_path, two_links(), "robot.xml")).n_bodies == 1
    assert load(put(tmp_path, two_links(), "robot.URDF")).n_bodies == 1
    with pytest.raises(
        ParseError, match=r"robot.sdf: the suffix '.sdf' is not known; supported are URDF .*, MJCF .* and BVH"
    ):
        load(put(tmp_path, two_links(), "robot.sdf"))
    with pytest.raises(ParseError, match=r"robot.xml: the outermost element is <sdf>; supported"):
        load(put(tmp_path, "<sdf/>", "robot.xml"))
    with pytest.raises(ParseError, match=r"robot.xml:1: not well-formed"):
        load(put(tmp_path, "sdf", "robot.xml"))


# --- hostile files --------------------------------------------------------------------------------


def test_entities_do_not_blow_up(read) -> None:
    """A billion laughs, in text and in an attribute."""
    laughs = '<!ENTITY a0 "haha">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
    for body in ("<robot>&a11;</robot>", '<robot name="&a11;"/>'):
        with pytest.raises(ParseError, match="entit"):
            read(f"<!DOCTYPE robot [{laughs}]>{body}")


def test_external_entities_are_not_read(read, tmp_path: Path) -> None:
    """If they were, what is wrong with the file they name would be said first."""
    secret = put(tmp_path, "<stolen", "secret.xml")
    for doctype in (
        f'<!DOCTYPE robot [<!ENTITY x SYSTEM "file://{secret}">]>',
        f'<!DOCTYPE robot [<!ENTITY % x SYSTEM "file://{secret}"> %x;]>',
    ):
        with pytest.raises(ParseError, match="the DOCTYPE declares entities"):
            read(doctype + f'<robot name="r">{"" if "%" in doctype else "&x;"}</robot>')


def test_deep_nesting_is_refused(read) -> None:
    with pytest.raises(ParseError, match="not well-formed XML: Excessive depth"):
        read(urdf("<a>" * 1000 + "</a>" * 1000))


def test_entities_hidden_by_an_encoding_are_found(read) -> None:
    text = '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r [<!ENTITY a "b">]>' + urdf("")
    with pytest.raises(ParseError, match="the DOCTYPE declares entities"):
        read(text.encode("utf-16"))


def test_errors_are_supples_and_value_errors(read) -> None:
    with pytest.raises(ParseError) as e:
        read("<robot")
    assert isinstance(e.value, ModelError) and isinstance(e.value, SuppleError) and isinstance(e.value, ValueError)
    assert re.match(r".*robot\.urdf:1: ", str(e.value))


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    """Loading a URDF must not wait for a compiler, nor need MuJoCo."""
    path = put(tmp_path, two_links())
    code = (
        "import sys, supple.files as f; f.load(sys.argv[1]); "
        "heavy = {'numba', 'mujoco', 'scipy', 'pinocchio'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr


# --- a real robot ---------------------------------------------------------------------------------


def test_panda() -> None:
    model = load(robot("panda.urdf"))
    assert model.nv == 9
    (relation,) = model.relation_list
    assert relation.joints == ("panda_finger_joint2", "panda_finger_joint1") and relation.factors == (1, -1)
    assert not model.report.about("free mimic")
    assert all(Path(v.mesh or "").is_file() for v in model.visuals)
    assert len(model.visuals) == 11
