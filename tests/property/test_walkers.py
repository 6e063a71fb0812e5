"""Walkers of all sizes in all states: what `walk` makes of them is what a two-link model does, and `simulate`."""

from __future__ import annotations

import itertools

import numpy as np

import supple
from supple.scenes import compass
from supple.walking.stride import FELL, LATE, TOUCHED
from supple.walking.walkers import events, walk
from two_links import TwoLinks, two_link_state

ENDS = {TOUCHED: "touched", FELL: "fell", LATE: "late"}


def any_walker(rng):
    """Sizes and masses over orders of magnitude, some legs without mass, some with it in the feet; slopes up and down;
    near the reference gait, or thrown."""
    walker = compass(
        slope=rng.uniform(-0.02, 0.15),
        hip_mass=10 ** rng.uniform(-1, 1.5),
        leg_mass=rng.choice([0.0, 10 ** rng.uniform(-12, 1)]),
        length=10 ** rng.uniform(-1, 1),
        leg_center=rng.choice([0.0, rng.uniform(0, 0.95)]),
        gravity=10 ** rng.uniform(-1, 1.5),
    )
    thrown = rng.uniform(-0.5, 0.5, 2) / walker.pace
    return walker.at(walker.q + rng.uniform(-0.15, 0.15, 2), walker.v * rng.uniform(0.6, 1.6, 2) + thrown)


def test_steps_end_as_those_of_the_two_link_model():
    """Whether a foot comes down or the walker falls, when, and in which state; first steps, and those after them."""
    seen = []
    for seed in range(80):
        walker = any_walker(np.random.default_rng(seed))
        links = TwoLinks.of(walker.parameters)
        begin = walker.q, walker.v
        for step in walk(walker, 2, trace=False):
            support = step.feet[0].split()[0]
            y = two_link_state(step.model, *begin, support)
            latest = 60.0 * walker.pace
            end, time, y = links.step(y, walker.clearance, walker.least, latest, longest=0.03 * walker.pace)
            seen.append(end)
            assert ENDS[step.end] == end, (seed, step, end, time)
            assert abs(step.duration - time) < 1e-8 * walker.pace * max(1.0, time / walker.pace), (seed, step, time)
            if end == "touched":
                off = two_link_state(step.model, *step.before, support) - y
                assert np.abs(off[:2]).max() < 1e-7 and np.abs(off[2:]).max() * walker.pace < 1e-7, (seed, off)
            begin = step.after
    assert min(seen.count("touched"), seen.count("fell")) > 10


def test_walk_and_simulate_agree_over_slopes_and_masses():
    """The same feet come down at the same instants, the same walkers fall; 54 walkers."""
    ends = []
    for slope, hip, leg, center in itertools.product(
        (0.01, 0.0524, 0.1), (0.3, 2.0, 10.0), (0.1, 1.0), (0.1, 0.5, 0.8)
    ):
        walker = compass(slope=slope, hip_mass=hip, leg_mass=leg, leg_center=center)
        steps = walk(walker, 2, trace=False)
        times = np.cumsum([s.duration for s in steps])
        how = dict(integrator="dop853", rtol=1e-9, atol=1e-9, dt=0.02, events=events(walker))
        run = supple.simulate(walker.model, walker.q, walker.v, duration=float(times[-1]) + 1e-3, **how)
        landed = [t for t, s in zip(times, steps) if s.landed]
        fell = [t for t, s in zip(times, steps) if s.end == FELL]
        assert len(run.segments) - 1 == len(landed), (slope, hip, leg, center)
        np.testing.assert_allclose([s.times[-1] for s in run.segments[: len(landed)]], landed, rtol=0, atol=1e-6)
        np.testing.assert_allclose([e.time for e in run.events if e.name == "fall"], fell, rtol=0, atol=1e-6)
        ends += [s.end for s in steps]
    assert min(ends.count(TOUCHED), ends.count(FELL)) > 10
