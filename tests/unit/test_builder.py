"""ModelBuilder: what it refuses and how it says so, fixed joints merged, numbering, and what it owes to its caller.

A message names the body or joint at fault; each test matches on that name.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supple.errors import ModelError
from supple.model.builder import ModelBuilder
from supple.model.geometry import rotation_from_rpy
from supple.model.model import Model

SOLID = dict(mass=1.0, inertia=(1.0, 1.0, 1.0))
TURN = rotation_from_rpy([0.3, -0.5, 1.1])


def built(name="arm", **arguments):
    """A model of two bodies, the second with these arguments."""
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_body(name, "base", **(SOLID | arguments))
    return b.build()


def same(a: Model, b: Model) -> None:
    """Every array, name, frame and visual of two models."""
    for f in dataclasses.fields(Model):
        x, y = getattr(a, f.name), getattr(b, f.name)
        if isinstance(x, np.ndarray):
            np.testing.assert_array_equal(x, y, err_msg=f.name)
        elif f.name in ("frame_list", "visuals"):
            assert len(x) == len(y)
            for p, q in zip(x, y):
                assert (p.name, p.body) == (q.name, q.body)
                np.testing.assert_array_equal(p.position, q.position)
                np.testing.assert_array_equal(p.rotation, q.rotation)
        elif f.init:
            assert x == y, f.name


# --- names and topology ---------------------------------------------------------------------------------------------


def test_nothing():
    with pytest.raises(ModelError, match="at least one body: call add_body before build"):
        ModelBuilder().build()


def test_every_joint_fixed():
    b = ModelBuilder()
    b.add_body("a", joint="fixed", mass=1)
    b.add_body("b", "a", "fixed", mass=1)
    with pytest.raises(ModelError, match="every joint is fixed"):
        b.build()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a", "b", "a"), "two bodies are called 'a'"),
        (("a", "", "c"), "body 1 has the name ''"),
        (("a", 5, "c"), "body 1 has the name 5"),
        (("a", b"b", "c"), "body 1 has the name b'b'"),
        (("body1", None, "c"), "two bodies are called 'body1'"),  # what an unnamed one gets
    ],
)
def test_names_of_bodies(names, message):
    b = ModelBuilder()
    for name in names:
        b.add_body(name, **SOLID)
    with pytest.raises(ModelError, match=message):
        b.build()


def test_names_of_joints():
    b = ModelBuilder()
    b.add_body("a", joint_name="hinge", **SOLID)
    b.add_body("b", joint_name="hinge", **SOLID)
    with pytest.raises(ModelError, match="two joints are called 'hinge'"):
        b.build()
    with pytest.raises(ModelError, match="joint 1 has the name ''"):
        built(joint_name="")
    b = ModelBuilder()
    b.add_body("a", joint_name="b_joint", **SOLID)
    b.add_body("b", **SOLID)
    with pytest.raises(ModelError, match="two joints are called 'b_joint'"):
        b.build()


def test_names_of_frames():
    b = ModelBuilder()
    b.add_body("a", **SOLID)
    b.add_body("tool", "a", "fixed")
    b.add_frame("tool", "a")
    with pytest.raises(ModelError, match="two frames are called 'tool'"):
        b.build()
    b = ModelBuilder()
    b.add_body("a", **SOLID)
    b.add_frame("", "a")
    with pytest.raises(ModelError, match="frame 0 has the name ''"):
        b.build()


def test_names_given_by_default():
    b = ModelBuilder()
    b.add_body(**SOLID)
    b.add_body(None, 0, joint_name="elbow", **SOLID)
    model = b.build()
    assert tuple(model.body_names) == ("body0", "body1")
    assert tuple(model.joint_names) == ("body0_joint", "elbow")


@pytest.mark.parametrize(
    ("parent", "message"),
    [
        ("bse", "parent of 'arm': no body named 'bse'; did you mean 'base'"),
        ("zzz", "parent of 'arm': no body named 'zzz'; there are: 'base', 'arm'"),
        (2, "parent of 'arm': 2 is not a body"),
        (-2, "parent of 'arm': -2 is not a body"),
        (2**70, f"parent of 'arm': {2**70} is not a body"),
        (0.0, "parent of 'arm': 0.0 is not a body"),
        (["base"], r"parent of 'arm': \['base'\] is not a body"),
        (np.array([0, 1]), "parent of 'arm': array.* is not a body"),
    ],
)
def test_unknown_parent(parent, message):
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_body("arm", parent, **SOLID)
    with pytest.raises(ModelError, match=message):
        b.build()


def test_frames_and_visuals_on_unknown_bodies():
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_frame("tip", "bsae")
    with pytest.raises(ModelError, match="frame 'tip': no body named 'bsae'; did you mean 'base'"):
        b.build()
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_visual(3, "box", (1, 1, 1))
    with pytest.raises(ModelError, match="visual: 3 is not a body"):
        b.build()


def test_cycles_are_named():
    b = ModelBuilder()
    b.add_body("root", **SOLID)
    b.add_body("a", "c", **SOLID)
    b.add_body("b", "a", **SOLID)
    b.add_body("c", "b", **SOLID)
    b.add_body("leaf", "c", **SOLID)
    with pytest.raises(ModelError, match="'a' -> 'c' -> 'b' -> 'a' are each other's parents"):
        b.build()


def test_a_body_on_itself():
    b = ModelBuilder()
    b.add_body("snake", "snake", **SOLID)
    with pytest.raises(ModelError, match="'snake' -> 'snake' are each other's parents"):
        b.build()


def test_long_cycles_are_shortened():
    b = ModelBuilder()
    for i in range(1000):
        b.add_body(f"b{i}", f"b{(i + 1) % 1000}", **SOLID)
    with pytest.raises(ModelError, match=r"-> \.\.\. are each other's parents") as e:
        b.build()
    assert len(str(e.value)) < 200


# --- numbers --------------------------------------------------------------------------------------------------------

NOT_A_NUMBER = ["heavy", "3", None, (1.0, 2.0), [1.0], 1j, np.complex128(1), np.array([1.0])]


@pytest.mark.parametrize("mass", [-1e-9, -1, np.nan, np.inf, -np.inf, 1e61])
def test_masses_out_of_range(mass):
    with pytest.raises(ModelError, match=r"body 'arm': mass is .*; it must be a number from 0"):
        built(mass=mass)


@pytest.mark.parametrize("bad", NOT_A_NUMBER, ids=repr)
@pytest.mark.parametrize("what", ["mass", "pitch"])
def test_what_is_no_number(what, bad):
    with pytest.raises(ModelError, match=f"body 'arm': {what} "):
        built(**{what: bad})


@pytest.mark.parametrize("bad", [(1, 2), (1, 2, 3, 4), 1.0, "xyz", ("1", "0", "0"), None, [[1, 2, 3]], (1, 2, 3j),
                                 np.array([1j, 0, 1]), (1, (2, 3), 4)], ids=repr)  # fmt: skip
@pytest.mark.parametrize("what", ["position", "com", "axis", "axis2"])
def test_what_is_no_vector(what, bad):
    with pytest.raises(ModelError, match=f"body 'arm': (a universal joint needs )?{what}( must be three numbers|,)"):
        built(**({"joint": "universal", "axis2": (1, 0, 0)} | {what: bad}))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("what", ["position", "com", "axis"])
def test_vectors_that_are_not_finite(what, bad):
    with pytest.raises(ModelError, match=f"body 'arm': {what} is not finite"):
        built(**{what: (0, bad, 1)})


def test_other_numbers_that_are_not_finite():
    with pytest.raises(ModelError, match="body 'arm': inertia is not finite"):
        built(inertia=(1, np.nan, 1))
    with pytest.raises(ModelError, match="body 'arm': pitch is not finite"):
        built(joint="screw", pitch=np.inf)
    with pytest.raises(ModelError, match=r"joint 'arm_joint': axis2 .* has no direction"):
        built(joint="universal", axis2=(np.nan, 0, 0))


@pytest.mark.parametrize("what", ["position", "com"])
def test_numbers_beyond_all_reason(what):
    with pytest.raises(ModelError, match=f"body 'arm': {what} is too large for anything real"):
        built(**{what: (1e61, 0, 0)})


def test_axes_without_direction():
    for kind in ("revolute", "continuous", "prismatic", "screw", "cylindrical", "planar"):
        with pytest.raises(ModelError, match=r"joint 'arm_joint': axis \[0.0, 0.0, 0.0\] has no direction"):
            built(joint=kind, axis=(0, 0, 0))
    with pytest.raises(ModelError, match=r"joint 'arm_joint': axis2 .* has no direction"):
        built(joint="universal", axis2=(0, 0, 0))
    built(joint="ball", axis=(0, 0, 0))  # which has none


def test_axes_are_made_unit_vectors():
    model = built(axis=(0, 3, 4))
    np.testing.assert_allclose(model.axis[1], [0, 0.6, 0.8], rtol=1e-15)


def test_universal_axes():
    for axis2 in ((0, 0, 1), (1, 0, 1), (1e-5, 0, 1)):
        with pytest.raises(ModelError, match="joint 'arm_joint': the two axes of a universal joint must be perpend"):
            built(joint="universal", axis=(0, 0, 1), axis2=axis2)
    with pytest.raises(ModelError, match="body 'arm': a universal joint needs axis2"):
        built(joint="universal")
    np.testing.assert_array_equal(built(joint="universal", axis2=(0, 2, 0)).axis2[1], [0, 1, 0])


@pytest.mark.parametrize("kind", ["hinge", "Revolute", "revolut", "", None, 3, ["revolute"]], ids=repr)
def test_unknown_joint_types(kind):
    with pytest.raises(ModelError, match="body 'arm': no joint type named"):
        built(joint=kind)


def test_nearest_joint_type_is_suggested():
    with pytest.raises(ModelError, match="'revolut'; did you mean 'revolute'"):
        built(joint="revolut")


@pytest.mark.parametrize(
    ("rotation", "message"),
    [
        (np.diag([1.0, 1.0, -1.0]), "rotation is not a rotation matrix"),
        (np.eye(3) * 1.001, "rotation is not a rotation matrix"),
        (np.ones((3, 3)), "rotation is not a rotation matrix"),
        (np.full((3, 3), np.nan), "rotation is not finite"),
        ((0, 0, 0, 1.001), "not of unit length; divide it by its norm"),
        ((0, 0, 0, 0), "not of unit length"),
        ((0, 0, 0, np.nan), "rotation is not finite"),
        ((0, 0, 1), "3x3 matrix or a quaternion"),
        (1.0, "3x3 matrix or a quaternion"),
        ("x", "3x3 matrix or a quaternion"),
        (np.eye(3) * (1 + 0j), "3x3 matrix or a quaternion"),
    ],
    ids=range(11),
)
def test_what_is_no_rotation(rotation, message):
    with pytest.raises(ModelError, match=f"body 'arm': rotation.*{message.removeprefix('rotation ')}"):
        built(rotation=rotation)
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_frame("tip", "base", rotation=rotation)
    with pytest.raises(ModelError, match="rotation of frame 'tip'"):
        b.build()
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_visual("base", "box", (1, 1, 1), rotation=rotation)
    with pytest.raises(ModelError, match="rotation of a visual on 'base'"):
        b.build()


def test_rotations_of_both_forms():
    """A quaternion beside a matrix beside none."""
    b = ModelBuilder()
    b.add_body("a", rotation=TURN, **SOLID)
    b.add_body("b", rotation=(0, 0, np.sqrt(0.5), np.sqrt(0.5)), **SOLID)
    b.add_body("c", **SOLID)
    model = b.build()
    np.testing.assert_array_equal(model.rotation[0], TURN)
    np.testing.assert_allclose(model.rotation[1], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    np.testing.assert_array_equal(model.rotation[2], np.eye(3))


def test_rotations_printed_with_few_digits():
    """Are made rotations: a mass matrix that depends on who turns an inertia is off in the seventh digit."""
    model = built(rotation=np.round(TURN, 7))
    R = model.rotation[1]
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(R, TURN, rtol=0, atol=1e-7)


@pytest.mark.parametrize("position", [(0, 0), "here", (0, 0, np.nan), None])
def test_places_of_frames_and_visuals(position):
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_frame("tip", "base", position)
    with pytest.raises(ModelError, match="position of frame 'tip' must be three finite numbers"):
        b.build()
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_visual("base", "box", (1, 1, 1), position)
    with pytest.raises(ModelError, match="position of a visual on 'base' must be three finite numbers"):
        b.build()


@pytest.mark.parametrize("gravity", [(0, 0), "down", None, (0, 0, np.nan), 9.81, (0, 0, 1j)])
def test_gravity(gravity):
    b = ModelBuilder(gravity=gravity)
    b.add_body(**SOLID)
    with pytest.raises(ModelError, match="gravity must be three finite numbers"):
        b.build()


# --- limits, damping, armature, friction ----------------------------------------------------------------------------


def test_limits_reversed():
    with pytest.raises(ModelError, match="joint 'arm_joint': lower limit 1 is above the upper -1"):
        built(lower=1, upper=-1)
    with pytest.raises(ModelError, match="joint 'arm_joint': lower limit 3 is above the upper 2"):
        built(joint="cylindrical", lower=(0, 3), upper=(1, 2))
    assert built(lower=1, upper=1).joints["arm_joint"].lower == [1.0]


LIMITS, PER_V = ("lower", "upper", "rest"), ("velocity_limit", "effort_limit", "damping", "armature", "friction")


@pytest.mark.parametrize("what", LIMITS + PER_V)
def test_numbers_of_joints(what):
    with pytest.raises(ModelError, match=f"joint 'arm_joint': {what} is not a number"):
        built(**{what: np.nan})
    with pytest.raises(ModelError, match=f"joint 'arm_joint': {what} is not a number"):
        built(joint="cylindrical", **{what: (0.0, np.nan)})
    for bad in ("x", "1", None, (1, 2), 1j, [[1.0, 2.0]]):
        with pytest.raises(ModelError, match=f"joint 'arm_joint': {what} (must be one number or 1|is not a number)"):
            built(**{what: bad})
    wide = "ball" if what in PER_V else "planar"
    with pytest.raises(ModelError, match=f"joint 'arm_joint': {what} must be one number or [34]"):
        built(joint=wide, **{what: (1, 2)})


@pytest.mark.parametrize("what", ["damping", "armature", "friction", "stiffness"])
def test_numbers_that_may_not_be_negative(what):
    for bad in (-1.0, np.inf):
        with pytest.raises(ModelError, match=f"joint 'arm_joint': {what} must be finite and not negative"):
            built(**{what: bad})


def test_springs_are_at_joints_whose_coordinates_add():
    for kind in ("planar", "ball", "free"):
        with pytest.raises(ModelError, match="joint 'arm_joint': stiffness acts only at joints whose coordinates add"):
            built(joint=kind, stiffness=1.0)
    with pytest.raises(ModelError, match="joint 'arm_joint': rest must be finite"):
        built(stiffness=1.0, rest=np.inf)
    model = built(joint="universal", axis2=(1, 0, 0), stiffness=(1, 2), rest=(0.1, 0.2))
    part = model.joints["arm_joint"]
    assert model.stiffness[part.v].tolist() == [1, 2] and model.rest[part.q].tolist() == [0.1, 0.2]


def test_limits_are_spread_over_coordinates():
    model = built(joint="cylindrical", lower=(-1, -2), upper=3, damping=0.5, armature=(1, 2), velocity_limit=7)
    joint = model.joints["arm_joint"]
    np.testing.assert_array_equal(model.lower[joint.q], [-1, -2])
    np.testing.assert_array_equal(model.upper[joint.q], [3, 3])
    np.testing.assert_array_equal(model.damping[joint.v], [0.5, 0.5])
    np.testing.assert_array_equal(model.armature[joint.v], [1, 2])
    np.testing.assert_array_equal(model.velocity_limit[joint.v], [7, 7])
    np.testing.assert_array_equal(model.damping[:1], [0])


# --- inertias -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [1.0, (1, 2), np.eye(2), np.zeros((3, 3, 3)), "round", ("1", "1", "1"),
                                 np.eye(3) * 1j, [[1, 2], [3]]], ids=repr)  # fmt: skip
def test_what_is_no_inertia(bad):
    with pytest.raises(ModelError, match="body 'arm': inertia must be 3x3 or three diagonal entries"):
        built(inertia=bad)


def test_asymmetric_inertia():
    I = np.diag([1.0, 1.0, 1.0])
    I[0, 1] = 1e-6
    with pytest.raises(ModelError, match="body 'arm': the inertia matrix is not symmetric"):
        built(inertia=I)
    I[0, 1] = 1e-12  # the rounding of printed numbers
    model = built(inertia=I)
    np.testing.assert_array_equal(model.inertia[1], model.inertia[1].T)


@pytest.mark.parametrize("moments", [(1, 1, 2.1), (-0.1, 1, 1), (0, 0, 1), (-1, -1, -1)])
def test_inertias_that_no_body_has(moments):
    """Also when the axes are turned, so that the diagonal alone would pass."""
    for I in (np.diag(moments).astype(float), TURN @ np.diag(moments) @ TURN.T):
        with pytest.raises(ModelError, match="body 'arm': no real body has principal moments of inertia"):
            built(inertia=I)
        b = ModelBuilder()
        b.add_body("base", **SOLID)
        b.add_body("arm", "base", mass=10.0, com=(1, 1, 1), inertia=I)
        model = b.build(unphysical_inertia="report")
        np.testing.assert_allclose(model.inertia[1], I, rtol=0, atol=1e-15)
        (remark,) = model.report.about("unphysical inertia")
        assert "body 'arm'" in remark.message and "used as given" in remark.message


def test_inertias_at_the_edge():
    """A thin plate meets the triangle inequality with equality; printed numbers miss it by their last digit."""
    built(inertia=(1, 1, 2))
    built(inertia=(0.333333, 0.333333, 0.666667))
    built(inertia=(0, 1, 1))  # a rod


def test_policies_have_names():
    b = ModelBuilder()
    b.add_body(**SOLID)
    with pytest.raises(ModelError, match="unphysical_inertia must be 'refuse' or 'report', not 'ignore'"):
        b.build(unphysical_inertia="ignore")
    with pytest.raises(ModelError, match="singular must be 'refuse' or 'report', not 'ignore'"):
        b.build(singular="ignore")


# --- joints that move nothing ---------------------------------------------------------------------------------------


def branch(**elbow):
    """A massless branch of two on a solid base."""
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_body("elbow", "base", **elbow)
    b.add_body("hand", "elbow", "ball", armature=elbow.get("armature", 0.0))
    return b


def test_massless_branches():
    with pytest.raises(ModelError, match="body 'elbow' and everything beyond it has no mass"):
        branch().build()
    model = branch().build(singular="report")
    assert [r.message.split(" and ")[0] for r in model.report.about("singular")] == ["body 'elbow'", "body 'hand'"]
    assert not branch(armature=0.1).build().report.about("singular")
    with pytest.raises(ModelError, match="body 'hand' and everything beyond"):
        branch(mass=1.0, inertia=(1, 1, 1)).build()


def test_massless_in_between_is_well():
    b = ModelBuilder()
    b.add_body("base", **SOLID)
    b.add_body("shell", "base", axis=(1, 0, 0))
    b.add_body("ball", "shell", axis=(0, 1, 0), **SOLID)
    assert len(b.build().report) == 0


def test_armature_on_one_of_several_is_not_enough():
    b = ModelBuilder()
    b.add_body("wrist", None, "ball", armature=(1, 1, 0))
    with pytest.raises(ModelError, match="body 'wrist'"):
        b.build()


@pytest.mark.parametrize("seed", range(20))
def test_point_masses_on_their_own_axis(seed):
    """Whichever way the axis points: what rounding leaves of zero is not an inertia."""
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    on_axis = dict(axis=axis, mass=rng.uniform(0.1, 5), com=axis * rng.uniform(-2, 2))
    with pytest.raises(ModelError, match="body 'arm' has no inertia about its joint's axis"):
        built(inertia=None, **on_axis)
    with pytest.raises(ModelError, match="body 'arm' has no inertia about its joint's axis"):
        built(joint="ball", inertia=None, **on_axis)  # about com, whatever the axis
    rod = TURN @ np.diag([0.0, 1.0, 1.0]) @ TURN.T
    with pytest.raises(ModelError, match="body 'arm' has no inertia about its joint's axis"):
        built(inertia=rod, axis=TURN[:, 0])
    assert len(built(inertia=None, armature=0.1, **on_axis).report) == 0
    assert len(built(joint="prismatic", inertia=None, **on_axis).report) == 0
    off = on_axis | dict(com=on_axis["com"] + 1e-3 * np.cross(axis, [1, 2, 3]))
    assert len(built(inertia=None, **off).report) == 0


def test_reports_of_singular_models():
    b = ModelBuilder()
    b.add_body("top", mass=1.0, com=(0, 0, 1))
    model = b.build(singular="report")
    (remark,) = model.report.about("singular")
    assert "body 'top'" in remark.message and "SingularError" in remark.message


# --- fixed joints ---------------------------------------------------------------------------------------------------


@st.composite
def assemblies(draw):
    """Joint kinds and parents of up to eight bodies, some on fixed joints."""
    n = draw(st.integers(2, 8))
    parent = [draw(st.integers(-1, i - 1)) for i in range(n)]
    kinds = [draw(st.sampled_from(["fixed", "fixed", "revolute", "free"])) for _ in range(n)]
    kinds[draw(st.integers(0, n - 1))] = "revolute"
    return parent, kinds, draw(st.integers(0, 2**32 - 1))


def random_parts(n, rng):
    for _ in range(n):
        q = rng.standard_normal(4)
        corners = rng.standard_normal((5, 3))
        yield dict(
            position=rng.standard_normal(3),
            rotation=q / np.linalg.norm(q),
            mass=rng.uniform(0.5, 2),
            com=rng.standard_normal(3),
            inertia=sum((x @ x) * np.eye(3) - np.outer(x, x) for x in corners),
        )


@given(assemblies())
@settings(max_examples=60)
def test_fixed_bodies_are_merged(assembly):
    """Mass, first moment and second moments of each kept body, summed over point masses in world coordinates.

    A rigid body of mass m is four point masses with the same moments about its centre: independent of the builder's
    parallel-axis sums. Tolerance 1e-12: sums of at most eight bodies.
    """
    parent, kinds, seed = assembly
    n = len(parent)
    b = ModelBuilder()
    parts = list(random_parts(n, np.random.default_rng(seed)))
    for i, part in enumerate(parts):
        b.add_body(f"b{i}", parent[i], kinds[i], **part)
    b.add_visual(n - 1, "box", (1, 1, 1), (0.1, 0.2, 0.3), TURN)
    b.add_frame("tip", n - 1, (0.1, 0.2, 0.3), TURN)
    model = b.build()
    # world poses at the neutral position, where every joint's frame is its body's
    world = []
    for i, part in enumerate(parts):
        T = np.eye(4)
        x, y, z, w = part["rotation"]
        T[:3, :3] = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                              [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                              [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])  # fmt: skip
        T[:3, 3] = part["position"]
        world.append(T if parent[i] < 0 else world[parent[i]] @ T)
    carrier = []
    for i in range(n):
        carrier.append(i if kinds[i] != "fixed" else -1 if parent[i] < 0 else carrier[parent[i]])
    assert set(model.body_names) == {f"b{i}" for i in range(n) if kinds[i] != "fixed"}
    ours = []
    for k in range(model.n_bodies):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = model.rotation[k], model.position[k]
        ours.append(T if model.parent[k] < 0 else ours[model.parent[k]] @ T)
        old = int(model.body_names[k][1:])
        np.testing.assert_allclose(ours[k], world[old], rtol=0, atol=1e-12)
        moments = sum(second_moments(parts[i], world[i]) for i in range(n) if carrier[i] == old)
        merged = dict(mass=model.mass[k], com=model.com[k], inertia=model.inertia[k])
        np.testing.assert_allclose(second_moments(merged, ours[k]), moments, rtol=0, atol=1e-12 * np.abs(moments).max())
    frames = {f.name: f for f in model.frame_list}
    assert set(frames) == {f"b{i}" for i in range(n) if kinds[i] == "fixed"} | {"tip"}
    for i in (i for i in range(n) if kinds[i] == "fixed"):
        np.testing.assert_allclose(placed(frames[f"b{i}"], ours), world[i], rtol=0, atol=1e-12)
        assert frames[f"b{i}"].body == (-1 if carrier[i] < 0 else model.bodies[f"b{carrier[i]}"].index)
    tip = np.eye(4)
    tip[:3, :3], tip[:3, 3] = TURN, (0.1, 0.2, 0.3)
    for part in (frames["tip"], model.visuals[0]):
        np.testing.assert_allclose(placed(part, ours), world[n - 1] @ tip, rtol=0, atol=1e-12)


def second_moments(part, T):
    """(4, 4) sum of m p p^T over a body's points p = (x, y, z, 1) in the world: mass, first and second moments."""
    m, c, I = part["mass"], np.asarray(part["com"]), np.asarray(part["inertia"])
    P = np.zeros((4, 4))
    P[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I + m * np.outer(c, c)
    P[:3, 3] = P[3, :3] = m * c
    P[3, 3] = m
    return T @ P @ T.T


def placed(part, world):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = part.rotation, part.position
    return T if part.body < 0 else world[part.body] @ T


def test_merging_by_hand():
    """Two point masses of 1 kg at the ends of 2 m, the second on a chain of two fixed joints."""
    b = ModelBuilder()
    b.add_body("rod", joint="free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.add_body("half", "rod", "fixed", position=(1, 0, 0))
    b.add_body("end", "half", "fixed", position=(1, 0, 0), mass=1.0)
    b.add_body("stand", None, "fixed", position=(0, 0, 5), mass=100.0)
    b.add_body("arm", "stand", "revolute", position=(1, 0, 0), **SOLID)
    model = b.build()
    assert tuple(model.body_names) == ("rod", "arm")
    np.testing.assert_allclose(model.mass, [2, 1])  # what is fixed to the world is gone
    np.testing.assert_allclose(model.com[0], [1, 0, 0])
    np.testing.assert_allclose(model.inertia[0], np.diag([0.1, 2.1, 2.1]))
    np.testing.assert_allclose(model.position[1], [1, 0, 5])
    np.testing.assert_allclose(model.frames["end"].position, [2, 0, 0])
    assert model.frames["stand"].body == -1 and model.parent.tolist() == [-1, -1]


def test_massless_bodies_that_carry_mass_on_fixed_joints():
    b = ModelBuilder()
    b.add_body("shaft", axis=(0, 0, 1))
    b.add_body("disc", "shaft", "fixed", **SOLID)
    model = b.build()
    assert model.mass.tolist() == [1.0] and len(model.report) == 0


def test_limits_of_fixed_joints_do_not_count():
    b = ModelBuilder()
    b.add_body("a", lower=-1, upper=1, **SOLID)
    b.add_body("b", "a", "fixed", lower=5, upper=3)
    b.add_body("c", "b", lower=-2, upper=2, **SOLID)
    model = b.build()
    np.testing.assert_array_equal(model.lower, [-1, -2])


# --- numbering ------------------------------------------------------------------------------------------------------


def test_depth_first_in_the_order_of_adding():
    b = ModelBuilder()
    for name, parent in (("r", None), ("a", "r"), ("b", "r"), ("a1", "a"), ("s", None), ("b1", "b"), ("a2", "a")):
        b.add_body(name, parent, **SOLID)
    model = b.build()
    assert " ".join(model.body_names) == "r a a1 a2 b b1 s"
    assert model.parent.tolist() == [-1, 0, 1, 1, 0, 4, -1]
    assert model.subtree_end.tolist() == [6, 4, 3, 4, 6, 6, 7]


def test_parents_added_later():
    b = ModelBuilder()
    b.add_body("hand", "arm", mass=3.0, inertia=(1, 1, 1))
    b.add_body("arm", "base", mass=2.0, inertia=(1, 1, 1))
    b.add_body("base", None, mass=1.0, inertia=(1, 1, 1))
    model = b.build()
    assert tuple(model.body_names) == ("base", "arm", "hand")
    assert model.mass.tolist() == [1, 2, 3] and model.parent.tolist() == [-1, 0, 1]


def test_the_world_by_any_name():
    b = ModelBuilder()
    for parent in (None, "world", -1, np.int64(-1)):
        b.add_body(None, parent, **SOLID)
    assert b.build().parent.tolist() == [-1] * 4
    b = ModelBuilder()
    b.add_body("world", **SOLID)
    b.add_body("arm", "world", **SOLID)
    assert b.build().parent.tolist() == [-1, 0]  # unless a body is called so


def test_parents_as_numbers_of_any_kind():
    b = ModelBuilder()
    first = b.add_body("a", **SOLID)
    assert first == 0
    b.add_body("b", np.int32(0), **SOLID)
    b.add_body("c", first, **SOLID)
    assert b.build().parent.tolist() == [-1, 0, 0] and len(b) == 3


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*(st.integers(-1, i - 1) for i in range(n)))), st.randoms())
@settings(max_examples=40)
def test_every_body_keeps_what_is_its_own(parent, random):
    """Added in any order, by name: each body's numbers and its parent's name are found again under its own name."""
    order = list(range(len(parent)))
    random.shuffle(order)
    b = ModelBuilder()
    kinds = ("revolute", "ball", "cylindrical", "free")
    for i in order:
        up = None if parent[i] < 0 else f"b{parent[i]}"
        b.add_body(f"b{i}", up, kinds[i % 4], mass=1.0 + i, position=(i, 0, 0), inertia=(1, 1, 1), damping=float(i))
    model = b.build()
    for i, up in enumerate(parent):
        body = model.bodies[f"b{i}"]
        assert body.mass == 1.0 + i and model.position[body.index, 0] == i
        assert body.parent == (-1 if up < 0 else model.bodies[f"b{up}"].index)
        joint = model.joints[f"b{i}_joint"]
        assert joint.index == body.index and joint.type == kinds[i % 4]
        assert (model.damping[joint.v] == i).all()
    assert (model.parent < np.arange(len(parent))).all()
    for i in range(len(parent)):
        inside = [k for k in range(len(parent)) if i in line(model.parent, k)]
        assert inside == list(range(i, model.subtree_end[i]))


