"""Adaptive dynamics of bodies with loops: against exact dynamics, dense formulas, and laws of conservation."""

from __future__ import annotations

import contextlib
import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

import supple
from large_linkages import four_bar_chain, ladder, moving, net
from linkages import (
    CLOSING,
    allowed_velocity,
    bennett,
    four_bar,
    parallel,
    parallelogram,
    random_linkage,
    random_rotation,
    related_trees,
)
from supple import AdaptiveDynamics, ModelBuilder, scenes
from supple.adaptive import hybrid_loops
from supple.exact.closure import closure, gaps

TINY = 1e-9  #: seconds: a step from rest leaves v = h a


def gap(model, ad):
    rows = gaps(model, ad.q.copy(), ad.v.copy())
    return float(np.abs(rows.phi).max())


def dense_accelerations(model, q, columns):
    """Of the given degrees of freedom from rest, all others being rigid: H a = f + G^T x, G a = g."""
    rows = closure(model, q)
    G, H = rows.G[:, columns], supple.mass_matrix(model, q)[np.ix_(columns, columns)]
    force = -supple.inverse_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))[columns]
    whole = np.block([[H, G.T], [G, np.zeros((len(G), len(G)))]])
    a = np.zeros(model.nv)
    a[columns] = np.linalg.lstsq(whole, np.concatenate([force, rows.g]), rcond=1e-11)[0][: len(columns)]
    return a


def columns_of(model, joints):
    return np.flatnonzero(np.isin(model.dof_body, joints))


# --- all joints move ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*CLOSING, None])
def test_accelerations_are_those_of_exact_dynamics(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, kinds=CLOSING if kind is None else (kind,), loops=1 + seed)
        ad = AdaptiveDynamics(model, q)
        ad.step(TINY)
        exact = supple.forward_dynamics(model, q)
        assert np.abs(ad.v / TINY - exact).max() < 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("kind", [*CLOSING, None])
