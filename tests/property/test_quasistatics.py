"""Quasi-statics on any tree: exact where asked to be, never further off than promised, never stale.

Comparisons with the articulated-body algorithm are to 1e-9 of the largest acceleration. Bounds include what rounding
does, and are compared with solutions in extended precision, or, where those would take long, to ROUNDING of the
articulated-body algorithm's own.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near, systems
from oracle import random_model
from precise import accelerations_at_rest, needs_extended, true_error
from supple import QuasiStatics, scenes, trees
from supple.adaptive.quasistatics import MEASURES

ROUNDING = 1e-11


def loaded(model, q, rng, count=4, **options):
    """A QuasiStatics under random forces, a torque and a spring; the joint forces and wrenches that they are worth."""
    qs = QuasiStatics(model, q, **options)
    tau, W = np.zeros(model.nv), np.zeros((model.n_bodies, 6))
    for i in range(count):
        body, point, torque = int(rng.integers(model.n_bodies)), *rng.standard_normal((2, 3))
        if i % 4 == 3:
            anchor, stiffness = rng.standard_normal(3), rng.uniform(0.1, 2.0)
            qs.spring(body, anchor, stiffness, point)
            R, x = (part[body] for part in supple.poses(model, q))
            W += supple.wrench(model, body, force=stiffness * (anchor - x - R @ point), point=point, q=q)
        else:
            force = rng.standard_normal(3)
            qs.apply(body, force=force, point=point, torque=torque)
            W += supple.wrench(model, body, force=force, torque=torque, point=point, q=q)
    joint = model.joints[int(rng.integers(model.n_bodies))]
    tau[joint.v] = rng.standard_normal(joint.v.stop - joint.v.start)
    qs.torque(joint.name, tau[joint.v])
    return qs, tau, W


def over_the_tree(qs):
    """All joints, by the assembly tree: an error of zero would be solved for as a whole."""
    return [stage for stage in qs.refine(error=0.0) if not stage.whole][-1]


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_error_zero_is_exact(system, seed):
    """... at rest, gravity included, solved for as a whole or over the tree; and the total is the norm of all
    accelerations."""
    model, q, *_ = system
    qs, tau, W = loaded(model, q, np.random.default_rng(seed), error=0.0)
    exact = supple.forward_dynamics(model, q, np.zeros(model.nv), tau, W)
    for found in (qs.solve(), over_the_tree(qs)):
        near(found.dense(), exact, 1e-9)
        assert sorted(found.joints) == list(range(model.n_bodies))
        assert found.total == pytest.approx(np.linalg.norm(exact), rel=1e-9)


@pytest.mark.parametrize("order", ["chain", "ranks"])
def test_every_order_of_assembly_gives_the_same(order: str):
    rng = np.random.default_rng(8)
    model = random_model(rng, 30)
    q = model.random(rng)
    ranks = rng.random(model.n_bodies) if order == "ranks" else order
    found = [loaded(model, q, np.random.default_rng(1), error=0.0, order=o)[0] for o in ("balanced", ranks)]
    for _ in range(20):
        near(*(over_the_tree(qs).dense() for qs in found), 1e-9)
        for qs in found:
            qs.step(0.02)


@needs_extended
@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_bounds_hold_at_every_stage(system, seed):
    """One more joint at a time, in all four measures: the true error is never outside of what is certified."""
    model, q, *_ = system
    qs, tau, W = loaded(model, q, np.random.default_rng(seed))
    exact = accelerations_at_rest(model, q, tau, W)
    for measure in MEASURES:
        qs.measure = measure
        last, seen = np.inf, -1
        for stage in qs.refine(error=0.0):
            low, high = stage.bounds
            true = true_error(model, exact, stage.dense(), measure)
            assert low * (1 - 1e-7) <= true <= high
            assert low <= high and len(stage.joints) >= seen
            if measure.endswith("linkage") and not stage.whole:
                assert high <= last * (1 + 1e-7)  # falls
            last, seen = high, len(stage.joints)
        near(stage.dense(), exact.astype(float), 1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_bounds_hold_on_larger_trees(measure: str):
    rng = np.random.default_rng(11)
    stages = 0
    for shape in ({"chain": 1.0}, {"chain": 0.5}, {"chain": 0.0, "world": 0.3}):
        model = random_model(rng, 120, ("revolute", "ball", "prismatic"), **shape)
        q = model.random(rng)
        qs, tau, W = loaded(model, q, rng, 3, measure=measure)
        exact = supple.forward_dynamics(model, q, np.zeros(model.nv), tau, W)
        scale = 1.0 if measure.startswith("relative") else np.abs(exact).max()
        for stage in qs.refine(error=0.0):
            true = true_error(model, exact, stage.dense(), measure)
            assert stage.bounds[0] - ROUNDING * scale <= true <= stage.bounds[1] + ROUNDING * scale
            stages += 1
        for error in (0.5, 1e-1, 1e-3, 1e-5):
            found = qs.solve(error=error * scale)
            assert true_error(model, exact, found.dense(), measure) <= error * scale + ROUNDING
            assert found.error <= error * scale
    assert stages > 300


def twin(qs, forces):
    """The same forces on a QuasiStatics that is built where this one is now."""
    fresh = QuasiStatics(qs.model, qs.q.copy(), qs.error)
    for body, options in forces.values():
        (fresh.spring if "anchor" in options else fresh.apply)(body, **options)
    return fresh


@pytest.mark.parametrize("seed", range(6))
def test_lazy_steps_equal_a_rebuild(seed: int):
    """Thousands of steps, in which forces come, change and go: nothing that matters is left out of date."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "ball", "screw", "universal", "planar", "prismatic", "cylindrical", "free")
    model = random_model(rng, 40, kinds[: 2 + seed], chain=(0.9, 0.5, 0.0)[seed % 3], world=0.05)
    qs = QuasiStatics(model, model.random(rng), error=(2.0**-4, 2.0**-10)[seed % 2])
    handles, forces, torques = {}, {}, {}
    for i in range(2000):
        if i % 10 == 0:
            what, body = rng.integers(5), int(rng.integers(model.n_bodies))
            if what == 0 or not handles:
                options = dict(
                    force=rng.standard_normal(3), point=rng.standard_normal(3), torque=rng.standard_normal(3)
                )
                options |= {"frame": str(rng.choice(["world", "body"]))}
                handles[i], forces[i] = qs.apply(body, **options), (body, options)
            elif what == 1:
                options = dict(
                    anchor=rng.standard_normal(3), stiffness=rng.uniform(0.5, 3.0), point=rng.standard_normal(3)
                )
                handles[i], forces[i] = qs.spring(body, **options), (body, options)
            elif what == 2:
                key = int(rng.choice(list(handles)))
                handles.pop(key).remove()
                forces.pop(key)
            elif what == 3:
                key, value = int(rng.choice(list(handles))), rng.standard_normal(3)
                name = "anchor" if "anchor" in forces[key][1] else "force"
                handles[key].set(**{name: value})
                forces[key][1][name] = value
            else:
                torques[body] = rng.standard_normal(model.joints[body].v.stop - model.joints[body].v.start)
                qs.torque(body, torques[body])
        qs.step(0.02)
        if i % 250 == 249:
            fresh = twin(qs, forces)
            for joint, value in torques.items():
                fresh.torque(joint, value)
            near(over_the_tree(qs).dense(), over_the_tree(fresh).dense(), 1e-11)
            qs.error = qs.error  # the next step is at the promised error again
    assert qs.time == pytest.approx(40.0)


