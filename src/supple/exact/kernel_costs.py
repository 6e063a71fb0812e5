"""What our own kernels execute on a model, by formula: one state, without wrenches.

A joint costs what its type says; one on the world saves something; the world itself costs 3a; and to that comes

    method        more
    aba           nothing
    crba          9m + 7a for each entry of the mass matrix below the diagonal (D1), m + a for each update (D2) [SF]
    virtual-work  272m + 276a for each body that has an elder sibling: its link is no longer a rigid body then

The numbers were counted (supple.reproduce.counting) and hold to the last operation; a test counts them again. Left out
are sines and cosines, and that sliders save three additions, or six, below sliders alone. Divide and conquer depends
on its assembly tree, and has no such formula.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from supple.exact import costs
from supple.exact.costs import Cost
from supple.model.joints import JointType
from supple.model.model import Model
from supple.model.topology import n_children


class Formula(NamedTuple):
    """The cost of a method: for each type of joint, and beside them."""

    joints: dict[JointType, tuple[Cost, Cost]]  #: amid the tree, and what is saved on the world
    beside: dict[str, Cost]  #: by the name of what is counted: "D1", "D2", "branches"


def _saving(saved: Cost, joints: dict[JointType, Cost]) -> dict[JointType, tuple[Cost, Cost]]:
    """The same saving for all joints, but for sliders: on the world these also save a sum with what does not turn."""
    slider = saved + Cost(a=3)
    return {kind: (cost, slider if kind == JointType.PRISMATIC else saved) for kind, cost in joints.items()}


J = JointType
_ABA = {
    J.REVOLUTE: Cost(307, 271, 1), J.CONTINUOUS: Cost(307, 271, 1), J.PRISMATIC: Cost(292, 265, 1),
    J.SCREW: Cost(350, 316, 1), J.CYLINDRICAL: Cost(448, 404, 2), J.UNIVERSAL: Cost(469, 413, 2),
    J.PLANAR: Cost(560, 499, 3), J.BALL: Cost(593, 516, 4), J.FREE: Cost(908, 789, 7),
}  # fmt: skip
_CRBA = {
    J.REVOLUTE: (Cost(327, 269, 1), Cost(24, 48)), J.CONTINUOUS: (Cost(327, 269, 1), Cost(24, 48)),
    J.PRISMATIC: (Cost(291, 251, 1), Cost(24, 54)), J.SCREW: (Cost(368, 314, 1), Cost(24, 48)),
    J.CYLINDRICAL: (Cost(423, 372, 2), Cost(30, 51)), J.UNIVERSAL: (Cost(453, 381, 2), Cost(24, 48)),
    J.PLANAR: (Cost(515, 449, 3), Cost(36, 54)), J.BALL: (Cost(581, 480, 5), Cost(24, 48)),
    J.FREE: (Cost(851, 726, 8), Cost(42, 57)),
}  # fmt: skip
_VIRTUAL_WORK = {
    J.REVOLUTE: Cost(810, 649, 7), J.CONTINUOUS: Cost(810, 649, 7), J.PRISMATIC: Cost(795, 643, 7),
    J.SCREW: Cost(853, 694, 7), J.CYLINDRICAL: Cost(951, 782, 8), J.UNIVERSAL: Cost(972, 791, 8),
    J.PLANAR: Cost(1063, 877, 9), J.BALL: Cost(1096, 894, 10), J.FREE: Cost(1411, 1167, 13),
}  # fmt: skip

FORMULAS = {
    "aba": Formula(_saving(Cost(60, 81), _ABA), {}),
    "crba": Formula(_CRBA, {"D1": Cost(9, 7), "D2": Cost(1, 1)}),
    "virtual-work": Formula(_saving(Cost(292, 273), _VIRTUAL_WORK), {"branches": Cost(272, 276)}),
}


WORLD = Cost(a=3)  #: in each method, once


def kernel_costs(model: Model) -> dict[str, Cost]:
    """What a call of forward_dynamics executes, by method."""
    kinds = [J(int(k)) for k in model.joint_type]
    roots = [kind for kind, p in zip(kinds, model.parent.tolist()) if p < 0]
    times, out = how_many(model), {}
    for method, formula in FORMULAS.items():
        total = WORLD
        for kind in set(kinds):
            amid, saved = formula.joints[kind]
            total += kinds.count(kind) * amid - roots.count(kind) * saved
        for name, cost in formula.beside.items():
            total += times[name] * cost
        out[method] = total
    return out


def how_many(model: Model) -> dict[str, int]:
    """What formulas count beside joints."""
    lam = model.expanded_parent
    branches = int(np.maximum(n_children(model.parent)[1:] - 1, 0).sum())
    return {"D1": costs.D1(lam), "D2": costs.D2(lam), "branches": branches}


def written(model: Model, method: str) -> str:
    """The formula as it is for a model's joints: 7 revolute (307m + 271a + 1 div) + ... - 1 on the world (60m + 81a)"""
    formula = FORMULAS[method]
    kinds, count = np.unique(model.joint_type, return_counts=True)
    parts = [f"{n} {J(int(k)).name.lower()} ({formula.joints[J(int(k))][0]})" for k, n in zip(kinds, count)]
    text = " + ".join([*parts, *(f"{name} ({cost})" for name, cost in formula.beside.items()), str(WORLD)])
    first = model.joint_type[model.parent < 0]
    for k, n in zip(*np.unique(first, return_counts=True)):
        text += f" - {n} on the world ({formula.joints[J(int(k))][1]})"
    return text