def line(parent, i):
    while i >= 0:
        yield i
        i = int(parent[i])


# --- what it owes to its caller -------------------------------------------------------------------------------------


def full_builder():
    """One of everything."""
    b = ModelBuilder("full", gravity=[0.0, 0.0, -1.0])
    b.add_body("a", joint="free", rotation=TURN, com=np.array([0.1, 0, 0]), **SOLID)
    b.add_bodies([0, 1], ["universal", "fixed"], axis=[[0, 0, 2.0], [0, 0, 2.0]], axis2=(3.0, 0, 0), mass=[1, 2],
                 inertia=np.eye(3), position=[[0, 0, 1.0], [0, 1.0, 0]])  # fmt: skip
    b.add_body("d", "body2", "ball", axis=np.array([0.0, 0.0, 5.0]), damping=[1.0, 2.0, 3.0], **SOLID)
    b.add_frame("tip", "d", np.array([1.0, 2.0, 3.0]), TURN)
    b.add_visual("d", "box", [1, 2, 3], np.array([1.0, 2.0, 3.0]), TURN)
    b.remark("test", "a remark")
    return b


def test_building_twice():
    b = full_builder()
    first = b.build()
    same(first, b.build())
    same(first, full_builder().build())
    b.add_body("more", "d", **SOLID)
    assert b.build().n_bodies == first.n_bodies + 1


