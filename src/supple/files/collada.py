"""The corners of a Collada file (.dae), for its convex hull: those of the faces of all geometries in its scene.

A node places what is in it by the product of its transforms, in their order; lengths are multiplied by the file's unit.
`up_axis` is ignored, as trimesh and ROS do: it says how a scene is to be shown, and a URDF places the mesh by itself.
Lines, cameras and lights have no faces; skins (<instance_controller>) are refused. Nothing outside the file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ParseError
from supple.files.xml import Document, Element, Floats, children, short, tag_of

Ints = NDArray[np.int64]

FACES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
PLACED = ("node", "instance_node", "instance_geometry", "instance_controller")
COUNTS = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}  #: numbers of a transform
MOST_NODES = 100_000  #: instances of nodes may contain instances: a small file may place a node any number of times
MOST_CORNERS = 5_000_000


def corners_of_collada(path: str | Path) -> Floats:
    """(k, 3) in metres. Raises ParseError with the line of what is wrong."""
    doc = Document(path)
    if tag_of(doc.root) != "COLLADA":
        raise ParseError(f"<{tag_of(doc.root)}> is not the root of a Collada file", doc.file)
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by whoever asks
        return _Reader(doc).read()


class _Reader:
    """Reads one document."""

    def __init__(self, doc: Document) -> None:
        self.doc = doc
        tags = ("geometry", "node", "visual_scene")
        self.known = {(t, e.get("id")): e for t in tags for e in doc.root.iter(f"{{*}}{t}")}
        self.corners: dict[Element, Floats] = {}

    def read(self) -> Floats:
        found, total = [np.zeros((0, 3))], 0
        for placed, M in self._placed():
            geometry = self._target(placed, "geometry")
            if geometry not in self.corners:
                self.corners[geometry] = self._faces(geometry)
            corners = self.corners[geometry]
            total += len(corners)
            if total > MOST_CORNERS:
                self.doc.fail(placed, f"this makes more than {MOST_CORNERS:,} corners, too many for a hull")
            found.append(corners @ M[:3, :3].T + M[:3, 3])
        return self._unit() * np.concatenate(found)

    def _unit(self) -> float:
        """In metres."""
        asset = self.doc.child(self.doc.root, "asset")
        unit = None if asset is None else self.doc.child(asset, "unit")
        metres = 1.0 if unit is None else self.doc.number(unit, "meter", 1.0)
        if not metres > 0.0:
            self.doc.fail(unit, "meter must be above zero")
        return metres

    def _placed(self) -> Iterator[tuple[Element, Floats]]:
        """Every <instance_geometry> of the scene, and the matrix from its coordinates to the scene's."""
        doc, count = self.doc, 0
        scene = doc.required(doc.root, "scene")
        waiting = [
            (node, np.eye(4))
            for shown in children(scene)
            if tag_of(shown) == "instance_visual_scene"
            for node in children(self._target(shown, "visual_scene"))
        ]
        while waiting:
            element, M = waiting.pop()
            kind, count = tag_of(element), count + 1
            if count > MOST_NODES:
                doc.fail(element, f"the scene has more than {MOST_NODES:,} nodes, or one that contains itself")
            if kind == "instance_geometry":
                yield element, M
            elif kind == "instance_controller":
                doc.fail(element, "a mesh that is bent by a skeleton is not supported; save it without")
            elif kind == "instance_node":
                waiting.append((self._target(element, "node"), M))
            elif kind == "node":
                inside = [c for c in children(element) if tag_of(c) in PLACED]
                M = M @ self._transform(element) if inside else M
                waiting += [(c, M) for c in inside]

    def _transform(self, node: Element) -> Floats:
        M = np.eye(4)
        for element in children(node):
            kind = tag_of(element)
            if kind in ("skew", "lookat"):
                self.doc.fail(element, "is not supported; matrix, translate, rotate and scale are")
            if kind in COUNTS:
                M = M @ _matrix(kind, self._numbers(element, COUNTS[kind]))
        return M

    def _target(self, element: Element, tag: str) -> Element:
        """What an element refers to, in the same file."""
        url = self.doc.text(element, "url")
        found = self.known.get((tag, url.removeprefix("#")))
        if found is None:
            self.doc.fail(element, f"there is no <{tag}> {short(url)} in the file")
        return found

    def _faces(self, geometry: Element) -> Floats:
        """(k, 3) the corners of the faces of a geometry, each once."""
        mesh = self.doc.child(geometry, "mesh")
        if mesh is None:
            return np.zeros((0, 3))
        own = {e.get("id"): e for e in mesh.iter("{*}*") if e.get("id")}
        found, read = [np.zeros((0, 3))], dict[Element, Floats]()
        for faces in (c for c in children(mesh) if tag_of(c) in FACES):
            source, numbers = self._numbered(faces, own)
            if source is None:
                continue
            if source not in read:
                read[source] = self._positions(source, own)
            if numbers[-1] >= len(read[source]):
                self.doc.fail(faces, f"there is no corner {numbers[-1]}: {len(read[source])} are given, from 0")
            found.append(read[source][numbers])
        return np.concatenate(found)

    def _numbered(self, faces: Element, own: dict[str, Element]) -> tuple[Element | None, Ints]:
        """The source of the positions of faces, and the numbers of their corners, in order; None if it has no face."""
        doc = self.doc
        inputs = [c for c in children(faces) if tag_of(c) == "input"]
        offsets = [int(doc.number(c, "offset", 0.0)) for c in inputs]
        vertex = [(c, k) for c, k in zip(inputs, offsets) if c.get("semantic") == "VERTEX"]
        if not vertex or min(offsets) < 0:
            doc.fail(faces, "needs an <input> of semantic VERTEX, with an offset from 0")
        (given, offset), stride = vertex[0], max(offsets) + 1
        words = [p.text.split()[offset::stride] for p in faces.iter("{*}p") if p.text]
        try:
            numbers = np.unique(_array([w for part in words for w in part], np.int64))
        except (ValueError, OverflowError):
            doc.fail(faces, "the numbers of its corners are not whole numbers")
        if not len(numbers):
            return None, numbers
        if numbers[0] < 0:
            doc.fail(faces, f"there is no corner {numbers[0]}: they are numbered from 0")
        vertices = self._local(given, "vertices", own)
        positions = [c for c in children(vertices) if tag_of(c) == "input" and c.get("semantic") == "POSITION"]
        if not positions:
            doc.fail(vertices, "needs an <input> of semantic POSITION")
        return self._local(positions[0], "source", own), numbers

    def _positions(self, source: Element, own: dict[str, Element]) -> Floats:
        """(k, 3) the points of a source."""
        doc = self.doc
        accessor = doc.required(doc.required(source, "technique_common"), "accessor")
        array = self._local(accessor, "float_array", own)
        values = self._numbers(array)
        first, stride = (int(doc.number(accessor, a, k)) for a, k in (("offset", 0.0), ("stride", 1.0)))
        if stride < 3 or first < 0:
            doc.fail(accessor, f"positions need a stride of at least 3, and an offset from 0, not {stride} and {first}")
        rows = values[first:]
        return rows[: len(rows) // stride * stride].reshape(-1, stride)[:, :3]

    def _local(self, element: Element, tag: str, own: dict[str, Element]) -> Element:
        """What an element of a mesh refers to, in the same mesh."""
        name = self.doc.text(element, "source")
        found = own.get(name.removeprefix("#"))
        if found is None or tag_of(found) != tag:
            self.doc.fail(element, f"there is no <{tag}> {short(name)} in this mesh")
        return found

    def _numbers(self, element: Element, count: int | None = None) -> Floats:
        """The numbers that are the text of an element."""
        words = (element.text or "").split()
        try:
            values = _array(words, np.float64)
        except ValueError:
            self.doc.fail(element, "holds what is not a number")
        if not np.isfinite(values).all():
            self.doc.fail(element, "holds a number that is not finite")
        if count is not None and len(values) != count:
            self.doc.fail(element, f"needs {count} numbers, not {len(values)}")
        return values


def _array(words: list[str], kind: type[Any]) -> NDArray[Any]:
    """Words as numbers; those that only Python reads, as 1_0, are none."""
    if any("_" in word for word in words):
        raise ValueError
    return np.array(words, dtype=kind)


def _matrix(kind: str, values: Floats) -> Floats:
    """(4, 4) of a transform; an angle is in degrees, and an axis that is not of length 1 is made so."""
    if kind == "matrix":
        return values.reshape(4, 4)
    M = np.eye(4)
    if kind == "translate":
        M[:3, 3] = values
    elif kind == "scale":
        M[:3, :3] = np.diag(values)
    elif (length := np.linalg.norm(values[:3])) > 0.0:
        x, y, z = values[:3] / length
        K, angle = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]), np.radians(values[3])
        M[:3, :3] += np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K  # Rodrigues' formula
    return M
