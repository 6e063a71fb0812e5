"""The shapes by which the bodies of an MJCF touch: its geoms with a contype or a conaffinity.

Sliding friction, margins, groups and <exclude> are read; planes and height fields as parts of the world, meshes as
their convex hulls. Contacts are rigid, so that solref and solimp mean nothing; torsional and rolling friction, pairs
with their own parameters, and ellipsoids are not supported, and mentioned in the report (mjcf_remarks.py).

Of two geoms MuJoCo takes the larger condim and the larger friction, so that a pair is frictionless only if both have
condim 1; a shape has friction or has none (`frictions`).
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

ALL_BITS = 2**32 - 1  #: of contype and conaffinity, which are negative where the last one is set


def touching(m: Any) -> list[int]:
    """The geoms that could touch others."""
    return np.flatnonzero(m.geom_contype | m.geom_conaffinity).tolist()  # type: ignore[no-any-return]


def unsupported(m: Any, g: int) -> str | None:
    """Why a geom cannot touch anything here."""
    kind = KINDS[m.geom_type[g]] if m.geom_type[g] < len(KINDS) else None
    if kind is None:
        return "touches nothing: planes, height fields, spheres, capsules, cylinders, boxes and meshes do"
    if kind in ("plane", "heights") and not _is_still(m, int(m.geom_bodyid[g])):
        return f"a {'plane' if kind == 'plane' else 'height field'} on a body that moves, which touches nothing"
    return None


def _is_still(m: Any, body: int) -> bool:
    """Whether a body is part of the world, or of a mocap body, which stays where the file puts it."""
    carrier = int(m.body_weldid[body])
    return carrier == 0 or int(m.body_mocapid[carrier]) >= 0


def usable(m: Any) -> list[int]:
    """The geoms that become shapes."""
    return [g for g in touching(m) if unsupported(m, g) is None]


def frictions(m: Any, used: Sequence[int]) -> tuple[dict[int, float], list[int]]:
    """The friction of each geom that is used; and geoms of condim 1 that have friction with others of condim 1, which
    they have not in MuJoCo.

    A geom of condim 1 has none if its pairs with geoms of higher condim have their friction without it."""
    out = {g: float(m.geom_friction[g, 0]) for g in used}
    smooth = m.geom_condim == 1
    slippery = [g for g in used if smooth[g]]
    others = np.array(used, dtype=np.int64)
    rubbing = []
    for g in slippery:
        met = others[_meet(m, g, others)]
        rough = met[~smooth[met]]
        if (m.geom_friction[rough, 0] >= m.geom_friction[g, 0]).all():
            out[g] = 0.0
        elif smooth[met].any() and out[g] > 0.0:
            rubbing.append(g)
    return out, rubbing


def _meet(m: Any, g: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """With which of the others a geom may touch, by masks and bodies."""
    group, mask, carrier = m.geom_contype, m.geom_conaffinity, m.body_weldid[m.geom_bodyid]
    bits = (group[g] & mask[others]) | (group[others] & mask[g])
    return (bits != 0) & (carrier[others] != carrier[g])  # type: ignore[no-any-return]


def connected(m: Any, one: Any, two: Any) -> Any:
    """Whether joints connect the bodies of geoms, other than to the world: such bodies are neighbours."""
    a, b = m.body_weldid[m.geom_bodyid[one]], m.body_weldid[m.geom_bodyid[two]]
    above = m.body_weldid[m.body_parentid[m.body_weldid]]  # of each body: what the joints of its rigid part are on
    return (a != b) & (((above[a] == b) & (b != 0)) | ((above[b] == a) & (a != 0)))


def add_shapes(
    m: Any, builder: ModelBuilder, names: Sequence[str], number: Sequence[Any], origin: Floats, file: str
) -> None:
    """names: of geoms; number, origin: of bodies, as the translation has them; file: that they are from."""
    used = usable(m)
    apart, friction = _excluded(m, used, names), frictions(m, used)[0]
    for g in used:
        kind, body = KINDS[m.geom_type[g]], int(m.geom_bodyid[g])
        size, points = _size(m, g)
        margin = float(m.geom_margin[g])  # geom_gap: found earlier, but without a force
        if margin < 0.0:
            builder.remark("contact", f"geom {names[g]!r}: its margin is negative, and counts as none")
        try:
            builder.add_shape(
                number[body], str(kind), size, m.geom_pos[g] + origin[body], np.roll(m.geom_quat[g], -1),
                name=names[g], friction=friction[g], margin=max(margin, 0.0),
                group=int(m.geom_contype[g]) & ALL_BITS, mask=int(m.geom_conaffinity[g]) & ALL_BITS,
                points=sound_points("its shape", str(kind), points), apart=apart.get(g, ()),
            )  # fmt: skip
        except ModelError as e:
            raise ParseError(f"geom {names[g]!r}: {e}", file, line_of_geom(file, names[g], g, m.ngeom)) from None


def _excluded(m: Any, used: list[int], names: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """By geom, the names of those that it never touches: by <exclude>, or as its neighbours on a mocap body, which is
    part of our world."""
    of: dict[int, list[int]] = {}
    for g in used:
        of.setdefault(int(m.geom_bodyid[g]), []).append(g)
    out: dict[int, tuple[str, ...]] = {}
    for signature in m.exclude_signature:
        one, two = int(signature) >> 16, int(signature) & 0xFFFF
        for g in of.get(one, ()):
            out[g] = (*out.get(g, ()), *(names[k] for k in of.get(two, ()) if k != g))
    for g in used:
        if m.body_mocapid[m.body_weldid[m.geom_bodyid[g]]] >= 0:
            near = np.array(used)[connected(m, g, used)]
            out[g] = (*out.get(g, ()), *(names[k] for k in near))
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
