"""Bodies on faces of hulls: whatever their outline, and however they are turned about the vertical, touches are around
the centre of mass of what rests, and it stays at rest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from supple import Contacts, Model, ModelBuilder, simulate
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from tests.touching import Floats

GROUNDS = ("plane", "box", "hull")
CUBE = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), axis=-1).reshape(-1, 3)
BLUNT = np.array([[-1.0, -0.12], [0.0, 0.23], [1.0, -0.12]])  #: a triangle with an obtuse corner
STABLE = 0.03  #: rad, that a body may lean before it falls over


def add_ground(b: ModelBuilder, kind: str, scale: float) -> None:
    """Whose surface is at the height 0."""
    size = scale * np.array([10.0, 10.0, 1.0])
    if kind == "plane":
        b.add_shape(None, "plane")
    elif kind == "box":
        b.add_shape(None, "box", size, position=(0, 0, -0.5 * scale))
    else:
        b.add_shape(None, "hull", points=(CUBE - (0, 0, 0.5)) * size)


def body_on(ground: str, points: Floats, com: Floats) -> Model:
    """A free hull."""
    scale = float(np.ptp(points, axis=0).max())
    b = ModelBuilder("body")
    b.add_body("body", joint="free", mass=1.0, com=com, inertia=[0.1 * scale**2] * 3)
    b.add_shape("body", "hull", points=points)
    add_ground(b, ground, scale)
    return b.build()


def places_of(model: Model, q: Floats) -> Floats:
    """Of the touches, seen from above."""
    room = ContactRoom(model, np.zeros((0, LAW)), Contacts())
    room.scene.length = 1e-4
    return np.array(room.touching(q)["point"])[:, :2]


def margin(places: Floats, at: Floats) -> float:
    """How far inside the outline of places a point is."""
    return float(-(ConvexHull(places).equations @ np.append(at, 1.0)).max())


def prism(section: Floats, height: float) -> Floats:
    return np.concatenate([np.column_stack([section, np.full(len(section), z)]) for z in (0.0, height)])


def stable_faces(points: Floats, com: Floats, rng: np.random.Generator) -> list[tuple[Rotation, Floats, Floats]]:
    """How a hull is turned to rest on some of its faces, anyhow about the vertical; its corners then, and those of the
    face seen from above."""
    hull, found = ConvexHull(points), []
    for k in rng.permutation(len(hull.simplices))[:150]:
        corners, equation = hull.simplices[k], hull.equations[k]
        down, _ = Rotation.align_vectors([[0.0, 0.0, -1.0]], [equation[:3]])
        turn = Rotation.from_euler("z", rng.uniform(0.0, 2.0 * np.pi)) * down
        placed, middle = turn.apply(points), turn.apply(com)
        face = placed[corners, :2]
        size = np.linalg.det(face[1:] - face[0])
        height = middle[2] - placed[:, 2].min()
        if abs(size) > 1e-6 * np.ptp(points) ** 2 and margin(face, middle[:2]) > STABLE * height:
            found.append((turn, placed, face))
    return found


@pytest.mark.parametrize("count", [6, 12, 30, 100, 300])
@pytest.mark.parametrize("ground", GROUNDS)
def test_all_corners_of_the_face_on_which_a_hull_rests_touch(ground: str, count: int) -> None:
    looked = 0
    for seed in range(20 if count < 100 else 8):
        rng = np.random.default_rng((seed, count))
        points = rng.normal(size=(count, 3))
        points *= 0.1 * 10.0 ** rng.uniform(-0.7, 0.0, 3) / np.linalg.norm(points, axis=1)[:, None]
        com = points.mean(axis=0)
        model = body_on(ground, points, com)
        for turn, placed, face in stable_faces(points, com, rng):
            q = model.neutral()
            q[2], q[3:7] = -placed[:, 2].min(), turn.as_quat()
            places = places_of(model, q)
            assert np.linalg.norm(places[:, None] - face[None], axis=2).min(axis=0).max() < 1e-6, seed
            assert len(places) <= 9
            looked += 1
    assert looked > 20


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_prism_with_a_blunt_edge_stays_at_rest_however_it_is_turned(ground: str) -> None:
    for yaw in np.radians(np.arange(0.5, 45.0, 3.0)):
        section = 0.1 * BLUNT @ np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
        model = body_on(ground, prism(section, 0.03), np.array([0.0, 0.0, 0.015]))
        q = model.neutral()
        places = places_of(model, q)
        assert np.linalg.norm(places[:, None] - section[None], axis=2).min(axis=0).max() < 1e-9
        run = simulate(model, q, duration=0.2, dt=2e-3, contacts=True)
        assert np.abs(run.v).max() < 1e-6, yaw


@pytest.mark.parametrize("kind", ["box", "cylinder", "hull"])
def test_what_lies_on_a_prism_near_its_blunt_edge_stays_at_rest(kind: str) -> None:
    size = 0.1
    for yaw in np.arange(0.5, 45.0, 3.0):
        turn = Rotation.from_euler("z", yaw, degrees=True)
        b = ModelBuilder("pair")
        b.add_body("body", joint="free", mass=1.0, inertia=[0.002] * 3)
        if kind == "hull":
            b.add_shape("body", "hull", points=size * CUBE)
        else:
            b.add_shape("body", kind, [size] * 3 if kind == "box" else [0.5 * size, size])
        b.add_shape(None, "hull", points=prism(BLUNT, -0.5), rotation=turn.as_matrix())
        model = b.build()
        q = model.neutral()
        q[:3], q[3:7] = turn.apply([0.0, 0.03, 0.5 * size]), turn.as_quat()
        assert margin(places_of(model, q), q[:2]) > 0.4 * size
        run = simulate(model, q, duration=0.1, dt=2e-3, contacts=True)
        assert np.abs(run.v).max() < 1e-6, yaw


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("sides", [5, 9, 16, 17, 40, 100])
def test_faces_of_many_corners_touch_at_eight_that_span_most_of_them(ground: str, sides: int) -> None:
    """A regular octagon has 90% of the area of its circle."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    section = 0.1 * np.column_stack([np.cos(angle), np.sin(angle)])
    model = body_on(ground, prism(section, 0.1), np.array([0.0, 0.0, 0.05]))
    for yaw in np.linspace(0.0, 1.0, 7):
        q = model.neutral()
        q[3:7] = Rotation.from_euler("z", yaw).as_quat()
        places = places_of(model, q)
        assert len(places) == min(sides, 8)
        assert ConvexHull(places).volume > 0.85 * ConvexHull(section).volume


