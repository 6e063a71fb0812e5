"""An assembly tree as compiled code sees it, and where the numbers of its nodes lie.

What a node knows lies in one flat array, at `at[node]`: its coefficients (nodes.py); of a JOIN and a LIGHT then,
at `joint_at[node]` and `tail_at[node]`, those of its joint.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.assembly.frames import adapted_inertias, to_joints
from supple.assembly.nodes import RIGID, Absorbed, Stretch, closing_words, joint_words
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly
from supple.model.joints import NV, JointType
from supple.model.model import Model
from supple.spatial.compiler import helper
from supple.spatial.pointing import Pointing
from supple.spatial.references import address_of, float_vector, int_vector, ints_at

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_FORBIDDEN = 4  # row of body_ints
_N, _NODES, _NV, _INTS, _BODY_INTS, _T, _INERTIA, _PITCH, _ARMATURE, _WEIGHT, _N_WEIGHT, WORDS = range(12)


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
    top: Any  #: the top body of a stretch; of LIGHT and SUM the body they hang on, -1: the world
    after: Any  #: the joint after an open stretch
    parent: Any  #: of bodies
    joint: Any
    iq: Any
    iv: Any
    forbidden: Any  #: how many directions a joint forbids
    heavy: Any
    leaf_of: Any
    node_of: Any
    iw: Any  #: where the weight of a joint begins
    to_joint: Any  #: T, flat
    inertia: Any  #: flat
    pitch: Any
    armature: Any  #: (nv,)
    weight: Any  #: of k degrees of freedom k x k numbers: what their accelerations count for in the total


@helper
def open_tree(address):
    """The tables of an assembly at an address."""
    h = ints_at(address, (WORDS,))
    n, m, a, b = h[_N], h[_NODES], h[_INTS], h[_BODY_INTS]
    s, r = 8 * m, 8 * n  # bytes of a row
    return Tree(
        n, m,
        int_vector(a, m), int_vector(a + s, m), int_vector(a + 2 * s, m), int_vector(a + 3 * s, m),
        int_vector(a + 4 * s, m), int_vector(a + 5 * s, m), int_vector(a + 6 * s, m), int_vector(a + 7 * s, m),
        int_vector(a + 8 * s, m), int_vector(a + 9 * s, m), int_vector(a + 10 * s, m), int_vector(a + 11 * s, m),
        int_vector(a + 12 * s, m), int_vector(a + 13 * s, m), int_vector(a + 14 * s, m),
        int_vector(b, n), int_vector(b + r, n), int_vector(b + 2 * r, n), int_vector(b + 3 * r, n),
        int_vector(b + 4 * r, n), int_vector(b + 5 * r, n), int_vector(b + 6 * r, n), int_vector(b + 7 * r, n),
        int_vector(b + 8 * r, n),
        float_vector(h[_T], 36 * n), float_vector(h[_INERTIA], 36 * n), float_vector(h[_PITCH], n),
        float_vector(h[_ARMATURE], h[_NV]), float_vector(h[_WEIGHT], h[_N_WEIGHT]),
    )  # fmt: skip


class TreeTables(Pointing):
    """The tables of a model's assembly. `size`: how many numbers its nodes have."""

    _pointers = ("words", "address")

    def __init__(self, model: Model, assembly: Assembly) -> None:
        self.assembly = assembly
        kind, up = assembly.kind, assembly.up
        joint = np.where(model.joint_type == JointType.CONTINUOUS, JointType.REVOLUTE, model.joint_type)
        dof = np.array(NV)[joint]
        stretch = (kind == LEAF) | (kind == JOIN)
        above = np.where(up < 0, 0, up)
        lone = (kind == LEAF) & (kind[above] == LIGHT)
        # a stretch is open unless it is all of a path, or the lower part of a stretch that is not
        is_open, after = np.zeros((2, len(kind)), dtype=np.int64)
        top = np.where(kind == LIGHT, model.parent[assembly.item], assembly.item)
        for level in _by_level(assembly.level):
            nodes = level[stretch[level]]
            over = up[nodes]
            lower = assembly.right[over] == nodes
            is_open[nodes] = np.where(kind[over] != JOIN, 0, np.where(lower, is_open[over], 1))
            top[nodes] = np.where((kind[over] == JOIN) & ~lower, top[over], assembly.item[over])
            after[nodes] = np.where(lower, after[over], assembly.item[over])
        k = np.where((kind == JOIN) | (kind == LIGHT), dof[assembly.item], 0)
        coefficients = np.select(
            [lone, (kind == LEAF) & (assembly.left < 0), stretch, kind == SUM, kind == LIGHT],
            [0, RIGID, Stretch.words, Absorbed.words, Absorbed.words],
        )
        has_joint = (kind == JOIN) | (kind == LIGHT)
        self.joint_size = np.where(has_joint, joint_words(k), 0)
        tail = np.where(has_joint, closing_words(k), 0)
        sizes = (coefficients + self.joint_size + tail + 7) // 8 * 8
        at = np.cumsum(sizes) - sizes
        self.size = int(sizes.sum())
        self.lone = lone
        self.ints = np.stack(
            [kind, assembly.left, assembly.right, up, assembly.item, assembly.first, is_open, lone, at,
             at + coefficients, at + coefficients + self.joint_size, assembly.joints, assembly.level, top, after]
        ).astype(np.int64)  # fmt: skip
        self.body_ints = np.stack(
            [model.parent, joint, model.q_index, model.v_index, 6 - dof, assembly.heavy, assembly.leaf_of,
             assembly.node_of, np.cumsum(dof * dof) - dof * dof]
        ).astype(np.int64)  # fmt: skip
        self.to_joint = to_joints(model)
        self.inertia = adapted_inertias(model)
        self.pitch = np.array(model.pitch)
        self.armature = np.array(model.armature)
        self._sizes = model.n_bodies, len(kind), model.nv
        self.weight = unit_weights(dof)
        self._point()

    def _point(self) -> None:
        kept = (self.ints, self.body_ints, self.to_joint, self.inertia, self.pitch, self.armature, self.weight)
        self.words = np.array([*self._sizes, *map(address_of, kept), len(self.weight)], dtype=np.int64)
        self.address = address_of(self.words)

    def changed(self, weight: Floats, locked: Ints) -> TreeTables:
        """The same tables with other weights, and with joints that cannot move."""
        other = copy(self)
        other.weight, other.body_ints = weight, self.body_ints.copy()
        other.body_ints[_FORBIDDEN, locked] = 6
        other._point()
        return other


def unit_weights(dof: Ints) -> Floats:
    """Weights with which the total is the plain sum of squares."""
    out = np.zeros(int((dof * dof).sum()))
    begins = np.cumsum(dof * dof) - dof * dof
    for k in range(int(dof.max(initial=0))):  # the k-th entry of each diagonal
        out[(begins + k * (dof + 1))[dof > k]] = 1.0
    return out


def _by_level(level: Ints) -> list[Ints]:
    """The nodes of each level but the first, from above."""
    order = np.argsort(level, kind="stable")
    bounds = np.searchsorted(level[order], np.arange(1, int(level.max()) + 2))
    return [order[a:b] for a, b in pairwise(bounds)]


def tree_tables(model: Model, assembly: Assembly) -> TreeTables:
    """The tables of an assembly, kept with the model for the two orders that have names."""
    kept: dict[int, TreeTables] = model._work.setdefault("tree tables", {})
    found = kept.get(id(assembly))
    if found is None:
        found = TreeTables(model, assembly)
        kept.clear() if len(kept) > 3 else None  # perhaps by another thread, too
        kept[id(assembly)] = found
    return found
