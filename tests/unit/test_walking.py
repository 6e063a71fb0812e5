"""Walkers: parameters, falls, gaits that do not exist, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import supple
from supple.scenes import compass
from supple.scenes.compass import AXIS
from supple.walking import walkers as walking
from supple.walking.gaits import ReturnMap, gait
from supple.walking.walkers import Steps, events, walk
from two_links import TwoLinks, two_link_state


def test_gaits_scale_with_size():
    """A walker twice as long under twice the gravity has the same angles, at the same times."""
    one, two = gait(compass()), gait(compass(length=2.0, gravity=2 * 9.81))
    assert abs(one.period - two.period) < 1e-9 and abs(2 * one.step_length - two.step_length) < 1e-9
    heavy = gait(compass(hip_mass=4.0, leg_mass=2.0))
    assert abs(heavy.period - one.period) < 1e-9 and abs(heavy.energy_lost - 2 * one.energy_lost) < 1e-9


def test_started_on_the_cycle_every_step_is_the_same():
    steps = walk(compass(start="cycle"), 6, trace=False)
    assert np.ptp([s.duration for s in steps]) < 1e-9 and np.ptp([s.energy_lost for s in steps]) < 1e-9
    assert [s.feet[0] for s in steps] == ["right foot", "left foot"] * 3


def test_steps_lead_down_the_slope():
    walker = compass(start="cycle")
    steps = walk(walker, 4)
    for s in steps:
        assert abs(walker.normal @ s.travel) < 1e-13 and walker.forward @ s.travel > 0.5
    there = steps[-1].origin + steps[-1].model.position[0] - walker.model.position[0]
    np.testing.assert_allclose(there, sum(s.travel for s in steps[:-1]), atol=1e-12)


def test_what_is_lost_is_what_the_slope_gave():
    """Total energy after n steps on the cycle: what gravity gave went into impacts."""
    steps = walk(compass(start="cycle"), 3)
    before, after = (steps[i].energy[0] for i in (0, 2))
    assert abs((before - after) - 2 * steps[0].energy_lost) < 1e-9


def test_a_fall_is_noticed():
    walker = compass()
    fast = walk(walker.at(walker.q, 3.0 * walker.v), 10)
    assert not fast[-1].landed and len(fast) < 10
    with pytest.raises(supple.SimulationError, match=r"'compass' falls in step 1"):
        gait(walker.at(walker.q, 3.0 * walker.v))


def test_on_level_ground_steps_become_shorter_and_shorter():
    """Nothing makes up for what impacts take."""
    steps = walk(compass(slope=0.0), 40, trace=False)
    lengths = [float(np.linalg.norm(s.travel)) for s in steps]
    assert all(s.landed for s in steps) and (np.diff(lengths[3:]) < 0).all() and lengths[-1] < 0.1


def test_scuffing_is_ignored():
    """The swing foot passes below the ground on its way; only a foot that is ahead comes down."""
    step = walk(compass(start="cycle"), 1)[0]
    foot = step.model.frames[step.feet[1]]
    poses = supple.poses(step.model, np.ascontiguousarray(step.trace[:, 1:3]))
    places = poses.position[:, foot.body] + poses.rotation[:, foot.body] @ foot.position - step.model.position[0]
    walker = compass()
    assert (places @ walker.normal).min() < -1e-3


@pytest.mark.parametrize("sizes", [dict(hip_mass=10.0, leg_mass=0.1), dict(slope=0.01, hip_mass=10.0, leg_center=0.1)])
def test_a_foot_that_scuffs_beside_the_support_does_not_come_down(sizes):
    """It is ahead by the clearance where the integration step ends, not where it meets the ground."""
    walker = compass(**sizes)
    step = walk(walker, 1)[0]
    run = supple.simulate(walker.model, walker.q, walker.v, duration=3, dt=0.01, integrator="dop853",
                          events=events(walker))  # fmt: skip
    assert not step.landed and len(run.segments) == 1
    assert run.events[-1].name == "fall" and abs(run.events[-1].time - step.duration) < 1e-7


def test_a_touchdown_is_found_between_the_ends_of_a_step():
    """Here the foot comes back, dips below the ground ahead of the support, and is out again at once."""
    walker = compass(slope=0.13, hip_mass=1.0, leg_mass=0.0, leg_center=0.8, gravity=1.0)
    walker = walker.at([0.13, 0.33], [-0.93, -1.62])
    links = TwoLinks.of(walker.parameters)
    y = two_link_state(walker.model, walker.q, walker.v, "right")
    end, time, _ = links.step(y, walker.clearance, walker.least, 20.0, longest=0.002)
    for longest in (0.3, 0.1, 0.02):
        step = next(Steps(walker, 1e-9, longest).walk(1))
        assert step.landed and end == "touched" and abs(step.duration - time) < 1e-7


def test_steps_are_as_long_as_the_walker_is_large():
    """A giant on the moon takes more than twenty seconds a step, a walker of a millimetre a fiftieth of one."""
    one = gait(compass())
    for length, gravity in ((3000.0, 1.62), (1e-3, 9.81)):
        other = gait(compass(length=length, gravity=gravity))
        assert abs(other.period / one.period * np.sqrt(gravity / 9.81 / length) - 1) < 1e-10
        np.testing.assert_allclose(other.eigenvalues, one.eigenvalues, rtol=0, atol=1e-9)


def test_long_traces_are_kept(monkeypatch):
    """More rows than are made at first."""
    whole = walk(compass(), 1)[0]
    monkeypatch.setattr(walking, "ROWS", 3)
    again = walk(compass(), 1)[0]
    np.testing.assert_array_equal(again.trace, whole.trace)
    assert len(whole.trace) > 3 and whole.trace[-1, 0] == whole.duration


def test_the_return_map_does_not_depend_on_the_root_it_began_with():
    walker = compass(start="cycle")
    x = np.concatenate([walker.q, walker.v]) + 1e-3
    twice = ReturnMap(walker, 2)(x)
    once = ReturnMap(walker, 1)
    np.testing.assert_allclose(once(once(x)), twice, atol=1e-10)


def test_the_jacobian_is_that_of_the_map_for_every_joint_that_walks():
    """A compass with loads at the hip that turn, slide, screw or do two of these, with damping and armature."""
    b = supple.ModelBuilder("loaded")
    b.add_body("left", axis=AXIS, mass=3.0, com=(0, 0, 5 / 6), inertia=(1 / 6, 1 / 6, 0.0))
    hip = dict(parent="left", position=(0, 0, 1))
    b.add_body("right", axis=AXIS, mass=1.0, com=(0, 0, -0.5), damping=0.001, armature=0.002, **hip)
    load = dict(hip, mass=0.01, com=(0.02, 0, 0.1), inertia=(1e-3, 1.2e-3, 5e-4), damping=5e-3)
    b.add_body("turns", joint="revolute", axis=AXIS, armature=2e-3, **load)
    b.add_body("slides", joint="prismatic", axis=(1, 0, 0), **load)
    b.add_body("screws", joint="screw", axis=(0, 0.6, 0.8), pitch=0.05, **load)
    b.add_body("both", joint="cylindrical", axis=(0, 1, 0), **load)
    b.add_body("crosses", joint="universal", axis=(1, 0, 0), axis2=(0, 1, 0), **load)
    b.add_frame("left foot", "left")
    b.add_frame("right foot", "right", (0, 0, -1))
    b.add_frame("hip", "left", (0, 0, 1))
    model = b.build()
    rng = np.random.default_rng(3)
    at, rates = 0.1 * rng.standard_normal((2, model.nq))
    at[:2], rates[:2] = (0.2187, -0.5422), (-1.0925, 0.7155)
    walker = replace(compass(), model=model, q=at, v=rates, feet=("left foot", "right foot"))
    back, x = ReturnMap(walker, 2, 1e-13), np.concatenate([at, rates])
    J, near = back.jacobian(x), back.derivative(x, h=2e-4)
    assert all(step.landed for step in back.path)
    np.testing.assert_allclose(J, near, rtol=0, atol=1e-6 * np.abs(J).max())


def test_legs_that_differ_need_two_steps():
    """With one leg a little heavier, a step is not read as one of the other leg; two steps have a gait."""
    even = compass(start="cycle")
    heavier = even.model.mass * np.where(np.arange(2) == 0, 1.02, 1.0)
    uneven = replace(even, model=replace(even.model, mass=heavier))
    with pytest.raises(supple.StateError, match="not its own mirror image"):
        gait(uneven)
    limps = gait(uneven, steps=2)
    steps = walk(limps.walker, 4, trace=False)
    assert limps.stable and abs(steps[0].duration - steps[1].duration) > 1e-4
    assert abs(steps[0].duration - steps[2].duration) < 1e-9
    twice = gait(even, steps=2)
    np.testing.assert_allclose(twice.eigenvalues[:2].prod(), (gait(even).eigenvalues[:2] ** 2).prod(), atol=1e-8)


def test_simulate_with_events_walks_the_same():
    """One time line across models that change at each touchdown; the same instants and states as `walk`."""
    walker = compass()
    steps = walk(walker, 3, trace=False)
    times = np.cumsum([s.duration for s in steps])
    how = dict(integrator="dop853", rtol=1e-11, atol=1e-11, dt=0.02, events=events(walker))
    run = supple.simulate(walker.model, walker.q, walker.v, duration=float(times[-1]) + 0.1, **how)
    assert len(run.segments) == 4 and (np.diff(run.times) >= 0).all()
    np.testing.assert_allclose([s.times[-1] for s in run.segments[:3]], times, atol=1e-10)
    for step, segment in zip(steps, run.segments):
        np.testing.assert_allclose(
            np.concatenate([segment.q[-1], segment.v[-1]]), np.concatenate(step.before), atol=1e-9
        )
        total = segment.kinetic + segment.potential
        assert np.abs(total - total[0]).max() < 1e-9
    feet = [s.model.position[0] for s in run.segments]
    np.testing.assert_allclose(np.diff(feet, axis=0), [s.travel for s in steps], atol=1e-9)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(run.segments[0].q[-1], run.segments[1].q[0])


def test_simulate_with_events_ends_with_a_fall():
    walker = compass()
    run = supple.simulate(walker.model, walker.q, 3 * walker.v, duration=5.0, integrator="dop853",
                          events=events(walker))  # fmt: skip
    assert run.events[-1].name == "fall" and run.times[-1] < 5.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(length=-1.0), "length must be a positive number"),
        (dict(leg_center=1.0), "leg_center must be a number from 0 to less than 1 .* a leg that swings has no inertia"),
        (dict(leg_center=-0.1), "leg_center must be a number from 0 to less than 1"),
        (dict(leg_mass=-1.0), "leg_mass must be a finite number >= 0"),
        (dict(hip_mass=np.nan), "hip_mass must be"),
        (dict(slope=2.0), "slope must be"),
        (dict(start="middle"), "start must be"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(supple.StateError, match=message):
        compass(**arguments)


def test_a_walker_that_lies_on_the_ground_is_refused():
    """A fall is the guard falling through a height: below it to begin with, there would be none."""
    walker = compass()
    lies = walker.at([1.4, 0.1], walker.v)
    for use in (walk, gait, events):
        with pytest.raises(supple.StateError, match=r"'compass' has already fallen: 'hip' is 0\.1\d* m above"):
            use(lies)


def test_bad_walkers_are_refused():
    walker = compass()
    with pytest.raises(supple.StateError, match="no frame 'paw'"):
        walk(replace(walker, feet=("right foot", "paw")))
    with pytest.raises(supple.StateError, match="steps must be"):
        walk(walker, 0)
    with pytest.raises(supple.StateError, match="v must be 2 finite numbers"):
        walk(walker.at(walker.q, walker.v[:1]))
    with pytest.raises(supple.StateError, match="finite"):
        walk(walker.at(np.nan * walker.q, walker.v))
    with pytest.raises(supple.StateError, match="tolerance"):
        Steps(walker, 0.0)
    with pytest.raises(supple.StateError, match="steps must be"):
        gait(walker, steps=0)
