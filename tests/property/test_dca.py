"""Divide and conquer on any tree: equal to the articulated-body algorithm, in every order of assembly.

1e-9 of the largest acceleration is what is promised; two algorithms that eliminate in different orders lose different
digits, as many as the mass matrix is ill-conditioned.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import precise
import supple
from drawn import SETTINGS, near, systems
from oracle import MOVING, random_model
from supple import trees
from supple.exact import dca, dca_memory, dca_runs
from supple.exact.dca import _layout, divide_and_conquer
from supple.exact.dca_memory import MANY
from supple.model import parents


def fd(model, q, v, tau=None, wrenches=None):
    return supple.forward_dynamics(model, q, v, tau, wrenches)


@pytest.fixture
def threads():
    from supple.exact import threads as settings

    before = settings.threads()
    yield supple.set_threads
    supple.set_threads(before)


@SETTINGS
@given(systems(), st.integers(0, 2**32 - 1))
def test_equal_to_the_articulated_body_algorithm_in_every_order(system, seed):
    model, q, v, tau, wrenches = system
    wanted = fd(model, q, v, tau, wrenches)
    for order in ("balanced", "chain", np.random.default_rng(seed).random(model.n_bodies)):
        near(divide_and_conquer(model, q, v, tau, wrenches, order), wanted, 1e-9)
    near(supple.forward_dynamics(model, q, v, tau, wrenches, method="dca"), wanted, 1e-9)
    near(divide_and_conquer(model, q, v), fd(model, q, v), 1e-9)


@pytest.mark.parametrize("kind", MOVING)
def test_chains_of_one_joint_type(kind: str):
    rng = np.random.default_rng(7)
    for extras in (False, True):
        model = random_model(rng, 12, (kind,), chain=1.0, world=0.0, extras=extras)
        q, (v, tau) = model.random(rng), rng.standard_normal((2, model.nv))
        near(divide_and_conquer(model, q, v, tau), fd(model, q, v, tau), 1e-9)


@pytest.mark.parametrize("base", ["revolute", "free"])
@pytest.mark.parametrize(
    "parent",
    [
        np.r_[-1, np.zeros(80, dtype=int)],
        np.r_[-1, 0, np.ones(40, dtype=int), np.full(40, 20)],
        np.full(50, -1),
        parents.balanced_binary(6),
        parents.side_branches(20, 3, 2),
    ],
    ids=["hub", "hub on a hub", "forest", "binary", "comb"],
)
def test_hubs_forests_and_floating_bases(parent, base):
    model = trees.from_parents(parent, base=base, seed=3)
    rng = np.random.default_rng(3)
    q, (v, tau) = model.random(rng), rng.standard_normal((2, model.nv))
    wrenches = rng.standard_normal((model.n_bodies, 6))
    for order in ("balanced", "chain", rng.random(model.n_bodies)):
        near(divide_and_conquer(model, q, v, tau, wrenches, order), fd(model, q, v, tau, wrenches), 1e-9)


@pytest.mark.parametrize("shape", ["chain", "bush"])
def test_a_large_body_on_one_and_two_threads(shape: str, threads):
    """Above MANY bodies parts run on threads of their own; what they compute does not depend on it."""
    n = 50_000
    assert n > MANY
    model = trees.chain(n) if shape == "chain" else trees.from_parents(parents.random(n, np.random.default_rng(2), 0.3))
    rng = np.random.default_rng(0)
    q, (v, tau) = model.random(rng), rng.standard_normal((2, model.nv))
    wrenches = rng.standard_normal((n, 6))
    found = []
    for count in (1, 2):
        threads(count)
        found.append(divide_and_conquer(model, q, v, tau, wrenches))
    np.testing.assert_array_equal(*found)
    near(found[0], fd(model, q, v, tau, wrenches), 1e-9)


@pytest.fixture
def large(monkeypatch):
    """Small bodies are treated as large ones: stretches of revolute joints are runs."""
    monkeypatch.setattr(dca_memory, "MANY", 2)
    monkeypatch.setattr(dca_runs, "LEAST", 1)
    return lambda longest: monkeypatch.setattr(dca_runs, "RUN", longest)


def runs_of(model, order="balanced"):
    """(count, 2) the first and the last bodies of its runs."""
    runs = _layout(model, order).runs
    return np.stack([runs["first"], runs["last"]], axis=1)


@pytest.mark.parametrize("longest", [1, 3, 8, 100])
@pytest.mark.parametrize("seed", range(6))
def test_runs_of_any_length_among_other_joints(seed: int, longest: int, large):
    """Every second model has armatures and damping; runs end at branches and at joints of other types."""
    large(longest)
    rng = np.random.default_rng(seed)
    kinds = ("revolute",) * 6 + (MOVING if seed % 3 == 0 else ("revolute", "ball", "prismatic"))
    model = random_model(rng, 60, kinds, chain=0.9, world=0.05, extras=seed % 2 == 1)
    q, (v, tau) = model.random(rng), rng.standard_normal((2, model.nv))
    wrenches = rng.standard_normal((model.n_bodies, 6))
    for order in ("balanced", "chain", rng.random(model.n_bodies)):
        runs = runs_of(model, order)
        assert len(runs) > 0 and (np.diff(runs) <= longest).all()
        for first, last in runs:
            inner = np.arange(first + 1, last + 1)
            assert (model.parent[inner] == inner - 1).all() and (np.isin(model.parent, inner - 1).sum() == len(inner))
        near(divide_and_conquer(model, q, v, tau, wrenches, order), fd(model, q, v, tau, wrenches), 1e-9)
        near(divide_and_conquer(model, q, v, order=order), fd(model, q, v), 1e-9)


def test_a_whole_body_may_be_a_run(large):
    """Also on a base that is not, and with nothing below it."""
    large(100)
    for base in ("revolute", "free"):
        model = trees.chain(12, base=base)
        assert runs_of(model).tolist() == ([[0, 11]] if base == "revolute" else [[3, 5], [6, 11]])
        rng = np.random.default_rng(1)
        q, (v, tau) = model.random(rng), rng.standard_normal((2, model.nv))
        near(divide_and_conquer(model, q, v, tau), fd(model, q, v, tau), 1e-11)


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 1e3, 1e6])
def test_runs_lose_no_more_digits_than_joints_one_by_one(ratio: float, monkeypatch):
    """Every third link is lighter or heavier by this ratio. What the passes alone return, without the comparison with
    articulated bodies that follows them, is compared with long double."""
    monkeypatch.setattr(dca, "keeps_digits", lambda model: True)
    rng = np.random.default_rng(5)
    b = supple.ModelBuilder()
    for i in range(40):
        m = ratio if i % 3 == 1 else 1.0
        b.add_body(
            None, i - 1 if i else None, axis=rng.standard_normal(3), position=(0, 0, 1.0), mass=m, com=(0, 0.1, 0.5),
            inertia=0.1 * m * np.eye(3),
        )  # fmt: skip
    q, tau, rest = b.build().random(rng), rng.standard_normal(40), np.zeros(40)
    wanted = precise.accelerations_at_rest(b.build(), q, tau)
    found = {}
    for many in (MANY, 2):
        monkeypatch.setattr(dca_memory, "MANY", many)
        model = b.build()
        assert (len(runs_of(model)) > 0) == (many == 2)
        found[many] = divide_and_conquer(model, q, rest, tau)
    error = float(np.abs(found[MANY] - wanted).max() / np.abs(wanted).max())
    near(found[2], wanted, max(2.0 * error, 1e-12))


@SETTINGS
@given(systems(largest=8), st.integers(1, 40))
def test_batches_equal_loops(system, size):
    model, _, _, _, wrenches = system
    rng = np.random.default_rng(size)
    q = np.array([model.random(rng) for _ in range(size)])
    v, tau = rng.standard_normal((2, size, model.nv))
    loop = [divide_and_conquer(model, q[i], v[i], tau[i], wrenches) for i in range(size)]
    np.testing.assert_array_equal(divide_and_conquer(model, q, v, tau, wrenches), loop)


def test_bad_states_are_named():
    model = trees.chain(4, joint="ball")
    q, v = model.neutral(), np.zeros(model.nv)
    with pytest.raises(supple.StateError, match="link2_joint"):
        divide_and_conquer(model, np.where(np.arange(16) == 9, np.nan, q), v)
    with pytest.raises(supple.StateError, match="link1"):
        divide_and_conquer(model, np.where(np.arange(16) == 7, 2.0, q), v)
    with pytest.raises(supple.StateError, match="shape"):
        divide_and_conquer(model, q[:-1], v)


def test_a_body_without_inertia_in_the_middle_of_a_path_is_named():
    b = supple.ModelBuilder()
    for i in range(5):
        b.add_body(f"b{i}", i - 1 if i else None, position=(0, 1, 0), mass=1.0, inertia=None if i == 2 else np.eye(3))
    model = b.build(singular="report")
    with pytest.raises(supple.SingularError, match="body 'b2'"):
        divide_and_conquer(model, np.ones(5), np.ones(5))
