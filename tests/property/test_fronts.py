"""Mechanisms with many loops, along spanning trees other than the model's own, against dense formulas."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import supple
from supple.exact.closure import closure, gaps
from supple.exact.front_builder import mechanism
from supple.exact.spanning import meeting, spanning_tree
from supple.exact.with_loops import WITH_FORCES
from tests import large_linkages, linkages


def compare(model, q, v, tau, wrenches):
    """Accelerations as by dense formulas; forces along rows that cause them."""
    expected = supple.forward_dynamics(model, q, v, tau, wrenches, method="dense")
    free = supple.forward_dynamics(dataclasses.replace(model, loop_list=(), relation_list=()), q, v, tau, wrenches)
    found = WITH_FORCES(model, q, v, tau, wrenches)
    a, forces = found[: model.nv], found[model.nv :]
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-9 * np.abs(free).max())
    needed = supple.inverse_dynamics(model, q, v, a, wrenches) - tau
    np.testing.assert_allclose(closure(model, q).G.T @ forces, needed, rtol=0, atol=1e-8 * np.abs(needed).max())


@pytest.mark.parametrize("seed", range(25))
def test_random_mechanisms_with_many_loops(seed):
    rng = np.random.default_rng(seed)
    model, q = linkages.random_linkage(rng, n=int(rng.integers(8, 40)), loops=int(rng.integers(7, 16)))
    v = linkages.allowed_velocity(rng, closure(model, q).G)
    compare(model, q, v, rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6)))


LARGE = {
    "ladder, rails": lambda: large_linkages.ladder(12, True),
    "ladder, rails with armature": lambda: large_linkages.ladder(12, True, armature=0.2),
    "ladder, rungs": lambda: large_linkages.ladder(12, False),
    "net": lambda: large_linkages.net(4, 5),
}


@pytest.mark.parametrize("name", LARGE)
def test_ladders_and_nets(name):
    rng, model = np.random.default_rng(3), LARGE[name]()
    q, v = large_linkages.moving(rng, model)
    compare(model, q, v, rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6)))


def test_uneven_masses():
    """Bodies of a ladder a million times lighter than others: loops stay closed to rounding of the accelerations."""
    rng, even = np.random.default_rng(5), large_linkages.ladder(10, True)
    uneven = 10.0 ** rng.uniform(-6, 0, size=even.n_bodies)
    model = dataclasses.replace(even, mass=even.mass * uneven, inertia=even.inertia * uneven[:, None, None])
    q, v = large_linkages.moving(rng, model)
    a = supple.forward_dynamics(model, q, v)
    assert large_linkages.opening(model, q, v, a) < 1e-9 * np.abs(a).max()
    # what is left over of the forces does no work on motion that loops allow
    left = supple.inverse_dynamics(model, q, v, a)
    _, s, Vt = np.linalg.svd(closure(model, q).G)
    N = Vt[np.count_nonzero(s > 1e-9) :].T
    assert np.abs(N.T @ left).max() < 1e-9 * np.abs(supple.bias_force(model, q, v)).max()


@pytest.mark.parametrize("hanging", [False, True])
@pytest.mark.parametrize("windows", [1, 7, 300])
def test_four_bar_chain(windows, hanging):
    """Three of five rows of each loop are redundant."""
    model, q, v = large_linkages.four_bar_chain(windows, hanging)
    a = supple.forward_dynamics(model, q, v)
    np.testing.assert_allclose(a, large_linkages.four_bar_acceleration(windows) * v, rtol=0, atol=1e-10)


def test_large_mechanisms_are_closed_and_run():
    """Too large for dense matrices: closed by steps, velocities too, and kept closed in a run."""
    rng, model = np.random.default_rng(4), large_linkages.ladder(500, True)
    q = supple.close_loops(model, model.integrate(model.neutral(), 1e-3 * rng.normal(size=model.nv)))
    assert np.abs(gaps(model, q).phi).max() < 2e-12
    v = supple.close_velocities(model, q, 0.01 * rng.normal(size=model.nv))
    assert np.abs(gaps(model, q, v).rate).max() < 1e-10
    run = supple.simulate(model, q, v, duration=2e-3, dt=1e-3)
    assert max(np.abs(gaps(model, x).phi).max() for x in run.q) < 1e-11
    assert abs(run.energy[-1] - run.energy[0]) < 1e-6 * np.abs(run.kinetic).max()


def test_gears_between_branches():
    """A train of wheels on separate axles, each related to the next: one degree of freedom."""
    n, b = 200, supple.ModelBuilder("gears")
    ratio, inertia = np.linspace(0.95, 1.05, n), np.linspace(0.5, 1.5, n)
    for i in range(n):
        b.add_body(f"wheel{i}", None, "continuous", mass=1.0, inertia=(1, 1, inertia[i]))
    for i in range(n - 1):
        b.relate({f"wheel{i}_joint": ratio[i], f"wheel{i + 1}_joint": 1.0})
    model = b.build()
    speed = np.cumprod(np.concatenate([[1.0], -ratio[:-1]]))
    tau = np.random.default_rng(1).normal(size=n)
    expected = speed * (speed @ tau) / (speed @ (inertia * speed))
    np.testing.assert_allclose(supple.forward_dynamics(model, np.zeros(n), None, tau), expected, rtol=1e-9)
    assert mechanism(model).fronts["n"].max() == 2


GROWING = {
    "four-bar chain": lambda n: large_linkages.four_bar_chain(n)[0],
    "four-bar chain, hanging": lambda n: large_linkages.four_bar_chain(n, True)[0],
    "ladder, rails": lambda n: large_linkages.ladder(n, True),
    "ladder, rungs": lambda n: large_linkages.ladder(n, False),
    "strip of net": lambda n: large_linkages.net(3, n),
    "strip of net, across": lambda n: large_linkages.net(n, 3),
}


@pytest.mark.parametrize("name", GROWING)
def test_work_grows_with_size_only(name):
    """The rows at a body do not grow with the mechanism, so that its work does not."""
    tables = [mechanism(GROWING[name](n)) for n in (60, 300)]
    small, large = (int(x.fronts["n"].max()) for x in tables)
    assert large <= small <= 40
    numbers = [len(x.b) / x.n_nodes for x in tables]
    assert numbers[1] < 1.1 * numbers[0]
    # fronts are passed in the same memory, however many there are; so is what nodes pass on
    assert len(tables[1].F) <= len(tables[0].F)
    assert len(tables[1].passed) <= len(tables[0].passed)


def test_meeting_bodies():
    rng = np.random.default_rng(2)
    parent = np.array([int(rng.integers(-1, i)) for i in range(60)])

    def way(x):
        out = []
        while x >= 0:
            out.append(x)
            x = int(parent[x])
        return [*out, -1]

    a, b = rng.integers(-1, 60, size=(2, 200))
    expected = [next(x for x in way(i) if x in way(k)) for i, k in zip(a.tolist(), b.tolist())]
    np.testing.assert_array_equal(meeting(parent, a, b), expected)


def test_spanning_trees_span():
    """Every body has a way to the world along joints that exist."""
    model = large_linkages.ladder(20, True)
    tree = spanning_tree(model)
    ends = list(zip(model.parent.tolist(), range(model.n_bodies))) + [(x.body, x.other) for x in model.loop_list]
    for body, (up, joint) in enumerate(zip(tree.parent.tolist(), tree.edge.tolist())):
        assert {body, up} == set(ends[joint])
    assert (meeting(tree.parent, np.arange(model.n_bodies), np.full(model.n_bodies, -1)) == -1).all()
