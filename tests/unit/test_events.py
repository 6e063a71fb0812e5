"""Events: their instants against closed forms, once each, together, at rest, and what their functions may do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ellipk

import supple

G, L = 9.81, 0.7
INTEGRATORS = ["euler", "semi-implicit", "rk4", "dop853"]


def pendulum() -> supple.Model:
    """A point mass of 2 kg on a rod of L."""
    b = supple.ModelBuilder("pendulum")
    b.add_body("bob", joint="revolute", joint_name="pivot", axis=(0, 1, 0), mass=2.0, com=(0, 0, -L))
    return b.build()


def ball(restitution: float = 0.8, **event: object) -> tuple[supple.Model, supple.Event]:
    """A ball on a vertical slide that bounces at z = 0."""
    b = supple.ModelBuilder("ball")
    b.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1.0)

    def bounce(s: supple.State) -> supple.State:
        return s.replace(v=-restitution * s.v)

    how: dict[str, object] = {"direction": -1, "then": bounce} | event
    return b.build(), supple.Event("floor", lambda s: s.q[0], **how)  # type: ignore[arg-type]


def particle(joint: str = "prismatic") -> supple.Model:
    """One body where there is no gravity."""
    b = supple.ModelBuilder("particle", gravity=(0, 0, 0))
    b.add_body("particle", joint=joint, axis=(0, 0, 1), mass=1.0, inertia=(0.1, 0.1, 0.1))
    return b.build()


def box() -> supple.Model:
    """A free body with two feet."""
    b = supple.ModelBuilder("box")
    b.add_body("box", None, "free", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.add_frame("left", "box", (0, 0.1, -0.2))
    b.add_frame("right", "box", (0, -0.1, -0.2))
    return b.build()


def height(frame: str) -> Callable[[supple.State], float]:
    def of(s: supple.State) -> float:
        f, P = s.model.frames[frame], supple.poses(s.model, s.q)
        return float((P.rotation[f.body] @ f.position + P.position[f.body])[2])

    return of


def names(run: supple.Result) -> list[str]:
    return [e.name for e in run.events]


# --- instants ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", ["semi-implicit", "rk4", "dop853"])
def test_bounces_are_found_exactly(integrator):
    """A ball under gravity: parabolas, which rk4 and the adaptive method step without error."""
    model, floor = ball()
    r = supple.simulate(model, [1.0], duration=2.0, dt=0.01, integrator=integrator, events=[floor])
    first = np.sqrt(2 / G)
    expected, t, speed = [], first, 0.8 * G * first
    while t < 2.0:
        expected.append(t)
        t, speed = t + 2 * speed / G, 0.8 * speed
    times = [e.time for e in r.events]
    tolerance = 0.06 if integrator == "semi-implicit" else 1e-12
    np.testing.assert_allclose(times, expected, rtol=0, atol=tolerance)
    assert len(r.segments) == len(expected) + 1
    for before, after in zip(r.segments, r.segments[1:]):
        assert before.times[-1] == after.times[0] and abs(before.q[-1, 0]) < 1e-12
        np.testing.assert_allclose(after.v[0], -0.8 * before.v[-1])
    if integrator == "semi-implicit":  # exact with respect to the integrator: it steps to the instant itself
        assert abs(r.segments[0].q[-1, 0]) < 1e-15


def test_events_of_a_pendulum_to_1e_12():
    """It passes the lowest point after a quarter of its period, K(k) sqrt(l/g); directions are told apart."""
    quarter = ellipk(np.sin(1.0) ** 2) * np.sqrt(L / G)
    how = dict(duration=5 * quarter, dt=0.05, integrator="dop853", rtol=1e-13, atol=1e-14)
    seen = {}
    for direction in (-1, 0, 1):
        event = supple.Event("low", lambda s: s.q[0], direction)
        seen[direction] = [e.time for e in supple.simulate(pendulum(), [2.0], events=[event], **how).events]
    np.testing.assert_allclose(seen[-1], [quarter, 5 * quarter][: len(seen[-1])], atol=2e-12)
    np.testing.assert_allclose(seen[1], [3 * quarter], atol=2e-12)
    np.testing.assert_allclose(seen[0], sorted(seen[-1] + seen[1]), atol=2e-12)


def test_an_event_may_change_the_model_or_stop():
    """A ball becomes two of other names when it lands; forces are bound again by name; then the run stops."""
    model, _ = ball()
    b = supple.ModelBuilder("two balls")
    b.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=2.0)
    b.add_body("other", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    two = b.build()

    def split(s: supple.State) -> supple.State | None:
        return s.replace(model=two, q=np.array([s.q[0], 0.0]), v=np.array([3.0, 1.0])) if s.model is model else None

    events = [
        supple.Event("floor", lambda s: s.q[0], -1, split),
        supple.Event("top", lambda s: s.v[0] if s.model is two else -1.0, -1, "stop"),
    ]
    push = supple.Push("ball", force=(0, 0, 1.0))
    r = supple.simulate(model, [1.0], duration=5.0, dt=0.01, events=events, forces=[push])
    assert [e.name for e in r.events] == ["floor", "top"]
    assert [s.model for s in r.segments] == [model, two] and r.model is two
    fall, rise = np.sqrt(2 / (G - 1.0)), 3.0 / (G - 0.5)
    np.testing.assert_allclose([e.time for e in r.events], [fall, fall + rise], atol=1e-12)
    np.testing.assert_allclose(r.final.q, [9 / (2 * (G - 0.5)), rise], atol=1e-12)
    with pytest.raises(supple.StateError, match=r"result\.segments"):
        r.q  # noqa: B018


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize("depth", [0.3, 1e-2, 1e-4, 1e-8])
def test_an_oscillation_there_and_back_within_a_step(integrator, depth):
    """cos(w t) is above 1 - depth about its maxima, there and back within a step: at the angles +- acos(1 - depth)."""
    b = supple.ModelBuilder("slide", gravity=(0, 0, 0))
    b.add_body("block", joint="prismatic", axis=(1, 0, 0), mass=1.0)
    w = 5.0
    dt = 0.2 if integrator == "dop853" else 0.02
    event = supple.Event("above", lambda s: s.q[0] - (1 - depth))
    how = {"rtol": 1e-13, "atol": 1e-13} if integrator == "dop853" else {}
    r = supple.simulate(
        b.build(), [np.cos(-1.0)], [np.sin(1.0) * w], duration=3.0, dt=dt, integrator=integrator, events=[event],
        forces=[supple.Spring("block", (0, 0, 0), w * w)], **how,
    )  # fmt: skip
    angles = 2 * np.pi * np.arange(3)[:, None] + np.arccos(1 - depth) * np.array([-1, 1])
    if integrator == "dop853":
        want = ((1.0 + angles.ravel()) / w).tolist()
        # q is good to 1e-13, which moves a zero by 1e-13 over the speed there
        tolerance = 1e-11 / np.sqrt(2 * depth)
        np.testing.assert_allclose([e.time for e in r.events], [t for t in want if t < 3.0], rtol=0, atol=tolerance)
    else:  # it loses more than the last depths, as an integrator of order 4 must
        assert len(r.events) == (6 if depth > 1e-3 else 0) or depth == 1e-4


@pytest.mark.parametrize(("integrator", "dt"), [("dop853", 0.01), ("rk4", 0.01), ("rk4", 0.1), ("euler", 0.1)])
def test_a_whole_period_within_a_step(integrator, dt):
    """sin(20 pi q + 0.1) of a particle of unit speed: 40 zeros in two seconds, however long the steps."""
    event = supple.Event("s", lambda s: np.sin(20 * np.pi * s.q[0] + 0.1))
    r = supple.simulate(particle(), [0.0], [1.0], duration=2.0, dt=dt, integrator=integrator, events=[event])
    zeros = (np.pi * np.arange(1, 41) - 0.1) / (20 * np.pi)
    np.testing.assert_allclose([e.time for e in r.events], zeros, rtol=0, atol=1e-14)


def test_a_resolution_of_its_own():
    """A step of dop853 is as long as the run here; looks are as far apart as is said."""
    visit = (0.51, 0.53)
    seen = []

    def when(s: supple.State) -> float:
        seen.append(s.time)
        return -1.0 if visit[0] <= s.time < visit[1] else 1.0

    how = dict(duration=1.0, dt=0.5, integrator="dop853")
    assert not supple.simulate(particle(), events=[supple.Event("e", when)], **how).events
    coarse, few = len(seen), supple.Event("e", when, resolution=0.019)
    assert [e.time for e in supple.simulate(particle(), events=[few], **how).events] == pytest.approx(visit, abs=1e-15)
    assert coarse < 20 and np.diff(np.unique([t for t in seen[coarse:] if t <= 1.0])).max() <= 0.019


# --- once -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 1.1, 3.0])
def test_a_kick_happens_once(integrator, factor):
    """`then` changes the speed, and leaves `when` at zero give or take rounding: it is on its way to the other side."""
    count: Counter[object] = Counter()
    for x in 0.1 + 0.3 * np.arange(12) / 12 + 1e-5:
        kick = supple.Event("kick", lambda s, x=x: s.q[0] - x, -1, lambda s: s.replace(v=factor * s.v))
        r = supple.simulate(pendulum(), [0.5], duration=0.4, dt=1e-2, integrator=integrator, events=[kick])
        count[len(r.events), len(r.segments)] += 1
    assert count == {(1, 2): 12}


def test_a_change_of_root_happens_once():
    b = supple.ModelBuilder("two")
    b.add_body("a", None, "free", mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.add_body("b", "a", axis=(0, 1, 0), position=(0, 0, -1), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model = b.build()

    def then(s: supple.State) -> supple.State:
        new = supple.reroot(s.model, s.q, s.v, body="b", joint="free")
        return s.replace(model=new.model, q=new.q, v=new.v)

    for x in 0.1 + 0.3 * np.arange(20) / 20 + 1e-5:
        elbow = supple.Event("elbow", lambda s, x=x: s.q[s.model.joints["b_joint"].q][0] - x, 1, then)
        r = supple.simulate(model, None, [0, 0, 0, 0, 0, 0, 1.0], duration=0.5, dt=1e-2, events=[elbow])
        assert len(r.events) == 1 and len(r.segments) == 2
        elbow_at = [seg.q[i, seg.model.joints["b_joint"].q][0] for seg, i in zip(r.segments, (-1, 0))]
        np.testing.assert_allclose(elbow_at, x, rtol=0, atol=1e-14)


def test_zero_at_the_beginning_or_by_a_change_is_no_crossing():
    """Only motion crosses; from zero, an event happens after it has been left."""
    model, _ = ball()
    up = supple.Event("floor", lambda s: s.q[0])
    assert names(supple.simulate(model, [0.0], [1.0], duration=0.3, dt=0.01, events=[up])) == ["floor"]
    assert not supple.simulate(model, [0.0], [0.0], duration=0.3, dt=0.01, events=[up]).events

    def lift(s: supple.State) -> supple.State:
        return s.replace(q=s.q + 2.0, v=0 * s.v)

    events = [supple.Event("lift", lambda s: s.time - 0.1, 1, lift), supple.Event("one", lambda s: s.q[0] - 1.0)]
    r = supple.simulate(model, [0.0], duration=1.0, dt=0.01, events=events)
    assert names(r) == ["lift", "one"]
    fallen = 0.5 * G * 0.1**2
    np.testing.assert_allclose(r.events[1].time, 0.1 + np.sqrt(2 * (1.0 - fallen) / G), atol=1e-12)


def test_jumps_of_any_size_happen_just_beyond_them():
    """However far a function is from zero on either side, the state at the event is one behind the jump."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        instant, high, low = rng.uniform(0.01, 0.2), *10.0 ** rng.uniform(-2, 2, 2)
        seen: list[float] = []
        event = supple.Event("jump", lambda s: high if s.time < instant else -low, -1, lambda s: seen.append(s.time))  # noqa: B023
        r = supple.simulate(particle(), [0.0], [1.0], duration=0.25, dt=0.05, events=event)
        assert len(r.events) == 1 and seen == [r.events[0].time]
        assert instant <= seen[0] <= instant + 2 * np.spacing(instant), (high, low)


