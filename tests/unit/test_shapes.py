"""Shapes by which bodies touch: what is one, and how it comes from a file into a model, and from there elsewhere."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import supple
from supple import ModelBuilder, ModelError, ParseError, Shape
from supple.files.mesh_corners import corners_in

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5


def with_shape(*shape: object, on: object = 0, **how: object) -> supple.Model:
    b = ModelBuilder()
    b.add_body("a", joint="free", mass=1.0, inertia=(1, 1, 1))
    b.add_shape(on, *shape, **how)  # type: ignore[arg-type]
    return b.build()


def test_a_shape_is_part_of_the_model() -> None:
    model = with_shape("box", (1, 2, 3), (0, 0, 1), name="sole", friction=0.5, restitution=0.1, margin=0.01)
    shape = model.shapes["sole"]
    assert (shape.kind, shape.size, shape.body, shape.friction) == ("box", (1.0, 2.0, 3.0), 0, 0.5)
    assert shape.radius == pytest.approx(np.sqrt(14) / 2 + 0.01)
    assert pickle.loads(pickle.dumps(model)).shape_list == model.shape_list
    assert "sole" in repr(shape)


@pytest.mark.parametrize(
    ("shape", "how", "words"),
    [
        (("sphere", (-1.0,)), {}, "positive"),
        (("sphere", (0.0,)), {}, "positive"),
        (("sphere", (np.nan,)), {}, "positive"),
        (("sphere", (np.inf,)), {}, "positive"),
        (("sphere", (1e-320,)), {}, "positive"),
        (("sphere", (1.0,)), dict(friction=10**400), "friction"),
        (("sphere", (1.0,)), dict(group=np.inf), "group"),
        (("hull",), dict(points=CORNERS * 1e-12), "no volume"),
        (("sphere", (1.0, 2.0)), {}, "1 numbers"),
        (("box", (1.0, 1.0, -1.0)), {}, "positive"),
        (("capsule", ("a", 1)), {}, "numbers"),
        (("ball", (1.0,)), {}, "kind of shape"),
        (("plane",), {}, "world"),
        (("sphere", (1.0,)), dict(friction=-0.1), "friction"),
        (("sphere", (1.0,)), dict(restitution=1.5), "restitution"),
        (("sphere", (1.0,)), dict(margin=np.nan), "margin"),
        (("sphere", (1.0,)), dict(group=-1), "group"),
        (("sphere", (1.0,)), dict(points=CORNERS), "no points"),
        (("sphere", (1.0,)), dict(apart=("none",)), "no such shape"),
        (("sphere", (1.0,)), dict(name="ball", apart=("ball",)), "'ball' is apart from itself"),
        (("hull",), dict(points=CORNERS * (1, 1, 0)), "no volume"),
        (("hull",), dict(points=CORNERS[:3]), "four points"),
        (("hull",), dict(points=np.where(CORNERS > 0, np.nan, CORNERS)), "finite"),
        (("heights", (1.0, 1.0)), dict(points=np.zeros((1, 5)), on=None), "two rows"),
    ],
)
def test_what_is_no_shape_is_refused(shape: tuple[object, ...], how: dict[str, object], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        with_shape(*shape, **how)


def test_names_of_shapes_differ_and_bodies_exist() -> None:
    model = with_shape("sphere", (1.0,), name="s")
    with pytest.raises(ModelError, match="shape"):
        replace(model, shape_list=model.shape_list * 2)
    with pytest.raises(ModelError, match="body 7"):
        replace(model, shape_list=(replace(model.shape_list[0], body=7),))
    with pytest.raises(ModelError, match="no Shape"):
        replace(model, shape_list=("sphere",))


def test_a_hull_keeps_its_corners_only() -> None:
    rng = np.random.default_rng(0)
    inside = rng.uniform(-0.4, 0.4, (50, 3))
    points = with_shape("hull", points=np.concatenate([inside, CORNERS])).shape_list[0].points
    assert points is not None and sorted(map(tuple, points)) == sorted(map(tuple, CORNERS))


def test_shapes_of_merged_bodies_move_with_the_body_that_carries_them() -> None:
    b = ModelBuilder()
    a = b.add_body("a", joint="free", mass=1.0, inertia=(1, 1, 1))
    hand = b.add_body("hand", a, "fixed", position=(1, 0, 0), rotation=(0, 0, 1, 0))
    b.add_shape(hand, "sphere", (0.1,), (0.5, 0, 0))
    (shape,) = b.build().shape_list
    assert shape.body == 0
    np.testing.assert_allclose(shape.position, (0.5, 0, 0), atol=1e-15)


def test_shapes_stay_where_they_are_when_the_root_changes() -> None:
    b = ModelBuilder()
    up = b.add_body("a", joint="free", mass=1.0, inertia=(1, 1, 1))
    down = b.add_body("b", up, "revolute", axis=(0, 1, 0), position=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
    b.add_shape(down, "sphere", (0.1,), (0.5, 0, 0), name="tip")
    model = b.build()
    q = model.neutral()
    q[7] = 0.3
    new = supple.reroot(model, q, body="b", joint="free")

    def tip(m: supple.Model, q: np.ndarray) -> np.ndarray:
        s, at = m.shapes["tip"], supple.poses(m, q)
        return at.position[s.body] + at.rotation[s.body] @ s.position  # type: ignore[no-any-return]

    np.testing.assert_allclose(tip(new.model, new.q), tip(model, q), atol=1e-12)


def test_shapes_are_recorded(tmp_path: Path) -> None:
    b = ModelBuilder()
    b.add_body("a", joint="free", mass=1.0, inertia=(1, 1, 1))
    b.add_shape(0, "hull", points=CORNERS, friction=0.3, name="h")
    b.add_shape(0, "sphere", (0.1,), apart=("h",))
    b.add_shape(None, "heights", (2.0, 3.0), points=np.arange(12.0).reshape(3, 4))
    model = b.build()
    supple.simulate(model, duration=0.0, record=tmp_path / "run.h5")
    assert supple.load_run(tmp_path / "run.h5").model.shape_list == model.shape_list


# --- files ----------------------------------------------------------------------------------------------------------

URDF = """<robot name="r">
<link name="base">
{}
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link></robot>"""


def urdf(folder: Path, *collisions: str) -> supple.Model:
    path = folder / "robot.urdf"
    path.write_text(URDF.format("\n".join(f"<collision>{c}</collision>" for c in collisions)))
    return supple.load(path, floating_base=True)


def geometry(shape: str) -> str:
    return f"<geometry>{shape}</geometry>"


def binary_stl(path: Path, points: np.ndarray) -> None:
    """Triangles that have these corners, whatever they look like."""
    rows = [struct.pack("<12fH", 0, 0, 0, *points[i].ravel(), 0) for i in range(len(points))]
    path.write_bytes(bytes(80) + struct.pack("<I", len(rows)) + b"".join(rows))


def test_urdf_collisions_are_shapes(tmp_path: Path) -> None:
    triangles = CORNERS[[[0, 1, 2], [3, 4, 5], [5, 6, 7]]]
    binary_stl(tmp_path / "cube.stl", triangles)
    text = "solid x\n" + "".join(f" vertex {x} {y} {z}\n" for x, y, z in CORNERS) + "endsolid"
    (tmp_path / "text.stl").write_text(text)
    (tmp_path / "cube.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS))
    model = urdf(
        tmp_path,
        geometry('<box size="1 2 3"/>') + '<origin xyz="0 0 1"/>',
        geometry('<sphere radius="0.5"/>'),
        geometry('<cylinder radius="0.5" length="2"/>'),
        *(geometry(f'<mesh filename="{name}" scale="2 1 1"/>') for name in ("cube.stl", "text.stl", "cube.obj")),
    )
    assert [s.kind for s in model.shape_list] == ["box", "sphere", "cylinder", "hull", "hull", "hull"]
    assert [s.name for s in model.shape_list][:2] == ["base", "base_2"]
    assert model.shape_list[0].position.tolist() == [0, 0, 1]
    for hull in model.shape_list[3:]:
        assert hull.points is not None and np.ptp(hull.points, axis=0).tolist() == [2, 1, 1]
    assert not model.report


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ('<box size="1 -2 3"/>', "positive"),
        ('<sphere radius="0"/>', "positive"),
        ('<cylinder radius="1" length="nan"/>', "length"),
        ('<mesh filename="flat.stl"/>', "no volume"),
        ('<mesh filename="none.stl"/>', "the STL file has no corners"),
        ('<mesh filename="short.stl"/>', "a binary STL of 3 triangles it is cut off after 2"),
        ('<mesh filename="signalling.stl"/>', "finite"),
    ],
)
def test_bad_shapes_of_a_urdf_are_errors_with_the_line(tmp_path: Path, shape: str, words: str) -> None:
    binary_stl(tmp_path / "flat.stl", (CORNERS * (1, 1, 0))[[[0, 1, 2], [3, 4, 5], [5, 6, 7]]])
    (tmp_path / "none.stl").write_text("solid\nendsolid\n")
    data = (tmp_path / "flat.stl").read_bytes()
    (tmp_path / "short.stl").write_bytes(data[:-1])
    (tmp_path / "signalling.stl").write_bytes(data[:96] + bytes.fromhex("0000a07f") + data[100:])
    with pytest.raises(ParseError, match=words) as e:
        urdf(tmp_path, geometry(shape))
    assert e.value.line == 3 and "robot.urdf" in str(e.value)


FACES = "".join(f"f {a} {b} {c}\n" for a, b, c in ((1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6)))
CUBE = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + CUBE + FACES,
        "\ufeff" + CUBE,
        CUBE.replace("v 1", "\t v 1") + FACES.replace("f", "  f"),
        CUBE + "v 9 9 9\n" + FACES,
        CUBE + FACES + "v 9 9 9\nl 1 9\np 9\n",
        CUBE + FACES.replace(" 1 ", " 1/2/3 ").replace(" 4 ", " 4//1 "),
        "v 9 9 9\n" + CUBE + "f -8 -7 -6 -5\nf -4 -3 -2 -1\nv -9 -9 -9\n",
        CUBE + "v 9 9 9\nf 1 2 \\\n 3 4\nf 5 6 \\\n 7 8\n",
        (CUBE + FACES).replace("\n", "\r"),
        (CUBE + FACES).replace("\n", "\r\n"),
        CUBE.replace("\n", " 1.0 0.5 0.5\n"),  # colours
        "# C:\\meshes\\\n" + CUBE + "v 9 9 9\n" + FACES.replace("\n", " # a face\n"),
    ],
)
def test_corners_of_an_obj_are_those_of_its_faces(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.obj").write_bytes(text.encode())
    found = np.unique(corners_in(tmp_path / "a.obj"), axis=0)
    np.testing.assert_array_equal(found, np.unique(CORNERS, axis=0))


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        lambda x: x.replace("\n", "\r"),
        lambda x: x.replace("\n", "\r\n"),
        lambda x: x.replace("solid x", "solid C:\\").replace("endsolid", "endsolid C:\\"),
    ],
)
def test_an_stl_in_text_may_be_in_capitals_with_any_names_and_line_ends(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    text = "solid x\n" + "".join(f" vertex {x} {y} {z}\n" for x, y, z in CORNERS) + "endsolid\n"
    (tmp_path / "a.stl").write_bytes(change(text).encode())
    np.testing.assert_array_equal(corners_in(tmp_path / "a.stl"), CORNERS)


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("a.obj", "v 0 0 0\nv 1_0 0 0\n", 2, "three numbers: '1_0 0 0'"),
        ("a.obj", "v 0 0 0\nv 1 0\nv 0 1 0\n", 2, "three numbers: '1 0'"),
        ("a.obj", "v 0 0 nan\n", 1, "three numbers"),
        ("a.obj", CUBE + "f 1 2 9\n", None, "vertex 9, and there are 8"),
        ("a.obj", CUBE + "f 0 1 2\n", None, "vertex 0, and there are 8"),
        ("a.obj", CUBE + "f 1 2 -9\n", None, "vertex 0, and there are 8"),
        ("a.obj", CUBE + "f 1 2 1_0\n", 9, "'1_0'"),
        ("a.stl", "solid\nvertex 0 0 1_0\n", 2, "three numbers"),
        ("a.stl", "solid\nvertex 0 0 1\nvertex 0 0 2\n", 3, "cut off"),
        ("a.stl", "solid\nfacet\nvertex 0 0 1\nendfacet\n\n", 4, "cut off"),
    ],
)
def test_a_mesh_with_something_else_than_numbers_is_refused(
    tmp_path: Path, name: str, text: str, line: int | None, words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ParseError, match=words) as e:
        corners_in(tmp_path / name)
    assert e.value.line == line


def test_a_corner_of_a_binary_stl_that_is_not_finite_is_named(tmp_path: Path) -> None:
    facets = np.zeros((2, 50), dtype=np.uint8)
    facets[:, 12:48] = np.arange(18, dtype="<f4").view(np.uint8).reshape(2, 36)
    facets[1, 24:28] = np.array([np.nan], dtype="<f4").view(np.uint8)
    (tmp_path / "a.stl").write_bytes(bytes(80) + (2).to_bytes(4, "little") + facets.tobytes())
    with pytest.raises(ParseError, match="corner 5 of 6 is not finite"):
        corners_in(tmp_path / "a.stl")


def test_collision_meshes_that_are_not_read_are_reported(tmp_path: Path) -> None:
    (tmp_path / "x.ply").write_text("")
    model = urdf(tmp_path, geometry('<mesh filename="x.ply"/>'), geometry('<mesh filename="no.stl"/>'))
    assert not model.shape_list and [r.subject for r in model.report] == ["collision"] * 2


def test_a_kind_of_collision_geometry_that_is_not_supported_is_named(tmp_path: Path) -> None:
    model = urdf(tmp_path, geometry('<ellipsoid radii="1 2 3"/>'))
    assert not model.shape_list and "<ellipsoid> is not supported" in next(iter(model.report)).message


BALL = geometry('<sphere radius="0.5"/>')


def with_friction(folder: Path, link: str = "", robot: str = "") -> supple.Model:
    """A ball, whose friction is in its link, in line 3, or beside it, in line 6."""
    path = folder / "robot.urdf"
    text = URDF.format(f"<collision>{BALL}</collision>{link}")
    path.write_text(text.replace("</robot>", f"\n{robot}</robot>"))
    return supple.load(path, floating_base=True)


CONTACT, GAZEBO = (
    '<contact><lateral_friction value="3"/>{}</contact>',
    '<gazebo reference="base"><mu1>4</mu1>{}</gazebo>',
)


@pytest.mark.parametrize(
    ("link", "robot", "friction", "said"),
    [
        ("", "", None, []),
        (CONTACT.format(""), "", 3.0, []),
        (CONTACT.format('<stiffness value="1"/>'), "", 3.0, ["<stiffness> not used"]),
        ("", GAZEBO.format(""), 4.0, []),
        ("", '<gazebo reference="base"><mu1 value="4"/></gazebo>', 4.0, []),
        ("", GAZEBO.format("<mu2>4</mu2>"), 4.0, []),
        ("", GAZEBO.format("<mu2>2</mu2>"), 2.0, ["the smaller"]),
        ("", GAZEBO.format("<kp>1</kp><kd>1</kd>"), 4.0, ["<kd>, <kp> not used"]),
        ("", GAZEBO.format("").replace("base", "no"), None, ["no such link"]),
        ("", "<gazebo><mu1>4</mu1></gazebo>", None, ["without a reference"]),
        ("", '<gazebo reference="base"><mu1><!-- rough -->4<!-- new --></mu1></gazebo>', 4.0, []),
        ("", GAZEBO.format("").replace(">4<", ">1e300<"), 1e300, []),
        (
            "",
            '<gazebo reference="base" unit="1">rough<mu1 unit="1">4<x/></mu1></gazebo>',
            4.0,
            ["attribute 'unit'", "text", "attribute 'unit'", "<x> of <gazebo>"],
        ),
        ("", GAZEBO.format("") + GAZEBO.format("").replace("mu1", "mu2"), 4.0, []),
        (
            "",
            GAZEBO.format("") + GAZEBO.format("").replace("mu1>4", "mu2>5").replace("mu1", "mu2"),
            4.0,
            ["the smaller"],
        ),
        ("", GAZEBO.format("") + GAZEBO.format("").replace("4", "5"), 5.0, ["given before: 4"]),
        (CONTACT.format(""), GAZEBO.format(""), 4.0, ["given before: 3"]),
        (CONTACT.format("").replace("3", "4"), GAZEBO.format(""), 4.0, []),
    ],
)
def test_friction_of_urdf_links(tmp_path: Path, link: str, robot: str, friction: float | None, said: list[str]) -> None:
    model = with_friction(tmp_path, link, robot)
    assert model.shape_list[0].friction == friction
    remarks = [remark.message for remark in model.report]
    assert len(remarks) == len(said) and all(word in remark for word, remark in zip(said, remarks))


@pytest.mark.parametrize("mu", ["-0.1", "nan", "much", "", "1 2"])
def test_friction_that_is_none_is_an_error_in_its_line(tmp_path: Path, mu: str) -> None:
    with pytest.raises(ParseError) as e:
        with_friction(tmp_path, robot=f'<gazebo reference="base"><mu1>{mu}</mu1></gazebo>')
    assert e.value.line == 6 and "'base'" in str(e.value)
    with pytest.raises(ParseError) as e:
        with_friction(tmp_path, f'<contact><lateral_friction value="{mu}"/></contact>')
    assert e.value.line == 3 and "'base'" in str(e.value)


def test_a_hull_that_is_too_large_is_told_how_large_it_may_be(tmp_path: Path) -> None:
    binary_stl(tmp_path / "a.stl", CORNERS[[[0, 1, 2], [3, 4, 5], [5, 6, 7]]])
    with pytest.raises(ParseError, match=r"within 1e\+09 m") as e:
        urdf(tmp_path, geometry('<mesh filename="a.stl" scale="1e12 1e12 1e12"/>'))
    assert e.value.line == 3


def test_mjcf_geoms_are_shapes(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text("""<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <hfield name="h" nrow="2" ncol="3" size="2 1 .5 .1" elevation="0 1 0 1 0 1"/></asset>
    <worldbody><geom name="floor" type="plane" size="1 1 1" friction="0.4"/>
    <geom name="hills" type="hfield" hfield="h"/>
    <body name="a"><freejoint/><geom name="box" type="box" size=".1 .2 .3" contype="2" conaffinity="4" margin=".01"/>
      <body name="b" pos="0 0 1"><joint/><geom name="c" type="capsule" size=".1 .2" condim="1" group="3"/>
        <geom name="hull" type="mesh" mesh="m"/><geom name="off" size="1" contype="0" conaffinity="0"/>
      </body></body>
    <body name="z"><freejoint/><geom name="s" size=".1"/></body></worldbody>
    <contact><exclude body1="a" body2="z"/></contact></mujoco>""")
    model = supple.load(path)
    shapes = {s.name: s for s in model.shape_list}
    kinds = {name: s.kind for name, s in shapes.items()}
    assert kinds == {"floor": "plane", "hills": "heights", "box": "box", "c": "capsule", "hull": "hull", "s": "sphere"}
    assert shapes["box"].size == (0.2, 0.4, 0.6) and (shapes["box"].group, shapes["box"].mask) == (2, 4)
    assert shapes["box"].margin == 0.01 and shapes["floor"].friction == 0.4 and shapes["c"].friction == 1.0
    assert shapes["hills"].points.tolist()[1] == [0.0, 0.5, 0.0] and shapes["hills"].size == (4.0, 2.0)
    assert shapes["c"].size == (0.1, 0.4) and {*shapes["box"].apart, *shapes["s"].apart} >= {"s"} - {"box"}
    assert isinstance(shapes["hull"], Shape)


def mjcf(folder: Path, worldbody: str, more: str = "") -> supple.Model:
    pytest.importorskip("mujoco")
    (folder / "robot.xml").write_text(f"<mujoco><worldbody>{worldbody}</worldbody>{more}</mujoco>")
    return supple.load(folder / "robot.xml")


FALLING = '<body name="{0}" pos="0 0 {1}"><freejoint/><geom name="{0}" size=".1" {2}/></body>'
SMOOTH = 'condim="1"'


@pytest.mark.parametrize(
    ("geoms", "frictions", "rubbing"),
    [
        (dict(a=(1, 0.8), b=(1, 0.5)), dict(a=0.0, b=0.0), ""),
        (dict(a=(1, 0.8), b=(3, 0.9)), dict(a=0.0, b=0.9), ""),  # the larger one is b's in any case
        (dict(a=(1, 0.8), b=(3, 0.1)), dict(a=0.8, b=0.1), ""),  # as MuJoCo has it, with nothing else of condim 1
        (dict(a=(1, 0.8), b=(3, 0.5), c=(1, 0.4)), dict(a=0.8, b=0.5, c=0.0), "'a'"),
        (dict(a=(1, 0.8), b=(3, 0.1), c=(1, 0.4)), dict(a=0.8, b=0.1, c=0.4), "'a', 'c'"),
    ],
)
def test_geoms_of_condim_1_have_the_friction_of_mujoco_against_others(
    tmp_path: Path, geoms: dict[str, tuple[int, float]], frictions: dict[str, float], rubbing: str
) -> None:
    bodies = (FALLING.format(n, i, f'condim="{c}" friction="{mu}"') for i, (n, (c, mu)) in enumerate(geoms.items()))
    model = mjcf(tmp_path, "".join(bodies))
    assert {s.name: s.friction for s in model.shape_list} == frictions
    said = [r.message for r in model.report.about("contact")]
    assert [f"geom {rubbing}: condim 1" in text for text in said] == [True] * bool(rubbing)


def test_geoms_that_never_meet_do_not_count_for_friction(tmp_path: Path) -> None:
    """Feet of condim 1 touch a rough floor, and each other never."""
    floor = '<geom name="floor" type="plane" size="1 1 1" friction=".1"/>'
    feet = [FALLING.format(name, at, f'{SMOOTH} contype="2" conaffinity="1"') for name, at in (("a", 1), ("b", 2))]
    model = mjcf(tmp_path, floor + "".join(feet))
    assert [s.friction for s in model.shape_list] == [0.1, 1.0, 1.0] and not model.report.about("contact")


def test_a_plane_on_a_mocap_body_is_ground(tmp_path: Path) -> None:
    ground = '<body name="m" mocap="true" pos="0 0 .5"><geom name="p" type="plane" size="1 1 1"/>{}</body>'
    arm = '<body name="arm"><joint/><geom name="arm" size=".2"/></body>'
    model = mjcf(tmp_path, ground.format(arm) + FALLING.format("ball", 2, ""))
    assert model.shapes["p"].body == -1 and not model.report.about("collision")
    assert model.shapes["p"].apart == ("arm",)  # what a joint connects to a mocap body is its neighbour
    q = model.neutral()
    q[model.joints["ball_joint"].q][:3] = 1.0, 0.0, 0.59
    rows = supple.simulate(model, q, duration=2e-3, dt=1e-3, contacts=True).contacts(-1)
    assert {(c.shape, c.other) for c in rows} == {("ball", "p")}


PAIR = '<contact><pair name="p" geom1="a" geom2="b"/>{}</contact>'


@pytest.mark.parametrize(
    ("inner", "more", "words"),
    [
        ('<body name="x" pos=".3 0 0"><joint axis="0 1 0"/><geom name="b" size=".1"/></body>', "", "neighbours=True"),
        ('<body name="x" pos=".3 0 0"><geom name="b" size=".1"/></body>', "", "one rigid body"),
        ("", "", "its own parameters do not act: its geoms' do"),
        ("", '<exclude body1="b" body2="a"/>', "<exclude> keeps"),
    ],
)
def test_a_pair_of_an_mjcf_says_why_it_does_not_act(tmp_path: Path, inner: str, more: str, words: str) -> None:
    first = f'<body name="a"><freejoint/><geom name="a" size=".1"/>{inner}</body>'
    model = mjcf(tmp_path, first if inner else first + FALLING.format("b", 1, ""), PAIR.format(more))
    (remark,) = model.report.about("contact")
    assert remark.message.startswith("pair 'p': ") and words in remark.message


@pytest.mark.parametrize("geom", ['size="1e300"', 'type="box" size="1e300 1 1"', 'type="capsule" size="1 1e300"'])
def test_a_geom_beyond_measure_is_refused_without_a_warning(tmp_path: Path, geom: str) -> None:
    with pytest.raises(ParseError, match=r"robot\.xml"):
        mjcf(tmp_path, f'<body name="a"><freejoint/><geom name="a" mass="1" {geom}/></body>')


@pytest.mark.parametrize("included", [False, True])
def test_entities_of_an_mjcf_are_refused_with_their_line(tmp_path: Path, included: bool) -> None:
    pytest.importorskip("mujoco")
    declared = '<!DOCTYPE mujoco [\n<!ENTITY a "torso">\n]>\n'
    text = declared + '<mujoco><worldbody><body name="&a;"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    (tmp_path / "a.xml").write_text(text)
    (tmp_path / "b.xml").write_text('<mujoco><include file="a.xml"/></mujoco>')
    with pytest.raises(ParseError, match=r"a\.xml:2: the DOCTYPE declares entities"):
        supple.load(tmp_path / ("b.xml" if included else "a.xml"))


def test_the_last_bit_of_contype_counts(tmp_path: Path) -> None:
    last = -(2**31)
    model = mjcf(
        tmp_path,
        f'<geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="{last}"/>'
        + FALLING.format("a", 0.09, f'contype="{last}" conaffinity="0"')
        + FALLING.format("b", 3, 'contype="-1" conaffinity="-1"'),
    )
    assert (model.shapes["a"].group, model.shapes["a"].mask, model.shapes["floor"].mask) == (2**31, 0, 2**31)
    q = model.neutral()
    q[[2, 9]] = 0.09, 3.0
    rows = supple.simulate(model, q, duration=1e-3, dt=1e-3, contacts=True).contacts(-1)
    assert [(c.shape, c.other) for c in rows] == [("a", "floor")]


@pytest.mark.parametrize(
    ("geom", "words"),
    [
        ('type="sphere" size="1" friction="-1"', "friction needs a finite number >= 0"),
        ('type="sphere" size="1" friction="nan"', "friction"),
        ('type="sphere" size="1" margin="inf"', "margin"),
        ('type="box" size="inf 1 1"', "size"),
        ('type="box" size="1e-12 1 1"', "positive, from 1e-09"),
        ('type="box" size="1e10 1 1"', "to 1e\\+09 m"),
        ('type="sphere" size="1" pos="0 inf 0"', "pos"),
        ('type="hfield" hfield="h"', "elevation"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_bad_shapes_of_an_mjcf_are_errors_with_the_line(tmp_path: Path, geom: str, words: str, named: bool) -> None:
    pytest.importorskip("mujoco")
    height = "nan" if "hfield" in geom else "1"
    name = 'name="bad"' if named else ""
    path = tmp_path / "robot.xml"
    path.write_text(f"""<mujoco><asset>
    <hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 {height} 0 1"/></asset>
    <worldbody><body><freejoint/><geom size=".1"/>
    <body><joint/><geom size=".1"/></body></body>
    <geom {name} {geom}/></worldbody></mujoco>""")
    with pytest.raises(ParseError, match=words) as e:
        supple.load(path)
    assert e.value.line == (2 if "hfield" in geom else 5) and str(e.value).count("robot.xml") == 1


@pytest.mark.parametrize(
    ("more", "looked_for"),
    [
        ('<asset>\n<mesh name="m" file="nope.stl"/></asset>', "nope.stl"),
        ('<asset>\n<mesh file="a.stl"/><mesh file="parts/nope.stl"/></asset>', "parts/nope.stl"),
        ('<compiler meshdir="parts"/><asset>\n<mesh file="nope.obj"/></asset>', "parts/nope.obj"),
        ('<compiler strippath="true"/><asset>\n<mesh file="old/nope.stl"/></asset>', "nope.stl"),
        ('<asset>\n<hfield name="h" file="nope.png" size="1 1 1 1"/></asset>', "nope.png"),
        ('<include file="more.xml"/>', "nope.stl"),
    ],
)
def test_files_that_an_mjcf_names_and_that_are_missing_have_a_line(tmp_path: Path, more: str, looked_for: str) -> None:
    pytest.importorskip("mujoco")
    binary_stl(tmp_path / "a.stl", CORNERS[[[0, 1, 2], [3, 4, 5], [5, 6, 7]]])
    (tmp_path / "more.xml").write_text('<mujoco>\n\n<asset>\n<mesh name="m" file="nope.stl"/></asset></mujoco>')
    path = tmp_path / "robot.xml"
    path.write_text(f'<mujoco>\n{more}<worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>')
    with pytest.raises(ParseError, match=rf"<\w+>: there is no file '(.*/)?{looked_for}'") as e:
        supple.load(path)
    assert e.value.line == (4 if "include" in more else 3)
    assert Path(str(e.value.file)).name == ("more.xml" if "include" in more else "robot.xml")


def test_an_mjcf_may_exclude_a_body_from_itself(tmp_path: Path) -> None:
    """MuJoCo lets it, and nothing of one body touches anyway."""
    pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text("""<mujoco><worldbody><body name="a"><freejoint/><geom name="g" size=".1"/>
    <geom name="h" size=".1"/></body></worldbody><contact><exclude body1="a" body2="a"/></contact></mujoco>""")
    assert [s.apart for s in supple.load(path).shape_list] == [("h",), ("g",)]


def test_a_shape_that_is_apart_from_a_misspelt_one_is_told_so() -> None:
    b = ModelBuilder()
    b.add_body("a", joint="free", mass=1.0, inertia=(1, 1, 1))
    b.add_shape(0, "sphere", (0.1,), name="finger")
    b.add_shape(0, "sphere", (0.1,), name="hand", apart=("fingre",))
    with pytest.raises(ModelError, match="did you mean 'finger'"):
        b.build()


@pytest.mark.parametrize(("margin", "gap"), [(0.02, 0.0), (0.02, 0.005), (0.0, 0.01)])
def test_shapes_of_an_mjcf_rest_where_those_of_mujoco_do(tmp_path: Path, margin: float, gap: float) -> None:
    """MuJoCo's contacts are soft: a ball of this weight sinks in by less than a millimetre. A gap exerts no force."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text(f"""<mujoco><worldbody><geom type="plane" size="1 1 1" margin="0.01"/>
    <body pos="0 0 .2"><freejoint/><geom size=".1" margin="{margin}" gap="{gap}"/></body></worldbody></mujoco>""")
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    for _ in range(1000):
        mujoco.mj_step(m, data)
    model = supple.load(path)
    q = model.neutral()
    q[2] = 0.2
    run = supple.simulate(model, q, duration=1.0, dt=2e-3, contacts=True)
    assert run.q[-1, 2] == pytest.approx(0.1 + 0.01 + margin, abs=1e-6)
    assert data.qpos[2] == pytest.approx(run.q[-1, 2], abs=1e-3)


def test_pairs_of_an_mjcf_whose_geoms_do_not_touch_are_reported(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text("""<mujoco><worldbody>
    <geom name="floor" type="plane" size="1 1 1" contype="0" conaffinity="0"/>
    <geom name="step" type="box" size="1 1 1"/>
    <body><freejoint/><geom name="g" size=".1" contype="2" conaffinity="1"/></body></worldbody>
    <contact><pair name="p" geom1="floor" geom2="g"/><pair name="q" geom1="step" geom2="g"/></contact></mujoco>""")
    said = [remark.message for remark in supple.load(path).report if remark.subject == "contact"]
    assert any("'p'" in x and "keep its geoms apart" in x and "'q'" not in x for x in said)
    assert any("'q'" in x and "own parameters" in x and "'p'" not in x for x in said)


def test_a_negative_margin_of_an_mjcf_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = tmp_path / "robot.xml"
    path.write_text('<mujoco><worldbody><body><freejoint/><geom size=".1" margin="-1"/></body></worldbody></mujoco>')
    model = supple.load(path)
    assert model.shape_list[0].margin == 0.0 and "margin" in str(model.report)


def test_what_equals_a_sound_number_without_being_one_is_refused() -> None:
    """Shapes are looked at field by field, and equal values once."""
    place = {"position": np.zeros(3), "rotation": np.eye(3)}
    model = ModelBuilder("two")
    model.add_body("body", joint="free", mass=1.0, inertia=[1.0] * 3)
    sound = [Shape(f"s{i}", 0, "sphere", (1.0,), friction=1.0, **place) for i in range(3)]
    with pytest.raises(ModelError, match="shape 'other': friction must be"):
        replace(model.build(), shape_list=(*sound, Shape("other", 0, "sphere", (1.0,), friction=True, **place)))
    with pytest.raises(ModelError, match="shape 'other': a sphere has 1 number"):
        replace(model.build(), shape_list=(*sound, Shape("other", 0, "sphere", (1.0, 2.0), **place)))