def test_a_moving_linkage_follows_the_exact_motion(kind):
    """A step of 1e-4 s differs from one of fourth order by terms in h^3."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, kinds=CLOSING if kind is None else (kind,), loops=1 + seed)
        v = allowed_velocity(rng, closure(model, q).G)
        ad = AdaptiveDynamics(model, q, v)
        ad.step(1e-4)
        exact = supple.simulate(model, q, v, duration=1e-4, dt=1e-4)
        assert np.abs(ad.q - exact.q[-1]).max() < 1e-10
        assert np.abs(ad.v - exact.v[-1]).max() < 1e-10 * np.abs(exact.v[-1]).max()
        assert gap(model, ad) < 1e-12


def test_runs_converge_to_exact_ones_with_the_square_of_the_step():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    exact, off = supple.simulate(model, q, duration=0.5, dt=1e-4).q[-1], []
    for dt in (2e-3, 1e-3, 5e-4):
        ad = AdaptiveDynamics(model, q)
        ad.run(0.5, dt)
        off.append(np.abs(ad.q - exact).max())
    assert off[2] < 1e-5
    assert 3.5 < off[0] / off[1] < 4.5
    assert 3.5 < off[1] / off[2] < 4.5


def linkage(name):
    if name == "four-bar":
        model = four_bar()
        return model, supple.close_loops(model, [-1.0, -0.2, 2.0]), None
    if name == "Bennett's linkage":
        return *bennett(), None
    if name == "parallelogram":  # goes through its flat position
        return parallelogram(), parallel(0.7), None
    if name == "chain":
        return four_bar_chain(4)
    scene = getattr(scenes, name)()
    return scene.model, scene.q0, scene.v0


@pytest.mark.parametrize(
    "name",
    ["four-bar", "Bennett's linkage", "parallelogram", "chain", "bricard", "flyball", "slider_crank", "four_bar_chain"],
)
def test_linkages_keep_their_energy_and_stay_closed(name):
    model, q, v = linkage(name)
    ad = AdaptiveDynamics(model, q, v)
    first, fastest = ad.energy, 0.0
    for _ in range(25):
        ad.run(0.2, 2e-3)
        fastest = max(fastest, ad.kinetic)
        assert abs(ad.energy - first) < 2e-4 * fastest
        assert gap(model, ad) < 1e-11


@pytest.mark.parametrize("method", ["all", "some"])
def test_gears(method):
    """A wheel and a pinion that turns three times as fast, driven by a torque: a = tau / (J + 9 j)."""
    builder = ModelBuilder("gears", gravity=(0, 0, 0))
    for name, inertia in (("wheel", 2.0), ("pinion", 0.1), ("other", 1.0)):
        builder.add_body(name, axis=(0, 0, 1), mass=1, inertia=(inertia,) * 3)
    builder.relate({"wheel_joint": 3.0, "pinion_joint": 1.0}, offset=0.4)
    model = builder.build()
    q = supple.close_loops(model, [0.0, 0.4, 0.0])
    ad = AdaptiveDynamics(model, q, active=3 if method == "all" else 2, update_every=3)
    ad.torque("wheel_joint", 1.0)
    ad.run(1.0, 1e-2)
    assert ad.v == pytest.approx([1.0 / 2.9, -3.0 / 2.9, 0.0], abs=1e-12)
    assert 3.0 * ad.q[0] + ad.q[1] == pytest.approx(0.4, abs=1e-12)


def test_forces_act_as_in_exact_runs():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    forces = [
        supple.Push("coupler", force=(1.0, 0.0, 2.0), point=(0.3, 0.0, 0.0)),
        supple.Spring("coupler", anchor=(0.2, 0.0, -0.4), stiffness=30.0, damping=0.5),
        supple.SpringBetween("crank", "rocker", stiffness=20.0, damping=0.3),
        supple.Controller("rocker_joint", stiffness=2.0, damping=0.1, target=1.5),
    ]
    exact = supple.simulate(model, q, duration=0.5, dt=1e-4, forces=forces)
    adaptive = supple.simulate(model, q, duration=0.5, dt=5e-4, forces=forces, method="adaptive", active=3)
    assert np.abs(adaptive.q[-1] - exact.q[-1]).max() < 2e-5


# --- some joints move ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fronts", [False, True], ids=["at once", "along fronts"])
@pytest.mark.parametrize("make", [lambda: net(3, 3), lambda: ladder(4, True), lambda: four_bar_chain(3)[0]])
def test_accelerations_of_some_joints_are_those_of_a_body_whose_other_joints_are_rigid(make, fronts, monkeypatch):
    monkeypatch.setattr(hybrid_loops, "_cost", lambda mechanism: -1.0 if fronts else 1e300)
    model = make()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        q, _ = moving(rng, model)
        joints = rng.choice(model.n_bodies, size=int(model.n_bodies * (0.4 + 0.14 * seed)), replace=False)
        ad = AdaptiveDynamics(model, q, active=joints.tolist())
        ad.step(TINY)
        dense = dense_accelerations(model, q, columns_of(model, joints))
        assert np.abs(ad.v / TINY - dense).max() < 1e-8 * (1.0 + np.abs(dense).max())


@pytest.mark.parametrize("fronts", [False, True], ids=["at once", "along fronts"])
def test_relations_between_coordinates_that_loops_hold_change_nothing(fronts, monkeypatch):
    """All joints move, or some. Along fronts, none of the rows is misjudged."""
    monkeypatch.setattr(hybrid_loops, "_cost", lambda mechanism: -1.0 if fronts else 1e300)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model = related_trees(rng, 3 + seed % 3)
        q, n = model.neutral(), model.n_bodies
        for joints in (np.arange(n), rng.choice(n, size=n // 2, replace=False)):
            ad = AdaptiveDynamics(model, q, active=joints.tolist())
            ad.step(TINY)
            dense = dense_accelerations(model, q, columns_of(model, joints))
            assert np.abs(ad.v / TINY - dense).max() < 1e-9 * (1.0 + np.abs(dense).max())
            assert ad._hybrid.memory.closing.by_fronts == fronts
            assert not ad._hybrid.memory.misjudged


@pytest.mark.parametrize("falls", [True, False])
def test_rounding_along_redundant_rows_is_not_misjudged(falls, monkeypatch):
    """Of gaps and velocities that are nothing but rounding, none can be taken back along rows that depend on others:
    that is no reason to give up fronts, which take a fraction of the time."""
    monkeypatch.setattr(hybrid_loops, "_cost", lambda mechanism: -1.0)
    for seed in range(3):
        model = parallelogram(6, turned=random_rotation(np.random.default_rng(seed)))
        model = model if falls else replace(model, gravity=np.zeros(3))
        ad = AdaptiveDynamics(model, parallel(0.7, 6))
        first = ad.energy
        ad.run(0.2, 1e-3)
        assert (ad.kinetic > 0.1) == falls
        assert abs(ad.energy - first) < 2e-4 * ad.kinetic + 1e-12
        assert gap(model, ad) < 1e-12
        assert not ad._hybrid.memory.misjudged


@pytest.mark.parametrize("chosen", ["listed", "by number", "by error"])
def test_random_linkages_keep_energy_and_stay_closed(chosen):
    """Whatever joints move, and however many loops are between the same two rigid parts."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, loops=int(rng.integers(1, 5)), n=int(rng.integers(4, 14)))
        v, n = allowed_velocity(rng, closure(model, q).G), model.n_bodies
        if chosen == "listed":
            some = rng.choice(n, size=int(rng.integers(1, n + 1)), replace=False).tolist()
            ad = AdaptiveDynamics(model, q, active=some)
        elif chosen == "by number":
            ad = AdaptiveDynamics(model, q, v, active=int(rng.integers(1, n)), update_every=4)
        else:
            ad = AdaptiveDynamics(model, q, v, error=10 ** rng.uniform(-3, -0.3), update_every=4)
        first = ad.energy
        for _ in range(4):
            ad.run(0.02, 1e-3)
            assert ad.energy + ad.stats.energy_removed < first + 0.02 * ad.kinetic + 1e-9, seed
            assert gap(model, ad) < 1e-10, seed


