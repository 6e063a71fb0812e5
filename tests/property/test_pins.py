"""Pinned joints of adaptive dynamics: stopping one keeps the momenta of the others, and pins do not break a budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import supple
from drawn import SETTINGS, near, systems
from oracle import free_roots, random_model
from supple import AdaptiveDynamics, ModelBuilder, QuasiStatics, trees
from supple.adaptive.memory import CURRENT, HELD

FEW = settings(SETTINGS, max_examples=20)


def kept_momenta(model, q, v, active):
    """The velocities with which these joints have the momenta that they have at v, the others being at rest."""
    H, out, a = supple.mass_matrix(model, q), np.zeros(model.nv), np.isin(model.dof_body, active)
    out[a] = np.linalg.solve(H[np.ix_(a, a)], (H @ v)[a])
    return out


def stop_and_check(ad, joint):
    """Pin a joint, moving or not, and compare with the dense formula."""
    model, q, v = ad.model, ad.q.copy(), ad.v.copy()
    kinetic, potential, removed = ad.kinetic, ad.potential, ad.stats.energy_removed
    ad.pin(joint, False)
    right = kept_momenta(model, q, v, ad.active_joints)
    if not v[model.joints[joint].v].any():
        right = v
    near(ad.v, right, 1e-9)
    assert not ad.v[model.joints[joint].v].any()
    np.testing.assert_array_equal(ad.q, q)
    scale = max(1.0, kinetic)
    assert ad.kinetic <= kinetic + 1e-12 * scale
    assert abs(ad.kinetic - supple.kinetic_energy(model, q, right)) <= 1e-9 * scale
    assert abs(ad.stats.energy_removed - removed - (kinetic - ad.kinetic)) <= 1e-12 * scale
    assert abs(ad.potential - potential) <= 1e-9 * max(1.0, abs(potential))
    near(ad.energy, ad.kinetic + ad.potential, 1e-12)


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_stopping_a_joint_keeps_the_momenta_of_the_others(system, seed):
    """At any time, with any budget, one joint after the other: those that were active and are not stopped, or all that
    are left where they are no more than the budget."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, model.n_bodies + 1))
    how = {"error": 0.1, "guaranteed": bool(rng.random() < 0.5)} if rng.random() < 0.3 else {"active": count}
    ad = AdaptiveDynamics(model, q, v, update_every=int(rng.integers(1, 4)), **how)
    for joint in rng.permutation(model.n_bodies)[:4].tolist():
        for _ in range(int(rng.integers(0, 4))):
            ad.step(1e-4)
        were = set(ad.active_joints.tolist())
        stop_and_check(ad, joint)
        left = (ad._hybrid.settings.pins >= 0) & ~free_roots(model)
        fixed = "active" in how and left.sum() <= count
        assert set(ad.active_joints.tolist()) == (
            set(np.flatnonzero(ad._hybrid.settings.pins >= 0).tolist()) if fixed else were - {joint}
        )
    ad.step(1e-4)
    counted = ad.active_joints[~free_roots(model)[ad.active_joints]]
    assert len(counted) <= count or "error" in how


def test_the_energy_taken_is_that_of_the_schur_complement():
    """1/2 v_R (K^R)^-1 v_R, where K^R is the part of H^-1 that belongs to what stops."""
    rng = np.random.default_rng(7)
    model = random_model(rng, 9, chain=0.5)
    q, v = model.random(rng), rng.standard_normal(model.nv)
    for joint in range(9):
        ad = AdaptiveDynamics(model, q, v)
        ad.pin(joint, False)
        at = model.joints[joint].v
        K = np.linalg.inv(supple.mass_matrix(model, q))[at, at]
        near(ad.stats.energy_removed, 0.5 * v[at] @ np.linalg.solve(K, v[at]), 1e-10)


@pytest.mark.parametrize("v", [[0, 0, 1.0, 0], [0, 0, 0, 1.0], [1.0, 0, 0, -1.0], [0, 1.0, 0, -1.0]])
def test_stopping_a_joint_creates_no_energy(v):
    """... where those left are no more than may move: then some become active that were rigid."""
    model = trees.chain(4, gravity=(0, 0, 0), seed=5)
    for joint in np.flatnonzero(v).tolist():
        ad = AdaptiveDynamics(model, model.random(5), v, active=3)
        stop_and_check(ad, joint)
        assert len(ad.active_joints) == 3


