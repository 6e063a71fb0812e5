"""Which bodies move less while overlap is removed: groups of trees that touch each other, directly or through others.

Moving shapes apart may make others overlap, and bodies that are wedged cannot be moved apart at all. Only the groups in
which that happens move less; all others move as if these were not there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.contact.islands import set_of
from supple.contact.memory import LIMIT
from supple.spatial.algebra import Force, Mat3, RigidInertia, Vec3
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Floats, Integers, Value
from supple.spatial.held import Held
from supple.spatial.structs import Struct, Table


class Momentum(Struct):
    """Of trees that push each other [steps/momenta.py]; of each tree, the pose of its root where forces acted."""

    R = Value(Mat3)
    P = Value(Vec3)
    f = Value(Force)  # about the origin of their first body
    Y = Value(RigidInertia)  # likewise
    before = Value(Force)  # about their centre of mass, before they are moved


class TreeGroups(Struct):
    tree = Integers()  # (bodies,) one body of its tree; trees that loops connect are one
    joined = Integers()  # (bodies,) disjoint sets of trees that touch
    share = Floats()  # (bodies,) of a set: how much of its motion is made
    deep = Integers()  # (bodies,) of a set: whether something overlaps too far
    looped = Integers()  # (bodies,) whether its tree has loops
    pushed = Integers()  # (bodies,) disjoint sets of trees that push each other [steps/momenta.py], ...
    held = Integers()  # ... whether one of these is not free, ...
    kept = Integers()  # ... whether it keeps its momentum, ...
    momenta = Table(Momentum)  # ... and that


def tree_groups_for(tree: NDArray[np.int64], looped: NDArray[np.int64]) -> Held:
    """The memory, given one body of the tree of every body, and whether that has loops."""
    n = len(tree)
    ints = {name: np.zeros(n, dtype=np.int64) for name in ("joined", "deep", "pushed", "held", "kept")}
    return TreeGroups.of(tree=tree, looped=looped, share=np.zeros(n), momenta=Momentum.zeros(n), **ints)


@helper
def group_of(groups, b):
    """The group of body b."""
    return set_of(groups.joined, groups.tree[b])


@part
def find_groups(groups, scene, n):
    """Finds the groups of n bodies, by the touches of a scene. All of their motion is to be made."""
    for b in range(n):
        groups.joined[b], groups.share[b] = b, 1.0
    for k in range(scene.n):
        touch = scene.touches[k]
        if not touch.aside and touch.kind != LIMIT and touch.a >= 0 and touch.b >= 0:
            groups.joined[group_of(groups, touch.a)] = group_of(groups, touch.b)


@helper
def move_deep_less(groups, n, factor):
    """Reduces the share of motion of marked groups by a factor."""
    for b in range(n):
        if groups.deep[b]:
            groups.share[b] *= factor


@helper
def move_all_less(groups, n, factor):
    """The same for all groups."""
    for b in range(n):
        groups.share[b] *= factor
