"""The spanning tree along which a mechanism with loops is solved.

Any spanning tree of the mechanism gives the same motion. The cost depends on it: a joint that is cut, one outside the
tree, has a force that stays unknown from its two ends up to the body where their paths meet. The tree of the model is
one choice. In a ladder whose rails are two branches of it, all rungs meet at the world; in a tree with the rungs as
branches of one rail, each meets the next. Several trees are tried and the cheapest is taken.

The world does not move, so a path through it couples nothing. In all trees but the model's own it is a neighbour of
one body of each connected part, and other joints to the world are cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from supple.model.joints import NV
from supple.model.model import Model

Ints = NDArray[np.int64]

WORLD = -1
DENSE = 12  #: about how many unknown forces of joints whose ends are both below a body are carried on from it


class Graph(NamedTuple):
    """The joints of a mechanism as edges between bodies: those of the tree, then those that close loops."""

    n: int  #: bodies
    A: Ints  #: the first body of each joint; -1: the world
    B: Ints  #: the second
    rows: Ints  #: how many unknown forces it has if it is cut
    required: Ints  #: joints that cannot be cut


class SpanningTree(NamedTuple):
    """A tree of bodies whose root is the world."""

    parent: Ints  #: the body to which each body is joined; -1: the world
    edge: Ints  #: by which joint, numbered as in Graph


def graph_of(model: Model) -> Graph:
    """The joints of a model."""
    n, loops = model.n_bodies, model.loop_list
    rows = 6 - np.array(NV)[model.joint_type]
    np.add.at(rows, model.dof_body[model.armature != 0.0], 1)
    related = {name for x in model.relation_list for name in x.joints}
    return Graph(
        n,
        np.concatenate([model.parent, np.array([x.body for x in loops], dtype=np.int64)]),
        np.concatenate([np.arange(n), np.array([x.other for x in loops], dtype=np.int64)]),
        np.concatenate([rows, np.array([x.rows for x in loops], dtype=np.int64)]),
        np.array([i for i, name in enumerate(model.joint_names) if name in related], dtype=np.int64),
    )


def own_tree(model: Model) -> SpanningTree:
    """The tree of the model."""
    return SpanningTree(np.array(model.parent), np.arange(model.n_bodies))


def spanning_tree(model: Model) -> SpanningTree:
    """The cheapest of some spanning trees; the model's own if no other is cheaper."""
    graph = graph_of(model)
    trees = [own_tree(model), _searched(graph, False), _searched(graph, True)]
    return trees[int(np.argmin([_cost(graph, tree) for tree in trees]))]


def _searched(graph: Graph, backwards: bool) -> SpanningTree:
    """A tree by breadth-first search from a body of each connected part that is joined to the world; neighbours in
    the order of their numbers, or backwards."""
    n, inner = graph.n, np.flatnonzero((graph.A >= 0) & (graph.B >= 0))
    number = np.arange(n)[::-1] if backwards else np.arange(n)  # of each body here, and of each number the body
    A, B = number[graph.A[inner]], number[graph.B[inner]]
    links = np.ones(2 * len(A)), (np.concatenate([A, B]), np.concatenate([B, A]))
    joined = coo_array(links, shape=(n, n)).tocsr()
    _, part = connected_components(joined, directed=False)
    roots = number[np.flatnonzero(graph.A[:n] == WORLD)]
    parent = np.full(n, WORLD)
    for start in {int(part[root]): int(root) for root in roots[::-1]}.values():
        _, before = breadth_first_order(joined, start, directed=False)
        found = np.flatnonzero(before >= 0)
        parent[number[found]] = number[before[found]]
    joints: dict[tuple[int, int], int] = {}
    for e, (a, b) in reversed(list(enumerate(zip(graph.A.tolist(), graph.B.tolist())))):
        joints[a, b] = joints[b, a] = e  # of several between two bodies, the first
    return SpanningTree(parent, np.array([joints[p, b] for b, p in enumerate(parent.tolist())], dtype=np.int64))


