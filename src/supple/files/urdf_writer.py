"""Model -> URDF, every number written so that it is read back exactly.

  - A body is a link; so is a frame, on a fixed joint "<frame>_fixed". What hangs on the world hangs on a root
    link: the first frame at the world's origin if there is one (the root link of a robot read from a URDF),
    else "world".
  - A revolute joint without limits is written as continuous, and other missing limits as ±1.797...e308, for
    URDF insists on numbers; `load` reads them as none.
  - Universal and cylindrical joints, which URDF lacks, are refused, or split into two joints each with a
    massless link between; q and v keep their layout. Ball and screw joints cannot be written.
  - Relations of pairs of joints are written as <mimic> (urdf_mimic.py). Loops cannot be written.
  - Shapes that touch are written as <collision>, but for hulls, planes and height fields, which URDF keeps in files or
    lacks.
  - Children of one body come back in the alphabetical order of their joints' names: so are URDFs read.
What URDF cannot hold is remarked upon, and stands in a comment at the top.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from supple.arguments import checked_model
from supple.errors import ModelError
from supple.files.urdf_mimic import COUPLED, written
from supple.model.builder import GRAVITY
from supple.model.geometry import rpy_from_rotation
from supple.model.joints import KINDS, JointType
from supple.model.model import Model, Visual
from supple.model.report import Remark, Report
from supple.model.shapes import Shape
from supple.writing import write_file

Element = Any  # lxml's, which has no types
Floats = NDArray[np.float64]


SIMPLE = ("box", "sphere", "cylinder", "capsule")
LAW = ("friction", "restitution", "margin", "group", "mask", "apart")


@dataclass(frozen=True)
class Part:
    """One URDF joint: a joint of the model, or half of a split one. q, v: where its numbers stand."""

    name: str
    kind: str
    axis: Floats
    q: slice
    v: slice


def to_urdf(model: Model, *, split: bool = False) -> str:
    """The model as URDF text. Meshes are named by absolute paths.

    split: write universal and cylindrical joints as two joints each.
    Raises ModelError naming the joint if URDF has no such type.
    """
    return _Writer(model, split, None).text()


@checked_model
def save_urdf(model: Model, path: str | Path, *, split: bool = False) -> Report:
    """Write the model to a URDF file; returns what URDF could not hold.

    Meshes below the file's folder are named relative to it, others by their absolute paths. See to_urdf.
    """
    writer = _Writer(model, split, Path(os.path.realpath(path)).parent)  # bears links that lead to themselves
    text = writer.text()
    write_file(path, text, ModelError)
    return Report(str(path), tuple(writer.remarks))


class _Writer:
    def __init__(self, model: Model, split: bool, folder: Path | None) -> None:
        self.model, self.split, self.folder = model, split, folder
        self.remarks: list[Remark] = []
        self.robot: Element = etree.Element("robot", name=model.name or "model")
        self.joint_names = set(model.joint_names)
        self.link_names = set(model.body_names)
        self.visuals: dict[int | None, list[Visual]] = {}
        self.shapes: dict[int | None, list[Shape]] = {}
        for visual in model.visuals:
            self.visuals.setdefault(visual.body, []).append(visual)
        for shape in model.shape_list:
            self.shapes.setdefault(shape.body, []).append(shape)
        coupled = [name for i, name in enumerate(model.joint_names) if model.joints[i].type in COUPLED]
        self.mimics, self.unwritten = written(model.relation_list, coupled)

    def text(self) -> str:
        try:
            self._write()
            etree.indent(self.robot)
            out: str = etree.tostring(self.robot, encoding="unicode")
        except ValueError as e:  # lxml refuses control characters in names
            if isinstance(e, ModelError):
                raise
            raise ModelError(f"a name cannot be written as XML: {e}") from None
        return '<?xml version="1.0" encoding="utf-8"?>\n' + out + "\n"

    def _write(self) -> None:
        model = self.model
        self._remark_model()
        frames = list(model.frame_list)
        root = next((f for f in frames if f.body < 0 and _is_identity(f.position, f.rotation)), None)
        if root is not None:
            frames.remove(root)
        root_name = self._unused(self.link_names, "world" if root is None else root.name)
        self._link(root_name, -1)
        for i, body in enumerate(model.body_names):
            parent = root_name if model.parent[i] < 0 else model.body_names[model.parent[i]]
            self._body(i, body, parent)
        for frame in frames:
            name = self._unused(self.link_names, frame.name)
            if name != frame.name:
                self._remark("frame", f"frame {frame.name!r} is written as {name!r}: a link has that name already")
            self._link(name)
            joint = self._unused(self.joint_names, f"{name}_fixed")
            parent = root_name if frame.body < 0 else model.body_names[frame.body]
            self._joint_head(joint, "fixed", parent, name, frame.position, frame.rotation)
        if self.remarks:
            lines = "\n".join(f"  {r.message}" for r in self.remarks)
            comment = "What URDF cannot hold, or holds otherwise:\n" + lines + "\n"
            while "--" in comment:  # forbidden in XML comments
                comment = comment.replace("--", "- -")
            self.robot.insert(0, etree.Comment(f" {comment}"))

    # --- links ------------------------------------------------------------------------------------

    def _link(self, name: str, body: int | None = None) -> None:
        """A link with what is on a body; -1 is the world, None nothing."""
        link = etree.SubElement(self.robot, "link", name=name)
        m = self.model
        if body is not None and body >= 0 and (m.mass[body] > 0 or m.com[body].any() or m.inertia[body].any()):
            inertial = etree.SubElement(link, "inertial")
            etree.SubElement(inertial, "origin", xyz=_numbers(m.com[body]))
            etree.SubElement(inertial, "mass", value=_number(m.mass[body]))
            I = m.inertia[body]
            where = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
            etree.SubElement(inertial, "inertia", {key: _number(I[at]) for key, at in where.items()})
        for visual in self.visuals.get(body, ()):
            self._visual(link, visual)
        for shape in self.shapes.get(body, ()):
            self._collision(link, shape)

    def _visual(self, link: Element, visual: Visual) -> None:
        form = _form(visual.kind, visual.size)
        if visual.kind == "mesh" and visual.mesh is not None:
            form = etree.Element("mesh", filename=self._mesh_name(visual.mesh), scale=_numbers(visual.size))
        if form is None:
            self._remark("visual", f"the {visual.kind} of link {link.get('name')!r} has no form in URDF: left out")
            return
        element = etree.SubElement(link, "visual", {} if visual.name is None else {"name": visual.name})
        _origin(element, visual.position, visual.rotation)
        etree.SubElement(element, "geometry").append(form)
        if visual.rgba is not None:
            material = etree.SubElement(element, "material", name="")
            etree.SubElement(material, "color", rgba=_numbers(visual.rgba))

    def _collision(self, link: Element, shape: Shape) -> None:
        form = _form(shape.kind, shape.size)
        if form is None:
            return
        element = etree.SubElement(link, "collision", name=shape.name)
        _origin(element, shape.position, shape.rotation)
        etree.SubElement(element, "geometry").append(form)

    def _mesh_name(self, mesh: str) -> str:
        if self.folder is not None and Path(mesh).is_relative_to(self.folder):
            return os.path.relpath(mesh, self.folder)
        return mesh

    # --- joints -----------------------------------------------------------------------------------

    def _body(self, i: int, body: str, parent: str) -> None:
        m = self.model
        parts = self._parts(i)
        position, rotation = m.position[i], m.rotation[i]
        for part in parts[:-1]:
            link = self._unused(self.link_names, f"{body}_{part.kind}")
            self._link(link)
            self._joint(part, parent, link, position, rotation)
            parent, position, rotation = link, np.zeros(3), np.eye(3)
        self._link(body, i)
        self._joint(parts[-1], parent, body, position, rotation)

    def _parts(self, i: int) -> list[Part]:
        """The URDF joints that make up joint i."""
        m = self.model
        joint = m.joints[i]
        kind = KINDS[JointType[joint.type.upper()]]
        if kind.urdf:
            return [self._part(joint.name, kind.urdf, joint.axis, joint.q, joint.v)]
        if not kind.urdf_split:
            raise ModelError(f"joint {joint.name!r} is {joint.type}, which URDF does not have")
        if not self.split:
            raise ModelError(
                f"joint {joint.name!r} is {joint.type}, which URDF does not have; split=True writes it as two"
            )
        axes = (joint.axis, m.axis2[i] if kind.axes == 2 else joint.axis)
        parts = []
        for k, (half, axis) in enumerate(zip(kind.urdf_split, axes)):
            name = self._unused(self.joint_names, f"{joint.name}_{k + 1}")
            q, v = (slice(at.start + k, at.start + k + 1) for at in (joint.q, joint.v))
            parts.append(self._part(name, half, axis, q, v))
        names = " and ".join(repr(part.name) for part in parts)
        self._remark("split", f"joint {joint.name!r} ({joint.type}) is written as {names}")
        return parts

    def _part(self, name: str, kind: str, axis: Floats, q: slice, v: slice) -> Part:
        if kind == "revolute" and self.model.lower[q][0] == -math.inf and self.model.upper[q][0] == math.inf:
            kind = "continuous"
        return Part(name, kind, axis, q, v)

    def _joint(self, part: Part, parent: str, child: str, position: Floats, rotation: Floats) -> None:
        m = self.model
        joint = self._joint_head(part.name, part.kind, parent, child, position, rotation)
        if part.kind != "floating":
            etree.SubElement(joint, "axis", xyz=_numbers(part.axis))
        effort = self._one("effort_limit", part, m.effort_limit[part.v], math.inf)
        velocity = self._one("velocity_limit", part, m.velocity_limit[part.v], math.inf)
        limit = {"effort": _number(effort), "velocity": _number(velocity)}
        lower, upper = m.lower[part.q], m.upper[part.q]
        if part.kind in ("revolute", "prismatic"):
            limit |= {"lower": _number(lower[0]), "upper": _number(upper[0])}
            etree.SubElement(joint, "limit", limit)
        else:
            if np.isfinite(lower).any() or np.isfinite(upper).any():
                self._remark("limit", f"joint {part.name!r}: a {part.kind} joint of URDF has no limits of position")
            if math.isfinite(effort) or math.isfinite(velocity):
                etree.SubElement(joint, "limit", limit)
        damping = self._one("damping", part, m.damping[part.v], 0.0)
        friction = self._one("friction", part, m.friction[part.v], 0.0)
        if damping or friction:
            etree.SubElement(joint, "dynamics", damping=_number(damping), friction=_number(friction))
        mimic = self.mimics.get(part.name)
        if mimic is not None:
            numbers = {"multiplier": _number(mimic.multiplier), "offset": _number(mimic.offset)}
            etree.SubElement(joint, "mimic", {"joint": mimic.leader, **numbers})
        for what in ("armature", "stiffness"):
            values = getattr(m, what)[part.v]
            if values.any():
                self._remark(what, f"joint {part.name!r}: {what} {values.tolist()} has no place in URDF")

    def _joint_head(self, name: str, kind: str, parent: str, child: str, position: Floats, rotation: Floats) -> Element:
        joint = etree.SubElement(self.robot, "joint", name=name, type=kind)
        _origin(joint, position, rotation)
        etree.SubElement(joint, "parent", link=parent)
        etree.SubElement(joint, "child", link=child)
        return joint

    def _one(self, what: str, part: Part, values: Floats, otherwise: float) -> float:
        """The one number URDF has for a joint; if its degrees of freedom differ, `otherwise`."""
        if (values == values[0]).all():
            return float(values[0])
        self._remark(what, f"joint {part.name!r}: URDF has one {what}, not {values.tolist()}; it is left out")
        return otherwise

    # --- remarks and names ------------------------------------------------------------------------

    def _remark(self, subject: str, message: str) -> None:
        self.remarks.append(Remark(subject, message))

    def _remark_model(self) -> None:
        m = self.model
        if not np.array_equal(m.gravity, GRAVITY):
            self._remark("gravity", f"gravity {m.gravity.tolist()} has no place in URDF")
        self._remark_lost("actuator", [x.name for x in m.actuator_list])
        self._remark_lost("loop", [x.name for x in m.loop_list])
        shapes = [x.name for x in m.shape_list if x.kind not in SIMPLE]
        self._remark_lost("shape", shapes, ", which has boxes, spheres, cylinders and capsules")
        law = [x.name for x in m.shape_list if x.kind in SIMPLE and _has_law(x)]
        self._remark_lost("friction, restitution, margin or groups of shape", law)
        self._remark_lost("relation", self.unwritten, ", whose joints each follow one other")
        by_parent: dict[int, str] = {}
        for i, name in enumerate(m.joint_names):
            p = int(m.parent[i])
            if by_parent.get(p, "") > name:
                self._remark("order", "the bodies come back in another order: children sorted by their joints' names")
                break
            by_parent[p] = name

    def _remark_lost(self, what: str, names: list[str], more: str = "") -> None:
        """On parts of the model that are not written, if there are any."""
        if names:
            some = ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)
            self._remark(what, f"{what} {some}: has no place in URDF{more}")

    def _unused(self, names: set[str], wanted: str) -> str:
        """A name not yet in a set, into which it is put."""
        while wanted in names:
            wanted += "_"
        names.add(wanted)
        return wanted


def _has_law(shape: Shape) -> bool:
    """Whether a shape has more than its form."""
    return any(getattr(shape, x) != Shape.__dataclass_fields__[x].default for x in LAW)


def _form(kind: str, size: Sequence[float]) -> Element | None:
    """The element of a simple shape; None for others."""
    if kind == "box":
        return etree.Element("box", size=_numbers(size))
    if kind == "sphere":
        return etree.Element("sphere", radius=_number(size[0]))
    if kind in ("cylinder", "capsule"):
        return etree.Element(kind, radius=_number(size[0]), length=_number(size[1]))
    return None


def _is_identity(position: Floats, rotation: Floats) -> bool:
    return not position.any() and np.array_equal(rotation, np.eye(3))


def _origin(element: Element, position: Floats, rotation: Floats) -> None:
    if not _is_identity(position, rotation):
        etree.SubElement(element, "origin", xyz=_numbers(position), rpy=_numbers(rpy_from_rotation(rotation)))


def _number(x: float) -> str:
    """The shortest text that is read back as x; the largest number for infinity."""
    return repr(float(x)) if math.isfinite(x) else repr(math.copysign(sys.float_info.max, x))


def _numbers(xs: Iterable[float]) -> str:
    return " ".join(map(_number, xs))
