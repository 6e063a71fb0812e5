"""Positions in which loops are closed, from near and from afar, and the mobility of mechanisms of any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import large_linkages
import supple
from linkages import (
    CLOSING,
    bennett,
    parallel,
    parallelogram,
    random_linkage,
)
from supple.exact import assembling
from supple.exact.closure import closure


@pytest.mark.parametrize("seed", range(8))
def test_mobility_of_many_loops_is_found_along_fronts(seed: int, monkeypatch):
    """Large mechanisms are not given to dense matrices; the numbers are the same."""
    rng = np.random.default_rng(seed)
    model, q = random_linkage(rng, n=int(rng.integers(4, 20)), loops=int(rng.integers(1, 6)))
    if seed == 0:
        scene = supple.scenes.four_bar_chain(6)
        model, q = scene.model, np.full(scene.model.nq, 0.0)
        q[: scene.model.nq] = np.where([n.startswith("rod") for n in model.body_names], np.pi / 2, -np.pi / 2)
    dense = model.mobility(q)
    monkeypatch.setattr(assembling, "DENSE", 0)
    fronts = model.mobility(q)
    assert (fronts.degrees, fronts.rows, fronts.redundant) == (dense.degrees, dense.rows, dense.redundant)
    assert fronts.singular == dense.singular and set(fronts.overconstrained) <= set(dense.overconstrained)
    assert seed or dense.singular


def test_what_is_far_from_closed_is_closed_all_the_same():
    """Many turns away, or a hundred metres."""
    builder = supple.ModelBuilder()
    for i, kind in enumerate(("continuous", "continuous", "prismatic")):
        builder.add_body(f"b{i}", None, kind, joint_name=f"j{i}", mass=1, inertia=(1, 1, 1))
    builder.relate({"j1": 1, "j0": -2}, 0.3)
    builder.relate({"j0": 1}, 0.1)
    builder.relate({"j2": 1, "j0": 5})
    q = supple.close_loops(builder.build(), [0.1, 40.0, -100.0])
    np.testing.assert_allclose(q, [0.1, 0.5, -0.5], atol=1e-11)


@pytest.mark.parametrize("seed", range(12))
def test_what_hangs_loosely_is_closed_from_anywhere(seed):
    """A free body pinned to the end of an arm: far from closed, and curved, so that whole steps back lead away."""
    rng = np.random.default_rng(seed)
    builder = supple.ModelBuilder()
    for i in range(4):
        builder.add_body(
            f"b{i}", i - 1 if i else None, "revolute", axis=rng.normal(size=3), position=rng.normal(size=3), mass=1,
            inertia=(1, 1, 1),
        )  # fmt: skip
    builder.add_body("free", joint="free", mass=1, inertia=(1, 1, 1))
    p, r = rng.normal(size=(2, 3))
    builder.close("b3", "free", "ball", position=p, other_position=r)
    model = builder.build()
    start = model.random(rng)
    q = supple.close_loops(model, start)

    def gap(x):
        poses = supple.poses(model, model.integrate(q, x))
        arm, free = poses["b3"], poses["free"]
        return arm.position + arm.rotation @ p - free.position - free.rotation @ r

    assert np.abs(gap(np.zeros(model.nv))).max() < 1e-11

    def far(x):
        here = model.integrate(q, x)
        back, free = model.difference(start, here), model.joints["free_joint"]
        back[free.v.start : free.v.start + 3] = (here - start)[free.q.start : free.q.start + 3]
        return float(back @ back)

    best = minimize(far, np.zeros(model.nv), constraints={"type": "eq", "fun": gap}, method="SLSQP", tol=1e-13)
    assert far(np.zeros(model.nv)) <= best.fun + 1e-6


@pytest.mark.parametrize(
    ("model", "q"), [(parallelogram(3), parallel(0.5, 3)), bennett()], ids=["parallelogram", "Bennett"]
)
def test_mobility_along_fronts_names_loops_whose_rows_are_passed_on(model, q, monkeypatch):
    monkeypatch.setattr(assembling, "DENSE", 0)
    found = model.mobility(q)
    assert found.redundant and found.overconstrained


def test_loops_are_closed_from_afar():
    """Half a radian and half a metre off at every joint, for loop joints of all types."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model, q = random_linkage(rng, CLOSING, n=8, loops=2)
        found = supple.close_loops(model, model.integrate(q, 0.5 * rng.uniform(-1, 1, model.nv)))
        assert np.abs(closure(model, found).phi).max() < 1e-11


@pytest.mark.parametrize("offset", [150.0, -1e3, 1e5])
def test_relations_are_closed_from_any_distance(offset: float):
    """They are linear: no step is too long."""
    b = supple.ModelBuilder()
    for name in ("wheel", "pinion"):
        b.add_body(name, None, "continuous", mass=1.0, inertia=(1, 1, 1))
    b.relate({"wheel_joint": 3.0, "pinion_joint": 4.0}, offset)
    np.testing.assert_allclose(supple.close_loops(b.build(), [0.0, 0.0]), np.array([3, 4]) * offset / 25, rtol=1e-12)


def test_the_smallest_gap_is_named():
    """From a stretched arm the first way leads nowhere: it ends 0.93 m away, others 0.07 m."""
    b, kind = supple.ModelBuilder(), dict(mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.add_body("base", None, "free", **kind)
    b.add_body("arm", "base", "ball", position=(0.5, 0, 0), **kind)
    b.add_body("hand", "arm", "revolute", axis=(0, 1, 0), position=(0.5, 0, 0), **kind)
    b.close("base", "hand", "ball", name="grip", position=(0.1, 0, 0.2), other_position=(0.0, 0.1, 0.0))
    model = b.build()
    with pytest.raises(supple.StateError, match=r"loop 'grip' cannot be closed from here: 0\.0\d+ m of its gap"):
        supple.close_loops(model, model.neutral())


def test_positions_nearby_are_nearby(monkeypatch):
    """Those at which mobility along fronts looks for rows that depend on each other here only."""
    model, seen = large_linkages.ladder(300, True), []
    q = model.neutral()
    monkeypatch.setattr(assembling, "DENSE", 0)
    monkeypatch.setattr(assembling, "close_loops", lambda model, q: seen.append(q) or supple.close_loops(model, q))
    assert model.mobility(q).degrees == model.nv - 900
    assert len(seen) == 4 and 1e-4 < max(np.abs(model.difference(q, x)).max() for x in seen) < 0.02