def _cost(graph: Graph, tree: SpanningTree) -> float:
    """About how many operations a solution takes: for each body the square of the number of unknown forces there, and
    the cube of those between two bodies at the world, where they meet."""
    if not np.isin(graph.required, tree.edge).all():
        return np.inf
    cut = np.setdiff1d(np.arange(len(graph.A)), tree.edge)
    a, b, rows = graph.A[cut], graph.B[cut], graph.rows[cut]
    meet = meeting(tree.parent, a, b)
    between = (a >= 0) & (b >= 0)
    unknown, carried = np.zeros(graph.n + 1), np.zeros(graph.n + 1)  # the last is the world
    for end in (a, b):
        np.add.at(unknown, end[between], rows[between])
    np.subtract.at(unknown, meet[between], 2 * rows[between])
    np.add.at(carried, np.where(between, meet, np.maximum(a, b)), rows)
    sums, up = [unknown.tolist(), carried.tolist()], tree.parent.tolist()
    for body in order(tree.parent)[::-1].tolist():
        for x in sums:
            x[up[body]] += x[body]
    here = np.array(sums[0][:-1]) + np.minimum(sums[1][:-1], DENSE)
    far = between & (meet == WORLD)
    roots = _roots(tree.parent)
    _, pair = np.unique(np.sort([roots[a[far]], roots[b[far]]], axis=0), axis=1, return_inverse=True)
    return float((here**2).sum() + (np.bincount(pair.ravel(), rows[far]) ** 3).sum())


def order(parent: Ints) -> Ints:
    """The bodies, each after its parent."""
    return np.argsort(_depth(parent), kind="stable")


def depth_first(parent: Ints) -> Ints:
    """The bodies, each followed by those beyond it; of several branches the largest is last."""
    n, up = len(parent), parent.tolist()
    size = [1] * n + [0]  # the last is the world
    for body in order(parent)[::-1].tolist():
        size[up[body]] += size[body]
    free, out = [0] * (n + 1), np.empty(n, dtype=np.int64)
    for body in np.lexsort((np.array(size[:n]), _depth(parent))).tolist():
        place = free[up[body]]
        out[place], free[body] = body, place + 1
        free[up[body]] += size[body]
    return out


def _lifted(parent: Ints) -> list[Ints]:
    """The bodies 1, 2, 4, ... above each, as far as there are any; the last entry of each is the world."""
    up = [np.append(parent, WORLD)]
    while (up[-1] != WORLD).any():
        up.append(up[-1][up[-1]])
    return up


def _roots(parent: Ints) -> Ints:
    """The body at the world above each."""
    up = np.where(parent == WORLD, np.arange(len(parent)), parent)
    while not np.array_equal(up, up[up]):
        up = up[up]
    return up


def _depth(parent: Ints) -> Ints:
    up, out = np.append(parent, WORLD), np.append(np.ones(len(parent), dtype=np.int64), 0)
    while (up != WORLD).any():
        out = out + out[up]
        up = up[up]
    return out[:-1]


def meeting(parent: Ints, a: Ints, b: Ints) -> Ints:
    """For pairs of bodies, the lowest body above or equal to both; -1: the world."""
    depth, lifted = np.append(_depth(parent), 0), _lifted(parent)
    a, b = np.where(depth[a] >= depth[b], a, b), np.where(depth[a] >= depth[b], b, a)
    for k in range(len(lifted) - 1, -1, -1):  # to the same depth
        higher = lifted[k][a]
        a = np.where(depth[a] - 2**k >= depth[b], higher, a)
    for k in range(len(lifted) - 1, -1, -1):
        one, two = lifted[k][a], lifted[k][b]
        apart = one != two
        a, b = np.where(apart, one, a), np.where(apart, two, b)
    return np.where(a == b, a, lifted[0][a])
