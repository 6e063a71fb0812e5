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
GAZEBO = ("mu1", "mu2")  #: coefficients in two directions


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
    """Friction coefficients of links, where they are given: the smaller one of two directions; of what is given twice,
    the last one counts."""
    found: dict[str | None, dict[str, float]] = {}
    links = {c.get("name") for c in children(doc.root) if tag_of(c) == "link"}
    for element in children(doc.root):
        if tag_of(element) == "link":
            name, part = element.get("name"), doc.child(element, "contact")
            given = {} if part is None else _coefficients(doc, part, (), ("lateral_friction",))
        elif tag_of(element) == "gazebo":
            name, part = element.get("reference"), element
            given = _coefficients(doc, part, ("reference",), GAZEBO)
        else:
            continue
        if given and name not in links:
            why = "without a reference to a link" if name is None else "there is no such link"
            doc.remark("gazebo", element, f"{why}, so its friction is not used")
        elif given:
            found[name] = _combined(doc, part, found.get(name, {}), given)
    return {name: min(given.values()) for name, given in found.items()}


def _combined(doc: Document, element: Element, before: dict[str, float], given: dict[str, float]) -> dict[str, float]:
    """The coefficients of a link, by tag, after an element has given some: those of gazebo may be in several."""
    kept = before if before.keys() | given.keys() <= set(GAZEBO) else {}
    now = kept | given
    lost = set(before.values()) - set(now.values())
    if lost:
        doc.remark(tag_of(element), element, f"replaces a friction coefficient given before: {min(lost):g}")
    if len(set(now.values())) > 1:
        doc.remark(tag_of(element), element, "friction is the same in all directions; the smaller coefficient is used")
    return now


def _coefficients(
    doc: Document, element: Element, attributes: tuple[str, ...], tags: tuple[str, ...]
) -> dict[str, float]:
    """The coefficients with these tags in an element. attributes: of it, that are used."""
    parts = {tag: part for tag in tags if (part := doc.child(element, tag)) is not None}
    if not parts:
        doc.remark(tag_of(element), element, "not used")
        return {}
    others = sorted({tag_of(part) for part in children(element)} - set(tags))
    if others:
        doc.remark(tag_of(element), element, f"{', '.join(f'<{tag}>' for tag in others)} not used")
    doc.unused(element, attributes, (*tags, *others))
    found = {tag: doc.value(part) for tag, part in parts.items()}
    for tag, x in found.items():
        if x < 0.0:
            doc.fail(parts[tag], f"the friction coefficient is {x:g}; it cannot be negative")
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