def test_a_step_moves_joints_by_half_dt_squared_times_their_accelerations():
    rng = np.random.default_rng(4)
    model = random_model(rng, 20)
    q = model.random(rng)
    qs, *_ = loaded(model, q, rng, error=2.0**-5)
    found = qs.solve()
    assert 0 < len(found.joints) < 20
    qs.step(0.1)
    near(qs.q, model.integrate(q, found.dense(), 0.5 * 0.1**2), 1e-12)


def test_exact_steps_are_those_of_the_articulated_body_algorithm():
    rng = np.random.default_rng(5)
    model = random_model(rng, 15)
    q = model.random(rng)
    body, force, point = 9, rng.standard_normal(3), rng.standard_normal(3)
    qs = QuasiStatics(model, q, error=0.0)
    qs.apply(body, force=force, point=point)
    for _ in range(50):
        W = supple.wrench(model, body, force=force, point=point, q=q)
        a = supple.forward_dynamics(model, q, np.zeros(model.nv), None, W)
        q = model.integrate(q, a, 0.5 * 0.02**2)
        qs.step(0.02)
    near(qs.q, q, 1e-10)


@settings(parent=SETTINGS, max_examples=25)
@given(systems(), st.integers(0, 2**32 - 1))
def test_the_order_in_which_forces_are_set_does_not_matter(system, seed):
    model, q, *_ = system
    rng = np.random.default_rng(seed)
    bodies, forces, points = rng.integers(0, model.n_bodies, 6), *rng.standard_normal((2, 6, 3))
    found = []
    for order in (np.arange(6), rng.permutation(6)):
        qs = QuasiStatics(model, q, error=0.0)
        for i in order:
            qs.apply(int(bodies[i]), force=forces[i], point=points[i])
        found.append(qs.solve().dense())
    near(*found, 1e-11)


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_poses_on_demand(system, seed):
    """Those of supple.poses, before and after steps; and nothing is different for having asked."""
    model, q, *_ = system
    one, two = (loaded(model, q, np.random.default_rng(seed), error=2.0**-3)[0] for _ in range(2))
    for _ in range(5):
        R, x = one.poses()
        wanted = supple.poses(model, one.q)
        near(R, wanted.rotation, 1e-11)
        near(x, wanted.position, 1e-11)
        some = np.random.default_rng(seed).integers(0, model.n_bodies, 3)
        near(one.poses([model.body_names[i] for i in some]).position, x[some], 1e-14)
        one.step(0.05)
        two.step(0.05)
        np.testing.assert_array_equal(one.q, two.q)


