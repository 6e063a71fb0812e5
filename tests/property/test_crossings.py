"""Events against functions whose zeros are known: every crossing once, at its instant, in order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import supple

INTEGRATORS = st.sampled_from(["rk4", "dop853", "semi-implicit", "euler"])
DT = 0.04
DURATION = 1.0


def particle(gravity: float = 0.0) -> supple.Model:
    b = supple.ModelBuilder("particle", gravity=(0, 0, -gravity))
    b.add_body("particle", joint="prismatic", axis=(0, 0, 1), mass=1.0)
    return b.build()


PARTICLE = particle()


def product(roots: list[float], scale: float) -> Callable[[supple.State], float]:
    """A polynomial of time with these simple roots."""
    return lambda s: scale * float(np.prod(s.time - np.array(roots)))


def waves(roots: list[float], scale: float) -> Callable[[supple.State], float]:
    """The same with sines, by the position of a particle of unit speed."""
    return lambda s: scale * float(np.prod(np.sin(s.q[0] - np.array(roots))))


@st.composite
def functions(draw: st.DrawFn, apart: float) -> tuple[list[tuple[list[float], float, int, object]], list[float]]:
    """Several functions, whose roots are some of a few instants at least so far apart: (roots, scale, direction, kind)
    of each, and the instants. The same instant may be a root of several."""
    gaps = draw(st.lists(st.floats(1.01, 12.0), min_size=1, max_size=7))
    instants = [t for t in (0.003 + apart * np.cumsum(gaps)).tolist() if t < DURATION - 0.003]
    one = st.tuples(
        st.lists(st.sampled_from(instants), unique=True, max_size=5).map(sorted) if instants else st.just([]),
        st.sampled_from([1.0, -1.0, 1e-9, -1e9]),
        st.sampled_from([-1, 0, 1]),
        st.sampled_from([product, waves]),
    )
    return draw(st.lists(one, min_size=1, max_size=4)), instants


def expected(given_: list[tuple[list[float], float, int, object]]) -> list[tuple[float, str]]:
    """(time, name) of all crossings, by time, then in the order of events."""
    out = []
    for i, (roots, scale, direction, _) in enumerate(given_):
        for k, root in enumerate(roots):
            up = np.sign(scale) * (-1) ** (len(roots) - 1 - k)  # the sign after the root
            if direction in (0, up):
                out.append((root, i, str(i)))
    return [(t, name) for t, _, name in sorted(out)]


@given(functions(apart=DT / 4), INTEGRATORS)
@settings(max_examples=50, deadline=None)
def test_every_crossing_is_found_once_and_in_order(drawn, integrator):
    """Roots farther apart than the resolution, a quarter of dt, and of several events at one instant."""
    given_, _ = drawn
    events = [supple.Event(str(i), kind(r, scale), d) for i, (r, scale, d, kind) in enumerate(given_)]
    run = supple.simulate(PARTICLE, [0.0], [1.0], duration=DURATION, dt=DT, integrator=integrator, events=events)
    want = expected(given_)
    assert [e.name for e in run.events] == [name for _, name in want]
    np.testing.assert_allclose([e.time for e in run.events], [t for t, _ in want], rtol=0, atol=1e-13)
    times = [e.time for e in run.events]
    for (t, _), (u, _), a, b in zip(want, want[1:], times, times[1:]):
        assert (a == b) == (t == u)  # one instant for what coincides


@given(functions(apart=DT / 4), st.lists(st.floats(-2.0, 2.0), min_size=8, max_size=8), INTEGRATORS)
@settings(max_examples=40, deadline=None)
def test_what_then_does_to_the_state_changes_no_crossing_of_time(drawn, factors, integrator):
    """Events of functions of time whose `then` changes the velocity (stops it, turns it round, leaves it as it is)."""
    given_, _ = drawn
    fired: list[str] = []

    def then(name: str, factor: float) -> Callable[[supple.State], supple.State]:
        def change(s: supple.State) -> supple.State:
            fired.append(name)
            return s.replace(v=factor * s.v)

        return change

    events = [
        supple.Event(str(i), product(r, scale), d, then(str(i), factors[i]))
        for i, (r, scale, d, _) in enumerate(given_)
    ]
    run = supple.simulate(PARTICLE, [0.0], [1.0], duration=DURATION, dt=DT, integrator=integrator, events=events)
    want = expected(given_)
    assert fired == [e.name for e in run.events] == [name for _, name in want]
    v = np.prod([factors[int(name)] for _, name in want])
    np.testing.assert_allclose(run.final.v[0], v, rtol=1e-12, atol=1e-300)
    assert len(run.segments) == 1 + len({t for t, _ in want})


@given(st.floats(0.05, 0.95), st.floats(-6.0, 0.08).map(lambda x: 10.0**x), st.integers(-1, 1), INTEGRATORS)
@settings(max_examples=50, deadline=None)
def test_there_and_back_within_a_step(middle, width, direction, integrator):
    """A parabola that is below zero for a while, which may be far shorter than a step: down, then up."""
    width *= DT
    begin, end = middle - width / 2, middle + width / 2
    event = supple.Event("dip", lambda s: (s.time - middle) ** 2 - width**2 / 4, direction)
    run = supple.simulate(PARTICLE, duration=DURATION, dt=DT, integrator=integrator, events=[event])
    want = {-1: [begin], 0: [begin, end], 1: [end]}[direction]
    np.testing.assert_allclose([e.time for e in run.events], want, rtol=0, atol=1e-9 * DT)


@given(st.floats(0.1, 0.9), st.floats(1.02, 8.0), st.sampled_from([None, 0.003]), INTEGRATORS)
@settings(max_examples=40, deadline=None)
def test_nothing_longer_than_the_resolution_is_missed(begin, length, resolution, integrator):
    """A function that is nothing but a sign: the worst there is to find."""
    end = begin + length * (resolution or DT / 4)
    event = supple.Event("jump", lambda s: -1.0 if begin <= s.time < end else 1.0, resolution=resolution)
    run = supple.simulate(PARTICLE, duration=1.5, dt=DT, integrator=integrator, events=[event])
    np.testing.assert_allclose([e.time for e in run.events], [begin, end], rtol=0, atol=1e-15)


@given(st.floats(0.1, 0.9), st.floats(0.1, 3.0), st.sampled_from([0.01, 0.05]), st.sampled_from(["rk4", "dop853"]))
@settings(max_examples=12, deadline=None)
def test_a_ball_bounces_as_it_must_until_it_is_said_to_come_to_rest(restitution, height, dt, integrator):
    """Bounces at t1, t1 + 2 e t1, t1 + 2 e t1 + 2 e^2 t1, ...: they accumulate at t1 (1 + e) / (1 - e)."""
    fall = np.sqrt(2 * height / 9.81)
    rest = fall * (1 + restitution) / (1 - restitution)
    floor = supple.Event("floor", lambda s: s.q[0], -1, lambda s: s.replace(v=-restitution * s.v))
    how = dict(dt=dt, integrator=integrator, events=[floor])
    ball = particle(9.81)
    bounces = int(np.log(1e-4) / np.log(restitution))
    times = fall + np.concatenate([[0.0], 2 * fall * np.cumsum(restitution ** np.arange(1, bounces))])
    short = supple.simulate(ball, [height], duration=0.5 * (times[-1] + rest), **how)
    found = np.array([e.time for e in short.events])[:bounces]
    np.testing.assert_allclose(found, times, rtol=0, atol=1e-9 * rest)
    assert short.q.min() > -1e-9
    try:
        supple.simulate(ball, [height], duration=2 * rest, **how)
    except supple.SimulationError as e:
        assert "'floor' happens" in str(e) and abs(e.time - rest) < 1e-4 * rest
        assert e.state is not None and abs(e.state.q[0]) < 1e-9 and e.result.q.min() > -1e-9
    else:
        raise AssertionError("it fell through the floor")


@given(
    st.sampled_from([0.1, 0.25, 0.3]) | st.floats(0.0, 0.3),
    st.sampled_from([0.5, 1.0, 2.0]) | st.floats(0.1, 3.0),
    st.sampled_from([0.01, 0.05, 0.1]),
    INTEGRATORS,
    st.sampled_from([["rises", "falls"], ["falls", "rises"], ["falls", "passes"], ["passes", "falls", "rises"]]),
)
@settings(max_examples=40, deadline=None)
def test_nothing_happens_in_the_other_direction(q, v, dt, integrator, order):
    """A particle only rises. Other events at that instant, give or take rounding, end the step there."""
    directions = {"rises": 1, "falls": -1, "passes": 0}
    events = [supple.Event(name, lambda s: s.q[0] - 0.4, directions[name]) for name in order]
    run = supple.simulate(PARTICLE, [q], [v], duration=1.5 * (0.4 - q) / v, dt=dt, integrator=integrator, events=events)
    assert [e.name for e in run.events] == [name for name in order if name != "falls"]


@given(st.integers(0, 2**32), INTEGRATORS)
@settings(max_examples=40, deadline=None)
def test_directions_in_a_box(seed, integrator):
    """Balls between two walls, whose passages through the middle, up and down, are known by unfolding their ways."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    b = supple.ModelBuilder("box", gravity=(0, 0, 0))
    for i in range(n):
        b.add_body(f"ball {i}", joint="prismatic", axis=(0, 0, 1), mass=1.0)
    q, v = rng.choice([0.1, 0.25, 0.3, 0.5, 0.75], n), rng.choice([0.5, 0.7, 1.0, 2.0], n) * rng.choice([-1, 1], n)

    def turned(i: int) -> Callable[[supple.State], supple.State]:
        return lambda s: s.replace(v=s.v * np.where(np.arange(n) == i, -1.0, 1.0))

    events, want = [], {}
    for i in range(n):
        events.append(supple.Event(f"top {i}", lambda s, i=i: s.q[i] - 1.0, 1, turned(i)))
        events.append(supple.Event(f"bottom {i}", lambda s, i=i: s.q[i], -1, turned(i)))
        for name, d in (("up", 1), ("down", -1)):
            events.append(supple.Event(f"{name} {i}", lambda s, i=i: s.q[i] - 0.4, d))
            # ways that rise pass 0.4 at 0.4 + 2 k of the unfolded way, those that fall at 1.6 + 2 k
            ups = [((0.4 if d * np.sign(v[i]) > 0 else 1.6) + 2 * k - q[i]) / v[i] for k in range(-5, 6)]
            want[f"{name} {i}"] = sorted(t for t in ups if 1e-9 < t < 1.7)
    events = [events[k] for k in rng.permutation(len(events))]
    dt = float(rng.choice([0.01, 0.05, 0.125]))
    run = supple.simulate(b.build(), q, v, duration=1.7, dt=dt, integrator=integrator, events=events)
    for name, times in want.items():
        got = [e.time for e in run.events if e.name == name and e.time < 1.7 - 1e-8]
        np.testing.assert_allclose(got, [t for t in times if t < 1.7 - 1e-8], atol=1e-9)
