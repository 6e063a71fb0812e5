"""How many joints of a body with loops have to move for any to move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.settings import Settings
from supple.errors import StateError, quoted
from supple.exact.closure import closure
from supple.exact.loop_dynamics import row_names
from supple.exact.loop_tables import groups
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 600  #: rows of loops, or degrees of freedom: of larger bodies nothing is said
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
    known: where the motions that loops allow have joints in common, fewer may suffice."""
    rows = int(groups(model).sum())
    if roots.any() or most >= len(joints) or max(rows, model.nv) > LARGEST:
        return None
    columns = np.flatnonzero(np.isin(model.dof_body, joints))
    motions = _circuits(closure(model, q).G[:, columns])
    owners = model.dof_body[columns]
    sets = [np.unique(owners[np.abs(x) > NONE]) for x in motions]
    if not sets or sum(map(len, sets)) > len(np.unique(np.concatenate(sets))):
        return None
    least = min(sets, key=len)
    return (len(least), least) if len(least) > most else None


def _circuits(G: Floats) -> Floats:
    """Motions with G v = 0, in the basis by Gaussian elimination: each has a one where all others have zeros."""
    _, s, Vt = np.linalg.svd(G)
    N = Vt[int((s > NONE * max(s.max(initial=0.0), 1e-300)).sum()) :].copy()
    for k in range(len(N)):
        row, column = np.unravel_index(int(np.argmax(np.abs(N[k:]))), N[k:].shape)
        N[[k, k + int(row)]] = N[[k + int(row), k]]
        N[k] /= N[k, column]
        others = np.arange(len(N)) != k
        N[others] -= np.outer(N[others, column], N[k])
    return N
