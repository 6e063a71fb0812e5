"""Certificates where digits are lost: postures that motors hold, forces that cancel, light links that carry heavy ones.

The oracle is a dense solution in extended precision, which is good to 1e-9 and better on all of these.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import supple
from oracle import random_model
from precise import Long, accelerations_at_rest, needs_extended, precise_pose, true_error
from supple import QuasiStatics, trees
from supple.adaptive.quasistatics import MEASURES

KINDS = ("revolute", "revolute", "prismatic", "ball", "universal")


def uneven(rng, n, apart, branches=0.3):
    """A tree in which half of the bodies are lighter than the others, some with armature."""
    b = supple.ModelBuilder()
    for i in range(n):
        mass, length = rng.uniform(0.5, 2.0) * (1.0 if rng.random() < 0.5 else 1.0 / apart), 10.0 ** rng.uniform(-1, 0)
        corners = length * rng.standard_normal((6, 3))
        inertia = mass * sum((x @ x) * np.eye(3) - np.outer(x, x) for x in corners) / 6
        parent = None if i == 0 else i - 1 if rng.random() > branches else int(rng.integers(i))
        axis = rng.standard_normal(3)
        b.add_body(
            None, parent, str(rng.choice(KINDS)), axis=axis, axis2=np.cross(axis, rng.standard_normal(3)),
            position=0.4 * rng.standard_normal(3), mass=mass, com=0.3 * length * rng.standard_normal(3),
            inertia=inertia, armature=10.0 ** rng.uniform(-3, 3) if rng.random() < 0.1 else 0.0,
        )  # fmt: skip
    return b.build()


def drawn(rng, n):
    """Some body of about n links, tame or not."""
    return (
        random_model(rng, n),
        trees.chain(n, seed=int(rng.integers(1000))),
        uneven(rng, n, 10.0 ** rng.choice([2, 4, 6])),
    )[rng.integers(3)]


def held(qs, rng, wrenches):
    """Torques that hold all but a little of what acts."""
    model, rest = qs.model, np.zeros(qs.model.nv)
    tau = supple.inverse_dynamics(model, qs.q, rest, rest, wrenches)
    tau[rng.integers(model.nv)] += 10.0 ** rng.uniform(-9, 0) * max(1e-6, np.abs(tau).max())
    for j in range(model.n_bodies):
        qs.torque(j, tau[model.joints[j].v])
    return tau


def pushed(qs, rng):
    """A force of any size; or two that cancel, and a small one."""
    model, body = qs.model, int(rng.integers(qs.model.n_bodies))
    force, point = rng.standard_normal((2, 3))
    if rng.random() < 0.5:
        force = force * 10.0 ** rng.uniform(-3, 3)
        qs.apply(body, force=force, point=point)
        return supple.wrench(model, body, force=force, point=point, q=qs.q)
    for sign in (1e3, -1e3):
        qs.apply(body, force=sign * force, point=point)
    qs.apply(body, force=1e-3 * force)
    return supple.wrench(model, body, force=1e-3 * force, q=qs.q)


@needs_extended
@pytest.mark.parametrize("seed", range(80))
def test_certificates_hold_where_digits_are_lost(seed: int):
    rng = np.random.default_rng(seed)
    model = drawn(rng, int(rng.choice([2, 3, 6, 12, 25])))
    measure, error = str(rng.choice(MEASURES)), 10.0 ** rng.uniform(-7, -1)
    qs = QuasiStatics(model, model.random(rng), error=error, measure=measure)
    W = pushed(qs, rng) if rng.random() < 0.6 else np.zeros((model.n_bodies, 6))
    tau = held(qs, rng, W) if rng.random() < 0.7 else np.zeros(model.nv)
    exact = accelerations_at_rest(model, qs.q, tau, W)
    for found in (qs.solve(), *list(qs.refine())[::4]):
        true = true_error(model, exact, found.dense(), measure)
        assert found.bounds[0] * (1 - 1e-6) <= true <= found.bounds[1] * (1 + 1e-6), found


def held_chain(n, extra):
    """A chain whose weight motors hold, all but a little; and its accelerations."""
    model = trees.chain(n, seed=2)
    q, rest = model.random(2), np.zeros(n)
    tau = supple.inverse_dynamics(model, q, rest, rest)
    tau[n // 2] += extra
    return model, q, tau, supple.forward_dynamics(model, q, rest, tau)


@pytest.mark.parametrize("n", [7, 30, 100, 300])
@pytest.mark.parametrize("extra", [1e-1, 1e-3, 1e-5])
def test_a_chain_that_motors_hold(n: int, extra: float):
    """Computed to 1 % however small the push, and the certificate is about it, not about nothing."""
    model, q, tau, exact = held_chain(n, extra)
    qs = QuasiStatics(model, q, error=1e-2)
    for j in range(n):
        qs.torque(j, tau[j])
    found = qs.solve()
    true = np.abs(found.dense() - exact).max() / np.abs(exact).max()
    assert len(found.joints) > 0 and found.error <= 1e-2
    assert found.bounds[0] - 1e-6 <= true <= found.bounds[1] + 1e-6
    assert found.total == pytest.approx(np.linalg.norm(exact), rel=1e-2)


def test_a_chain_that_settles_goes_on_until_rounding_stops_it():
    model = trees.chain(20, seed=4)
    qs = QuasiStatics(model, model.random(np.random.default_rng(0)))
    for _ in range(20_000):
        qs.step(0.1)
    found, exact = qs.solve(), supple.forward_dynamics(model, qs.q, np.zeros(20))
    assert np.linalg.norm(exact) < 1e-6
    assert found.error >= np.abs(found.dense() - exact).max() / np.abs(exact).max() * (1 - 1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_is_asked_is_met(measure: str):
    """However many joints it takes: the certificate decides, not a running sum that drifts."""
    for seed in range(20):
        model = trees.chain(100, gravity=(0, 0, 0), seed=seed)
        qs = QuasiStatics(model, model.random(seed), measure=measure)
        qs.apply(seed, force=(1, 2, 3), point=(0.1, 0.2, 0.3))
        size = qs.solve(error=0.0).total if measure.startswith("absolute") else 1.0
        for error in (1e-8, 1e-9, 1e-10):
            assert qs.solve(error=error * size).error <= error * size


def test_refining_notices_that_forces_or_the_state_have_changed():
    model = trees.chain(60, gravity=(0, 0, 0), seed=3)
    q = model.random(3)

    def check(qs, stages, force):
        W = supple.wrench(model, 30, force=force, q=qs.q)
        exact = supple.forward_dynamics(model, qs.q, np.zeros(model.nv), None, W)
        for stage in stages:
            assert true_error(model, exact, stage.dense(), "relative-linkage") <= stage.error + 1e-12
        assert stage.error < 1e-9

    def begun(qs):
        stages = qs.refine(error=0.0)
        for _ in range(5):
            next(stages)
        return stages

    qs = QuasiStatics(model, q, measure="relative-linkage")
    push = qs.apply(30, force=(1, 0, 0))
    stages = begun(qs)
    push.set(force=(0, 0, 5))
    check(qs, stages, (0, 0, 5))
    stages = begun(qs)
    qs.solve(error=0.5)
    check(qs, stages, (0, 0, 5))
    stages = begun(qs)
    for _ in range(5):
        qs.step(0.3)
    check(qs, stages, (0, 0, 5))


def test_light_links_that_carry_heavy_ones():
    """Three links, of which the tree has no digits; what is asked is met all the same."""
    b = supple.ModelBuilder()
    b.add_body("a", None, axis=(0, 0, 1), mass=1e-4, inertia=np.eye(3) * 1e-8)
    b.add_body("b", "a", axis=(0, 1, 0), position=(0.05, 0, 0), mass=900, com=(0.05, 0, 0), inertia=np.eye(3) * 9)
    b.add_body("c", "b", axis=(0.6, 0, 0.8), position=(50, 0, 0), mass=80, com=(0.5, 0.1, 0), inertia=np.eye(3) * 8,
               armature=5000)  # fmt: skip
    model = b.build()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        qs, tau = QuasiStatics(model, model.random(rng)), 10 * rng.standard_normal(3)
        for j in range(3):
            qs.torque(j, tau[j])
        exact = accelerations_at_rest(model, qs.q, tau)
        found = qs.solve()
        assert true_error(model, exact, found.dense(), "relative-joint") <= found.error <= 2.0**-19


def test_forces_everywhere_take_the_whole_body_and_few_the_tree_again():
    """Once forces are few, the tree serves again, after a while; what it then gives is right."""
    model = trees.chain(3000, gravity=(0, 0, 0), seed=1)
    q = model.random(1)
    qs = QuasiStatics(model, q, error=1e-4)
    rng = np.random.default_rng(0)
    pushes = [qs.apply(i, force=rng.standard_normal(3)) for i in range(0, 3000, 3)]
    assert qs.solve().whole
    for _ in range(5):
        qs.step(1e-3)
    for push in pushes[:500] + pushes[501:]:
        push.remove()
    wholes = []
    for _ in range(400):
        qs.step(1e-4)
        wholes.append(qs.solve().whole)
        if not wholes[-1]:
            break
    assert wholes[0] and not wholes[-1]
    found = qs.solve()
    W = supple.wrench(model, 1500, force=pushes[500].force, q=qs.q)
    exact = supple.forward_dynamics(model, qs.q, np.zeros(model.nv), None, W)
    assert not found.whole and true_error(model, exact, found.dense(), "relative-joint") <= found.error <= 1e-4


def test_a_saved_one_goes_on_to_the_same_bits():
    """Also while it is in the middle of trying the tree now and then."""
    model = trees.chain(200, seed=2)
    q, rest = model.random(2), np.zeros(200)
    tau = supple.inverse_dynamics(model, q, rest, rest)
    tau[100] += 1e-4

    def make(q):
        qs = QuasiStatics(model, q, error=1e-3)
        for j in range(200):
            qs.torque(j, tau[j])
        return qs

    one = make(q)
    for k in range(40):
        if k == 17:
            two = make(one.q)
            two.restore(one.save())
        one.step(0.01)
        if k >= 17:
            two.step(0.01)
            np.testing.assert_array_equal(one.q, two.q)
    with pytest.raises(supple.StateError, match="another model"):
        make(q).restore(QuasiStatics(trees.chain(3)).save())


def test_forces_that_cancel_on_one_body_count_by_their_size():
    """What is left of 1e11 N and -1e11 N is as uncertain as these are."""
    model = trees.chain(3, gravity=(0, 0, 0), seed=1)
    q = model.random(1)
    for size in (1e4, 1e8, 1e11):
        qs = QuasiStatics(model, q)
        force, point = np.array([0.3, -0.5, 0.8]), (0.1, 0.2, 0.3)
        for sign in (1.0, -1.0):
            qs.apply(1, force=sign * size * force, point=point)
        qs.apply(2, force=(1e-3, 2e-3, 0.0))
        exact = accelerations_at_rest(model, q, np.zeros(3), supple.wrench(model, 2, force=(1e-3, 2e-3, 0.0), q=q))
        for found in (qs.solve(), *qs.refine(error=0.0)):
            assert true_error(model, exact, found.dense(), "relative-joint") <= found.error


def test_a_stiff_spring_near_its_anchor_counts_by_where_it_is():
    model = trees.chain(3, gravity=(0, 0, 0), seed=1)
    q = model.random(1)
    anchor = supple.poses(model, q).position[2] + np.array([1e-9, 0.0, 0.0])
    for stiffness in (1e6, 1e10, 1e13):
        qs = QuasiStatics(model, q)
        qs.spring(2, anchor, stiffness)
        found = qs.solve()
        assert found.error > 1e-9  # nobody knows the position of the body better than that


def test_digits_are_measured_again_where_joints_have_slid_far():
    b = supple.ModelBuilder(gravity=(0, 0, 0))
    for i, mass in enumerate((1.0, 100.0, 1.0)):
        b.add_body(f"b{i}", i - 1 if i else None, "prismatic", axis=np.eye(3)[i], position=(0.3, 0.1, 0.2), mass=mass,
                   com=(0.1, 0.2, 0.0), inertia=0.1 * mass * np.eye(3))  # fmt: skip
    b.add_body(
        "tip", 2, "revolute", axis=(1, 1, 0), position=(0.1, 0, 0.4), mass=1.0, com=(0, 0.3, 0), inertia=np.eye(3)
    )
    model = b.build()
    for error in (1e-3, 1e-9):
        qs = QuasiStatics(model, model.neutral(), error=error)
        qs.apply("tip", force=(1.0, 2.0, 3.0), point=(0.1, 0.2, 0.3))
        for _ in range(3):
            qs.step(30.0)  # some hundred metres
            exact = accelerations_at_rest(
                model, qs.q, np.zeros(4), supple.wrench(model, "tip", force=(1, 2, 3), point=(0.1, 0.2, 0.3), q=qs.q)
            )
            for found in (qs.solve(), *qs.refine(error=0.0)):
                assert true_error(model, exact, found.dense(), "relative-joint") <= found.error


def test_what_was_set_before_restoring_is_not_lost():
    model = trees.chain(300, gravity=(0, 0, 0), seed=3)
    q = model.random(3)

    def make():
        qs = QuasiStatics(model, q, error=1e-3)
        qs.torque(150, 1.0)
        return qs

    one, two = make(), make()
    one.solve()
    two.restore(one.save())
    np.testing.assert_array_equal(one.solve().dense(), two.solve().dense())


@needs_extended
def test_luck_with_rounding_is_not_relied_upon():
    """Where a light link lies between heavy ones and accelerations are large, what rounding does changes a hundredfold
    from posture to posture: the certificate is about this one, not about the one at which rounding was probed."""
    broken = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = uneven(rng, 12, 1e6)
        qs = QuasiStatics(model, model.random(rng), error=1e-12, measure="absolute-joint")
        force = (1.0, 2.0, 3.0)
        qs.apply(11, force=force)
        for _ in range(8):
            found = qs.solve()
            exact = accelerations_at_rest(
                model, qs.q, np.zeros(model.nv), supple.wrench(model, 11, force=force, q=qs.q)
            )
            broken += bool(true_error(model, exact, found.dense(), "absolute-joint") > found.error * (1 + 1e-6))
            qs.step(np.sqrt(2e-3 / max(1.0, found.total)))
    assert broken == 0


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda qs: qs.step(1e200), "beyond what float64 can tell"),
        (lambda qs: qs.step("x"), "dt must be"),
        (lambda qs: qs.solve(joints=np.nan), "joints must be a whole number"),
        (lambda qs: qs.solve(joints=np.inf), "joints must be a whole number"),
        (lambda qs: qs.solve("x"), "error must be a finite number >= 0"),
        (lambda qs: qs.solve(seconds="x"), "seconds must be"),
    ],
)
def test_odd_arguments_are_answered_in_words(call, says):
    qs = QuasiStatics(trees.chain(4))
    before = qs.q.copy()
    with pytest.raises(supple.SuppleError, match=says):
        call(qs)
    np.testing.assert_array_equal(qs.q, before)


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("extra", [1e-1, 1e-2, 1e-3])
def test_a_guaranteed_error_holds_for_a_chain_that_motors_hold(n: int, extra: float):
    """Nothing was computed, and an error of 0 certified, when totals cancelled."""
    model, q, tau, exact = held_chain(n, extra)
    size = float(np.linalg.norm(exact))
    for measure, unit in (("absolute-linkage", 1.0), ("relative-linkage", size)):
        ad = supple.AdaptiveDynamics(model, q, error=1e-2 * size / unit, measure=measure, guaranteed=True)  # type: ignore[arg-type]
        for j in range(n):
            ad.torque(j, tau[j])
        ad.step(1e-6)
        true = float(np.linalg.norm(ad.v / 1e-6 - exact))
        assert true <= 1.001 * ad.error * unit and true <= ad.stats.acceleration_error * unit + 1e-3 * 1e-2 * size


def test_a_guaranteed_error_is_refused_where_the_tree_has_no_digits():
    b = supple.ModelBuilder()
    b.add_body("dummy", axis=(0, 0, 1), mass=1e-6, inertia=np.eye(3) * 1e-10)
    b.add_body("arm", "dummy", axis=(0, 1, 0), position=(0.05, 0, 0), mass=900, com=(0.05, 0, 0), inertia=np.eye(3) * 9)
    b.add_body("tip", "arm", axis=(0.6, 0, 0.8), position=(50, 0, 0), mass=80, com=(0.5, 0.1, 0), inertia=np.eye(3) * 8)
    with pytest.raises(
        supple.SingularError, match=r"'dummy' has a moment of inertia of 1e-10 kg m\^2 and carries up to 2.25e\+06 kg"
    ):
        supple.AdaptiveDynamics(b.build(), error=1e-3, guaranteed=True)


# --- guaranteed dynamics where forces are in balance ------------------------------------------------------------------


def said_and_true(ad, exact):
    """The error certified of a step so short that nothing moves, and the true one, as a share."""
    ad.step(2.0**-100)
    off = np.linalg.norm((ad.v * 2.0**100 - exact).astype(np.float64))
    return ad.stats.error, float(off / np.linalg.norm(exact.astype(np.float64)))


@pytest.mark.parametrize("seed", range(6))
def test_a_guaranteed_error_is_met(seed: int):
    """However many joints it takes; with all of them by the articulated-body algorithm, where the tree has too few
    digits left."""
    model = trees.chain(100, gravity=(0, 0, 0), seed=seed)
    for error in (1e-2, 1e-7, 1e-9):
        ad = supple.AdaptiveDynamics(model, model.random(seed), error=error, guaranteed=True)
        ad.apply(seed, force=(1, 2, 3), point=(0.1, 0.2, 0.3))
        ad.step(1e-6)
        assert ad.stats.error <= error
    model, q, tau, exact = held_chain(60 * (1 + seed), 1e-4)
    ad = supple.AdaptiveDynamics(model, q, error=1e-2, guaranteed=True)
    for j in range(model.nv):
        ad.torque(j, tau[j])
    said, true = said_and_true(ad, exact)
    assert true <= said <= 1e-2


@needs_extended
@pytest.mark.parametrize("off", [1e-12, 1e-9, 1e-6])
def test_a_pendulum_that_hangs_nearly_straight(off: float):
    """Its weight turns it by the small difference of large moments."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        b = supple.ModelBuilder(gravity=5.0 * rng.standard_normal(3))
        b.add_body(
            "b", None, axis=rng.standard_normal(3), mass=1.0, com=0.3 * rng.standard_normal(3), inertia=[0.02] * 3
        )
        model, q = b.build(), np.zeros(1)
        for _ in range(60):  # to where it hangs
            slope = (supple.gravity_force(model, q + 1e-5) - supple.gravity_force(model, q - 1e-5)) / 2e-5
            q -= np.clip(supple.gravity_force(model, q) / max(abs(slope[0]), 0.1), -0.5, 0.5)
        q += off
        ad = supple.AdaptiveDynamics(model, q, error=1e-3, guaranteed=True)
        said, true = said_and_true(ad, accelerations_at_rest(model, q, np.zeros(1)))
        assert true <= said * (1 + 1e-6)


