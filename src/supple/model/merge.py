"""Merging bodies on fixed joints: the body that carries them takes their mass, their names become frames."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import shown
from supple.errors import ModelError
from supple.model import checks
from supple.model.frozen import frozen
from supple.model.geometry import point_inertia
from supple.model.joints import JointType
from supple.model.model import Frame

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Body = int | str | None

_MERGED = ("position", "rotation", "mass", "com", "inertia")


class Merger:
    """Bodies without those on fixed joints, whose mass goes to the body that carries them and whose names become
    frames.

    carrier[i]: the kept body that carries body i (-1 the world); to_R, to_p: body i's frame in the carrier's.
    """

    def __init__(self, c: checks.Columns, parent: Ints, order: Ints) -> None:
        fixed = c.kind == JointType.FIXED
        self.names = c.name
        keep = order[~fixed[order]]
        if not len(keep):
            raise ModelError("every joint is fixed: nothing can move; give at least one body a joint that does")
        n = len(parent)
        number = np.full(n + 1, -1, dtype=np.int64)
        number[keep] = np.arange(len(keep))
        self.carrier = number[:n].copy()
        self.to: dict[int, tuple[Floats, Floats]] = {}
        if fixed.any():
            c = replace(c, **{name: getattr(c, name).copy() for name in _MERGED})
            self._merge(c, fixed, parent, order)
        up = parent[keep]
        self.keep = keep
        self.parent = np.where(up < 0, -1, self.carrier[up])
        self.position, self.rotation = c.position[keep], c.rotation[keep]
        self.mass, self.com = c.mass[keep], c.com[keep]
        # The sums over merged bodies are symmetric up to rounding; the matrix is exactly so.
        self.inertia = 0.5 * (c.inertia[keep] + c.inertia[keep].transpose(0, 2, 1))
        self.fixed_order = order[fixed[order]]

    def _merge(self, c: checks.Columns, fixed: NDArray[np.bool_], parent: Ints, order: Ints) -> None:
        """Change the columns in _MERGED."""
        position, rotation, mass, com, inertia = (getattr(c, name) for name in _MERGED)
        on_fixed = fixed[parent] & (parent >= 0)
        original = {}
        for i in order[(fixed | on_fixed)[order]]:
            p = int(parent[i])
            if p >= 0 and fixed[p]:
                R, t = self.to[p]
                position[i] = R @ position[i] + t
                rotation[i] = R @ rotation[i]
            if fixed[i]:
                self.carrier[i] = -1 if p < 0 else self.carrier[p]
                self.to[int(i)] = (rotation[i], position[i])
                original[int(i)] = p
        kept_of = {int(i): int(i) for i in order[~fixed[order]]}
        for i in order[fixed[order]]:
            p = int(parent[i])
            kept_of[int(i)] = -1 if p < 0 else kept_of[p]
            k = kept_of[int(i)]
            if k >= 0 and (mass[i] > 0 or inertia[i].any()):
                R, t = self.to[int(i)]
                p_i = R @ com[i] + t
                total = mass[k] + mass[i]
                both = com[k] if total == 0 else (mass[k] * com[k] + mass[i] * p_i) / total
                inertia[k] = (
                    inertia[k]
                    + point_inertia(mass[k], com[k] - both)
                    + R @ inertia[i] @ R.T
                    + point_inertia(mass[i], p_i - both)
                )
                mass[k], com[k] = total, both

    def place(self, bodies: list[int], p: Floats, R: Floats) -> list[tuple[int, Floats, Floats]]:
        """Poses given on bodies, transferred to those that are kept: body, position, rotation, as immutable arrays."""
        for k, i in enumerate(bodies):
            if i in self.to:
                A, t = self.to[i]
                R[k], p[k] = A @ R[k], A @ p[k] + t
        carrier = [-1 if i < 0 else k for i, k in zip(bodies, self.carrier[bodies].tolist())]
        return list(zip(carrier, frozen(p), frozen(R)))

    def frames(self, extra: list[tuple[str, Body, Any, Any]], resolve: Any) -> tuple[Frame, ...]:
        fixed = self.fixed_order.tolist()
        names = [*(self.names[i] for i in fixed), *(name for name, *_ in extra)]
        bodies = [*fixed, *(resolve(body, f"frame {shown(name)}") for name, body, _, _ in extra)]
        own, plain = [np.zeros(3)] * len(fixed), [None] * len(fixed)
        places = checks.poses(
            [*own, *(x[2] for x in extra)], [*plain, *(x[3] for x in extra)], lambda i: f"frame {shown(names[i])}"
        )
        checks.unique("frame", names)
        return tuple([Frame(name, *place) for name, place in zip(names, self.place(bodies, *places))])
