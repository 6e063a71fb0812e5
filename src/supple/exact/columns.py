"""Degrees of freedom that may move, within the limits of their joints, and loops that are closed by moving them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from supple.exact.assembling import closed_to
from supple.exact.closure import closure, gaps
from supple.exact.levenberg import Room, minimised
from supple.model import manifold
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = 100  #: that close loops, at most


class Columns:
    """The degrees of freedom of some joints. limits: whether these stay within the model's."""

    def __init__(self, model: Model, joints: Iterable[int], limits: bool) -> None:
        self.model = model
        self.dofs: Ints = np.flatnonzero(np.isin(model.dof_body, sorted(joints)))
        layout = manifold.layout(model)
        self.coordinate = np.full(model.nv, -1)  #: of q, for degrees of freedom that are added to it
        self.coordinate[layout.plain_v] = layout.plain_q
        self._bounded = (self.coordinate >= 0)[self.dofs] & limits

    def __len__(self) -> int:
        return len(self.dofs)

    def room(self, q: Floats) -> Room:
        """How far each may move, down and up."""
        down, up = np.full(len(self), -np.inf), np.full(len(self), np.inf)
        at = self.coordinate[self.dofs[self._bounded]]
        down[self._bounded] = np.minimum(self.model.lower[at] - q[at], 0.0)
        up[self._bounded] = np.maximum(self.model.upper[at] - q[at], 0.0)
        return down, up

    def inside(self, q: Floats) -> Floats:
        """q with the joints that may move within their limits."""
        q, at = q.copy(), self.coordinate[self.dofs[self._bounded]]
        q[at] = np.clip(q[at], self.model.lower[at], self.model.upper[at])
        return q

    def step(self, q: Floats, d: Floats) -> Floats:
        """q after they have moved by d; exactly at a limit rather than beyond it by rounding."""
        v = np.zeros(self.model.nv)
        v[self.dofs] = d
        return self.inside(self.model.integrate(q, v))


class ClosedBy:
    """Closes the loops of a model by moving some of its degrees of freedom."""

    def __init__(self, columns: Columns) -> None:
        self._columns, self._model = columns, columns.model

    def closed(self, q: Floats) -> Floats | None:
        """A position near q with all loops closed; None if none is found."""
        if self._model.is_tree:
            return q
        here, _, _ = minimised(self, q, STEPS)
        return here if self.is_done(here, 0.0) else None

    def rows(self, q: Floats) -> Floats:
        """(rows, columns) along which loops do not move, of unit length or shorter."""
        if self._model.is_tree:
            return np.zeros((0, len(self._columns)))
        rows = closure(self._model, q)
        return (rows.G * rows.scale(self._model, np.linalg.norm(rows.G, axis=1))[:, None])[:, self._columns.dofs]

    # --- as a task of minimised() -----------------------------------------------------------------------------------

    def residual(self, q: Floats) -> Floats:
        return gaps(self._model, q).phi

    def matrix(self, q: Floats) -> Floats:
        return closure(self._model, q).G[:, self._columns.dofs]

    def held(self, q: Floats) -> Floats:
        return np.zeros((0, len(self._columns)))

    def room(self, q: Floats) -> Room:
        return self._columns.room(q)

    def moved(self, q: Floats, d: Floats) -> Floats:
        return self._columns.step(q, d)

    def is_done(self, q: Floats, error: float) -> bool:
        return float(np.abs(self.residual(q)).max()) <= closed_to(self._model, q)


def coupled(model: Model, joints: Iterable[int]) -> set[int]:
    """These joints, and those that loops couple to them, however indirectly."""
    groups = [path_to(model, x.body) ^ path_to(model, x.other) for x in model.loop_list]
    groups += [{model.joints[name].index for name in x.joints} for x in model.relation_list]
    out, left = set(joints), groups
    while True:
        out = out.union(*(group for group in left if group & out))
        rest = [group for group in left if not group <= out]
        if len(rest) == len(left):
            return out
        left = rest


def path_to(model: Model, body: int) -> set[int]:
    """The joints between a body and the world."""
    out = set()
    while body >= 0:
        out.add(body)
        body = int(model.parent[body])
    return out
