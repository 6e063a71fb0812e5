"""Gaps and normals of convex shapes, beside coal's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple import Contacts, Model, ModelBuilder
from supple.contact.room import ContactRoom

coal = pytest.importorskip("coal")

KINDS = ("sphere", "capsule", "box", "cylinder", "hull")


def pair(rng: np.random.Generator) -> Model:
    """Two free bodies, the first with a cylinder or a hull."""
    b = ModelBuilder("pair")
    for i, kind in enumerate([rng.choice(KINDS[3:]), rng.choice(KINDS)]):
        size = rng.uniform(0.1, 0.3, 3)
        b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.1] * 3)
        if kind == "hull":
            points = rng.normal(size=(30, 3))
            b.add_shape(f"body{i}", "hull", points=points / np.linalg.norm(points, axis=1)[:, None] * size)
        else:
            b.add_shape(f"body{i}", str(kind), size[: {"sphere": 1, "box": 3}.get(str(kind), 2)])
    return b.build()


def theirs(model: Model) -> list[Any]:
    made = []
    for x in model.shape_list:
        if x.kind == "hull":
            assert x.points is not None
            made.append(hull(x.points))
        else:
            made.append(getattr(coal, x.kind.capitalize())(*x.size))
    return made


def coal_distance(shapes: list[Any], turns: Rotation, at: np.ndarray) -> tuple[float, np.ndarray]:
    """The distance, negative where they overlap, and the normal from the second to the first."""
    places = [coal.Transform3s(R, p) for R, p in zip(turns.as_matrix(), (at, np.zeros(3)))]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance, request.epa_tolerance = 1e-10, 1e-8
    distance = coal.distance(shapes[0], places[0], shapes[1], places[1], request, result)
    return distance, -np.asarray(result.normal).ravel()


@pytest.mark.parametrize("wanted", [0.02, 1e-3, 1e-5, -1e-5, -1e-3, -0.01])
def test_gaps_and_normals_are_coals(wanted: float) -> None:
    for seed in range(25):
        rng = np.random.default_rng(seed)
        model = pair(rng)
        shapes, turns, way = theirs(model), Rotation.random(2, random_state=seed), rng.normal(size=3)
        way, low, high = way / np.linalg.norm(way), 0.0, 2.0
        for _ in range(50):  # they are `wanted` apart somewhere along a line
            middle = 0.5 * (low + high)
            low, high = (low, middle) if coal_distance(shapes, turns, way * middle)[0] > wanted else (middle, high)
        expected, normal = coal_distance(shapes, turns, way * high)
        q = model.neutral()
        q[:3], q[3:7], q[10:14] = way * high, *turns.as_quat()
        room = ContactRoom(model, np.zeros((0, 11)), Contacts())
        room.scene.length = 0.05
        found = room.touching(q)
        closest = found[np.argmin(found["gap"])]
        sign = 1.0 if closest["shape"] == 0 else -1.0
        kinds = [x.kind for x in model.shape_list]
        assert closest["gap"] == pytest.approx(expected, abs=1e-6, rel=2e-3), (seed, kinds)
        assert abs(sign * closest["n"] @ normal) > 0.999, (seed, kinds)


def hull(points: np.ndarray) -> Any:
    corners = coal.StdVec_Vec3s()
    for p in points:
        corners.append(p)
    return coal.Convex.convexHull(corners, False, None)


def rough_field(rng: np.random.Generator, depth: float = 0.05) -> tuple[np.ndarray, list[Any]]:
    """Heights over a square metre, and what is below each of their triangles, to a depth."""
    heights, x = 0.08 * rng.normal(size=(9, 9)), np.linspace(-0.5, 0.5, 9)
    at = np.stack([*np.meshgrid(x, x), heights], axis=2)
    cells = [(at[r, c], at[r, c + 1], at[r + 1, c + 1], at[r + 1, c]) for r in range(8) for c in range(8)]
    tops = [np.array(x) for a, b, d, e in cells for x in ((a, b, d), (a, e, d))]
    return heights, [hull(np.concatenate([x, x - (0.0, 0.0, depth)])) for x in tops]


def nearest(shape: Any, turn: Rotation, at: np.ndarray, others: list[Any]) -> float:
    place, request = coal.Transform3s(turn.as_matrix(), at), coal.DistanceRequest()
    request.gjk_tolerance, still = 1e-10, coal.Transform3s()
    return float(min(coal.distance(shape, place, x, still, request, coal.DistanceResult()) for x in others))


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("middle", [(0.0, 0.0), (0.5, 0.1), (-0.1, -0.5)], ids=["inside", "border", "another border"])
def test_gaps_above_height_fields_are_those_of_their_nearest_triangle(kind: str, middle: tuple[float, float]) -> None:
    """Shapes of about the size of a cell, which hang 2 mm above ridges, peaks, slopes and edges of the border."""
    wanted, spread = 2e-3, 0.2 if middle == (0.0, 0.0) else 0.03
    for seed in range(8):
        rng = np.random.default_rng(seed)
        heights, below = rough_field(rng)
        b, size = ModelBuilder("field"), rng.uniform(0.05, 0.2, 3)
        b.add_body("body", joint="free", mass=1.0, inertia=[0.1] * 3)
        points = rng.normal(size=(30, 3))
        given = {"points": points / np.linalg.norm(points, axis=1)[:, None] * size} if kind == "hull" else {}
        b.add_shape("body", kind, () if given else size[: 3 if kind == "box" else 2], **given)
        (shape,) = theirs(b.build())
        b.add_shape(None, "heights", (1.0, 1.0), points=heights)
        model, turn, at = b.build(), Rotation.random(random_state=seed), np.append(middle, 0.6)
        at[:2] += rng.uniform(-spread, spread, 2)
        for _ in range(100):  # down by as much as is free, until they are near
            free = nearest(shape, turn, at, below) - wanted
            at[2] -= free
            if free < 1e-6:
                break
        q = model.neutral()
        q[:3], q[3:7] = at, turn.as_quat()
        room = ContactRoom(model, np.zeros((0, 11)), Contacts())
        room.scene.length = 0.01
        found = room.touching(q)
        assert found["gap"].min() == pytest.approx(wanted, abs=1e-5), seed


# --- all kinds, however they lie --------------------------------------------------------------------------------------

LIES = ("anyhow", "along each other's axes", "nearly so")


def any_pair(rng: np.random.Generator, kinds: tuple[str, str]) -> Model:
    b = ModelBuilder("pair")
    for i, kind in enumerate(kinds):
        size, given = rng.uniform(0.1, 0.3, 3), {}
        b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.1] * 3)
        if kind == "hull":
            points = rng.normal(size=((20, 200)[i], 3))  # few corners are scanned, many are climbed
            given["points"] = points / np.linalg.norm(points, axis=1)[:, None] * size
        b.add_shape(f"body{i}", kind, size[: {"sphere": 1, "box": 3, "hull": 0}.get(kind, 2)], **given)
    return b.build()


def lie(rng: np.random.Generator, how: str) -> tuple[Rotation, np.ndarray]:
    """How two shapes are turned, and a direction from the second to the first: half of those of shapes that lie along
    each other's axes are along an axis, too, so that faces are flush."""
    one, two = Rotation.from_quat(rng.normal(size=4)), Rotation.from_quat(rng.normal(size=4))
    way = rng.normal(size=3)
    if how != LIES[0]:
        two = one * Rotation.create_group("O")[rng.integers(24)]
        way = one.apply(np.eye(3)[rng.integers(3)]) if rng.random() < 0.5 else way
    if how == LIES[2]:
        two = two * Rotation.from_rotvec(rng.normal(size=3) * 10.0 ** rng.uniform(-8, -1))
    return Rotation.concatenate([two, one]), way / np.linalg.norm(way)


