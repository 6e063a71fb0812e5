"""URDF -> ModelBuilder. Everything a file says is used, refused with its line, or in model.report.

Conventions
  - Bodies carry the names of links, joints those of joints. A link on a fixed joint becomes a named frame.
  - Children of a link come in the alphabetical order of their joints' names, depth first, as in Pinocchio
    (urdfdom keeps joints sorted by name), so q and v can be passed between the two. A continuous joint is one
    angle here, (cos, sin) there.
  - The root link is fixed to the world, or rides on a free joint named "root_joint".
  - A planar joint moves in the plane normal to its axis, as URDF says. (Pinocchio takes z whatever the axis.)
  - A joint that mimics another is in a relation with it (urdf_mimic.py). Dry friction acts (model_law.py).
  - Limits of position, velocity and effort are kept; they act only where supple.Limits is among the forces.
  - Limits of ±1.797...e308, the largest number, mean none: URDF has no infinity, and our writer must say it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from supple.errors import ModelError, ParseError
from supple.files.meshes import MeshFinder
from supple.files.urdf_collisions import add_collisions
from supple.files.urdf_mimic import Mimic, add_mimics, read_mimic
from supple.files.urdf_visuals import Shape, VisualReader, read_origin
from supple.files.xml import Document, Element, Floats, children, line_of, tag_of
from supple.model.builder import GRAVITY, ModelBuilder
from supple.model.joints import KINDS, JointName
from supple.model.model import Model, unknown
from supple.model.report import Report

ROOT_JOINT = "root_joint"

XACRO = "ros.org/wiki/xacro}"  #: how its namespace ends

UNIT = 1e-3  #: by how much the length of an axis may differ from one before it is remarked upon

#: The axis of a joint that names none.
X_AXIS = np.array([1.0, 0.0, 0.0])

#: URDF's joint types, as ours.
TYPES: dict[str, JointName] = {
    kind.urdf: t.name.lower()  # type: ignore[misc]
    for t, kind in KINDS.items()
    if kind.urdf
}

#: The parts of a joint that mean nothing for a type.
MEANINGLESS = {
    "fixed": ("axis", "limit", "dynamics"),
    "floating": ("axis",),
}


@dataclass(frozen=True)
class Link:
    line: int | None
    mass: float
    com: Floats
    inertia: Floats
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Joint:
    line: int | None
    type: JointName
    parent: str
    child: str
    position: Floats
    rotation: Floats
    axis: Floats
    #: Limits and dynamics, named as add_body's arguments.
    numbers: dict[str, float] = field(default_factory=dict)
    mimic: Mimic | None = None


def load_urdf(
    path: str | Path,
    floating_base: bool = False,
    gravity: ArrayLike | None = None,
    *,
    package_dirs: Sequence[str | Path] | None = None,
    strict: bool = False,
    loops: bool = True,
) -> Model:
    """Read a URDF file. What the file says and the model does not use is in model.report.

    floating_base: put the root link on a free joint named "root_joint" instead of fixing it to the world.
    package_dirs: folders that hold packages, or are packages; meshes named package://... are sought there.
    strict: refuse inertias no real body has, joints that move no inertia, and joints that mimic one that is not there,
    instead of reporting them.
    loops: read joints that mimic others as such; otherwise they move on their own.
    """
    doc = Document(path)
    root = doc.root
    if tag_of(root) != "robot":
        doc.fail(root, "not a URDF, whose outermost element is <robot>")
    _refuse_xacro(doc)
    visuals = VisualReader(doc, MeshFinder(doc.path, package_dirs))
    doc.unused(root, ("name", "version"), ("link", "joint", "material", "gazebo"))
    links, joints = _read_robot(doc, visuals, loops)
    base = _check_tree(doc, links, joints)
    builder = ModelBuilder(doc.text(root, "name"), GRAVITY if gravity is None else gravity)
    _add_all(builder, base, links, joints, floating_base)
    mimics = {name: joint.mimic for name, joint in joints.items() if joint.mimic is not None}
    add_mimics(doc, builder, {name: joint.type for name, joint in joints.items()}, mimics, strict)
    add_collisions(doc, visuals.meshes, builder)
    policy = "refuse" if strict else "report"
    try:
        model = builder.build(unphysical_inertia=policy, singular=policy)
    except ModelError as e:
        raise ParseError(_explain(str(e)), doc.file, _line_named(str(e), links, joints)) from None
    found = [replace(r, line=_line_named(r.message, links, joints)) for r in model.report]
    remarks = sorted(doc.remarks + found, key=lambda r: math.inf if r.line is None else r.line)
    return replace(model, report=Report(doc.file, tuple(remarks)))


def _refuse_xacro(doc: Document) -> None:
    """Refuse the elements of xacro, under whatever prefix, and names that it would have to fill in."""
    for element in doc.root.iter():
        if not isinstance(element.tag, str):
            continue
        named = str(element.get("name") if tag_of(element) in ("link", "joint") else element.get("link"))
        if element.prefix == "xacro" or XACRO in element.tag or "${" in named or "$(" in named:
            doc.fail(element, "this is xacro, not URDF; expand it first: xacro robot.urdf.xacro > robot.urdf")


# --- reading --------------------------------------------------------------------------------------


def _read_robot(doc: Document, visuals: VisualReader, loops: bool) -> tuple[dict[str, Link], dict[str, Joint]]:
    links: dict[str, Link] = {}
    joints: dict[str, Joint] = {}
    for element in children(doc.root):
        tag = tag_of(element)
        if tag == "material":
            visuals.read_material(element)
        if tag not in ("link", "joint"):
            continue
        known: dict[str, Link] | dict[str, Joint] = links if tag == "link" else joints
        name = doc.text(element, "name")
        if name in known:
            doc.fail(element, f"a second {tag} of this name (the first is in line {known[name].line}); rename one")
        if tag == "link":
            links[name] = _read_link(doc, element, visuals)
        else:
            joints[name] = _read_joint(doc, element, loops)
    if not links:
        doc.fail(doc.root, "the robot has no link")
    return links, joints


def _read_link(doc: Document, element: Element, visuals: VisualReader) -> Link:
    doc.unused(element, ("name",), ("inertial", "visual", "collision", "contact"))
    shapes = visuals.read(element)
    inertial = doc.child(element, "inertial")
    if inertial is None:
        return Link(line_of(element), 0.0, np.zeros(3), np.zeros((3, 3)), shapes)
    doc.unused(inertial, (), ("origin", "mass", "inertia"))
    com, R = read_origin(doc, inertial)
    mass = doc.required(inertial, "mass")
    doc.unused(mass, ("value",))
    m = doc.number(mass, "value")
    if m < 0:
        doc.fail(mass, f"the mass is {m:g}; it cannot be negative")
    inertia = doc.required(inertial, "inertia")
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    doc.unused(inertia, names)
    xx, xy, xz, yy, yz, zz = (doc.number(inertia, name) for name in names)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Link(line_of(element), m, com, R @ I @ R.T, shapes)


def _read_joint(doc: Document, element: Element, loops: bool) -> Joint:
    doc.unused(element, ("name", "type"), ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"))
    kind = doc.text(element, "type")
    if kind not in TYPES:
        doc.fail(element, unknown("joint type", kind, list(TYPES)))
    for tag in MEANINGLESS.get(kind, ()):
        part = doc.child(element, tag)
        if part is not None:
            doc.remark(tag, part, f"means nothing on a {kind} joint and is not used")
    parent, child = (_read_end(doc, element, tag) for tag in ("parent", "child"))
    position, rotation = read_origin(doc, element)
    axis = X_AXIS if kind in ("fixed", "floating") else _read_axis(doc, element)
    numbers = {} if kind == "fixed" else _read_limit(doc, element, kind) | _read_dynamics(doc, element, kind)
    mimic = read_mimic(doc, element, kind, loops)
    return Joint(line_of(element), TYPES[kind], parent, child, position, rotation, axis, numbers, mimic)


def _read_end(doc: Document, joint: Element, tag: str) -> str:
    end = doc.required(joint, tag)
    doc.unused(end, ("link",))
    return doc.text(end, "link")


def _read_axis(doc: Document, joint: Element) -> Floats:
    element = doc.child(joint, "axis")
    if element is None:
        return X_AXIS
    doc.unused(element, ("xyz",))
    axis = doc.vector(element, "xyz")
    length = float(np.linalg.norm(axis))
    if not length > 1e-9:
        doc.fail(element, f"axis {axis.tolist()} has no direction")
    if abs(length - 1) > UNIT:
        doc.remark("axis", element, f"has length {length:.6g}; only its direction is used")
    return axis


def _read_limit(doc: Document, joint: Element, kind: str) -> dict[str, float]:
    element = doc.child(joint, "limit")
    bounded = kind in ("revolute", "prismatic")
    if element is None:
        if bounded:
            doc.remark("limit", joint, f"a {kind} joint should have a <limit>; it is taken to have none")
        return {}
    doc.unused(element, ("effort", "velocity", *(("lower", "upper") if bounded else ())))
    most = sys.float_info.max
    out = {f"{what}_limit": doc.number(element, what, largest=most) for what in ("effort", "velocity")}
    if bounded:
        out |= {what: doc.number(element, what, 0.0, largest=most) for what in ("lower", "upper")}
    return {k: math.copysign(math.inf, x) if abs(x) == most else x for k, x in out.items()}


def _read_dynamics(doc: Document, joint: Element, kind: str) -> dict[str, float]:
    element = doc.child(joint, "dynamics")
    if element is None:
        return {}
    doc.unused(element, ("damping", "friction"))
    out = {what: doc.number(element, what, 0.0) for what in ("damping", "friction")}
    for what, value in out.items():
        if value and kind in ("floating", "planar"):
            doc.remark(what, element, f"{what} of a {kind} joint acts alike on all its velocities, m/s and rad/s")
    return out


# --- the tree -------------------------------------------------------------------------------------


def _check_tree(doc: Document, links: dict[str, Link], joints: dict[str, Joint]) -> str:
    """The name of the one link without a parent. Cycles are left to the builder."""
    above: dict[str, str] = {}
    for name, joint in joints.items():
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ParseError(f"joint {name!r}: {unknown('link', link, list(links))}", doc.file, joint.line)
        if joint.child in above:
            raise ParseError(
                f"joint {name!r}: link {joint.child!r} already hangs on joint {above[joint.child]!r}; "
                "a link has one parent, and closed loops must be cut",
                doc.file,
                joint.line,
            )
        above[joint.child] = name
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        shown = ", ".join(map(repr, roots[:5])) + (", ..." if len(roots) > 5 else "")
        raise ParseError(
            f"{len(roots)} links have no parent: {shown}; a robot has one root, so join the others to it",
            doc.file,
            links[roots[1]].line,
        )
    if not roots:
        name, joint = next(iter(joints.items()))
        raise ParseError(
            f"every link has a parent (link {joint.child!r} by joint {name!r}): they form a cycle",
            doc.file,
            joint.line,
        )
    return roots[0]


def _add_all(
    builder: ModelBuilder, base: str, links: dict[str, Link], joints: dict[str, Joint], floating_base: bool
) -> None:
    root_joint = ROOT_JOINT
    kind: JointName = "free" if floating_base else "fixed"
    while not floating_base and root_joint in joints:  # a fixed joint leaves no name behind, so any free one will do
        root_joint += "_"
    all_joints = [(root_joint, Joint(None, kind, "", base, np.zeros(3), np.eye(3), X_AXIS))]
    all_joints += sorted(joints.items())
    number = {joint.child: i for i, (_, joint) in enumerate(all_joints)}
    for name, joint in all_joints:
        link = links[joint.child]
        body = builder.add_body(
            joint.child,
            None if joint.child == base else number[joint.parent],
            joint.type,
            axis=joint.axis,
            position=joint.position,
            rotation=joint.rotation,
            mass=link.mass,
            com=link.com,
            inertia=link.inertia,
            joint_name=name,
            **joint.numbers,
        )
        for s in link.shapes:
            builder.add_visual(body, s.kind, s.size, s.position, s.rotation, s.rgba, s.mesh, s.name)


def _explain(message: str) -> str:
    """The builder's message, with the way out that a file has."""
    if message.startswith("every joint is fixed"):
        return "every joint is fixed: nothing can move; floating_base=True (--floating-base) lets the robot move"
    return message


def _line_named(message: str, links: dict[str, Link], joints: dict[str, Joint]) -> int | None:
    """The line of the first link or joint that a message of the builder names."""
    for _, name in re.findall(r"(['\"])(.*?)\1", message):
        part = links.get(name) or joints.get(name)
        if part is not None:
            return part.line
    return None
