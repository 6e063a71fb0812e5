"""Runs of bodies with loops: closed at every instant, with the energy kept, through events and resuming."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from linkages import allowed_velocity, bennett, four_bar, parallel, parallelogram, random_linkage, random_rotation
from supple.exact.closure import closure
from supple.integrating.projecting import Projector


def widest_gap(run):
    """Of all recorded states, in position and velocity."""
    model = run.model
    rows = [closure(model, q, v) for q, v in zip(run.q, run.v)]
    return max(np.abs(r.phi).max() for r in rows), max(np.abs(r.G @ v).max() for r, v in zip(rows, run.v))


@pytest.fixture(scope="module")
def linkage():
    model = four_bar()
    return model, supple.close_loops(model, [-0.8, -0.4, 1.9])


@pytest.mark.parametrize("integrator", ["euler", "semi-implicit", "rk4", "implicit", "dop853"])
def test_loops_stay_closed(linkage, integrator):
    model, q = linkage
    run = supple.simulate(model, q, duration=0.5, dt=1e-3, integrator=integrator, check_energy=False)
    gap, speed = widest_gap(run)
    assert gap < 1e-12
    assert speed < 1e-12
    kept = {"euler": 0.2, "semi-implicit": 0.1, "rk4": 1e-8, "implicit": 1e-4, "dop853": 1e-7}[integrator]
    assert np.ptp(run.energy) < kept


def test_every_method_runs(linkage):
    model, q = linkage
    ends = [
        supple.simulate(model, q, duration=0.05, dt=1e-3, method=method).q[-1] for method in ("aba", "crba", "dense")
    ]
    np.testing.assert_allclose(ends, [ends[0]] * 3, atol=1e-11)


def test_spatial_mechanism_with_friction_free_joints_keeps_its_energy():
    rng = np.random.default_rng(1)
    model, q = random_linkage(rng, ("revolute", "ball", "universal"), n=6, loops=2)
    for name in model.joint_names:
        model = model.with_joint(name, damping=0.0)
    v = 0.3 * allowed_velocity(rng, closure(model, q).G)
    run = supple.simulate(model, q, v, duration=0.1, dt=5e-4)
    assert max(widest_gap(run)) < 1e-11
    assert np.ptp(run.energy) < 1e-6


def test_events_and_resuming(linkage, tmp_path):
    """States at events are closed, too; a recording is continued bit-identically."""
    model, q = linkage
    event = supple.Event("level", lambda s: s.q[0] + 0.5)
    settings = dict(duration=0.4, dt=1e-3, events=[event], integrator="rk4")
    whole = supple.simulate(model, q, **settings)
    assert len(whole.events) >= 1
    assert max(widest_gap(whole)) < 1e-12
    file = tmp_path / "run.h5"
    supple.simulate(model, q, **{**settings, "duration": 0.2}, record=file)
    again = supple.simulate(model, q, **settings, record=file, resume=True)
    assert again.q[-1].tobytes() == whole.q[-1].tobytes()
    assert supple.load_run(file).model.loop_list == model.loop_list


def test_open_loops_are_refused_at_the_beginning(linkage):
    model, q = linkage
    with pytest.raises(supple.StateError, match=r"loop 'pin' is open by .*close_loops"):
        supple.simulate(model, q + 0.1, duration=0.1)
    with pytest.raises(supple.StateError, match=r"loop 'pin' is opened by the velocities .*close_velocities"):
        supple.simulate(model, q, [1.0, 0.0, 0.0], duration=0.1)
    v = supple.close_velocities(model, q, [1.0, 0.0, 0.0])
    assert np.abs(closure(model, q).G @ v).max() < 1e-13
    assert supple.kinetic_energy(model, q, v) < supple.kinetic_energy(model, q, [1.0, 0.0, 0.0])
    supple.simulate(model, q, v, duration=0.01)


def test_a_loop_that_breaks_open_stops_the_run(linkage):
    """Steps so long that the mechanism cannot follow."""
    model, q = linkage
    v = supple.close_velocities(model, q, [40.0, 0.0, 0.0])
    with pytest.raises(supple.SimulationError) as e:
        supple.simulate(model, q, v, duration=20.0, dt=0.5, integrator="euler")
    assert np.abs(closure(model, e.value.state.q).phi).max() < 1e-12  # the last good one


def test_projection_is_the_least_motion():
    """Against the same projection by dense matrices."""
    rng = np.random.default_rng(2)
    for _ in range(4):
        model, q = random_linkage(rng, loops=3)
        project = Projector(model, 1e-14)
        v = rng.normal(size=model.nv)
        q_2, v_2, _ = project(model.integrate(q, 0.02 * rng.normal(size=model.nv)), v)
        rows, inverse = closure(model, q_2), np.linalg.inv(supple.mass_matrix(model, q_2))
        assert np.abs(rows.phi).max() < 1e-13
        x = np.linalg.pinv(rows.G @ inverse @ rows.G.T, rcond=1e-11) @ (-rows.G @ v)
        np.testing.assert_allclose(v_2, v + inverse @ rows.G.T @ x, atol=1e-9)


def test_gears_in_a_run():
    builder = supple.ModelBuilder(gravity=(0, 0, 0))
    for name, inertia in (("wheel", 0.5), ("pinion", 0.02)):
        builder.add_body(name, None, "continuous", axis=(0, 1, 0), mass=1.0, inertia=(1, inertia, 1))
    builder.relate({"wheel_joint": 3.0, "pinion_joint": 1.0})
    run = supple.simulate(builder.build(), duration=1.0, tau=[1.36, 0.0])
    assert run.q[-1, 0] == pytest.approx(0.5 * 1.36 / (0.5 + 9 * 0.02), rel=1e-9)
    np.testing.assert_allclose(run.q[:, 1], -3 * run.q[:, 0], atol=1e-12)


def test_wrenches_of_loops_are_kept(linkage, tmp_path):
    model, q = linkage
    settings = dict(duration=0.01, joint_wrenches=True)
    run = supple.simulate(model, q, **settings)
    same = supple.simulate(model, q, **settings, method="crba")
    np.testing.assert_allclose(same.joint_wrenches, run.joint_wrenches, atol=1e-8)
    recorded = supple.simulate(model, q, **settings, record=tmp_path / "run.h5")
    np.testing.assert_array_equal(recorded.joint_wrenches[:], run.joint_wrenches)
    assert run.joint_wrenches.shape == (len(run.times), model.n_bodies + 1, 6)
    np.testing.assert_allclose(
        run.joint_wrenches[3], supple.joint_wrenches(model, run.q[3], run.v[3], frame="child"), atol=1e-9
    )


def test_stiff_joints_take_implicit_steps(linkage):
    """Of order two, as without loops; chosen where explicit steps would not be stable."""
    model, q = linkage
    ends = [supple.simulate(model, q, duration=0.5, dt=dt, integrator="implicit").q[-1] for dt in (4e-3, 2e-3, 1e-3)]
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(4 * np.linalg.norm(ends[2] - ends[1]), rel=0.1)
    stiff = model.with_joint("coupler_joint", stiffness=1e7, damping=1e4, rest=q[1])
    assert supple.Simulation(model, q, dt=1e-3).integrator == "rk4"
    assert supple.Simulation(stiff, q, dt=1e-3).integrator == "implicit"
    run = supple.simulate(stiff, q, duration=0.1, dt=1e-3)
    assert max(widest_gap(run)) < 1e-12
    assert np.abs(run.q - q).max() < 1e-4


def test_dry_friction_holds_a_linkage(linkage):
    """The crank creeps more slowly than it slips; without friction it would fall."""
    model, q = linkage
    held = supple.simulate(model.with_joint("crank_joint", friction=50.0), q, duration=0.3, dt=1e-3)
    assert max(widest_gap(held)) < 1e-12
    assert np.abs(held.v[:, 0]).max() < 0.1 < np.abs(supple.simulate(model, q, duration=0.3, dt=1e-3).v[:, 0]).max()


def test_masses_are_missed_before_the_first_step():
    builder = supple.ModelBuilder()
    builder.add_body("crank", None, "continuous", axis=(0, 1, 0), mass=1, inertia=(1, 1, 1))
    builder.add_body("rod", "crank", "continuous", axis=(0, 1, 0), position=(1, 0, 0))
    builder.close("rod", None, axis=(0, 1, 0), position=(1, 0, 0), other_position=(1, 0, 1))
    with pytest.raises(supple.ModelError, match=r"body 'rod' .* has no mass"):
        builder.build()
    model = builder.build(singular="report")
    q = supple.close_loops(model, [0.2, 1.0])
    for call in (supple.close_velocities, supple.forward_dynamics, lambda m, q: supple.simulate(m, q, duration=0.1)):
        with pytest.raises(supple.SingularError, match="joint 'rod_joint' moves body 'rod'"):
            call(model, q)


def test_events_must_leave_loops_closed(linkage):
    model, q = linkage
    opens = supple.Event("slip", lambda s: s.q[0] + 0.5, then=lambda s: supple.State(s.time, s.q + 0.1, s.v, s.model))
    with pytest.raises(supple.SimulationError, match=r"event 'slip': .* loop 'pin' is open by"):
        supple.simulate(model, q, duration=0.2, events=[opens])
    back = supple.Event("bounce", lambda s: s.q[0] + 0.3, then=lambda s: supple.State(s.time, s.q, -s.v, s.model))
    run = supple.simulate(model, q, duration=1.0, dt=1e-3, events=[back])
    assert len(run.events) > 3
    assert max(widest_gap(run)) < 1e-12
    assert np.ptp(run.energy) < 1e-8


def test_another_root_within_a_run():
    """Another spanning tree from an event on, the same motion."""
    rng = np.random.default_rng(1)
    model, q = random_linkage(rng, ("revolute", "ball", "universal"), n=6, loops=2)
    v = 0.3 * allowed_velocity(rng, closure(model, q).G)

    def turn_over(s):
        new = supple.reroot(s.model, s.q, s.v, body="b3", joint="free")
        return supple.State(s.time, new.q, new.v, new.model)

    events = [supple.Event("turn over", lambda s: s.time - 0.0505, then=turn_over)]
    settings = dict(duration=0.1, dt=1e-3, integrator="rk4")
    last = supple.simulate(model, q, v, events=events, **settings).segments[-1]
    straight = supple.simulate(model, q, v, **settings)
    assert last.model.parent.tolist() != model.parent.tolist()
    ours, theirs = masses_at(last.model, last.q[-1]), masses_at(model, straight.q[-1])
    for name in model.body_names:
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-11)


def masses_at(model, q):
    """Centres of mass by name: frames move to other joints with another root, bodies do not."""
    pose = supple.poses(model, q)
    return {name: pose[name].position + pose[name].rotation @ model.com[i] for i, name in enumerate(model.body_names)}


# --- redundant rows and singular positions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("integrator", "dt", "kept"), [("rk4", 5e-3, 1e-6), ("dop853", 1e-2, 1e-5), ("rk4", 2e-2, 1e-3)]
)
def test_rows_that_are_redundant_only_where_loops_are_closed(integrator, dt, kept):
    """Inside of a step Bennett's linkage is not quite closed: there its rows would not let it move at all."""
    model, q = bennett()
    run = supple.simulate(model, q, duration=1.5, dt=dt, integrator=integrator)
    assert max(widest_gap(run)) < 1e-11
    assert np.ptp(run.energy) < kept
    assert np.ptp(run.q[:, 0]) > 1.0  # it swings


