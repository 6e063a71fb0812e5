"""Where a run begins, and what is looked at: positions near given ones, in which loops are closed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from supple.errors import StateError, printable, quoted
from supple.exact.assembling import close_loops
from supple.model.checks import SINGLE
from supple.model.loops import Relation
from supple.model.model import Model, count

Floats = NDArray[np.float64]

MOVED = 1e-9  #: metres and radians by which a joint is elsewhere


def closed_near(model: Model, q: Floats, held: Sequence[str] = ()) -> Floats:
    """A position near q in which loops are closed; q itself if there are none. held: joints that stay where they are,
    as many of the first of them as loops allow (and only those with one coordinate)."""
    if model.is_tree:
        return q
    single = [name for name in dict.fromkeys(held) if model.joint_type[model.joints[name].index] in SINGLE]
    relations = [Relation(f"{name} is held", (name,), (1.0,), float(q[model.joints[name].q.start])) for name in single]
    for n in range(len(relations), 0, -1):
        try:
            return close_loops(replace(model, relation_list=(*model.relation_list, *relations[:n])), q)
        except StateError:
            continue
    return close_loops(model, q)


def closed_if_possible(model: Model, q: Floats, held: Sequence[str] = ()) -> Floats:
    """The same, or q itself if there is none: to be looked at."""
    try:
        return closed_near(model, q, held)
    except StateError:
        return q


def first_position(model: Model) -> Floats:
    """The neutral position with loops closed; if it is another, that is said."""
    q = model.neutral()
    closed = closed_near(model, q)
    say_moved(model, q, closed)
    return closed


def say_moved(model: Model, q: Floats, closed: Floats) -> None:
    """That loops were closed at the start by moving joints from q, if they were: one line, by the logger "supple"."""
    if closed is q:
        return
    far = np.abs(model.difference(q, closed))
    if far.max(initial=0.0) > MOVED:
        joints = model.dof_body[far > MOVED]
        most = quoted(model.joint_names[int(model.dof_body[int(np.argmax(far))])])
        moved = count(len(set(joints.tolist())), "joint")
        text = f"{model.name}: begins where its loops are closed: {moved} moved, {most} by {far.max():.3g} (m or rad)"
        logging.getLogger("supple").warning("%s", printable(text))
