"""Assembly trees: what they are made of, how their parts hang together, how deep they are."""

from __future__ import annotations

import numpy as np
import pytest

from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly, assemble
from supple.errors import StateError
from supple.model import parents, trees
from supple.model.model import Model

HUB = np.r_[-1, np.zeros(300, dtype=int)]
SHAPES = {
    "one body": np.array([-1]),
    "chain": parents.chain(200),
    "hub": HUB,
    "two hubs": np.r_[HUB, -1, np.full(200, 301)],
    "binary": parents.balanced_binary(8),
    "comb": parents.side_branches(60, 3, 2),
    "many trees": np.full(100, -1),
    "random": parents.random(300, np.random.default_rng(1), 0.2, 0.05),
}


def orders(n: int):
    return {"balanced": "balanced", "chain": "chain", "ranks": np.random.default_rng(n).random(n)}


def check(model: Model, a: Assembly) -> None:
    """Everything that the tree's docstring promises."""
    parent, n = model.parent, model.n_bodies
    joint = (a.kind == JOIN) | (a.kind == LIGHT)
    assert sorted(a.item[a.kind == LEAF]) == list(range(n))  # every body in one LEAF
    assert sorted(a.item[joint]) == list(range(n))  # every joint in one JOIN or LIGHT
    np.testing.assert_array_equal(a.item[a.leaf_of], np.arange(n))
    np.testing.assert_array_equal(a.item[a.node_of], np.arange(n))
    assert (a.kind[a.leaf_of] == LEAF).all() and joint[a.node_of].all()
    inside: list[set[int]] = []
    for i in range(a.n_nodes):
        children = [int(c) for c in (a.left[i], a.right[i]) if c >= 0]
        assert all(c < i and a.up[c] == i and a.level[c] == a.level[i] + 1 for c in children)  # children first
        assert a.first[i] == min([i, *(a.first[c] for c in children)])
        assert i + 1 - a.first[i] == 1 + sum(c + 1 - a.first[c] for c in children)  # ... and nothing in between
        assert a.joints[i] == joint[i] + sum(a.joints[c] for c in children)
        bodies = set().union(*(inside[c] for c in children))
        item = int(a.item[i])
        if a.kind[i] == LEAF:
            assert len(children) == (a.left[i] >= 0)
            bodies |= {item}
        elif a.kind[i] == JOIN:
            assert parent[item] in inside[a.left[i]] and item in inside[a.right[i]]
        elif a.kind[i] == LIGHT:
            assert a.right[i] < 0 and item in bodies and parent[item] not in bodies
        else:
            assert a.kind[i] == SUM and len(children) == 2
        tops = [b for b in bodies if parent[b] not in bodies]
        if a.kind[i] == SUM:  # hangs together by the body that it hangs on
            assert {int(parent[b]) for b in tops} == {item}
        else:
            assert len(tops) == 1
        inside.append(bodies)
    assert len(inside[-1]) == n and a.up[-1] == -1 and a.level[-1] == 0


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("order", ["balanced", "chain", "ranks"])
def test_structure(name: str, order: str):
    model = trees.from_parents(SHAPES[name])
    check(model, assemble(model, orders(model.n_bodies)[order]))


@pytest.mark.parametrize("seed", range(30))
def test_structure_of_random_trees(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    model = trees.from_parents(parents.random(n, rng, rng.random(), 0.3 * rng.random()))
    for order in orders(n).values():
        check(model, assemble(model, order))


@pytest.mark.parametrize(
    ("parent", "factor"),
    [
        (parents.chain(20_000), 1.0),
        (np.r_[-1, np.zeros(20_000, dtype=int)], 1.0),
        (parents.balanced_binary(14), 3.0),
        (parents.random(20_000, np.random.default_rng(0), 0.5, 0.0), 3.0),
        (parents.random(20_000, np.random.default_rng(0), 0.0, 0.0), 3.0),
        (parents.side_branches(5_000, 3), 1.2),
        (np.full(20_000, -1), 1.0),
    ],
    ids=["chain", "star", "binary", "random", "bushy", "comb", "forest"],
)
def test_depth_grows_with_the_logarithm(parent: np.ndarray, factor: float):
    """factor times log2 n, and a few: where paths branch, each halving may cost three levels, JOIN, LEAF and LIGHT."""
    assembly = assemble(trees.from_parents(parent))
    assert assembly.depth <= factor * np.log2(len(parent)) + 6


def test_a_chain_in_chain_order_is_as_deep_as_it_is_long():
    assert assemble(trees.chain(100), "chain").depth >= 100


def test_ranks_say_which_joint_is_joined_first():
    """The joint of the highest rank is the last of a path; the first body's own joint is always the LIGHT above it."""
    model = trees.chain(9)
    rank = np.array([0.0, 5, 1, 2, 9, 3, 4, 6, 7])
    a = assemble(model, rank)
    assert a.kind[-1] == LIGHT and a.item[-1] == 0
    assert a.item[a.left[-1]] == 4
    level = a.level[a.node_of]
    assert level[1] < level[2] < level[3] or level[1] < level[3] < level[2]


def test_kept_with_the_model():
    model = trees.chain(5)
    assert assemble(model) is assemble(model) and assemble(model, "chain") is not assemble(model)


def test_bad_orders_are_named():
    model = trees.chain(3)
    with pytest.raises(StateError, match="balanced"):
        assemble(model, "balancd")
    for ranks in ([1.0, 2.0], [1.0, np.nan, 2.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(StateError, match="one finite rank for each of the 3 joints"):
            assemble(model, ranks)