@pytest.mark.parametrize("kinds", [*itertools.combinations_with_replacement(KINDS, 2)], ids="-".join)
def test_all_that_overlaps_or_is_near_is_found_as_deep_as_by_coal(kinds: tuple[str, str]) -> None:
    """With reach, as where a step begins, and without any, as where its end is judged."""
    rng = np.random.default_rng(len(kinds[0]) + 10 * len(kinds[1]))
    for _ in range(3):
        model = any_pair(rng, kinds)
        shapes, room = theirs(model), ContactRoom(model, np.zeros((0, 11)), Contacts())
        for how, wanted in itertools.product(LIES, (0.01, 1e-4, -1e-4, -1e-3, -0.01)):
            (turns, way), low, high = lie(rng, how), 0.0, 2.0
            for _ in range(45):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if coal_distance(shapes, turns, way * middle)[0] > wanted else (middle, high)
            expected = coal_distance(shapes, turns, way * high)[0]
            q = model.neutral()
            q[:3], q[3:7], q[10:14] = way * high, *turns.as_quat()
            for room.scene.length in (0.02, 0.0) if wanted < 0 else (0.02,):
                least = room.touching(q)["gap"].min(initial=np.inf)
                if kinds == ("box", "box") and wanted > 0:  # along a face's normal, which may be less
                    assert 0.0 < least < expected + 1e-6, how
                else:
                    assert least == pytest.approx(expected, abs=1e-6, rel=0.05), how


