"""Bodies that touch, against closed forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import Contacts, Model, ModelBuilder, ModelError, Result, StateError, simulate
from supple.contact.memory import Entry
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from supple.model.geometry import rotation_from_quaternion

G = 9.81
BALL = 0.4  #: m r^2: inertia of a sphere


def box_inertia(mass: float, edges: tuple[float, float, float]) -> tuple[float, ...]:
    x, y, z = edges
    return tuple(mass / 12 * s for s in (y * y + z * z, x * x + z * z, x * x + y * y))


def slope(angle: float) -> tuple[float, float, float]:
    """Gravity by which the floor z = 0 slopes down along x."""
    return G * np.sin(angle), 0.0, -G * np.cos(angle)


def block(edges: tuple[float, float, float], mu: float, gravity: tuple[float, float, float] = (0, 0, -G)) -> Model:
    b = ModelBuilder("block", gravity=gravity)
    b.add_body("block", joint="free", mass=2.0, inertia=box_inertia(2.0, edges))
    b.add_shape("block", "box", edges, friction=mu)
    b.add_shape(None, "plane")
    return b.build()


def balls(n: int, radius: float = 0.1, gravity: Any = (0, 0, -G), **shape: Any) -> Model:
    b = ModelBuilder("balls", gravity=gravity)
    for i in range(n):
        b.add_body(f"ball{i}", joint="free", mass=1.0, inertia=[BALL * radius**2] * 3)
        b.add_shape(f"ball{i}", "sphere", [radius], **shape)
    return b.build()


def at(model: Model, *places: tuple[float, float, float]) -> np.ndarray:
    q = model.neutral()
    for i, p in enumerate(places):
        q[7 * i : 7 * i + 3] = p
    return q


def world_velocity(r: Result, body: int = 0, k: int = -1) -> tuple[np.ndarray, np.ndarray]:
    q, v = r.q[k], r.v[k]
    R = rotation_from_quaternion(q[7 * body + 3 : 7 * body + 7])
    return R @ v[6 * body : 6 * body + 3], R @ v[6 * body + 3 : 6 * body + 6]


@pytest.mark.parametrize(("degrees", "mu"), [(20, 0.5), (26.5, 0.5), (26.6, 0.5), (35, 0.5), (45, 0.3), (30, 0.0)])
def test_a_block_slides_where_the_slope_is_steeper_than_its_friction(degrees: float, mu: float) -> None:
    angle = np.radians(degrees)
    model = block((0.4, 0.3, 0.1), mu, slope(angle))
    r = simulate(model, at(model, (0, 0, 0.05)), duration=0.5, contacts=True)
    expected = max(0.0, G * (np.sin(angle) - mu * np.cos(angle))) * 0.5
    np.testing.assert_allclose(world_velocity(r)[0], (expected, 0, 0), atol=1e-7)
    force = sum(c.force for c in r.contacts(-1))
    np.testing.assert_allclose(force[2], 2.0 * G * np.cos(angle), rtol=1e-4)
    assert np.abs(r.q[:, 2] - 0.05).max() < 1e-6


def test_a_sphere_rolls_down_at_five_sevenths() -> None:
    """Without slip while tan(angle) < 7/2 mu; the force of friction is 2/7 of the weight along the slope."""
    angle = np.radians(25)
    b = ModelBuilder("ball", gravity=slope(angle))
    b.add_body("ball", joint="free", mass=1.0, inertia=[BALL * 0.01] * 3)
    b.add_shape("ball", "sphere", [0.1], friction=0.4)
    b.add_shape(None, "plane")
    model = b.build()
    r = simulate(model, at(model, (0, 0, 0.1)), duration=0.5, contacts=True)
    v, w = world_velocity(r)
    np.testing.assert_allclose(v, (5 / 7 * G * np.sin(angle) * 0.5, 0, 0), atol=1e-6)
    np.testing.assert_allclose(w, (0, v[0] / 0.1, 0), atol=1e-6)
    (contact,) = r.contacts(-1)
    np.testing.assert_allclose(contact.force, (-2 / 7 * G * np.sin(angle), 0, G * np.cos(angle)), atol=1e-5)
    np.testing.assert_allclose(contact.slip, 0, atol=1e-8)


def test_a_sliding_ball_begins_to_roll_at_five_sevenths_of_its_speed() -> None:
    """Whatever the friction: angular momentum about the line of contact is kept. It slides for 2 v / (7 mu g)."""
    model = balls(1, friction=0.2)
    v = np.array([3.0, 0, 0, 0, 0, 0])
    r = simulate(model, at(model, (0, 0, 0.1)), v, duration=0.6, contacts=Contacts(ground=0.0))
    np.testing.assert_allclose(world_velocity(r)[0][0], 15 / 7, rtol=1e-6)
    slips = np.array([np.linalg.norm(r.contacts(i)[0].slip) for i in range(1, len(r))])
    rolls = r.times[1 + np.argmax(slips < 1e-6)]
    np.testing.assert_allclose(rolls, 2 * 3.0 / (7 * 0.2 * G), atol=2e-3)


def test_a_spinning_disc_is_stopped_by_friction() -> None:
    """A box that spins on four corners at radius s: the torque is mu m g s, so it stops after I w / (mu m g s)."""
    edges, mu = (0.2, 0.2, 0.1), 0.3
    model = block(edges, mu)
    v = np.array([0, 0, 0, 0, 0, 4.0])
    stops = box_inertia(2.0, edges)[2] * 4.0 / (mu * 2.0 * G * 0.1 * np.sqrt(2))
    r = simulate(model, at(model, (0, 0, 0.05)), v, duration=round(0.5 * stops, 3), contacts=True)
    np.testing.assert_allclose(world_velocity(r)[1][2], 4.0 * (1 - r.times[-1] / stops), rtol=2e-3)
    r = simulate(model, at(model, (0, 0, 0.05)), v, duration=1.2 * stops, contacts=True)
    np.testing.assert_allclose(world_velocity(r)[1], 0, atol=1e-7)


@pytest.mark.parametrize("height", [0.9, 1.1])
def test_a_box_tips_or_slides(height: float) -> None:
    """On a slope that is steeper than its friction allows, a box slides if mu < width / height, and else tips over."""
    mu = 0.5
    edges = (0.2, 0.3, 0.2 * height / mu)
    model = block(edges, mu, slope(np.arctan(0.52)))
    r = simulate(model, at(model, (0, 0, edges[2] / 2)), duration=0.4, contacts=True)
    w = world_velocity(r)[1][1]
    if height < 1:
        np.testing.assert_allclose(w, 0, atol=1e-6)
    else:
        assert w > 0.01


@pytest.mark.parametrize("steeper", [0.97, 1.03])
def test_a_ladder_slips_at_its_known_angle(steeper: float) -> None:
    """A uniform ladder on a floor with friction mu against a smooth wall: it slips if cot(angle) > 2 mu."""
    mu = 0.4
    angle = np.arctan(1 / (2 * mu)) * steeper
    b = ModelBuilder("ladder")
    b.add_body("ladder", joint="free", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3))
    for end, friction in (("foot", mu), ("top", 0.0)):
        z = -0.5 if end == "foot" else 0.5
        b.add_shape("ladder", "sphere", [1e-3], (0, 0, z), friction=friction, name=end)
    b.add_shape(None, "plane", name="floor", apart=("top",))
    b.add_shape(None, "plane", rotation=[[0, 0, -1], [0, 1, 0], [1, 0, 0]], name="wall", apart=("foot",))
    model = b.build()
    turn = np.pi / 2 - angle  # from upright towards the wall, x = 0, which is solid where x > 0
    q = at(model, (-0.5 * np.cos(angle) - 1e-3, 0, 0.5 * np.sin(angle) + 1e-3))
    q[3:7] = 0, np.sin(turn / 2), 0, np.cos(turn / 2)
    r = simulate(model, q, duration=0.2, contacts=True)
    moved = np.abs(r.q[-1, :3] - q[:3]).max()
    assert (moved < 1e-6) == (steeper > 1), moved


def test_a_bouncing_ball_comes_to_rest_on_the_floor() -> None:
    """Each bounce reaches e^2 of the height before, then it stays: it does not fall through."""
    model = balls(1, restitution=0.7)
    r = simulate(model, at(model, (0, 0, 1.1)), duration=4.0, dt=2e-3, contacts=Contacts(ground=0.0))
    z = r.q[:, 2] - 0.1
    tops = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])]
    np.testing.assert_allclose(tops[:5], 0.49 ** np.arange(1, 6), rtol=5e-3)
    assert abs(z[-1]) < 1e-6 and np.abs(r.v[-1]).max() < 1e-9 and z.min() > -1e-6
    np.testing.assert_allclose(r.contacts(-1)[0].force, (0, 0, G), atol=1e-6)


def test_an_elastic_ball_keeps_its_energy() -> None:
    model = balls(1, restitution=1.0, friction=0.0)
    r = simulate(model, at(model, (0, 0, 0.6)), duration=3.0, contacts=Contacts(ground=0.0))
    assert np.abs(r.energy / r.energy[0] - 1).max() < 1e-3


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-8])
def test_newtons_cradle(noise: float) -> None:
    """As many balls leave as arrive, also if those that rest approach each other by what is less than the tolerance."""
    model = balls(5, gravity=(0, 0, 0), restitution=1.0, friction=0.0)
    for arriving in (1, 2):
        q = at(model, *[(0.2 * i - (0.0 if noise else 0.1) * (i < arriving), 0, 0) for i in range(5)])
        v = np.zeros(model.nv)
        v[6 * arriving :: 6] = -noise * np.arange(5 - arriving)
        v[: 6 * arriving : 6] = 1.0
        r = simulate(model, q, v, duration=0.3, contacts=True)
        np.testing.assert_allclose(r.v[-1, ::6], [0] * (5 - arriving) + [1] * arriving, atol=1e-6)


def test_a_stack_of_ten_boxes_does_not_creep() -> None:
    b = ModelBuilder("stack")
    edges = (0.2, 0.2, 0.1)
    for i in range(10):
        b.add_body(f"box{i}", joint="free", mass=1.0, inertia=box_inertia(1.0, edges))
        b.add_shape(f"box{i}", "box", edges, friction=0.5)
    model = b.build()
    q = at(model, *[(0.01 * (i % 3), 0.01 * (i % 2), 0.05 + 0.1 * i) for i in range(10)])
    r = simulate(model, q, duration=20.0, dt=2e-3, every=1000, contacts=Contacts(ground=0.0))
    assert np.abs(r.q - q).max() < 1e-6
    weight = sum(c.force[2] for c in r.contacts(-1) if "ground" in (c.shape, c.other))
    np.testing.assert_allclose(weight, 10 * G, rtol=1e-6)


def test_a_heavy_box_rests_on_a_light_one() -> None:
    b = ModelBuilder("stack")
    for i, mass in enumerate((1.0, 1000.0)):
        b.add_body(f"box{i}", joint="free", mass=mass, inertia=box_inertia(mass, (0.2, 0.2, 0.2)))
        b.add_shape(f"box{i}", "box", (0.2, 0.2, 0.2))
    model = b.build()
    q = at(model, (0, 0, 0.1), (0.02, 0, 0.3))
    r = simulate(model, q, duration=0.5, dt=5e-3, contacts=Contacts(ground=0.0))
    assert np.abs(r.q - q).max() < 1e-6


def test_momentum_of_two_free_bodies_is_kept() -> None:
    """Linear, and angular about the origin."""
    model = balls(2, gravity=(0, 0, 0), restitution=0.5, friction=0.6)
    q = at(model, (0, 0, 0), (0.5, 0.08, 0.03))
    v = np.array([1.0, 0, 0, 3, -2, 5, -1.0, 0, 0.1, 0, 4, 0])
    r = simulate(model, q, v, duration=0.4, contacts=True)

    def momentum(k: int) -> np.ndarray:
        p, L = np.zeros(3), np.zeros(3)
        for i in range(2):
            u, w = world_velocity(r, i, k)
            p += u
            L += np.cross(r.q[k, 7 * i : 7 * i + 3], u) + BALL * 0.01 * w
        return np.concatenate([p, L])

    assert np.abs(world_velocity(r, 1)[0] - (-1.0, 0, 0.1)).max() > 0.1  # they met
    np.testing.assert_allclose(momentum(-1), momentum(0), atol=1e-9)
    assert (np.diff(r.kinetic) < 1e-9).all()


def test_a_joint_stops_at_its_limit_and_stays_there() -> None:
    b = ModelBuilder("pendulum")
    b.add_body("rod", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0), upper=0.5)
    b.add_shape("rod", "sphere", [0.01])
    r = simulate(b.build(), [0.0], [3.0], duration=0.5, contacts=True)
    assert r.q.max() < 0.5 + 1e-9
    assert r.q.max() > 0.5 - 1e-6 and r.q[-1, 0] < 0.4  # it got there, and falls back
    r = simulate(b.build(), [0.5], tau=[20.0], duration=0.5, contacts=True)
    np.testing.assert_allclose(r.q, 0.5, atol=1e-9)
    r = simulate(b.build(), [0.5], tau=[20.0], duration=0.5, contacts=Contacts(limits=False))
    assert r.q[-1, 0] > 1.0


def test_a_light_finger_stops_at_its_limit_whatever_strikes_it() -> None:
    """A body lands on a finger of a ten-thousandth of its mass, which is far from its limit when the step begins."""
    b = ModelBuilder("hand")
    b.add_body("hand", joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_body("finger", "hand", axis=(0, 1, 0), position=(0.1, 0, 0), mass=1e-4, com=(0.05, 0, 0),
               inertia=[1e-8] * 3, lower=-0.3, upper=0.3)  # fmt: skip
    b.add_shape("hand", "sphere", [0.05])
    b.add_shape("finger", "sphere", [0.01], (0.05, 0, -0.06))
    r = simulate(b.build(), [0, 0, 0.5, 0, 0, 0, 1, 0.0], [0, 0, -4.0, 3, 5, 2, 0], duration=0.4, dt=5e-3,
                 contacts=Contacts(ground=0.0))  # fmt: skip
    assert np.abs(r.q[:, 7]).max() < 0.3 + 5e-4 and np.abs(r.q[:, 7]).max() > 0.299


@pytest.mark.parametrize("stiffness", [1e2, 1e4])
def test_a_joint_stops_at_its_limit_however_hard_it_is_driven_from_rest(stiffness: float) -> None:
    """Far from its limits where the step begins, and beyond them where it would end; nothing else is near."""
    b = ModelBuilder("finger", gravity=(0, 0, 0))
    b.add_body("finger", axis=(0, 1, 0), mass=0.01, com=(0.05, 0, 0), inertia=[1e-5] * 3, lower=-0.2, upper=0.3)
    b.add_shape("finger", "sphere", [0.01])
    model = b.build()
    for target, limit in ((2.0, 0.3), (-2.0, -0.2)):
        drive = supple.Controller("finger_joint", stiffness, 0.01 * stiffness, target)
        r = simulate(model, duration=0.1, dt=5e-3, contacts=True, forces=[drive])
        assert r.q.max() < 0.3 + 5e-4 and r.q.min() > -0.2 - 5e-4
        assert r.q[-1, 0] == pytest.approx(limit, abs=1e-6)


def test_a_push_from_rest_does_not_drive_a_ball_through_a_thin_plate() -> None:
    """By 0.125 m in the first step, where the plate is 0.07 m away."""
    b = ModelBuilder("ball", gravity=(0, 0, 0))
    b.add_body("ball", joint="free", mass=1.0, inertia=[1e-3] * 3)
    b.add_shape("ball", "sphere", [0.03])
    b.add_shape(None, "box", (2, 2, 1e-3))
    model = b.build()
    push = supple.Push("ball", (0, 0, -1e4))
    r = simulate(model, at(model, (0, 0, 0.1)), duration=0.05, dt=5e-3, contacts=True, forces=[push])
    assert r.q[-1, 2] == pytest.approx(0.0305, abs=1e-5)


def test_overlap_of_heavy_bodies_is_undone_beside_light_ones() -> None:
    """A ton that overlaps the floor, and a gram at the limit of its joint."""
    b = ModelBuilder("two")
    b.add_body("heavy", joint="free", mass=1000.0, inertia=[100.0] * 3)
    b.add_shape("heavy", "box", (0.4, 0.4, 0.4))
    b.add_body("light", mass=1e-3, com=(0.01, 0, 0), inertia=[1e-8] * 3, position=(2, 0, 1), axis=(0, 1, 0), upper=0.1)
    q = [0, 0, 0.199, 0, 0, 0, 1, 0.1]
    r = simulate(b.build(), q, duration=0.02, dt=2e-3, contacts=Contacts(ground=0.0))
    assert r.q[-1, 2] > 0.2 - 1e-5


@pytest.mark.parametrize("away", [0.0, 1e-3, 0.05])
def test_boxes_that_begin_in_each_other_are_moved_apart(away: float) -> None:
    b = ModelBuilder("two", gravity=(0, 0, 0))
    for i in range(2):
        b.add_body(f"box{i}", joint="free", mass=1.0 + i, inertia=[0.01] * 3)
        b.add_shape(f"box{i}", "box", (0.2, 0.2, 0.2))
    model = b.build()
    r = simulate(model, at(model, (0, 0, 0), (away, 0, 0)), duration=0.05, dt=2e-3, contacts=True)
    np.testing.assert_allclose(np.abs(r.q[-1, :3] - r.q[-1, 7:10]).max(), 0.2, atol=1e-5)
    assert np.abs(r.v).max() < 1e-9 and np.ptp(r.q[:, 0] + 2 * r.q[:, 7]) < 1e-12  # its centre of mass stays


@pytest.mark.parametrize("along", ["x", "y"])
def test_a_cylinder_rolls_down_a_slope_of_a_height_field(along: str) -> None:
    """At g sin / (1 + I / m r^2): its lowest points are those along the normal of the slope, not along z."""
    angle = 0.4
    b = ModelBuilder("roller")
    b.add_body("roller", joint="free", mass=2.0, inertia=(0.02, 0.02, 0.01))
    turn = (np.sqrt(0.5), 0, 0, np.sqrt(0.5)) if along == "x" else (0, np.sqrt(0.5), 0, np.sqrt(0.5))
    b.add_shape("roller", "cylinder", (0.1, 0.3), rotation=turn, friction=0.8)
    ramp = np.broadcast_to(-np.tan(angle) * np.linspace(-2, 2, 17), (17, 17))
    b.add_shape(None, "heights", (4.0, 4.0), points=ramp if along == "x" else ramp.T)
    model = b.build()
    q = at(model, (0, 0, 0.1 / np.cos(angle) + 1e-9))
    r = simulate(model, q, duration=0.3, dt=3e-3, contacts=True)
    assert min(c.gap for i in range(len(r)) for c in r.contacts(i)) > -1e-4
    inertia = 0.02
    expected = G * np.sin(angle) * 0.3 / (1 + inertia / (2.0 * 0.1**2))
    v = world_velocity(r)[0]
    np.testing.assert_allclose(np.linalg.norm(v), expected, rtol=1e-3)


def test_a_box_on_a_box_of_the_world_and_on_hills() -> None:
    for ground in (dict(kind="box", size=(1, 1, 0.2)), dict(kind="heights", size=(1, 1), points=np.full((3, 4), 0.1))):
        b = ModelBuilder("box")
        b.add_body("box", joint="free", mass=1.0, inertia=box_inertia(1.0, (0.2, 0.2, 0.2)))
        b.add_shape("box", "box", (0.2, 0.2, 0.2))
        b.add_shape(None, **ground)  # type: ignore[arg-type]
        model = b.build()
        r = simulate(model, at(model, (0.03, 0.02, 0.25)), duration=0.5, contacts=True)
        np.testing.assert_allclose(r.q[-1, :3], (0.03, 0.02, 0.2), atol=1e-5)


def test_all_touches_with_a_height_field_are_found_however_many() -> None:
    """There is room for 64 at first, and those beyond it are counted only in part."""
    b = ModelBuilder("pebbles")
    for i in range(200):
        b.add_body(f"pebble{i}", joint="free", mass=1.0, inertia=(1.0, 1.0, 1.0))
        b.add_shape(f"pebble{i}", "sphere", (0.02,))
    b.add_shape(None, "heights", (6.0, 6.0), points=np.zeros((20, 20)))
    model = b.build()
    q = model.neutral()
    q.reshape(200, 7)[:, :3] = [(0.1 * (i // 10), 0.1 * (i % 10), 0.019) for i in range(200)]
    found = ContactRoom(model, np.zeros((0, LAW)), Contacts()).touching(q)
    assert set(found["a"].tolist()) == set(range(200))


def test_wrenches_of_joints_include_contacts() -> None:
    """A block on a prismatic joint along z, on the floor: its joint carries nothing; with the floor under its parent,
    the joint carries the block."""
    b = ModelBuilder("two")
    b.add_body("base", joint="free", mass=3.0, inertia=box_inertia(3.0, (0.4, 0.4, 0.2)))
    b.add_shape("base", "box", (0.4, 0.4, 0.2))
    b.add_body("top", "base", "revolute", position=(0, 0, 0.3), mass=1.0, inertia=(0.1, 0.1, 0.1))
    model = b.build()
    r = simulate(
        model, [0, 0, 0.1, 0, 0, 0, 1, 0], duration=0.1, contacts=Contacts(ground=0.0), joint_wrenches=True,
        joint_forces=True,
    )  # fmt: skip
    np.testing.assert_allclose(r.joint_wrenches[-1, 1, 5], G, rtol=1e-6)
    np.testing.assert_allclose(r.pushed[-1, 2], 4 * G, rtol=1e-6)


def test_a_run_with_contacts_is_recorded_and_resumed_bit_by_bit(tmp_path: Path) -> None:
    model = balls(3, friction=0.5, restitution=0.3)
    q = at(model, (0, 0, 0.11), (0.05, 0.02, 0.4), (0.0, 0.1, 0.7))
    how: dict[str, Any] = dict(dt=2e-3, contacts=Contacts(ground=0.0))
    whole = simulate(model, q, duration=0.8, **how)
    simulate(model, q, duration=0.4, record=tmp_path / "run.h5", **how)
    again = simulate(model, q, duration=0.8, record=tmp_path / "run.h5", resume=True, **how)
    assert np.array_equal(again.q, whole.q) and np.array_equal(again.v, whole.v)
    for i in (100, 300, -1):
        ours, theirs = again.contacts(i), whole.contacts(i)
        assert [c.shape for c in ours] == [c.shape for c in theirs] and len(ours) >= 1
        assert all(np.array_equal(a.force, b.force) for a, b in zip(ours, theirs))


def test_equations_larger_than_memory_are_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A touch of a link far from the root has an entry for every joint on the way, unless the tree is deep."""
    b, link = ModelBuilder("chain"), None
    for i in range(20):
        link = b.add_body(f"link{i}", link, "revolute" if i else "free", axis=(0, 1, 0), position=(0.1 * (i > 0), 0, 0),
                          mass=0.1, inertia=[1e-4] * 3)  # fmt: skip
        b.add_shape(link, "box", (0.08, 0.08, 0.08))
    model, zeros = b.build(), Entry.zeros

    def as_many(n: int) -> np.ndarray:
        if n > 1024:
            raise MemoryError
        return zeros(n)

    monkeypatch.setattr(Entry, "zeros", as_many)
    with pytest.raises(supple.SimulationError, match=r"contacts of 'chain' need .* GiB"):
        simulate(model, at(model, (0, 0, 0.04)), duration=0.01, contacts=Contacts(ground=0.0))