@pytest.mark.parametrize("rods", [2, 3, 4])
def test_singular_positions_are_passed(rods):
    """A parallelogram that turns around goes through the flat position, where it could become an antiparallelogram."""
    model = parallelogram(rods, turned=random_rotation(np.random.default_rng(rods)))
    v = np.array([-9.0, 9.0] + [-9.0] * (rods - 1))
    for begin in (-1.0, 0.0):
        run = supple.simulate(model, parallel(begin, rods), v, duration=1.0, dt=2e-3)
        assert max(widest_gap(run)) < 1e-12
        assert np.abs(run.q[-1, 0]) > 2 * np.pi
        assert np.abs(np.sin(run.q[:, 0] + run.q[:, 1])).max() < 1e-9  # the coupler stays level
        assert np.ptp(run.energy) < (1e-5 if begin else 1e-3)  # begun at it, the first stages do not know the branch


def test_projection_near_singular_positions():
    """The nearest state is near, at any distance from the singular position and for any gap."""
    rng, model = np.random.default_rng(0), parallelogram(3, turned=random_rotation(np.random.default_rng(1)))
    project, v = Projector(model, 1e-13), np.array([-9.0, 9.0, -9.0, -9.0])
    for e in 10.0 ** np.arange(-14, -1):
        for d in 10.0 ** np.arange(-14, -4):
            q = parallel(e) + d * rng.normal(size=4)
            there, moving, status = project(q, v)
            assert status == 0
            assert np.abs(there - q).max() < 100 * max(d, 1e-7)
            assert np.abs(moving - v).max() < 0.5