def test_momenta_of_joints_stopped_long_ago_are_forgotten():
    b = ModelBuilder(gravity=(0, 0, 0))
    for i in range(5):
        b.add_body(
            f"b{i}", i - 1 if i else None, axis=(0, 1, i), position=(0.3, 0, 0), mass=1, com=(0.15, 0, 0),
            inertia=np.eye(3) * 0.02, damping=3.0,
        )  # fmt: skip
    ad = AdaptiveDynamics(b.build(), np.full(5, 0.3), np.array([5.0, 4, 3, 4, 1]), active=4, update_every=10_000)
    ad.run(3.0, 1e-3)  # one joint was stopped at once; damping slows the others down
    stop_and_check(ad, int(np.flatnonzero(ad.v)[0]))


def test_a_failed_step_after_a_pin_does_not_bring_the_joint_back():
    model = trees.chain(6, seed=2)
    ad = AdaptiveDynamics(model, model.random(2), np.ones(6))
    ad.pin(2, False)
    kept = ad.q.copy(), ad.v.copy()
    ad.torque(0, 1e300)
    with pytest.raises(supple.SimulationError):
        ad.run(1.0, 0.1)
    np.testing.assert_array_equal(ad.q, kept[0])
    np.testing.assert_array_equal(ad.v, kept[1])


def some_pins(ad, rng, most):
    """A few joints that are always active, one that never is."""
    n = ad.model.n_bodies
    order = rng.permutation(n).tolist()
    always = order[: int(rng.integers(0, min(most, n) + 1))]
    for joint in always:
        ad.pin(joint)
    if len(always) < n and rng.random() < 0.5:
        ad.pin(order[-1], False)
    return always


@SETTINGS
@given(systems(largest=20), st.integers(0, 2**32 - 1))
def test_a_budget_is_kept_with_pins(system, seed):
    """... at every step; and between updates the active joints accelerate as the mass matrix of them alone says."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    count, every = int(rng.integers(0, model.n_bodies + 1)), int(rng.integers(1, 4))
    ad = AdaptiveDynamics(model, q, v * (rng.random() < 0.5), active=count, update_every=every)
    always = some_pins(ad, rng, count)
    assert set(always) <= set(ad.active_joints.tolist())
    roots = free_roots(model)
    dt, fixed = 1e-6, count >= int(((ad._hybrid.settings.pins >= 0) & ~roots).sum())
    for step in range(7):
        q0, v0 = ad.q.copy(), ad.v.copy()
        ad.step(dt)
        active = ad.active_joints
        a = np.isin(model.dof_body, active)
        assert (~roots[active]).sum() <= count and set(always) <= set(active.tolist())
        assert not ad.v[~a].any() and ad.stats.active_count == len(active)
        if step % every or fixed:
            H, C = supple.mass_matrix(model, q0), supple.inverse_dynamics(model, q0, v0, np.zeros(model.nv))
            near((ad.v - v0)[a] / dt, np.linalg.solve(H[np.ix_(a, a)], -C[a]), 1e-4)


@FEW
@given(systems(largest=20), st.integers(0, 2**32 - 1), st.floats(1e-3, 3.0))
def test_an_error_is_kept_with_pins(system, seed, error):
    """What is stopped counts for no more than the error, and the certified mode holds for accelerations."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    ad = AdaptiveDynamics(model, q, v, error=error, measure="absolute-linkage", update_every=1)
    some_pins(ad, rng, model.n_bodies)
    for _ in range(3):
        ad.step(1e-6)
        assert ad.stats.velocity_error <= error
    sure = AdaptiveDynamics(model, q, error=error, measure="absolute-linkage", guaranteed=True)
    some_pins(sure, rng, model.n_bodies)
    locked = np.isin(model.dof_body, np.flatnonzero(sure._hybrid.settings.pins < 0))
    H, C = supple.mass_matrix(model, q), supple.inverse_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
    exact = np.zeros(model.nv)
    exact[~locked] = np.linalg.solve(H[np.ix_(~locked, ~locked)], -C[~locked])
    sure.step(1e-7)
    stays = ~np.isin(model.dof_body, sure.active_joints)
    assert sure.stats.acceleration_error <= error
    assert exact[stays] @ exact[stays] <= error**2 * (1 + 1e-9) + 1e-9
    near(sure.v[~stays] / 1e-7, exact[~stays], 1e-5)


