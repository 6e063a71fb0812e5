"""Cylinders and convex hulls that touch other bodies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple import Contacts, Model, ModelBuilder, simulate
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW

G = 9.81
CUBE = 0.1 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def tower(kinds: tuple[str, ...]) -> tuple[Model, np.ndarray]:
    """Shapes 0.2 high, one on the other."""
    b = ModelBuilder("tower")
    for i, kind in enumerate(kinds):
        b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.01] * 3)
        sizes = {"box": (0.2, 0.2, 0.2), "cylinder": (0.1, 0.2), "hull": ()}
        b.add_shape(f"body{i}", kind, sizes[kind], points=CUBE if kind == "hull" else None, friction=0.5)
    model = b.build()
    q = model.neutral()
    q.reshape(-1, 7)[:, 2] = 0.1 + 0.2 * np.arange(len(kinds))
    return model, q


@pytest.mark.parametrize("kinds", [("hull", "hull"), ("box", "hull", "box"), ("cylinder", "box"), ("box", "cylinder")])
def test_they_stand_on_each_other(kinds: tuple[str, ...]) -> None:
    model, q = tower(kinds)
    r = simulate(model, q, duration=1.0, dt=2e-3, contacts=Contacts(ground=0.0), every=100)
    np.testing.assert_allclose(r.q[-1], q, atol=2e-6)
    on_first = sum(c.force for c in r.contacts(-1) if {c.shape, c.other} == {x.name for x in model.shape_list[:2]})
    np.testing.assert_allclose(np.abs(on_first), (0, 0, G * (len(kinds) - 1)), atol=1e-4)


def test_a_cylinder_rolls_down_a_box_at_two_thirds() -> None:
    angle = np.radians(20)
    b = ModelBuilder("roller", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    b.add_body("roller", joint="free", mass=1.0, inertia=(0.01, 0.01, 0.005))
    b.add_shape("roller", "cylinder", (0.1, 0.4), friction=0.8)
    b.add_shape(None, "box", (8, 2, 0.2), (0, 0, -0.1))
    model = b.build()
    q = model.neutral()
    q[:7] = 0, 0, 0.1, *(np.sqrt(0.5) * np.array([1, 0, 0, 1]))
    r = simulate(model, q, duration=0.5, contacts=True)
    np.testing.assert_allclose(r.q[-1, 0], 0.5 * 2 / 3 * G * np.sin(angle) * 0.25, rtol=5e-3)
    assert np.abs(r.q[:, 2] - 0.1).max() < 1e-4


def test_a_hull_slides_as_the_box_does() -> None:
    """A cube as a hull and as a box, dropped on a box while it turns: they come to rest at the same place. How the
    weight is shared by four corners that slide is not unique, so that they turn a little more or less."""
    ends = []
    for kind in ("box", "hull"):
        b = ModelBuilder("drop")
        b.add_body("cube", joint="free", mass=1.0, inertia=[1 / 150] * 3)
        size = (0.2, 0.2, 0.2) if kind == "box" else ()
        b.add_shape("cube", kind, size, points=None if kind == "box" else CUBE, friction=0.3)
        b.add_shape(None, "box", (4, 4, 0.2), (0, 0, -0.1))
        model = b.build()
        q = model.neutral()
        q[2] = 0.15
        ends.append(simulate(model, q, [1.0, 0.2, 0, 0, 0, 0.5], duration=1.0, contacts=True).q[-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=5e-3)


def test_all_kinds_of_shapes_fall_on_each_other_and_come_to_rest() -> None:
    rng = np.random.default_rng(4)
    b = ModelBuilder("mixed")
    for i in range(15):
        kind = ("sphere", "capsule", "box", "cylinder", "hull")[i % 5]
        b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.005] * 3)
        sizes = {
            "sphere": (0.1,),
            "capsule": (0.07, 0.15),
            "box": (0.2, 0.15, 0.1),
            "cylinder": (0.1, 0.15),
            "hull": (),
        }
        b.add_shape(f"body{i}", kind, sizes[kind], points=rng.uniform(-0.1, 0.1, (20, 3)) if kind == "hull" else None)
    for side in range(4):
        at = 0.5 * np.array([np.cos(side * np.pi / 2), np.sin(side * np.pi / 2), 0])
        b.add_shape(None, "box", (0.1, 1.0, 1.0) if side % 2 == 0 else (1.0, 0.1, 1.0), at + [0, 0, 0.5])
    model = b.build()
    q = model.neutral()
    for i in range(15):
        turn = rng.normal(size=4)
        q[7 * i : 7 * i + 7] = *rng.uniform(-0.2, 0.2, 2), 0.2 + 0.3 * i, *(turn / np.linalg.norm(turn))
    r = simulate(model, q, duration=5.0, dt=4e-3, contacts=Contacts(ground=0.0, friction=0.6), every=50)
    at = r.q[-1].reshape(-1, 7)[:, :3]
    assert (np.abs(at[:, :2]) < 0.45).all() and (at[:, 2] > 0.03).all()
    speeds, contacts = np.abs(r.v[-1]).reshape(-1, 6).max(axis=1), r.contacts(-1)
    places = np.array([sum(s.name in (c.shape, c.other) for c in contacts) for s in model.shape_list[:15]])
    held = (np.arange(15) % 5 >= 2) & (np.arange(15) % 5 != 3) & (places > 2)  # what is round may roll, and what ...
    assert held.sum() >= 4 and (speeds[held] < 1e-3).all()  # ... stands on two points rocks about the line through them
    assert min(c.gap for c in contacts) > -2e-3


def test_overlap_is_the_least_of_all_directions() -> None:
    """A thin capsule through a box, often near an edge: the axes that can part a box and a line are those of the box's
    faces, and of its edges and the line."""
    rng, size = np.random.default_rng(0), np.array([0.08, 0.17, 0.25])
    b = ModelBuilder("pin")
    for name, kind, given in (("box", "box", size), ("pin", "capsule", (1e-7, 0.2))):
        b.add_body(name, joint="free", mass=1.0, inertia=[0.01] * 3)
        b.add_shape(name, kind, given)
    model = b.build()
    room, q, checked = ContactRoom(model, np.zeros((0, 11)), Contacts()), model.neutral(), 0
    while checked < 400:
        turn = Rotation.from_quat(rng.normal(size=4))
        z, at = turn.apply((0.0, 0.0, 1.0)), rng.uniform(-0.7, 0.7, 3) * size
        axes = np.concatenate([np.eye(3), np.cross(np.eye(3), z)])
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        depth = (np.abs(axes) @ (0.5 * size) + 0.1 * np.abs(axes @ z) - np.abs(axes @ at)).min()
        if depth > 1e-4:
            q[7:10], q[10:14], checked = at, turn.as_quat(), checked + 1
            assert -room.touching(q)["gap"].min(initial=1.0) == pytest.approx(depth, rel=0.021, abs=1e-6), (at, z)


def test_a_ball_deep_in_a_long_cylinder_touches_it_beside_itself() -> None:
    """The closest points of a long, thin simplex are not lost to rounding."""
    b, ball = ModelBuilder("deep"), np.array([0.54, 0.11, 0.0])
    b.add_body("rod", axis=(0, 0, 1), mass=1.0, inertia=[1.0] * 3)
    b.add_shape("rod", "cylinder", (0.02, 0.65), (0.325, 0.0, 0.0), (0, np.sqrt(0.5), 0, np.sqrt(0.5)))
    b.add_shape(None, "sphere", (0.005,), ball)
    room = ContactRoom(b.build(), np.zeros((0, LAW)), Contacts())
    for angle in np.linspace(0.157, 0.185, 500):
        across = np.array([-np.sin(angle), np.cos(angle), 0.0])
        found, far = room.touching(np.array([angle])), float(across @ ball)
        assert len(found) == 1 and found["gap"] == pytest.approx(far - 0.025, abs=1e-9), angle
        np.testing.assert_allclose(found["point"][0], ball - (0.5 * (far + 0.005 - 0.02)) * across, atol=1e-5)
