"""Walks of many states: each as `walk` makes it, by closed forms and in general."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import supple
from supple import StateError, scenes
from supple.walking.flat import _accelerations, flat_of
from supple.walking.many import Walking, walk_many
from supple.walking.walkers import footing

WALKERS = {
    "compass": scenes.compass(),
    "other compass": scenes.compass(0.06, hip_mass=5.0, leg_mass=1.5, length=0.8, leg_center=0.4),
    "simplest": scenes.simplest_walker(0.01),
}


def cells(walker, spread, m=40):
    rng = np.random.default_rng(3)
    size = np.abs(walker.v).max()
    q = walker.q + spread * rng.standard_normal((m, 2))
    return np.stack([q[:, 0], walker.q[1] + spread * rng.standard_normal(m)], axis=1), walker.v + spread * size * (
        rng.standard_normal((m, 2))
    )


@pytest.mark.parametrize("name", WALKERS)
def test_each_is_what_walk_makes_of_it(name):
    """To the tolerance of the integration, grown by the steps; falls and touchdowns are the same ones."""
    walker = WALKERS[name]
    q, v = cells(walker, 0.03)
    many = walk_many(walker, q, v, 4, keep=3, tolerance=1e-11)
    assert 0 < many.fell.sum() < len(q) or name == "other compass"
    for i in range(len(q)):
        one = supple.walk(walker.at(q[i], v[i]), 4, trace=False)
        assert many.steps[i] == sum(s.landed for s in one) and many.fell[i] == (not one[-1].landed)
        assert np.allclose([many.q[i], many.v[i]], one[-1].after, atol=1e-7)
        last = [s for s in one if s.landed][-3:]
        known = np.isfinite(many.durations[i])
        assert known.sum() == len(last)
        assert np.allclose(many.durations[i][known], [s.duration for s in last], atol=1e-7)
        assert np.allclose(many.lengths[i][known], [np.linalg.norm(s.travel) for s in last], atol=1e-7)


@pytest.mark.parametrize("name", WALKERS)
def test_closed_forms_are_the_general_algorithm(name):
    walker, rng = WALKERS[name], np.random.default_rng(1)
    other = supple.impact(walker.model, walker.q, walker.v, body=walker.feet[1], axis=walker.axis).model
    for model in (walker.model, other):
        general, flat = footing(walker, model), footing(walker, model, flat=True)
        f = SimpleNamespace(**flat_of(model, walker.axis, general._given))
        assert f.is_so == 1
        for q, v in rng.standard_normal((20, 2, 2)):
            assert np.allclose(flat(q), general(q), atol=1e-14)
            a = supple.forward_dynamics(model, q, v)
            ours = getattr(_accelerations, "py_func", _accelerations)(f, *q, *v)[:2]
            assert np.abs(np.array(ours) - a).max() < 1e-13 * max(1.0, np.abs(a).max())


def test_walks_in_general_are_the_same():
    walker = WALKERS["compass"]
    q, v = cells(walker, 0.03, 12)
    both = []
    for flat in (True, False):
        states, ends = np.concatenate([q, v], axis=1), np.zeros((12, 2), dtype=np.int64)
        Walking(walker, 1e-11, 1.0, flat)(states, ends, np.zeros((12, 0, 2)), 4)
        both.append((states, ends))
    assert np.allclose(both[0][0], both[1][0], atol=1e-7) and np.array_equal(both[0][1], both[1][1])


def test_a_walk_does_not_depend_on_its_neighbours():
    """Alone or among others, the same bits: what a sweep of batches needs."""
    walker = WALKERS["simplest"]
    q, v = cells(walker, 0.03, 9)
    whole = walk_many(walker, q, v, 3, keep=2)
    for i in range(9):
        alone = walk_many(walker, q[i : i + 1], v[i : i + 1], 3, keep=2)
        assert alone.q.tobytes() == whole.q[i].tobytes() and alone.durations.tobytes() == whole.durations[i].tobytes()


@pytest.mark.parametrize(("q", "v"), [([0.0, 1.0], [0.0, 1.0]), ([[0.0]], [[0.0]]), ([[0.0, np.nan]], [[0.0, 1.0]])])
def test_what_is_no_table_of_states(q, v):
    with pytest.raises(StateError, match="walk_many: q must be finite numbers of shape"):
        walk_many(WALKERS["compass"], q, v)
    with pytest.raises(StateError, match="2 q and 1 v"):
        walk_many(WALKERS["compass"], np.zeros((2, 2)), np.zeros((1, 2)))


@pytest.mark.parametrize("make", [supple.scenes.compass, supple.scenes.simplest_walker])
def test_who_lies_on_the_ground_makes_no_step(make):
    """Where `walk` refuses to begin; states all around the circle."""
    walker, rng = make(), np.random.default_rng(4)
    q, v = rng.uniform(-np.pi, np.pi, (60, 2)), rng.normal(size=(60, 2))
    walks = supple.walk_many(walker, q, v, 2)
    refused = np.array([not _begins(walker, x, y) for x, y in zip(q, v)])
    assert 5 < refused.sum() < 55
    assert walks.fell[refused].all() and not walks.steps[refused].any()
    assert np.array_equal(walks.q[refused], q[refused]) and np.array_equal(walks.v[refused], v[refused])


def _begins(walker, q, v):
    try:
        supple.walk(walker.at(q, v), 1, trace=False)
    except supple.StateError as e:
        assert "has already fallen" in str(e)
        return False
    return True