def test_what_cannot_be_is_refused() -> None:
    model = balls(1)
    with pytest.raises(StateError, match="dop853"):
        simulate(model, duration=0.1, contacts=True, integrator="dop853")
    with pytest.raises(StateError, match="quasi-statics"):
        simulate(model, duration=0.1, contacts=True, method="quasi-statics")
    with pytest.raises(ModelError, match="add_shape"):
        simulate(supple.trees.chain(3), duration=0.1, contacts=True)
    with pytest.raises(ModelError, match="no body or shape named 'bal'"):
        simulate(model, duration=0.1, contacts=Contacts(apart=[("bal", "ball0")]))
    with pytest.raises(StateError, match="apart pairs 'ball0' with itself"):
        Contacts(apart=[("ball0", "ball1"), ("ball0", "ball0")])


def test_names_that_are_apart_pass_through_each_other() -> None:
    model = balls(2, gravity=(0, 0, 0))
    q = at(model, (0, 0, 0), (0.5, 0, 0))
    v = np.array([1.0] + [0] * 11)
    for pair in (("ball0", "ball1"), ("shape0", "ball1")):
        r = simulate(model, q, v, duration=0.6, contacts=Contacts(apart=[pair]))
        assert r.v[-1, 0] == 1.0
    assert simulate(model, q, v, duration=0.6, contacts=True).v[-1, 0] < 0.6


