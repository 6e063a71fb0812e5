"""The nodes of a spanning tree and their degrees of freedom [front_tables.py]: in which order, and which bases."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from supple.exact.front_tables import FrontDof, Node
from supple.exact.spanning import WORLD, Graph, SpanningTree, depth_first, graph_of, order
from supple.exact.tables import aligned_rows
from supple.model.joints import NV
from supple.model.model import Model
from supple.model.topology import slots, subtree_ends


class Nodes:
    """The bodies along a spanning tree, and the bases."""

    def __init__(self, model: Model, tree: SpanningTree) -> None:
        self.model, self.tree, self.graph = model, tree, graph_of(model)
        self.cut: list[int] = np.setdiff1d(np.arange(len(self.graph.A)), tree.edge).tolist()
        base, above = _bases(model, self.graph, tree, self.cut)
        up = np.array([k + len(above) if k >= 0 else base.get(b, 0) for b, k in enumerate(tree.parent.tolist())])
        up = np.append(np.array(above, dtype=np.int64), up)  # of bases, then of bodies
        nodes = depth_first(up)
        place = np.empty_like(nodes)
        place[nodes] = np.arange(len(nodes))
        self.of = place[len(above) :]  #: the node of each body
        self.table = aligned_rows(Node, len(nodes))
        self.table["front"] = -1
        self.table["body"] = np.where(nodes < len(above), -1, nodes - len(above))
        self.table["parent"] = parent = np.where(up < 0, -1, place[up])[nodes]
        ends, is_loop = subtree_ends(parent), tree.edge >= model.n_bodies
        self.table["slot"] = slots(parent, ends)
        self.table["has_children"] = ends > np.arange(1, len(nodes) + 1)
        self.table["is_loop"][self.of] = is_loop
        self.table["joint"][self.of] = np.where(is_loop, tree.edge - model.n_bodies, tree.edge)
        self.table["sign"][self.of] = np.where(self.graph.B[tree.edge] == np.arange(model.n_bodies), 1.0, -1.0)
        self.parent: list[int] = self.table["parent"].tolist()
        self.depth = [0] * len(self.table)
        for node, above_it in enumerate(self.parent):
            self.depth[node] = 0 if above_it < 0 else self.depth[above_it] + 1
        self.dofs = self._dofs()

    def _dofs(self) -> NDArray[np.void]:
        """The degrees of freedom of all nodes."""
        model, table = self.model, self.table
        iv: list[int] = []
        first, count = [0] * len(table), [0] * len(table)
        for node in range(len(table)):
            joint, first[node] = int(table["joint"][node]), len(iv)
            if table["body"][node] < 0:
                continue
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
