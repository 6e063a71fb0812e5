"""Contact against closed forms, and against cases that others publish with their numbers.

Drake: multibody/benchmarks/bowling_ball, multibody/plant/test/{inclined_plane,box,joint_limits}_test.cc. MuJoCo: the
ball that slides down a slope and the one that bounces in its discussion 3404.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import supple
from supple import Contacts, Model, ModelBuilder, Push, Result, simulate
from supple.model.geometry import rotation_from_quaternion
from tests.touching import Floats, chains, strewn

G = 9.81
ADAPTIVE = {"method": "adaptive", "active": 1}


def one(kind: str, size: Any, mass: float, inertia: Any, gravity: Any = (0, 0, -G), **shape: Any) -> Model:
    """A free body with one shape, and the plane z = 0."""
    b = ModelBuilder(kind, gravity=gravity)
    b.add_body("body", joint="free", mass=mass, inertia=np.broadcast_to(inertia, 3).tolist())
    b.add_shape("body", kind, size, **shape)
    b.add_shape(None, "plane", name="floor")
    return b.build()


def slope(degrees: float, g: float = G) -> tuple[float, float, float]:
    """Gravity by which the floor z = 0 slopes down along x."""
    return g * np.sin(np.radians(degrees)), 0.0, -g * np.cos(np.radians(degrees))


def turned(r: Result, k: int = -1, body: int = 0) -> np.ndarray:
    return rotation_from_quaternion(r.q[k, 7 * body + 3 : 7 * body + 7])


def in_world(r: Result, k: int = -1, body: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The velocity and the angular velocity of a free body."""
    v = r.v[k, 6 * body : 6 * body + 6]
    return turned(r, k, body) @ v[:3], turned(r, k, body) @ v[3:]


# --- published cases --------------------------------------------------------------------------------------------------


def test_drakes_bowling_ball_slides_and_then_rolls() -> None:
    """6.35 kg at 8 m/s, turning four times a second about its path. Its numbers are of MotionGenesis; its axes x, y, z
    are our y, z, x. Where it slides, positions are of order one in time: mu g dt t / 2, 2.4e-4 m, behind."""
    model = one("sphere", [0.10795], 6.35, 0.0296, gravity=(0, 0, -9.8), friction=0.12)
    q, v = [0, 0, 0.10795, 0, 0, 0, 1], [8.0, 0, 0, -8 * np.pi, 0, 0]
    r = simulate(model, q, v, duration=2.4, dt=2e-4, every=10, contacts=True)
    for time, place, velocity, turning in (
        (1.0, (0.188846948, 7.44315099), (0.377693896, 6.88630198), (25.7912332, 0, -16.3860333)),
        (2.054, (0.796728926, 14.0827022), (0.775181741, 5.71423797), (52.9341173, 0, -7.18093322)),
        (2.4, (1.06494181, 16.0598286), (0.775181741, 5.71423797), (52.9341173, 0, -7.18093321)),
    ):
        k = round(time / 2e-3)
        u, w = in_world(r, k)
        np.testing.assert_allclose(r.q[k, [1, 0]], place, atol=3e-4)
        np.testing.assert_allclose(u[[1, 0]], velocity, atol=2e-5)
        np.testing.assert_allclose(w[[1, 2, 0]], turning, atol=2e-4)


def test_drakes_sphere_rolls_down_a_slope() -> None:
    """15 degrees, radius 0.05 m, 0.1 kg, one second by steps of 1 ms. Drake allows 5.5e-4 of the speed, and 1e-9 of the
    moment of friction, m g r (1 - 5/7) sin."""
    model = one("sphere", [0.05], 0.1, 0.4 * 0.1 * 0.05**2, gravity=slope(15), friction=1.0)
    r = simulate(model, [0, 0, 0.05, 0, 0, 0, 1], duration=1.0, dt=1e-3, contacts=True)
    u, w = in_world(r)
    speed = 5 / 7 * slope(15)[0]
    np.testing.assert_allclose(u, (speed, 0, 0), atol=1e-8)
    np.testing.assert_allclose(w, (0, speed / 0.05, 0), atol=1e-6)
    moment = -r.contacts(-1)[0].force[0] * 0.05
    np.testing.assert_allclose(moment, 0.1 * 0.05 * 2 / 7 * slope(15)[0], rtol=1e-7)