def test_the_ground_is_below_all_shapes_and_arrows_show_its_forces() -> None:
    b = ModelBuilder("box")
    b.add_body("box", joint="free", mass=2.0, inertia=(1, 1, 1))
    b.add_shape("box", "capsule", (0.1, 0.4), rotation=(0, np.sin(0.3), 0, np.cos(0.3)))
    b.add_shape("box", "hull", points=np.random.default_rng(0).uniform(-0.2, 0.2, (20, 3)))
    model = b.build()
    q = at(model, (0, 0, 3.0))
    r = simulate(model, q, duration=0.02, contacts=Contacts(ground="below"))
    assert r.ground is not None and r.ground[:3].tolist() == [0, 0, 1] and 2.6 < r.ground[3] < 2.8
    assert r.contacts(-1) and r.contacts(-1)[0].gap < 1e-6 and r.contacts(-1)[0].other == "ground"
    assert r.arrows is not None and r.arrows.largest == pytest.approx(2.0 * G, rel=0.2)


def test_the_ground_is_below_what_is_fixed_to_the_world() -> None:
    """The base of an arm, a table and hills, also where they are turned; planes have no lowest point."""
    turn, heights = (0.0, np.sin(0.2), 0.0, np.cos(0.2)), np.random.default_rng(1).uniform(-0.1, 0.1, (4, 3))
    grid = np.stack([*np.meshgrid([-0.6, 0.0, 0.6], np.linspace(-0.4, 0.4, 4)), heights], axis=-1).reshape(-1, 3)
    tilt = np.array([[np.cos(0.4), 0.0, np.sin(0.4)], [0.0, 1.0, 0.0], [-np.sin(0.4), 0.0, np.cos(0.4)]])
    for given, lowest in (
        (("cylinder", (0.1, 0.3), (0, 0, 0.15)), 0.0),
        (("box", (1.0, 1.0, 0.1), (0, 0, -0.4)), -0.45),
        (("heights", (1.2, 0.8), (0, 0, -1.0), turn), -1.0 + (grid @ tilt.T)[:, 2].min()),
        (("plane", (), (0, 0, -2.0)), 0.4),
    ):
        b = ModelBuilder("arm")
        b.add_body("arm", axis=(0, 1, 0), position=(0, 0, 0.5), mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
        b.add_shape("arm", "capsule", (0.1, 0.4), (0.3, 0, 0), (0, np.sqrt(0.5), 0, np.sqrt(0.5)))
        b.add_shape(None, *given, points=heights if given[0] == "heights" else None)
        run = simulate(b.build(), duration=0.0, contacts=Contacts(ground="below"))
        assert run.ground is not None and run.ground[3] == pytest.approx(lowest, abs=1e-12)


@pytest.mark.parametrize("method", ["aba", "adaptive"])
@pytest.mark.parametrize(("group", "mask"), [(2, 4), (0, 2**31), (1, 0)])
def test_shapes_of_all_groups_stand_on_the_ground(group: int, mask: int, method: Any) -> None:
    """As robots do whose shapes touch only those of the floor in their file."""
    model = balls(2, group=group, mask=mask)
    how: Any = {"method": method, "active": 0} if method == "adaptive" else {}
    r = simulate(model, at(model, (0, 0, 0.3), (0.5, 0, 0.3)), duration=0.5, contacts=Contacts(ground=0.0), **how)
    np.testing.assert_allclose(r.q[-1, [2, 9]], 0.1, atol=1e-6)


@pytest.mark.parametrize("method", ["aba", "adaptive"])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "hull"])
def test_forces_are_those_on_bodies_whatever_the_shape_of_the_world(kind: str, method: Any) -> None:
    """The world's shape is the other one, also where a search for contacts takes it first."""
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    size = {"sphere": [0.5], "capsule": [0.5, 1.0], "cylinder": [0.5, 1.0], "hull": []}[kind]
    top = {"capsule": 1.0}.get(kind, 0.5)
    b = ModelBuilder("box")
    b.add_shape(None, kind, size, name="stone", points=corners if kind == "hull" else None)
    b.add_body("box", joint="free", mass=1.0, inertia=box_inertia(1.0, (0.2, 0.2, 0.2)))
    b.add_shape("box", "box", (0.2, 0.2, 0.2), name="box")
    model = b.build()
    how: Any = {"method": method, "active": 1} if method == "adaptive" else {}
    r = simulate(model, at(model, (0, 0, top + 0.1)), duration=0.1, contacts=True, **how)
    found = r.contacts(-1)
    assert found and {(c.shape, c.other) for c in found} == {("box", "stone")}
    np.testing.assert_allclose(sum(c.force for c in found), (0, 0, G), atol=1e-5)
    assert all(c.normal[2] > 0.99 and c.pressure > 0.0 for c in found)
    assert r.arrows is not None and (r.arrows.vectors[-1, :, 2] >= 0.0).all()


