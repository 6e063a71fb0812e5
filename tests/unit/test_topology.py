"""Parent arrays: orders, ends of subtrees, depths, against definitions taken literally."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supple.model import parents
from supple.model.topology import depth_first, depths, n_children, slots, subtree_ends


@st.composite
def forests(draw, most=30):
    """Parents-first arrays."""
    n = draw(st.integers(1, most))
    return np.array([draw(st.integers(-1, i - 1)) for i in range(n)], dtype=np.int64)


@st.composite
def shuffled_forests(draw):
    """The same numbered at will: parents may come after children."""
    parent = draw(forests())
    number = np.array(draw(st.permutations(range(len(parent)))), dtype=np.int64)
    out = np.empty_like(parent)
    out[number] = np.where(parent < 0, -1, number[parent])
    return out


def walk(parent, i=-1):
    """Depth first, children by number: the definition, recursive."""
    for child in np.flatnonzero(parent == i):
        yield int(child)
        yield from walk(parent, child)


def ancestors(parent, i):
    while i >= 0:
        yield int(i)
        i = parent[i]


@given(shuffled_forests())
def test_depth_first(parent):
    np.testing.assert_array_equal(depth_first(parent), list(walk(parent)))


def renumbered(parent):
    """The same forest, depth first."""
    order = depth_first(parent)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return np.where(parent[order] < 0, -1, number[parent[order]])


@given(forests())
def test_slots(parent):
    """On the way out, a body finds its parent's data where it left them; on the way back, what its children handed it.

    There the last child comes first and begins the sum, and the others add to it.
    """
    up = renumbered(parent)
    end = subtree_ends(up)
    slot = slots(up, end)
    holds = {0: -1}
    for i, p in enumerate(up.tolist()):
        place = 0 if p < 0 else slot[p]
        assert holds[place] == p
        last_child = end[i] == (len(up) if p < 0 else end[p])
        assert (slot[i] == place) == last_child
        holds[slot[i]] = i
    sums = {}
    for i in range(len(up) - 1, -1, -1):
        p, below = up[i], list(np.flatnonzero(up == i))
        assert (sums.pop(slot[i], []) if below else []) == below[::-1]
        if p >= 0:
            sums.setdefault(slot[p], []).append(i)
    assert not sums


def test_slots_are_few():
    assert slots(parents.chain(50), np.full(50, 50)).max() == 0
    tree = renumbered(parents.balanced_binary(6))
    assert slots(tree, subtree_ends(tree)).max() < 6
    bush = np.append(-1, np.zeros(50, dtype=int))
    assert slots(bush, subtree_ends(bush)).max() == 1


@given(forests())
def test_ends_and_depths(parent):
    up = renumbered(parent)
    end = subtree_ends(up)
    for i in range(len(up)):
        descendants = [k for k in range(len(up)) if i in ancestors(up, k)]
        assert descendants == list(range(i, end[i]))
    np.testing.assert_array_equal(depths(parent), [len(list(ancestors(parent, i))) for i in range(len(parent))])


@given(forests())
def test_children(parent):
    np.testing.assert_array_equal(n_children(parent), [(parent == i).sum() for i in range(-1, len(parent))])


@pytest.mark.parametrize("n", [1, 2, 5])
def test_chain_and_star(n):
    """The chain has a way of its own; it gives what the others give."""
    chain, star = parents.chain(n), np.full(n, -1)
    np.testing.assert_array_equal(depth_first(chain), np.arange(n))
    np.testing.assert_array_equal(subtree_ends(chain), np.full(n, n))
    np.testing.assert_array_equal(depths(chain), np.arange(1, n + 1))
    np.testing.assert_array_equal(depth_first(star), np.arange(n))
    np.testing.assert_array_equal(subtree_ends(star), np.arange(1, n + 1))
    np.testing.assert_array_equal(depths(star), np.ones(n))


def test_bodies_on_a_cycle_are_left_out():
    parent = np.array([-1, 2, 3, 1, 0, 3])
    np.testing.assert_array_equal(depth_first(parent), [0, 4])


def test_nothing():
    none = np.zeros(0, dtype=np.int64)
    for f in (depth_first, subtree_ends, depths):
        assert f(none).shape == (0,)


def test_deep_trees_do_not_recurse():
    """100,000 deep, and not the chain that has a way of its own."""
    n = 100_000
    parent = np.append(np.arange(-1, n - 1), 0)
    np.testing.assert_array_equal(depth_first(parent), np.arange(n + 1))
    assert subtree_ends(parent)[:3].tolist() == [n + 1, n, n]
    assert depths(parent)[-2:].tolist() == [n, 2]