def test_drakes_box_sticks_under_a_push() -> None:
    """1 kg at 10 m/s^2, pushed with 5 N and a friction of 0.6: it stays, and the floor answers with (-5, 0, 10) N."""
    model = one("box", (0.5, 0.5, 0.5), 1.0, 1 / 24, gravity=(0, 0, -10.0), friction=0.6)
    q = [0, 0, 0.25, 0, 0, 0, 1]
    r = simulate(model, q, duration=0.5, contacts=True, forces=[Push("body", (5.0, 0, 0), (0, 0, -0.25))])
    np.testing.assert_allclose(r.q[-1], q, atol=1e-9)
    np.testing.assert_allclose(sum(c.force for c in r.contacts(-1)), (-5, 0, 10), atol=1e-5)


@pytest.mark.parametrize(
    ("joint", "lower", "upper", "push"), [("prismatic", 0.0, 0.1, 10.0), ("revolute", -np.pi / 5, np.pi / 3, 1.5)]
)
def test_drakes_joints_are_pushed_against_their_limits(joint: str, lower: float, upper: float, push: float) -> None:
    """To within 1e-9, where Drake's are beyond by 1100 and 5100 times the step squared: 1 and 5 mrad at 1 ms."""
    b = ModelBuilder("limited", gravity=(0, 0, 0))
    com = (0.15, 0, 0) if joint == "revolute" else (0, 0, 0)
    b.add_body("body", joint=joint, axis=(0, 0, 1), mass=1.0, com=com, inertia=(1e-4, 0.0075, 0.0075), lower=lower,
               upper=upper)  # fmt: skip
    b.add_shape("body", "sphere", [0.01])
    for force, end in ((push, upper), (-push, lower)):
        r = simulate(b.build(), [lower + 0.3 * (upper - lower)], tau=[force], duration=1.0, contacts=True)
        np.testing.assert_allclose(r.q[-1], end, atol=1e-9)
        np.testing.assert_allclose(r.v[-1], 0.0, atol=1e-11)


def test_a_ball_slides_and_turns_down_a_slope() -> None:
    """30 degrees, friction 0.15, below 2/7 of the slope: at g (sin - mu cos), turning at 5/2 mu g cos / r."""
    model = one("sphere", [0.1], 1.0, 0.004, gravity=slope(30), friction=0.15)
    r = simulate(model, [0, 0, 0.1, 0, 0, 0, 1], duration=1.0, contacts=True)
    along, down = slope(30)[0], -slope(30)[2]
    u, w = in_world(r)
    np.testing.assert_allclose(u, (along - 0.15 * down, 0, 0), atol=1e-6)
    np.testing.assert_allclose(w, (0, 2.5 * 0.15 * down / 0.1, 0), atol=1e-5)


def test_fifteen_bounces_keep_their_restitution_and_end_in_time() -> None:
    """e = 0.75 from 1 m: heights are e^(2 n), of which MuJoCo's discussion has 0.82 for 0.75. Bounces add up to
    sqrt(2 h / g) (1 + e) / (1 - e) seconds, but for those below 2 g dt, which do not bounce."""
    e, dt = 0.75, 1e-3
    model = one("sphere", [0.1], 1.0, 0.004, restitution=e)
    r = simulate(model, [0, 0, 1.1, 0, 0, 0, 1], duration=4.0, dt=dt, contacts=True)
    z = r.q[:, 2] - 0.1
    # steps of rk4 between bounces are exact: energy tells the height of each flight
    flights = np.array([r.energy[k] / G - 0.1 for k in range(len(r)) if not r.contacts(k) and z[k] > 1e-3])
    heights = flights[np.append(True, np.diff(flights) < -0.1 * flights[:-1])]
    lost = 4 * G * dt**2  # in all: what steps of order one take after a bounce is less every time
    np.testing.assert_allclose(heights[:12], e ** (2 * np.arange(12)), rtol=0, atol=lost)
    still = r.times[np.flatnonzero(np.abs(r.v).max(axis=1) > 1e-9).max() + 1]
    in_all = np.sqrt(2 / G) * (1 + e) / (1 - e)
    assert 0.98 * in_all < still <= in_all
    assert z.min() > -1e-6