@needs_extended
@pytest.mark.parametrize("how", ["controller", "spring"])
@pytest.mark.parametrize("seed", range(12))
def test_forces_of_one_joint_or_body_in_balance(how: str, seed: int):
    """A controller against a torque, and a stiff spring near its anchor: the error is that of their terms, not of their
    sum."""
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "prismatic", "universal")
    model = replace(random_model(rng, int(rng.choice([1, 2, 6, 15])), kinds, extras=False), gravity=np.zeros(3))
    q, j, stiffness = model.random(rng), int(rng.integers(model.n_bodies)), 10.0 ** rng.uniform(0, 7)
    ad = supple.AdaptiveDynamics(model, q, error=1e-3, guaranteed=True)
    tau, W, part = np.zeros(model.nv, dtype=Long), np.zeros((model.n_bodies, 6), dtype=Long), model.joints[j]
    if how == "controller":
        torque = stiffness * rng.uniform(0.5, 1.0, part.v.stop - part.v.start)
        target = q[part.q] - torque / stiffness * (1.0 + 10.0 ** rng.uniform(-12, -3))
        ad.torque(j, torque)
        ad.control(j, stiffness, target=target)
        tau[part.v] = torque + Long(stiffness) * (target.astype(Long) - q[part.q])
    else:
        (R, x), point = precise_pose(model, j, q), 0.3 * rng.standard_normal(3)
        x = x + R @ point
        anchor = x.astype(np.float64) + 10.0 ** rng.uniform(-12, -4) * rng.standard_normal(3)
        ad.spring(j, anchor, stiffness, point)
        force = R.T @ (Long(stiffness) * (anchor - x))
        W[j] = np.concatenate([np.cross(point, force), force])
    said, true = said_and_true(ad, accelerations_at_rest(model, q, tau, W))
    assert true <= said * (1 + 1e-6)
