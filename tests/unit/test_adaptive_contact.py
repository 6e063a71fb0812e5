"""Adaptive dynamics of bodies that touch: closed forms, sleep, forces, refusals."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import AdaptiveDynamics, Contacts, Model, ModelBuilder, Push, StateError, simulate
from supple.adaptive.restoring import LATER, STATE
from supple.adaptive.touching.saved import LATER as LATER_TOUCHES
from supple.adaptive.touching.saved import PREFIX
from tests.law_of_contact import Verdict
from tests.random_scenes import judge_adaptive
from tests.touching import Floats, chains, strewn

G = 9.81
FLOOR = Contacts(ground=0.0)


def boxes(n: int, edge: float = 0.2) -> Model:
    """Boxes with a light wheel in each: where all joints move, nobody sleeps."""
    b = ModelBuilder("boxes")
    for i in range(n):
        b.add_body(f"box{i}", joint="free", mass=1.0, inertia=[edge**2 / 6] * 3)
        b.add_shape(f"box{i}", "box", [edge] * 3, friction=0.5)
        b.add_body(f"wheel{i}", parent=f"box{i}", joint="revolute", mass=1e-3, inertia=[1e-6] * 3)
    return b.build()


def at(model: Model, *places: tuple[float, float, float]) -> Floats:
    q = model.neutral()
    for i, p in zip(model.q_index[model.parent < 0], places):
        q[i : i + 3] = p
    return q


def weight(body: AdaptiveDynamics) -> float:
    """What the floor carries."""
    rows = body.touches
    return float(rows[rows[:, 1] == rows[:, 1].max(), 11].sum())


def test_a_block_slides_down_a_slope_as_it_should() -> None:
    for degrees, mu in ((20.0, 0.5), (35.0, 0.5)):
        angle = np.radians(degrees)
        b = ModelBuilder("block", gravity=(G * np.sin(angle), 0.0, -G * np.cos(angle)))
        b.add_body("block", joint="free", mass=2.0, inertia=(0.02, 0.03, 0.04))
        b.add_shape("block", "box", (0.4, 0.3, 0.1), friction=mu)
        b.add_shape(None, "plane")
        model = b.build()
        body = AdaptiveDynamics(model, at(model, (0, 0, 0.05)), contacts=True)
        body.run(0.5, dt=1e-3)
        expected = max(0.0, G * (np.sin(angle) - mu * np.cos(angle)) * 0.5)
        np.testing.assert_allclose(body.v[0], expected, atol=1e-6)


def test_what_lies_still_sleeps_at_no_cost_and_keeps_its_forces() -> None:
    model = chains(6)
    body = AdaptiveDynamics(model, strewn(model, 2), active=3, contacts=FLOOR)
    body.run(8.0, dt=2e-3)
    assert body.sleeping.tolist() == [0] and body.active_joints.size == 0 and not body.v.any()
    np.testing.assert_allclose(weight(body), 6 * G, rtol=1e-3)
    q, rows, steps = body.q.copy(), body.touches, body.stats.steps
    body.run(1.0, dt=2e-3)
    np.testing.assert_array_equal(body.q, q)
    np.testing.assert_array_equal(body.touches, rows)
    assert body.stats.steps == steps + 500 and body.time == pytest.approx(9.0)


def test_a_sleeper_wakes_when_pushed_hit_or_set_and_not_otherwise() -> None:
    model = boxes(3)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (1, 0, 0.1), (5, 0, 0.1)), active=0, contacts=FLOOR)
    body.run(0.5, dt=2e-3)
    assert body.sleeping.tolist() == [0, 2, 4]
    push = body.apply("box0", force=(20.0, 0.0, 0.0))
    assert body.sleeping.tolist() == [2, 4]
    body.run(0.25, dt=2e-3)
    push.remove()
    assert body.v[0] > 1.0 and not body.v[7:].any()
    body.run(0.5, dt=2e-3)
    assert 1.0 < body.q[8] < 4.0 and abs(body.q[16] - 5.0) < 1e-9  # box 1 was hit, box 2 was not
    body.run(3.0, dt=2e-3)
    assert body.sleeping.tolist() == [0, 2, 4]
    body.set_state(body.q)
    assert body.sleeping.size == 0


def test_however_many_fall_asleep_one_after_the_other_the_floor_carries_them() -> None:
    """Few touch at a time, so that there is little room; all touches of those that sleep are remembered."""
    model = boxes(20)
    body = AdaptiveDynamics(model, at(model, *((k, 0, 0.1 + 0.9 * k) for k in range(20))), active=0, contacts=FLOOR)
    body.run(2.8, dt=5e-3)
    assert len(body.sleeping) == 20
    np.testing.assert_allclose(weight(body), 20 * 1.001 * G, rtol=1e-3)


def test_whoever_falls_asleep_when_another_wakes_keeps_its_forces() -> None:
    """However many touches there are, and wherever among them those of the one that wakes are."""
    many, one = 51, 30
    model = boxes(many)
    places = at(model, *((k, 0, 0.1 if k == one else 0.12) for k in range(many)))
    body = AdaptiveDynamics(model, places, active=0, update_every=1000, contacts=FLOOR)
    body.run(0.3, dt=2e-3)
    body.update()
    body.step(2e-3)
    assert body.sleeping.tolist() == [2 * one]  # the others have not been still for long enough
    body.run(0.1, dt=2e-3)
    body.apply(f"box{one}", force=(0.0, 0.0, -1.0))
    body.step(2e-3)
    assert len(body.sleeping) == many - 1
    carried = np.bincount(body.touches[:, 0].astype(int), body.touches[:, 11], many)
    np.testing.assert_allclose(carried, 1.001 * G + (np.arange(many) == one), rtol=1e-3)


def test_equal_boxes_that_fall_asleep_on_each_other_carry_what_is_above() -> None:
    """However their faces lie: where these are equal, touches may be those of the one or of the other box."""
    n, model = 3, boxes(3)
    for seed in range(16):
        rng = np.random.default_rng(seed)
        q = at(model, *((*0.02 * rng.normal(size=2), 0.1 + 0.2 * k) for k in range(n)))
        for i in model.q_index[model.parent < 0]:
            half = 0.15 * rng.normal() * (seed % 2)
            q[i + 3 : i + 7] = 0.0, 0.0, np.sin(half), np.cos(half)
        body = AdaptiveDynamics(model, q, active=0, contacts=FLOOR)
        body.run(0.8, dt=2e-3)
        assert len(body.sleeping) == n
        rows = body.touches
        one, other = rows[:, :2].astype(int).T
        carried = np.bincount(one, rows[:, 11], n + 1)[:n] - np.bincount(other, rows[:, 11], n + 1)[:n]
        np.testing.assert_allclose(carried, 1.001 * G, rtol=1e-3)


def test_a_sleeper_falls_when_its_support_goes() -> None:
    model = boxes(2)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (0, 0, 0.3)), active=0, contacts=FLOOR)
    body.run(0.6, dt=2e-3)
    assert body.sleeping.tolist() == [0, 2]
    np.testing.assert_allclose(weight(body), 2.002 * G, rtol=1e-3)
    body.apply("box0", force=(200.0, 0.0, 0.0))
    body.run(0.5, dt=2e-3)
    assert body.q[10] < 0.25  # the upper one is down


def test_nobody_sleeps_in_mid_air_however_long_a_step_is() -> None:
    model = boxes(1)
    up = np.array([0.0, 0.0, 0.3 * G, 0.0, 0.0, 0.0, 0.0])  # at rest after a step
    for v in (0.0 * up, up):
        body = AdaptiveDynamics(model, at(model, (0, 0, 50.0)), v, active=0, contacts=FLOOR, update_every=1)
        body.run(0.9, dt=0.3)
        assert body.sleeping.size == 0
        np.testing.assert_allclose(body.q[2], 50.0 + 0.9 * v[2] - 0.5 * G * 0.9**2)


def test_a_light_part_keeps_a_heavy_body_awake_only_if_it_is_fast() -> None:
    """By its energy, a wheel that turns at w has the speed of sqrt(1e-3) w."""
    model = boxes(2)
    for speed, asleep in ((0.08, [0, 2]), (0.12, [2])):
        v = np.zeros(model.nv)
        v[6] = speed / np.sqrt(1e-3)
        body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (1, 0, 0.1)), v, active=1, contacts=FLOOR)
        body.run(0.5, dt=2e-3)
        assert body.sleeping.tolist() == asleep


def test_whoever_sways_slowly_sleeps_only_in_balance() -> None:
    """A weight on a spring moves up and down on a box, more slowly than the speed of sleep, at 100 rad/s: the floor
    carries up to a quarter more than both weigh, or less."""
    b = ModelBuilder("sways")
    b.add_body("box", joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_shape("box", "box", [0.2] * 3)
    b.add_body("weight", parent="box", joint="prismatic", mass=1.0, inertia=[0.01] * 3, stiffness=1e4)
    b.add_body("wheel", parent="box", joint="revolute", mass=1e-3, inertia=[1e-6] * 3)
    model, carried = b.build(), []
    for phase in np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False):
        q, v = at(model, (0, 0, 0.1)), np.zeros(model.nv)
        q[7], v[6] = -G / 1e4 + 5e-4 * np.sin(phase), 5e-2 * np.cos(phase)
        body = AdaptiveDynamics(
            model, q, v, active=1, contacts=Contacts(ground=0.0, sleep=0.06), update_every=1, check_energy=False
        )
        body.run(0.3, dt=1e-4)
        assert body.sleeping.tolist() == [0]
        carried.append(weight(body) / (2.001 * G))
    assert max(abs(np.array(carried) - 1.0)) < 0.13, (
        carried
    )  # a tenth of gravity, and 0.06 m/s in a quarter of a second


def test_a_push_keeps_awake_whoever_was_about_to_sleep() -> None:
    model = boxes(1)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1)), active=0, contacts=FLOOR, update_every=500)
    body.run(0.4, dt=2e-3)
    assert body.sleeping.size == 0  # still for long enough, but asleep only at the next update
    body.apply("box0", force=(20.0, 0.0, 0.0))
    body.update()
    body.run(0.1, dt=2e-3)
    np.testing.assert_allclose(body.v[0], 0.1 * (20.0 / 1.001 - 0.5 * G), rtol=1e-6)


def test_bodies_that_a_spring_connects_sleep_and_wake_together() -> None:
    model = boxes(3)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (3, 0, 0.1), (9, 0, 0.1)), active=0, contacts=FLOOR)
    spring = body.spring_between("box0", "box1", 20.0, length=3.0)
    body.run(0.5, dt=2e-3)
    assert body.sleeping.tolist() == [0, 2, 4]
    for each in (body, copy.deepcopy(body)):
        push = each.apply("box1", force=(20.0, 0.0, 0.0))
        each.run(0.5, dt=2e-3)
        assert each.sleeping.tolist() == [4] and each.q[0] > 0.1
        push.remove()
    spring.remove()
    body.run(2.0, dt=2e-3)
    assert body.sleeping.tolist() == [0, 2, 4]


def test_a_pinned_joint_keeps_a_copy_awake_too() -> None:
    model = boxes(2)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (3, 0, 0.1)), active=1, contacts=FLOOR)
    body.pin("wheel0_joint")
    for each in (body, copy.deepcopy(body)):
        each.run(0.5, dt=2e-3)
        assert each.sleeping.tolist() == [2]


def test_whoever_lies_on_a_locked_body_sleeps_as_on_a_robot() -> None:
    """A box in the air that carries another one, and a robot that carries a third."""
    b = ModelBuilder("carried")
    b.add_body("table", mass=1.0, inertia=[0.1] * 3, stiffness=1e4)
    b.add_shape("table", "box", (1.0, 1.0, 0.1), (5.0, 0.0, 0.0))
    for i in range(3):
        b.add_body(f"box{i}", joint="free", mass=1.0, inertia=[0.01] * 3)
        b.add_shape(f"box{i}", "box", [0.2] * 3, friction=0.5)
        b.add_body(f"wheel{i}", parent=f"box{i}", joint="revolute", mass=1e-3, inertia=[1e-6] * 3)
    model = b.build()
    places = [(0.0, 0.0, 0.0), (0.0, 0.0, 0.9), (0.0, 0.0, 1.1), (5.0, 0.0, 0.15)]
    body = AdaptiveDynamics(model, at(model, *places), active=0, contacts=FLOOR)
    body.pin("box0_joint", False)
    body.run(0.5, dt=2e-3)
    assert body.sleeping.tolist() == [3, 5]
    carried = np.bincount(body.touches[:, :2].min(axis=1).astype(int), np.abs(body.touches[:, 11]))
    np.testing.assert_allclose(carried, 1.001 * G, rtol=1e-6)
    other = AdaptiveDynamics(model, at(model, *places), active=0, contacts=FLOOR)
    other.pin("box0_joint", False)
    other.set_state(body.q, body.v)
    other.restore(body.save())
    for twin in (copy.deepcopy(body), other):
        np.testing.assert_array_equal(twin.touches, body.touches)
        twin.pin("box0_joint", None)
        twin.run(1.5, dt=2e-3)
        assert twin.sleeping.tolist() == [1, 3, 5] and twin.q[model.q_index[3] + 2] < 0.31
    push = body.apply("box1", force=(0.0, 0.0, 20.0))
    assert body.sleeping.tolist() == [5]
    body.run(0.1, dt=2e-3)
    push.remove()
    body.run(1.0, dt=2e-3)
    assert body.sleeping.tolist() == [3, 5] and body.q[model.q_index[3] + 2] > 1.09


def test_sleepers_wake_when_all_joints_are_to_move() -> None:
    model = boxes(2)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (3, 0, 0.1)), active=0, contacts=FLOOR)
    body.run(0.5, dt=2e-3)
    assert body.sleeping.tolist() == [0, 2]
    body.active = 4
    assert body.sleeping.size == 0 and body.active_joints.tolist() == [0, 1, 2, 3]
    body.run(0.5, dt=2e-3)
    np.testing.assert_allclose(weight(body), 2.002 * G, rtol=1e-6)


def test_other_weights_wake_nobody_and_leave_contacts_their_forces() -> None:
    """As when a camera moves, by which joints are weighted."""
    model = boxes(3)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1), (3, 0, 0.1), (6, 0, 0.1)), active=1, contacts=FLOOR)
    body.run(0.5, dt=2e-3)
    push = body.apply("box2", force=(20.0, 0.0, 0.0))
    body.run(0.05, dt=2e-3)
    q, v, rows = body.q.copy(), body.v.copy(), body.touches
    for weigh in (lambda: body.look_from((9.0, 0.0, 2.0)), lambda: body.set_weights({"wheel0_joint": 3.0})):
        weigh()
        assert body.sleeping.tolist() == [0, 2] and 4 in body.active_joints
        np.testing.assert_array_equal(body.touches, rows)
        np.testing.assert_array_equal((*body.q, *body.v), (*q, *v))
    push.remove()
    for _ in range(20):
        body.run(0.1, dt=2e-3)
        body.look_from((9.0, 0.0, 2.0 + body.time))
    assert body.sleeping.tolist() == [0, 2, 4] and body.active_joints.size == 0
    np.testing.assert_allclose(weight(body), 3.003 * G, rtol=1e-6)
    body.apply("box1", force=(20.0, 0.0, 0.0))
    body.run(0.1, dt=2e-3)
    assert body.sleeping.tolist() == [0, 4] and body.v[7] > 0.5


def on_platform() -> tuple[Model, Floats]:
    """A box on a platform, on a spring, that is no character."""
    b = ModelBuilder("platform")
    b.add_body("platform", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=[0.1] * 3, stiffness=200.0, damping=9.0)
    b.add_shape("platform", "box", (1.0, 1.0, 0.1))
    b.add_body("box", joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_shape("box", "box", [0.2] * 3)
    b.add_body("wheel", parent="box", joint="revolute", mass=1e-3, inertia=[1e-6] * 3)
    model = b.build()
    q = model.neutral()
    q[3] = 0.15
    return model, q


def test_a_sleeper_on_what_is_no_character_leaves_it_no_room_to_move() -> None:
    model, q = on_platform()
    body = AdaptiveDynamics(model, q, active=0, contacts=True)
    body.run(1.0, dt=2e-3)
    assert body.sleeping.tolist() == [1] and body.q[0] == 0.0
    np.testing.assert_allclose(body.touches[:, 9:12].sum(axis=0), (0.0, 0.0, -1.001 * G), atol=1e-5)


def test_whoever_touches_an_active_robot_does_not_sleep() -> None:
    """It would be woken in the next step, and stopped again and again."""
    model, q = on_platform()
    q[0] = -2.001 * G / 200.0
    q[3] += q[0]
    body = AdaptiveDynamics(model, q, active=1, contacts=True)
    for _ in range(300):
        body.step(2e-3)
        assert body.sleeping.size == 0 and 0 in body.active_joints
    np.testing.assert_allclose(body.touches[:, 11].sum(), -1.001 * G, rtol=1e-2)


def test_nobody_sleeps_on_a_robot_that_begins_to_move() -> None:
    """The wheel of the box turns, until that sleeps: then there is room for the platform to move, which wakes it."""
    model, q = on_platform()
    v = np.zeros(model.nv)
    v[-1] = 0.2
    body = AdaptiveDynamics(model, q, v, active=1, contacts=True)
    moved = []
    for _ in range(160):
        body.step(2e-3)
        moved.append(0 in body.active_joints)
        assert not moved[-1] or not body.sleeping.size
    assert not moved[100] and moved[-1]


@pytest.mark.parametrize("which", [dict(active=1), dict(error=0.1)])
def test_a_platform_sinks_under_a_sleeper_once_it_may_move(which: dict[str, Any]) -> None:
    """It would be in balance without the box, which falls asleep on it while a pendulum takes the only active joint. As
    the pendulum comes to rest, the weight of the box is what matters most."""
    b = ModelBuilder("platform")
    b.add_body("platform", joint="prismatic", axis=(0, 0, 1), mass=1.0, inertia=[0.1] * 3, stiffness=200.0, damping=9.0)
    b.add_shape("platform", "box", (1.0, 1.0, 0.1))
    b.add_body("pendulum", axis=(0, 1, 0), position=(3, 0, 1), mass=1, com=(0, 0, -0.5), inertia=[0.01] * 3, damping=1)
    b.add_body("box", joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_shape("box", "box", [0.2] * 3)
    model = b.build()
    q = model.neutral()
    q[0], q[1], q[4] = -G / 200.0, 1.0, 0.15 - G / 200.0
    body = AdaptiveDynamics(model, q, contacts=True, update_every=5, **which)
    body.run(0.6, dt=2e-3)
    assert body.sleeping.tolist() == [2] and body.q[0] == q[0]
    body.run(3.4, dt=2e-3)
    assert abs(body.q[0] + 2.0 * G / 200.0) < 2e-3


def test_without_sleep_nobody_sleeps() -> None:
    model = boxes(1)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1)), active=0, contacts=Contacts(ground=0.0, sleep=0.0))
    body.run(1.0, dt=2e-3)
    assert body.sleeping.size == 0 and abs(body.q[2] - 0.1) < 1e-6


def test_a_contact_on_a_rigid_link_acts_on_the_whole() -> None:
    """A rod of six links, none of which moves, tips over as one rigid body does."""
    model = chains(6)
    q = model.neutral()
    q[2], q[3:7] = 1.2 + 0.04, (0.0, np.sin(0.05), 0.0, np.cos(0.05))
    ours = AdaptiveDynamics(model, q, active=0, contacts=FLOOR)
    b = ModelBuilder("rod")
    b.add_body("rod", joint="free", mass=6.0, com=(0, 0, -0.6), inertia=_of_rod())
    for i in range(6):
        b.add_shape("rod", "capsule", (0.04, 0.2), position=(0, 0, -0.1 - 0.2 * i), friction=0.6)
    rod = simulate(b.build(), q[:7], duration=0.6, dt=2e-3, contacts=FLOOR)
    ours.run(0.6, dt=2e-3)
    np.testing.assert_allclose(ours.q[:7], rod.q[-1], atol=1e-6)


def _of_rod() -> list[float]:
    """Of six links about their common middle."""
    across = sum(0.01 + (0.1 + 0.2 * i - 0.6) ** 2 for i in range(6))
    return [across, across, 0.012]


def test_a_run_is_recorded_and_resumed_bit_by_bit(tmp_path: Path) -> None:
    model = chains(5)
    how = dict(dt=2e-3, contacts=FLOOR, method="adaptive", active=2, forces=[Push("c0l2", (3.0, 0, 0), stop=0.2)])
    whole = simulate(model, strewn(model, 4), duration=0.6, **how)  # type: ignore[arg-type]
    file = tmp_path / "run.h5"
    simulate(model, strewn(model, 4), duration=0.3, record=file, **how)  # type: ignore[arg-type]
    simulate(model, strewn(model, 4), duration=0.6, record=file, resume=True, **how)  # type: ignore[arg-type]
    again = supple.load_run(file)
    np.testing.assert_array_equal(again.q, whole.q)
    for i in range(len(whole.times)):
        ours, theirs = again.contacts(i), whole.contacts(i)
        assert [(c.shape, c.other) for c in ours] == [(c.shape, c.other) for c in theirs]
        assert all(np.array_equal(a.force, b.force) for a, b in zip(ours, theirs))


def test_what_is_refused_leaves_no_trace() -> None:
    with pytest.raises(StateError, match="guaranteed"):
        AdaptiveDynamics(chains(3), error=0.1, guaranteed=True, contacts=FLOOR)
    with pytest.raises(supple.ModelError, match="shape"):
        AdaptiveDynamics(supple.trees.chain(3), contacts=True)
    model = chains(4)
    body, twin = (AdaptiveDynamics(model, strewn(model, 5), active=2, contacts=FLOOR) for _ in range(2))
    free = AdaptiveDynamics(model, body.q, active=2)
    bad = body.save()
    for x in (body, twin):
        x.run(0.3, dt=2e-3)
    with pytest.raises(StateError, match="without contacts"):
        body.restore(free.save())
    for name, value in (("touches_asleep", np.array([7])), ("touches_quiet", np.array([np.nan]))):
        with pytest.raises(StateError, match="saved"):
            body.restore(body.save() | {name: value})
    whole = body.save()
    for name in whole.keys() - {STATE, *LATER, *(PREFIX + x for x in LATER_TOUCHES)}:
        with pytest.raises(StateError, match=f"has no {name}$"):
            body.restore({key: x for key, x in whole.items() if key != name})
    with pytest.raises(StateError, match="saved"):
        body.restore(bad)
    with pytest.raises(StateError):
        body.guaranteed = True
    with pytest.raises(StateError):
        body.set_state(np.full(model.nq, np.nan))
    for x in (body, twin):
        x.run(0.3, dt=2e-3)
    np.testing.assert_array_equal(body.q, twin.q)
    np.testing.assert_array_equal(body.touches, twin.touches)


@pytest.mark.parametrize("missing", ["exerted", "last_step"])
def test_saved_states_of_earlier_versions_have_no_forces_to_fall_asleep_with(missing: str) -> None:
    model = boxes(1)
    body = AdaptiveDynamics(model, at(model, (0, 0, 0.1)), active=0, contacts=FLOOR, update_every=1000)
    body.run(0.5, dt=2e-3)
    assert body.sleeping.size == 0  # still for long enough, but asleep only at the next update
    body.restore({name: x for name, x in body.save().items() if name != PREFIX + missing})
    for _ in range(200):
        body.update()
        body.step(2e-3)
        np.testing.assert_allclose(weight(body), 1.001 * G, rtol=1e-3)
    assert body.sleeping.size == 1


@pytest.mark.parametrize("seed", [5, 6, 10, 14, 18, 20, 23])
@pytest.mark.parametrize("active", [1, 2])
def test_light_fingers_stop_at_their_limits_whatever_strikes_them(seed: int, active: int) -> None:
    """A body lands on fingers of a ten-thousandth of its mass, which are far from their limits when the step begins."""
    b = ModelBuilder("hand")
    b.add_body("hand", joint="free", mass=1.0, inertia=[0.01] * 3)
    b.add_shape("hand", "sphere", [0.05])
    for k in range(2):
        b.add_body(f"finger{k}", "hand", axis=(0, 1, 0), position=(0.1, 0.1 * k, 0), mass=1e-4, com=(0.05, 0, 0),
                   inertia=[1e-8] * 3, lower=-0.3, upper=0.3)  # fmt: skip
        b.add_shape(f"finger{k}", "sphere", [0.01], (0.05, 0, -0.06))
    v = np.r_[0, 0, -4.0, 4.0 * np.random.default_rng(seed).normal(size=3), 0, 0]
    r = simulate(b.build(), [0, 0, 0.5, 0, 0, 0, 1, 0, 0], v, duration=0.4, dt=5e-3, method="adaptive", active=active,
                 contacts=Contacts(ground=0.0))  # fmt: skip
    assert 0.29 < np.abs(r.q[:, 7:]).max() < 0.3 + 5e-4


@pytest.mark.parametrize(("seed", "number"), [(0, 14), (0, 93), (0, 118), (0, 10), (3, 9), (77, 89)])
def test_random_scenes_of_which_some_joints_move_keep_the_law(seed: int, number: int) -> None:
    """Of python -m tests.random_scenes --adaptive: a joint that begins to move in flight runs into its limit, light
    links carry heavy ones, chains fall on each other, a cylinder turns within its tree and then falls."""
    verdict = Verdict()
    judge_adaptive(seed, number, verdict, 0.5)
    assert verdict.steps > 0 and not verdict.refused and verdict.relaxed == 0
    assert verdict.pull == 0.0 and verdict.cone < 1e-12 and verdict.fault < 1e-5 and verdict.unseen < 1e-6
    assert max(verdict.overlap) < 5.2e-4 and max(verdict.beyond) < 5.2e-4 and max(verdict.rise) < 1e-3


@pytest.mark.parametrize(("active", "ends"), [(0, 0.9), (1, 0.5)])
def test_a_joint_that_began_beyond_its_limit_is_moved_back_while_it_is_active(active: int, ends: float) -> None:
    b = ModelBuilder("bent", gravity=(0, 0, 0))
    b.add_body("one", joint="free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.add_body("two", "one", axis=(0, 1, 0), mass=1.0, inertia=(0.1, 0.1, 0.1), lower=-0.5, upper=0.5)
    b.add_shape("one", "sphere", [0.05])
    model = b.build()
    body = AdaptiveDynamics(model, [*model.neutral()[:7], 0.9], active=active, contacts=True)
    body.run(0.1, dt=1e-3)
    assert body.q[7] == pytest.approx(ends, abs=1e-6)


def test_energy_that_a_contact_takes_takes_rounding_with_it() -> None:
    """A slide flies to its limit and stops there: what rounding added in flight is more than all that is left."""
    b = ModelBuilder("slide", gravity=(0.0, 0.0, 0.0))
    mass = dict(mass=0.6929663364764543, com=(0.0, 0.0, -0.3), inertia=[0.06773123987904076] * 3)
    b.add_body("slide", joint="prismatic", axis=(0, 0, 1), lower=-0.5, upper=0.4, damping=0.2, **mass)  # type: ignore[arg-type]
    b.add_body("wheel", parent="slide", joint="revolute", mass=1e-9, inertia=[1e-12] * 3)
    b.add_shape("slide", "sphere", (0.1,))
    body = AdaptiveDynamics(b.build(), None, [-6.378839353352646, 0.0], active=1, contacts=Contacts(ground=-9.0))
    body.run(0.3, dt=1e-3)
    assert abs(body.v[0]) < 1e-12


def test_contact_forces_take_part_in_the_choice_of_joints() -> None:
    """A straight chain falls flat on a block, which is below one of its ends: no joint has a reason to move as long as
    it falls, and then those near the block do."""

    def chosen(link: int) -> tuple[list[int], list[int]]:
        """The joints that move before the chain touches the block below a link, and afterwards."""
        b = ModelBuilder("chain")
        for i in range(12):
            how: dict[str, Any] = dict(mass=1.0, com=(0.1, 0, 0), inertia=(0.001, 0.005, 0.005))
            if i > 0:
                how |= dict(parent=f"link{i - 1}", axis=(0, 1, 0), position=(0.2, 0, 0), damping=0.02)
            b.add_body(f"link{i}", joint="revolute" if i > 0 else "free", **how)
            b.add_shape(f"link{i}", "sphere", (0.03,), position=(0.1, 0, 0))
        b.add_shape(None, "box", (0.1, 0.5, 0.2), position=(0.2 * link + 0.1, 0, -0.1))
        model = b.build()
        q = model.neutral()
        q[2] = 0.035
        body = AdaptiveDynamics(model, q, active=2, update_every=1, contacts=Contacts())
        moving = []
        for steps in (10, 20):
            body.run(2e-3 * steps, 2e-3)
            moving.append(np.setdiff1d(body.active_joints, [0]).tolist())
        assert len(body.touches) == 1
        return moving[0], moving[1]

    before, left = chosen(1)
    _, right = chosen(10)
    assert before == [] and len(left) == len(right) == 2
    assert np.mean(left) < 5.5 < np.mean(right)