def test_a_short_visit_that_goes_through_is_no_bouncing():
    """Up through a height and down again within a step, slowed a little both times: nothing bounces there, however
    short the time between."""
    model, _ = ball()
    crossed = supple.Event("height", lambda s: s.q[0] - 0.004, then=lambda s: s.replace(v=0.99 * s.v))
    r = supple.simulate(model, [0.0], [0.3], duration=0.3, dt=0.1, events=crossed, check_energy=False)
    first, second = (e.time for e in r.events)
    assert abs(0.3 * first - 0.5 * G * first**2 - 0.004) < 1e-9
    v = 0.99 * (0.3 - G * first)
    assert abs(second - first - 2 * v / G) < 1e-9


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_functions_that_jump_or_stay_at_zero(integrator):
    jump = supple.Event("jump", lambda s: np.sign(s.q[0] - 0.3) + 0.0, then=lambda s: s.replace(v=2 * s.v))
    flat = supple.Event("flat", lambda s: max(0.2 - s.q[0], 0.0))
    r = supple.simulate(particle(), [0.0], [1.0], duration=1.0, dt=0.04, integrator=integrator, events=[jump, flat])
    assert names(r) == ["flat", "jump"]
    np.testing.assert_allclose([e.time for e in r.events], [0.2, 0.3], rtol=0, atol=1e-9)


