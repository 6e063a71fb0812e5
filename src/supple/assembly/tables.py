"""An assembly tree as compiled code sees it, and where the numbers of its nodes lie.

What a node knows lies in one flat array, at `at[node]`: its coefficients (nodes.py); of a JOIN and a LIGHT then, at
`joint_at[node]` and `tail_at[node]`, those of its joint.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.assembly.frames import adapted_inertias, to_joints
from supple.assembly.nodes import ABSORBED, JOINT, STILL, STRETCH, TAIL
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly
from supple.model.joints import NV, JointType
from supple.model.model import Model
from supple.spatial.compiler import helper
from supple.spatial.references import address_of, floats_at, ints_at

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_N, _NODES, _NV, _INTS, _BODY_INTS, _T, _INERTIA, _PITCH, _DOFS, WORDS = range(10)


class Tree(NamedTuple):
    """What open_tree gives a kernel."""

    n: Any  #: bodies
    nodes: Any
    kind: Any
    left: Any
    right: Any
    up: Any
    item: Any
    first: Any
    open: Any  #: whether a stretch has a bottom handle
    lone: Any  #: whether a LEAF is all there is under a LIGHT
    at: Any
    joint_at: Any
    tail_at: Any
    joints: Any
    level: Any
    parent: Any  #: of bodies
    joint: Any
    iq: Any
    iv: Any
    forbidden: Any  #: how many directions a joint forbids
    heavy: Any
    leaf_of: Any
    node_of: Any
    to_joint: Any  #: T, flat
    inertia: Any  #: flat
    pitch: Any
    dofs: Any  #: (nv, 2) armature, damping


@helper
def open_tree(address):
    """The tables of an assembly at an address."""
    h = ints_at(address, (WORDS,))
    n, m = h[_N], h[_NODES]
    a = ints_at(h[_INTS], (13, m))
    b = ints_at(h[_BODY_INTS], (8, n))
    return Tree(
        n, m, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
        b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
        floats_at(h[_T], (36 * n,)), floats_at(h[_INERTIA], (36 * n,)), floats_at(h[_PITCH], (n,)),
        floats_at(h[_DOFS], (h[_NV], 2)),
    )  # fmt: skip


class TreeTables:
    """The tables of a model's assembly. `size`: how many numbers its nodes have."""

    def __init__(self, model: Model, assembly: Assembly) -> None:
        self.assembly = assembly
        kind, up = assembly.kind, assembly.up
        joint = np.where(model.joint_type == JointType.CONTINUOUS, JointType.REVOLUTE, model.joint_type)
        dof = np.array(NV)[joint]
        stretch = (kind == LEAF) | (kind == JOIN)
        above = np.where(up < 0, 0, up)
        lone = (kind == LEAF) & (kind[above] == LIGHT)
        # a stretch is open unless it is all of a path, or the lower part of a stretch that is not
        is_open = np.zeros(len(kind), dtype=np.int64)
        for level in _by_level(assembly.level):
            nodes = level[stretch[level]]
            over = up[nodes]
            lower = assembly.right[over] == nodes
            is_open[nodes] = np.where(kind[over] != JOIN, 0, np.where(lower, is_open[over], 1))
        k = np.where((kind == JOIN) | (kind == LIGHT), dof[assembly.item], 0)
        coefficients = np.select(
            [lone, (kind == LEAF) & (assembly.left < 0), stretch, kind == SUM, kind == LIGHT],
            [0, STILL, STRETCH, ABSORBED, ABSORBED],
        )
        has_joint = (kind == JOIN) | (kind == LIGHT)
        self.joint_size = np.where(has_joint, JOINT + 13 * k, 0)
        tail = np.where(has_joint, TAIL + 6 * k + k * k, 0)
        sizes = (coefficients + self.joint_size + tail + 7) // 8 * 8
        at = np.cumsum(sizes) - sizes
        self.size = int(sizes.sum())
        self.lone = lone
        self.ints = np.stack(
            [kind, assembly.left, assembly.right, up, assembly.item, assembly.first, is_open, lone, at,
             at + coefficients, at + coefficients + self.joint_size, assembly.joints, assembly.level]
        ).astype(np.int64)  # fmt: skip
        self.body_ints = np.stack(
            [model.parent, joint, model.q_index, model.v_index, 6 - dof, assembly.heavy, assembly.leaf_of,
             assembly.node_of]
        ).astype(np.int64)  # fmt: skip
        self.to_joint = to_joints(model)
        self.inertia = adapted_inertias(model)
        self.pitch = np.array(model.pitch)
        self.dofs = np.ascontiguousarray(np.stack([model.armature, model.damping], axis=1))
        kept = (self.ints, self.body_ints, self.to_joint, self.inertia, self.pitch, self.dofs)
        self.words = np.array([model.n_bodies, len(kind), model.nv, *map(address_of, kept)], dtype=np.int64)
        self.address = address_of(self.words)


def _by_level(level: Ints) -> list[Ints]:
    """The nodes of each level but the first, from above."""
    order = np.argsort(level, kind="stable")
    bounds = np.searchsorted(level[order], np.arange(1, int(level.max()) + 2))
    return [order[a:b] for a, b in pairwise(bounds)]


def tree_tables(model: Model, assembly: Assembly) -> TreeTables:
    """The tables of an assembly, kept with the model for the two orders that have names."""
    kept: dict[int, TreeTables] = model._work.setdefault("tree tables", {})
    if id(assembly) not in kept:
        kept.clear() if len(kept) > 3 else None
        kept[id(assembly)] = TreeTables(model, assembly)
    return kept[id(assembly)]