# --- friction ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [0.1, 0.7])
def test_a_block_slides_exactly_where_the_slope_is_too_steep(mu: float) -> None:
    """A part in a million on either side of tan(angle) = mu."""
    for steeper in (1 - 1e-6, 1 + 1e-6):
        angle = np.arctan(mu * steeper)
        model = one("box", (0.4, 0.3, 0.1), 2.0, 0.02, gravity=slope(np.degrees(angle)), friction=mu)
        r = simulate(model, [0, 0, 0.05, 0, 0, 0, 1], duration=0.2, contacts=Contacts(tolerance=1e-9))
        expected = max(0.0, G * (np.sin(angle) - mu * np.cos(angle))) * 0.2
        np.testing.assert_allclose(in_world(r)[0], (expected, 0, 0), atol=2e-8)
        assert (expected > 0) == (steeper > 1) and (expected == 0 or expected > 1e-7)


def test_a_box_is_stopped_along_a_straight_line() -> None:
    """Friction acts against the slip in all directions alike: after v^2 / (2 mu g), at v / (mu g)."""
    model = one("box", (0.3, 0.3, 0.02), 0.2, 2e-3, friction=0.3)
    v = np.array([-1.0, 0.8, 0, 0, 0, 0])
    r = simulate(model, [0, 0, 0.01, 0, 0, 0, 1], v, duration=0.5, dt=1e-4, every=50, contacts=True)
    speed = np.hypot(1.0, 0.8)
    np.testing.assert_allclose(r.q[-1, :2], v[:2] * speed / (2 * 0.3 * G), atol=1e-4)
    np.testing.assert_allclose(r.q[:, 0] * 0.8, -r.q[:, 1], atol=1e-4)
    assert np.abs(r.v[r.times > speed / (0.3 * G) + 2e-4]).max() < 1e-9


def test_a_tippe_top_keeps_jelletts_integral_and_stands_on_its_head() -> None:
    """A ball whose centre of mass is below its middle, and which spins about the vertical. Its angular momentum along
    the line from the centre of mass to the touch is constant, whatever the friction [Jellett 1872]; friction takes
    energy, and turns it over."""
    radius, off, inertia, lean = 0.02, 0.004, np.array([1.6e-6, 1.6e-6, 1.7e-6]), 0.1
    b = ModelBuilder("top")
    b.add_body("top", joint="free", mass=0.01, inertia=inertia.tolist())
    b.add_shape("top", "sphere", [radius], (0, 0, off), friction=0.3)
    b.add_shape(None, "plane")
    q = np.array([0, 0, radius - off * np.cos(lean), np.sin(lean / 2), 0, 0, np.cos(lean / 2)])
    v = [0, 0, 0, *rotation_from_quaternion(q[3:]).T @ (0, 0, 150.0)]
    r = simulate(b.build(), q, v, duration=1.2, dt=2e-4, every=100, contacts=True)
    momenta = [turned(r, k) @ (inertia * r.v[k, 3:]) for k in range(len(r))]
    to_touch = [turned(r, k) @ (0, 0, off) - (0, 0, radius) for k in range(len(r))]
    jellett = np.einsum("ki,ki->k", momenta, to_touch)
    np.testing.assert_allclose(jellett, jellett[0], rtol=1e-3)  # of order one: half as much at half the step
    assert np.diff(r.energy).max() < 0 and np.degrees(np.arccos(turned(r)[2, 2])) > 140


def test_a_ball_that_spins_about_the_vertical_goes_on() -> None:
    """A touch at one point has no friction against spinning on the spot."""
    model = one("sphere", [0.1], 1.0, 0.004, friction=1.0)
    r = simulate(model, [0, 0, 0.1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 7.0], duration=0.5, contacts=True)
    np.testing.assert_allclose(r.v[-1], [0, 0, 0, 0, 0, 7.0], atol=1e-12)


