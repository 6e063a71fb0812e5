"""Parent arrays of generated trees: parents first, -1 is the world. Plain NumPy, so that n may be large.

The four families of SF section 4.2, of which the last three are SF Figure 4, with n bodies:

    chain(n)             unbranched
    side_branches(m)     n = 2m     a chain with a body at the side of every node
    balanced_binary(m)   n = 2^m-1
    spanning_grid(m)     n = m^2    every node of a square grid joined to a corner by a shortest path

Models of the same shapes are in trees.py. A model numbers its bodies depth first; so do these arrays, except
`branching` and `balanced_binary` (breadth first) and `random`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.errors import ModelError

Ints = NDArray[np.int64]


def chain(n: int) -> Ints:
    """Every body hangs on the one before."""
    return np.arange(-1, _count("n", n) - 1)


def branching(n: int, factor: float) -> Ints:
    """Body i hangs on body floor((i-1)/factor): `factor` children each, on average; 1 gives a chain."""
    if not (math.isfinite(factor) and factor >= 1):
        raise ModelError(f"factor must be at least 1 child a body, not {factor!r}")
    return np.floor(np.arange(-1, _count("n", n) - 1) / factor).astype(np.int64)


def side_branches(m: int, length: int = 1, per_node: int = 1) -> Ints:
    """A chain of m bodies, each with per_node branches of `length` bodies at its side [SF Figure 4a]."""
    side = _count("length", length, 0) * _count("per_node", per_node, 0)
    nodes = np.arange(_count("m", m)) * (side + 1)
    out = np.arange(-1, m * (side + 1) - 1).reshape(m, side + 1)  # along a branch: the body before
    out[:, 0] = np.append(-1, nodes[:-1])
    if side:
        out[:, 1::length] = nodes[:, None]
    return out.ravel()


def balanced_binary(levels: int) -> Ints:
    """Every body but those of the last level has two children [SF Figure 4b]."""
    return branching(2 ** _count("levels", levels) - 1, 2)


def spanning_grid(m: int) -> Ints:
    """A square grid of m by m bodies, each joined to the corner by a shortest path [SF Figure 4c].

    A comb: the first body of a row hangs on the first of the row before, the others on their left neighbour.
    Distances to the world then run from 1 to 2m-1, which gives D1 = m^3 - m^2 [SF Table 2].
    """
    out = np.arange(-1, _count("m", m) ** 2 - 1).reshape(m, m)
    out[:, 0] = np.arange(-1, m - 1) * m
    out[0, 0] = -1
    return out.ravel()


def humanoid(limbs: int = 4, joints: int = 6) -> Ints:
    """A torso with limbs that are chains of as many bodies as joints [SF Figure 6]."""
    out = np.arange(-1, limbs * joints)
    out[1::joints] = 0
    return out


def random(n: int, seed: np.random.Generator | int | None = 0, along: float = 0.5, world: float = 0.0) -> Ints:
    """Chances: `world` to hang on the world, else `along` to hang on the body before, else on any before."""
    rng = np.random.default_rng(seed)
    i = np.arange(_count("n", n))
    out = np.where(rng.random(n) < along, i - 1, (rng.random(n) * i).astype(np.int64))
    out[rng.random(n) < world] = -1
    out[0] = -1
    return out


def expanded(parent: ArrayLike, dof: ArrayLike) -> Ints:
    """The parent array over degrees of freedom: joint i becomes a chain of dof[i] joints [SF section 2]."""
    up, count = np.asarray(parent, dtype=np.int64), np.asarray(dof, dtype=np.int64)
    if up.ndim != 1 or count.shape != up.shape or (count < 1).any():
        raise ModelError("dof must be one number, at least 1, for each entry of parent")
    last = np.cumsum(count) - 1
    out = np.arange(-1, int(count.sum()) - 1)
    out[last - count + 1] = np.where(up < 0, -1, last[up])
    return out


def _count(what: str, value: int, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ModelError(f"{what} must be a whole number of at least {least}, not {value!r}")
    return int(value)
