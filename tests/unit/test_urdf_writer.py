"""The URDF writer: what is written comes back, and what URDF cannot hold is said."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from robots import FOLDER, RIGID, ROBOTS, each_robot, robot
from supple.errors import ModelError
from supple.files import load, save_urdf, to_urdf
from supple.model.builder import ModelBuilder
from supple.model.geometry import rotation_from_quaternion, rotation_from_rpy, rpy_from_rotation
from supple.model.joints import JointName, JointType
from supple.model.model import Model

#: A rotation goes through three angles: a few units in the last place of numbers up to pi, each way.
ANGLES = 4e-15


def assert_same(a: Model, b: Model) -> None:
    """The same bodies, matched by name, with every number equal, rotations up to rounding."""
    assert a.name == b.name
    assert sorted(a.body_names) == sorted(b.body_names)
    for name in a.body_names:
        i, j = a.bodies[name].index, b.bodies[name].index
        assert a.joint_names[i] == b.joint_names[j]
        p, r = int(a.parent[i]), int(b.parent[j])
        assert (p < 0 and r < 0) or a.body_names[p] == b.body_names[r]
        x, y = a.joints[i], b.joints[j]
        unlimited = x.type == "revolute" and np.isinf([*x.lower, *x.upper]).all()
        assert ("continuous" if unlimited else x.type) == y.type
        np.testing.assert_array_equal(a.position[i], b.position[j])
        np.testing.assert_allclose(a.rotation[i], b.rotation[j], rtol=0, atol=ANGLES)
        if x.type != "free":
            np.testing.assert_array_equal(a.axis[i], b.axis[j])
        for what in ("mass", "com", "inertia"):
            np.testing.assert_array_equal(getattr(a, what)[i], getattr(b, what)[j])
        for what in ("lower", "upper"):
            np.testing.assert_array_equal(getattr(a, what)[x.q], getattr(b, what)[y.q])
        for what in ("velocity_limit", "effort_limit", "damping", "friction"):
            np.testing.assert_array_equal(getattr(a, what)[x.v], getattr(b, what)[y.v])
    for frame in a.frame_list:
        other = b.frames[frame.name]
        assert (frame.body < 0) == (other.body < 0)
        assert frame.body < 0 or a.body_names[frame.body] == b.body_names[other.body]
        np.testing.assert_array_equal(frame.position, other.position)
        np.testing.assert_allclose(frame.rotation, other.rotation, rtol=0, atol=ANGLES)
    assert set(a.relation_list) == set(b.relation_list)
    assert {f.name for f in b.frame_list} - {f.name for f in a.frame_list} <= {"world", "world_"}


def there_and_back(model: Model, path: Path, **options: object) -> Model:
    save_urdf(model, path, **options)  # type: ignore[arg-type]
    return load(path)


# --- robots ---------------------------------------------------------------------------------------


@each_robot()
def test_robots_come_back(tmp_path: Path, path: Path) -> None:
    """Every fourth with a floating base, too, which is the same for all."""
    for floating in (True,) if path.name in RIGID else (False, True) if ROBOTS.index(path) % 4 == 0 else (False,):
        model = load(path, floating_base=floating)
        report = save_urdf(model, tmp_path / "out.urdf")
        back = load(tmp_path / "out.urdf")
        assert_same(model, back)
        if not report.about("order"):
            assert back.body_names == model.body_names
        if not floating:
            assert {f.name for f in back.frame_list} == {f.name for f in model.frame_list}


def test_visuals_come_back(tmp_path: Path) -> None:
    path = robot("panda.urdf")
    assert FOLDER is not None
    model = load(path)
    save_urdf(model, tmp_path / "out.urdf")
    back = load(tmp_path / "out.urdf", package_dirs=[FOLDER])
    assert len(back.visuals) == len(model.visuals) > 0
    by_body = [sorted(m.visuals, key=lambda v: (v.body, v.mesh)) for m in (model, back)]
    for a, b in zip(*by_body):
        assert (a.body, a.kind, a.size, a.rgba, a.mesh) == (b.body, b.kind, b.size, b.rgba, b.mesh)
        np.testing.assert_array_equal(a.position, b.position)
        np.testing.assert_allclose(a.rotation, b.rotation, rtol=0, atol=ANGLES)
    assert [r.subject for r in load(tmp_path / "out.urdf").report] == ["mesh outside"] * len(model.visuals)


# --- random trees ---------------------------------------------------------------------------------

KINDS: tuple[JointName, ...] = ("revolute", "continuous", "prismatic", "free", "planar", "fixed")
NAMES = ("{}", "a b {}", "<{}>", 'quote " {}', "l'{}", "&amp;{}", "λ{}", "-- {}", "tab\t{}")


def random_model(rng: np.random.Generator) -> Model:
    n = int(rng.integers(1, 10))
    style = NAMES[rng.integers(len(NAMES))]
    b = ModelBuilder("any name & more")
    for i in range(n):
        kind = KINDS[rng.integers(len(KINDS))] if i else KINDS[rng.integers(5)]
        numbers = {}
        if kind in ("revolute", "prismatic"):
            low, high = np.sort(rng.normal(size=2))
            numbers = {"lower": [low, -np.inf][rng.integers(2)], "upper": [high, np.inf][rng.integers(2)]}
        if kind != "fixed":
            for what in ("effort_limit", "velocity_limit"):
                numbers[what] = [np.inf, float(rng.exponential())][rng.integers(2)]
            for what in ("damping", "friction"):
                numbers[what] = [0.0, float(rng.exponential())][rng.integers(2)]
        x = rng.exponential(size=3) * 10.0 ** rng.integers(-9, 6)  # second moments, so that any are a real body's
        R = rotation_from_quaternion(rng.normal(size=4))
        b.add_body(
            style.format(f"body{i}"),
            None if i == 0 else int(rng.integers(-1, i)),
            kind,
            axis=rng.normal(size=3),
            position=rng.normal(size=3) * 10.0 ** rng.integers(-9, 9),
            rotation=random_rotation(rng),
            mass=float(rng.exponential()),
            com=rng.normal(size=3),
            inertia=R @ np.diag(x.sum() - x) @ R.T,
            joint_name=style.format(f"joint{i}"),
            **numbers,
        )
    for k in range(int(rng.integers(0, 4))):
        b.add_frame(f"frame{k}", int(rng.integers(-1, n)), rng.normal(size=3), random_rotation(rng))
    # merging bodies 1e8 m apart leaves little of their inertias, which is no matter here
    return b.build(unphysical_inertia="report", singular="report")


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """Any rotation; often with a pitch within 1e-3 ... 1e-17 of ±90°, where roll and yaw are all but one."""
    if rng.random() < 0.5:
        return rotation_from_quaternion(rng.normal(size=4))
    off = rng.choice([0.0, 10.0 ** rng.uniform(-17, -3)])
    pitch = rng.choice([-1, 1]) * (np.pi / 2 - off)
    return rotation_from_rpy([rng.uniform(-4, 4), pitch, rng.uniform(-4, 4)])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32 - 1))
@example(877)  # an axis that differs in three bits if it is normalised twice
def test_random_trees_come_back(tmp_path: Path, seed: int) -> None:
    model = random_model(np.random.default_rng(seed))
    assert_same(model, there_and_back(model, tmp_path / "out.urdf"))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rotations_survive_roll_pitch_yaw(seed: int) -> None:
    R = random_rotation(np.random.default_rng(seed))
    np.testing.assert_allclose(rotation_from_rpy(rpy_from_rotation(R)), R, rtol=0, atol=ANGLES)


# --- single features ------------------------------------------------------------------------------


def one(joint: JointName = "revolute", **more: object) -> Model:
    b = ModelBuilder()
    b.add_body("b", joint=joint, mass=1.0, inertia=(1, 1, 1), joint_name="j", **more)  # type: ignore[arg-type]
    return b.build()


def test_missing_limits_are_the_largest_number() -> None:
    text = to_urdf(one("prismatic", lower=0.5))
    assert f'lower="0.5" upper="{sys.float_info.max!r}"' in text


def test_revolute_without_limits_is_continuous() -> None:
    text = to_urdf(one())
    assert 'type="continuous"' in text and "<limit" not in text
    assert 'type="revolute"' in to_urdf(one(lower=0))


def test_several_trees_hang_on_the_world(tmp_path: Path) -> None:
    b = ModelBuilder()
    for name in ("x", "y"):
        b.add_body(name, joint="free", mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    back = there_and_back(model, tmp_path / "out.urdf")
    assert back.body_names == ("x", "y")
    assert back.parent.tolist() == [-1, -1]
    assert [f.name for f in back.frame_list] == ["world"]


def test_a_body_called_world(tmp_path: Path) -> None:
    b = ModelBuilder()
    b.add_body("world", joint="free", mass=1.0, inertia=(1, 1, 1))
    back = there_and_back(b.build(), tmp_path / "out.urdf")
    assert back.body_names == ("world",)
    assert [f.name for f in back.frame_list] == ["world_"]


def test_a_frame_called_as_a_body_is_renamed(tmp_path: Path) -> None:
    b = ModelBuilder()
    b.add_body("hand", mass=1.0, inertia=(1, 1, 1))
    b.add_frame("hand", "hand", position=(1, 0, 0))
    report = save_urdf(b.build(), tmp_path / "out.urdf")
    assert "'hand_'" in report.about("frame")[0].message
    np.testing.assert_array_equal(load(tmp_path / "out.urdf").frames["hand_"].position, [1, 0, 0])


def test_shapes_come_back_and_others_are_remarked_upon(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "m.stl").write_bytes(b"")
    mesh = str((tmp_path / "meshes" / "m.stl").resolve())
    b = ModelBuilder()
    b.add_body("b", mass=1.0, inertia=(1, 1, 1))
    shapes = [("box", (1, 2, 3)), ("sphere", (1,)), ("cylinder", (1, 2)), ("capsule", (1, 2))]
    for kind, size in shapes:
        b.add_visual("b", kind, size, position=(1, 0, 0), rgba=(1, 0, 0.1, 1), name=kind)
    b.add_visual(None, "mesh", (1, 1, 2), mesh=mesh)
    b.add_visual("b", "ellipsoid", (1, 2, 3))
    b.add_visual("b", "plane", (1, 2))
    report = save_urdf(b.build(), tmp_path / "out.urdf")
    assert [r.message.split(" of ")[0] for r in report.about("visual")] == ["the ellipsoid", "the plane"]
    assert 'filename="meshes/m.stl"' in (tmp_path / "out.urdf").read_text()
    model = load(tmp_path / "out.urdf")
    drawn = {(v.body, v.kind, v.size, v.rgba, v.name, v.mesh) for v in model.visuals}
    red = (1, 0, 0.1, 1)
    assert drawn == {(0, k, s, red, k, None) for k, s in shapes} | {(-1, "mesh", (1, 1, 2), None, None, mesh)}


def test_what_urdf_cannot_hold_is_said_and_stands_in_the_file(tmp_path: Path) -> None:
    b = ModelBuilder(gravity=(0, 0, -1.62))
    inertial = dict(mass=1.0, inertia=(1, 1, 1))
    b.add_body("b", None, "free", joint_name="f--f", armature=0.5, damping=[1, 2, 3, 4, 5, 6], lower=-1.0, **inertial)
    b.add_body("y", "b", joint_name="z", **inertial)
    b.add_body("x", "b", joint_name="a", **inertial)
    report = save_urdf(b.build(), tmp_path / "out.urdf")
    assert {r.subject for r in report} == {"gravity", "order", "armature", "damping", "limit"}
    assert all("'f--f'" in r.message for r in report if r.subject in ("armature", "damping", "limit"))
    text = (tmp_path / "out.urdf").read_text()
    assert "armature [0.5, 0.5" in text and "-1.62" in text
    assert load(tmp_path / "out.urdf").body_names == ("b", "x", "y")


@pytest.mark.parametrize("kind", ["ball", "screw"])
def test_joints_that_urdf_lacks(kind: JointName) -> None:
    for split in (False, True):
        with pytest.raises(ModelError, match=f"joint 'j' is {kind}, which URDF does not have"):
            to_urdf(one(kind), split=split)


@pytest.mark.parametrize(
    ("kind", "more", "second"),
    [("universal", {"axis2": (0, 1, 0)}, "revolute"), ("cylindrical", {}, "prismatic")],
)
def test_joints_that_can_be_split(tmp_path: Path, kind: JointName, more: dict[str, object], second: str) -> None:
    model = one(kind, axis=(1, 0, 0), position=(1, 2, 3), lower=(-1, -2), upper=(1, 2), damping=(3, 4), **more)
    with pytest.raises(ModelError, match=f"joint 'j' is {kind}.*split=True"):
        to_urdf(model)
    back = there_and_back(model, tmp_path / "out.urdf", split=True)
    assert back.joint_names == ("j_1", "j_2")
    assert [back.joints[i].type for i in range(2)] == ["revolute", second]
    assert back.body_names == ("b_revolute", "b")
    assert back.mass.tolist() == [0, 1]
    np.testing.assert_array_equal(back.position, [[1, 2, 3], [0, 0, 0]])
    np.testing.assert_array_equal(back.axis, [[1, 0, 0], [0, 1, 0] if kind == "universal" else [1, 0, 0]])
    assert (back.lower.tolist(), back.upper.tolist(), back.damping.tolist()) == ([-1, -2], [1, 2], [3, 4])


def test_every_joint_type_is_written_or_refused() -> None:
    """No type falls through: those written, those split, those refused are all there are."""
    axes = {"axis": (1, 0, 0), "axis2": (0, 1, 0)}
    for kind in JointType:
        name = kind.name.lower()
        if name in ("fixed", "ball", "screw"):
            continue
        assert "<joint" in to_urdf(one(name, **axes), split=True)  # type: ignore[arg-type]


def test_names_xml_cannot_hold() -> None:
    b = ModelBuilder()
    b.add_body("bell \a", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(ModelError, match="a name cannot be written as XML"):
        to_urdf(b.build())


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot be written: there is no folder .*such"):
        save_urdf(one(), tmp_path / "no" / "such" / "folder.urdf")


def test_shapes_come_back(tmp_path: Path) -> None:
    b = ModelBuilder("shapes")
    b.add_body("a", mass=1.0, inertia=(1, 1, 1))
    b.add_body("b", "a", mass=1.0, inertia=(1, 1, 1))
    sizes = {"box": (1, 2, 3), "sphere": (0.5,), "cylinder": (0.1, 2.0), "capsule": (0.2, 0.7)}
    for kind, size in sizes.items():
        b.add_shape("b", kind, size, position=(1, 0, 0.1), rotation=rotation_from_rpy((0.1, 0.2, 0.3)), name=kind)
    b.add_shape("a", "box", (1, 1, 1), name="sole", friction=0.3)
    b.add_shape(None, "box", (9, 9, 1), name="step")
    b.add_shape(None, "plane", name="floor")
    model = b.build()
    report = save_urdf(model, tmp_path / "out.urdf")
    assert ["'floor'" in r.message for r in report.about("shape")] == [True]
    assert len([r for r in report if "friction" in r.subject and "'sole'" in r.message]) == 1
    back = load(tmp_path / "out.urdf")
    assert {x.name for x in back.shape_list} == {x.name for x in model.shape_list} - {"floor"}
    for x in back.shape_list:
        y = model.shapes[x.name]
        assert (x.body, x.kind, x.size) == (y.body, y.kind, y.size)
        np.testing.assert_array_equal(x.position, y.position)
        np.testing.assert_allclose(x.rotation, y.rotation, rtol=0, atol=ANGLES)