def test_a_rigid_part_may_contain_whole_loops():
    """A four-bar linkage that hangs from an arm, all of whose joints are rigid, moves as without its loop."""

    def arm(closed):
        builder = ModelBuilder("arm")
        rod = dict(axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), inertia=(1e-3, 0.02, 0.02))
        builder.add_body("arm", **rod)
        for name, parent in (("a", "arm"), ("b", "a"), ("c", "b")):
            builder.add_body(name, parent, **rod, position=(0.4, 0, 0))
        if closed:
            builder.close("c", "arm", axis=(0, 1, 0), position=(0.4, 0, 0), other_position=(0.4, 0, 0.4))
        return builder.build()

    model = arm(True)
    q = supple.close_loops(model, [0.3, -0.2, -1.5, -1.5])
    one, other = (AdaptiveDynamics(m, q, active=["arm_joint"]) for m in (model, arm(False)))
    for body in (one, other):
        body.run(1.0, 1e-3)
    assert np.array_equal(one.q, other.q)
    assert np.abs(one.q - q).max() > 1.0


@pytest.mark.parametrize("seed", range(6))
def test_joints_are_chosen_by_the_accelerations_that_loops_allow(seed):
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, loops=2)
    v, lock = allowed_velocity(rng, closure(model, q).G), 1 + seed
    tau = np.zeros(model.nv)
    tau[model.joints[3].v] = 1.0
    ad = AdaptiveDynamics(model, q, v, active=3, update_every=1)
    ad.apply("b5", force=(1, 2, 3))
    ad.torque(3, tau[model.joints[3].v])
    ad.step(TINY)
    a = supple.forward_dynamics(model, q, v, tau, wrenches=supple.wrench(model, "b5", force=(1, 2, 3), q=q))
    assert ad._hybrid.memory.acceleration_total == pytest.approx(a @ a, rel=1e-7)
    locked = AdaptiveDynamics(model, q, active=3, update_every=1)
    locked.pin(lock, False)
    locked.step(TINY)
    a = dense_accelerations(model, q, np.setdiff1d(np.arange(model.nv), np.r_[model.joints[lock].v]))
    assert locked._hybrid.memory.acceleration_total == pytest.approx(a @ a, rel=1e-7)