def test_long_turning_gears_stay_in_mesh():
    """After 1e7 radians a coordinate has only nine digits behind the point."""
    builder = supple.ModelBuilder(gravity=(0, 0, 0))
    for name in ("wheel", "pinion"):
        builder.add_body(name, None, "continuous", axis=(0, 1, 0), mass=1.0, inertia=(1, 0.5, 1))
    builder.relate({"wheel_joint": 3000.0, "pinion_joint": 1000.0})
    model = builder.build()
    q = supple.close_loops(model, [1e7, -3e7])
    run = supple.simulate(model, q, supple.close_velocities(model, q, [10.0, -30.0]), duration=1.0)
    assert run.q[-1, 0] - q[0] == pytest.approx(10.0, rel=1e-6)
    np.testing.assert_allclose(run.q[:, 1], -3 * run.q[:, 0], atol=1e-7)


@pytest.mark.parametrize("integrator", ["euler", "semi-implicit", "rk4", "implicit"])
@pytest.mark.parametrize("name", ["bricard", "slider_crank"])
def test_compiled_steps_are_those_of_plain_python(name: str, integrator: str):
    """A run with an event, which never happens, is taken step by step; a plain one in compiled code."""
    scene = getattr(supple.scenes, name)()
    how = dict(duration=0.2, dt=1e-3, integrator=integrator)
    plain = supple.simulate(scene.model, scene.q0, scene.v0, **how)
    watched = supple.simulate(scene.model, scene.q0, scene.v0, events=[supple.Event("never", lambda s: 1.0)], **how)
    np.testing.assert_allclose(plain.q, watched.q, atol=1e-12)
    np.testing.assert_allclose(plain.v, watched.v, atol=1e-9)


def test_a_loop_that_breaks_open_in_compiled_steps_is_named():
    """A crank that is turned beyond the reach of its rod, in one long step."""
    scene = supple.scenes.slider_crank()
    v = supple.close_velocities(scene.model, scene.q0, np.full(scene.model.nv, 400.0))
    with pytest.raises(supple.SimulationError, match="'pin' breaks open") as caught:
        supple.simulate(scene.model, scene.q0, v, duration=50.0, dt=0.5)
    assert caught.value.state is not None and np.isfinite(caught.value.state.q).all()
