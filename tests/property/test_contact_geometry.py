"""Gaps of shapes that are thin, of very different sizes, or nearly aligned, and at borders and blades of height fields:
by closed forms, and by how far shapes reach along the normals that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from supple import Contacts, ModelBuilder
from supple.contact.room import ContactRoom
from tests.touching import Floats

SOLID = ("capsule", "box", "cylinder", "hull")


def room_of(*shapes: tuple[str, Any, Floats | None], ground: dict[str, Any] | None = None) -> ContactRoom:
    """Free bodies with a shape each: kind, size and points; and what the world has."""
    b = ModelBuilder("shapes")
    for i, (kind, size, points) in enumerate(shapes):
        b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.1] * 3)
        b.add_shape(f"body{i}", kind, size, points=points)
    if ground:
        b.add_shape(None, **ground)
    return ContactRoom(b.build(), np.zeros((0, 11)), Contacts())


def touches(room: ContactRoom, length: float, *places: tuple[Floats, Rotation]) -> NDArray[Any]:
    """All touches whose gaps are below a length."""
    room.scene.length = length
    return room.touching(np.concatenate([np.append(at, turn.as_quat()) for at, turn in places]))


def smallest(room: ContactRoom, length: float, *places: tuple[Floats, Rotation]) -> float:
    return float(touches(room, length, *places)["gap"].min(initial=np.inf))


def anyhow(rng: np.random.Generator) -> Rotation:
    return Rotation.from_quat(rng.normal(size=4))


# --- cylinders that stand upright -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ground", ["plane", "one cell", "many cells"])
def test_a_cylinder_that_is_nearly_upright_touches_with_what_of_it_is_lowest(ground: str) -> None:
    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(10):
        (r, length), slope = 10.0 ** rng.uniform(-2.0, 0.0, 2), anyhow(rng)
        field = {"size": (20.0, 20.0), "points": np.zeros((2, 2) if ground == "one cell" else (9, 9))}
        flat: dict[str, Any] = {"kind": "plane"} if ground == "plane" else {"kind": "heights", **field}
        room = room_of(("cylinder", (r, length), None), ground={"rotation": slope.as_matrix(), **flat})
        for lean in 10.0 ** rng.uniform(-8.0, -1.0, 30):
            way, wanted = rng.uniform(0.0, 2 * np.pi), r * rng.choice([-1e-4, 0.0, 1e-4])
            leaning = Rotation.from_rotvec([lean * np.cos(way), lean * np.sin(way), 0.0])
            turn = slope * leaning * Rotation.from_euler("zx", [rng.uniform(0.0, 6.0), np.pi * rng.integers(2)])
            d = turn.inv().apply(slope.apply([0.0, 0.0, 1.0]))
            height = r * np.hypot(d[0], d[1]) + 0.5 * length * abs(d[2]) + wanted
            at = slope.apply([*rng.uniform(-1.0, 1.0, 2), height])
            worst = max(worst, abs(smallest(room, 0.1 * r, (at, turn)) - wanted) / r)
    assert worst < 2e-6


# --- thin shapes, and shapes of very different sizes ------------------------------------------------------------------


def test_overlap_of_needles_with_edges_of_long_boxes_is_that_of_their_sections() -> None:
    """A circle and the corner of a rectangle, whatever their lengths."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        r, length, half = 1e-3 * rng.uniform(0.5, 1.0), rng.uniform(0.1, 0.3), 1e-3 * rng.uniform(0.1, 1.0, 2)
        room = room_of(("cylinder", (r, length), None), ("box", (*(2 * half), rng.uniform(0.1, 0.3)), None))
        deep, way, turn = r * 10.0 ** rng.uniform(-4.0, -2.0), rng.uniform(0.2, 1.3), anyhow(rng)
        at = np.append(half + (r - deep) * np.array([np.cos(way), np.sin(way)]), rng.uniform(-0.02, 0.02))
        found = smallest(room, 1e-4, (turn.apply(at), turn), (np.zeros(3), turn))
        assert found == pytest.approx(-deep, rel=0.02, abs=1e-4 * r), (way, deep / r)


def reach(kind: str, size: Floats, points: Floats | None, d: Floats) -> float:
    """How far a shape reaches along a direction in its own frame."""
    if kind == "cylinder":
        return float(size[0] * np.hypot(d[0], d[1]) + 0.5 * size[1] * abs(d[2]))
    if kind == "capsule":
        return float(size[0] + 0.5 * size[1] * abs(d[2]))
    return float(0.5 * np.abs(d) @ size if points is None else (points @ d).max())


