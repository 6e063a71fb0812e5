"""Forward dynamics by divide and conquer [Featherstone 1999; QS section 3.1] over the assembly tree.

    pass 0   from the root to the leaves: velocities, and the force that the bodies take when no joint accelerates
    pass 1   from the leaves of the assembly tree up: each node's articulated-body equation from those of its parts
    pass 2   down again: every joint's acceleration, and the forces on the parts

Accelerations are counted from zeta, as in aba.py, so velocities, gravity and wrenches enter as one force on each body
(`external`), and the world does not accelerate. Of a joint only what pass 2 needs is kept. Coefficients lie in slots
that are used again, few enough to stay in the cache, but for those of rigid bodies, which never change. Subtrees that
do not need each other have slots of their own and run on several threads.
"""

from __future__ import annotations

import heapq
from typing import Any, NoReturn

import numpy as np
from numba import types
from numpy.typing import ArrayLike, NDArray

from supple.assembly.frames import BASIS
from supple.assembly.nodes import BT, SCRATCH, SPARE, STILL, TOP, leaf
from supple.assembly.passes import join_down, leaf_down, light_down, renew
from supple.assembly.tables import TreeTables, open_tree, tree_tables
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly, assemble
from supple.errors import SingularError, StateError
from supple.exact.aba import ABA, PATH_ROW, R_, V_, Z_, joint_force
from supple.exact.calls import NOT_FINITE, NOT_UNIT, SINGULAR, STATE_SHIFT, finite, state_status
from supple.exact.motion import AXIS, SCREW, Axes, joint_of, move, turn_ahead, world_at_rest
from supple.exact.refusals import refuse_not_finite, refuse_not_unit
from supple.exact.tables import KIND, OWN, PITCH, RIGID, SPLIT, aligned, host_tables, open_tables
from supple.exact.threads import in_parallel, run_parts
from supple.model.model import Model
from supple.spatial.algebra import crf, rotate_force, shift_motion, transpose
from supple.spatial.compiler import helper, kernel
from supple.spatial.indexing import get
from supple.spatial.references import OK, address_of, ints_at
from supple.spatial.rows import load_force, load_mat, load_motion, load_turned, store_mat, store_six
from supple.spatial.sixes import set_six, six
from supple.spatial.trig import RING

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORCES, ASSEMBLE, ACCELERATE = 1, 2, 4  # the passes that a call of the kernel is to make
MANY = 2000  #: bodies from which subtrees run on several threads
GROUPS = 16  #: subtrees


@helper
def forces_on_bodies(m, q, v, tau, has_wrenches, wrenches, path, S, external, force):
    """Pass 0: the force of each body at acceleration zeta, reversed and in its adapted basis; the joints' own forces."""
    world_at_rest(m, q, path)
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r, V, c = move(m, b, load_mat(path, p, R_), load_motion(path, p, V_), q, v, S)
        Y = load_turned(R, m.rows, b, RIGID, SPLIT)
        zeta = shift_motion(r, load_motion(path, p, Z_)) + c
        f = rotate_force(transpose(R), Y @ zeta + crf(V, Y @ V))
        if has_wrenches:
            f = f - rotate_force(load_mat(m.outward, b, 0), load_force(wrenches, b, 0))
        store_mat(path, i, R_, R)
        store_six(path, i, V_, V)
        store_six(path, i, Z_, zeta)
        kind = get(m.bodies, b, KIND)
        for k in range(6):
            x = BASIS[kind, k]
            external[6 * b + k] = -(f.ang[x] if x < 3 else f.lin[x - 3])
        if kind == SCREW:
            external[6 * b + 5] += get(m.rows, b, PITCH) * external[6 * b + 4]
    for j in range(m.nv):
        force[j] = joint_force(m, tau, v, j)


@helper
def assemble_nodes(t, order, start, stop, at, joint_at, tail_at, save_at, data, q, external, force, w):
    """Pass 1, over a part of the order. Returns the smallest pivot, and the node it is of."""
    smallest, worst = 1.0e300, -1
    for x in range(start, stop):
        i = order[x]
        still = t.kind[i] == LEAF and t.left[i] < 0
        pivot = renew(t, i, data, at, joint_at, w, tail_at, q, external, force, w, False, not still)
        if not pivot >= smallest:
            smallest, worst = pivot, i
        if save_at[i] >= 0:
            for k in range(36):
                data[save_at[i] + k] = data[at[i] + TOP + k]
            set_six(data, save_at[i] + 36, six(data, at[i] + BT))
    return smallest, worst


