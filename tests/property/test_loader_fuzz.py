"""Whatever is in the file, the URDF loader returns a model or raises a SuppleError, nothing else."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from supple.errors import ParseError, SuppleError
from supple.files import load

#: One of everything the loader reads.
SEED = b"""<?xml version="1.0"?>
<robot name="seed" version="1.0">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <visual name="v"><origin xyz="0 0 1" rpy="0 0 1"/><geometry><box size="1 2 3"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><mesh filename="package://a/b.stl" scale="1 1 1"/></geometry></visual>
    <visual><geometry><cylinder radius="1" length="2"/></geometry>
      <material name=""><color rgba="0 0 0 1"/></material></visual>
    <collision><geometry><sphere radius="1"/></geometry></collision>
  </link>
  <link name="upper"><inertial><origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/><mass value="2"/>
    <inertia ixx="1" ixy="0.1" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="lower"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="hand"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute"><origin xyz="0 0 1" rpy="0 1 0"/><parent link="base"/>
    <child link="upper"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="5"/>
    <dynamics damping="1" friction="2"/><safety_controller k_velocity="1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <mimic joint="shoulder"/></joint>
  <joint name="wrist" type="planar"><parent link="lower"/><child link="hand"/><axis xyz="0 0 1"/></joint>
  <joint name="grip" type="fixed"><parent link="hand"/><child link="tool"/></joint>
  <transmission name="t"><type>x</type></transmission>
</robot>
"""

VALUES = st.sampled_from(
    [
        "0",
        "-0",
        "1e308",
        "-1e308",
        "1e-320",
        "nan",
        "inf",
        "-1",
        "1 2",
        "1 2 3",
        "0 0 0",
        "1e200 0 0",
        "1e59 0 0",
    ]
    + [
        "base",
        "upper",
        "tool",
        "root_joint",
        "world",
        "fixed",
        "floating",
        "prismatic",
        "revolute",
        "\U0001f916",
    ]
    + ["../../../etc/passwd", "package://..//x", "http://x/y"]
) | st.text(
    alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FF, blacklist_categories=["Cc", "Cs"]),
    max_size=12,
)

TAGS = (
    "robot",
    "link",
    "joint",
    "inertial",
    "mass",
    "origin",
    "limit",
    "visual",
    "geometry",
    "material",
    "odd",
)

QUICK = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def try_to_load(path: Path, data: bytes, **options: bool) -> None:
    """Load; what loads must be a model of finite numbers in parents-first order."""
    path.write_bytes(data)
    try:
        model = load(path, **options)
    except SuppleError as e:
        assert isinstance(e, ParseError) and e.file == str(path) and str(e).startswith(str(path))
        return
    assert (model.parent < np.arange(model.n_bodies)).all()
    for numbers in (model.position, model.rotation, model.axis, model.mass, model.com, model.inertia):
        assert np.isfinite(numbers).all()
    assert np.abs(np.linalg.norm(model.axis, axis=1) - 1).max() < 1e-12
    assert (model.lower <= model.upper).all()


def mutate(draw: st.DrawFn, root: etree._Element) -> None:
    """One random change to a tree of elements."""
    elements = [e for e in root.iter() if isinstance(e.tag, str)]
    element = draw(st.sampled_from(elements))
    change = draw(st.sampled_from(["delete", "repeat", "move", "rename", "set", "unset", "swap", "text"]))
    parent = element.getparent()
    attributes = sorted(element.attrib)
    if change == "delete" and parent is not None:
        parent.remove(element)
    elif change == "repeat" and parent is not None:
        parent.insert(draw(st.integers(0, len(parent))), copy.deepcopy(element))
    elif change == "move" and parent is not None:
        target = draw(st.sampled_from(elements))
        if element not in [target, *target.iterancestors()]:
            target.append(element)
    elif change == "rename":
        element.tag = draw(st.sampled_from(TAGS))
    elif change == "set" and attributes:
        element.set(draw(st.sampled_from(attributes)), draw(VALUES))
    elif change == "unset" and attributes:
        del element.attrib[draw(st.sampled_from(attributes))]
    elif change == "swap" and attributes:
        others = [e for e in elements if e.attrib]
        other = draw(st.sampled_from(others))
        element.set(draw(st.sampled_from(attributes)), draw(st.sampled_from(sorted(other.attrib.values()))))
    elif change == "text":
        element.text = draw(VALUES)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    root = etree.fromstring(SEED)
    for _ in range(draw(st.integers(1, 6))):
        mutate(draw, root)
    out: bytes = etree.tostring(root)
    return out


@QUICK
@given(data=mutated(), floating_base=st.booleans(), strict=st.booleans())
def test_mutated_robots(tmp_path: Path, data: bytes, floating_base: bool, strict: bool) -> None:
    try_to_load(tmp_path / "robot.urdf", data, floating_base=floating_base, strict=strict)


@QUICK
@given(
    edits=st.lists(
        st.tuples(st.integers(0, len(SEED)), st.integers(0, 20), st.binary(max_size=20)),
        min_size=1,
        max_size=5,
    )
)
def test_mutated_bytes(tmp_path: Path, edits: list[tuple[int, int, bytes]]) -> None:
    data = SEED
    for at, length, new in edits:
        data = data[:at] + new + data[at + length :]
    try_to_load(tmp_path / "robot.urdf", data)


@QUICK
@given(
    st.binary(max_size=500),
    st.sampled_from([b"", b"<robot name='r'>", b"<?xml version='1.0'?>", b"\xff\xfe"]),
)
def test_random_bytes(tmp_path: Path, data: bytes, head: bytes) -> None:
    for name in ("robot.urdf", "robot.xml"):
        if b"<mujoco" not in data:
            try_to_load(tmp_path / name, head + data)


def test_the_seed_itself_loads(tmp_path: Path) -> None:
    """Guards the tests above: they start from a robot that is right."""
    (tmp_path / "robot.urdf").write_bytes(SEED)
    model = load(tmp_path / "robot.urdf")
    assert model.joint_names == ("shoulder", "elbow", "wrist")
    (tmp_path / "robot.urdf").write_bytes(SEED.replace(b'link="base"', b'link="basis"'))
    with pytest.raises(ParseError, match="did you mean 'base'"):
        load(tmp_path / "robot.urdf")
