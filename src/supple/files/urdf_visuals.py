"""The shapes a URDF draws its links with: geometry, materials and where their meshes lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from supple.files.meshes import MeshFinder
from supple.files.xml import Document, Element, Floats, children, tag_of
from supple.model.geometry import rotation_from_rpy

Rgba = tuple[float, float, float, float]
ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Shape:
    """One <visual>: the arguments of ModelBuilder.add_visual."""

    kind: str
    size: tuple[float, ...]
    position: Floats
    rotation: Floats
    rgba: Rgba | None
    mesh: str | None
    name: str | None


def read_origin(doc: Document, element: Element) -> tuple[Floats, Floats]:
    """The <origin> of an element as position and rotation; without one, no shift and no turn."""
    origin = doc.child(element, "origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    doc.unused(origin, ("xyz", "rpy"))
    return doc.vector(origin, "xyz", ZERO), rotation_from_rpy(doc.vector(origin, "rpy", ZERO))


class VisualReader:
    """Reads the visuals of one document. A material may be used before, and outside, what defines it."""

    def __init__(self, doc: Document, meshes: MeshFinder) -> None:
        self.doc, self.meshes = doc, meshes
        self.colours: dict[str, Rgba | None] = {}
        for material in (c for c in children(doc.root) if tag_of(c) == "material"):
            self._define(material)
        for link in children(doc.root):
            for visual in (c for c in children(link) if tag_of(c) == "visual"):
                for material in (c for c in children(visual) if tag_of(c) == "material"):
                    self._define(material)

    def _define(self, material: Element) -> None:
        name = material.get("name")
        rgba = self._colour(material)
        if name and rgba is not None:
            self.colours.setdefault(name, rgba)

    def _colour(self, material: Element) -> Rgba | None:
        colour = self.doc.child(material, "color")
        if colour is None:
            return None
        r, g, b, a = self.doc.vector(colour, "rgba", count=4)
        return float(r), float(g), float(b), float(a)

    def read_material(self, material: Element) -> Rgba | None:
        """The colour of a material defined or referred to; what else it holds is remarked."""
        self.doc.unused(material, ("name",), ("color",))
        colour = self.doc.child(material, "color")
        if colour is not None:
            self.doc.unused(colour, ("rgba",))
            return self._colour(material)
        name = material.get("name")
        if name not in self.colours and self.doc.child(material, "texture") is None:
            self.doc.remark("material", material, "defined nowhere, so it gives no colour")
        return self.colours.get(name)

    def read(self, link: Element) -> tuple[Shape, ...]:
        found = (self._shape(c) for c in children(link) if tag_of(c) == "visual")
        return tuple(shape for shape in found if shape is not None)

    def _shape(self, visual: Element) -> Shape | None:
        doc = self.doc
        doc.unused(visual, ("name",), ("origin", "geometry", "material"))
        position, rotation = read_origin(doc, visual)
        material = doc.child(visual, "material")
        rgba = None if material is None else self.read_material(material)
        geometry = doc.child(visual, "geometry")
        if geometry is None:
            doc.remark("visual", visual, "has no <geometry>, so nothing is drawn")
            return None
        doc.unused(geometry, (), ("box", "sphere", "cylinder", "capsule", "mesh"))
        shapes = [c for c in children(geometry) if tag_of(c) in ("box", "sphere", "cylinder", "capsule", "mesh")]
        if not shapes:
            doc.remark("visual", visual, "its geometry holds no shape that can be drawn")
            return None
        for extra in shapes[1:]:
            doc.remark("visual", extra, "a geometry holds one shape; the first is drawn")
        shape, mesh = shapes[0], None
        kind = tag_of(shape)
        size: tuple[float, ...]
        if kind == "box":
            doc.unused(shape, ("size",))
            size = tuple(doc.vector(shape, "size").tolist())
        elif kind == "sphere":
            doc.unused(shape, ("radius",))
            size = (doc.number(shape, "radius"),)
        elif kind in ("cylinder", "capsule"):
            doc.unused(shape, ("radius", "length"))
            size = (doc.number(shape, "radius"), doc.number(shape, "length"))
        else:
            doc.unused(shape, ("filename", "scale"))
            size = tuple(doc.vector(shape, "scale", (1.0, 1.0, 1.0)).tolist())
            mesh = self._mesh(shape)
            if mesh is None:
                return None
        return Shape(kind, size, position, rotation, rgba, mesh, visual.get("name"))

    def _mesh(self, shape: Element) -> str | None:
        name = self.doc.text(shape, "filename")
        path, reason = self.meshes.find(name)
        if path is None:
            say = {
                "mesh missing": "is not there; give its package's parent folder as package_dirs",
                "mesh outside": "lies outside the robot's folders, so it is not used; package_dirs allows it",
                "mesh unknown": "is no name that can be looked up",
            }
            self.doc.remark(reason, shape, f"{name!r} {say[reason]}")
        return path
