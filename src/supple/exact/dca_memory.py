"""Where divide and conquer keeps its results: those of a model and an assembly tree of it, and the scratch of a thread.

Coefficients are kept in slots that are reused, few enough to stay in the cache, except those of rigid bodies, which
never change. Independent subtrees have separate slots and run on several threads. In large bodies short stretches of
paths are runs [dca_runs.py], whose inner nodes need no memory at all.
"""

from __future__ import annotations

import heapq
from itertools import pairwise

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.assembly.absorbing import leaf
from supple.assembly.memory import AssembledBody, BodyForce, Told
from supple.assembly.nodes import RIGID as RIGID_WORDS
from supple.assembly.nodes import closing_words
from supple.assembly.passes import absorbed_of, next_joint, sides_of_leaf, stretch_of
from supple.assembly.revolute_joins import RevoluteJoin
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import JOIN, LEAF, LIGHT, Assembly
from supple.exact.aba import AbaBody
from supple.exact.call_kernels import SINGULAR, STATE_SHIFT
from supple.exact.dca_runs import Run, RunDof, find_runs
from supple.exact.tables import Tables, aligned, aligned_rows, host_tables
from supple.model.joint_poses import REVOLUTE, Axis
from supple.model.model import Model
from supple.spatial.algebra import Mat3, Motion
from supple.spatial.compiler import kernel
from supple.spatial.cpu import LINE, OK
from supple.spatial.fields import Integer, Integers, Six, Value
from supple.spatial.held import Held
from supple.spatial.matrices import Mat6
from supple.spatial.structs import Link, Struct, Table
from supple.spatial.trig import RING, Turn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MANY = 2000  #: bodies from which subtrees run on several threads, and short stretches are runs
GROUPS = 16  #: subtrees

_i1 = types.int64[::1]


class SavedBody(Struct):
    """What a body with something absorbed into it keeps for the way down, when its slot is reused."""

    Phi1 = Mat6()  # [QS (1)]
    b1 = Six()


class DcaPath(Struct, align=LINE):
    """What bodies pass on in pass 0, as in aba.py."""

    R = Value(Mat3)
    V = Value(Motion)
    zeta = Value(Motion)


class Forces(Struct):
    """The data of pass 0."""

    model = Link(Tables)
    path = Table(DcaPath)
    axes = Table(Axis)
    ring = Table(Turn)
    turns = Table(Turn)  # how revolute joints are turned
    run_of = Integers()  # the run of a body, or -1
    runs = Table(Run)
    bodies = Table(AbaBody)  # of runs


class Passes(Struct):
    """The data of passes 1 and 2; those of a part of the tree differ from the others' only in the scratch of `body`."""

    body = Link(AssembledBody)
    turns = Table(Turn)
    order = Integers()  # the nodes, children first
    n_order = Integer()
    save_at = Integers()  # where a node's SavedBody begins, or -1
    run_at = Integers()  # the run that a node is, or -1
    runs = Table(Run)
    bodies = Table(AbaBody)
    dofs = Table(RunDof)


@kernel(types.int64(_i1, _i1, _i1, _i1, _i1), "slots of an assembly")
def slots_kernel(kind, left, right, group, slot):
    """A slot for each node; nodes that begin a group (group[i] >= 0) start again at slot 0. Fills `group` for the nodes
    under them. Returns the largest slot."""
    largest = 0
    for i in range(kind.shape[0] - 1, -1, -1):
        s = slot[i]
        largest = max(largest, s)
        for child, up in ((left[i], s + 1 if kind[i] == LEAF or kind[i] == LIGHT else s), (right[i], s + 1)):
            if child >= 0:
                if group[child] < 0:
                    group[child] = group[i]
                    slot[child] = up
                else:
                    slot[child] = 0
    return largest


