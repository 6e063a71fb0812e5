"""Shapes by which bodies touch: spheres, capsules, boxes, cylinders and convex hulls on bodies or on the world; planes
and height fields on the world only.

    kind       size                          in the shape's own frame
    sphere     radius                        about the origin
    capsule    radius, length                along z; length is that of the straight part
    box        edge lengths                  about the origin
    cylinder   radius, length                along z
    hull       none                          of `points`
    plane      none                          everything below z = 0 is solid
    heights    edge lengths along x and y    about the origin; points[i, j] is the height at row i (along y), column j
                                             (along x); everything below is solid

Two shapes may touch if group & mask of one or the other have a bit in common, as MuJoCo's contype and conaffinity do.
The friction of a pair is the larger of the two coefficients that are given, 1 if none is; more than 1,000 counts as
1,000. Its restitution is the larger of the two; margins are added.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import NONE, NOT_NEGATIVE, TEXT, Kind, either, number, reals, several, shown, take, whole
from supple.errors import ModelError, quoted
from supple.model import checks
from supple.model.frozen import frozen_arrays, kept
from supple.once import made_once

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

Floats = NDArray[np.float64]

#: How many numbers the size of a kind has.
SIZES = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "hull": 0, "plane": 0, "heights": 2}
OF_THE_WORLD = ("plane", "heights")
WITH_POINTS = ("hull", "heights")
SMALLEST, LARGEST = 1e-9, 1e9  #: of a size, in metres
FLATTEST = 1e-6  #: a hull thinner than this share of its size has no volume
NEAR = 1e-9  #: corners of a hull that are this near each other, relative to its size, are one
MOST_POINTS = 1_000_000
MANY, LONG = 1000, 60  #: names that are not looked through, and letters of one, for the nearest
FRACTION = number("a number from 0 to 1", 0.0, 1.0)
ALL_BITS = 2**32 - 1  #: of a group or a mask
BITS = whole(0, ALL_BITS)
FRICTION = either([NOT_NEGATIVE, NONE])
NAMES = several(TEXT, as_tuple=True)


@made_once("body")
@frozen_arrays("position", "rotation", "points")
@dataclass(frozen=True, eq=False)
class Shape:
    """A shape by which a body touches others: model.shapes["sole"]. body -1 is the world."""

    name: str
    body: int
    kind: str
    size: tuple[float, ...]
    position: Floats
    rotation: Floats
    friction: float | None = None  #: Coulomb's coefficient; None: what the other shape says
    restitution: float = 0.0
    margin: float = 0.0  #: it touches others this far outside its surface
    group: int = 1
    mask: int = 1
    apart: tuple[str, ...] = ()  #: names of shapes that it never touches
    points: Floats | None = None  #: (k, 3) of a hull: its corners; (rows, columns) of heights

    @property
    def radius(self) -> float:
        """Of a sphere about its origin that contains it; infinite for a plane."""
        return reach_of(self.kind, self.size, self.points) + self.margin

    def __eq__(self, other: object) -> bool:
        return type(other) is Shape and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__
        )

    def __repr__(self) -> str:
        size = ", ".join(f"{x:.4g}" for x in self.size)
        return f"<Shape {quoted(self.name)}: {self.kind} [{size}] on body {self.body}>"


def reach_of(kind: str, size: Sequence[float], points: Floats | None) -> float:
    """The largest distance of a shape's points from its origin."""
    if kind == "sphere":
        return float(size[0])
    if kind == "capsule":
        return size[0] + 0.5 * size[1]
    if kind == "cylinder":
        return math.hypot(size[0], 0.5 * size[1])
    if kind == "box":
        return 0.5 * math.hypot(*size)
    if kind == "hull" and points is not None:
        return float(np.linalg.norm(points, axis=1).max())
    return math.inf


