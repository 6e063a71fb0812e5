"""Operation counts of our own kernels on a model, by formula: one state, without wrenches.

A joint's cost depends on its type; one on the world saves something; the world itself costs 3a; in addition,

    method        more
    aba           nothing
    crba          9m + 7a for each entry of the mass matrix below the diagonal (D1), m + a for each update (D2) [SF]
    virtual-work  272m + 276a for each body that has an elder sibling: its link is no longer a rigid body then

The numbers were counted (supple.reproduce.counting) and are exact to the last operation; a test counts them again.
Sines and cosines are left out. Divide and conquer depends on its assembly tree, and has no such formula.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from supple.costs import matrices as costs
from supple.costs.matrices import Cost
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.topology import n_children


class Formula(NamedTuple):
    """The cost of a method: for each type of joint, and in addition to them."""

    joints: dict[JointType, Cost]  #: inside the tree
    saved: Cost  #: by a joint on the world
    beside: dict[str, Cost]  #: by the name of what is counted: "D1", "D2", "branches"


J = JointType
_ABA = {
    J.REVOLUTE: Cost(307, 271, 1), J.CONTINUOUS: Cost(307, 271, 1), J.PRISMATIC: Cost(292, 265, 1),
    J.SCREW: Cost(350, 316, 1), J.CYLINDRICAL: Cost(448, 404, 2), J.UNIVERSAL: Cost(469, 413, 2),
    J.PLANAR: Cost(560, 499, 3), J.BALL: Cost(593, 516, 4), J.FREE: Cost(908, 789, 7),
}  # fmt: skip
_CRBA = {
    J.REVOLUTE: Cost(327, 269, 1), J.CONTINUOUS: Cost(327, 269, 1), J.PRISMATIC: Cost(291, 251, 1),
    J.SCREW: Cost(368, 314, 1), J.CYLINDRICAL: Cost(429, 375, 2), J.UNIVERSAL: Cost(459, 387, 2),
    J.PLANAR: Cost(524, 455, 3), J.BALL: Cost(590, 489, 5), J.FREE: Cost(869, 735, 8),
}  # fmt: skip
_VIRTUAL_WORK = {
    J.REVOLUTE: Cost(810, 649, 7), J.CONTINUOUS: Cost(810, 649, 7), J.PRISMATIC: Cost(795, 643, 7),
    J.SCREW: Cost(853, 694, 7), J.CYLINDRICAL: Cost(951, 782, 8), J.UNIVERSAL: Cost(972, 791, 8),
    J.PLANAR: Cost(1063, 877, 9), J.BALL: Cost(1096, 894, 10), J.FREE: Cost(1411, 1167, 13),
}  # fmt: skip

FORMULAS = {
    "aba": Formula(_ABA, Cost(60, 81), {}),
    "crba": Formula(_CRBA, Cost(24, 48), {"D1": Cost(9, 7), "D2": Cost(1, 1)}),
    "virtual-work": Formula(_VIRTUAL_WORK, Cost(292, 273), {"branches": Cost(272, 276)}),
}


WORLD = Cost(a=3)  #: in each method, once


def kernel_costs(model: Model) -> dict[str, Cost]:
    """The operations of a call of forward_dynamics, by method."""
    kinds = [J(int(k)) for k in model.joint_type]
    roots, times, out = int((model.parent < 0).sum()), how_many(model), {}
    for method, formula in FORMULAS.items():
        total = WORLD - roots * formula.saved
        for kind in set(kinds):
            total += kinds.count(kind) * formula.joints[kind]
        for name, cost in formula.beside.items():
            total += times[name] * cost
        out[method] = total
    return out


def how_many(model: Model) -> dict[str, int]:
    """What formulas count in addition to joints."""
    lam = model.expanded_parent
    branches = int(np.maximum(n_children(model.parent)[1:] - 1, 0).sum())
    return {"D1": costs.D1(lam), "D2": costs.D2(lam), "branches": branches}


def written(model: Model, method: str) -> str:
    """The formula for a model's joints: 7 revolute (307m + 271a + 1 div) + ... - 1 on the world (60m + 81a)"""
    formula = FORMULAS[method]
    kinds, count = np.unique(model.joint_type, return_counts=True)
    parts = [f"{n} {J(int(k)).name.lower()} ({formula.joints[J(int(k))]})" for k, n in zip(kinds, count)]
    text = " + ".join([*parts, *(f"{name} ({cost})" for name, cost in formula.beside.items()), str(WORLD)])
    return f"{text} - {int((model.parent < 0).sum())} on the world ({formula.saved})"
