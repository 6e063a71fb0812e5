"""What a run with contact reports where its steps are divided by events, by pushes that start or stop, or by its end,
also if it is resumed there, and where events change the model; and that runs do not depend on how much memory there
was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import supple
from supple import (
    Contacts,
    Event,
    Model,
    ModelBuilder,
    ModelError,
    Push,
    RecordingError,
    Result,
    Simulation,
    SimulationError,
    SpringBetween,
    State,
    load_run,
    simulate,
)
from supple.contact.room import ContactRoom
from supple.integrating.joint_law import LAW
from tests.random_scenes import scene

G = 9.81


def balls(n: int = 1, **how: object) -> tuple[Model, np.ndarray]:
    """Balls of 1 kg, one of which begins 0.5 m above the floor, and the others on it."""
    b = ModelBuilder("balls", **how)
    for i in range(n):
        b.add_body(f"ball {i}", joint="free", mass=1.0, inertia=[0.004] * 3)
        b.add_shape(f"ball {i}", "sphere", (0.1,), friction=0.0)
    model = b.build()
    q = model.neutral()
    q.reshape(n, 7)[:, 0], q.reshape(n, 7)[:, 2] = 3.0 * np.arange(n), 0.1
    q[2] = 0.6
    return model, q


def assert_forces_explain_motion(run: Result, body: int = 0) -> None:
    """Forces times times are the change of momentum along z, from every state to the next."""
    up, now = 6 * body + 2, run.times
    for i in range(1, len(now)):
        h = now[i] - now[i - 1]
        impulse = sum((c.force[2] for c in run.contacts(i) if c.shape == f"shape{body}"), 0.0) * h
        assert run.v[i, up] - run.v[i - 1, up] == pytest.approx(impulse - G * h, abs=1e-9), now[i]


@pytest.mark.parametrize("height", np.linspace(0.101, 0.16, 12))
def test_forces_at_an_event_are_those_until_then(height: float) -> None:
    """A ball falls on the floor; an event that changes nothing happens shortly before it lands, in the same step."""
    model, q = balls()
    event = Event("low", lambda s: s.q[2] - height, direction=-1)
    run = simulate(model, q, duration=0.4, dt=1e-2, contacts=Contacts(ground=0.0), events=[event])
    assert len(run.events) == 1
    assert_forces_explain_motion(run)


@pytest.mark.parametrize("end", [0.3145, 0.3185, 0.3199, 0.3215])
def test_forces_where_a_run_ends_within_a_step_are_those_until_then(end: float) -> None:
    model, q = balls()
    assert_forces_explain_motion(simulate(model, q, duration=end, dt=1e-2, contacts=Contacts(ground=0.0)))


@pytest.mark.parametrize("start", [0.3199, 0.3243, 0.3301])
def test_forces_of_a_step_that_a_push_divides_are_those_of_all_of_it(start: float) -> None:
    """The push acts on another body."""
    model, q = balls(2)
    push = Push("ball 1", force=(1.0, 0.0, 0.0), start=start, stop=start + 0.0137)
    run = simulate(model, q, duration=0.5, dt=1e-2, contacts=Contacts(ground=0.0), forces=[push])
    assert len(run.times) == 51
    assert_forces_explain_motion(run)


@pytest.mark.parametrize("end", [0.3205, 0.3245, 0.3275, 0.3305, 0.3325, 0.3385])
def test_forces_are_the_same_if_a_run_is_resumed_in_a_step_that_pushes_divide(end: float, tmp_path: Path) -> None:
    model, q = balls(2)
    pushes = [Push("ball 1", force=(1.0, 0.0, 0.0), start=start, stop=start + 0.0137) for start in (0.3182, 0.3243)]
    how: Any = {"dt": 1e-2, "contacts": Contacts(ground=0.0), "forces": pushes, "joint_forces": True}
    whole, path = simulate(model, q, duration=0.4, **how), tmp_path / "run.h5"
    simulate(model, q, duration=end, record=path, **how)
    simulate(model, q, duration=0.4, record=path, resume=True, **how)
    resumed = load_run(path)
    there = np.flatnonzero(resumed.times != end)
    assert np.array_equal(resumed.times[there], whole.times) and np.array_equal(resumed.v[there], whole.v)
    assert whole.pushed is not None and resumed.pushed is not None
    assert np.array_equal(resumed.pushed[there], whole.pushed)
    for i, k in enumerate(there):
        assert [repr(c) for c in resumed.contacts(int(k))] == [repr(c) for c in whole.contacts(i)]


def test_a_run_that_is_halted_where_a_push_starts_finishes_the_step() -> None:
    """States are kept at instants of the grid: there are no forces until a push starts."""
    model, q = balls(2)
    push = Push("ball 1", force=(1.0, 0.0, 0.0), start=0.3243)
    how: Any = {"dt": 1e-2, "contacts": Contacts(ground=0.0), "duration": 0.4}
    halted = Simulation(model, q, forces=[push, lambda time, q, v: halt(time) or np.zeros(12)], **how)

    def halt(time: float) -> None:
        if time > 0.3201:
            halted.halt()

    *_, last = halted
    whole = simulate(model, q, forces=[push], **how)
    assert last.time == halted.time == whole.times[33] and np.array_equal(last.v, whole.v[33])


def test_a_limit_that_is_reached_later_in_a_step_has_no_force_at_an_event() -> None:
    b = ModelBuilder("slider")
    b.add_body("slider", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=-0.1, upper=1.0)
    b.add_shape("slider", "sphere", (0.01,))
    event = Event("near", lambda s: s.q[0] + 0.098, direction=-1)
    run = simulate(b.build(), [0.0], duration=0.2, dt=1e-2, contacts=True, events=[event], joint_forces=True)
    at = int(np.flatnonzero(run.times == run.events[0].time)[0])
    assert run.passive is not None and run.passive[at] == pytest.approx(0.0, abs=1e-12)
    assert run.passive[-1] == pytest.approx(2.0 * G)


@pytest.mark.parametrize("joint", ["free", "revolute"])
def test_limits_keep_their_forces_where_an_event_changes_the_root(joint: str) -> None:
    """Two links on a base lean against their limits; then another body is the root. The order of joints changes, and
    with a revolute joint also the number of velocities."""
    b, link = ModelBuilder("leans"), {"mass": 1.0, "inertia": [0.01] * 3, "com": (0, 0, 0.1)}
    b.add_body("base", joint="free", mass=3.0, inertia=[0.03] * 3)
    b.add_shape("base", "box", (0.3, 0.3, 0.1))
    b.add_body("lower", "base", axis=(0, 1, 0), position=(0, 0, 0.1), lower=-0.1, upper=0.2, **link)
    b.add_body("upper", "lower", axis=(1, 0, 0), position=(0, 0, 0.2), lower=-0.1, upper=0.3, **link)
    model = b.build()
    q = model.neutral()
    q[2], q[-2:] = 0.05, (0.2, 0.3)
    body = "upper" if joint == "free" else "base"

    def then(s: State) -> State:
        new = supple.reroot(s.model, s.q, 0.0 * s.v, body=body, joint=joint)
        return State(s.time, new.q, new.v, new.model)

    again = Event("again", lambda s: s.time - 0.101, then=then)
    run = simulate(
        model, q, duration=0.2, dt=2e-3, contacts=Contacts(ground=0.0), events=[again], joint_wrenches=True,
        joint_forces=True,
    )  # fmt: skip
    before, after = run.segments
    for segment, i in ((before, -1), (after, 0), (after, 1)):
        passive, held = segment.joint_forces[i][1], before.joint_forces[-1][1]
        for name in ("lower_joint", "upper_joint"):
            force = passive[segment.model.joints[name].v]
            assert force == pytest.approx(held[model.joints[name].v], rel=1e-3) and abs(force) > 0.1
        assert np.count_nonzero(passive) == 2
    assert after.joint_wrenches[0] == pytest.approx(after.joint_wrenches[1], abs=1e-2)


def crates(*names: str) -> tuple[Model, np.ndarray]:
    """Crates on the floor, by name."""
    b = ModelBuilder("crates")
    for name in names:
        b.add_body(name, joint="free", mass=1.0, inertia=[0.02] * 3)
        b.add_shape(name, "box", (0.2, 0.2, 0.1), name=f"box {name}")
    model = b.build()
    q = model.neutral()
    q.reshape(-1, 7)[:, 0], q.reshape(-1, 7)[:, 2] = 2.0 * np.arange(len(names)), 0.05
    return model, q


@pytest.mark.parametrize("later", ["a", "ba", "abc", "cb"])
def test_contacts_are_of_the_shapes_that_there_are_where_an_event_changes_them(later: str, tmp_path: Path) -> None:
    (model, q), (other, new), path = crates("a", "b"), crates(*later), tmp_path / "run.h5"
    swap = Event("swap", lambda s: s.time - 0.0101, then=lambda s: State(s.time, new, np.zeros(other.nv), other))
    how: Any = {"dt": 2e-3, "contacts": Contacts(ground=0.0), "events": [swap], "joint_wrenches": True}
    for end in (0.008, 0.015, 0.02):
        simulate(model, q, duration=end, record=path, resume=path.exists(), **how)
    for run in (simulate(model, q, duration=0.02, **how), load_run(path)):
        first = len(run.segments[0])
        for i in range(1, len(run)):
            there = "ab" if i < first else later if i > first else sorted({*"ab"} & {*later})
            found = {(c.shape, c.body, c.other, c.other_body) for c in run.contacts(i)}
            assert found == {(f"box {name}", name, "ground", None) for name in there}, i
            for name in there:
                weight = sum(c.force[2] for c in run.contacts(i) if c.body == name)
                assert weight == pytest.approx(G, rel=1e-3)


def test_pairs_that_never_touch_may_be_gone_where_an_event_changes_the_model() -> None:
    """Two crates lie in each other, and a third one is removed, from which both were apart."""
    (model, q), (other, new) = crates("a", "b", "c"), crates("a", "b")
    q[7:9] = new[7:9] = 0.0
    swap = Event("swap", lambda s: s.time - 0.0101, then=lambda s: State(s.time, new, np.zeros(other.nv), other))
    contacts = Contacts(ground=0.0, apart=[("a", "c"), ("box c", "ground"), ("a", "box b")])
    run = simulate(model, q, duration=0.02, dt=2e-3, contacts=contacts, events=[swap])
    assert {(c.body, c.other) for c in run.contacts(-1)} == {("a", "ground"), ("b", "ground")}
    wrong = Contacts(ground=0.0, apart=[("a", "d")])
    with pytest.raises(ModelError, match="named 'd'"):
        simulate(model, q, duration=0.02, contacts=wrong, events=[swap])


def spins() -> tuple[Model, np.ndarray, np.ndarray]:
    """Beside a ball that lies on the floor, a pendulum turns by radians in the shortest parts of a step, which are all
    above tolerance."""
    b, like = ModelBuilder("spins"), {"mass": 1.0, "inertia": [0.01] * 3}
    b.add_body("ball", joint="free", **like)
    b.add_shape("ball", "sphere", (0.1,))
    b.add_body("upper", axis=(0, 1, 0), position=(0, 0, 3), **like)
    b.add_body("lower", "upper", axis=(0, 1, 0), position=(0, 0, -0.5), com=(0, 0, -0.3), **like)
    model = b.build()
    q, v = model.neutral(), np.zeros(model.nv)
    q[2], q[-1], v[-2:] = 0.1, 1.0, (5e5, -1e6)
    return model, q, v


SPINS: dict[str, Any] = {"duration": 0.02, "dt": 1e-3, "contacts": Contacts(ground=0.0), "check_energy": False}


def test_events_that_change_nothing_add_no_faults() -> None:
    """Looks at events take parts of steps, which are none of the run."""
    run = simulate(*spins(), **SPINS)
    again = simulate(*spins(), events=[Event("never", lambda s: s.time - 1e3)], **SPINS)
    assert run.about["contact_faults"]["rough"] > 10
    assert np.array_equal(again.q, run.q) and again.about["contact_faults"] == run.about["contact_faults"]


def test_velocities_that_overflow_within_a_step_need_shorter_steps_and_no_other_tolerance() -> None:
    """At 3e7 rad/s, the pendulum turns by two radians even in the shortest parts of a step of 1 ms."""
    model, q, v = spins()
    with pytest.raises(SimulationError, match=r"too large for numbers; take shorter steps$"):
        simulate(model, q, 60.0 * v, **SPINS)
    simulate(model, q, 60.0 * v, **{**SPINS, "dt": 1e-7, "duration": 2e-6})


def test_velocities_that_overflow_in_a_long_part_of_a_step_are_found_in_shorter_ones() -> None:
    """Three trees, whose links are between 3 g and 387 kg and rotate by a quarter of a radian in a step."""
    model, q, v, h = scene(0, 836)
    q[:16] = (-0.159, 0.529, 0.233, -0.028, -0.563, -0.822, 0.082, -0.038,
              0.029, 0.665, 0.088, 0.604, -0.034, -0.756, -0.251, -3.278)  # fmt: skip
    q[25:36] = -0.302, 0.504, 0.132, 0.13, -0.827, -0.096, 0.538, -0.808, 0.312, -0.185, -0.552
    v[:14] = (-3.415, -2.561, 0.198, 5.868, -7.193, -9.708, 5.802,
              0.881, -2.319, 0.509, 11.824, 5.203, 34.733, 8.604)  # fmt: skip
    v[22:32] = -1.16, 0.981, -0.923, -5.231, -12.574, -49.785, 0.0, 28.286, -32.664, -3.097
    q[16:19], q[36:39] = (0.0, 0.0, 50.0), (0.0, 0.0, 90.0)  # the others are far away
    r = simulate(model, model.normalize(q), v, duration=h, dt=h, contacts=True)
    assert r.about["contact_faults"]["rough"] == 0 and np.abs(r.v[-1]).max() < 50.0


def test_faults_are_counted_once_where_a_run_is_resumed_within_a_step(tmp_path: Path) -> None:
    run, path = simulate(*spins(), **SPINS), tmp_path / "run.h5"
    for end in (0.0025, 0.0028, 0.0045, 0.02):
        simulate(*spins(), record=path, resume=path.exists(), **{**SPINS, "duration": end})
    resumed = load_run(path)
    assert np.array_equal(resumed.q[-1], run.q[-1])
    assert resumed.about["contact_faults"] == run.about["contact_faults"]


def test_a_spring_between_balls_that_spin_and_touch_keeps_their_momentum() -> None:
    """Forces act in the middle of a step, as they are there."""
    model, q = balls(2, gravity=(0, 0, 0))
    q[:] = model.neutral()
    q[7] = 0.2
    v = np.zeros(12)
    v[5], v[10] = 50.0, 50.0
    spring = SpringBetween("ball 0", "ball 1", stiffness=100.0, length=0.1, point=(0.05, 0, 0))
    run = simulate(model, q, v, duration=0.5, dt=2e-3, forces=[spring], contacts=Contacts())
    momenta = np.array([supple.momentum(model, *state)[3:] for state in zip(run.q, run.v)])
    assert np.abs(momenta).max() < 1e-10
    total = run.kinetic + run.potential
    assert np.abs(total - total[0]).max() < 2e-3 * total[0]


def test_a_run_is_resumed_with_the_same_setting_of_contacts_which_a_refusal_names(tmp_path: Path) -> None:
    model, q = balls()
    how: dict[str, Any] = dict(dt=2e-3, record=tmp_path / "run.h5")
    simulate(model, q, duration=0.01, contacts=Contacts(ground=0.0), **how)
    with pytest.raises(RecordingError, match=r"recorded with ground 0\.0 in contacts, not -1\.0; give"):
        simulate(model, q, duration=0.02, contacts=Contacts(ground=-1.0), resume=True, **how)


def test_a_push_on_a_ball_that_spins_on_the_floor_acts_along_its_direction() -> None:
    model, q = balls()
    q[2] = 0.1
    push = Push("ball 0", force=(2.0, 0, 0))
    run = simulate(
        model, q, [0, 0, 0, 0, 0, 100.0], duration=0.5, dt=4e-3, forces=[push], contacts=Contacts(ground=0.0)
    )
    assert supple.momentum(model, run.q[-1], run.v[-1])[3:] == pytest.approx([1.0, 0.0, 0.0], abs=1e-9)


def test_steps_do_not_depend_on_how_much_memory_there_was() -> None:
    """A room that has just been made lacks memory in most steps, and takes them again: from the known forces that the
    step began with. So a run that is resumed anywhere goes on as if it had not been interrupted."""
    differ = count = 0
    for number in (21, 32, 43, 57, 60, 67):
        model, q, v, h = scene(0, number)
        no_law = np.zeros((0, LAW))
        old = ContactRoom(model, no_law, Contacts())
        known = np.zeros((0, 4))
        for _ in range(60):
            new = ContactRoom(model, no_law, Contacts())
            old.known = new.known = known
            try:
                taken = [room.take(q, v, h, np.zeros(model.nv), None) for room in (old, new)]
            except (SimulationError, ArithmeticError):
                break
            if not all(taken):
                run = simulate(model, q, v, duration=h, dt=h)
                q, v, known = run.q[-1], run.v[-1], old.known[:1]
                continue
            count += 1
            differ += not (np.array_equal(old.q, new.q) and np.array_equal(old.v, new.v))
            q, v, known = old.q.copy(), old.v.copy(), old.known.copy()
    assert differ == 0 and count > 100
