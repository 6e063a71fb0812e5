"""What the reproduction of VW compares: methods, and the bodies they are compared on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from supple.comparisons.unit_vectors import UNIT_VECTORS
from supple.exact.aba import ABA
from supple.exact.calls import Algorithm
from supple.exact.forward import CRBA_LTDL
from supple.exact.virtual_hubs import split_hubs
from supple.exact.virtual_pairs import PAIRS
from supple.exact.virtual_work import VIRTUAL_WORK
from supple.model import trees
from supple.model.model import Model


class Method(NamedTuple):
    """A way to do forward dynamics: an algorithm, what is done to the model first, and what it is for readers."""

    algorithm: Algorithm
    of: Callable[[Model], Model]
    meaning: str


def as_it_is(model: Model) -> Model:
    return model


def in_pieces(model: Model) -> Model:
    return split_hubs(model).model


#: By name. A new method is a line here: it is then counted, timed and drawn with the others.
METHODS = {
    "virtual work": Method(VIRTUAL_WORK, as_it_is, "joints absorbed into their links' mobilities, what Supple does"),
    "pairs": Method(PAIRS, as_it_is, "the paper without splitting: a matrix for every pair of joints on a link"),
    "split": Method(PAIRS, in_pieces, "the paper with splitting: the same, no link having more than three joints"),
    "unit vectors": Method(UNIT_VECTORS, as_it_is, "the mass matrix by columns, then a dense solve: the paper's rival"),
    "ABA": Method(ABA, as_it_is, "articulated-body algorithm"),
    "CRBA + LTDL": Method(CRBA_LTDL, as_it_is, "composite-rigid-body algorithm, sparse factors"),
}
#: Counted beside them, and not timed: small bodies are not what it is for.
DCA = "DCA"
DCA_MEANING = "divide and conquer over a balanced tree of assemblies; counted only"
OF_HUBS = ("pairs", "split")  #: on chains they do what virtual work does


def chain(n: int) -> Model:
    return trees.chain(n)


def ball_chain(n: int) -> Model:
    """The serial chains of VW Figure 6."""
    return trees.chain(n, joint="ball")


def star(branches: int) -> Model:
    """The branched chains of VW Figure 7: end links on a link that a ball joint connects to the ground."""
    return trees.from_parents(np.append(-1, np.zeros(branches, dtype=np.int64)), joint="ball")


def forest(seed: int) -> Model:
    """Random trees of every joint, none of which is a slider on the world."""
    model = trees.random_tree(18, seed, along=0.4, world=0.15)
    kinds = [model.joints[i].type for i in range(model.n_joints)]
    turning: list[Any] = [
        "revolute" if p < 0 and kind == "prismatic" else kind for p, kind in zip(model.parent.tolist(), kinds)
    ]
    return trees.from_parents(model.parent, joint=turning, seed=seed)


SYSTEMS: dict[str, Callable[[int], Model]] = {
    "chain": chain,
    "ball-chain": ball_chain,
    "star": star,
    "forest": forest,
}