def test_the_closest_point_of_a_capsule_is_found_beside_edges_and_corners_of_boxes() -> None:
    """Lines past an edge, whose distance to the box is steep on one side and flat on the other."""
    b = ModelBuilder("pair")
    for name, kind, size in (("capsule", "capsule", (0.078, 0.295)), ("box", "box", (0.5, 0.5, 0.3))):
        b.add_body(name, joint="free", mass=1.0, inertia=[0.1] * 3)
        b.add_shape(name, kind, size)
    model, rng, q = b.build(), np.random.default_rng(0), np.zeros(14)
    shapes, room, q[13] = theirs(model), ContactRoom(model, np.zeros((0, 11)), Contacts()), 1.0
    room.scene.length = 0.02
    places = rng.uniform(-1, 1, (600, 3)) * (0.4, 0.4, 0.3)
    axes = np.concatenate([[(-0.4416829, -0.85603797, 0.26854275)], rng.normal(size=(599, 3))])
    places[0] = -0.28258824, 0.3455508, -0.06628971
    for at, axis in zip(places, axes):
        turn = Rotation.align_vectors([axis], [(0.0, 0.0, 1.0)])[0]
        turns = Rotation.concatenate([turn, Rotation.identity()])
        expected = coal_distance(shapes, turns, at)[0]
        if -0.07 < expected < 0.02:  # otherwise the line itself is in the box, or the capsule is out of reach
            q[:3], q[3:7] = at, turn.as_quat()
            assert room.touching(q)["gap"].min(initial=np.inf) == pytest.approx(expected, abs=1e-6), (at, axis)


# --- overlap with height fields ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wanted", [2e-3, 1e-4, -1e-4, -4e-4, -2e-3])
def test_gaps_at_height_fields_are_those_of_coal_where_shapes_overlap_them(kind: str, wanted: float) -> None:
    """Sunk from where it just touches: as deep as it is in what is below any triangle, and no deeper than it sank."""
    for seed in range(40):
        rng = np.random.default_rng((seed, KINDS.index(kind)))
        heights, below = rough_field(rng, 3.0)
        b, size = ModelBuilder("field"), 0.25 * 10.0 ** rng.uniform(-0.8, 0.0, 3)
        b.add_body("body", joint="free", mass=1.0, inertia=[0.1] * 3)
        points = rng.normal(size=(20, 3))
        given = {"points": points / np.linalg.norm(points, axis=1)[:, None] * size} if kind == "hull" else {}
        b.add_shape("body", kind, size[: {"sphere": 1, "box": 3, "hull": 0}.get(kind, 2)], **given)
        (shape,) = theirs(b.build())
        b.add_shape(None, "heights", (1.0, 1.0), points=heights)
        model, turn, q = b.build(), Rotation.from_quat(rng.normal(size=4)), np.zeros(7)
        at, low, high = np.append(rng.uniform(-0.3, 0.3, 2), 0.0), -1.0, 1.0
        for _ in range(35):
            at[2] = 0.5 * (low + high)
            low, high = (low, at[2]) if nearest(shape, turn, at, below) > max(wanted, 0.0) else (at[2], high)
        at[2] = high + min(wanted, 0.0)
        expected = nearest(shape, turn, at, below)
        room = ContactRoom(model, np.zeros((0, 11)), Contacts())
        q[:3], q[3:7], room.scene.length = at, turn.as_quat(), 0.004
        found = room.touching(q)["gap"].min(initial=np.inf)
        assert min(expected, 1.02 * wanted) - 1e-5 < found < expected + 1e-5 + 0.05 * abs(expected), seed