def test_one_joint_of_a_long_chain():
    """The joints above a pinned one in the assembly tree do not move for its sake."""
    model = trees.chain(1000, general=False)
    for count, pins in ((1, [501]), (3, [101, 501, 901]), (5, [101, 501, 901])):
        ad = AdaptiveDynamics(model, [0.01] * 1000, active=count, update_every=1)
        for joint in pins:
            ad.pin(joint)
        assert set(ad.active_joints.tolist()) == set(pins)
        for _ in range(10):
            ad.step(1e-3)
            assert ad.stats.active_count == count and set(pins) <= set(ad.active_joints.tolist())


def test_forces_of_joints_above_a_pinned_one_are_known():
    """They change while their joint is held: the metric of all accelerations knows them at the next update."""
    model = trees.chain(64, seed=1)
    ad = AdaptiveDynamics(model, active=1, update_every=1)
    ad.pin(37)
    ad.step(1e-6)
    node = ad._hybrid.assembly.node_of
    held = np.flatnonzero(ad._hybrid.memory.flags[node] == CURRENT | HELD)
    assert len(held) >= 3
    tau = np.zeros(64)
    for joint in held.tolist():
        tau[joint] = 10.0 + joint
        ad.torque(joint, tau[joint])
    q, v = ad.q.copy(), ad.v.copy()
    ad.step(1e-6)
    exact = supple.forward_dynamics(model, q, v, tau)
    near(ad._hybrid.memory.acceleration_total / (exact @ exact), 1.0, 1e-6)


@FEW
@given(systems(), st.integers(0, 2**32 - 1))
def test_what_is_saved_has_the_pins_in_it(system, seed):
    """Another body, pinned alike, that restores what was saved goes on with the same bits; with other pins it is
    refused."""
    model, q, v, *_ = system
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, model.n_bodies + 1))
    how = dict(active=count, update_every=3)
    ad = AdaptiveDynamics(model, q, v, **how)
    pins = rng.permutation(model.n_bodies)[: int(rng.integers(1, count + 1))].tolist()
    for joint in pins:
        ad.pin(joint)
    for _ in range(int(rng.integers(1, 6))):
        ad.step(1e-3)
    again = AdaptiveDynamics(model, ad.q, ad.v, **how)
    for joint in pins:
        again.pin(joint)
    again.restore(ad.save())
    for _ in range(5):
        ad.step(1e-3)
        again.step(1e-3)
        np.testing.assert_array_equal(ad.q, again.q)
        np.testing.assert_array_equal(ad.v, again.v)
        assert ad.stats == again.stats
    idle = sorted(set(range(model.n_bodies)) - set(ad.active_joints.tolist()))
    if idle:
        other = AdaptiveDynamics(model, ad.q, ad.v, **how)
        other.pin(idle[0])
        with pytest.raises(supple.StateError, match="with other settings"):
            other.restore(ad.save())


@pytest.mark.parametrize("seed", range(20))
def test_what_is_saved_is_of_its_state(seed):
    """Going back takes set_state, too: then it goes on with the same bits. Without it the accounts of energy would be
    of one state and the motion of another, and a run be stopped for energy that nobody made."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 6)
    way = ({"active": 4, "update_every": 3}, {"error": 0.1, "guaranteed": True}, {})[seed % 3]
    ad = AdaptiveDynamics(model, model.random(rng), rng.standard_normal(model.nv), **way)
    ad.run(0.02, 1e-3)
    saved, q, v = ad.save(), ad.q.copy(), ad.v.copy()
    ad.run(0.05, 1e-3)
    end = ad.q.copy()
    with pytest.raises(supple.StateError, match=r"another state: first set_state\(q, v\)"):
        ad.restore(saved)
    np.testing.assert_array_equal(ad.q, end)
    ad.set_state(q, v)
    ad.restore(saved)
    ad.run(0.05, 1e-3)
    np.testing.assert_array_equal(ad.q, end)
    qs = QuasiStatics(model, q)
    before = qs.save()
    qs.step(0.1)
    with pytest.raises(supple.StateError, match=r"another state: first set_state\(q\)"):
        qs.restore(before)


def test_pins_of_a_given_list_are_refused():
    ad = AdaptiveDynamics(trees.chain(5), active=[1, 3, 3])
    assert ad.active == 2 and ad.active_joints.tolist() == [1, 3]
    for how in (True, False, None):
        with pytest.raises(supple.StateError, match="fixed by a list"):
            ad.pin(2, how)