def test_building_again_after_a_refusal():
    b = branch()
    with pytest.raises(ModelError):
        b.build()
    b.add_body("weight", "hand", "fixed", **SOLID)
    assert b.build().n_bodies == 3


def test_the_models_arrays_are_read_only():
    model = full_builder().build()
    arrays = {f.name: getattr(model, f.name) for f in dataclasses.fields(Model)}
    arrays = {k: x for k, x in arrays.items() if isinstance(x, np.ndarray)}
    assert len(arrays) == 24
    for part in (*model.frame_list, *model.visuals):
        arrays |= {f"{part.name} position": part.position, f"{part.name} rotation": part.rotation}
    arrays |= {"expanded": model.expanded_parent, "dof": model.dof_body, "com": model.bodies["d"].com}
    for name, x in arrays.items():
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0
        assert not x.flags.writeable, name


def test_models_are_frozen():
    model = full_builder().build()
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.gravity = np.zeros(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del model.mass


def test_arguments_are_neither_changed_nor_kept():
    """Arrays and lists may be used again for the next body, and for anything after build()."""
    given = dict(
        axis=np.array([0.0, 0.0, 2.0]), position=np.array([0.0, 0.0, 1.0]), rotation=TURN.copy(),
        com=[0.1, 0.2, 0.3], inertia=[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], lower=np.array([-1.0]), damping=[0.5],
    )  # fmt: skip
    gravity, place, turn = np.array([0.0, 0.0, -1.0]), np.array([1.0, 2.0, 3.0]), TURN.copy()
    columns = dict(mass=np.array([1.0]), axis=np.array([[0.0, 3.0, 0.0]]), inertia=np.eye(3)[None].copy())
    parent = np.array([0])
    everything = [*given.values(), gravity, place, turn, *columns.values(), parent]
    before = [np.array(x) for x in everything]

    def build(spoil):
        b = ModelBuilder(gravity=gravity)
        b.add_body("a", mass=1.0, **given)
        b.add_bodies(parent, **columns)
        b.add_frame("f", "a", place, turn)
        b.add_visual("a", "box", (1, 1, 1), place, turn)
        if not spoil:
            model = b.build()
        for x, y in zip(everything, before):
            np.testing.assert_array_equal(x, y)  # not changed
        for x in everything:
            x[0] = -7.0 if not isinstance(x[0], list) else [-7.0, 0, 0]
        if spoil:
            model = b.build()
        for x, y in zip(everything, before):
            if isinstance(x, list):
                x[:] = y.tolist()
            else:
                x[...] = y
        return model

    first = build(spoil=False)
    mass = first.mass.copy()
    same(first, build(spoil=True))
    np.testing.assert_array_equal(first.mass, mass)


def test_one_array_for_many_bodies():
    """The natural loop: the same array, moved on from body to body."""
    b, position = ModelBuilder(), np.zeros(3)
    for k in range(3):
        b.add_body(None, k - 1, position=position, **SOLID)
        position[2] += 1
    np.testing.assert_array_equal(b.build().position[:, 2], [0, 1, 2])


# --- columns --------------------------------------------------------------------------------------------------------


def test_columns_are_bodies():
    """add_bodies gives what add_body gives one by one, also mixed."""
    rng, n = np.random.default_rng(3), 12
    parent = np.array([int(rng.integers(-1, i)) for i in range(n)])
    kinds = [("revolute", "prismatic", "universal", "ball", "fixed", "screw")[i % 6] for i in range(n)]
    parts = list(random_parts(n, rng))
    axis = rng.standard_normal((n, 3))
    rest = dict(axis=axis, axis2=np.cross(axis, rng.standard_normal((n, 3))), pitch=rng.standard_normal(n),
                lower=-rng.random(n), upper=rng.random(n), damping=rng.random(n), armature=rng.random(n))  # fmt: skip
    columns = {k: np.array([p[k] for p in parts]) for k in parts[0]} | rest
    names = [f"n{i}" for i in range(n)]

    def one_by_one(b, i, j):
        for k in range(i, j):
            b.add_body(names[k], int(parent[k]), kinds[k], **{key: x[k] for key, x in columns.items()})

    def at_once(b, i, j):
        b.add_bodies(parent[i:j], kinds[i:j], names=names[i:j], **{key: x[i:j] for key, x in columns.items()})

    models = []
    for steps in ([(one_by_one, 0, n)], [(at_once, 0, n)], [(one_by_one, 0, 4), (at_once, 4, 9), (one_by_one, 9, n)]):
        b = ModelBuilder()
        for add, i, j in steps:
            add(b, i, j)
        models.append(b.build())
    same(models[0], models[1])
    same(models[0], models[2])


def test_one_value_for_all():
    b = ModelBuilder()
    assert b.add_bodies([-1, 0, 1], "revolute", axis=(0, 1, 0), mass=2.0, inertia=np.eye(3)) == range(3)
    assert b.add_bodies([2], names=["tip"], mass=[3.0], inertia=np.eye(3)) == range(3, 4)
    assert b.add_bodies(np.zeros(0, dtype=int)) == range(4, 4)
    model = b.build()
    np.testing.assert_array_equal(model.mass, [2, 2, 2, 3])
    np.testing.assert_array_equal(model.axis[:, 1], [1, 1, 1, 0])
    assert model.body_names[3] == "tip"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(parent=[-1.0, 0.0]), "parent must be (a one-dimensional array of integers|an array of whole numbers)"),
        (dict(parent=[[-1, 0]]), "parent must be (a one-dimensional array of integers|an array of whole numbers)"),
        (dict(parent="ab"), "parent must be (a one-dimensional array of integers|an array of whole numbers)"),
        (dict(names=["a"]), "names has 1 entries for 2 bodies"),
        (dict(joint_names=["a", "b", "c"]), "joint_names has 3 entries for 2 bodies"),
        (dict(joint=["ball"]), "joint has 1 entries for 2 bodies"),
        (dict(mass=[1.0, 2.0, 3.0]), r"mass has shape \(3,\); for 2 bodies it must be \(\) or \(2,\)"),
        (dict(axis=np.ones((3, 3))), r"axis has shape \(3, 3\); for 2 bodies it must be \(3,\) or \(2, 3\)"),
        (dict(rotation=np.eye(2)), r"rotation has shape \(2, 2\)"),
        (dict(inertia=(1, 1, 1)), r"inertia has shape \(3,\)"),
        (dict(com="here"), "com must be numbers"),
        (dict(mass=["1", "2"]), "mass must be numbers"),
        (dict(mass=[1j, 2j]), "mass must be numbers"),
        (dict(position=[[0, 0, 0], [0, 0]]), "position must be numbers"),
    ],
)
def test_columns_that_do_not_fit(arguments, message):
    with pytest.raises(ModelError, match=message):
        ModelBuilder().add_bodies(**({"parent": [-1, 0]} | arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(parent=[-1, 2]), "parent of 'body1': 2 is not a body"),
        (dict(parent=[-1, -5]), "parent of 'body1': -5 is not a body"),
        (dict(parent=[1, 0]), "'body0' -> 'body1' -> 'body0' are each other's parents"),
        (dict(mass=[1.0, -1.0]), "body 'body1': mass is -1"),
        (dict(names=["a", "a"]), "two bodies are called 'a'"),
        (dict(joint=["ball", "bal"]), "body 'body1': no joint type named 'bal'"),
        (dict(rotation=np.stack([np.eye(3), -np.eye(3)])), "body 'body1': rotation is not a rotation matrix"),
        (dict(damping=[0.0, -1.0]), "joint 'body1_joint': damping must be finite"),
        (dict(axis=[(1, 0, 0), (0, 0, 0)]), "joint 'body1_joint': axis"),
    ],
)
def test_columns_are_checked_as_bodies_are(arguments, message):
    b = ModelBuilder()
    b.add_bodies(**({"parent": [-1, 0], "mass": 1.0, "inertia": np.eye(3)} | arguments))
    with pytest.raises(ModelError, match=message):
        b.build()


