"""Certificates of bodies in which light links carry heavy ones, rounding included: at every posture, after any motion,
against articulated bodies in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

import supple
from precise import accelerations_at_rest, articulated, needs_extended, true_error
from supple import AdaptiveDynamics, QuasiStatics
from supple.adaptive.light_bodies import LightBodies
from supple.adaptive.quasistatics import MEASURES
from supple.assembly.tables import tree_tables
from supple.assembly.tree import assemble

KINDS = ("revolute", "prismatic", "ball", "universal", "cylindrical")


def chain(masses, gravity=(0.0, 0.0, -9.81)):
    """Links of one metre in a plane, straight at zero."""
    b = supple.ModelBuilder(gravity=gravity)
    for i, m in enumerate(masses):
        b.add_body(f"l{i}", i - 1 if i else None, axis=(0, 1, 0), position=(0, 0, 1.0 * (i > 0)), mass=m,
                   com=(0, 0, 0.5), inertia=np.eye(3) * 0.02 * m)  # fmt: skip
    return b.build()


def drawn(rng, n, gravity=(0.0, 0.0, -9.81)):
    """A chain or a tree of n links, some of them light."""
    b, light = supple.ModelBuilder(gravity=gravity), rng.random(n) < rng.choice([1.5 / n, 0.3, 0.7])
    light[0] |= rng.random() < 0.3
    mass, plane, straight, forks = (
        10.0 ** -rng.uniform(0, 9),
        rng.random() < 0.5,
        rng.random() < 0.7,
        rng.choice([0, 0.3]),
    )
    kinds = KINDS[:1] if rng.random() < 0.6 else KINDS
    for i in range(n):
        m, axis = mass if light[i] else 1.0, (0, 1, 0) if plane else rng.standard_normal(3)
        parent = None if i == 0 else int(rng.integers(i)) if rng.random() < forks else i - 1
        b.add_body(
            f"l{i}", parent, str(rng.choice(kinds)), axis=axis, axis2=np.cross(axis, rng.standard_normal(3)),
            mass=m, com=(0, 0, 0.5), position=(0, 0, 1.0 * (i > 0)) if straight else rng.standard_normal(3),
            inertia=np.eye(3) * 0.02 * m,
        )  # fmt: skip
    return b.build()


def posture(rng, model):
    """Straight, folded, nearly so, or any."""
    if model.nq != model.nv or rng.random() < 0.3:
        return model.neutral() if rng.random() < 0.5 else model.random(rng)
    near = 10.0 ** rng.uniform(-12, 0) * (rng.random() < 0.6)
    return rng.choice([0, 0, 0, np.pi / 2, np.pi, 1.0], model.nq) + near * rng.standard_normal(model.nq)


def torques(rng, model, q):
    """Of all sizes; or those that hold the weight, all but a little; or few."""
    tau, rest = rng.standard_normal(model.nv) * 10.0 ** rng.uniform(-3, 3, model.nv), np.zeros(model.nv)
    if rng.random() < 0.4:
        tau = 10.0 ** rng.uniform(-9, -3) * tau + supple.inverse_dynamics(model, q, rest, rest)
    return tau * (rng.random(model.nv) < 2 / model.nv) if rng.random() < 0.3 else tau


def drive(body, tau):
    for j in range(body.model.n_bodies):
        body.torque(j, tau[body.model.joints[j].v])


def holds(qs, tau):
    found, exact = qs.solve(), articulated(qs.model, qs.q, tau)
    if found.error == np.inf or not (exact.any() or found.dense().any()):
        return True
    with np.errstate(divide="ignore"):
        return true_error(qs.model, exact, found.dense(), qs.measure) <= found.error * (1 + 1e-6)


def some_certificates_hold(seed, n, steps):
    rng = np.random.default_rng(seed)
    model = drawn(rng, n)
    measure = str(rng.choice(MEASURES))
    qs = QuasiStatics(model, posture(rng, model), error=10.0 ** rng.uniform(-10, -2), measure=measure)
    for k in range(steps):
        tau = torques(rng, model, qs.q)
        drive(qs, tau)
        assert holds(qs, tau), (seed, k)
        fastest = np.abs(qs.solve().dense()).max()
        if 0 < fastest < 1e30:
            qs.step(np.sqrt(2 * 10.0 ** rng.uniform(-3, 0) / fastest))  # by 1 mrad to 1 rad


@needs_extended
def test_articulated_bodies_in_extended_precision_agree_with_dense_matrices():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        model = drawn(rng, 6)
        q, tau, wrenches = model.random(rng), rng.standard_normal(model.nv), rng.standard_normal((6, 6))
        one, two = (solve(model, q, tau, wrenches) for solve in (articulated, accelerations_at_rest))
        assert np.abs(one - two).max() <= 1e-9 * np.abs(two).max()


@needs_extended
@pytest.mark.parametrize("first", [0, 40, 560, 640, 760, 1350, 1440, 1490, 1660, 2160, 2290])
def test_certificates_hold_in_small_trees_after_every_step(first: int):
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        some_certificates_hold(seed, int(rng.choice([2, 2, 3, 3, 4, 6, 10])), 4)


@needs_extended
@pytest.mark.parametrize("seed", range(6))
def test_certificates_hold_in_chains_of_100(seed: int):
    some_certificates_hold(seed, 100, 3)


@needs_extended
@pytest.mark.parametrize("light", [1e-3, 1e-5, 1e-6, 1e-7, 1e-9])
def test_certificates_hold_one_step_out_of_a_straight_posture(light: float):
    """What was measured in the straight posture says little about the next one."""
    model = chain((1.0, light, 1.0))
    for seed in range(12):
        rng = np.random.default_rng(seed)
        qs = QuasiStatics(model, error=10.0 ** rng.uniform(-8, -3), measure="relative-linkage")
        for k in range(4):
            tau = rng.standard_normal(3) * 10.0 ** rng.uniform(-3, 3, 3)
            drive(qs, tau)
            assert holds(qs, tau), (seed, k)
            assert qs.solve().error <= qs.error  # the whole body has the digits that the tree lacks
            qs.step(np.sqrt(2 / np.abs(qs.solve().dense()).max()))


@needs_extended
@pytest.mark.parametrize("light", [1e-3, 1e-5, 1e-7, 1e-9])
def test_certificates_hold_where_a_light_link_carries_a_heavy_one(light: float):
    model, rest = chain((light, 1.0)), np.zeros(2)
    for seed in [*range(60), 159, 197, 390]:
        rng = np.random.default_rng(seed)
        q = rng.choice([0, np.pi / 2, np.pi, 1.0], 2) + 10 ** rng.uniform(-12, 0) * rng.standard_normal(2)
        qs = QuasiStatics(model, q, error=10 ** rng.uniform(-12, -3), measure="relative-linkage")
        tau = supple.inverse_dynamics(model, q, rest, rest) * rng.integers(2)
        tau = tau + rng.standard_normal(2) * 10 ** rng.uniform(-6, 2, 2)
        drive(qs, tau)
        assert holds(qs, tau), seed


@needs_extended
def test_a_chain_that_hangs_straight_is_not_certified_to_move():
    """No weight turns a joint, other than by rounding: nothing is known of accelerations relative to those."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        b = supple.ModelBuilder()
        for i in range(4):
            m, axis = float(rng.choice([1.0, 1e-4])), np.append(rng.standard_normal(2), 0.0)
            b.add_body(None, i - 1 if i else None, axis=axis, position=(0, 0, -1.0 * (i > 0)), mass=m,
                       com=(0, 0, -0.5), inertia=np.eye(3) * 0.02 * m)  # fmt: skip
        for measure in MEASURES:
            assert holds(QuasiStatics(b.build(), measure=measure), np.zeros(4))


