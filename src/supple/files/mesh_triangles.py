"""The triangles of a mesh file, by colours, read by trimesh in a process apart. Run by apart_worker.py.

Pictures and other files that a mesh names are opened only if they are regular files of bounded size.
"""

from __future__ import annotations

import stat
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from numpy.typing import NDArray
from trimesh.resolvers import FilePathResolver

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rgb = tuple[int, ...]

LARGEST = 256 * 2**20  #: bytes of a file


class Beside(FilePathResolver):  # type: ignore[misc]
    """The files that a mesh names."""

    def get(self, name: str) -> bytes:
        """The content of one."""
        return read(Path(self.parent or "") / name.strip())


def read(path: Path) -> bytes:
    """The content of a regular file that is not too large."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
        raise ValueError(f"{path} is not a regular file of at most {LARGEST >> 20} MB")
    return path.read_bytes()


def answer(request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The parts of a mesh: numbers of their corners and triangles, and colours; then all corners and triangles."""
    path, most = Path(request["file"]), request["most_faces"]
    kind = path.suffix.lower().lstrip(".")
    made: Any = trimesh.load(BytesIO(read(path)), file_type=kind, resolver=Beside(str(path)), process=False)
    meshes: list[Any] = made.dump() if isinstance(made, trimesh.Scene) else [made]
    metres = _metres(str(getattr(made, "units", None) or "")) if kind == "dae" else 1.0
    found: dict[Rgb | None, list[tuple[Floats, Ints]]] = {}
    for mesh in meshes:
        if len(getattr(mesh, "faces", ())):  # not lines, not points
            corners = metres * np.asarray(mesh.vertices, dtype=np.float64)
            found.setdefault(_colour(mesh), []).append((corners, np.asarray(mesh.faces, dtype=np.int64)))
    faces = sum(len(f) for group in found.values() for _, f in group)
    if faces > most:
        return {"refused": f"{faces} triangles are too many for a page, which takes {most}"}, b""
    if faces == 0 or not all(_fit(v, f) for group in found.values() for v, f in group):
        return {"refused": "holds no triangles that can be drawn"}, b""
    parts = [(*_joined(group), colour) for colour, group in found.items()]
    reply = {"parts": [(len(v), len(f), colour) for v, f, colour in parts]}
    return reply, b"".join(v.tobytes() + f.tobytes() for v, f, _ in parts)


def _fit(corners: Floats, faces: Ints) -> bool:
    """Whether triangles are of corners that are there."""
    shaped = corners.ndim == 2 and corners.shape[1] == 3 and faces.ndim == 2 and faces.shape[1] == 3
    return bool(shaped and np.isfinite(corners).all() and faces.min() >= 0 and faces.max() < len(corners))


def _joined(group: list[tuple[Floats, Ints]]) -> tuple[Floats, Ints]:
    shift = np.cumsum([0] + [len(v) for v, _ in group])
    return np.concatenate([v for v, _ in group]), np.concatenate([f + k for (_, f), k in zip(group, shift)])


def _metres(units: str) -> float:
    """How long the unit of a Collada file is: its reader names it, and leaves lengths as they are."""
    number, _, rest = units.partition("*")
    return float(number) if rest.strip() == "meters" else 1.0


def _colour(mesh: Any) -> Rgb | None:
    """The colour of a mesh: of its material, or what its picture is on average."""
    visual = mesh.visual
    if visual.kind is None or not visual.defined:
        return None
    material = getattr(visual, "material", None)
    picture = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if picture is not None:
        rgb = np.asarray(picture.convert("RGB")).reshape(-1, 3).mean(axis=0)
    else:
        rgb = np.asarray(visual.main_color if material is None else material.main_color)[:3]
    return tuple(int(x) for x in rgb)