# --- together ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("order", [("left", "right"), ("right", "left")])
def test_two_feet_come_down_at_one_instant(integrator, order):
    """Watched only, or with an impact each: both happen, in the order in which they were given."""
    model = box()
    v = np.zeros(6)
    v[0] = 1.0

    def slower(s: supple.State) -> supple.State:
        return s.replace(v=0.5 * s.v)

    for i in range(8):
        q = model.neutral()
        q[2] = 0.3 + i / 8
        for then in (None, slower):
            events = [supple.Event(n, height(n), -1, then) for n in order]
            r = supple.simulate(model, q, v, duration=0.6, dt=1e-2, integrator=integrator, events=events)
            assert names(r) == list(order) and r.events[0].time == r.events[1].time
            assert len(r.segments) == (1 if then is None else 2)
            if then is not None:
                np.testing.assert_allclose(r.segments[1].v[0], 0.25 * r.segments[0].v[-1])


def test_together_on_the_grid_and_off_it():
    for t in (0.1, 0.3, 0.1234567):
        two = [supple.Event(n, lambda s, t=t: s.time - t, 1) for n in ("on", "off")]
        r = supple.simulate(box(), duration=0.5, dt=1e-2, events=two)
        assert [(e.name, e.time) for e in r.events] == [("on", t), ("off", t)]


