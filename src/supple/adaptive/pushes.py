"""Forces on bodies, which persist until changed or removed: as applied, and as rows for the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.acting import Push, Spring
from supple.assembly.tree import Assembly
from supple.errors import StateError
from supple.integrating.push_law import OWN_PUSH, PUSH, SPRING, PushRow
from supple.model.kernel_frames import inside_turns
from supple.model.model import Frame, Model

if TYPE_CHECKING:
    from supple.adaptive.simulated_body import SimulatedBody

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PushRows = NDArray[np.void]  #: of PushRow


class Applied:
    """A force on a body in the form used by the kernels: behind the Push or Spring that .apply or .spring returned."""

    def __init__(self, owner: SimulatedBody, body: int, row: PushRows, turn: Floats) -> None:
        self._owner, self.body, self.row = owner, body, row
        self._turn = turn  #: from the axes in which vectors are given to those of the row
        self.at, self.there = 0, True  #: the number of its row among all rows; whether it has not been removed

    def change(self, vector: ArrayLike | None, moment: ArrayLike | None) -> None:
        """Change the force, or the anchor of a spring, and the moment; None: unchanged."""
        with self._owner._lock:
            row = self.row.copy()
            for value, name in ((vector, "vector"), (moment, "moment")):
                if value is not None:
                    row[name] = self._turn @ np.asarray(value)
            self._owner._change(self, row)

    def remove(self) -> None:
        with self._owner._lock:
            self._owner._remove(self)


class Arrangement(NamedTuple):
    """All pushes, sorted by body."""

    bodies: Ints  #: the pushed ones
    starts: Ints  #: of the pushes of each, and the end
    rows: PushRows
    paths: Ints  #: the nodes above those bodies, ascending


class Pushes:
    """The forces on the bodies of a model."""

    def __init__(self, model: Model) -> None:
        self.acting: list[Applied] = []
        self.arranged = True  #: whether the kernels' arrays contain all pushes: set when all of them do
        self.turns = inside_turns(model)  #: from the kernels' frames of bodies to the model's
        self._rows = PushRow.zeros(0)  #: those of the kernels

    def applied(self, owner: SimulatedBody, place: Frame, force: Push | Spring) -> Applied:
        """A force at a place of the model, not yet among those that act."""
        row, turn = PushRow.zeros(1), np.eye(3)
        if isinstance(force, Spring):
            row["kind"], row["vector"], row["length"] = SPRING, force.anchor, force.length
            row["stiffness"], row["damping"] = force.stiffness, force.damping
        else:
            if force.frame == "body":
                turn = self.turns[place.body].T @ place.rotation
            row["kind"] = PUSH if force.frame == "world" else OWN_PUSH
            row["vector"], row["moment"] = turn @ np.asarray(force.force), turn @ np.asarray(force.torque)
        on_body = place.rotation @ np.asarray(force.point) + place.position
        row["point"] = self.turns[place.body].T @ on_body
        return Applied(owner, place.body, row, turn)

    def add(self, push: Applied) -> None:
        self.arranged = False
        self.acting.append(push)

    def remove(self, push: Applied) -> bool:
        """Returns whether it was the last one on its body."""
        left = [other for other in self.acting if other is not push]
        if len(left) == len(self.acting):
            raise StateError("this force has been removed already")
        self.arranged = False
        self.acting = left
        push.there = False
        return all(other.body != push.body for other in left)

    def change(self, push: Applied, row: PushRows) -> None:
        if not push.there:
            raise StateError("this force has been removed")
        push.row = row
        if self.arranged:
            self._rows[push.at] = row[0]

    def arrangement(self, assembly: Assembly) -> Arrangement:
        """For the kernels, whose rows are changed in place from now on. The caller sets `arranged` when they have
        it."""
        pushes = sorted(self.acting, key=lambda push: push.body)
        for i, push in enumerate(pushes):
            push.at = i
        bodies = np.array([p.body for p in pushes], dtype=np.int64)
        unique, starts = np.unique(bodies, return_index=True)
        self._rows = np.concatenate([PushRow.zeros(0), *(p.row for p in pushes)])
        paths = nodes_above(assembly, assembly.leaf_of[unique])
        return Arrangement(unique, np.append(starts, len(pushes)).astype(np.int64), self._rows, paths)


def nodes_above(assembly: Assembly, nodes: Ints) -> Ints:
    """Some nodes and all nodes above them, ascending."""
    levels = [np.zeros(0, dtype=np.int64)]
    while len(nodes):
        levels.append(nodes)
        nodes = assembly.up[nodes]
        nodes = np.unique(nodes[nodes >= 0])
    return np.unique(np.concatenate(levels)).astype(np.int64)