@pytest.mark.parametrize("kind", SOLID)
@pytest.mark.parametrize("ratio", [1e-3, 0.03, 1.0, 30.0, 1e3])
def test_normals_of_shapes_of_very_different_sizes_part_them_as_far_as_gaps_say(kind: str, ratio: float) -> None:
    """The gap along any direction is no more than the distance; along the normal, it is as much."""
    rng = np.random.default_rng((SOLID.index(kind), round(ratio * 1e3)))
    for _ in range(15):
        shapes: list[tuple[str, Floats, Floats | None]] = []
        for name, scale in (("cylinder", 0.1), (kind, 0.1 * ratio)):
            size, points = scale * 10.0 ** rng.uniform(-1.0, 0.0, 3), rng.normal(size=(20, 3))
            points *= size / np.linalg.norm(points, axis=1)[:, None]
            hull = name == "hull"
            shapes.append((name, size[: 0 if hull else 3 if name == "box" else 2], points if hull else None))
        room, small = room_of(*shapes), 0.1 * min(ratio, 1.0)
        one, two, way = anyhow(rng), anyhow(rng), anyhow(rng).apply([0.0, 0.0, 1.0])
        low, high = 0.0, 1.0 + ratio
        for _ in range(50):
            middle = 0.5 * (low + high)
            gap = smallest(room, 0.02 * small, (way * middle, one), (np.zeros(3), two))
            low, high = (middle, high) if gap < 0.0 else (low, middle)
        for off in small * np.array([1e-2, 1e-3, 1e-5, 0.0, -1e-5]):
            at = way * (high + off)
            found = touches(room, 0.02 * small, (at, one), (np.zeros(3), two))
            n = found[np.argmin(found["gap"])]["n"] * (1.0 if found["shape"][0] == 0 else -1.0)
            along = n @ at - reach(*shapes[0], one.inv().apply(-n)) - reach(*shapes[1], two.inv().apply(n))
            assert abs(along - found["gap"].min()) < 2e-6 * small, off / small


def outside(kind: str, size: Floats, points: Floats | None, p: Floats) -> float:
    """How far a point in a shape's own frame is outside it; negative inside."""
    if kind == "hull":
        equations = ConvexHull(points).equations
        return float((equations[:, :3] @ p + equations[:, 3]).max())
    if kind == "capsule":
        return float(np.linalg.norm(p - (0.0, 0.0, np.clip(p[2], -0.5 * size[1], 0.5 * size[1]))) - size[0])
    if kind == "box":
        away = np.abs(p) - 0.5 * size
    else:
        away = np.array([np.hypot(p[0], p[1]) - size[0], abs(p[2]) - 0.5 * size[1]])
    return float(away.max() if away.max() < 0.0 else np.linalg.norm(np.maximum(away, 0.0)))


@pytest.mark.parametrize("kind", SOLID)
@pytest.mark.parametrize("ratio", [1e-3, 1e-2, 0.1, 1.0, 10.0])
def test_closest_points_are_on_both_shapes(kind: str, ratio: float) -> None:
    """Also where edges are parallel or corners are on faces, so that points of the difference of two shapes are on a
    line or coincide."""
    rng = np.random.default_rng((SOLID.index(kind), round(ratio * 1e3)))
    angles, along = Rotation.create_group("O"), ([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1])
    for _ in range(25):
        small = 0.1 * min(ratio, 1.0)
        size, points = 0.1 * ratio * rng.uniform(0.3, 1.0, 3), np.concatenate([np.eye(3), -np.eye(3)])
        size, points = size[: {"box": 3, "hull": 0}.get(kind, 2)], 0.5 * size * points if kind == "hull" else None
        shapes = (("cylinder", 0.1 * rng.uniform(0.3, 1.0, 2), None), (kind, size, points))
        room, one, way = room_of(*shapes), anyhow(rng), np.array(along[rng.integers(6)])
        two = one * angles[rng.integers(24)] * Rotation.from_euler("xz", 45 * rng.integers(2, size=2), degrees=True)
        way, low, high = one.apply(way / np.linalg.norm(way)), 0.0, 1.0 + ratio
        for _ in range(50):
            middle = 0.5 * (low + high)
            gap = smallest(room, 0.02 * small, (way * middle, one), (np.zeros(3), two))
            low, high = (middle, high) if gap < 0.0 else (low, middle)
        for off in small * np.array([1e-3, 1e-5, 0.0, -1e-5]):
            at = way * (high + off)
            found = touches(room, 0.02 * small, (at, one), (np.zeros(3), two))
            touch = found[np.argmin(found["gap"])]
            half = 0.5 * touch["gap"] * touch["n"] * (1.0 if touch["shape"] == 0 else -1.0)
            assert abs(outside(*shapes[0], one.inv().apply(touch["point"] + half - at))) < 1e-3 * small
            assert abs(outside(*shapes[1], two.inv().apply(touch["point"] - half))) < 1e-3 * small


