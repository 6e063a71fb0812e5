"""The memory layout of a model's assembly tree and of the coefficients of its nodes."""

from __future__ import annotations

from copy import copy
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from supple.assembly.frames import adapted_inertias, to_joints
from supple.assembly.memory import AssembledBody, BodyForce, LinkMatrices, Pose, RigidBody, Told, Tree
from supple.assembly.nodes import RIGID, Absorbed, Stretch, closing_words, joint_words
from supple.assembly.tree import JOIN, LEAF, LIGHT, SUM, Assembly
from supple.model.joints import IN_KERNELS, NV
from supple.model.kernel_frames import inside_inertias, tree_poses
from supple.model.model import Model
from supple.spatial.held import Held

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class TreeTables:
    """The tables of a model's assembly tree."""

    def __init__(self, model: Model, assembly: Assembly) -> None:
        self.assembly = assembly
        kind, up, n = assembly.kind, assembly.up, model.n_bodies
        joint = np.array(IN_KERNELS)[model.joint_type]
        dof = np.array(NV)[joint]
        stretch = (kind == LEAF) | (kind == JOIN)
        above = np.where(up < 0, 0, up)
        lone = (kind == LEAF) & (kind[above] == LIGHT)
        # a stretch is open unless it is a whole path, or the lower part of a stretch that is not open
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
        closing = np.where(has_joint, closing_words(k), 0)
        sizes = (coefficients + self.joint_size + closing + 7) // 8 * 8
        self.node_at = _ints(np.cumsum(sizes) - sizes)
        self.joint_at = _ints(self.node_at + coefficients)
        self.closing_at = _ints(self.joint_at + self.joint_size)
        self.size = int(sizes.sum())  #: total number of words of the nodes
        self.joint = joint
        self.lone = lone
        self.tree: Held = Tree.of(
            n=n,
            n_nodes=len(kind),
            **{x: getattr(assembly, x) for x in ("kind", "left", "right", "up", "item", "first", "level", "joints")},
            open=is_open,
            lone=_ints(lone),
            top=_ints(top),
            after=after,
            parent=_ints(model.parent),
            joint=_ints(joint),
            iq=_ints(model.q_index),
            iv=_ints(model.v_index),
            forbidden=_ints(6 - dof),
            heavy=assembly.heavy,
            leaf_of=assembly.leaf_of,
            node_of=assembly.node_of,
            iw=_ints(np.cumsum(dof * dof) - dof * dof),
            links=_links(model),
            inertias=_rigid_bodies(model),
            frames=_frames(model),
            pitch=np.array(model.pitch),
            armature=np.array(model.armature),
            weight=unit_weights(dof),
        )

    def changed(self, weight: Floats, locked: Ints) -> TreeTables:
        """The same tables with other weights and locked joints."""
        other, forbidden = copy(self), self.tree.forbidden.copy()
        forbidden[locked] = 6
        other.tree = self.tree.but(weight=weight, forbidden=forbidden)
        return other

    def body(self, model: Model, q: Floats) -> Held:
        """An assembled body that stores the coefficients of every node."""
        n, m = model.n_bodies, self.assembly.n_nodes
        numbers = np.zeros(self.size)
        return AssembledBody.of(
            tree=self.tree,
            numbers=numbers,
            closings=numbers,
            node_at=self.node_at,
            joint_at=self.joint_at,
            closing_at=self.closing_at,
            told=Told.zeros(m),
            told_at=np.arange(m),
            spans=Pose.zeros(m),
            external=BodyForce.zeros(n),
            nq=model.nq,
            nv=model.nv,
            q=q,
            force=np.zeros(model.nv),
            qdd=np.zeros(model.nv),
        )


def _ints(x: NDArray[np.generic]) -> Ints:
    return np.ascontiguousarray(x, dtype=np.int64)


def _links(model: Model) -> NDArray[np.void]:
    links = LinkMatrices.zeros(model.n_bodies)
    links["T"], links["I"] = to_joints(model), adapted_inertias(model)
    return links


def _rigid_bodies(model: Model) -> NDArray[np.void]:
    bodies = RigidBody.zeros(model.n_bodies)
    h, I = inside_inertias(model)
    upper = I[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    bodies["Y"] = np.concatenate([model.mass[:, None], h, upper], axis=1)
    return bodies


def _frames(model: Model) -> NDArray[np.void]:
    frames = Pose.zeros(model.n_bodies)
    R, r = tree_poses(model)
    frames["R"], frames["r"] = R.reshape(-1, 9), r
    return frames


def unit_weights(dof: Ints) -> Floats:
    """Weights for which the total is the plain sum of squares."""
    out = np.zeros(int((dof * dof).sum()))
    begins = np.cumsum(dof * dof) - dof * dof
    for k in range(int(dof.max(initial=0))):  # the k-th diagonal entry
        out[(begins + k * (dof + 1))[dof > k]] = 1.0
    return out


def _by_level(level: Ints) -> list[Ints]:
    """The nodes of each level except the first, from the top."""
    order = np.argsort(level, kind="stable")
    bounds = np.searchsorted(level[order], np.arange(1, int(level.max()) + 2))
    return [order[a:b] for a, b in pairwise(bounds)]


def tree_tables(model: Model, assembly: Assembly) -> TreeTables:
    """The tables of an assembly, cached with the model for the two named orders."""
    kept: dict[int, TreeTables] = model._kept(TreeTables, dict)
    found = kept.get(id(assembly))
    if found is None:
        found = TreeTables(model, assembly)
        kept.clear() if len(kept) > 3 else None  # perhaps by another thread, too
        kept[id(assembly)] = found
    return found