def test_functions_of_different_rounding_are_together():
    """Five ways to say that q passes x; some are at zero a few roundings before others, perhaps in another step."""
    ways = {
        "plain": lambda q, x: q - x,
        "thrice": lambda q, x: 3 * q - 3 * x,
        "sine": lambda q, x: np.sin(q) - np.sin(x),
        "exponential": lambda q, x: np.exp(q / 7 + 3) - np.exp(x / 7 + 3),
        "tiny": lambda q, x: (q - x) * 1e-9,
    }
    for seed in range(48):
        rng = np.random.default_rng(seed)
        order = rng.permutation(list(ways)).tolist()
        x = rng.integers(1, 30) * 0.01 if seed % 3 else rng.random() * 0.3
        events = [supple.Event(n, lambda s, way=ways[n], x=x: way(s.q[0], x)) for n in order]
        integrator = INTEGRATORS[seed % 4]
        r = supple.simulate(particle(), [0.0], [1.0], duration=0.4, dt=0.01, integrator=integrator, events=events)
        assert names(r) == order and len({e.time for e in r.events}) == 1


def test_one_event_may_put_another_back():
    """Two at one instant: the first moves the body back, so that the second does not happen yet."""
    model = particle()

    def back(s: supple.State) -> supple.State:
        return s.replace(q=s.q - 0.1)

    first = supple.Event("first", lambda s: s.time - 0.5, 1, back)
    second = supple.Event("second", lambda s: s.q[0] - 0.5, 1)
    r = supple.simulate(model, [0.0], [1.0], duration=1.0, dt=0.03, events=[first, second])
    assert names(r) == ["first", "second"]
    np.testing.assert_allclose([e.time for e in r.events], [0.5, 0.6], rtol=0, atol=1e-14)
    r = supple.simulate(model, [0.0], [1.0], duration=1.0, dt=0.03, events=[second, first])
    assert names(r) == ["second", "first", "second"]  # the other way round both happen, and one again


