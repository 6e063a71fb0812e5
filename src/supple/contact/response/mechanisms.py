"""Closed loops in steps with contact: impulses act on mechanisms, whose loops stay closed.

The constraint rows G of loops [exact/closure.py] have factors Y_G = G L^-1 D^-1/2, as the rows of touches do [rows.py].
Let the rows of Q be an orthonormal basis of those of Y_G. The response of the constrained body is

    J (H^-1 - H^-1 G^T (G H^-1 G^T)^-1 G H^-1) J^T = (Y P) (Y P)^T,    P = 1 - Q^T Q,    dv = L^-1 D^-1/2 P Y^T lam

so the rows Y of touches are replaced by Y P, and everything else is as without loops. Velocities without impulses
are projected to the nearest ones, in the metric of H, that keep loops closed: zeta = D^1/2 L v becomes P zeta.
loop_basis.py finds Q, loop_projection.py applies P; this file has their memory.

Trees connected by loops are one mechanism, within which Q is dense: O(r^2 n) for r rows and n degrees of freedom, and
O(r n) for a touch. Gaps of loops that steps leave are closed by projecting.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from supple import memory
from supple.exact.loop_tables import Loops, loop_tables
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.algebra import Vec3
from supple.spatial.fields import Integer, Integers, Value
from supple.spatial.held import Held
from supple.spatial.structs import Link, Struct, Table

Ints = NDArray[np.int64]


class Three(Struct):
    """The entries of three rows for one degree of freedom."""

    y = Value(Vec3)


class Mechanisms(Struct):
    """The mechanisms of a model, and the bases Q of their loops."""

    loops = Link(Loops)
    n = Integer()
    mechanism = Integers()  # (nv,) of every degree of freedom; -1: none
    place = Integers()  # (nv,) its number there
    first = Integers()  # (n + 1,) where the degrees of freedom of a mechanism begin in `dofs`
    dofs = Integers()
    begin = Integers()  # (n,) where its basis begins in Q
    rank = Integers()  # (n,) the number of rows of its basis
    Q = fields.Floats()
    found = Integer()  # whether there was enough memory to find it
    w = Table(Three)  # (nv,) three rows, while they are projected


def connected(model: Model, roots: Ints, others: Sequence[tuple[int, int]] = ()) -> Ints:
    """(n_bodies,) the mechanism of each body, identified by the lowest root of the trees that loops and relations
    connect. others: further pairs of connected bodies."""
    out = roots.copy()
    names = {name: i for i, name in enumerate(model.joint_names)} if model.relation_list else {}
    ties = [(x.body, x.other) for x in model.loop_list] + [
        tuple(names[n] for n in x.joints) for x in model.relation_list
    ]
    for tie in (*ties, *others):
        own = np.unique(out[[b for b in tie if b >= 0]])
        out[np.isin(out, own)] = own[0]
    return out


def mechanisms_of(model: Model, groups: Ints) -> Held:
    """The memory of a model's mechanisms. groups: (n_bodies,) from `connected`."""
    loops = loop_tables(model)
    tied = {int(groups[b]) for x in model.loop_list for b in (x.body, x.other) if b >= 0}
    names = {name: i for i, name in enumerate(model.joint_names)} if model.relation_list else {}
    tied |= {int(groups[names[n]]) for x in model.relation_list for n in x.joints}
    by_dof = groups[model.dof_body]
    parts = [np.flatnonzero(by_dof == c) for c in sorted(tied)]
    mechanism, place = np.full(model.nv, -1), np.zeros(model.nv, dtype=np.int64)
    for c, dofs in enumerate(parts):
        mechanism[dofs], place[dofs] = c, np.arange(len(dofs))
    sizes = np.array([len(x) for x in parts], dtype=np.int64)
    rows = np.minimum(sizes, loops.n_rows) + 1
    numbers = int((rows * sizes).sum())
    memory.require(8 * numbers, f"the constraint rows of loops over {model.nv:,} degrees of freedom", "use fewer loops")
    return Mechanisms.of(
        loops=loops, n=len(parts), mechanism=mechanism, place=place, first=np.append(0, np.cumsum(sizes)),
        dofs=np.concatenate([*parts, [0]]).astype(np.int64), begin=np.append(0, np.cumsum(rows * sizes)),
        rank=np.zeros(len(parts) + 1, dtype=np.int64), Q=np.zeros(numbers + 1), w=Three.zeros(model.nv),
    )  # fmt: skip