def test_several_trees_share_one_queue():
    model = trees.from_parents([-1, 0, 1, -1, 3, 4], gravity=(0, 0, 0))
    qs = QuasiStatics(model, error=1e-3)
    qs.apply(2, force=(1.0, 2.0, 3.0))
    assert set(qs.solve().joints) <= {0, 1, 2}
    qs.apply(5, force=(1e3, 2e3, 3e3))
    assert {3, 4, 5} & set(qs.solve(joints=2).joints)


def test_refining_stops_by_joints_and_by_time():
    scene = scenes.molecule(2000, forces=50)
    qs = scene.quasi_statics(error=0.0)
    assert len(qs.solve(joints=7).joints) == 7 and len(qs.solve(joints=0).joints) == 0
    assert len(qs.solve(seconds=0.0).joints) == 1
    errors = [stage.error for stage in qs.refine(joints=100)]
    assert len(errors) == 100 and errors[-1] < errors[0]


def test_reach_grows_with_precision():
    qs = scenes.molecule(2000).quasi_statics()
    counts = [qs.reach(2.0**-k) for k in range(0, 24, 3)]
    assert counts == sorted(counts) and 0 < counts[0] < counts[-1] < 2000
    before = qs.q.copy()
    assert qs.reach() == len(qs.solve().joints)
    np.testing.assert_array_equal(qs.q, before)


def test_a_state_can_be_set():
    rng = np.random.default_rng(2)
    model = random_model(rng, 12)
    q = model.random(rng)
    qs = QuasiStatics(model, error=0.0)
    qs.apply(5, force=(1.0, 2.0, 3.0), point=(0.1, 0.2, 0.3))
    qs.step(0.1)
    qs.set_state(q)
    W = supple.wrench(model, 5, force=(1.0, 2.0, 3.0), point=(0.1, 0.2, 0.3), q=q)
    near(qs.solve().dense(), supple.forward_dynamics(model, q, np.zeros(model.nv), None, W), 1e-9)


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.fixture
def chain():
    return QuasiStatics(trees.chain(5))


@pytest.mark.parametrize("error", [-1e-3, np.nan, np.inf])
def test_bad_errors_are_refused(chain, error):
    for attempt in (lambda: setattr(chain, "error", error), lambda: chain.solve(error), lambda: chain.reach(error)):
        with pytest.raises(supple.StateError, match="error must be a finite number >= 0"):
            attempt()
    with pytest.raises(supple.StateError, match="error must be a finite number >= 0"):
        QuasiStatics(trees.chain(2), error=error)