@pytest.mark.parametrize("kind", ["cylinder", "box", "hull"])
def test_rods_that_cross_at_a_small_angle_touch_where_they_cross(kind: str) -> None:
    """Not at their ends, where they are farther apart than they are thick: one lies across another one, on its edge or
    round side, with its middle beside it."""
    r, length, off = 1e-3, 1.0, 0.1
    lying, edge = Rotation.from_euler("y", 90.0, degrees=True), Rotation.from_euler("z", 45.0, degrees=True)
    square = np.array([[r, 0, 0], [-r, 0, 0], [0, r, 0], [0, -r, 0]])
    points = np.concatenate([square + [0, 0, z] for z in (-0.5 * length, 0.5 * length)]) if kind == "hull" else None
    size = {"cylinder": (r, length), "box": (np.sqrt(2) * r, np.sqrt(2) * r, length)}.get(kind, ())
    own = edge if kind == "box" else Rotation.identity()
    room = room_of((kind, np.array(size), points), (kind, np.array(size), points))
    for angle in (0.003, 0.01, 0.03):
        turn = Rotation.from_euler("z", angle) * lying
        at = turn.apply([0.0, 0.0, off]) + (0.0, 0.0, 2 * r)
        found = touches(room, 1e-4, (at, turn * own), (np.zeros(3), lying * own))
        assert found["gap"].min() == pytest.approx(0.0, abs=1e-9)
        assert np.abs(found["point"][:, 0]).max() * angle < r


def test_gaps_of_grains_beside_long_capsules_are_distances_from_their_axes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        r, half, tilt = 0.08, 1e-4 * rng.uniform(1.0, 1.5, 3), 10.0 ** rng.uniform(-4.0, -2.0)
        room, turn = room_of(("capsule", (r, 0.15), None), ("box", 2 * half, None)), anyhow(rng)
        axis = Rotation.from_rotvec(rng.normal(size=3) * tilt)
        at = np.array([r + half[0], 0.0, 0.0]) - axis.apply([0.0, 0.0, rng.uniform(-0.05, 0.05)])

        def away(x: float, at: Floats = at, axis: Rotation = axis, half: Floats = half) -> float:
            """The squared distance of a point of the axis from the box."""
            out = np.maximum(np.abs(at + axis.apply([0.0, 0.0, x])) - half, 0.0)
            return 1e6 * float(out @ out)

        best = minimize_scalar(away, bounds=(-0.075, 0.075), method="bounded", options={"xatol": 1e-12})
        expected = 1e-3 * np.sqrt(best.fun) - r
        found = smallest(room, 1e-4, (turn.apply(at), turn * axis), (np.zeros(3), turn))
        assert found == pytest.approx(expected, abs=1e-9)


# --- height fields ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLID)
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_shapes_that_a_blade_goes_all_through_are_lifted_off_it(kind: str, scale: float) -> None:
    """None of their corners is below ground, and the blade's ridge is above them: lifted by the gap, they are free."""
    rng, heights = np.random.default_rng(SOLID.index(kind)), np.zeros((9, 9))
    heights[:, 4] = 0.4 * scale
    field = {"kind": "heights", "size": (scale, scale), "points": heights}
    for _ in range(15):
        size = scale * np.array([0.02, 0.5]) if kind in ("capsule", "cylinder") else scale * np.array([0.5, 0.04, 0.03])
        lying = Rotation.from_euler("y", 90.0, degrees=True) if len(size) == 2 else Rotation.identity()
        points = None
        if kind == "hull":
            points = rng.normal(size=(40, 3))
            points, size = points / np.linalg.norm(points, axis=1)[:, None] * size / 2, np.zeros(0)
        room = room_of((kind, size, points), ground=field)
        turn = Rotation.from_euler("zy", rng.uniform(-0.2, 0.2, 2)) * lying
        at = scale * np.array([rng.uniform(-0.05, 0.05), rng.uniform(-0.2, 0.2), rng.uniform(0.12, 0.25)])
        gap, up = smallest(room, 1e-3 * scale, (at, turn)), np.array([0.0, 0.0, 1.0])
        assert gap < -0.1 * scale
        assert 0.0 < smallest(room, 1e-3 * scale, (at + (1e-4 * scale - gap) * up, turn)) < 2e-4 * scale
        assert smallest(room, 1e-3 * scale, (at + (-1e-3 * scale - gap) * up, turn)) < 0.0


def test_spheres_beyond_the_border_touch_its_edges() -> None:
    """Wherever their middles are above the closest point of the border: also below the slope within it, carried on."""
    rng, x = np.random.default_rng(0), np.linspace(-0.5, 0.5, 9)
    for _ in range(30):
        heights, r = 0.15 * rng.normal(size=(9, 9)), 0.25 * 10.0 ** rng.uniform(-0.8, 0.0)
        room = room_of(("sphere", (r,), None), ground={"kind": "heights", "size": (1.0, 1.0), "points": heights})
        edge = np.stack([np.full(9, 0.5), x, heights[:, -1]], axis=1)
        p, u = edge[:-1], np.diff(edge, axis=0)
        for _ in range(20):
            y = rng.uniform(-0.3, 0.3)
            at = np.array([0.5 + rng.uniform(0.0, r), y, np.interp(y, x, heights[:, -1]) + rng.uniform(0.0, r)])
            share = np.clip(np.einsum("ki,ki->k", at - p, u) / np.einsum("ki,ki->k", u, u), 0.0, 1.0)
            away = at - p - share[:, None] * u
            nearest = away[np.argmin(np.linalg.norm(away, axis=1))]
            expected = np.linalg.norm(nearest) - r
            if nearest[2] > 0.0 and expected < 0.0:
                assert smallest(room, 1e-3, (at, Rotation.identity())) < expected + 1e-9