def certified_and_true(ad, tau):
    """The error of accelerations that the next step certifies, and the true one, less what the comparison leaves
    open; relative to all."""
    model, q, v = ad.model, ad.q.copy(), ad.v.copy()
    before = supple.forward_dynamics(model, q, v, tau)
    h = np.sqrt(1e-16 / np.abs(before).max())
    ad.step(h)
    there = model.integrate(q, v, h / 2)
    exact, after = (supple.forward_dynamics(model, there, u, tau) for u in (v, v + h * before))
    unsure = np.linalg.norm(after - exact) + 4 * 2.0**-53 * np.linalg.norm(v) / h
    return ad.stats.error, max(np.linalg.norm((ad.v - v) / h - exact) - unsure, 0.0) / np.linalg.norm(exact)


def moved(rng, model, q, time):
    ad = AdaptiveDynamics(
        model, q, rng.uniform(-1, 1, model.nv), error=10.0 ** rng.uniform(-7, -2), guaranteed=True, check_energy=False
    )
    ad.run(time, dt=2e-3)
    tau = rng.standard_normal(model.nv) * 10.0 ** rng.uniform(-1, 3, model.nv)
    drive(ad, tau)
    return ad, tau


@pytest.mark.parametrize("light", [1e-3, 1e-5, 1e-6, 1e-7])
def test_guaranteed_dynamics_holds_after_a_straight_chain_has_bent(light: float):
    model = chain((1.0, light, 1.0), gravity=(0, 0, 0))
    for seed in range(25):
        certified, true = certified_and_true(*moved(np.random.default_rng(seed), model, None, 0.5))
        assert true <= certified * (1 + 1e-6), seed