def test_together_with_another_model_and_with_a_stop():
    """The second event sees the model that the first left; a stop holds after all of them."""
    one, two = particle(), particle("free")
    seen: list[supple.Model] = []

    def change(s: supple.State) -> supple.State:
        q = two.neutral()
        q[2] = s.q[0]
        return s.replace(model=two, q=q, v=np.array([0, 0, s.v[0], 0, 0, 0]))

    def z(s: supple.State) -> float:
        return s.q[0] - 0.5 if s.model.nq == 1 else s.q[2] - 0.5

    def look(s: supple.State) -> None:
        seen.append(s.model)

    events = [
        supple.Event("change", z, 1, change),
        supple.Event("stop", z, 1, "stop"),
        supple.Event("look", z, 1, look),
        supple.Event("late", lambda s: s.time - 0.6),
    ]
    r = supple.simulate(one, [0.0], [1.0], duration=1.0, dt=0.03, events=events)
    assert names(r) == ["change", "stop", "look"] and seen == [two] and r.model is two
    assert r.final.time == pytest.approx(0.5, abs=1e-14) and [len(s) for s in r.segments][1] == 1


# --- ever faster ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", INTEGRATORS[1:])
@pytest.mark.parametrize("restitution", [1e-6, 0.01, 0.5, 0.8])
def test_a_ball_that_comes_to_rest_does_not_fall_through_the_floor(integrator, restitution):
    """It bounces ever faster, until t1 (1 + e) / (1 - e): the run says so, and keeps what was good."""
    for feet in (False, True):
        model = box() if feet else ball()[0]
        z = 2 if feet else 0
        q = model.neutral()
        q[z] = 0.5 + 0.2 * feet

        def bounce(s: supple.State, z: int = z) -> supple.State:
            v = s.v.copy()
            v[z] *= -restitution
            return s.replace(v=v)

        floor = supple.Event("floor", height("left") if feet else lambda s: s.q[0], -1, bounce)
        with pytest.raises(supple.SimulationError, match="event 'floor' happens") as caught:
            supple.simulate(model, q, duration=4.0, dt=1e-2, integrator=integrator, events=[floor])
        e = caught.value
        rest = np.sqrt(2 * 0.5 / G) * (1 + restitution) / (1 - restitution)
        assert abs(e.time - rest) < (1e-4 if integrator in ("rk4", "dop853") else 0.3) * rest
        assert ("'stop', or a model that holds" in str(e) and "contacts=" in str(e)) or "again and again" in str(e)
        assert abs(e.state.q[z] - 0.2 * feet) < 1e-9 and e.state.time == e.result.final.time == pytest.approx(e.time)
        assert e.result.q[:, z].min() > 0.2 * feet - 1e-9


def test_an_event_that_stands_still_is_refused():
    model, _ = ball()
    stuck = supple.Event("stuck", lambda s: s.q[0], -1, lambda s: s.replace(q=np.array([1e-9])))
    with pytest.raises(supple.SimulationError, match=r"stuck.*again and again"):
        supple.simulate(model, [1.0], duration=2.0, dt=0.01, events=[stuck])


def test_a_ball_that_is_held_comes_to_rest():
    """The way out that is advised: another model, once the ball is slow."""
    model, _ = ball()
    b = supple.ModelBuilder("held", gravity=(0, 0, 0))
    b.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1.0)
    held = b.build()

    def bounce(s: supple.State) -> supple.State:
        return s.replace(model=held, v=0 * s.v) if abs(s.v[0]) < 1e-3 else s.replace(v=-0.5 * s.v)

    floor = supple.Event("floor", lambda s: s.q[0], -1, bounce)
    r = supple.simulate(model, [1.0], duration=2.0, dt=0.01, events=[floor])
    assert r.model is held and abs(r.final.q[0]) < 1e-12 and 10 < len(r.events) < 16


