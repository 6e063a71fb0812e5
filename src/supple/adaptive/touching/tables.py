"""Tables of a model that contacts in adaptive dynamics need: they do not change in a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.assembly.tree import Assembly
from supple.contact.geometry.volumes import Volume
from supple.contact.steps.judging import THIN
from supple.model.model import Model

Ints = NDArray[np.int64]


def boxes_of_bodies(model: Model, homes: NDArray[np.void], shapes: NDArray[np.void]) -> NDArray[np.void]:
    """Bounding boxes of the shapes of every body, in its frame; and one more, as scratch."""
    out = Volume.zeros(model.n_bodies + 1)
    low, high = np.full((model.n_bodies, 3), np.inf), np.full((model.n_bodies, 3), -np.inf)
    on = homes["body"] >= 0
    size = np.einsum("kij,kj->ki", np.abs(homes["R"][on].reshape(-1, 3, 3)), shapes["box"][on])
    size += shapes["margin"][on, None]
    np.minimum.at(low, homes["body"][on], homes["p"][on] - size)
    np.maximum.at(high, homes["body"][on], homes["p"][on] + size)
    has = np.flatnonzero(np.isfinite(low[:, 0]))
    out["h"] = -1.0
    out["c"][has], out["h"][has] = 0.5 * (low[has] + high[has]), 0.5 * (high[has] - low[has])
    return out


def thinnest(boxes: NDArray[np.float64]) -> float:
    """The least half thickness of shapes with these half edges, as `outruns_search` has it."""
    return float(np.maximum(boxes.min(axis=1), THIN * np.linalg.norm(boxes, axis=1)).min(initial=np.inf))


def bodies_with_shapes(assembly: Assembly, bodies: Ints) -> Ints:
    """The number of these bodies in every node of an assembly tree. bodies: those with shapes."""
    out, nodes = np.zeros(assembly.n_nodes, dtype=np.int64), assembly.leaf_of[bodies]
    while len(nodes):
        np.add.at(out, nodes, 1)
        nodes = assembly.up[nodes]
        nodes = nodes[nodes >= 0]
    return out


def characters(model: Model, roots: Ints, locked: NDArray[np.bool_]) -> Ints:
    """The character of every body, -1 if it belongs to none. roots: the free roots of characters; locked: those that
    never move, whose trees are none, just as a robot that is fixed to the world."""
    out = np.full(model.n_bodies, -1)
    for c in np.flatnonzero(~locked):
        out[roots[c] : model.subtree_end[roots[c]]] = c
    return out