def sound_size(what: str, kind: Any, size: Any) -> tuple[float, ...]:
    """The size of a shape of a kind, refused if there is none like that."""
    if not isinstance(kind, str) or kind not in SIZES:
        raise ModelError(f"{what}: {shown(kind)} is not a kind of shape; there are {', '.join(SIZES)}")
    try:
        numbers = reals(size).reshape(-1)
    except Exception:  # what they are may have conversions of its own, which fail as they like
        raise ModelError(f"{what}: its size must be numbers, not {shown(size)}") from None
    if len(numbers) != SIZES[kind]:
        raise ModelError(f"{what}: a {kind} has {SIZES[kind]} numbers as its size, not {len(numbers)}")
    least = [0.0 if kind == "capsule" and i == 1 else SMALLEST for i in range(len(numbers))]
    if not ((numbers >= least) & (numbers <= LARGEST)).all():
        raise ModelError(
            f"{what}: the size of a {kind} must be positive, from {SMALLEST:g} to {LARGEST:g} m, not "
            f"{shown(numbers.tolist())}"
        )
    return tuple(numbers.tolist())


def sound_points(what: str, kind: str, points: Any) -> Floats | None:
    """The corners of a hull, or heights, refused if there are none like that."""
    if kind not in WITH_POINTS:
        if points is not None:
            raise ModelError(f"{what}: a {kind} has no points; hulls and heights have")
        return None
    try:
        given = reals(points)
    except Exception:
        raise ModelError(f"{what}: its points must be numbers, not {shown(points)}") from None
    if given.ndim != 2 or given.size > MOST_POINTS:
        form = "(k, 3) for a hull, (rows, columns) for heights"
        raise ModelError(f"{what}: its points must be an array {form}, of at most {MOST_POINTS:,} numbers")
    if not (np.abs(given) <= LARGEST).all():
        raise ModelError(f"{what}: its points must be finite, and within {LARGEST:g} m of the origin")
    if kind == "heights":
        if min(given.shape) < 2:
            raise ModelError(f"{what}: a height field needs at least two rows and two columns, not {given.shape}")
        return given
    if given.shape[1:] != (3,) or len(given) < 4:
        raise ModelError(f"{what}: a hull needs at least four points (k, 3), not {given.shape}")
    return corners(what, given)


_KNOWN: set[bytes] = set()  #: hashes of points that are corners of their hull
_MOST_KNOWN = 10_000


def corners(what: str, points: Floats) -> Floats:
    """The corners of the convex hull of points, which must have a volume; of those that are NEAR each other, one. The
    corners of corners are the same. Corners that came from here are not looked at again."""
    from scipy.spatial import QhullError, cKDTree

    points = np.ascontiguousarray(points)
    if hashlib.blake2b(points.tobytes(), digest_size=16).digest() in _KNOWN:
        return points
    if not (np.abs(points) <= LARGEST).all():
        raise ModelError(f"{what}: its points must be finite, and within {LARGEST:g} m of the origin")
    if not np.ptp(points, axis=0).max() >= SMALLEST:
        raise ModelError(f"{what}: its points are less than {SMALLEST:g} m apart, so that its hull has no volume")
    away = points - points.mean(axis=0)
    thin = np.linalg.eigvalsh(away.T @ away)
    if not thin[0] > FLATTEST**2 * thin[2]:
        raise ModelError(f"{what}: its points lie in a plane, so that its hull has no volume; give points around one")
    count = 0
    try:
        while count != len(points):
            count = len(points)
            points = np.ascontiguousarray(points[np.sort(hull_of(points).vertices)])
            pairs = cKDTree(points).query_pairs(NEAR * float(np.ptp(points, axis=0).max()), output_type="ndarray")
            points = np.delete(points, pairs.max(axis=1), axis=0) if len(pairs) else points
    except (QhullError, ValueError) as e:
        raise ModelError(f"{what}: its points have no convex hull: {str(e).splitlines()[0]}") from None
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN.add(hashlib.blake2b(points.tobytes(), digest_size=16).digest())
    return points


def hull_of(points: Floats) -> ConvexHull:
    """The convex hull of points; about their middle, which rounds the least."""
    from scipy.spatial import ConvexHull

    return ConvexHull(points - points.mean(axis=0))


PLAIN = {float, int, str, type(None)}  #: of these, what is equal is alike


