"""The shapes that a file draws its bodies with: solids, and meshes in files of their own with the colours they have."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.model.model import Model, Visual
from supple.view.batch import Batch
from supple.view.colours import GROUND, PLAIN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rgb = tuple[int, ...]

MANY_FACES = 200_000  #: of one mesh, beyond which it is not drawn: a page would not bear a robot of such


class Part(NamedTuple):
    """Triangles of one colour."""

    vertices: Floats
    faces: Ints
    colour: Rgb | None  #: None where the file says none


def solids(model: Model) -> tuple[list[Batch], list[str]]:
    """Visuals of the same shape together, and what could not be drawn."""
    groups: dict[Any, list[Visual]] = {}
    for v in model.visuals:
        key = (v.kind, v.mesh, v.size if v.kind == "capsule" else None)
        groups.setdefault(key, []).append(v)
    out, failed = [], []
    for (kind, mesh, size), visuals in groups.items():
        made = _mesh(mesh) if kind == "mesh" else _solid(kind, size)
        if isinstance(made, str):
            failed.append(made)
            continue
        body = np.array([v.body for v in visuals], dtype=np.int64)
        position, rotation = np.array([v.position for v in visuals]), np.array([v.rotation for v in visuals])
        scale = np.array([_scale(v) for v in visuals])
        for part in made:
            own = np.array([_colour(v, part.colour) for v in visuals], dtype=np.uint8)
            out.append(Batch(part.vertices, part.faces, body, position, rotation, scale, own, False))
    return out, failed


def _colour(v: Visual, of_mesh: Rgb | None) -> Rgb:
    """What the robot's file says goes before what the mesh says."""
    if v.rgba is not None:
        return tuple(round(255 * min(max(x, 0.0), 1.0)) for x in v.rgba[:3])
    return of_mesh or (GROUND if v.body < 0 else PLAIN)


def _scale(v: Visual) -> tuple[float, ...]:
    s = v.size
    if v.kind in ("sphere", "cylinder"):
        return (s[0], s[0], s[0] if v.kind == "sphere" else s[1])
    if v.kind in ("box", "ellipsoid", "mesh"):
        return s if len(s) == 3 else (s[0],) * 3 if s else (1.0,) * 3
    return (1.0, 1.0, 1.0)


def _solid(kind: str, size: tuple[float, ...] | None) -> list[Part] | str:
    """A solid of unit size (a capsule: of its own)."""
    from trimesh import creation

    if kind == "box":
        made = creation.box()
    elif kind in ("sphere", "ellipsoid"):
        made = creation.icosphere(subdivisions=2)
    elif kind == "cylinder":
        made = creation.cylinder(1.0, 1.0, sections=24)
    elif kind == "capsule" and size is not None:
        made = creation.capsule(height=size[1], radius=size[0], count=[12, 12])
        made.apply_translation(-made.bounds.mean(axis=0))
    else:
        return f"a {kind} is not drawn"
    return [Part(np.asarray(made.vertices), np.asarray(made.faces), None)]


def _mesh(path: str | None) -> list[Part] | str:
    """What is in a file, by colours; or why it is not drawn."""
    if path is None:
        return "a mesh that is not in a file of its own is not drawn"
    if not Path(path).is_file():
        return f"{path}: is not there any more"
    try:
        return _read(path, Path(path).stat().st_mtime_ns)
    except _Unfit as e:
        return f"{path}: {e}"
    except Exception as e:  # whatever a damaged file makes its reader say
        return f"{path}: {type(e).__name__}: {e}"


class _Unfit(Exception):
    """A mesh that is not fit to be drawn."""


@lru_cache(maxsize=256)
def _read(path: str, changed: int) -> list[Part]:
    import trimesh

    made: Any = trimesh.load(path, process=False)
    meshes: list[Any] = made.dump() if isinstance(made, trimesh.Scene) else [made]
    metres = _metres(str(getattr(made, "units", None) or "")) if Path(path).suffix.lower() == ".dae" else 1.0
    found: dict[Rgb | None, list[tuple[Floats, Ints]]] = {}
    for mesh in meshes:
        if len(getattr(mesh, "faces", ())):  # not lines, not points
            corners = metres * np.asarray(mesh.vertices, dtype=np.float64)
            found.setdefault(_mesh_colour(mesh), []).append((corners, np.asarray(mesh.faces, dtype=np.int64)))
    faces = sum(len(f) for group in found.values() for _, f in group)
    if faces == 0 or not all(np.isfinite(v).all() for group in found.values() for v, _ in group):
        raise _Unfit("holds no triangles that can be drawn")
    if faces > MANY_FACES:
        raise _Unfit(f"{faces} triangles are too many for a page, which takes {MANY_FACES}")
    return [Part(*_joined(group), colour) for colour, group in found.items()]


def _joined(group: list[tuple[Floats, Ints]]) -> tuple[Floats, Ints]:
    shift = np.cumsum([0] + [len(v) for v, _ in group])
    return np.concatenate([v for v, _ in group]), np.concatenate([f + k for (_, f), k in zip(group, shift)])


def _metres(units: str) -> float:
    """How long the unit of a Collada file is: its reader names it, and leaves lengths as they are."""
    number, _, rest = units.partition("*")
    return float(number) if rest.strip() == "meters" else 1.0


def _mesh_colour(mesh: Any) -> Rgb | None:
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