def test_guaranteed_dynamics_holds_in_small_trees_after_they_have_moved():
    refused = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        model = drawn(rng, int(rng.choice([2, 3, 4, 6])), gravity=(0, 0, -9.81 * (rng.random() < 0.3)))
        try:
            certified, true = certified_and_true(*moved(rng, model, posture(rng, model), 0.2))
        except supple.SingularError:  # "too few digits", in words
            refused += 1
            continue
        assert true <= certified * (1 + 1e-6), seed
    assert refused < 20


def test_guaranteed_dynamics_holds_after_joints_have_slid_far():
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    for i, (kind, axis) in enumerate((("revolute", (0, 0, 1)), ("prismatic", (1, 0, 0)), ("revolute", (0, 1, 0)))):
        b.add_body(f"b{i}", i - 1 if i else None, kind, axis=axis, position=(0.3 * (i > 0), 0, 0), mass=1.0,
                   com=(0.1, 0, 0), inertia=0.02 * np.eye(3))  # fmt: skip
    model, digits = b.build(), []
    ad = AdaptiveDynamics(model, v=[0.0, 100.0, 0.1], error=1e-3, guaranteed=True, check_energy=False)
    for _ in range(3):
        ad.run(1.0, dt=1e-2)
        digits.append(ad._hybrid.memory.digits)
        tau = np.array([1.0, 0.1, 2.0])
        drive(ad, tau)
        certified, true = certified_and_true(ad, tau)
        assert true <= certified * (1 + 1e-6)
        drive(ad, np.zeros(3))
    assert digits[0] < digits[1] < digits[2]  # with the lever's square
    with pytest.raises(supple.SingularError, match="too few digits"):
        ad.run(1e5, dt=10.0)


def test_locked_joints_make_long_levers():
    model = chain(np.ones(30))
    tables = tree_tables(model, assemble(model, "balanced"))
    locked = np.zeros(30, dtype=bool)
    alone = LightBodies(model, tables, locked).ratio(model.neutral())
    locked[10:25] = True
    assert alone == pytest.approx(50.0)
    assert LightBodies(model, tables, locked).ratio(model.neutral()) == pytest.approx(16 * 16**2 * 50.0)


def test_ratios_are_those_of_what_each_body_carries():
    """Found by a plain loop over all pairs."""
    for seed in range(20):
        model = drawn(np.random.default_rng(seed), 12)
        tables = tree_tables(model, assemble(model, "balanced"))
        moments, lone = np.linalg.eigvalsh(model.inertia), tables.lone[tables.assembly.leaf_of]
        inner = model.parent >= 0
        lever = max(0.5, np.linalg.norm(model.position[inner], axis=1).max())
        expected = 0.0
        for i in np.flatnonzero(~lone):
            for j in range(i, model.subtree_end[i]):
                expected = max(expected, max(moments[j, 2], model.mass[j] * lever**2) / moments[i, 0])
        assert LightBodies(model, tables).ratio(model.neutral()) == pytest.approx(expected)
