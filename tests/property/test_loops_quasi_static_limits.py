"""Quasi-statics of bodies with loops where they are hard: nearly singular positions, mechanisms that cannot move, steps
after which loops cannot be closed, and states given back."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

import many_digits
import supple
from linkages import bennett, four_bar, parallel, parallelogram, random_linkage
from supple.adaptive import quasi_static_loops
from supple.adaptive.measures import MEASURES, measured
from supple.adaptive.pace import Pace
from supple.bench.closed_chain import closed_chain
from supple.exact.closure import closure, gaps
from supple.model.model import Model
from supple.scenes.chain_drive import chain_drive

PUSH = dict(force=(1.0, 2.0, 3.0))


def gap(qs: supple.QuasiStatics) -> float:
    return float(np.abs(gaps(qs.model, qs.q.copy()).phi).max())


def accelerations(model: Model, q: np.ndarray, torque: float) -> np.ndarray:
    """Those under PUSH on the last body, and a torque on the first joint."""
    tau = np.zeros(model.nv)
    tau[0] = torque
    return supple.forward_dynamics(
        model, q, np.zeros(model.nv), tau, supple.wrench(model, model.n_bodies - 1, q=q, **PUSH)
    )


def nearly_singular() -> list[tuple[str, Model, np.ndarray]]:
    """Flat parallelograms and a flat four-bar linkage, and positions beside them."""
    flat = four_bar(crank=0.3, coupler=0.8, rocker=0.5, base=0.6)
    out = [("Bennett", *bennett())]
    for e in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 3e-7, 1e-8, 0.0):
        out += [(f"{rods} rods at {e:g}", parallelogram(rods), parallel(e, rods)) for rods in (2, 3)]
        out += [(f"flat at {e:g}", flat, np.array([e, 0.0, np.pi]))]
    return out


@pytest.mark.parametrize("over_tree", [True, False])
@pytest.mark.parametrize(("name", "model", "q"), nearly_singular(), ids=lambda x: x if isinstance(x, str) else "")
def test_certified_errors_hold_in_nearly_singular_positions(name, model, q, over_tree: bool, monkeypatch):
    if over_tree:
        monkeypatch.setattr(quasi_static_loops, "PASSES", -(1 << 40))
    q = supple.close_loops(model, q)
    exact = accelerations(model, q, 3.0)
    for measure in MEASURES:
        qs = supple.QuasiStatics(model, q, error=1e-3, measure=measure)
        qs.torque(0, [3.0])
        qs.apply(model.n_bodies - 1, **PUSH)
        np.testing.assert_array_equal(qs.q, q)
        found = qs.solve()
        off = measured(exact, found.dense(), measure, model.v_index)
        assert off <= found.error + 1e-13 * np.abs(exact).max(), measure


@pytest.mark.parametrize("over_tree", [True, False])
@pytest.mark.parametrize("distance", [1e-4, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11])
def test_certified_errors_hold_for_the_motion_that_all_rows_allow(distance: float, over_tree: bool, monkeypatch):
    """Beside a singular position rows count as redundant that are not: the true accelerations, in many digits, are
    those of one degree of freedom."""
    if over_tree:
        monkeypatch.setattr(quasi_static_loops, "PASSES", -(1 << 40))
    flat = four_bar(crank=0.3, coupler=0.8, rocker=0.5, base=0.6)
    cases = (flat, [distance, 0.0, np.pi]), (parallelogram(2), parallel(distance, 2))
    for model, near in cases:
        q, tau = supple.close_loops(model, near), np.zeros(model.nv)
        tau[0] = 3.0
        exact = many_digits.accelerations(model, q, tau, apart="1e-14")
        for error in (1e-3, 1.0, 100.0):
            qs = supple.QuasiStatics(model, q, error=error, measure="absolute-linkage")
            qs.torque(0, tau[:1])
            found = qs.solve()
            assert np.linalg.norm(found.dense() - exact) <= found.error * (1 + 1e-3)


def test_nothing_is_promised_of_accelerations_that_are_rounding_alone():
    """A mechanism that cannot move: its true accelerations are zero, so that every relative error is infinite."""
    b = supple.ModelBuilder()
    for i in range(3):
        b.add_body(
            f"b{i}", i - 1 if i else None, "revolute", axis=(1.0, i, 2.0), position=(0.3, 0.1 * i, 0.2), mass=1.0 + i,
            com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25),
        )  # fmt: skip
    free = b.build()
    q = np.array([0.3, -0.7, 1.1])
    R, r = supple.poses(free, q)["b2"]
    b.close(None, "b2", "fixed", position=r, rotation=R)
    model = b.build()
    assert model.mobility(q).degrees == 0
    for measure in ("relative-joint", "relative-linkage"):
        found = supple.QuasiStatics(model, q, measure=measure).solve(error=0.0)
        assert not found.dense().any() or found.error >= 1.0


@pytest.mark.parametrize("over_tree", [True, False])
def test_accelerations_that_open_loops_are_part_of_the_error_where_masses_are_far_apart(over_tree: bool, monkeypatch):
    """G qdd is zero for the true accelerations: |G_r qdd| / |G_r| is at most their distance from those found."""
    if over_tree:
        monkeypatch.setattr(quasi_static_loops, "PASSES", -(1 << 40))
    for seed in (*range(20), 184, 473):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, ("prismatic", "planar", "fixed", "cylindrical"), n=20, loops=3)
        apart = 10 ** rng.uniform(-6, 6, model.n_bodies)
        model = replace(
            model, mass=model.mass * apart, inertia=model.inertia * apart[:, None, None], armature=0 * model.armature
        )
        q = supple.close_loops(model, q)
        qs = supple.QuasiStatics(model, q, error=1e-3, measure="absolute-linkage")
        found, rows = qs.solve(), closure(model, qs.q.copy())
        a, lengths = found.dense(), np.linalg.norm(rows.G, axis=1)
        opens = np.abs(rows.G @ a)[lengths > 1e-6] / lengths[lengths > 1e-6]
        assert opens.max() <= found.error + 1e-14 * np.linalg.norm(a), seed


@pytest.mark.parametrize("seed", range(6))
def test_springs_between_bodies_are_where_their_ends_are(seed: int):
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, n=8, loops=2)
    ends = rng.choice(model.n_bodies, 2, replace=False).tolist()
    qs = supple.QuasiStatics(model, q, error=0.0, measure="absolute-linkage")
    qs.spring_between(*ends, 100.0)
    for _ in range(3):
        here = qs.q.copy()
        d = supple.poses(model, here)[ends[1]][1] - supple.poses(model, here)[ends[0]][1]
        W = sum(supple.wrench(model, b, 100.0 * d * s, q=here) for b, s in zip(ends, (1.0, -1.0)))
        exact = supple.forward_dynamics(model, here, np.zeros(model.nv), None, W, method="dense")
        found = qs.solve()
        assert found.whole and np.linalg.norm(found.dense() - exact) <= found.error + 1e-9
        assert found.error < 1e-6
        qs.step(0.05)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("links", [200, 2000])
def test_loops_are_closed_after_steps_in_which_few_joints_move(links: int, whole: bool, monkeypatch):
    if whole:
        monkeypatch.setattr(Pace, "tree", lambda self, dirty: False)
    model, q = closed_chain(links)
    qs = supple.QuasiStatics(model, q, error=1e-3)
    qs.apply(links // 3, force=(0.3, 0.0, 1.0), point=(0.0, 0.0, -0.5))
    for _ in range(20):
        qs.step(0.1)
        assert gap(qs) < 1e-10
    found = qs.solve()
    assert found.whole == whole and len(found.joints) < links // 2


@pytest.mark.parametrize("seed", range(12))
def test_loops_of_every_type_are_closed_after_steps_of_the_whole_body_in_which_few_joints_move(seed: int, monkeypatch):
    monkeypatch.setattr(quasi_static_loops, "PASSES", -(1 << 40))
    monkeypatch.setattr(Pace, "tree", lambda self, dirty: False)
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, n=30, loops=1 + seed % 2)
    qs = supple.QuasiStatics(model, q, error=0.1)
    qs.apply(int(rng.integers(model.n_bodies)), force=30.0 * rng.normal(size=3))
    for _ in range(6):
        qs.step(0.03)
        assert gap(qs) < 1e-10


@pytest.mark.parametrize("make", [four_bar, lambda: chain_drive(40).model, lambda: closed_chain(400)[0]])
def test_a_step_that_cannot_be_closed_keeps_the_state(make):
    model = make()
    q = {"four-bar": [-1.0, -0.2, 2.0], "chain drive": chain_drive(40).q0}.get(model.name, closed_chain(400)[1])
    qs = supple.QuasiStatics(model, supple.close_loops(model, q))
    qs.apply(model.n_bodies - 1, force=(1.0, 0.0, 1.0))
    qs.step(1e-4)
    before, then = qs.q.copy(), copy(qs)
    for dt in (1e7, 1e40, 1e120):
        with pytest.raises(supple.SimulationError, match=r"loop|float64"):
            qs.step(dt)
        np.testing.assert_array_equal(qs.q, before)
        assert (qs.time, qs.steps) == (1e-4, 1)
    np.testing.assert_allclose(qs.solve().dense(), then.solve().dense(), rtol=1e-4, atol=1e-3 * model.nv)
    qs.step(1e-4)
    assert gap(qs) < 1e-10 and qs.steps == 2


def test_the_largest_steps_leave_no_state_that_is_not_a_number():
    b = supple.ModelBuilder()
    b.add_body("ball", None, "ball", mass=1, com=(0.3, 0.1, 0), inertia=(0.1, 0.1, 0.1))
    qs = supple.QuasiStatics(b.build())
    for dt in (1e100, 1e150, 1e300):
        with pytest.raises(supple.SimulationError, match="float64"):
            qs.step(dt)
    np.testing.assert_array_equal(qs.q, [0, 0, 0, 1])


@pytest.mark.parametrize("over_tree", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_state_that_is_given_back_stays_as_it_is(seed: int, over_tree: bool, monkeypatch):
    if over_tree:
        monkeypatch.setattr(quasi_static_loops, "PASSES", -(1 << 40))
    rng = np.random.default_rng(seed)
    model, q = closed_chain(300) if seed % 2 else random_linkage(rng, n=12, loops=2)
    qs = supple.QuasiStatics(model, q, error=1e-5)
    push = int(rng.integers(model.n_bodies)), rng.normal(size=3)
    qs.apply(*push)
    for dt in 10 ** rng.uniform(-3, -1, 12):
        qs.step(dt)
        again = supple.QuasiStatics(model, qs.q.copy(), error=1e-5)
        np.testing.assert_array_equal(again.q, qs.q)
        again.apply(*push)
        again.restore(qs.save())
        then = copy(qs)
        for body in (then, again):
            body.step(1e-2)
        np.testing.assert_array_equal(again.q, then.q)
