"""Forces on bodies, which persist until changed or removed: the user interface, and rows for the kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.adaptive.acting import Push, Spring, acting
from supple.adaptive.turns import TakesTurns
from supple.arguments import NotNegative, Triple, checked
from supple.assembly.tree import Assembly
from supple.errors import StateError
from supple.exact.answers import Poses
from supple.integrating.push_law import OWN_PUSH, PUSH, SPRING, PushRow
from supple.model.kernel_frames import inside_turns
from supple.model.model import Frame, Model
from supple.spatial.compiler import generation
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PushRows = NDArray[np.void]  #: of PushRow
Named = TypeVar("Named", Push, Spring)


class Applied:
    """A force on a body in the form used by the kernels: behind the Push or Spring that .apply or .spring returned."""

    def __init__(self, owner: Pushed, body: int, row: PushRows, turn: Floats) -> None:
        self._owner, self.body, self._row = owner, body, row
        self._turn = turn  #: from the axes in which vectors are given to those of the row
        self._at, self._there = 0, True  #: the number of its row among all rows; whether it has not been removed

    def change(self, vector: ArrayLike | None, moment: ArrayLike | None) -> None:
        """Change the force, or the anchor of a spring, and the moment; None: unchanged."""
        with self._owner._lock:
            row = self._row.copy()
            for value, name in ((vector, "vector"), (moment, "moment")):
                if value is not None:
                    row[name] = self._turn @ np.asarray(value)
            self._owner._change(self, row)

    def remove(self) -> None:
        with self._owner._lock:
            self._owner._remove(self)


class Pushed(Pointing, TakesTurns, ABC):
    """A body that can be pushed. A copy is independent, with the current state; its pushes are copied with it."""

    @property
    def model(self) -> Model:
        return self._model

    def __copy__(self) -> Any:
        return deepcopy(self, {id(self.model): self.model})

    def __getstate__(self) -> dict[str, Any]:
        whole = [self, self.model, *self._pushes]  # not copied here: the caller copies or pickles them
        with self._lock:
            state = deepcopy(super().__getstate__(), {id(x): x for x in whole})
        return {**state, "_layout": self._layout()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state.pop("_layout", None) != self._layout():
            raise StateError(
                f"this {type(self).__name__} was pickled by another version of Supple, or of Python, NumPy or Numba: "
                "keep the model, q and v, and make it anew"
            )
        self._begin_turns()
        super().__setstate__(state)

    @classmethod
    def _layout(cls) -> str:
        """A key of the array layout."""
        return generation(frozenset({cls.__module__}))

    def _begin_pushes(self, model: Model) -> None:
        self._model = model
        self._begin_turns()
        self._pushes: list[Applied] = []
        self._arranged = True  #: whether the kernels' arrays contain all pushes: set when all of them do
        self._turns = inside_turns(model)

    @checked
    def apply(
        self,
        body: str | int,
        force: Triple = (0.0, 0.0, 0.0),
        point: Triple = (0.0, 0.0, 0.0),
        torque: Triple = (0.0, 0.0, 0.0),
        frame: Literal["world", "body"] = "world",
    ) -> Push:
        """Apply a force to a point of a body (in its frame), and a torque, from now on.

        frame: "world" keeps the directions in the world while the body rotates, "body" rotates them with it. `body` may
        also be a named frame: then point and "body" directions are in that frame.
        """
        place = self.model.moving_place(body)
        turn = self._turns[place.body].T @ place.rotation if frame == "body" else np.eye(3)
        row = PushRow.zeros(1)
        row["kind"] = PUSH if frame == "world" else OWN_PUSH
        row["vector"], row["moment"] = turn @ np.asarray(force), turn @ np.asarray(torque)
        row["point"] = self._inside(place, point)
        return self._add(Push(place.name, force, point, torque, frame), place.body, row, turn)

    @checked
    def spring(
        self,
        body: str | int,
        anchor: Triple,
        stiffness: NotNegative,
        point: Triple = (0.0, 0.0, 0.0),
        damping: NotNegative = 0.0,
    ) -> Spring:
        """Attach a spring of zero rest length from a point of a body (in its frame) to an anchor in the world.

        damping: the damping force is minus this times the velocity of the point; quasi-statics, which has no
        velocities, ignores it.
        """
        place = self.model.moving_place(body)
        row = PushRow.zeros(1)
        row["kind"], row["stiffness"], row["damping"] = SPRING, stiffness, damping
        row["vector"], row["point"] = anchor, self._inside(place, point)
        return self._add(Spring(place.name, anchor, stiffness, point, damping), place.body, row, np.eye(3))

    # Implemented by the subclass.

    @abstractmethod
    def _pushes_changed(self) -> None: ...

    @abstractmethod
    def _no_longer_pushed(self, body: int) -> None: ...

    @abstractmethod
    def _push_rows(self) -> PushRows:
        """The rows used by the kernels."""

    @abstractmethod
    def _poses_into(self, bodies: Ints, rows: Floats) -> None:
        """Write rows of rotations, of the kernels' frames, and positions."""

    # Internal.

    @checked
    def poses(self, bodies: Sequence[str | int] | None = None) -> Poses:
        """As supple.poses, in the current state: of some bodies or named frames, or of all bodies by default.

        Costs O(log n) for each, plus O(active joints) in adaptive dynamics; the simulation is not affected.
        """
        if isinstance(bodies, str):
            raise StateError(f"bodies are a list of names or numbers, not {bodies!r}")
        model = self.model
        if bodies is None:
            R, r = self._poses(np.arange(model.n_bodies))
            return Poses(R, r, model)
        places = tuple(model.place(name) for name in bodies)
        on = np.array([place.body for place in places], dtype=np.int64)
        R, r = np.tile(np.eye(3), (len(on), 1, 1)), np.zeros((len(on), 3))
        R[on >= 0], r[on >= 0] = self._poses(on[on >= 0])
        offsets = np.array([place.position for place in places]).reshape(-1, 3)
        turns = np.array([place.rotation for place in places]).reshape(-1, 3, 3)
        return Poses(R @ turns, r + np.einsum("nij,nj->ni", R, offsets), model, places)

    def _poses(self, bodies: Ints) -> tuple[Floats, Floats]:
        """World rotations and positions of bodies."""
        rows = np.empty((len(bodies), 12))
        self._poses_into(bodies, rows)
        return rows[:, :9].reshape(-1, 3, 3) @ self._turns[bodies].transpose(0, 2, 1), rows[:, 9:].copy()

    def _inside(self, place: Frame, point: ArrayLike) -> Floats:
        """A point given in a place's frame, in the kernels' frame of its body."""
        on_body = place.rotation @ np.asarray(point) + place.position
        return np.asarray(self._turns[place.body].T @ on_body)

    def _add(self, force: Named, body: int, row: PushRows, turn: Floats) -> Named:
        push = Applied(self, body, row, turn)
        self._arranged = False
        self._pushes.append(push)
        self._pushes_changed()
        acting(force, push)
        return force

    def _remove(self, push: Applied) -> None:
        left = [other for other in self._pushes if other is not push]
        if len(left) == len(self._pushes):
            raise StateError("this force has been removed already")
        self._arranged = False
        self._pushes = left
        push._there = False
        if all(other.body != push.body for other in self._pushes):
            self._no_longer_pushed(push.body)
        self._pushes_changed()

    def _change(self, push: Applied, row: PushRows) -> None:
        if not push._there:
            raise StateError("this force has been removed")
        push._row = row
        if self._arranged:
            self._push_rows()[push._at] = row[0]
        self._pushes_changed()

    def _arrangement(self, assembly: Assembly) -> tuple[Ints, Ints, PushRows, Ints]:
        """The pushed bodies, the start of the pushes of each, all their rows, and the nodes above them."""
        pushes = sorted(self._pushes, key=lambda push: push.body)
        for i, push in enumerate(pushes):
            push._at = i
        bodies = np.array([p.body for p in pushes], dtype=np.int64)
        unique, starts = np.unique(bodies, return_index=True)
        rows = np.concatenate([PushRow.zeros(0), *(p._row for p in pushes)])
        above: list[Ints] = []
        nodes = assembly.leaf_of[unique]
        while len(nodes):
            above.append(nodes)
            nodes = assembly.up[nodes]
            nodes = np.unique(nodes[nodes >= 0])
        paths = np.unique(np.concatenate(above)) if above else np.zeros(0, dtype=np.int64)
        return unique, np.append(starts, len(pushes)).astype(np.int64), rows, paths.astype(np.int64)