def valid_shapes(given: Sequence[Any], n: int) -> tuple[Shape, ...]:
    """Shapes on bodies that exist, whose numbers are sound: field by field, as there may be a million of them."""
    if not given:
        return ()
    for x in given:
        if not isinstance(x, Shape):
            raise ModelError(f"shape_list has {shown(x)}, which is no Shape")
    names = [x.name for x in given]
    checks.unique("shape", names)
    places = checks.poses([x.position for x in given], [x.rotation for x in given], lambda i: f"shape {names[i]!r}")
    columns = [
        _field(given, "name", TEXT), _bodies(given, n), [x.kind for x in given], _sizes(given),
        *(kept(x) for x in places), _field(given, "friction", FRICTION), _field(given, "restitution", FRACTION, float),
        _field(given, "margin", NOT_NEGATIVE, float), _field(given, "group", BITS), _field(given, "mask", BITS),
        _aparts(given, set(names)), _points(given),
    ]  # fmt: skip
    return tuple(_made(x.__class__, row) for x, row in zip(given, zip(*columns)))


def _made(kind: type[Shape], row: tuple[Any, ...]) -> Shape:
    """A shape of fields that are known to be sound."""
    shape = kind.__new__(kind)
    shape.__dict__.update(zip(kind.__dataclass_fields__, row))
    return shape


def _field(given: Sequence[Shape], name: str, kind: Kind, form: Callable[[Any], Any] | None = None) -> list[Any]:
    """One field of all shapes; values that are alike are looked at once."""
    values = [getattr(x, name) for x in given]
    if set(map(type, values)) <= PLAIN:
        with suppress(TypeError, ValueError, OverflowError):  # one is wrong: named below
            forms = {x: kind.form(x) if form is None else form(kind.form(x)) for x in set(values)}
            return [forms[x] for x in values]
    what = "the name of a shape" if name == "name" else f"shape {{!r}}: {name}"
    taken = (take(what.format(x.name), value, kind, ModelError) for x, value in zip(given, values))
    return [value if form is None else form(value) for value in taken]


def _sizes(given: Sequence[Shape]) -> list[tuple[float, ...]]:
    each = [(x.kind, x.size) for x in given]
    with suppress(TypeError, ModelError):  # one is no tuple, or wrong: named below
        sizes = {x: sound_size("a shape", *x) for x in set(each)}
        return [sizes[x] for x in each]
    return [sound_size(f"shape {x.name!r}", x.kind, x.size) for x in given]


def _bodies(given: Sequence[Shape], n: int) -> list[int]:
    for x in given:
        if not isinstance(x.body, (int, np.integer)) or not -1 <= x.body < n:
            raise ModelError(
                f"shape {x.name!r} is on body {x.body!r}, and there are {n}, numbered from 0; the world is -1"
            )
        if x.body >= 0 and x.kind in OF_THE_WORLD:
            raise ModelError(
                f"shape {x.name!r}: a shape of kind {x.kind!r} belongs to the world, not to a body that moves"
            )
    return [int(x.body) for x in given]


def _aparts(given: Sequence[Shape], known: set[str]) -> list[tuple[str, ...]]:
    out = [x.apart for x in given]
    for i, x in enumerate(given):
        if x.apart.__class__ is tuple and not x.apart:
            continue
        out[i] = take(f"shape {x.name!r}: apart", x.apart, NAMES, ModelError)
        for other in out[i]:
            if other == x.name:
                raise ModelError(f"shape {x.name!r} is apart from itself; name the shapes that it never touches")
            if other not in known:
                near = get_close_matches(other, sorted(known), n=1) if len(known) <= MANY and len(other) <= LONG else []
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ModelError(f"shape {x.name!r} is apart from {shown(other)}, and there is no such shape{hint}")
    return out


def _points(given: Sequence[Shape]) -> list[Floats | None]:
    out: list[Floats | None] = [None] * len(given)
    for i, x in enumerate(given):
        if x.kind in WITH_POINTS or x.points is not None:
            points = sound_points(f"shape {x.name!r}", x.kind, x.points)
            out[i] = None if points is None else kept(points)
    return out