@helper
def accelerate_nodes(t, order, start, stop, joint_at, save_at, told_at, data, q, told, w, qdd):
    """Pass 2, over a part of the order, backwards."""
    for x in range(stop - 1, start - 1, -1):
        i = order[x]
        kind, l, r, ti = t.kind[i], t.left[i], t.right[i], told_at[i]
        if kind == JOIN:
            join_down(t, i, data, joint_at[i], q, told, told_at[l], told_at[r], ti, w, qdd)
        elif kind == LIGHT:
            light_down(t, i, data, joint_at[i], q, told, told_at[l], ti, w, qdd)
        elif kind == SUM:
            a = six(told, ti)
            set_six(told, told_at[l], a)
            set_six(told, told_at[r], a)
        elif l >= 0:
            if t.lone[i]:
                set_six(told, told_at[l], six(told, ti))
            else:
                leaf_down(t, i, data, save_at[i], save_at[i] + 36, told, told_at[l], ti, w)


_f1, _f2, _i1 = types.float64[::1], types.float64[:, ::1], types.int64[::1]


@kernel(
    types.int64(types.int64, types.int64, _f2, _f2, _f2, _f2, _f2, types.int64, types.int64, types.int64, types.int64,
                types.int64, _i1, _i1, _i1, _i1, _i1, _i1, *[_f1] * 7),
    "dca",
    nogil=True,
)  # fmt: skip
def dca_kernel(
    handle, tree, qs, vs, taus, wrenches, out, first, last, start, stop, passes, order, at, joint_at, tail_at, save_at,
    told_at, data, told, external, force, path, turns, w,
):  # fmt: skip
    """The passes asked for, over start ... stop of the order, of the states first ... last-1. Returns a status."""
    m, t = open_tables(ints_at(handle, (OWN,))), open_tree(tree)
    slots = path.shape[0] // PATH_ROW
    rows = path.reshape((slots, PATH_ROW))
    ring = turns[: 2 * RING].reshape((RING, 2))
    axes = turns[2 * RING :].reshape((m.nv, AXIS))
    has_wrenches = wrenches.shape[1] > 0
    for s in range(first, last):
        q, qdd = qs[s], out[s]
        if passes & FORCES:
            status = state_status(m, q)
            if status != OK:
                return status + (s << STATE_SHIFT)
            w6 = wrenches[s if has_wrenches else 0].reshape((m.n if has_wrenches else 0, 6))
            forces_on_bodies(m, q, vs[s], taus[s], has_wrenches, w6, rows, Axes(axes, ring), external, force)
        if passes & ASSEMBLE:
            smallest, worst = assemble_nodes(
                t, order, start, stop, at, joint_at, tail_at, save_at, data, q, external, force, w
            )
            if not smallest > 0.0:
                return SINGULAR + (max(worst, 0) << STATE_SHIFT)
        if passes & ACCELERATE:
            accelerate_nodes(t, order, start, stop, joint_at, save_at, told_at, data, q, told, w, qdd)
            if not finite(qdd):
                return NOT_FINITE + (s << STATE_SHIFT)
    return OK


@kernel(types.int64(_i1, _i1, _i1, _i1, _i1), "slots of an assembly")
def slots_kernel(kind, left, right, group, slot):
    """A slot for each node; nodes that begin a group (group[i] >= 0) begin with slot 0 again. Fills `group` for the
    nodes under them. Returns the largest slot."""
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
    """Where pass 1 and 2 keep what they compute, for a model and an assembly of it."""

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
        self.parts = list(zip(bounds[:-1], bounds[1:]))
        self.told_at = 12 * slot
        still = (kind == LEAF) & (assembly.left < 0) & (tables.lone == 0)
        saved = (kind == LEAF) & (assembly.left >= 0) & (tables.lone == 0)
        sizes = [np.full(self.n_slots, STILL), tables.joint_size, np.where(still, STILL, 0), np.where(saved, 42, 0)]
        begins, total = [], 0
        for size in sizes:
            begins.append(total + np.cumsum(size) - size)
            total += int(size.sum())
        self.size = total
        self.at = np.where(still, begins[2], begins[0][slot]).astype(np.int64)
        self.joint_at = np.ascontiguousarray(begins[1])
        self.tail_at = np.full(m, SPARE, dtype=np.int64)
        self.save_at = np.where(saved, begins[3], -1).astype(np.int64)
        self.header = np.array(host_tables(model).words, dtype=np.int64)
        self.kept: Scratch | None = None

    def arguments(self) -> tuple[Any, ...]:
        return self.order, self.at, self.joint_at, self.tail_at, self.save_at, self.told_at