@pytest.mark.parametrize("how", [{}, ADAPTIVE])
@pytest.mark.parametrize("wide", [0.99, 1.01])
def test_a_pushed_box_tips_over_at_its_known_force(how: dict[str, Any], wide: float) -> None:
    """Pushed at the height of its centre by less than its friction, it tips if the push exceeds m g width / height."""
    mass, width, height = 2.0, 0.2, 0.5
    model = one("box", (width, 0.3, height), mass, mass / 12 * (width**2 + height**2), friction=0.9)
    force = (mass * G * width / height * wide, 0, 0)
    q = [0, 0, height / 2, 0, 0, 0, 1]
    r = simulate(model, q, duration=0.2, contacts=True, forces=[Push("body", force, frame="world")], **how)
    about = mass / 12 * (width**2 + height**2) + mass * (width**2 + height**2) / 4
    rate = np.sqrt(mass * G * (height + width**2 / height) / 2 / about)  # it falls the faster the more it leans
    turn = max(0.0, (wide - 1) * mass * G * width / 2) / about * np.sinh(0.2 * rate) / rate
    np.testing.assert_allclose(in_world(r)[1], (0, turn, 0), rtol=0.02, atol=1e-7)


# --- impacts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [1.0, 0.6])
def test_a_chain_of_balls_hands_on_what_hits_it(e: float) -> None:
    """Balls of different masses with gaps between them, each of which is hit once: m1 (1 + e) / (m1 + m2) of the speed
    goes over to the next."""
    masses = np.array([3.0, 2.0, 1.2, 0.7, 0.4])
    b = ModelBuilder("chain", gravity=(0, 0, 0))
    for i, mass in enumerate(masses):
        b.add_body(f"ball{i}", joint="free", mass=mass, inertia=[0.01] * 3)
        b.add_shape(f"ball{i}", "sphere", [0.05], restitution=e)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[::7], v[0] = 0.13 * np.arange(5), 1.0
    r = simulate(model, q, v, duration=0.2, dt=2e-3, contacts=True)
    speed, expected = 1.0, []
    for heavy, light in pairwise(masses):
        expected.append(speed * (heavy - e * light) / (heavy + light))
        speed *= (1 + e) * heavy / (heavy + light)
    np.testing.assert_allclose(r.v[-1, ::6], [*expected, speed], rtol=1e-9)


@pytest.mark.parametrize("lifted", [1, 2])
def test_newtons_cradle_of_pendulums(lifted: int) -> None:
    """As many balls swing out at the other end, as far, while those between hang still; then they come back."""
    b = ModelBuilder("cradle")
    for i in range(5):
        b.add_body(f"ball{i}", axis=(0, 1, 0), position=(0.1 * i, 0, 0), mass=1.0, com=(0, 0, -1), inertia=[1e-3] * 3)
        b.add_shape(f"ball{i}", "sphere", [0.05], (0, 0, -1), restitution=1.0, friction=0.0)
    q = np.where(np.arange(5) < lifted, 0.3, 0.0)
    r = simulate(b.build(), q, duration=2.0, contacts=True)
    out, back = np.abs(r.q - q[::-1] * -1.0).max(axis=1).argmin(), np.abs(r.q - q).max(axis=1)
    np.testing.assert_allclose(r.q[out], -q[::-1], atol=1e-3)
    assert 0.9 < r.times[out] < 1.2 and back[r.times > 1.9].min() < 2e-3
    np.testing.assert_allclose(r.energy, r.energy[0], rtol=1e-4)