def test_a_column_that_does_not_fit_leaves_the_builder_as_it_was():
    b = ModelBuilder()
    b.add_body("a", **SOLID)
    with pytest.raises(ModelError):
        b.add_bodies([0, 0], mass=[1.0])
    assert len(b) == 1 and b.build().n_bodies == 1
    assert b.add_bodies([0], mass=1.0, inertia=np.eye(3)) == range(1, 2)


def test_frames_and_shapes_by_the_ten_thousand():
    """The work on each does not grow with their number: counted in calls, of which one may take 45."""

    def built(n: int) -> tuple[Model, int]:
        b = ModelBuilder()
        for i in range(n):
            b.add_body(f"b{i}", i - 1 if i else None, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
            b.add_frame(f"f{i}", f"b{i}", (i, 0, 0), (0, 0, 0, 1))
            b.add_visual(i, "sphere", (1.0,), (0, i, 0), np.eye(3))
        count = 0

        def event(frame: object, what: str, argument: object) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        sys.setprofile(event)
        try:
            return b.build(), count
        finally:
            sys.setprofile(None)

    built(10)
    (_, few), (model, many) = built(1000), built(10_000)
    assert many / 10_000 < min(few / 1000, 45)
    assert [f.position[0] for f in model.frames.values()] == list(range(10_000))
    assert [v.position[1] for v in model.visuals] == list(range(10_000))
    with pytest.raises(ValueError, match="read-only"):
        model.visuals[5].position[0] = 1.0


@pytest.mark.parametrize(
    ("position", "rotation", "message"),
    [
        ((0, 0), None, "position of frame 'bad' must be three finite numbers"),
        ((0, 0, np.nan), None, "position of frame 'bad' must be three finite numbers"),
        ("abc", None, "position of frame 'bad' must be three finite numbers"),
        ((0, 0, 0), (1, 1, 1, 1), "rotation of frame 'bad': quaternion"),
        ((0, 0, 0), 2 * np.eye(3), "rotation of frame 'bad' is not a rotation"),
        ((0, 0, 0), np.full((3, 3), np.nan), "rotation of frame 'bad' is not finite"),
        ((0, 0, 0), "abc", "rotation of frame 'bad' must be"),
    ],
)
def test_one_bad_frame_among_many_is_named(position, rotation, message):
    b = ModelBuilder()
    b.add_body("a", mass=1.0, com=(1, 0, 0))
    for i in range(5):
        b.add_frame(f"f{i}", "a", (0, 0, 1), (0, 0, 0, 1) if i % 2 else np.eye(3))
    assert len(b.build().frames) == 5
    b.add_frame("bad", "a", position, rotation)
    b.add_frame("f5", "a")
    with pytest.raises(ModelError, match=message):
        b.build()
