"""How many joints of a body with loops have to move for any to move."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from supple.adaptive.settings import Settings
from supple.errors import StateError, quoted
from supple.exact.closure import closure
from supple.exact.loop_dynamics import row_names
from supple.exact.loop_tables import groups
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 600  #: rows of loops, or degrees of freedom: of larger bodies nothing is said
MOST_TRIED = 1000  #: sets of joints that are stopped
NONE = 1e-9  #: of the longest row: shorter ones, and entries, are rounding


def refuse_too_few(model: Model, q: Floats, settings: Settings) -> None:
    """Refuse a number of joints with which nothing can move."""
    most = settings.most
    if model.is_tree or settings.fixed or settings.all_fixed or most == 0:
        return
    found = _fewest(model, q, np.flatnonzero(settings.pins >= 0), settings.roots, most)
    if found is None:
        return
    needed, joints = found
    rows = closure(model, q).G[:, np.isin(model.dof_body, joints)]
    loop = row_names(model)[int(np.argmax(np.abs(rows).max(axis=1)))]
    raise StateError(
        f"active={most} lets nothing move: {loop} holds joint {quoted(model.joint_names[int(joints[0])])} and others, "
        f"at least {needed} of which have to move together; use active={needed} or more"
    )


def _fewest(model: Model, q: Floats, joints: Ints, roots: NDArray[np.bool_], most: int) -> tuple[int, Ints] | None:
    """The least number of joints that move together, and which, if that is more than `most`. None if it is not, or not
    known."""
    rows = int(groups(model).sum())
    if roots.any() or most >= len(joints) or max(rows, model.nv) > LARGEST:
        return None
    columns = np.flatnonzero(np.isin(model.dof_body, joints))
    motions, owners = _circuits(closure(model, q).G[:, columns]), model.dof_body[columns]
    moved = np.array([np.bincount(owners, np.abs(x) > NONE, model.n_bodies) > 0 for x in motions])
    if not len(moved) or moved.sum(axis=1).min() <= most:
        return None
    _, part = connected_components(moved @ moved.T, directed=False)
    least: Ints | None = None
    for k in range(part.max() + 1):
        found = _smallest(motions[part == k], owners, most)
        if found is None or len(found) <= most:
            return None
        least = found if least is None or len(found) < len(least) else least
    return None if least is None else (len(least), least)


def _smallest(motions: Floats, owners: Ints, most: int) -> Ints | None:
    """The fewest joints that move in any combination of these motions; None if there are too many to try. In each, one
    joint less than there are motions can be stopped, at least."""
    joints = np.unique(owners[(np.abs(motions) > NONE).any(axis=0)])
    if sum(comb(len(joints), k) for k in range(len(motions))) > MOST_TRIED:
        return None
    best = joints
    for stopped in chain.from_iterable(combinations(joints, k) for k in range(1, len(motions))):
        left = motions.T @ _allowed(motions[:, np.isin(owners, stopped)].T)
        moved = np.unique(owners[(np.abs(left) > NONE).any(axis=1)])
        if 0 < len(moved) < len(best):
            best = moved
        if len(best) <= most:
            break
    return best


def _allowed(G: Floats) -> Floats:
    """Columns of unit length that span all v with G v = 0."""
    _, s, Vt = np.linalg.svd(G)
    return Vt[int((s > NONE * max(s.max(initial=0.0), 1e-300)).sum()) :].T


def _circuits(G: Floats) -> Floats:
    """Motions with G v = 0, in the basis by Gaussian elimination: each has a one where all others have zeros."""
    N = _allowed(G).T.copy()
    for k in range(len(N)):
        row, column = np.unravel_index(int(np.argmax(np.abs(N[k:]))), N[k:].shape)
        N[[k, k + int(row)]] = N[[k + int(row), k]]
        N[k] /= N[k, column]
        others = np.arange(len(N)) != k
        N[others] -= np.outer(N[others, column], N[k])
    return N