def test_relations_count_in_the_choice():
    """Two pendulums that a relation couples, on a third: the accelerations are those of exact dynamics."""
    builder, rod = ModelBuilder(), dict(axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    builder.add_body("a", **rod)
    builder.add_body("b", "a", **rod, position=(0, 0, -1))
    builder.add_body("c", "b", **rod, position=(0, 0, -1))
    builder.relate({"a_joint": 1.0, "c_joint": -2.0})
    model = builder.build()
    q = supple.close_loops(model, [1.0, 0.3, 0.5])
    ad = AdaptiveDynamics(model, q, active=1, update_every=1)
    ad.step(TINY)
    a = supple.forward_dynamics(model, q)
    assert ad._hybrid.memory.acceleration_total == pytest.approx(a @ a, rel=1e-9)


def test_stopping_a_joint_keeps_loops_closed_and_the_momenta_of_the_others():
    model = net(3, 3)
    q, v = moving(np.random.default_rng(1), model)
    ad, stop = AdaptiveDynamics(model, q, v), model.joints["cross1_1_joint"]
    before = ad.kinetic
    ad.pin(stop.index, False)
    rest, rows = np.setdiff1d(np.arange(model.nv), np.r_[stop.v]), closure(model, q)
    H = supple.mass_matrix(model, q)
    G = rows.G[:, rest]
    whole = np.block([[H[np.ix_(rest, rest)], G.T], [G, np.zeros((len(G), len(G)))]])
    after = np.linalg.lstsq(whole, np.concatenate([(H @ v)[rest], np.zeros(len(G))]), rcond=1e-11)[0][: len(rest)]
    assert ad.v[rest] == pytest.approx(after, abs=1e-9)
    assert not ad.v[stop.v].any()
    assert ad.stats.energy_removed == pytest.approx(before - ad.kinetic)
    assert np.abs(rows.G @ ad.v).max() < 1e-10


@pytest.mark.parametrize("active", [1, 2])
def test_a_loop_of_which_too_few_joints_move_stands_still(active):
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    ad = AdaptiveDynamics(model, q, active=list(range(active)))
    ad.run(1.0, 1e-3)
    assert np.array_equal(ad.q, q)
    assert np.abs(ad.v).max() < 1e-15


def test_a_number_of_joints_with_which_nothing_can_move_is_refused():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    ad, whole = (
        AdaptiveDynamics(model, q),
        r"active=2 lets nothing move: loop 'pin' holds .* at least 3 .* use active=3",
    )
    with pytest.raises(supple.StateError, match=whole):
        AdaptiveDynamics(model, q, active=2)
    with pytest.raises(supple.StateError, match=whole):
        ad.active = 2
    assert ad.active == 3
    chain, q, v = four_bar_chain(20)
    with pytest.raises(supple.StateError, match="at least 41 of which have to move together"):
        AdaptiveDynamics(chain, q, v, active=40)
    AdaptiveDynamics(model, [*supple.close_loops(model, [-1.0, -0.2, 2.0])], active=0)


def gripper():
    """An arm of three hinges, the first of which is upright, with two fingers, light and fast, that a relation
    couples."""
    builder, rod = ModelBuilder("gripper"), dict(mass=1.0, com=(0.1, 0, 0.15), inertia=(0.01,) * 3)
    for i in range(3):
        place = dict(axis=(0, i > 0, i == 0), position=(0, 0, 0.3 * (i > 0)))
        builder.add_body(f"arm{i}", None if i == 0 else f"arm{i - 1}", **rod, **place)
    for name in ("left", "right"):
        builder.add_body(
            name, "arm2", "prismatic", axis=(1, 0, 0), position=(0, 0, 0.3), mass=0.01, inertia=(1e-5,) * 3
        )
    builder.relate({"left_joint": 1.0, "right_joint": -0.5})
    model = builder.build()
    return model, supple.close_loops(model, [0.3, 0.2, 0.1, 0.0, 0.0])


def test_joints_of_a_relation_are_chosen_together_or_not_at_all():
    model, q = gripper()
    ad = AdaptiveDynamics(model, q, active=1, update_every=3)
    ad.run(0.05, 1e-3)
    assert ad.active_joints.tolist() in ([1], [2])
    assert np.abs(ad.v).max() > 0.1
    fingers = AdaptiveDynamics(model, q, active=4, update_every=3)
    fingers.torque("left_joint", 1.0)
    fingers.run(0.05, 1e-3)
    assert {3, 4} < set(fingers.active_joints)
    assert fingers.v[4] == pytest.approx(2.0 * fingers.v[3])
    assert fingers.v[4] > 1.0


def test_four_bar_linkages_are_chosen_whole():
    """Four of them, side by side, one of which is driven: with three joints that one moves, with five no other."""
    builder = ModelBuilder("side by side", gravity=(0, 0, 0))
    rod = dict(axis=(0, 1, 0), mass=1.0, inertia=(1e-3, 0.05, 0.05))
    for i in range(4):
        builder.add_body(f"crank{i}", None, **rod, com=(0.15, 0, 0), position=(0, i, 0))
        builder.add_body(f"coupler{i}", f"crank{i}", **rod, com=(0.4, 0, 0), position=(0.3, 0, 0))
        builder.add_body(f"rocker{i}", f"coupler{i}", **rod, com=(0.3, 0, 0), position=(0.8, 0, 0))
        builder.close(f"rocker{i}", None, axis=(0, 1, 0), position=(0.6, 0, 0), other_position=(0.7, i, 0))
    model = builder.build()
    q = supple.close_loops(model, np.tile([-1.0, -0.2, 2.0], 4))
    for active in (3, 5):
        ad = AdaptiveDynamics(model, q, active=active, update_every=4)
        ad.torque("crank2_joint", 1.0)
        ad.run(0.1, 1e-3)
        driven = [model.joints[f"{name}2_joint"].index for name in ("crank", "coupler", "rocker")]
        assert sorted(set(ad.active_joints) & set(driven)) == sorted(driven)
        assert np.abs(ad.v[driven]).min() > 1e-3


def gears(n, ratio):
    """Wheels in series, each faster than the one before; off their centres, so that they turn by themselves."""
    builder, wheel = ModelBuilder("gears"), dict(mass=1.0, com=(0.1, 0, 0), inertia=(0.01,) * 3, axis=(0, 1, 0))
    for i in range(n):
        builder.add_body(f"wheel{i}", None, "continuous", **wheel, position=(i, 0, 0))
    for i in range(n - 1):
        builder.relate({f"wheel{i}_joint": ratio, f"wheel{i + 1}_joint": 1.0})
    return builder.build()


@pytest.mark.parametrize(("n", "ratio", "error"), [(20, 1.5, 0.3), (40, 1.3, 0.1), (40, 1.3, 0.5), (60, 1.1, 0.2)])
def test_an_error_of_gears_in_series_is_kept(n, ratio, error):
    """Few of them make up most of the velocity, and none turns without all others."""
    model = gears(n, ratio)
    ad, exact = AdaptiveDynamics(model, error=error, update_every=5), AdaptiveDynamics(model)
    for body in (ad, exact):
        body.run(0.05, 1e-3)
    assert np.linalg.norm(ad.v - exact.v) < error * np.linalg.norm(exact.v)
    assert ad.stats.error <= error


def test_an_error_of_a_chain_of_four_bars_is_kept():
    """It is measured at one of its ends: the rest has to move all the same."""
    model, q, v = four_bar_chain(30)
    weights = [1.0 if i < 2 else 1e-6 for i in range(model.n_bodies)]
    ad = AdaptiveDynamics(model, q, v, error=0.1, update_every=5, velocity_weights=weights)
    ad.run(0.02, 1e-3)
    assert np.abs(ad.v[:2]).min() > 0.9


def stuck_joints(model, q, joints):
    """Those of some joints that cannot move if all others are rigid."""
    columns = columns_of(model, joints)
    _, s, Vt = np.linalg.svd(closure(model, q).G[:, columns])
    motions, owners = np.abs(Vt[np.count_nonzero(s > 1e-9) :]), model.dof_body[columns]
    return [j for j in joints if motions[:, owners == j].max(initial=0.0) < 1e-7]


def plane_linkage(rng, n):
    """Hinges about y, with pins and relations between any of them."""
    seed, hinge = int(rng.integers(1 << 30)), dict(axis=(0, 1, 0), inertia=(0.05,) * 3)

    def tree():
        some, builder = np.random.default_rng(seed), ModelBuilder("plane")
        for i in range(n):
            parent, place = None if i == 0 else int(some.integers(max(0, i - 4), i)), some.normal(size=3) * (1, 0, 1)
            builder.add_body(f"b{i}", parent, **hinge, position=place, mass=some.uniform(0.3, 1), com=place[::-1] / 2)
        return builder

    q, builder = rng.normal(size=n), tree()
    poses = supple.poses(tree().build(), q)
    for _ in range(int(rng.integers(0, 3))):
        R, P = poses[b := f"b{int(rng.integers(n))}"]
        builder.close(None, b, axis=(0, 1, 0), position=P, rotation=R)
    for _ in range(int(rng.integers(1, 4))):
        some, factors = rng.choice(n, int(rng.integers(2, 4)), replace=False), rng.normal(size=3)
        at = np.array([tree().build().joints[f"b{j}_joint"].q.start for j in some])
        terms = {f"b{j}_joint": float(f) for j, f in zip(some, factors, strict=False)}
        builder.relate(terms, float(q[at] @ factors[: len(some)]))
    return builder.build(), q


def test_no_joint_is_chosen_that_cannot_move():
    """Random linkages with loops and relations, and every number of joints that is not refused."""
    moved = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 10))
        model, q = plane_linkage(rng, n)
        for active in range(1, n):
            try:
                ad = AdaptiveDynamics(model, q, active=active, update_every=3)
            except supple.StateError:
                continue
            for _ in range(3):
                ad.run(1e-3, 5e-4)
                ad.update()
                ad.step(5e-4)
                joints = ad.active_joints.tolist()
                assert len(joints) <= active, (seed, active)
                assert not stuck_joints(model, ad.q.copy(), joints), (seed, active)
                moved += len(joints)
    assert moved > 1000