# --- what functions may do --------------------------------------------------------------------------------------------


def in_place(x: np.ndarray) -> np.ndarray:
    x *= -0.1
    return x


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(
    "slip",
    [
        lambda t, q, v: in_place(v),
        lambda t, q, v: in_place(q),
        lambda t, q, v: np.multiply(v, 2.0, out=v),
        lambda t, q, v: q.__setitem__(0, 0.0),
        lambda t, q, v: q.fill(0.0),
    ],
)
def test_forces_cannot_write_into_the_state(integrator, slip):
    how = dict(duration=0.1, dt=0.01, integrator=integrator)
    for given in ({"forces": [slip]}, {"tau": slip}):
        with pytest.raises(
            supple.SimulationError, match=r"force '<lambda>' writes into the q or v .*read-only.*copy"
        ) as e:
            supple.simulate(pendulum(), [1.0], [0.5], **how, **given)
        np.testing.assert_array_equal(np.concatenate([e.value.state.q, e.value.state.v]), [1.0, 0.5])


def test_forces_may_keep_and_return_what_they_are_given():
    kept: list[np.ndarray] = []

    def keep(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        kept.append(v)
        return v

    r = supple.simulate(pendulum(), [1.0], [0.5], duration=0.1, dt=0.01, integrator="euler", forces=[keep])
    np.testing.assert_array_equal(np.array(kept), r.v[:-1])
    shared = np.zeros((1, 6))

    def push(size: float) -> Callable[..., np.ndarray]:
        def force(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            shared[0, 3] = size
            return shared

        return force

    how = dict(duration=0.1, dt=0.01)
    both = supple.simulate(pendulum(), [1.0], forces=[push(1.0), push(3.0)], **how)
    four = supple.simulate(pendulum(), [1.0], forces=[push(4.0)], **how)
    np.testing.assert_allclose(both.q, four.q, rtol=0, atol=1e-14)


def test_events_cannot_write_into_the_state():
    def then(s: supple.State) -> None:
        s.v[:] = 0.0

    def when(s: supple.State) -> float:
        s.q[0] += 1.0
        return 1.0

    for event in (supple.Event("e", lambda s: s.time - 0.1005, 1, then), supple.Event("e", when)):
        with pytest.raises(supple.SimulationError, match=r"event 'e' writes into .*read-only") as caught:
            supple.simulate(pendulum(), [1.0], [0.5], duration=0.2, events=[event])
        np.testing.assert_allclose(caught.value.state.time, 0.1005 if event.then else 0.0)


def test_what_then_returns_is_the_runs_own():
    mine = np.array([1.0])
    event = supple.Event("e", lambda s: s.time - 0.1, 1, lambda s: s.replace(v=mine))
    seen = []
    for state in supple.Simulation(particle(), duration=0.2, dt=0.01, events=[event]):
        mine[0] = 100.0 if state.time > 0.1 else 1.0
        seen.append(state.v[0])
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("then", "message"),
    [
        (
            lambda s: s.replace(q=np.zeros(3)),
            r"'e': `then` returned a state that cannot be, at time 0.1 s: q has shape",
        ),
        (lambda s: s.replace(v=s.v * np.nan), r"'e': `then` returned.* v\[0\].*joint 'particle_joint'"),
        (lambda s: s.replace(q=2 * s.q + 1), r"'e': `then` returned.*quaternion"),
        (
            lambda s: s.replace(q="left"),
            r"at time 0.1 s: State: q must be one finite number or a list of them, not 'left'",
        ),
        (lambda s: s.replace(model=None), r"at time 0.1 s: State: model must be a supple.Model, not None"),
        (lambda s: s.q, r"'e': `then` must return None, a State or 'stop', not ndarray"),
        (lambda s: "halt", r"'e': `then` must return None, a State or 'stop', not str"),
    ],
)
def test_what_then_must_not_return(then, message):
    with pytest.raises(supple.SimulationError, match=message) as caught:
        supple.simulate(
            particle("ball"), duration=0.2, dt=0.01, events=[supple.Event("e", lambda s: s.time - 0.1, 1, then)]
        )
    assert caught.value.state.time == caught.value.result.final.time == 0.1


@pytest.mark.parametrize("when", [lambda s: np.nan, lambda s: None, lambda s: np.zeros(2), lambda s: "soon"])
def test_what_when_must_not_return(when):
    with pytest.raises(supple.SimulationError, match="event 'e': `when` "):
        supple.simulate(particle(), duration=0.2, dt=0.01, events=[supple.Event("e", when)])
    supple.simulate(particle(), duration=0.2, dt=0.01, events=[supple.Event("e", lambda s: s.q - 1.0)])  # one number


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"name": ""}, "name"),
        ({"name": 3}, "name"),
        ({"direction": 2}, "direction must be"),
        ({"when": "now"}, "when must be a function of 1 argument, not 'now'"),
        ({"when": lambda: 0.0}, "when must be a function of 1 argument"),
        ({"name": "e" * 1001}, "name must be a word or more, of 1000 bytes at most"),
        ({"then": "halt"}, "then must be a function of 1 argument or 'stop', or None"),
        ({"resolution": 0.0}, "resolution must be a positive number"),
        ({"resolution": "fine"}, "resolution must be a positive number"),
        ({"resolution": np.inf}, "resolution must be a positive number"),
    ],
)
def test_what_events_cannot_be(how, message):
    with pytest.raises(supple.StateError, match=message):
        supple.Event(**({"name": "e", "when": lambda s: 0.0} | how))
    twice = [supple.Event("e", lambda s: 1.0)] * 2
    with pytest.raises(supple.StateError, match="names of their own"):
        supple.simulate(particle(), duration=0.1, events=twice)


