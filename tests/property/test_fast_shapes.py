"""Nothing passes through anything else, however fast it is or becomes: in a step it may move by many times its size.
Exact runs and adaptive ones, all of whose joints are active, keep to that alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from supple import AdaptiveDynamics, Contacts, Model, ModelBuilder, Push, simulate

ALLOWED = 5e-4 + 1e-9  #: metres of overlap
METHODS: tuple[dict[str, Any], ...] = ({}, {"method": "adaptive", "active": 2})


def ball_before_wall(gap: float, thickness: float, **how: float) -> Model:
    """A ball of 10 mm at the origin, with a wall along x, and nothing else."""
    b = ModelBuilder("ball", gravity=(0, 0, 0))
    b.add_body("ball", joint="free", mass=1.0, inertia=[1e-3] * 3)
    b.add_shape("ball", "sphere", (0.01,), **how)
    b.add_shape(None, "box", (thickness, 2.0, 2.0), (0.01 + gap + 0.5 * thickness, 0, 0), **how)
    return b.build()


@pytest.mark.parametrize("method", METHODS, ids=["exact", "adaptive"])
@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_a_fast_ball_does_not_pass_through_a_wall(method: dict[str, Any], restitution: float) -> None:
    """At 10 to 160 m/s, it moves by up to eighty times its diameter in a step; walls are down to 1 mm thick."""
    rng = np.random.default_rng(3)
    for thickness in (1e-3, 1e-2, 5e-2):
        for speed in (10.0, 40.0, 160.0):
            for dt in (1e-3, 5e-3):
                gap = float(rng.uniform(0.05, 1.6)) * speed * dt
                model = ball_before_wall(gap, thickness, restitution=restitution)
                v = np.array([speed, 0, 0, 0, 0, 0])
                run = simulate(model, model.neutral(), v, duration=4 * dt, dt=dt, contacts=Contacts(), **method)
                assert run.q[:, 0].max() - gap < ALLOWED, (thickness, speed, dt, gap)
                assert run.v[-1, 0] == pytest.approx(-restitution * speed, abs=1e-6 * speed)


@pytest.mark.parametrize("method", METHODS, ids=["exact", "adaptive"])
@pytest.mark.parametrize("kind", ["capsule", "box", "cylinder", "hull"])
def test_fast_solids_that_strike_with_a_corner_do_not_tumble_through_a_wall(method: dict[str, Any], kind: str) -> None:
    """At 30 to 160 m/s, they turn by up to fifty radians in a step, in the moment in which they strike."""
    size = {"capsule": (0.005, 0.005), "box": (0.01, 0.01, 0.01), "cylinder": (0.005, 0.01), "hull": ()}[kind]
    for seed in range(50):
        rng = np.random.default_rng((seed, 5))
        corners = rng.normal(size=(12, 3))
        corners *= 0.005 / np.linalg.norm(corners, axis=1)[:, None]
        corners -= corners.mean(axis=0)
        thickness, speed, dt = (float(rng.choice(x)) for x in ((1e-3, 3e-3, 1e-2), (30.0, 80.0, 160.0), (1e-3, 1e-2)))
        b, wall = ModelBuilder("solid", gravity=(0, 0, 0)), 0.01 + float(rng.uniform(0.05, 2.0)) * speed * dt
        b.add_body("solid", joint="free", mass=1.0, inertia=[1e-5] * 3)
        b.add_shape("solid", kind, size, points=corners if kind == "hull" else None)
        b.add_shape(None, "box", (thickness, 2.0, 2.0), (wall + 0.5 * thickness, 0, 0))
        model, turn = b.build(), Rotation.from_quat(rng.normal(size=4))
        q, v = model.neutral(), np.zeros(6)
        q[3:], v[:3] = turn.as_quat(), turn.inv().apply([speed, 0.1 * speed * rng.normal(), 0])
        how = {"active": 1} | method if method else {}
        run = simulate(model, q, v, duration=4 * dt, dt=dt, contacts=Contacts(), **how)
        assert run.q[:, 0].max() < wall, seed


@pytest.mark.parametrize("method", METHODS, ids=["exact", "adaptive"])
def test_a_rod_that_spins_stops_at_a_post(method: dict[str, Any]) -> None:
    """It is 1 m long; its end moves by up to ten times the thickness of both in a step."""
    for rate in (5.0, 20.0, 40.0):
        for angle in np.linspace(0.06, 0.25, 4):
            b = ModelBuilder("rod", gravity=(0, 0, 0))
            b.add_body("rod", axis=(0, 0, 1), mass=1.0, inertia=[0.3] * 3, com=(0.5, 0, 0))
            b.add_shape("rod", "capsule", (0.01, 0.9), (0.5, 0, 0), (0, np.sqrt(0.5), 0, np.sqrt(0.5)))
            b.add_shape(None, "capsule", (0.01, 0.5), (0.9 * np.cos(angle), 0.9 * np.sin(angle), 0))
            how = {"active": 1} | method if method else {}
            run = simulate(b.build(), [0.0], [rate], duration=0.025 + 0.3 / rate, dt=5e-3, contacts=Contacts(), **how)
            assert run.q[:, 0].max() < angle, (rate, angle)


@pytest.mark.parametrize("method", METHODS, ids=["exact", "adaptive"])
@pytest.mark.parametrize("force", [1e3, 1e4, 1e5])
def test_a_push_from_rest_does_not_drive_a_ball_through_a_wall(method: dict[str, Any], force: float) -> None:
    for gap in (5e-3, 5e-2):
        model = ball_before_wall(gap, 0.01)
        push = Push("ball", force=(force, 0, 0))
        run = simulate(model, model.neutral(), duration=0.05, dt=5e-3, forces=[push], contacts=Contacts(), **method)
        assert run.q[:, 0].max() - gap < ALLOWED


@pytest.mark.parametrize("method", METHODS, ids=["exact", "adaptive"])
def test_a_light_ball_that_is_struck_stays_before_a_wall(method: dict[str, Any]) -> None:
    """By one a thousand times as heavy, again and again between it and the wall: it becomes many times as fast."""
    for speed, gap, restitution in ((5.0, 0.05, 0.0), (5.0, 0.02, 1.0), (20.0, 0.05, 0.5), (20.0, 0.2, 1.0)):
        b = ModelBuilder("struck", gravity=(0, 0, 0))
        for name, mass, radius in (("heavy", 10.0, 0.05), ("light", 0.01, 0.01)):
            b.add_body(name, joint="free", mass=mass, inertia=[0.4 * mass * radius**2] * 3)
            b.add_shape(name, "sphere", (radius,), restitution=restitution)
        b.add_shape(None, "box", (0.01, 1, 1), (0.075 + gap, 0, 0), restitution=restitution)
        model = b.build()
        q, v = model.neutral(), np.zeros(12)
        q[0], q[7], v[0] = -0.004, 0.06, speed
        run = simulate(model, q, v, duration=0.04, dt=0.01, contacts=Contacts(), **method)
        assert run.q[:, 7].max() - 0.06 - gap < ALLOWED + 1e-4


@pytest.mark.parametrize("method", METHODS, ids=["exact", "adaptive"])
@pytest.mark.parametrize("kind", ["capsule", "box"])
def test_a_rod_on_the_floor_does_not_slip_under_a_wall(method: dict[str, Any], kind: str) -> None:
    """The wall stands on the floor. In the wall, the shortest way out of it would be downwards, out of its bottom."""
    b, radius = ModelBuilder("rod"), 0.002
    b.add_shape(None, "box", (0.08, 0.5, 0.2), (0.05, 0, 0.1), friction=0.5)
    b.add_body("rod", joint="free", mass=1.0, inertia=[0.0075, 0.0075, 1e-4])
    b.add_shape("rod", kind, (radius, 0.3) if kind == "capsule" else (2 * radius, 2 * radius, 0.3), friction=0.3)
    model = b.build()
    for seed in range(40):
        rng = np.random.default_rng((seed, 6))
        angle, q, v = float(rng.uniform(-0.5, 0.5)), model.neutral(), np.zeros(6)
        turn = Rotation.from_euler("xz", [-90.0, np.degrees(angle)], degrees=True)  # it lies along y, nearly
        q[:3] = 0.1 + rng.uniform(0, 0.03) + 0.15 * abs(np.sin(angle)), rng.uniform(-0.3, 0.3), radius
        q[3:] = turn.as_quat()
        v[:3], v[3:] = turn.inv().apply([[-rng.uniform(0, 5), 0, 0], [0, 0, -np.sign(angle) * rng.uniform(10, 70)]])
        how = {"active": 1} | method if method else {}
        run = simulate(model, q, v, duration=0.03, dt=5e-3, contacts=Contacts(ground=0.0), **how)
        for now in run.q:
            ends = now[:3] + Rotation.from_quat(now[3:]).apply([[0, 0, z] for z in np.linspace(-0.15, 0.15, 61)])
            inside = (np.abs(ends[:, 0] - 0.05) < 0.04) & (np.abs(ends[:, 1]) < 0.25)
            assert not inside.any(), seed


@pytest.mark.parametrize("dt", [2e-3, 5e-3, 1e-2])
def test_the_long_end_of_a_lever_does_not_pass_through_a_plate(dt: float) -> None:
    """Its short end carries a weight: gravity alone makes the tip a hundred times as fast as something that falls."""
    b = ModelBuilder("lever")
    b.add_body("lever", axis=(0, 1, 0), mass=1000.0, inertia=[1e-3] * 3, com=(-0.02, 0, 0))
    b.add_body("tip", "lever", joint="fixed", position=(2.0, 0, 0), mass=1e-3, inertia=[1e-9] * 3)
    b.add_shape("tip", "sphere", (0.005,))
    b.add_shape(None, "box", (0.1, 0.1, 0.004), (2.0, 0, 0.015))
    body = AdaptiveDynamics(b.build(), [0.0], active=1, contacts=Contacts())
    for _ in range(round(0.1 / dt)):
        body.step(dt)
        assert -2.0 * np.sin(body.q[0]) < 0.008 + ALLOWED
    assert -2.0 * np.sin(body.q[0]) == pytest.approx(0.008, abs=1e-5)
