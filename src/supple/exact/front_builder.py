"""Makes the tables of front_tables.py: which rows are at which node of a spanning tree, and where their numbers are."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.exact.front_nodes import Nodes
from supple.exact.front_tables import Cut, Direct, End, Front, Mechanism, Passed, Place
from supple.exact.loop_tables import Row, loop_tables
from supple.exact.spanning import own_tree, spanning_tree
from supple.exact.tables import aligned, aligned_rows
from supple.model.joints import NV
from supple.model.model import Model
from supple.spatial.held import Held
from supple.spatial.structs import Struct

SMALL = 30  #: a mechanism with no more rows than this is solved along its own tree, all rows at once
MANY = 12  #: otherwise, more closed rows than this are reduced to six
FAR_APART = 1e5  #: masses: rows are compared by lengths [uneven_rows.py]
SIX = 6


def n_rows(model: Model) -> int:
    """How many directions loops and relations forbid, redundant ones included."""
    return sum(x.rows for x in model.loop_list) + len(model.relation_list)


def is_uneven(model: Model) -> bool:
    """Whether masses, or moments of inertia about joints, are far apart."""
    moments = np.trace(model.inertia, axis1=1, axis2=2) + model.mass * (model.com**2).sum(axis=1)
    held = moments.copy()
    np.maximum.at(held, model.dof_body, model.armature)
    each = model.mass, moments, held
    return any(x.max(initial=0.0) > FAR_APART * x.min(initial=np.inf, where=x > 0.0) for x in each)


def mechanism(model: Model, armature: bool = False) -> Held:
    """The mechanism of a model with loops, with memory for one state. armature: whether joints may get armatures that
    the model does not have, as those of implicit steps."""
    small = n_rows(model) <= SMALL
    nodes = Nodes(model, own_tree(model) if small else spanning_tree(model))
    rows = _RowsOfNodes(nodes, n_rows(model) if small else MANY, armature)
    return rows.tables()


@dataclass
class _Group:
    """The rows of one cut joint or relation, and where they enter."""

    row: int  #: the first
    size: int
    ends: list[tuple[int, float]] = field(default_factory=list)  #: node, sign
    directs: list[tuple[int, int, float]] = field(default_factory=list)  #: node, degree of freedom, factor


@dataclass
class _Here:
    """What is at a node. `at`: where the rows of a group begin in its front."""

    opened: list[int] = field(default_factory=list)  #: groups
    closed: list[int] = field(default_factory=list)  #: groups whose ways meet here
    ends: list[tuple[int, float, int]] = field(default_factory=list)  #: group, sign, whether it owns
    directs: list[tuple[int, int, float, int]] = field(default_factory=list)  #: group, dof, factor, whether it owns
    below: list[int] = field(default_factory=list)  #: children with rows
    at: dict[int, int] = field(default_factory=dict)
    n_kept: int = 0  #: closed rows passed on


class _RowsOfNodes:
    """The rows at each node. many: the most closed rows that are passed on as they are. armature: whether joints may
    get armatures that the model does not have."""

    def __init__(self, nodes: Nodes, many: int, armature: bool) -> None:
        self.nodes, self.many, self.armature = nodes, many, armature
        self.uneven = armature or is_uneven(nodes.model)
        self.loops = loop_tables(nodes.model)
        self.soft = [0.0] * int(self.loops.n_rows)
        self.cuts: list[tuple[int, ...]] = []
        self.groups = [*self._cut_joints(), *self._relations()]
        self.here = [_Here() for _ in nodes.table]
        for number, group in enumerate(self.groups):
            self._enter(number, group)
        self.fronts: list[dict[str, int]] = []
        self.to: list[int] = []
        self.places: list[tuple[int, int]] = []  #: row, block
        self.passing = _Blocks()
        self.n_numbers, self.room = 0, 1
        for node in range(len(nodes.table) - 1, -1, -1):
            self._add_front(node)

    def _cut_joints(self) -> Iterator[_Group]:
        """The rows of cut joints. Those of the model's tree come after those of its loops; the rows of their armatures,
        which are compliant, last."""
        model, graph, of = self.nodes.model, self.nodes.graph, self.nodes.of
        for e in self.nodes.cut:
            a, b, size = int(graph.A[e]), int(graph.B[e]), int(graph.rows[e])
            ends = [(int(of[x]), sign) for x, sign in ((a, -1.0), (b, 1.0)) if x >= 0]
            if e >= model.n_bodies:
                row = int(self.loops.loops["row"][e - model.n_bodies])
            else:
                row, nv = len(self.soft), NV[int(model.joint_type[b])]
                first = int(model.v_index[b])
                is_soft = self.armature or bool(model.armature[first : first + nv].any())
                size = 6 if is_soft else 6 - nv
                self.soft += [0.0] * (6 - nv) + [-1.0] * nv * is_soft
                self.cuts.append((b, int(of[b]), -1 if a < 0 else int(of[a]), row, int(is_soft)))
            if size:
                yield _Group(row, size, ends)

    def _relations(self) -> Iterator[_Group]:
        out: dict[int, _Group] = {}
        dof_of = {int(iv): k for k, iv in enumerate(self.nodes.dofs["iv"])} if len(self.loops.terms) else {}
        for term in self.loops.terms:
            row, iv = int(term["row"]), int(term["iv"])
            node = self.nodes.below(int(self.nodes.model.dof_body[iv]))
            out.setdefault(row, _Group(row, 1)).directs.append((node, dof_of[iv], float(term["factor"])))
        yield from out.values()

    def _enter(self, number: int, group: _Group) -> None:
        """Note a group at the nodes where it enters, is open, and is closed."""
        here, parent = self.here, self.nodes.parent
        starts = [node for node, _ in group.ends] + [node for node, _, _ in group.directs]
        closed = self.nodes.meeting([node for node, _ in group.ends] + [parent[node] for node, _, _ in group.directs])
        seen: set[int] = set()
        for node in starts:
            while node != closed and node not in seen:
                seen.add(node)
                here[node].opened.append(number)
                node = parent[node]
        here[closed].closed.append(number)
        owner = max((node for node, _ in group.ends), default=-1)
        for node, sign in group.ends:
            here[node].ends.append((number, sign, int(node == owner)))
        first = max(((node, dof) for node, dof, _ in group.directs), default=None)
        for node, dof, factor in group.directs:
            here[node].directs.append((number, dof, factor, int((node, dof) == first)))

    def _add_front(self, node: int) -> None:
        """The front of a node whose children have theirs: a new one, or that of its child."""
        here, table, is_base = self.here[node], self.nodes.table, int(self.nodes.table["body"][node]) < 0
        n_open = sum(self.groups[g].size for g in here.opened)
        n_closed = sum(self.groups[g].size for g in here.closed) + sum(self.here[c].n_kept for c in here.below)
        table["Y"][node] = self.n_numbers
        if not n_open + n_closed:
            return
        here.n_kept = 0 if is_base else (n_closed if n_closed <= self.many else SIX)
        same = not (here.closed or here.ends or here.directs) and len(here.below) == 1 and here.n_kept == n_closed
        if same:
            table["front"][node] = table["front"][here.below[0]]
        else:
            table["front"][node], table["is_new"][node] = len(self.fronts), 1
            self._lay_out(here, n_open, n_closed, is_base)
        if n_open + here.n_kept:
            self.here[self.nodes.parent[node]].below.append(node)
        table["Y"][node] = self._keep(int(table["n_dofs"][node]) * (n_open + here.n_kept))

    def _keep(self, size: int) -> int:
        """Room for numbers that solutions need: where it begins."""
        self.n_numbers += size
        return self.n_numbers - size

    def _lay_out(self, here: _Here, n_open: int, n_closed: int, is_base: bool) -> None:
        """Room for a new front; where the rows of the fronts below continue in it."""
        n, m, n_gone = n_open + n_closed, n_open + here.n_kept, n_closed - here.n_kept
        below = [int(self.nodes.table["front"][child]) for child in here.below]
        fronts, places, at = [self.fronts[i] for i in below], len(self.places), 0
        for g in (*here.opened, *here.closed):
            row, size = self.groups[g].row, self.groups[g].size
            here.at[g] = at
            if at >= n_open:
                self.places += [(row + i, at) for i in range(size)]
            at += size
        for child, front, beside in zip(here.below, fronts, [*below[1:], -1]):
            front["to"], front["beside"], kept = len(self.to), beside, self.here[child].n_kept
            for g in self.here[child].opened:
                self.to += range(here.at[g], here.at[g] + self.groups[g].size)
            self.to += range(at, at + kept)
            self.places += [(-1, at)] * kept
            at += kept
        first_rows = sum(front["n_open"] + front["n_kept"] for front in fronts)
        for g, _, _ in here.ends:
            group = self.groups[g]
            first_rows += sum(x != 0.0 for x in self.soft[group.row : group.row + group.size])
        stride = -(-(first_rows + m + 4) // 4) * 4
        F = self.passing.take(stride * (n + self.uneven) + 6 * n)
        for front in fronts:
            self.passing.give(front["F"])
        rotated = SIX * (n_closed + 1) if n_gone and not is_base else 0
        self.fronts.append(
            dict(
                n=n, n_open=n_open, n_kept=here.n_kept, is_base=is_base, stride=stride, F=F, places=places,
                K=F + stride * (n + self.uneven), b=self._keep(n), E=self._keep(n_gone * (n_gone + 2)),
                T=self._keep(n_gone * n), H=self._keep(rotated), to=-1, below=below[0] if below else -1, beside=-1,
            )
        )  # fmt: skip
        if m == 0:  # it ends here
            self.passing.give(F)
        self.room = max(self.room, n + stride)

    def tables(self) -> Held:
        """The mechanism."""
        nodes, table, n = self.nodes, self.nodes.table, len(self.soft)
        memory.require(self.n_numbers + self.passing.size, "the dynamics of the loops", "use fewer loops")
        ends: list[tuple[float, ...]] = []
        directs: list[tuple[float, ...]] = []
        for row, here in zip(table, self.here):
            row["end"], row["n_ends"], row["direct"], row["n_directs"] = (
                len(ends), len(here.ends), len(directs), len(here.directs)
            )  # fmt: skip
            for g, sign, owns in here.ends:
                ends.append((self.groups[g].row, self.groups[g].size, here.at[g], sign, owns))
            for g, dof, factor, owns in here.directs:
                directs.append((dof, self.groups[g].row, here.at[g], factor, owns))
        kept, passing = aligned((self.n_numbers,)), aligned((self.passing.size,))
        return Mechanism.of(
            loops=self.loops.but(rows=Row.zeros(n)), n_nodes=len(table), n_dofs=len(nodes.dofs),
            n_cuts=len(self.cuts), has_loop_joints=int(table["is_loop"].any()), is_uneven=int(self.uneven), nodes=table,
            passed=aligned_rows(Passed, int(table["slot"].max(initial=0)) + 1), dofs=nodes.dofs,
            ends=_filled(End, ends), directs=_filled(Direct, directs),
            fronts=_filled(Front, [tuple(x[name] for name in _SIZES) for x in self.fronts]),
            places=_filled(Place, self.places), cuts=_filled(Cut, self.cuts), node_of=nodes.of,
            soft=np.array(self.soft), gives=np.zeros(n), to=np.array(self.to, np.int64), K=passing, F=passing,
            b=kept, H=kept, E=kept, T=kept, Y=kept, a=aligned((nodes.model.nv,)),
            more=aligned((nodes.model.nv + n_rows(nodes.model),)), room=aligned((self.room,)),
        )  # fmt: skip


class _Blocks:
    """Memory in blocks, each of which is used again when it is given back."""

    def __init__(self) -> None:
        self.size = 0
        self._sizes: dict[int, int] = {}  #: of each block
        self._free: list[tuple[int, int]] = []  #: size, and where the block is: the smallest first

    def take(self, size: int) -> int:
        """Where a block of at least this size begins."""
        i = bisect_left(self._free, (size, 0))
        if i < len(self._free):
            return self._free.pop(i)[1]
        self._sizes[self.size] = size
        self.size += size
        return self.size - size

    def give(self, block: int) -> None:
        insort(self._free, (self._sizes[block], block))


_SIZES = tuple(Front.fields)[: list(Front.fields).index("n_F")]


def _filled(struct: type[Struct], rows: Sequence[tuple[float, ...]]) -> NDArray[np.void]:
    """A table with these numbers in its first fields."""
    out = struct.zeros(len(rows))
    for name, column in zip(struct.fields, zip(*rows)):
        out[name] = column
    return out