def test_unknown_names_are_answered_with_known_ones(chain):
    with pytest.raises(supple.StateError, match="relative-joint"):
        chain.measure = "relativ-joint"
    with pytest.raises(supple.SuppleError, match="link3"):
        chain.apply("lnk3", force=(1, 0, 0))
    with pytest.raises(supple.SuppleError):
        chain.apply(5, force=(1, 0, 0))
    with pytest.raises(supple.SuppleError, match="link3_joint"):
        chain.torque("link3_jont", 1.0)
    with pytest.raises(supple.StateError, match="'world' or 'body'"):
        chain.apply(1, force=(1, 0, 0), frame="wrld")
    with pytest.raises(supple.SuppleError):
        chain.poses(["nobody"])


@pytest.mark.parametrize("force", [(np.nan, 0, 0), (0, np.inf, 0), (1, 2), "up"])
def test_bad_forces_are_refused(chain, force):
    for what in ("force", "point", "torque"):
        with pytest.raises(supple.StateError, match=what):
            chain.apply(2, **{what: force})
    with pytest.raises(supple.StateError, match="anchor"):
        chain.spring(2, anchor=force, stiffness=1.0)
    with pytest.raises(supple.StateError, match="stiffness"):
        chain.spring(2, anchor=(0, 0, 0), stiffness=-1.0)
    with pytest.raises(supple.StateError, match="link2_joint"):
        chain.torque(2, [1.0, 2.0])
    assert chain.solve(error=0.0).total == pytest.approx(QuasiStatics(trees.chain(5)).solve(error=0.0).total)


def test_a_force_can_be_removed_once(chain):
    before = chain.solve(error=0.0).dense()
    push = chain.apply(3, force=(1.0, 0.0, 0.0))
    assert np.abs(chain.solve(error=0.0).dense() - before).max() > 1e-3
    push.remove()
    near(chain.solve(error=0.0).dense(), before, 1e-14)
    for attempt in (push.remove, lambda: push.set(force=(1, 0, 0))):
        with pytest.raises(supple.StateError, match="removed"):
            attempt()


def test_a_state_that_is_not_one_is_refused():
    model = trees.chain(3, joint="ball")
    for bad in (np.zeros(3), np.full(model.nq, np.nan), np.zeros(model.nq)):
        with pytest.raises(supple.StateError):
            QuasiStatics(model, bad)


def singular() -> supple.Model:
    b = supple.ModelBuilder()
    for i in range(5):
        b.add_body(f"b{i}", i - 1 if i else None, position=(0, 1, 0), mass=1.0, inertia=None if i == 2 else np.eye(3))
    return b.build()


def test_a_body_without_inertia_is_solved_for_as_a_whole():
    """Its inertia has no inverse, which the tree would need; the articulated-body algorithm does not."""
    model = singular()
    q = model.random(0)
    qs = QuasiStatics(model, q)
    qs.apply("b4", force=(1.0, 2.0, 3.0))
    W = supple.wrench(model, "b4", force=(1.0, 2.0, 3.0), q=q)
    found = qs.solve()
    near(found.dense(), supple.forward_dynamics(model, q, np.zeros(5), None, W), 1e-5)
    assert found.whole and found.error <= qs.error


def test_a_joint_that_moves_nothing_is_named():
    b = supple.ModelBuilder()
    b.add_body("arm", mass=1.0, inertia=np.eye(3))
    b.add_body("ghost", "arm", mass=0.0)
    with pytest.raises(supple.SingularError, match="ghost"):
        QuasiStatics(b.build(singular="report")).solve()


def test_too_large_a_force_is_reported_and_the_state_kept(chain):
    chain.apply(4, force=(1e200, 1e200, 0.0))
    before = chain.q.copy()
    with pytest.raises(supple.SimulationError, match=r"not finite at time 0; the state before it is kept"):
        chain.step(1.0)
    np.testing.assert_array_equal(chain.q, before)
    assert chain.time == 0.0
