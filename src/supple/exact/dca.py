"""Forward dynamics by divide and conquer [Featherstone 1999; QS section 3.1] over the assembly tree.

    pass 0   from the root to the leaves: velocities, and the force that the bodies need when no joint accelerates
    pass 1   from the leaves of the assembly tree up: each node's articulated-body equation from those of its parts
    pass 2   down again: every joint's acceleration, and the forces on the parts

Accelerations are relative to zeta, as in aba.py, so velocities, gravity and wrenches enter as one force on each body
(`external`), and the world does not accelerate. For a joint, only what pass 2 needs is stored. Coefficients are kept in
slots that are reused, few enough to stay in the cache, except those of rigid bodies, which never change. Independent
subtrees have separate slots and run on several threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.assembly.absorbing import leaf, leaf_forces
from supple.assembly.joints import force_in_basis
from supple.assembly.memory import AssembledBody, BodyForce, Told
from supple.assembly.nodes import RIGID as RIGID_WORDS
from supple.assembly.nodes import closing_words
from supple.assembly.passes import (
    absorbed_of,
    join_down,
    leaf_down,
    light_down,
    lone_down,
    next_joint,
    renew,
    sides_of_leaf,
    stretch_of,
    sum_down,
)
from supple.assembly.revolute_joins import LeanJoint, is_lean, lean_down, lean_join
from supple.assembly.tables import TreeTables, tree_tables
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly, assemble
from supple.errors import SingularError
from supple.exact.aba import ABA, joint_force
from supple.exact.calls import SINGULAR, STATE_SHIFT, state_status
from supple.exact.digits import has_mobilities, keeps_digits, settled
from supple.exact.motion import Axes, CallState, joint_of, move, turn_ahead, turn_of, turned_inertia, world_at_rest
from supple.exact.tables import Tables, Wrench, aligned, aligned_rows, host_tables
from supple.exact.threads import in_parallel, run_parts
from supple.model.joint_poses import REVOLUTE, Axis
from supple.model.model import Model
from supple.spatial.addresses import address_of, vector
from supple.spatial.algebra import Mat3, Motion, crf, rotate_force, shift_motion, transpose
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import LINE, OK, fetch_from
from supple.spatial.fields import Six, Value
from supple.spatial.held import Held
from supple.spatial.matrices import Mat6
from supple.spatial.structs import Link, Struct, Table
from supple.spatial.trig import RING, Turn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MANY = 2000  #: bodies from which subtrees run on several threads
GROUPS = 16  #: subtrees
AHEAD, JOINT_LINES = 6, 11  # nodes ahead at which cache lines are prefetched; cache lines of a joint
MASK = (1 << STATE_SHIFT) - 1


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


saved_among, wrenches_at, turns_at = SavedBody.among, Wrench.table, Turn.table


@helper
def forces_on_bodies(x, state, body):
    """Pass 0: the force of each body at acceleration zeta, reversed, in its adapted basis; the joints' own forces; the
    turns of revolute joints."""
    m, path, S = x.model, x.path, Axes(x.axes, x.ring)
    path[0].zeta = world_at_rest(m, state.q[0], path[0])
    done = 0
    for b in range(m.n):
        i, p, kind, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, S, done, b)
        R, r, V, c = move(m, b, path[p].R, path[p].V, state.q, state.v, S)
        I = turned_inertia(R, m.shapes[b])
        zeta = shift_motion(r, path[p].zeta) + c
        f = rotate_force(transpose(R), I @ zeta + crf(V, I @ V))
        if state.pushed:
            f = f - rotate_force(m.outward[b].R, state.wrenches[b].f)
        path[i].R, path[i].V, path[i].zeta = R, V, zeta
        body.external[b].f = force_in_basis(body.tree, b, f) * -1.0
        if kind == REVOLUTE:
            x.turns[b].cos, x.turns[b].sin = turn_of(m, b, S, 0)
    for j in range(m.nv):
        body.force[j] = joint_force(m, state.known, state.v, j)


@helper
def assemble_nodes(body, turns, order, start, stop, save_at):
    """Pass 1, over a part of the order. Returns the smallest pivot, and its node."""
    tree = body.tree
    smallest, worst = 1.0e300, -1
    for x in range(start, stop):
        i = order[x]
        if x + AHEAD < stop:
            soon = order[x + AHEAD]
            if tree.kind[soon] == JOIN:
                fetch_from(body.numbers, body.joint_at[soon], JOINT_LINES)
            else:
                fetch_from(body.numbers, body.node_at[soon], RIGID_WORDS // LINE)
        kind, j, pivot = tree.kind[i], tree.item[i], 1.0e300
        if kind == JOIN and is_lean(tree, j):
            pivot = lean_join(body, i, turns[j].cos, turns[j].sin)
        elif kind == LEAF and tree.left[i] < 0:  # its matrices are constant
            if not tree.lone[i]:
                sides, f = sides_of_leaf(tree, i, False), body.external[j].f
                leaf_forces(next_joint(tree, j), stretch_of(body, i), False, absorbed_of(body, i), sides, f)
        else:
            pivot = renew(body, i, False, True)
        if not pivot >= smallest:
            smallest, worst = pivot, i
        if save_at[i] >= 0:
            saved, C = saved_among(body.numbers, save_at[i]), stretch_of(body, i)
            saved.Phi1, saved.b1 = C.Phi1, C.b1
    return smallest, worst


@helper
def accelerate_nodes(body, turns, order, start, stop, save_at):
    """Pass 2, over a part of the order, backwards."""
    tree = body.tree
    for x in range(stop - 1, start - 1, -1):
        i = order[x]
        if x - 4 * AHEAD >= start and tree.kind[order[x - 4 * AHEAD]] != LEAF:
            fetch_from(body.numbers, body.joint_at[order[x - 4 * AHEAD]], JOINT_LINES)
        kind, j, l = tree.kind[i], tree.item[i], tree.left[i]
        if kind == JOIN:
            if is_lean(tree, j):
                lean_down(body, i, turns[j].cos, turns[j].sin)
            else:
                join_down(body, i)
        elif kind == LIGHT:
            light_down(body, i)
        elif kind == SUM:
            sum_down(body, i)
        elif l >= 0:
            if tree.lone[i]:
                lone_down(body, i)
            else:
                saved = saved_among(body.numbers, save_at[i])
                leaf_down(body, i, saved.Phi1, saved.b1)


_f1, _f2, _i1, _int = types.float64[::1], types.float64[:, ::1], types.int64[::1], types.int64


_body = AssembledBody.type


@kernel(_int(Forces.type, _body, _f1, _f1, _f1, _f2, types.boolean), "dca, forces", nogil=True)
def forces_kernel(forces, body, q, v, tau, wrenches, pushed):
    """Pass 0. Returns a status."""
    state = CallState(vector(q), vector(v), vector(tau), pushed, wrenches_at(wrenches.ctypes.data))
    status = state_status(forces.model, state.q)
    if status == OK:
        forces_on_bodies(forces, state, body)
    return status


@kernel(_int(_body, _int, _i1, _i1, _int, _int), "dca, assembly", effort=8, nogil=True)
def assemble_kernel(body, turns, order, save_at, start, stop):
    """Pass 1. Returns OK, or SINGULAR and the node."""
    smallest, worst = assemble_nodes(body, turns_at(turns), order, start, stop, save_at)
    return OK if smallest > 0.0 else SINGULAR + (max(worst, 0) << STATE_SHIFT)


@kernel(_int(_body, _int, _i1, _i1, _int, _int), "dca, accelerations", nogil=True)
def accelerate_kernel(body, turns, order, save_at, start, stop):
    """Pass 2. Returns OK."""
    accelerate_nodes(body, turns_at(turns), order, start, stop, save_at)
    return OK


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
    """Where passes 1 and 2 keep their results, for a model and an assembly of it."""

    def __init__(self, model: Model, assembly: Assembly) -> None:
        tables: TreeTables = tree_tables(model, assembly)
        self.tables = tables
        m, kind = assembly.n_nodes, assembly.kind
        roots = _independent(assembly, GROUPS) if model.n_bodies >= MANY else []
        group, slot = np.full(m, -1, dtype=np.int64), np.zeros(m, dtype=np.int64)
        group[roots] = np.arange(len(roots))
        depth = int(slots_kernel.load()(kind, assembly.left, assembly.right, group, slot)) + 1
        group_of = group + 1  # 0: those above all groups
        slot += depth * group_of
        self.n_slots = depth * (len(roots) + 1)
        ranges = [np.arange(assembly.first[r], r + 1) for r in roots]
        top = np.flatnonzero(group < 0)
        self.order = np.concatenate([*ranges, top]).astype(np.int64)
        bounds = np.cumsum([0, *map(len, ranges), len(top)]).tolist()
        self.parts = list(pairwise(bounds))
        self.told_at = slot
        still = (kind == LEAF) & (assembly.left < 0) & (tables.lone == 0)
        saved = (kind == LEAF) & (assembly.left >= 0) & (tables.lone == 0)
        joint = assembly.item
        lean = (kind == JOIN) & (tables.joint[joint] == REVOLUTE)
        lean &= model.armature[np.minimum(model.v_index, model.nv - 1)][joint] == 0.0
        joint_size = np.where(lean, LeanJoint.words, tables.joint_size)
        sizes = [
            np.full(self.n_slots, RIGID_WORDS),
            joint_size,
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
        # one per part: each has separate scratch
        self.bodies = [AssembledBody.of(**shared, closings=np.zeros(closing_words(6))) for _ in layout.parts]
        worst = int(rigid_kernel.load()(self.bodies[0].address))
        self.status = OK if worst < 0 else SINGULAR + (worst << STATE_SHIFT)
        self.forces = forces_of(model)
        self.turns = address_of(self.forces.turns)


def forces_of(model: Model) -> Held:
    """What pass 0 needs."""
    host, turns = host_tables(model), Turn.zeros(model.n_bodies)
    turns["cos"] = turns["sin"] = 1.0
    return Forces.of(
        model=host,
        path=aligned_rows(DcaPath, host.n_slots),
        axes=aligned_rows(Axis, model.nv),
        ring=aligned_rows(Turn, RING),
        turns=turns,
    )


@kernel(_int(_body), "rigid bodies of an assembly", effort=2)
def rigid_kernel(body):
    """The constant matrices of bodies into which nothing is absorbed. Returns a node whose body has none, or -1."""
    tree = body.tree
    for i in range(tree.n_nodes):
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


def divide_and_conquer(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    order: str | ArrayLike = "balanced",
) -> Floats:
    """forward_dynamics by divide and conquer, over an assembly tree of any order (see assembly.assemble)."""
    layout = _layout(model, order)
    arrays, size = ABA.arrays(model, (q, v, tau, wrenches))
    B = 1 if size is None else size
    flat_q, flat_v, flat_tau, flat_w = (ABA._flat(model, argument, x, B) for argument, x in zip(ABA.inputs, arrays))
    if arrays[2] is None:
        flat_tau = np.zeros((B, model.nv))
    pushed = arrays[3] is not None
    pushes = flat_w.reshape(B, model.n_bodies, 6) if pushed else np.empty((B, 0, 6))
    out = np.empty((B, model.nv))
    lost: list[int] = []  # nodes at which a pivot was not positive
    forces, up, down = forces_kernel.load(), assemble_kernel.load(), accelerate_kernel.load()
    fixed = layout.order, layout.save_at

    def solve(i: int, scratch: DcaScratch, alone: bool) -> int:
        """One state; alone, on several threads."""
        for body in scratch.bodies:
            body.q, body.qdd = flat_q[i], out[i]
        at, arguments = scratch.bodies[-1].address, (flat_q[i], flat_v[i], flat_tau[i])
        status = scratch.status or int(forces(scratch.forces.address, at, *arguments, pushes[i], pushed))
        *below, top = (
            (body.address, scratch.turns, *fixed, *bounds) for body, bounds in zip(scratch.bodies, layout.parts)
        )
        if status == OK:
            status = max(_all(up, below, alone), default=OK) or int(up(*top))
        if status == OK:
            down(*top)
            _all(down, below, alone)
        if status != OK:
            out[i] = np.nan
        if status & MASK == SINGULAR:
            lost.append(status >> STATE_SHIFT)
        return OK

    def some(bounds: tuple[int, int]) -> int:
        scratch = DcaScratch(model, layout)
        return max((solve(i, scratch, False) for i in range(*bounds)), default=OK)

    if size is None:
        try:
            scratch = layout.kept.pop()
        except IndexError:  # another thread is using it: this one makes its own
            scratch = DcaScratch(model, layout)
        solve(0, scratch, True)
        layout.kept[:] = [scratch]
    else:
        in_parallel(some, size)
    if lost and not has_mobilities(model):
        raise _no_inverse(model, layout.tables.assembly, lost[0])
    if not keeps_digits(model) or not np.isfinite(out).all():  # which also reports what is wrong with a state
        out = settled(model, "divide and conquer", arrays, size, out)
    return out[0] if size is None else out


def _all(run: Callable[..., int], calls: list[tuple[Any, ...]], threads: bool) -> list[int]:
    return run_parts(lambda call: int(run(*call)), calls) if threads and calls else [int(run(*call)) for call in calls]


def _layout(model: Model, order: str | ArrayLike) -> Layout:
    assembly = assemble(model, order)
    if not isinstance(order, str):
        return Layout(model, assembly)
    return model._kept((Layout, order), lambda: Layout(model, assembly))


def _no_inverse(model: Model, assembly: Assembly, node: int) -> SingularError:
    body = model.body_names[int(assembly.item[node])]
    return SingularError(
        f"divide and conquer needs the inverse of every path body's inertia, and body {body!r}, with what is joined to "
        "it, has no inertia in some direction; give it mass and inertia, or use method='aba'"
    )