@pytest.mark.parametrize("noise", [1e-8, 1e-6, 1e-4, 1e-3])
def test_hulls_whose_soles_are_not_quite_flat_come_to_rest(noise: float) -> None:
    """On three corners: those that stand back a little take no one's place."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        angle, r = np.sort(rng.uniform(0.0, 2.0 * np.pi, 20)), np.sqrt(rng.uniform(0.3, 1.0, 20))
        section = 0.2 * np.column_stack([r * np.cos(angle), r * np.sin(angle)])
        points = prism(section, 0.1) + noise * 0.2 * rng.uniform(-1.0, 1.0, (40, 1)) * (0, 0, 1)
        model = body_on("plane", points, np.array([0.0, 0.0, 0.05]))
        q = model.neutral()
        q[2], q[3:7] = 0.3 * noise + 1e-4, Rotation.from_euler("zyx", [seed, 0.003, 0.002]).as_quat()
        run = simulate(model, q, duration=1.0, dt=2e-3, contacts=Contacts())
        assert np.abs(run.v[-50:]).max() < 1e-5, seed


# --- faces on edges ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("roll", [0.3, np.pi / 4])
@pytest.mark.parametrize("yaw", [0.0, 1e-3, 0.3])
def test_a_box_that_falls_on_edges_of_long_boxes_comes_to_rest(roll: float, yaw: float) -> None:
    """It leans a little while it lands, so that its own edges cross those of the bars: both ends touch all the same."""
    bar, lie = np.array([4.0, 0.1, 0.1]), 0.002
    top = 0.5 * bar[1] * (np.cos(roll) + np.sin(roll))
    for dt in (1e-3, 2e-3, 4e-3):
        b, size = ModelBuilder("bars"), np.array([0.7, 0.9, 0.3])
        for side in (-1.0, 1.0):
            turn = Rotation.from_euler("z", side * yaw) * Rotation.from_euler("x", roll)
            b.add_shape(None, "box", bar, position=(0.0, 0.25 * side, -top), rotation=turn.as_matrix())
        b.add_body("body", joint="free", mass=10.0, inertia=10.0 / 12 * (size @ size - size**2))
        b.add_shape("body", "box", size)
        model = b.build()
        q = model.neutral()
        q[2], q[3:7] = 0.5 * size[2] + 0.01, Rotation.from_euler("xy", [lie, lie]).as_quat()
        run = simulate(model, q, duration=1.5, dt=dt, contacts=Contacts())
        assert np.abs(run.v[-50:-1]).max() < 1e-6, dt
        assert run.q[-1, 2] == pytest.approx(0.5 * size[2], abs=1e-5)
