"""Makes the tables of front_tables.py: which rows are at which node of a spanning tree, and where their numbers are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.exact.front_tables import Cut, Direct, End, Front, FrontDof, Mechanism, Node
from supple.exact.loop_tables import Row, loop_tables
from supple.exact.spanning import WORLD, Graph, SpanningTree, graph_of, order, own_tree, spanning_tree
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
    nodes = _Nodes(model, own_tree(model) if small else spanning_tree(model))
    rows = _RowsOfNodes(nodes, n_rows(model) if small else MANY, armature)
    return rows.tables()


class _Nodes:
    """The bodies along a spanning tree, bases first."""

    def __init__(self, model: Model, tree: SpanningTree) -> None:
        self.model, self.tree, self.graph = model, tree, graph_of(model)
        self.cut: list[int] = np.setdiff1d(np.arange(len(self.graph.A)), tree.edge).tolist()
        bodies = order(tree.parent)
        base, above = _bases(model, self.graph, tree, self.cut)
        self.n_bases = len(above)
        self.of = np.empty(model.n_bodies, dtype=np.int64)  #: the node of each body
        self.of[bodies] = self.n_bases + np.arange(len(bodies))
        self.table = Node.zeros(self.n_bases + len(bodies))
        self.table["body"] = self.table["front"] = -1
        self.table["parent"][: self.n_bases] = above
        mine, up, edge = self.table[self.n_bases :], tree.parent[bodies], tree.edge[bodies]
        mine["body"] = bodies
        mine["parent"] = np.where(up >= 0, self.of[up], [base.get(b, 0) for b in bodies.tolist()])
        mine["is_loop"] = edge >= model.n_bodies
        mine["joint"] = edge - np.where(edge >= model.n_bodies, model.n_bodies, 0)
        mine["sign"] = np.where(self.graph.B[edge] == bodies, 1.0, -1.0)
        self.parent: list[int] = self.table["parent"].tolist()
        self.depth = [0] * len(self.table)
        for node, up in enumerate(self.parent):
            self.depth[node] = 0 if up < 0 else self.depth[up] + 1
        self.dofs = self._dofs()

    def _dofs(self) -> NDArray[np.void]:
        """The degrees of freedom of all nodes."""
        model, table = self.model, self.table
        iv: list[int] = []
        first, count = [0] * len(table), [0] * len(table)
        for node in range(self.n_bases, len(table)):
            joint, first[node] = int(table["joint"][node]), len(iv)
            if table["is_loop"][node]:
                iv += [-1] * (6 - model.loop_list[joint].rows)
            else:
                start = int(model.v_index[joint])
                iv += range(start, start + NV[int(model.joint_type[joint])])
            count[node] = len(iv) - first[node]
        table["dof"], table["n_dofs"] = first, count
        out = aligned_rows(FrontDof, len(iv))
        out["iv"] = iv
        return out

    def below(self, joint: int) -> int:
        """The node below a joint of the model's tree: that of its body, or of its parent if the tree reverses it."""
        node = int(self.of[joint])
        mine = not self.table["is_loop"][node] and self.table["joint"][node] == joint
        return node if mine else int(self.of[self.model.parent[joint]])

    def meeting(self, nodes: Sequence[int]) -> int:
        """The lowest node above or equal to all of these."""
        parent, depth, one = self.parent, self.depth, nodes[0]
        for two in nodes[1:]:
            while one != two:
                if depth[one] >= depth[two]:
                    one = parent[one]
                else:
                    two = parent[two]
        return one


