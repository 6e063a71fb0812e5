"""Pairs of shapes that never touch: neighbours, pairs named apart, and shapes of one tree that overlap at the neutral
position."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.contact.memory import CONTACT
from supple.contact.settings import Contacts
from supple.errors import ModelError
from supple.exact.kinematics import poses
from supple.model.joints import JointType
from supple.model.model import Model, unknown
from supple.model.shapes import Shape

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def pairs_apart(model: Model, shapes: list[Shape], contacts: Contacts) -> Ints:
    """Pairs of shapes that are named `apart`, by shapes, bodies or frames, or whose bodies a loop joint connects:
    shape * n + other, sorted."""
    n, found = len(shapes), set()
    by_name = {x.name: i for i, x in enumerate(shapes)}

    def of(name: str) -> list[int]:
        if name in by_name:
            return [by_name[name]]
        if name not in model.bodies:
            raise ModelError(unknown("body or shape", name, [*model.body_names, *by_name]))
        return [i for i, x in enumerate(shapes) if x.body == model.bodies[name].index]

    given = [(x.name, other) for x in shapes for other in x.apart]
    if not contacts.neighbours:  # bodies connected by the joint of a loop are neighbours, too
        names = model.body_names
        given += [(names[x.body], names[x.other]) for x in model.loop_list if x.body >= 0 and x.other >= 0]
    for one, two in (*given, *contacts.apart):
        found |= {min(i, j) * n + max(i, j) for i in of(one) for j in of(two)}
    return np.array(sorted(found), dtype=np.int64)


def above_of(model: Model, shapes: list[Shape]) -> Ints:
    """The parent of each body; bodies without mass and shapes are parts of a joint, and skipped."""
    real = model.mass > 0
    real[[x.body for x in shapes if x.body >= 0]] = True
    out = np.array(model.parent)
    skipped = (out >= 0) & ~real[out]
    while skipped.any():
        out[skipped] = model.parent[out[skipped]]
        skipped = (out >= 0) & ~real[out]
    return out


def roots_of(model: Model) -> Ints:
    """The root of the tree of each body: bodies are numbered tree by tree."""
    first = model.parent < 0
    return np.flatnonzero(first)[np.cumsum(first) - 1]


def side_by_side(model: Model, table: NDArray[np.void], root: Ints) -> Floats:
    """The neutral position, with trees whose root is free side by side along x, so that they do not touch each other.
    table: shapes; root: of each, -1 for the world."""
    q, free = model.neutral(), np.flatnonzero((model.parent < 0) & (model.joint_type == JointType.FREE))
    if len(free) > 1:
        at, own = poses(model, q).position[table["body"]], np.linalg.norm(table["p"], axis=1)
        far = np.linalg.norm(at, axis=1) + own + np.linalg.norm(table["box"], axis=1) + table["margin"]
        size = np.zeros(model.n_bodies)
        np.maximum.at(size, root[root >= 0], far[root >= 0])
        q[model.q_index[free]] += 2.0 * np.cumsum(size[free])
    return q


def overlapping_in_trees(model: Model, root: Ints, found: NDArray[np.void], overlap: float) -> Ints:
    """(k, 2) pairs of shapes of one tree that overlap by more than so many metres. found: touches; root: of each shape,
    -1 for the world, whose shapes belong to every tree without a free root: the base of a robot."""
    deep = (found["kind"] == CONTACT) & (found["gap"] < -overlap)
    pairs = np.column_stack([found[name][deep] for name in ("shape", "other")])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    low, high = np.sort(root[pairs], axis=1).T
    bound = np.append(model.joint_type != JointType.FREE, False)  # the last one is the world's
    return pairs[((low == high) & (low >= 0)) | ((low < 0) & bound[high])]
