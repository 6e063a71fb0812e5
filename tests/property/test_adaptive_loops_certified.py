"""Adaptive dynamics of bodies with loops and guaranteed=True: certified errors hold, rounding included."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import supple
from large_linkages import ladder, moving, net
from linkages import (
    CLOSING,
    allowed_velocity,
    bennett,
    four_bar,
    parallel,
    parallelogram,
    random_linkage,
    random_rotation,
)
from precise import needs_extended
from precise_loops import accelerations_with_loops
from supple import AdaptiveDynamics, ModelBuilder
from supple.exact.closure import closure, gaps

TINY = 1e-9  #: seconds: a step changes v by h a
NOISE = 1e-5  #: rad/s^2: what rounding of v leaves of accelerations


def error_of(ad, found, exact):
    error = float(np.linalg.norm((found - exact).astype(np.float64)))
    return error / float(np.linalg.norm(exact.astype(np.float64))) if ad.measure == "relative-linkage" else error


@pytest.mark.parametrize("kind", [*CLOSING, None])
def test_certified_errors_hold(kind):
    """At rest and in motion, for loops of every type, and for most errors of most bodies as asked."""
    left_out = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        kinds, n = CLOSING if kind is None else (kind,), int(rng.integers(4, 14))
        model, q = random_linkage(rng, kinds=kinds, loops=1 + seed % 3, n=n)
        v = (seed % 3) * allowed_velocity(rng, closure(model, q).G)
        name, force = f"b{int(rng.integers(n))}", 10 * rng.normal(size=3)
        measure = ("relative-linkage", "absolute-linkage")[seed % 2]
        ad = AdaptiveDynamics(model, q, v, error=10 ** rng.uniform(-3, -0.2), measure=measure, guaranteed=True)
        ad.apply(name, force=force)
        ad.step(TINY)
        exact = supple.forward_dynamics(model, q, v, wrenches=supple.wrench(model, name, force=force, q=q))
        assert error_of(ad, (ad.v - v) / TINY, exact) <= ad.stats.error + NOISE
        assert ad.stats.certified
        assert ad.stats.error <= ad.error
        left_out += n - ad.stats.active_count
    assert left_out > 0


def uneven(rng, n, loops, ratio):
    """Bodies whose masses are up to 10^ratio apart, in a plane or not."""
    seed, plane = int(rng.integers(1 << 30)), rng.random() < 0.4

    def tree():
        some, builder = np.random.default_rng(seed), ModelBuilder("uneven")
        for i in range(n):
            mass, size = 10 ** some.uniform(-ratio, 0), some.uniform(0.2, 0.5)
            kind, axis, place = "revolute", (0, 1, 0), np.array([size, 0, 0])
            if not plane:
                kind, axis = str(some.choice(["revolute", "ball", "prismatic"])), some.normal(size=3)
                place = size * some.normal(size=3)
            builder.add_body(
                f"b{i}", None if i == 0 else int(some.integers(max(0, i - 3), i)), kind, axis=axis,
                position=place * (i > 0), mass=mass, com=(size / 2, 0, 0), inertia=(0.1 * mass * size**2,) * 3,
            )  # fmt: skip
        return builder

    model, builder = tree().build(), tree()
    q = model.random(rng)
    poses = supple.poses(model, q)
    for _ in range(loops):
        kind = "revolute" if plane else str(rng.choice(["ball", "revolute", "fixed", "prismatic"]))
        a, b = (f"b{i}" for i in rng.choice(n, 2, replace=False))
        R, P = poses[a] if rng.random() < 0.6 else (np.eye(3), np.zeros(3))
        axis = np.array([0.0, 1.0, 0.0]) if plane else rng.normal(size=3)
        turn, place = np.eye(3) if plane else random_rotation(rng), 0.3 * rng.normal(size=3)
        place[1] *= not plane
        R_B, P_B = poses[b]
        builder.close(
            None if np.array_equal(R, np.eye(3)) else a, b, kind, axis=axis, position=place, rotation=turn,
            other_position=R_B.T @ (R @ place + P - P_B), other_rotation=R_B.T @ R @ turn,
        )  # fmt: skip
    return builder.build(), q


@needs_extended
@pytest.mark.parametrize("ratio", [0, 2, 4])
def test_rounding_is_part_of_what_is_certified(ratio):
    """Masses far apart, and torques that hold the body to within 10 % to 10^-10."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model, q = uneven(rng, int(rng.integers(3, 12)), int(rng.integers(1, 4)), ratio)
        ad = AdaptiveDynamics(model, q, error=10 ** rng.uniform(-8, -0.3), guaranteed=True)
        q, tau, wrenches = ad.q.copy(), np.zeros(model.nv), None
        if seed % 2:
            hold = supple.inverse_dynamics(model, q, np.zeros(model.nv), np.zeros(model.nv))
            tau = hold * (1.0 + 10 ** rng.uniform(-10, -1) * rng.normal(size=model.nv))
            for j in range(model.n_bodies):
                ad.torque(j, tau[model.joints[j].v])
        if seed % 3:
            name, force = model.body_names[-1], rng.normal(size=3) * 10 ** rng.uniform(-6, 1)
            ad.apply(name, force=force)
            wrenches = np.zeros((model.n_bodies, 6))
            wrenches[-1, 3:] = supple.poses(model, q)[name][0].T @ force
        ad.step(1e-12)
        exact = accelerations_with_loops(model, q, tau, wrenches)
        assert ad.stats.error == np.inf or error_of(ad, ad.v / 1e-12, exact) <= ad.stats.error, seed