def _bases(model: Model, graph: Graph, tree: SpanningTree, cut: list[int]) -> tuple[dict[int, int], list[int]]:
    """The base of each body that is joined to the world, and the base above each base, or -1: neighbours are bases
    between whose branches a joint is cut or a relation holds, so that their rows meet at one of the two."""
    root = [-1] * model.n_bodies
    for body in order(tree.parent).tolist():
        up = int(tree.parent[body])
        root[body] = body if up == WORLD else root[up]
    beside: dict[int, list[int]] = {x: [] for x in sorted(set(root))}
    joined = [[root[int(x[e])] for x in (graph.A, graph.B) if x[e] >= 0] for e in cut]
    numbers = {name: i for i, name in enumerate(model.joint_names)} if model.relation_list else {}
    joined += [[root[numbers[name]] for name in x.joints] for x in model.relation_list]
    for roots in joined:
        for one, two in pairwise(roots):
            if one != two:
                beside[one].append(two)
                beside[two].append(one)
    base: dict[int, int] = {}
    above: list[int] = []
    for start in beside:
        waiting = deque([(start, -1)])
        while waiting:
            x, up = waiting.popleft()
            if x not in base:
                base[x] = len(above)
                above.append(up)
                waiting += [(other, base[x]) for other in beside[x]]
    return base, above


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

    def __init__(self, nodes: _Nodes, many: int, armature: bool) -> None:
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
        self.row_of: list[int] = []
        self.block: list[int] = []
        self.used = dict.fromkeys(("K", "F", "b", "H", "E"), 0)
        self.n_Y, self.room = 0, 1
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
        for i, (node, sign) in enumerate(group.ends):
            here[node].ends.append((number, sign, int(i == 0)))
        for i, (node, dof, factor) in enumerate(group.directs):
            here[node].directs.append((number, dof, factor, int(i == 0)))

    def _add_front(self, node: int) -> None:
        """The front of a node whose children have theirs: a new one, or that of its child."""
        here, table, is_base = self.here[node], self.nodes.table, node < self.nodes.n_bases
        n_open = sum(self.groups[g].size for g in here.opened)
        n_closed = sum(self.groups[g].size for g in here.closed) + sum(self.here[c].n_kept for c in here.below)
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
        first = int(table["dof"][node])
        for k in range(first, first + int(table["n_dofs"][node])):
            self.nodes.dofs["y"][k] = self.n_Y
            self.n_Y += n_open + here.n_kept

    def _lay_out(self, here: _Here, n_open: int, n_closed: int, is_base: bool) -> None:
        """Room for a new front; where the rows of the fronts below continue in it."""
        n, m, n_gone = n_open + n_closed, n_open + here.n_kept, n_closed - here.n_kept
        fronts = [self.fronts[int(self.nodes.table["front"][child])] for child in here.below]
        at = 0
        for g in (*here.opened, *here.closed):
            row, size = self.groups[g].row, self.groups[g].size
            here.at[g] = at
            self.row_of += range(row, row + size)
            self.block += [at] * size
            at += size
        for child, front in zip(here.below, fronts):
            front["to"], kept = len(self.to), self.here[child].n_kept
            for g in self.here[child].opened:
                self.to += range(here.at[g], here.at[g] + self.groups[g].size)
            self.to += range(at, at + kept)
            self.row_of += [-1] * kept
            self.block += [at] * kept
            at += kept
        first_rows = sum(front["m"] for front in fronts)
        for g, _, _ in here.ends:
            group = self.groups[g]
            first_rows += sum(x != 0.0 for x in self.soft[group.row : group.row + group.size])
        stride = -(-(first_rows + m + 4) // 4) * 4
        self.fronts.append(
            dict(n=n, m=m, n_open=n_open, n_kept=here.n_kept, is_base=is_base, stride=stride, to=-1) | self.used
        )
        rotated = SIX * (n_closed + 1) if n_gone and not is_base else 0
        for name, more in dict(K=6 * n, F=stride * (n + self.uneven), b=n, H=rotated, E=n_gone * (n_gone + 2)).items():
            self.used[name] += more
        self.room = max(self.room, n + stride)

    def tables(self) -> Held:
        """The mechanism."""
        nodes, used, n = self.nodes, self.used, len(self.soft)
        memory.require(used["F"] + 2 * self.n_Y, "the dynamics of the loops", "use fewer loops")
        ends: list[tuple[float, ...]] = []
        directs: list[tuple[float, ...]] = []
        for row, here in zip(nodes.table, self.here):
            row["end"], row["n_ends"], row["direct"], row["n_directs"] = (
                len(ends), len(here.ends), len(directs), len(here.directs)
            )  # fmt: skip
            for g, sign, owns in here.ends:
                ends.append((self.groups[g].row, self.groups[g].size, here.at[g], sign, owns))
            for g, dof, factor, owns in here.directs:
                directs.append((dof, self.groups[g].row, here.at[g], factor, owns))
        table = aligned_rows(Node, len(nodes.table))
        table[:] = nodes.table
        return Mechanism.of(
            loops=self.loops.but(rows=Row.zeros(n)), n_nodes=len(table), n_dofs=len(nodes.dofs), n_bases=nodes.n_bases,
            n_fronts=len(self.fronts), n_cuts=len(self.cuts), has_loop_joints=int(table["is_loop"].any()), nodes=table,
            is_uneven=int(self.uneven),
            dofs=nodes.dofs, ends=_filled(End, ends), directs=_filled(Direct, directs),
            fronts=_filled(Front, [tuple(x[name] for name in _SIZES) for x in self.fronts]),
            cuts=_filled(Cut, self.cuts), node_of=nodes.of, soft=np.array(self.soft),
            n_all_rows=n, gives=np.zeros(n), to=np.array(self.to, np.int64),
            row_of=np.array(self.row_of, np.int64), block=np.array(self.block, np.int64), scale=aligned((used["b"],)),
            pivots=np.zeros(used["b"], np.int64), x=aligned((used["b"],)), Y=aligned((self.n_Y,)),
            a=aligned((nodes.model.nv,)), more=aligned((nodes.model.nv + n_rows(nodes.model),)),
            room=aligned((self.room,)),
            **{name: aligned((size,)) for name, size in used.items()},
        )  # fmt: skip


_SIZES = tuple(Front.fields)[: list(Front.fields).index("has_begun")]


def _filled(struct: type[Struct], rows: Sequence[tuple[float, ...]]) -> NDArray[np.void]:
    """A table with these numbers in its first fields."""
    out = struct.zeros(len(rows))
    for name, column in zip(struct.fields, zip(*rows)):
        out[name] = column
    return out
