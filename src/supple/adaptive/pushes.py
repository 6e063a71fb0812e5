"""Forces on bodies, which persist until changed or removed: as applied, and as rows for the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.acting import Push, Spring, SpringBetween
from supple.assembly.tree import Assembly
from supple.errors import StateError
from supple.integrating.push_law import END, OWN_PUSH, PUSH, SPRING, PushRow
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
        self.other: Applied | None = None  #: of a spring between two bodies: the other end

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


class Pair:
    """The two ends of a spring between two bodies: behind the SpringBetween that .spring_between returned."""

    def __init__(self, ends: tuple[Applied, Applied]) -> None:
        self.ends = ends
        ends[0].other, ends[1].other = ends[1], ends[0]

    def change(self, vector: ArrayLike | None, moment: ArrayLike | None) -> None:
        """Change the rest length."""
        owner = self.ends[0]._owner
        with owner._lock:
            for end in self.ends:
                row = end.row.copy()
                row["length"] = vector
                owner._change(end, row)

    def remove(self) -> None:
        with self.ends[0]._owner._lock:
            self.ends[0]._owner._remove(*self.ends)


class Arrangement(NamedTuple):
    """All pushes, sorted by body."""

    bodies: Ints  #: the pushed ones
    starts: Ints  #: of the pushes of each, and the end
    rows: PushRows
    paths: Ints  #: the nodes above those bodies, ascending


class Pushes:
    """The forces on the bodies of a model.

    end_kind: the kind of the rows of springs between two bodies: END, or SPRING, whose anchors then have to follow the
    other end (`follow`).
    """

    def __init__(self, model: Model, end_kind: int = END) -> None:
        self.acting: list[Applied] = []
        self.ends: list[Applied] = []  #: those of springs between two bodies, among the kernels' rows
        self._end_kind = end_kind
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

    def between(self, owner: SimulatedBody, places: tuple[Frame, Frame], force: SpringBetween) -> Pair:
        """The same for a spring between two places."""
        first, second = (
            self._end(owner, place, at, force) for place, at in zip(places, (force.point, force.other_point))
        )
        return Pair((first, second))

    def _end(self, owner: SimulatedBody, place: Frame, at: ArrayLike, force: SpringBetween) -> Applied:
        row = PushRow.zeros(1)
        row["kind"], row["length"], row["pulls"] = self._end_kind, force.length, force.pulls_only
        row["stiffness"], row["damping"] = force.stiffness, force.damping
        row["point"] = self.turns[place.body].T @ (place.rotation @ np.asarray(at) + place.position)
        return Applied(owner, place.body, row, np.eye(3))

    @property
    def connections(self) -> list[tuple[int, int]]:
        """Pairs of bodies that springs connect, once arranged."""
        return sorted({(end.body, end.other.body) for end in self.ends if end.other and end.body < end.other.body})

    def follow(self, poses: Floats) -> None:
        """The anchor of each end is at the other one. poses: of the bodies of `ends`, twelve numbers each."""
        R, X = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        places = {end: X[i] + R[i] @ end.row["point"][0] for i, end in enumerate(self.ends)}
        for end, place in places.items():
            assert end.other is not None
            end.other.row["vector"] = place
            self._rows[end.other.at] = end.other.row[0]

    def add(self, *pushes: Applied) -> None:
        self.arranged = False
        self.acting += pushes

    def remove(self, *pushes: Applied) -> list[int]:
        """Returns the bodies on which they were the last ones."""
        left = [other for other in self.acting if other not in pushes]
        if len(left) == len(self.acting):
            raise StateError("this force has been removed already")
        self.arranged = False
        self.acting = left
        for push in pushes:
            push.there = False
        still = {other.body for other in left}
        return [push.body for push in pushes if push.body not in still]

    def change(self, push: Applied, row: PushRows) -> None:
        if not push.there:
            raise StateError("this force has been removed")
        push.row = row
        if self.arranged:
            self._rows[push.at] = row[0]

    def arrangement(self, assembly: Assembly, also: Ints | None = None) -> Arrangement:
        """For the kernels, whose rows are changed in place from now on. The caller sets `arranged` when they have
        it. also: bodies to be among the pushed ones in any case."""
        pushes = sorted(self.acting, key=lambda push: push.body)
        for i, push in enumerate(pushes):
            push.at = i
        self.ends = [push for push in pushes if push.other is not None]
        for push in self.ends:
            assert push.other is not None
            push.row["body"], push.row["other"] = push.body, push.other.at
        bodies = np.array([p.body for p in pushes], dtype=np.int64)
        unique = np.unique(bodies if also is None else np.concatenate([bodies, also]))
        self._rows = np.concatenate([PushRow.zeros(0), *(p.row for p in pushes)])
        paths = nodes_above(assembly, assembly.leaf_of[unique])
        starts = np.searchsorted(bodies, unique)
        return Arrangement(unique, np.append(starts, len(pushes)).astype(np.int64), self._rows, paths)


def nodes_above(assembly: Assembly, nodes: Ints) -> Ints:
    """Some nodes and all nodes above them, ascending."""
    levels = [np.zeros(0, dtype=np.int64)]
    while len(nodes):
        levels.append(nodes)
        nodes = assembly.up[nodes]
        nodes = np.unique(nodes[nodes >= 0])
    return np.unique(np.concatenate(levels)).astype(np.int64)
