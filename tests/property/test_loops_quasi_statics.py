"""Quasi-statics of bodies with loops: certified errors against dense formulas, over the tree and all at once."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

import supple
from linkages import four_bar, random_linkage
from supple.adaptive import quasi_static_loops
from supple.adaptive.measures import MEASURES, measured
from supple.bench.closed_chain import closed_chain
from supple.exact.closure import gaps
from supple.model.loops import relation
from supple.model.model import Model

EVERYTHING = 1 << 40


def with_relations(rng, model: Model, q: np.ndarray, count: int) -> Model:
    """The same with relations that hold at q."""
    single = [i for i in range(model.n_bodies) if model.joints[i].type in ("revolute", "prismatic")]
    relations = []
    for k in range(count if len(single) > 1 else 0):
        joints, factors = rng.choice(single, 2, replace=False), rng.normal(size=2)
        offset = float(factors @ q[model.q_index[joints]])
        named = {model.joint_names[j]: float(f) for j, f in zip(joints, factors)}
        relations.append(relation(f"gear {k}", named, offset))
    return replace(model, relation_list=tuple(relations))


class Pushed:
    """A body under random forces, and the accelerations that it should have."""

    def __init__(self, rng, model: Model, q: np.ndarray, measure: str) -> None:
        self.model, self.tau = model, np.zeros(model.nv)
        self.qs = supple.QuasiStatics(model, q, error=10 ** rng.uniform(-9, -1), measure=measure)
        self.pushes = []
        for _ in range(int(rng.integers(0, 4))):
            body, force = int(rng.integers(model.n_bodies)), 10 ** rng.uniform(-3, 3) * rng.normal(size=3)
            self.pushes.append(dict(body=body, force=force, point=rng.normal(size=3)))
            self.qs.apply(**self.pushes[-1])
        for joint in rng.integers(0, model.n_bodies, int(rng.integers(0, 4))).tolist():
            part = model.joints[joint].v
            self.tau[part] = 10.0 * rng.normal(size=part.stop - part.start)
            self.qs.torque(joint, self.tau[part])

    def off(self) -> tuple[float, float]:
        """The measured error, and the certified one."""
        q, W = self.qs.q.copy(), np.zeros((self.model.n_bodies, 6))
        for push in self.pushes:
            W = W + supple.wrench(self.model, q=q, **push)
        exact = supple.forward_dynamics(self.model, q, np.zeros(self.model.nv), self.tau, W, method="dense")
        found = self.qs.solve()
        first = self.model.v_index[np.diff(np.append(self.model.v_index, self.model.nv)) > 0]
        return measured(exact, found.dense(), self.qs.measure, first), found.error

    @property
    def gap(self) -> float:
        return float(np.abs(gaps(self.model, self.qs.q.copy()).phi).max())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("over_tree", [True, False])
def test_certified_errors_hold_with_loops_of_every_type(seed: int, over_tree: bool, monkeypatch):
    if over_tree:  # also where it does not pay
        monkeypatch.setattr(quasi_static_loops, "PASSES", -EVERYTHING)
    rng = np.random.default_rng(1000 + seed)
    loops = seed % 4
    model, q = random_linkage(rng, n=int(rng.integers(10, 60)), loops=loops)
    body = Pushed(rng, with_relations(rng, model, q, 2 - (loops > 0)), q, MEASURES[seed // 3])
    tree = 0
    for _ in range(3):
        off, certified = body.off()
        assert off <= certified * (1 + 1e-9) + 1e-11
        assert body.gap < 1e-10
        tree += not body.qs.solve().whole
        body.qs.step(1e-2)
    assert over_tree or not tree


def test_a_long_closed_chain_is_solved_over_the_tree():
    model, q = closed_chain(2000)
    qs = supple.QuasiStatics(model, q, error=1e-6)
    push = dict(force=(0.3, 0.0, 1.0), point=(0.0, 0.0, -0.5))
    qs.apply(600, **push)
    for _ in range(50):
        qs.step(1e-2)
    found, here = qs.solve(), qs.q.copy()
    exact = supple.forward_dynamics(model, here, np.zeros(model.nv), None, supple.wrench(model, 600, q=here, **push))
    assert not found.whole and len(found.joints) < 200
    assert np.abs(found.dense() - exact).max() <= found.error * np.abs(exact).max()
    assert found.error <= 1e-6 and np.abs(gaps(model, here).phi).max() < 1e-10
    assert np.abs(here - q).max() > 1e-4


def test_what_rounding_leaves_of_the_forces_is_certified_where_forces_cancel():
    """A closed chain whose motors hold it: only a light push is left, and no digits are lost in silence."""
    model, q = closed_chain(400)
    model = replace(model, gravity=np.array([0.0, 0.0, -9.81]))
    rest = np.zeros(model.nv)
    held = supple.inverse_dynamics(model, q, rest, rest)
    held[100] += 1e-7 * np.abs(held).max()
    qs = supple.QuasiStatics(model, q, error=1e-6)
    for joint in range(model.n_bodies):
        qs.torque(joint, held[model.joints[joint].v])
    exact = supple.forward_dynamics(model, q, rest, held)
    found = qs.solve()
    off = np.abs(found.dense() - exact).max() / np.abs(exact).max()
    assert off <= found.error and 0.0 < np.abs(exact).max() < 10.0


@pytest.mark.parametrize("links", [60, 2000])
def test_copies_and_saved_bodies_go_on_bit_identically(links: int):
    model, q = closed_chain(links)
    qs = supple.QuasiStatics(model, q, error=1e-6)
    qs.apply(links // 3, force=(0.3, 0.0, 1.0))
    for _ in range(5):
        qs.step(1e-2)
    other, pickled = copy(qs), pickle.loads(pickle.dumps(qs))
    again = supple.QuasiStatics(model, q, error=1e-6)
    again.apply(links // 3, force=(0.3, 0.0, 1.0))
    again.set_state(qs.q)
    again.restore(qs.save())
    for _ in range(5):
        for body in (qs, other, pickled, again):
            body.step(1e-2)
    for body in (other, pickled, again):
        np.testing.assert_array_equal(body.q, qs.q)


def test_open_loops_are_refused():
    model = four_bar()
    q = supple.close_loops(model, [-1.0, -0.2, 2.0])
    qs = supple.QuasiStatics(model, q)
    with pytest.raises(supple.StateError, match="is open by"):
        qs.set_state(q + 0.1)
    np.testing.assert_array_equal(qs.q, q)
    with pytest.raises(supple.StateError, match=r"supple\.close_loops"):
        supple.QuasiStatics(model, q + 0.1)


def test_a_linkage_comes_to_rest_where_its_energy_is_least():
    """Quasi-statics under gravity, with steps that shrink: the four-bar linkage ends where no force moves it."""
    model = four_bar()
    qs = supple.QuasiStatics(model, supple.close_loops(model, [-1.0, -0.2, 2.0]), error=1e-9)
    energies = [supple.potential_energy(model, qs.q)]
    for _ in range(60):
        qs.step(0.05)
        energies.append(supple.potential_energy(model, qs.q))
    assert min(energies) < energies[0] - 1.0 and np.abs(gaps(model, qs.q.copy()).phi).max() < 1e-12