def test_events_are_taken_from_anything_that_gives_them():
    """A generator can be gone through once; one event needs no list."""
    stop = supple.Event("stop", lambda s: s.q[0] - 0.1, then="stop")
    for events in ([stop], (e for e in [stop]), {"stop": stop}.values(), stop):
        run = supple.simulate(particle(), v=[1.0], duration=1.0, dt=0.01, events=events)
        assert names(run) == ["stop"] and run.final.time == pytest.approx(0.1, abs=1e-12)
    for none in (None, 3):
        with pytest.raises(supple.StateError, match=f"events must be a supple.Event or a list of them, not {none}"):
            supple.simulate(particle(), duration=0.1, events=none)
    with pytest.raises(supple.StateError, match="'quasi-statics' takes no events"):
        supple.simulate(particle(), duration=0.1, method="quasi-statics", events=(e for e in [stop]))


def test_a_resolution_too_fine_to_look_is_refused():
    how = {"v": [1.0], "duration": 1.0, "dt": 0.01}
    fine = supple.Event("fine", lambda s: s.q[0] - 0.1, then="stop", resolution=1e-9)
    with pytest.raises(supple.StateError, match=r"event 'fine': resolution 1e-09 s .* at least 1e-07 s"):
        supple.simulate(particle(), events=[fine], **how)


def test_adaptive_steps_are_no_longer_than_can_be_looked_at(monkeypatch):
    """They grow to many dt, but not to more looks than a step may have."""
    monkeypatch.setattr("supple.simulating.watch.MOST_LOOKS", 50)
    looks: list[float] = []

    def when(state: supple.State) -> float:
        looks.append(state.time)
        return 1.0

    run = supple.Simulation(
        particle(), v=[1.0], duration=1.0, dt=0.01, integrator="dop853",
        events=[supple.Event("fine", when, resolution=4e-4)],
    )  # fmt: skip
    watch, most = run._watch, 0
    search = watch.search

    def counted(*args: object) -> object:
        nonlocal most
        before = len(set(looks))
        found = search(*args)  # type: ignore[arg-type]
        most = max(most, len(set(looks)) - before)
        return found

    monkeypatch.setattr(watch, "search", counted)
    assert [state.time for state in run][-1] == 1.0
    assert 25 < most <= 50 + 4  # and a window's worth for those at its end