class Layout:
    """Where the passes keep their results, for a model and an assembly of it."""

    def __init__(self, model: Model, assembly: Assembly) -> None:
        tables: TreeTables = tree_tables(model, assembly)
        self.tables = tables
        m, kind, many = assembly.n_nodes, assembly.kind, model.n_bodies >= MANY
        roots = _independent(assembly, GROUPS) if many else []
        group, slot = np.full(m, -1, dtype=np.int64), np.zeros(m, dtype=np.int64)
        group[roots] = np.arange(len(roots))
        depth = int(slots_kernel.load()(kind, assembly.left, assembly.right, group, slot)) + 1
        group_of = group + 1  # 0: those above all groups
        slot += depth * group_of
        self.n_slots = depth * (len(roots) + 1)
        self.run_at, self.run_of = np.full(m, -1, dtype=np.int64), np.full(model.n_bodies, -1, dtype=np.int64)
        self.runs, inside = Run.zeros(0), np.zeros(m, dtype=bool)
        if many:
            nodes, self.runs, inside = find_runs(tables)
            self.run_at[nodes] = np.arange(len(nodes))
            for x, run in enumerate(self.runs):
                self.run_of[run["first"] : run["last"] + 1] = x
        ranges = [np.arange(assembly.first[r], r + 1) for r in roots]
        ranges = [x[~inside[x]] for x in (*ranges, np.flatnonzero(group < 0))]
        self.order = np.concatenate(ranges).astype(np.int64)
        self.parts = list(pairwise(np.cumsum([0, *map(len, ranges)]).tolist()))
        self.told_at = slot
        still = (kind == LEAF) & (assembly.left < 0) & (tables.lone == 0) & ~inside
        saved = (kind == LEAF) & (assembly.left >= 0) & (tables.lone == 0)
        joint = assembly.item
        plain = (kind == JOIN) & (tables.joint[joint] == REVOLUTE)
        plain &= model.armature[np.minimum(model.v_index, model.nv - 1)][joint] == 0.0
        joint_size = np.where(plain, RevoluteJoin.words, tables.joint_size)
        sizes = [
            np.full(self.n_slots, RIGID_WORDS),
            np.where(inside | (self.run_at >= 0), 0, joint_size),
            np.where(still, RIGID_WORDS, 0),
            np.where(saved, SavedBody.words, 0),
        ]
        begins, total = [], 0
        for size in sizes:
            begins.append(total + np.cumsum(size) - size)
            total += int(size.sum())
        self.size = total
        self.at = np.where(still, begins[2], begins[0][slot]).astype(np.int64)
        self.joint_at = np.ascontiguousarray(begins[1])
        self.closing_at = np.zeros(m, dtype=np.int64)
        self.save_at = np.where(saved, begins[3], -1).astype(np.int64)
        self.kept: list[DcaScratch] = []  #: for one state at a time


class DcaScratch:
    """The scratch of a thread for one state."""

    def __init__(self, model: Model, layout: Layout) -> None:
        shared = dict(
            tree=layout.tables.tree,
            numbers=aligned((layout.size,)),
            node_at=layout.at,
            joint_at=layout.joint_at,
            closing_at=layout.closing_at,
            told=Told.zeros(layout.n_slots),
            told_at=layout.told_at,
            external=BodyForce.zeros(model.n_bodies),
            nq=model.nq,
            nv=model.nv,
            force=np.empty(model.nv),
        )
        host, turns, n = host_tables(model), Turn.zeros(model.n_bodies), model.n_bodies if len(layout.runs) else 0
        turns["cos"] = turns["sin"] = 1.0
        runs = dict(runs=aligned_rows(Run, len(layout.runs)), bodies=aligned_rows(AbaBody, n))
        runs["runs"][:] = layout.runs
        self.forces: Held = Forces.of(
            model=host,
            path=aligned_rows(DcaPath, host.n_slots),
            axes=aligned_rows(Axis, model.nv),
            ring=aligned_rows(Turn, RING),
            turns=turns,
            run_of=layout.run_of,
            **runs,
        )
        shared_passes = dict(
            turns=turns,
            order=layout.order,
            n_order=len(layout.order),
            save_at=layout.save_at,
            run_at=layout.run_at,
            dofs=aligned_rows(RunDof, n),
            **runs,
        )
        # one per part: each has separate scratch
        self.bodies = [AssembledBody.of(**shared, closings=np.zeros(closing_words(6))) for _ in layout.parts]
        self.passes: list[Held] = [Passes.of(body=body, **shared_passes) for body in self.bodies]
        worst = int(rigid_kernel.load()(self.passes[0].address))
        self.status = OK if worst < 0 else SINGULAR + (worst << STATE_SHIFT)


@kernel(types.int64(Passes.type), "rigid bodies of an assembly", effort=2)
def rigid_kernel(passes):
    """The constant matrices of bodies into which nothing is absorbed. Returns a node whose body has none, or -1."""
    body, tree = passes.body, passes.body.tree
    for x in range(passes.n_order):
        i = passes.order[x]
        alone = tree.kind[i] == LEAF and tree.left[i] < 0 and not tree.lone[i]
        if alone:
            b = tree.item[i]
            I, sides = tree.links[b].I, sides_of_leaf(tree, i, False)
            if not leaf(I, next_joint(tree, b), stretch_of(body, i), False, absorbed_of(body, i), sides) > 0.0:
                return i
    return -1


def _independent(assembly: Assembly, count: int) -> list[int]:
    """The roots of about `count` independent subtrees, the largest subdivided first."""
    size = assembly.joints
    heap = [(-int(size[-1]), assembly.n_nodes - 1)]
    while len(heap) < count and -heap[0][0] > MANY // GROUPS:
        _, i = heapq.heappop(heap)
        for child in (int(assembly.left[i]), int(assembly.right[i])):
            if child >= 0:
                heapq.heappush(heap, (-int(size[child]), child))
    return sorted(i for _, i in heap)
