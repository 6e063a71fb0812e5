"""The shapes by which the bodies of an MJCF touch: its geoms with a contype or a conaffinity.

Sliding friction, margins, groups and <exclude> are read; planes and height fields as parts of the world, meshes as
their convex hulls. Contacts are rigid, so that solref and solimp mean nothing; torsional and rolling friction, pairs
with their own parameters, and ellipsoids are not supported, and mentioned in the report (mjcf_remarks.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ModelError, ParseError
from supple.files.mjcf_references import line_of_geom
from supple.model.builder import ModelBuilder
from supple.model.shapes import sound_points

Floats = NDArray[np.float64]

#: MuJoCo's types of geoms, as ours; None for those that are not supported.
KINDS = ("plane", "heights", "sphere", "capsule", None, "cylinder", "box", "hull")


def touching(m: Any) -> list[int]:
    """The geoms that could touch others."""
    return np.flatnonzero(m.geom_contype | m.geom_conaffinity).tolist()  # type: ignore[no-any-return]


def unsupported(m: Any, g: int) -> str | None:
    """Why a geom cannot touch anything here."""
    kind = KINDS[m.geom_type[g]] if m.geom_type[g] < len(KINDS) else None
    if kind is None:
        return "touches nothing: planes, height fields, spheres, capsules, cylinders, boxes and meshes do"
    if kind in ("plane", "heights") and not _is_still(m, int(m.geom_bodyid[g])):
        return f"a {kind} on a body that moves, which touches nothing"
    return None


def _is_still(m: Any, body: int) -> bool:
    return int(m.body_weldid[body]) == 0


def add_shapes(
    m: Any, builder: ModelBuilder, names: Sequence[str], number: Sequence[Any], origin: Floats, file: str
) -> None:
    """names: of geoms; number, origin: of bodies, as the translation has them; file: that they are from."""
    used = [g for g in touching(m) if unsupported(m, g) is None]
    apart = _excluded(m, used, names)
    for g in used:
        kind, body = KINDS[m.geom_type[g]], int(m.geom_bodyid[g])
        size, points = _size(m, g)
        condim, margin = int(m.geom_condim[g]), float(m.geom_margin[g])  # geom_gap: found earlier, but without a force
        if margin < 0.0:
            builder.remark("contact", f"geom {names[g]!r}: its margin is negative, and counts as none")
        try:
            builder.add_shape(
                number[body], str(kind), size, m.geom_pos[g] + origin[body], np.roll(m.geom_quat[g], -1),
                name=names[g], friction=0.0 if condim == 1 else float(m.geom_friction[g, 0]), margin=max(margin, 0.0),
                group=int(m.geom_contype[g]) & 0x7FFFFFFF, mask=int(m.geom_conaffinity[g]) & 0x7FFFFFFF,
                points=sound_points("its shape", str(kind), points), apart=apart.get(g, ()),
            )  # fmt: skip
        except ModelError as e:
            raise ParseError(f"geom {names[g]!r}: {e}", file, line_of_geom(file, names[g], g, m.ngeom)) from None


def _excluded(m: Any, used: list[int], names: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """By geom, the names of those that it never touches, by <exclude>."""
    of: dict[int, list[int]] = {}
    for g in used:
        of.setdefault(int(m.geom_bodyid[g]), []).append(g)
    out: dict[int, tuple[str, ...]] = {}
    for signature in m.exclude_signature:
        one, two = int(signature) >> 16, int(signature) & 0xFFFF
        for g in of.get(one, ()):
            out[g] = (*out.get(g, ()), *(names[k] for k in of.get(two, ()) if k != g))
    return out


def _size(m: Any, g: int) -> tuple[tuple[float, ...], Floats | None]:
    """MuJoCo's half sizes as a shape's, and the points of hulls and height fields."""
    kind, (x, y, z) = KINDS[m.geom_type[g]], m.geom_size[g].tolist()
    if kind in ("capsule", "cylinder"):
        return (x, 2 * y), None
    if kind == "box":
        return (2 * x, 2 * y, 2 * z), None
    if kind == "sphere":
        return (x,), None
    data = int(m.geom_dataid[g])
    if kind == "hull":
        first = m.mesh_vertadr[data]
        return (), np.array(m.mesh_vert[first : first + m.mesh_vertnum[data]], dtype=np.float64)
    if kind == "heights":
        rows, columns, first = int(m.hfield_nrow[data]), int(m.hfield_ncol[data]), int(m.hfield_adr[data])
        heights = m.hfield_data[first : first + rows * columns].reshape(rows, columns)
        ex, ey, top, _ = m.hfield_size[data].tolist()
        return (2 * ex, 2 * ey), np.array(heights, dtype=np.float64) * top
    return (), None