def test_a_body_at_rest_in_a_shaky_position_stays_there():
    """A flat parallelogram whose rods would have to stretch: no false alarm, and no energy from nowhere."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        model, q = parallelogram(), parallel(float(rng.choice([0.0, np.pi])))
        ad = AdaptiveDynamics(model, q, active=int(rng.integers(3, 5)), update_every=int(rng.integers(1, 6)))
        if seed % 3 == 0:
            ad.pin(int(rng.integers(4)), False)
        body = str(rng.choice(["crank", "coupler", "rod1", "rod2"]))
        ad.spring(body, rng.normal(size=3), stiffness=float(10 ** rng.uniform(0, 2)))
        first, most = ad.energy, 0.0
        for _ in range(50):
            ad.step(1e-3)
            most = max(most, ad.kinetic)
            assert ad.energy < first + 0.2 * most + 1e-9, seed


@pytest.mark.parametrize("active", [10, 20, 40])
def test_a_net_of_which_some_joints_move(active):
    """At first in a plane, where rigid joints leave positions that the others cannot leave."""
    scene = scenes.net()
    ad = scene.adaptive_dynamics(active=active)
    first = ad.energy
    for _ in range(3):
        ad.run(0.02, 1e-3)
        assert ad.energy + ad.stats.energy_removed == pytest.approx(first, abs=0.02 * ad.kinetic)
        assert gap(scene.model, ad) < 1e-10
    assert ad.kinetic > 0.8


def test_no_step_in_a_shaky_position_gains_energy():
    """Among these joints a thread whirls past a position that the others cannot leave."""
    ad = scenes.net().adaptive_dynamics(active=35)
    first = ad.energy
    for _ in range(30):
        ad.run(0.01, 1e-3)
        assert ad.energy + ad.stats.energy_removed < first + 1e-3 * ad.kinetic
    assert ad.kinetic > 20.0


def test_masses_a_million_apart():
    light, heavy = four_bar(mass=1.0), ModelBuilder("uneven")
    for i, (name, length, mass) in enumerate((("crank", 0.3, 1e-3), ("coupler", 0.8, 1e3), ("rocker", 0.6, 1e-3))):
        about = mass * length**2 / 12
        heavy.add_body(
            name, None if i == 0 else ("crank", "coupler")[i - 1], "continuous", axis=(0, 1, 0), mass=mass,
            position=(0, 0, 0) if i == 0 else ((0.3, 0.8)[i - 1], 0, 0), com=(length / 2, 0, 0),
            inertia=(1e-3 * mass, about, about),
        )  # fmt: skip
    heavy.close("rocker", None, axis=(0, 1, 0), position=(0.6, 0, 0), other_position=(0.7, 0, 0))
    model = heavy.build()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    assert supple.close_loops(light, q) == pytest.approx(q)
    ad = AdaptiveDynamics(model, q)
    first = ad.energy
    ad.run(1.0, 5e-4)
    assert ad.energy == pytest.approx(first, abs=1e-4 * ad.kinetic)
    assert gap(model, ad) < 1e-11


# --- states, copies, refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pinned", "locked"), [(0, 1), (1, 0), (0, 2)])
def test_a_pinned_joint_that_a_lock_in_its_loop_keeps_from_moving_is_saved_and_restored(pinned, locked):
    model = four_bar()
    ad = AdaptiveDynamics(model, supple.close_loops(model, [-1.0, -0.2, 2.0]), error=0.5)
    ad.pin(pinned)
    ad.pin(locked, False)
    ad.run(0.01, 1e-3)
    assert ad.active_joints.size == 0
    saved = ad.save()
    ad.set_state(ad.q, ad.v)
    ad.restore(saved)
    ad.run(0.01, 1e-3)
    assert ad.active_joints.size == 0


def test_copies_pickles_and_saved_runs_continue_bit_identically():
    model = net(3, 3)
    q, v = moving(np.random.default_rng(0), model)
    settings = dict(active=12, update_every=7)
    ad = AdaptiveDynamics(model, q, 0.3 * v, **settings)
    ad.run(0.05, 1e-3)
    restored = AdaptiveDynamics(model, ad.q, ad.v, **settings)
    restored.restore(ad.save())
    others = copy.copy(ad), pickle.loads(pickle.dumps(ad)), restored
    for body in (ad, *others):
        body.run(0.05, 1e-3)
    assert all(np.array_equal(body.q, ad.q) and np.array_equal(body.v, ad.v) for body in others)


@pytest.mark.parametrize("seed", [379, 599])
def test_runs_in_which_fronts_misjudge_rows_continue_bit_identically(seed, monkeypatch):
    """Rows are then eliminated all at once until other joints are chosen: by copies and restored runs, too."""
    monkeypatch.setattr(hybrid_loops, "_cost", lambda mechanism: -1.0)
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, loops=int(rng.integers(2, 8)), n=int(rng.integers(6, 18)))
    settings = dict(active=int(rng.uniform(0.3, 0.95) * model.n_bodies), update_every=5)
    ad, misjudged = AdaptiveDynamics(model, q, **settings), 0
    for _ in range(12):
        ad.step(1e-3)
        misjudged += ad._hybrid.memory.misjudged
        restored = AdaptiveDynamics(model, ad.q, ad.v, **settings)
        restored.restore(ad.save())
        others = copy.copy(ad), pickle.loads(pickle.dumps(ad)), restored
        for body in (ad, *others):
            body.run(3e-3, 1e-3)
        assert all(np.array_equal(body.q, ad.q) and np.array_equal(body.v, ad.v) for body in others)
    assert misjudged > 0


def test_joints_that_stop_in_shaky_positions_are_no_false_alarm():
    """In flat positions joints are held as exactly as the root of rounding: energies there are no more exact."""
    ran = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        bars = int(rng.integers(2, 4))
        model, angle = parallelogram(bars), float(rng.choice([0.0, np.pi, 0.5, 1e-4, np.pi + 1e-6]))
        n, ran = model.n_bodies, ran + 1
        try:
            ad = AdaptiveDynamics(
                model, parallel(angle, bars), active=int(rng.integers(1, n + 1)), update_every=int(rng.integers(1, 8))
            )
        except supple.StateError:  # too few for any to move
            ran -= 1
            continue
        first = ad.energy
        for _ in range(60):
            ad.step(5e-4)
            with contextlib.suppress(supple.StateError):
                if rng.random() < 0.05:
                    ad.pin(int(rng.integers(n)), [True, False, None][int(rng.integers(3))])
            with contextlib.suppress(supple.StateError):
                if rng.random() < 0.05:
                    ad.active = int(rng.integers(1, n + 1))
            assert np.abs(gaps(model, ad.q, ad.v).phi).max() < 1e-10
        assert ad.energy < first + 1e-3
    assert ran > 50


def test_states_of_shaky_positions_are_taken_as_they_are():
    """Steps leave some of G v there: to be set to its own state, or to go back to it, changes no bit, nor is a locked
    joint given a velocity."""
    model = ladder(4, True)
    for seed in (1, 6, 11, 16):
        rng = np.random.default_rng(seed)
        some, every = int(model.n_bodies * rng.uniform(0.2, 0.9)), int(rng.integers(1, 9))
        ad = AdaptiveDynamics(model, model.neutral(), active=some, update_every=every)
        ad.apply(int(rng.integers(model.n_bodies)), force=rng.normal(size=3) * 10 ** rng.uniform(-1, 1))
        if seed % 2:
            ad.pin(int(rng.integers(model.n_bodies)), False)
        for _ in range(5):
            ad.run(5e-3, 1e-3)
            q, v, saved = ad.q.copy(), ad.v.copy(), ad.save()
            ad.run(3e-3, 1e-3)
            once = ad.q.copy()
            ad.set_state(q, v)
            assert np.array_equal(ad.q, q)
            assert np.array_equal(ad.v, v)
            ad.restore(saved)
            ad.run(3e-3, 1e-3)
            assert np.array_equal(ad.q, once)


def test_a_recorded_run_is_resumed_bit_identically(tmp_path):
    model = net(3, 3)
    q, v = moving(np.random.default_rng(3), model)
    how = dict(method="adaptive", active=12, update_every=7, dt=1e-3)
    whole = supple.simulate(model, q, 0.3 * v, duration=0.06, record=tmp_path / "whole", **how)
    supple.simulate(model, q, 0.3 * v, duration=0.03, record=tmp_path / "parts", **how)
    more = supple.simulate(model, q, 0.3 * v, duration=0.06, record=tmp_path / "parts", resume=True, **how)
    assert np.array_equal(whole.q[-1], more.q[-1])
    assert np.array_equal(whole.v[-1], more.v[-1])


def test_another_root_gives_the_same_motion():
    rng = np.random.default_rng(3)
    model, q = random_linkage(rng, loops=2)
    v = 0.5 * allowed_velocity(rng, closure(model, q).G)
    other = supple.reroot(model, q, v, body="b4", joint="free")
    one, two = AdaptiveDynamics(model, q, v), AdaptiveDynamics(other.model, other.q, other.v)
    for body in (one, two):
        body.run(0.05, 1e-4)
    assert two.energy == pytest.approx(one.energy, abs=1e-7 * one.kinetic)
    assert supple.center_of_mass(other.model, two.q) == pytest.approx(supple.center_of_mass(model, one.q), abs=1e-8)


def test_open_loops_are_refused():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    ad = AdaptiveDynamics(model, q)
    for call in (lambda *state: AdaptiveDynamics(model, *state), ad.set_state):
        with pytest.raises(supple.StateError, match=r"loop 'pin' is open by 0\.\d+ .* supple\.close_loops"):
            call(q + 0.1)
        with pytest.raises(supple.StateError, match=r"opened by the velocities .* supple\.close_velocities"):
            call(q, np.ones(3))
    assert np.array_equal(ad.q, q)


def test_a_state_that_is_nearly_closed_is_closed():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    ad = AdaptiveDynamics(model, q + 1e-8)
    assert gap(model, ad) < 1e-11


def test_a_loop_that_breaks_open_ends_the_run():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    v = supple.close_velocities(model, q, [40.0, 0.0, 0.0])
    ad = AdaptiveDynamics(model, q, v, check_energy=False)
    with pytest.raises(supple.SimulationError, match=r"loop 'pin' breaks open: .* the state of time .* is kept"):
        ad.run(1.0, 0.1)
    assert gap(model, ad) < 1e-11


@pytest.mark.parametrize("guaranteed", [False, True])
def test_what_was_before_leaves_nothing_behind(guaranteed):
    """A body at rest, after a step that failed or after set_state, goes on as a new one: loops that become active in
    the middle of a step have not been closed in it before."""
    model = four_bar()
    q = supple.close_loops(model, [-0.8, -0.4, 1.9])
    new, failed, moved = (AdaptiveDynamics(model, q, error=2e-3, guaranteed=guaranteed) for _ in range(3))
    with pytest.raises(supple.SimulationError):
        for _ in range(3):
            failed.step(5.0)
    moved.run(0.1, 0.02)
    moved.set_state(new.q)
    for body in (new, failed, moved):
        body.step(1e-3)
        np.testing.assert_array_equal(body.v, new.v)
    assert np.abs(new.v).max() > 0.01