class Scratch:
    """What a thread needs to work on a state."""

    def __init__(self, model: Model, layout: Layout) -> None:
        data = aligned((layout.size,))
        rigid_kernel.load()(layout.tables.address, layout.at, data, np.empty(SCRATCH))
        told, external, force = np.zeros(12 * layout.n_slots), aligned((6 * model.n_bodies,)), np.empty(model.nv)
        path, turns = aligned((host_tables(model).n_slots * PATH_ROW,)), aligned((2 * RING + AXIS * model.nv,))
        self.arrays = data, told, external, force, path, turns


@kernel(types.void(types.int64, _i1, _f1, _f1), "rigid bodies of an assembly")
def rigid_kernel(tree, at, data, w):
    """The matrices of bodies into which nothing is absorbed: constant."""
    t = open_tree(tree)
    for i in range(t.nodes):
        if t.kind[i] == LEAF and t.left[i] < 0 and not t.lone[i]:
            leaf(t, t.item[i], i, False, data, at[i], 0, w, False)


def _independent(assembly: Assembly, count: int) -> list[int]:
    """The roots of about so many subtrees that do not need each other, the largest taken apart first."""
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
    flat = [ABA._flat(model, argument, x, B) for argument, x in zip(ABA.inputs, arrays)]
    if arrays[2] is None:
        flat[2] = np.zeros((B, model.nv))
    out = np.empty((B, model.nv))
    run = dca_kernel.load()
    fixed = address_of(layout.header), layout.tables.address, *flat, out

    def call(first: int, last: int, part: tuple[int, int], passes: int, scratch: Scratch) -> int:
        room = np.empty(SCRATCH)
        return int(run(*fixed, first, last, *part, passes, *layout.arguments(), *scratch.arrays, room))

    whole = (0, len(layout.order))
    if size is None:
        scratch = layout.kept or Scratch(model, layout)
        layout.kept = None  # another thread that comes meanwhile makes its own
        if len(layout.parts) == 1:
            statuses = [call(0, 1, whole, FORCES | ASSEMBLE | ACCELERATE, scratch)]
        else:
            *parts, top = layout.parts
            statuses = [call(0, 1, whole, FORCES, scratch)]
            if statuses == [OK]:
                statuses = run_parts(lambda part: call(0, 1, part, ASSEMBLE, scratch), parts)
                if not any(statuses):
                    statuses = [call(0, 1, top, ASSEMBLE | ACCELERATE, scratch)]
                    statuses += run_parts(lambda part: call(0, 1, part, ACCELERATE, scratch), parts)
        layout.kept = scratch
    else:
        passes = FORCES | ASSEMBLE | ACCELERATE
        statuses = in_parallel(lambda bounds: call(*bounds, whole, passes, Scratch(model, layout)), size)
    bad = [status for status in statuses if status != OK]
    if bad:
        _explain(model, layout, min(bad, key=lambda status: status >> STATE_SHIFT), arrays, size)
    return out[0] if size is None else out


def _layout(model: Model, order: str | ArrayLike) -> Layout:
    assembly = assemble(model, order)
    if not isinstance(order, str):
        return Layout(model, assembly)
    key = f"dca, {order}"
    found: Layout | None = model._work.get(key)
    return found if found is not None else model._work.setdefault(key, Layout(model, assembly))


def _explain(model: Model, layout: Layout, status: int, arrays: list[Floats | None], size: int | None) -> NoReturn:
    which, reason = status >> STATE_SHIFT, status & ((1 << STATE_SHIFT) - 1)
    for argument, x in zip(ABA.inputs, arrays):
        if x is not None and argument is not None and not np.isfinite(x).all():
            refuse_not_finite(model, argument.name, x if size is None else x[which] if x.ndim > 1 else x)
    if reason == NOT_UNIT:
        assert arrays[0] is not None
        refuse_not_unit(model, arrays[0] if size is None else arrays[0][which])
    if reason == SINGULAR:
        assembly = layout.tables.assembly
        body = int(assembly.item[which])
        raise SingularError(
            f"divide and conquer needs the inverse of every path body's inertia, and body {model.body_names[body]!r}, "
            "with what is joined to it, has none in some direction; give it mass and inertia, or use method='aba'"
        )
    raise StateError("dca: the result is not finite: the numbers given are too large for float64")
