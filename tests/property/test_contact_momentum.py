"""Momentum and angular momentum of bodies that collide where nothing else acts: impulses keep them to rounding. What
changes them is that bodies turn while a part of a step goes on, which is of second order in its length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import supple
from supple import AdaptiveDynamics, Contacts, Model, ModelBuilder, Push, SpringBetween, simulate
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from supple.model.manifold import layout

KINDS = ("sphere", "capsule", "box", "cylinder", "hull")
NUMBERS = {"sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "hull": 0}


def add_shape(b: ModelBuilder, name: str, rng: np.random.Generator, **how: Any) -> None:
    kind, size = str(rng.choice(KINDS)), rng.uniform(0.04, 0.1, 3)
    if kind == "hull":
        points = rng.normal(size=(20, 3))
        how["points"] = points / np.linalg.norm(points, axis=1)[:, None] * size
    b.add_shape(name, kind, size[: NUMBERS[kind]], **how)


def room_of(model: Model) -> ContactRoom:
    """Where overlap stays as it is: to move bodies apart does not keep their angular momentum to rounding."""
    return ContactRoom(model, np.zeros((0, LAW)), Contacts(overlap=1.0))


def momentum(model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    return supple.momentum(model, q, v, about="origin") / model.total_mass


@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("friction", [0.0, 0.5, 1e6])
def test_bodies_that_fly_into_each_other_keep_their_momentum(restitution: float, friction: float) -> None:
    """As many as seven at once, many bounces at one instant: bodies whose inertia is the same about all axes, so that
    turning does not change it. Their energy of motion never rises; if they are elastic and smooth, it stays."""
    count = 0
    for seed in range(3):
        rng = np.random.default_rng((seed, 21))
        b, n = ModelBuilder("bunch", gravity=(0, 0, 0)), int(rng.integers(2, 8))
        for i in range(n):
            mass = float(10.0 ** rng.uniform(-1, 1))
            b.add_body(f"body{i}", joint="free", mass=mass, inertia=[0.003 * mass] * 3)
            add_shape(b, f"body{i}", rng, friction=friction, restitution=restitution)
        model = b.build()
        q, v = model.neutral(), np.zeros(model.nv)
        for i in range(n):
            turn, at = Rotation.from_quat(rng.normal(size=4)), rng.normal(size=3)
            at *= 0.3 / np.linalg.norm(at)
            q[7 * i : 7 * i + 7] = *at, *turn.as_quat()
            v[6 * i : 6 * i + 6] = *turn.inv().apply(-8.0 * at), *rng.normal(size=3)
        room = room_of(model)
        for _ in range(30):
            if not room.take(q, v, 2e-3, np.zeros(model.nv), None):
                r = simulate(model, q, v, dt=1e-4, duration=2e-3)
                q, v = r.q[-1], r.v[-1]
                continue
            before = supple.kinetic_energy(model, q, v)
            np.testing.assert_allclose(momentum(model, room.q, room.v), momentum(model, q, v), atol=1e-12)
            q, v = room.q.copy(), room.v.copy()
            change = supple.kinetic_energy(model, q, v) / before - 1
            assert change < 1e-12
            assert change > -1e-6 or restitution < 1 or friction > 0
            count += 1
    assert count > 20


@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
def test_forces_on_bodies_that_spin_keep_their_direction_however_a_step_is_divided(restitution: float) -> None:
    """Bodies that spin, tied to each other by springs, bounce on each other; one of them is pushed. Their momentum is
    that of the push."""
    for seed in range(4):
        rng = np.random.default_rng((seed, 22))
        b, n = ModelBuilder("tied", gravity=(0, 0, 0)), 3
        for i in range(n):
            b.add_body(f"body{i}", joint="free", mass=1.0, inertia=[0.003] * 3)
            add_shape(b, f"body{i}", rng, friction=0.5, restitution=restitution)
        model = b.build()
        q, v = model.neutral(), rng.normal(size=6 * n) * np.tile([0, 0, 0, 40, 40, 40], n)
        q.reshape(n, 7)[:, 0] = 0.25 * np.arange(n)
        forces: list[Any] = [
            SpringBetween(f"body{i}", f"body{(i + 1) % n}", 200.0, point=rng.normal(size=3) * 0.05) for i in range(n)
        ]
        push = rng.normal(size=3)
        forces.append(Push("body0", force=push, point=(0.03, 0.0, 0.05)))
        run = simulate(model, q, v, duration=0.3, dt=2e-3, contacts=Contacts(), forces=forces)
        touching = np.array([i for i in range(1, len(run)) if run.contacts(i)])
        assert len(touching) > 5
        momenta = np.array([supple.momentum(model, *state)[3:] for state in zip(run.q, run.v)])
        gained = momenta[touching] - momenta[touching - 1]
        np.testing.assert_allclose(gained, np.tile(2e-3 * push, (len(touching), 1)), atol=1e-12)


def test_articulated_bodies_keep_their_momentum_in_a_blow() -> None:
    """From before the step to after it, in which links that were at rest begin to turn: a step half as long is off by a
    quarter."""
    off: list[list[float]] = []
    for seed in range(12):
        rng = np.random.default_rng((seed, 22))
        b = ModelBuilder("trees", gravity=(0, 0, 0))
        for t in range(2):
            for i in range(int(rng.integers(1, 5))):
                mass, name = float(10.0 ** rng.uniform(-2, 2)), f"{t} {i}"
                how: dict[str, Any] = dict(mass=mass, inertia=0.01 * mass * rng.uniform(0.5, 1, 3), com=(0.02, 0.01, 0))
                if i == 0:
                    b.add_body(name, joint="free", **how)
                else:
                    joint = str(rng.choice(["revolute", "ball", "prismatic"]))
                    b.add_body(name, f"{t} {rng.integers(i)}", joint, position=rng.normal(size=3) * 0.15, **how)
                add_shape(b, name, rng, friction=float(rng.choice([0.0, 0.5, 1e6])))
        model, low, high = b.build(), -0.5, 1.0
        q, v, room = model.neutral(), np.zeros(model.nv), room_of(model)
        places, linear = layout(model).free_q, layout(model).free_lin
        for at in places:
            q[at] = Rotation.from_quat(rng.normal(size=4)).as_quat()
        first, second = model.q_index[model.parent < 0]
        q[first + 2] = -0.5
        for _ in range(30):
            q[second + 2] = 0.5 * (low + high)
            close = room.touching(q)["gap"].min(initial=1.0) < 5e-5
            low, high = (q[second + 2], high) if close else (low, q[second + 2])
        q[second + 2] = high
        for at, lin, speed in zip(places, linear, (1.0, -1.0)):
            v[lin] = Rotation.from_quat(q[at]).inv().apply((0.1, 0.2, speed))
        errors = []
        for h in (1e-3, 5e-4):
            room.known = room.known[:0]
            taken = room.take(q, v, h, np.zeros(model.nv), None) and room.landing.parts == 1
            if taken and np.abs(room.v - v).max() > 1e-3:
                errors.append(np.abs(momentum(model, room.q, room.v) - momentum(model, q, v)).max())
        off += [errors] if len(errors) == 2 else []
    whole, half = np.array(off).T
    assert len(off) > 8 and whole.max() < 2e-3
    np.testing.assert_allclose(half, 0.25 * whole, rtol=0.15)


@pytest.mark.parametrize(("gravity", "seeds"), [(0.0, (1, 2, 22)), (9.81, (1, 2))])
@pytest.mark.parametrize("method", [{}, {"method": "adaptive", "active": 4}])
def test_momentum_after_a_blow_is_that_of_the_forces(
    method: dict[str, Any], gravity: float, seeds: tuple[int, ...]
) -> None:
    """A ball of a tonne lands on the end of a chain, so that two links of 10 g stop it. In the next step there is no
    such blow: what it was expected to do to these links is without effect."""
    for seed in seeds:
        rng, b = np.random.default_rng((seed, 31)), ModelBuilder("chain", gravity=(0, 0, -gravity))
        for i, mass in enumerate((1.0, 0.01, 0.01, 1000.0)):
            how: dict[str, Any] = dict(joint="ball", position=(0, 0, -0.25)) if i else dict(joint="free")
            b.add_body(f"link{i}", f"link{i - 1}" if i else None, mass=mass, inertia=[0.004 * mass] * 3, **how)
            b.add_shape(f"link{i}", "sphere", (0.1,), friction=0.8)
        b.add_shape(None, "plane")
        model, h = b.build(), 2e-3
        q, v = model.neutral(), np.zeros(model.nv)
        for at in (3, 7, 11, 15):
            q[at : at + 4] = Rotation.from_quat(rng.normal(size=4)).as_quat()
        q[2] = 0.15 - supple.poses(model, q).position[:, 2].min()
        v[:3] = Rotation.from_quat(q[3:7]).inv().apply((*rng.normal(size=2), -2.0))
        v[6:] = rng.normal(size=9)
        run = simulate(model, q, v, duration=0.1, dt=h, contacts=True, **method)
        moved = np.diff([supple.momentum(model, *state)[3:] for state in zip(run.q, run.v)], axis=0)
        weight = model.total_mass * np.array([0.0, 0.0, -gravity])
        forces = [sum((c.force for c in run.contacts(k) if not c.other_body), weight) for k in range(len(run.q))]
        largest = np.sqrt(2 * model.total_mass * supple.kinetic_energy(model, q, v))
        assert np.abs(moved - h * np.array(forces[1:])).max() < 3e-3 * largest and np.abs(forces).max() > 1e5


def test_angular_momentum_of_bodies_that_turn_drifts_in_second_order() -> None:
    """A box of different moments of inertia hits another one and turns on."""
    b = ModelBuilder("boxes", gravity=(0, 0, 0))
    for i in range(2):
        b.add_body(f"box{i}", joint="free", mass=1.0, inertia=(0.002, 0.006, 0.008))
        b.add_shape(f"box{i}", "box", (0.2, 0.1, 0.05), friction=0.3)
    model = b.build()
    q, v = model.neutral(), np.array([0, 0, -1.0, 2, 1, -1, 0, 0, 1.0, -1, 2, 1])
    q[:3] = 0.05, 0.03, 0.15
    drift = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        r = simulate(model, q, v, duration=0.2, dt=h, contacts=Contacts())
        drift.append(np.abs(momentum(model, r.q[-1], r.v[-1]) - momentum(model, q, v)))
    lost = np.array(drift)
    assert lost[:, 3:].max() < 1e-9 and 1e-7 < lost[0].max() < 1e-5
    assert lost[3].max() < 0.05 * lost[0].max()


@pytest.mark.parametrize("method", ["exact", "adaptive"])
@pytest.mark.parametrize("n", [3, 4])
def test_momentum_drifts_in_second_order_where_what_is_struck_closes_other_gaps(method: str, n: int) -> None:
    """The first of a row of balls that spin strikes the second, which closes a gap that seemed to stay open, and so on:
    velocity products are those before and after all of these blows, not only of the first one."""

    def drift(h: float, seed: int) -> float:
        rng, b = np.random.default_rng(seed), ModelBuilder("row", gravity=(0, 0, 0))
        for i in range(n):
            b.add_body(
                f"b{i}", joint="free", mass=1.0, inertia=(0.004, 0.005, 0.006), com=(0.02 * rng.normal(size=3)).tolist()
            )
            b.add_shape(f"b{i}", "sphere", (0.1,), friction=0.5)
        model = b.build()
        q, v = model.neutral(), np.zeros(model.nv)
        q[::7] = 0.2 * np.arange(n) + np.append([0.0], 2e-4 + 0.3 * h * np.arange(n - 1))
        v.reshape(n, 6)[:, 3:] = rng.normal(size=(n, 3)) * 10.0
        v[0] = 2.0
        before = momentum(model, q, v)
        if method == "adaptive":
            body = AdaptiveDynamics(model, q, v, active=n, contacts=Contacts())
            body.step(h)
            assert len(body.touches) == n - 1
            return float(np.abs(momentum(model, body.q, body.v) - before).max())
        room = room_of(model)
        assert room.take(q, v, h, np.zeros(model.nv), None)
        assert (room.found["lam"][:, 0] > 0.0).sum() == n - 1
        return float(np.abs(momentum(model, room.q, room.v) - before).max())

    lost = np.array([[drift(h, seed) for seed in range(5)] for h in (2e-3, 1e-3)]).max(axis=1)
    assert lost[0] > 3.5 * lost[1]


@pytest.mark.parametrize("method", ["exact", "adaptive"])
@pytest.mark.parametrize("seed", [4, 7])
def test_momentum_stays_while_shapes_that_slide_along_each_other_are_moved_apart(seed: int, method: str) -> None:
    """Two chains of three capsules fly into each other, and stay in touch while they spin."""
    rng, b = np.random.default_rng((seed, 31)), ModelBuilder("pair", gravity=(0, 0, 0))
    for t in range(2):
        for i in range(3):
            mass = float(10.0 ** rng.uniform(-0.5, 0.5))
            how: dict[str, Any] = dict(mass=mass, inertia=[0.02 * mass, 0.02 * mass, 0.004 * mass], com=(0, 0, -0.1))
            if i == 0:
                b.add_body(f"{t} 0", joint="free", **how)
            else:
                b.add_body(f"{t} {i}", f"{t} {i - 1}", "ball", position=(0, 0, -0.4), **how)
            b.add_shape(f"{t} {i}", "capsule", (0.06, 0.3), (0, 0, -0.1), friction=0.3)
    model = b.build()
    q, v, h, touching = model.neutral(), np.zeros(model.nv), 5e-4, 0
    for root, side in zip(np.flatnonzero(model.parent < 0), (0.4, -0.4)):
        k, j = model.q_index[root], model.v_index[root]
        turn, at = Rotation.from_quat(rng.normal(size=4)), np.array([side, 0.0, 0.0])
        q[k : k + 7] = *at, *turn.as_quat()
        v[j : j + 6] = *turn.inv().apply(-5.0 * at), *rng.normal(size=3) * 3.0
    if method == "adaptive":
        body = AdaptiveDynamics(model, q, v, active=model.n_bodies, contacts=Contacts(sleep=0.0))
        for _ in range(round(0.6 / h)):
            body.step(h)
            touching += len(body.touches) > 0
        end = body.q, body.v
    else:
        r = simulate(model, q, v, duration=0.6, dt=h, contacts=Contacts())
        touching = sum(len(r.contacts(i)) > 0 for i in range(1, len(r)))
        end = r.q[-1], r.v[-1]
    speed = np.sqrt(2 * supple.kinetic_energy(model, q, v) / model.total_mass)
    assert touching >= 20 and np.abs(momentum(model, *end) - momentum(model, q, v)).max() < 3e-6 * speed


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_pendulum_that_is_struck_keeps_angular_momentum_about_its_pivot(restitution: float) -> None:
    b = ModelBuilder("pendulum", gravity=(0, 0, 0))
    b.add_body("rod", axis=(0, 0, 1), mass=2.0, com=(0.25, 0, 0), inertia=(0.01, 0.05, 0.05))
    b.add_shape("rod", "box", (0.5, 0.04, 0.2), (0.25, 0, 0), friction=0.5, restitution=restitution)
    b.add_body("ball", joint="free", mass=0.7, inertia=[0.004] * 3)
    b.add_shape("ball", "sphere", [0.05], friction=0.5, restitution=restitution)
    model, struck = b.build(), 0
    q, v, room = model.neutral(), np.array([0.4, 0.3, 3.0, 0.2, 5, -3, 8]), room_of(model)
    q[1:4] = 0.35, -0.08, 0.03
    for _ in range(20):
        before = momentum(model, q, v)[2]
        if room.take(q, v, 1e-3, np.zeros(model.nv), None):
            struck += int(np.abs(room.v[0] - v[0]) > 1e-3)
            assert momentum(model, room.q, room.v)[2] == pytest.approx(before, abs=1e-13)
            q, v = room.q.copy(), room.v.copy()
        else:
            final = simulate(model, q, v, dt=1e-3, duration=1e-3).final
            q, v = final.q, final.v
    assert struck
