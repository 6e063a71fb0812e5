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

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.arguments import Count, Seed, Share, Whole, WholeNumbers, checked_model, number, whole
from supple.errors import ModelError

Ints = NDArray[np.int64]
Factor = Annotated[float, number("a finite number >= 1 (children per body)", 1.0)]
NUMBERS = 200  #: numbers per body needed to build a model, including Python's own objects
Levels = Annotated[int, whole(1, 62)]


@checked_model
def chain(n: Count) -> Ints:
    """Every body is a child of the previous one."""
    return _each(n) - 1


@checked_model
def branching(n: Count, factor: Factor) -> Ints:
    """Body i is a child of body floor((i-1)/factor): `factor` children each, on average; 1 gives a chain."""
    return np.floor((_each(n) - 1) / factor).astype(np.int64)


@checked_model
def side_branches(m: Count, length: Whole = 1, per_node: Whole = 1) -> Ints:
    """A chain of m bodies, each with per_node side branches of `length` bodies [SF Figure 4a]."""
    side = length * per_node
    out = (_each(m * (side + 1)) - 1).reshape(m, side + 1)  # along a branch: the previous body
    nodes = np.arange(m) * (side + 1)
    out[:, 0] = np.append(-1, nodes[:-1])
    if side:
        out[:, 1::length] = nodes[:, None]
    return out.ravel()


@checked_model
def balanced_binary(levels: Levels) -> Ints:
    """Every body except those of the last level has two children [SF Figure 4b]."""
    return branching(2**levels - 1, 2.0)


@checked_model
def spanning_grid(m: Count) -> Ints:
    """A square grid of m by m bodies, each joined to the corner by a shortest path [SF Figure 4c].

    A comb: the first body of a row is a child of the first of the previous row, the others of their left neighbour.
    Distances to the world then run from 1 to 2m-1, which gives D1 = m^3 - m^2 [SF Table 2].
    """
    out = (_each(m**2) - 1).reshape(m, m)
    out[:, 0] = np.arange(-1, m - 1) * m
    out[0, 0] = -1
    return out.ravel()


@checked_model
def humanoid(limbs: Count = 4, joints: Count = 6) -> Ints:
    """A torso with limbs, each a chain with as many bodies as joints [SF Figure 6]."""
    out = _each(limbs * joints + 1) - 1
    out[1::joints] = 0
    return out


@checked_model
def random(n: Count, seed: Seed = 0, along: Share = 0.5, world: Share = 0.0) -> Ints:
    """Probabilities: `world` to be a child of the world, else `along` of the previous body, else of any earlier
    body."""
    rng, i = np.random.default_rng(seed), _each(n)
    out = np.where(rng.random(n) < along, i - 1, (rng.random(n) * i).astype(np.int64))
    out[rng.random(n) < world] = -1
    out[0] = -1
    return out


@checked_model
def expanded(parent: WholeNumbers, dof: WholeNumbers) -> Ints:
    """The parent array over degrees of freedom: joint i becomes a chain of dof[i] joints [SF section 2]."""
    up, count = first_parents(parent), np.asarray(dof)
    if count.shape != up.shape or not ((count >= 1) & (count <= 6)).all():
        raise ModelError("dof must be one number, from 1 to 6, for each entry of parent")
    last = np.cumsum(count) - 1
    out = np.arange(-1, int(count.sum()) - 1)
    out[last - count + 1] = np.where(up < 0, -1, last[up])
    return out


def first_parents(parent: WholeNumbers) -> Ints:
    """A parent array, refused unless parents come first."""
    up = np.asarray(parent, dtype=np.int64)
    if up.ndim != 1 or not up.size or (up < -1).any() or (up >= np.arange(len(up))).any():
        raise ModelError("parent must be whole numbers with -1 <= parent[i] < i, -1 for the world")
    return up


def room(n: int) -> None:
    """Refuse n bodies if a model of them would not fit in memory."""
    memory.require(NUMBERS * n, f"a model of {n:,} bodies" if n < 10**18 else "a model of so many bodies", "take fewer")


def _each(n: int) -> Ints:
    """The indices of n bodies."""
    room(n)
    return np.arange(n)