@pytest.mark.parametrize("how", [{}, ADAPTIVE])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_hits_a_rod_on_a_pivot(how: dict[str, Any], e: float) -> None:
    """Angular momentum about the pivot is kept, and the pivot takes the rest: none at the centre of percussion, 2/3 of
    the rod, where linear momentum is kept as well."""
    length, m, M = 0.6, 0.5, 2.0
    inertia = M * length**2 / 3
    for at in (0.5, 2 / 3, 0.9):
        d = at * length
        b = ModelBuilder("door", gravity=(0, 0, 0))
        b.add_body(
            "rod",
            axis=(0, 0, 1),
            mass=M,
            com=(length / 2, 0, 0),
            inertia=(1e-3, M * length**2 / 12, M * length**2 / 12),
        )
        b.add_shape("rod", "box", (length, 0.02, 0.1), (length / 2, 0, 0), restitution=e, friction=0.0)
        b.add_body("ball", joint="free", mass=m, inertia=[1e-3] * 3)
        b.add_shape("ball", "sphere", [0.05], restitution=e, friction=0.0)
        q = [0, d, -0.1, 0, 0, 0, 0, 1]
        r = simulate(b.build(), q, [0, 0, 3.0, 0, 0, 0, 0], duration=0.015, dt=1e-3, contacts=True, **how)
        turning = (1 + e) * 3.0 * m * d / (inertia + m * d * d)
        after = r.v[-1]
        np.testing.assert_allclose(after[0], turning, rtol=1e-3)
        np.testing.assert_allclose(inertia * after[0] + m * d * after[2], m * d * 3.0, rtol=1e-3)
        kept = M * length / 2 * after[0] + m * after[2] - m * 3.0
        assert (abs(kept) < 2e-3) == (at == 2 / 3)


# --- what a result says -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, ADAPTIVE])
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_forces_of_contacts_add_up_to_the_change_of_momentum(how: dict[str, Any], restitution: float) -> None:
    """Of a box that tumbles and bounces, by steps that end in several parts: forces are averages over whole steps."""
    dt = 2e-3
    model = one("box", (0.3, 0.2, 0.1), 1.5, (0.01, 0.02, 0.03), friction=0.5, restitution=restitution)
    q = np.array([0, 0, 0.4, *np.array([0.2, 0.3, 0.1, 0.9]) / np.linalg.norm([0.2, 0.3, 0.1, 0.9])])
    r = simulate(model, q, [1.0, 0, 0, 3, 5, 2], duration=0.8, dt=dt, contacts=True, **how)
    impulse = sum(c.force * dt for k in range(1, len(r)) for c in r.contacts(k))
    change = 1.5 * (in_world(r)[0] - in_world(r, 0)[0]) + (0, 0, 1.5 * G * 0.8)
    np.testing.assert_allclose(impulse, change, atol=1e-4 if how else 1e-9)


def linear_momentum(model: Model, q: Floats, v: Floats) -> Floats:
    place, motion = supple.poses(model, q), supple.velocities(model, q, v)
    lever = np.einsum("bij,bj->bi", place.rotation, model.com)
    return np.asarray(model.mass @ (motion.linear + np.cross(motion.angular, lever)))


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 5}])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_forces_of_contacts_add_up_where_links_are_struck(how: dict[str, Any], seed: int) -> None:
    """A chain that turns and falls on the floor: velocity products are those of the velocities before an impact until
    forces act, and those after it from then on. With those of velocities without the impact, one to three percent of
    the momentum would come from nowhere."""
    dt, model = 2e-3, chains(5, damping=0.0)
    begun = np.random.default_rng(seed).normal(size=model.nv)
    r = simulate(model, strewn(model, seed, 0.9), begun, duration=0.6, dt=dt, contacts=Contacts(ground=0.0), **how)
    momentum = np.array([linear_momentum(model, q, v) for q, v in zip(r.q, r.v)])
    force = [sum((c.force for c in r.contacts(k) if c.other == "ground"), np.zeros(3)) for k in range(1, len(r))]
    assert np.linalg.norm(force, axis=1).max() > 1000.0
    impulse = dt * np.cumsum(force - model.total_mass * np.array([0.0, 0.0, G]), axis=0)
    assert np.abs(momentum[1:] - momentum[0] - impulse).max() < 2.5e-3 * np.abs(momentum).max()


