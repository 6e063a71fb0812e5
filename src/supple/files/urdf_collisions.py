"""The shapes by which a URDF's links touch: its <collision> elements.

URDF itself has no friction. It is read from two extensions: <contact> in a link, which Bullet reads, and <gazebo> for a
link.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from supple.errors import ModelError, ParseError
from supple.files.mesh_corners import KINDS, hull_of
from supple.files.meshes import MeshFinder
from supple.files.urdf_visuals import read_origin
from supple.files.xml import Document, Element, Floats, children, tag_of
from supple.model.builder import ModelBuilder
from supple.model.shapes import sound_points, sound_size

TAGS = ("box", "sphere", "cylinder", "capsule", "mesh")


@dataclass(frozen=True)
class Collision:
    """One <collision>: the arguments of ModelBuilder.add_shape."""

    kind: str
    size: tuple[float, ...]
    position: Floats
    rotation: Floats
    name: str | None
    points: Floats | None = None


def add_collisions(doc: Document, meshes: MeshFinder, builder: ModelBuilder) -> None:
    """All of a document. Shapes get the names they have, or their links', with a number where that is taken."""
    reader, friction, taken = CollisionReader(doc, meshes), read_friction(doc), set[str]()
    for link in (c for c in children(doc.root) if tag_of(c) == "link"):
        mu = friction.get(link.get("name"))
        for s in reader.read(link):
            given = s.name or link.get("name")
            name, k = given, 1
            while name in taken:
                k += 1
                name = f"{given}_{k}"
            taken.add(name)
            builder.add_shape(
                link.get("name"), s.kind, s.size, s.position, s.rotation, name=name, points=s.points, friction=mu
            )


def read_friction(doc: Document) -> dict[str | None, float]:
    """Friction coefficients of links, where they are given; the last one counts."""
    found: dict[str | None, float] = {}
    links = {c.get("name") for c in children(doc.root) if tag_of(c) == "link"}
    for element in children(doc.root):
        if tag_of(element) == "link":
            contact = doc.child(element, "contact")
            given = [] if contact is None else _coefficients(doc, contact, "lateral_friction")
            name = element.get("name")
        elif tag_of(element) == "gazebo":
            given, name = _coefficients(doc, element, "mu1", "mu2"), element.get("reference")
        else:
            continue
        if given and name not in links:
            doc.remark(tag_of(element), element, "there is no such link")
        elif given:
            found[name] = min(given)
    return found


def _coefficients(doc: Document, element: Element, *tags: str) -> list[float]:
    """The coefficients with these tags in an element."""
    parts = [part for tag in tags if (part := doc.child(element, tag)) is not None]
    others = sorted({f"<{tag_of(part)}>" for part in children(element)} - {f"<{tag}>" for tag in tags})
    if not parts:
        doc.remark(tag_of(element), element, "not used")
    elif others:
        doc.remark(tag_of(element), element, f"{', '.join(others)} not used")
    found = [doc.value(part) for part in parts]
    for part, x in zip(parts, found):
        if x < 0.0:
            doc.fail(part, f"the friction coefficient is {x:g}; it cannot be negative")
    if len(set(found)) > 1:
        doc.remark(tag_of(element), element, "friction is the same in all directions; the smaller coefficient is used")
    return found


class CollisionReader:
    """Reads the collision geometry of one document."""

    def __init__(self, doc: Document, meshes: MeshFinder) -> None:
        self.doc, self.meshes = doc, meshes

    def read(self, link: Element) -> list[Collision]:
        found = (self._shape(c) for c in children(link) if tag_of(c) == "collision")
        return [shape for shape in found if shape is not None]

    def _shape(self, collision: Element) -> Collision | None:
        doc = self.doc
        doc.unused(collision, ("name",), ("origin", "geometry"))
        position, rotation = read_origin(doc, collision)
        geometry = doc.child(collision, "geometry")
        shapes = [] if geometry is None else [c for c in children(geometry) if tag_of(c) in TAGS]
        if geometry is None or not shapes:
            other = [] if geometry is None else [f"<{tag_of(c)}>" for c in children(geometry)]
            why = f"{', '.join(other)} is not supported" if other else "has no <geometry> with a shape"
            doc.remark("collision", collision, f"{why}, so nothing touches there")
            return None
        doc.unused(geometry, (), TAGS)
        for extra in shapes[1:]:
            doc.remark("collision", extra, "a geometry holds one shape; the first is used")
        kind, size, points = self._form(shapes[0])
        if kind is None:
            return None
        return Collision(kind, size, position, rotation, collision.get("name"), points)

    def _form(self, shape: Element) -> tuple[str | None, tuple[float, ...], Floats | None]:
        """Kind, size and points. What no shape has is refused here, where the line is known."""
        doc, kind = self.doc, tag_of(shape)
        if kind == "mesh":
            return self._hull(shape)
        attributes = {"box": ("size",), "sphere": ("radius",)}.get(kind, ("radius", "length"))
        doc.unused(shape, attributes)
        size = doc.vector(shape, "size") if kind == "box" else np.array([doc.number(shape, x) for x in attributes])
        try:
            return kind, sound_size(f"this {kind}", kind, size), None
        except ModelError as e:
            doc.fail(shape, str(e))

    def _hull(self, shape: Element) -> tuple[str | None, tuple[float, ...], Floats | None]:
        doc, name = self.doc, self.doc.text(shape, "filename")
        doc.unused(shape, ("filename", "scale"))
        scale = doc.vector(shape, "scale", (1.0, 1.0, 1.0))
        path, reason = self.meshes.find(name)
        if path is None or Path(path).suffix.lower() not in KINDS:
            other = f"is of a kind whose hull is not read: {', '.join(KINDS.values())} are"
            why = f"is not found ({reason})" if path is None else other
            doc.remark("collision", shape, f"{name!r} {why}, so nothing touches there")
            return None, (), None
        try:
            return "hull", (), sound_points("its convex hull", "hull", hull_of(path) * scale)
        except (ModelError, ParseError) as e:
            doc.fail(shape, f"{name!r}: {e}")