def test_bodies_of_a_joint_do_not_touch_unless_asked() -> None:
    """Nor if massless bodies stand between them, as in a hip of two joints; nor where they overlap from the start."""
    b = ModelBuilder("hip", gravity=(0, 0, 0))
    b.add_body("pelvis", joint="free", mass=1.0, inertia=(1, 1, 1))
    b.add_body("between", "pelvis", "revolute", axis=(1, 0, 0), armature=0.1)
    b.add_body("thigh", "between", "revolute", axis=(0, 1, 0), mass=1.0, inertia=(1, 1, 1))
    b.add_body("shin", "thigh", "revolute", axis=(0, 1, 0), position=(0, 0, -0.3), mass=1.0, inertia=(1, 1, 1))
    for name in ("pelvis", "thigh"):
        b.add_shape(name, "sphere", [0.2], name=name)
    b.add_shape("shin", "sphere", [0.15], name="shin")
    model = b.build()
    v = np.ones(model.nv)
    free = simulate(model, None, v, duration=0.1)
    same = simulate(model, None, v, duration=0.1, contacts=True)
    np.testing.assert_array_equal(same.q, free.q)
    apart = simulate(model, None, v, duration=0.1, contacts=Contacts(neighbours=True))
    np.testing.assert_array_equal(apart.q, free.q)


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_bodies_of_a_joint_touch_if_asked(method: Any) -> None:
    """Two rods of a hinge that fold up: they stop when they meet, or pass through each other."""
    b = ModelBuilder("hinge", gravity=(0, 0, 0))
    for name, parent, x in (("one", None, -0.4), ("two", "one", 0.4)):
        b.add_body(name, parent, "revolute" if parent else "free", axis=(0, 1, 0), mass=1.0, com=(0.6 * x, 0, 0),
                   inertia=(0.01, 0.02, 0.02))  # fmt: skip
        b.add_shape(name, "sphere", [0.05], (x, 0, 0))
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[-1], v[-1] = 2.0, 2.0
    how: Any = {"method": method, "active": 2} if method == "adaptive" else {}
    through = simulate(model, q, v, duration=1.0, contacts=True, **how)
    assert through.q[-1, -1] > np.pi
    met = simulate(model, q, v, duration=1.0, contacts=Contacts(neighbours=True), **how)
    assert met.q[:, -1].max() == pytest.approx(np.pi - 2 * np.arcsin(0.05 / 0.4), abs=1e-3)


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_elastic_bounces_of_a_tumbling_box_keep_its_energy(seed):
    """Rounding of the work of a bounce, which is zero, does not soften it."""
    rng = np.random.default_rng(seed)
    b = supple.ModelBuilder("block")
    b.add_body("block", joint="free", mass=2.0, inertia=(0.02, 0.03, 0.04))
    b.add_shape("block", "box", (0.4, 0.3, 0.1), friction=0.0, restitution=1.0)
    model = b.build()
    q, v = model.random(rng), rng.standard_normal(6) * [1, 1, 1, 4, 4, 4]
    q[:3] = 0, 0, 0.8
    run = supple.simulate(model, q, v, duration=1.5, dt=1e-3, contacts=supple.Contacts(ground=0.0, friction=0.0))
    assert np.ptp(run.energy) < 1e-3 * run.energy[0]