@pytest.mark.parametrize("how", [{}, ADAPTIVE])
def test_limits_are_among_the_forces_of_joints(how: dict[str, Any]) -> None:
    """A rod that a motor of 20 N m holds against its limit: the limit carries what the weight does not, and the hinge
    carries the weight alone."""
    b = ModelBuilder("rod")
    b.add_body("rod", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01), upper=0.5)
    b.add_shape("rod", "sphere", [0.01])
    model = b.build()
    r = simulate(model, [0.5], tau=[20.0], duration=0.05, contacts=True, joint_wrenches=True, joint_forces=True, **how)
    assert r.joint_wrenches is not None and r.passive is not None and r.applied is not None and r.pushed is not None
    held = G * 0.5 * np.sin(0.5)
    np.testing.assert_allclose(r.passive[-1], held - 20.0, rtol=1e-9)
    np.testing.assert_allclose(r.applied[-1] + r.passive[-1] + r.pushed[-1],
                               supple.inverse_dynamics(model, r.q[-1], r.v[-1], [0.0]), rtol=1e-9)  # fmt: skip
    moment, force = np.split(supple.poses(model, r.q[-1]).rotation[0] @ r.joint_wrenches[-1, 0].reshape(2, 3).T, 2, 1)
    np.testing.assert_allclose(force[:, 0], (0, 0, G), atol=1e-9)
    np.testing.assert_allclose(moment[:, 0], (0, held, 0), atol=1e-9)


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 3}])
def test_wrenches_of_joints_balance_weights_and_contacts(how: dict[str, Any]) -> None:
    """A table of three bodies that stands on the floor: what a joint carries is the weight and the contacts of all
    that hangs on it, in dense form."""
    b = ModelBuilder("table")
    b.add_body("top", joint="free", mass=4.0, inertia=(0.3, 0.3, 0.5))
    for i, x in enumerate((-0.3, 0.3)):
        b.add_body(f"leg{i}", "top", axis=(0, 1, 0), position=(x, 0, -0.05), mass=1.0, com=(0, 0, -0.2),
                   inertia=(0.02, 0.02, 0.01), stiffness=500.0, damping=20.0)  # fmt: skip
        b.add_shape(f"leg{i}", "box", (0.08, 0.4, 0.4), (0, 0, -0.2), friction=0.8)
    b.add_shape(None, "plane")
    model = b.build()
    q = [0, 0, 0.45, 0, 0, 0, 1, 0, 0]
    r = simulate(model, q, duration=2.0, dt=2e-3, contacts=True, joint_wrenches=True, **how)
    assert r.joint_wrenches is not None and np.abs(r.v[-1]).max() < 1e-3
    place = supple.poses(model, r.q[-1])
    for i in (1, 2):
        R, at = place.rotation[i], place.position[i]
        force = np.array([0, 0, G])  # against the weight of the leg
        moment = np.cross(R @ (0, 0, -0.2), force)
        for c in r.contacts(-1):
            if c.shape == model.shape_list[i - 1].name:
                force, moment = force - c.force, moment - np.cross(c.point - at, c.force)
        carried = r.joint_wrenches[-1, i]
        np.testing.assert_allclose(R @ carried[3:], force, atol=0.05)
        np.testing.assert_allclose(R @ carried[:3], moment, atol=0.05)
        assert force[2] < -10  # it carries half of the top


# --- fingers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"method": "adaptive", "active": 3}], ids=["exact", "adaptive"])
@pytest.mark.parametrize("friction", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("share", [0.999, 1.001, 1.05, 1.4, 2.0, 20.0])
def test_fingers_hold_what_friction_can_hold(friction: float, share: float, how: dict[str, Any]) -> None:
    """A box between two fingers, each pushed by F, is held if 2 mu F > m g, and falls with what is left of g otherwise,
    although it could also turn about one of its corners in either case."""
    mass, time = 0.5, 0.2
    b = ModelBuilder("gripper")
    for name, side in (("left", -1), ("right", 1)):
        b.add_body(
            name, joint="prismatic", axis=(-side, 0, 0), position=(0.06 * side, 0, 1), mass=0.1, inertia=(1e-3,) * 3
        )
        b.add_shape(name, "box", (0.02, 0.05, 0.05), friction=friction)
    b.add_body("box", joint="free", mass=mass, inertia=(1.4e-4, 5e-4, 5e-4))
    b.add_shape("box", "box", (0.1, 0.04, 0.04), friction=friction)
    model = b.build()
    q, tau = model.neutral(), np.zeros(model.nv)
    q[4], tau[:2] = 1.0, share * mass * G / (2 * friction)
    r = simulate(model, q, tau=tau, duration=time, dt=2e-3, contacts=True, **how)
    np.testing.assert_allclose(r.q[-1, 2:5], [0, 0, 1 - max(1 - share, 0) * G / 2 * time**2], atol=1e-6)