@pytest.mark.parametrize("distance", [1e-13, 3e-10, 1e-8, 1e-6, 1e-4, 1e-2])
def test_near_singular_positions_the_bound_holds_or_is_infinite(distance):
    for rods in (2, 3):
        model = parallelogram(rods)
        ad = AdaptiveDynamics(model, parallel(distance, rods), error=1e-6, guaranteed=True)
        ad.apply("coupler", force=(1.0, 0.0, 2.0))
        q = ad.q.copy()
        ad.step(TINY)
        exact = supple.forward_dynamics(model, q, wrenches=supple.wrench(model, "coupler", force=(1, 0, 2), q=q))
        assert error_of(ad, ad.v / TINY, exact) <= ad.stats.error + NOISE
        assert (ad.stats.error == np.inf) == (1e-10 < distance < 1e-7)


@pytest.mark.parametrize("make", [four_bar, lambda: bennett()[0], lambda: net(3, 3), lambda: ladder(4, True)])
@pytest.mark.parametrize("error", [0.1, 1e-3])
def test_runs_with_certified_errors(make, error):
    """Every step certifies what was asked, which measured errors confirm up to terms in h^2; loops stay closed."""
    model = make()
    rng = np.random.default_rng(2)
    if model.name == "four-bar":
        q, v = supple.close_loops(model, [-1.0, -0.2, 2.0]), np.zeros(3)
    elif model.n_bodies == 3:
        q, v = bennett()[1], np.zeros(3)
    else:
        q, v = moving(rng, model)
    ad, dt = AdaptiveDynamics(model, q, 0.1 * v, error=error, guaranteed=True), 1e-4
    for k in range(40):
        measured = ad.measured_error(dt) if k % 10 == 0 else 0.0
        ad.step(dt)
        assert ad.stats.error <= error
        assert measured <= ad.stats.error + 1e-5
        assert np.abs(gaps(model, ad.q.copy(), ad.v.copy()).phi).max() < 1e-10


def closed_chain(n):
    """Hinges on a circle, without gravity; the last link's end is held to the first one's beginning."""
    builder, turn = ModelBuilder("closed chain", gravity=(0, 0, 0)), 2 * np.pi / (n + 1)
    rod = dict(axis=(0, 1, 0), mass=1.0, com=(0.5, 0, 0), inertia=(1e-3, 0.1, 0.1))
    for i in range(n):
        builder.add_body(f"b{i}", None if i == 0 else f"b{i - 1}", **rod, position=(1, 0, 0) if i else (0, 0, 0))
    builder.close(f"b{n - 1}", None, "ball", position=(1, 0, 0), other_position=(-np.cos(turn), 0, -np.sin(turn)))
    model = builder.build()
    return model, supple.close_loops(model, np.r_[0.0, np.full(n - 1, turn)])


def test_joints_far_from_a_force_are_left_out():
    model, q = closed_chain(40)
    ad = AdaptiveDynamics(model, q, error=0.1, guaranteed=True)
    q = ad.q.copy()
    ad.apply("b20", force=(0, 0, 1))
    ad.step(TINY)
    exact = supple.forward_dynamics(model, q, wrenches=supple.wrench(model, "b20", force=(0, 0, 1), q=q))
    assert error_of(ad, ad.v / TINY, exact) <= ad.stats.error <= 0.1
    assert ad.stats.active_count < 25
    assert np.abs(closure(model, q).G @ ad.v).max() < 1e-9 * np.abs(ad.v).max()


def test_copies_of_certified_runs_continue_bit_identically():
    model = net(3, 3)
    q, v = moving(np.random.default_rng(0), model)
    ad = AdaptiveDynamics(model, q, 0.3 * v, error=0.05, guaranteed=True)
    ad.run(0.01, 1e-3)
    other = copy.copy(ad)
    restored = AdaptiveDynamics(model, ad.q, ad.v, error=0.05, guaranteed=True)
    restored.restore(ad.save())
    for body in (ad, other, restored):
        body.run(0.01, 1e-3)
    assert all(np.array_equal(body.q, ad.q) and body.stats == ad.stats for body in (other, restored))


def test_certificates_may_be_asked_for_later():
    model = four_bar()
    ad = AdaptiveDynamics(model, supple.close_loops(model, [-1.0, -0.2, 2.0]), error=0.1)
    ad.run(0.01, 1e-3)
    ad.guaranteed = True
    ad.step(1e-3)
    assert ad.stats.certified
    assert ad.stats.error < 1e-9