@pytest.mark.parametrize("fixed", [True, False])
def test_the_base_of_a_robot_does_not_touch_links_that_overlap_it_at_the_neutral_position(fixed: bool) -> None:
    """Its shapes are the world's if it is fixed to it. A free body at the same place is moved out of them."""
    b = ModelBuilder("robot", gravity=(0, 0, 0))
    b.add_shape(None, "box", (0.4, 0.4, 0.2), name="base")
    if fixed:
        b.add_body("link", axis=(0, 0, 1), mass=1.0, inertia=(0.1, 0.1, 0.1))
    else:
        b.add_body("link", joint="free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.add_shape("link", "box", (0.1, 0.6, 0.1), (0, 0, 0.12))
    model = b.build()
    r = simulate(model, duration=0.02, contacts=True)
    moved = np.abs(r.q[-1] - model.neutral()).max()
    assert moved == 0.0 if fixed else moved > 0.02, moved


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_a_box_that_is_lifted_off_the_floor(method: Any) -> None:
    """v = (F / m - g) t: steps are not divided because positions move with the velocities of their ends."""
    b = supple.ModelBuilder("box")
    b.add_body("box", joint="free", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.add_shape("box", "box", (0.2, 0.2, 0.2))
    q = b.build().neutral()
    q[2] = 0.1
    how: Any = {"method": method, "active": 1} if method == "adaptive" else {}
    push = supple.Push("box", force=(0.0, 0.0, 30.0))
    r = supple.simulate(b.build(), q, duration=0.02, dt=2e-3, forces=[push], contacts=Contacts(ground=0.0), **how)
    np.testing.assert_allclose(r.v[:, 2], (30.0 - 9.81) * r.times, atol=1e-9)
    assert not any(r.about["contact_faults"].values())


def test_pushed_boxes_that_strike_with_a_corner_do_not_turn_through_a_thin_plate() -> None:
    """1 kg, pushed with 10^5 N: a step moves it by 1.2 m, and a corner that is stopped turns it by several radians."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        b, size, turn = ModelBuilder("pushed"), rng.uniform(0.03, 0.1, 3), rng.normal(size=4)
        b.add_body("pushed", joint="free", mass=1.0, inertia=[2e-3] * 3)
        b.add_shape("pushed", "box", size)
        b.add_shape(None, "box", (20.0, 20.0, 1e-3))
        model = b.build()
        q = at(model, (0, 0, rng.uniform(0.12, 0.22)))
        q[3:7] = turn / np.linalg.norm(turn)
        push = supple.Push("pushed", (0, 0, -1e5))
        r = simulate(model, q, duration=0.05, dt=5e-3, contacts=Contacts(friction=0.5), forces=[push])
        assert r.q[:, 2].min() > 0.0, seed


@pytest.mark.parametrize("kind", ["box", "hull"])
def test_grains_overlap_by_a_small_share_of_their_size(kind: str) -> None:
    """Of 0.2 mm, less than the overlap that larger shapes may have."""
    rng, d, n = np.random.default_rng(0), 2e-4, 12
    b = ModelBuilder("grains")
    for i in range(n):
        b.add_body(f"grain{i}", joint="free", mass=1e3 * d**3, inertia=[1e3 * d**5 / 6] * 3)
        points = rng.normal(size=(12, 3))
        given = {"points": points / np.linalg.norm(points, axis=1)[:, None] * 0.5 * d} if kind == "hull" else {}
        b.add_shape(f"grain{i}", kind, () if given else (d, d, d), friction=0.5, **given)
    model = b.build()
    q = model.neutral()
    for i in range(n):
        turn = rng.normal(size=4)
        q[7 * i : 7 * i + 7] = *rng.uniform(-0.3 * d, 0.3 * d, 2), d * (1 + 1.8 * i), *(turn / np.linalg.norm(turn))
    r = simulate(model, q, duration=0.1, dt=1e-3, contacts=Contacts(ground=0.0))
    assert max(-c.gap for i in range(len(r)) for c in r.contacts(i)) < 0.05 * d
    assert r.about["contact_faults"]["rough"] == 0


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_bodies_at_rest_do_not_notice_what_moves_elsewhere(method: str) -> None:
    """A stack with a heavy box on top of it, and a ball that slides far away: the tolerance is that of each island."""
    b = ModelBuilder("stack")
    for i, mass in enumerate([1.0] * 5 + [30.0]):
        b.add_body(f"box{i}", joint="free", mass=mass, inertia=(0.005, 0.005, 0.006))
        b.add_shape(f"box{i}", "box", (0.2, 0.2, 0.1), friction=0.5)
    b.add_body("ball", joint="free", mass=1.0, inertia=(0.005, 0.005, 0.005))
    b.add_shape("ball", "sphere", (0.1,), friction=0.0)
    b.add_shape(None, "plane", friction=0.0)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[0:42:7], q[1:42:7], q[2:42:7] = 0.01 * (np.arange(6) % 3), 0.01 * (np.arange(6) % 2), 0.05 + 0.1 * np.arange(6)
    q[42:45] = 0.0, 5.0, 0.1
    how = dict(active=list(range(7))) if method == "adaptive" else {}
    ends = []
    for speed in (0.0, 1000.0):
        v[37] = speed
        ends.append(simulate(model, q, v, dt=2e-3, duration=0.2, contacts=True, method=method, **how).q[-1])  # type: ignore[arg-type]
    assert np.array_equal(ends[0][:42], ends[1][:42]) and ends[1][43] > 200.0
    assert np.abs(ends[1][:42] - q[:42]).max() < 1e-9


@pytest.mark.parametrize("method", ["aba", "adaptive"])
def test_a_ball_bounces_as_high_whatever_moves_elsewhere(method: str) -> None:
    """It approaches the ground by less than the tolerance of the ball that slides: that is of another island."""
    b = ModelBuilder("balls")
    for name, friction, restitution in (("bounces", 0.3, 0.8), ("slides", 0.0, 0.0)):
        b.add_body(name, joint="free", mass=1.0, inertia=[1e-3] * 3)
        b.add_shape(name, "sphere", (0.05,), friction=friction, restitution=restitution)
    b.add_shape(None, "plane", friction=0.0)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[2], q[8:10] = 0.07, (5.0, 0.05)
    how: dict[str, Any] = dict(active=[0, 1]) if method == "adaptive" else {}
    paths = []
    for speed in (0.0, 1e5):
        v[6] = speed
        paths.append(simulate(model, q, v, dt=1e-3, duration=0.15, contacts=True, method=method, **how).q[:, :7])
    assert np.array_equal(paths[0], paths[1])
    assert paths[1][100:, 2].max() == pytest.approx(0.05 + 0.8**2 * 0.02, abs=1e-4)


def sunk_box(mass: float, other: Callable[[ModelBuilder], None], place: Sequence[float], **how: Any) -> float:
    """How deep a box is in the ground two steps after it began 5 mm deep. other: adds a free body, at this place."""
    b = ModelBuilder("sunk")
    b.add_body("box", joint="free", mass=mass, inertia=[0.01 * mass] * 3)
    b.add_shape("box", "box", (0.2, 0.2, 0.2))
    other(b)
    model = b.build()
    q = model.neutral()
    q.reshape(-1, 7)[:, :3] = [(0.0, 0.0, 0.095), place]
    r = simulate(model, q, dt=2e-3, duration=4e-3, contacts=Contacts(ground=0.0), **how)
    return float(0.1 - r.q[-1, 2])


def test_overlap_is_removed_whatever_the_masses_of_bodies_elsewhere() -> None:
    def speck(b: ModelBuilder) -> None:
        b.add_body("speck", joint="free", mass=1e-10, inertia=[1e-17] * 3)
        b.add_shape("speck", "box", (1e-3, 1e-3, 1e-3))

    assert abs(sunk_box(1e4, speck, (10.0, 0.0, 5e-4))) < 2e-6


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 0}])
def test_overlap_is_removed_whatever_is_wedged_elsewhere(how: dict[str, Any]) -> None:
    """A box that is too wide for the gap that it is in cannot be moved out of both walls."""

    def wedge(b: ModelBuilder) -> None:
        b.add_body("wedged", joint="free", mass=1.0, inertia=[0.01] * 3)
        b.add_shape("wedged", "box", (0.2, 0.2, 0.2), friction=0.0)
        for x in (9.81, 10.19):
            b.add_shape(None, "box", (0.2, 1.0, 2.0), (x, 0.0, 0.5), friction=0.0)

    assert abs(sunk_box(1.0, wedge, (10.0, 0.0, 0.5), **how)) < 2e-6
