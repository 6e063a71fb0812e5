"""The common interface of QuasiStatics and AdaptiveDynamics: a body under forces, its poses, copies and pickles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.acting import Push, Spring, SpringBetween, acting
from supple.adaptive.pushes import Applied, Pushes, PushRows
from supple.adaptive.turns import TakesTurns
from supple.arguments import NotNegative, Triple, checked
from supple.errors import StateError
from supple.exact.answers import Poses
from supple.model.model import Frame, Model
from supple.spatial.compiler import generation
from supple.spatial.pointing import Pointing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Named = TypeVar("Named", Push, Spring)


class SimulatedBody(Pointing, TakesTurns, ABC):
    """A body under forces. A copy is independent, with the current state; its pushes are copied with it."""

    _pointers: ClassVar[tuple[str, ...]] = ("_lock",)
    _q: Floats

    def __init__(self, model: Model, pushes: Pushes) -> None:
        self._model = model
        self._begin_turns()
        self._pushes = pushes

    @property
    def model(self) -> Model:
        return self._model

    @property
    def q(self) -> Floats:
        """(nq,) joint positions: a live, read-only view; set_state changes them."""
        return view_of(self._q)

    # --- forces ---------------------------------------------------------------------------------------------------

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
        return self._add(Push(self.model.moving_place(body).name, force, point, torque, frame), body)

    @checked
    def spring(
        self,
        body: str | int,
        anchor: Triple,
        stiffness: NotNegative,
        point: Triple = (0.0, 0.0, 0.0),
        damping: NotNegative = 0.0,
        length: NotNegative = 0.0,
    ) -> Spring:
        """Attach a spring from a point of a body (in its frame) to an anchor in the world.

        damping: the damping force is minus this times the velocity of the point; quasi-statics, which has no
        velocities, ignores it. length: the rest length.
        """
        return self._add(Spring(self.model.moving_place(body).name, anchor, stiffness, point, damping, length), body)

    @checked
    def spring_between(
        self,
        body: str | int,
        other: str | int,
        stiffness: NotNegative,
        point: Triple = (0.0, 0.0, 0.0),
        other_point: Triple = (0.0, 0.0, 0.0),
        damping: NotNegative = 0.0,
        length: NotNegative = 0.0,
        pulls_only: bool = False,
    ) -> SpringBetween:
        """Attach a spring between points of two bodies (each in its body's frame).

        damping: that of a damper along the line; quasi-statics, which has no velocities, ignores it. length: the rest
        length. pulls_only: it is slack when shorter than that, like a rope.
        """
        places = ends_of(self.model, body, other)
        first, second = (place.name for place in places)
        force = SpringBetween(first, second, stiffness, point, other_point, damping, length, pulls_only)
        pair = self._pushes.between(self, places, force)
        self._pushes.add(*pair.ends)
        self._pushes_changed(*(end.body for end in pair.ends))
        acting(force, pair)
        return force

    def _add(self, force: Named, body: str | int) -> Named:
        push = self._pushes.applied(self, self.model.moving_place(body), force)
        self._pushes.add(push)
        self._pushes_changed(push.body)
        acting(force, push)
        return force

    def _remove(self, *pushes: Applied) -> None:
        for body in self._pushes.remove(*pushes):
            self._no_longer_pushed(body)
        self._pushes_changed(*(push.body for push in pushes))

    def _change(self, push: Applied, row: PushRows) -> None:
        self._pushes.change(push, row)
        self._pushes_changed(push.body)

    @abstractmethod
    def _pushes_changed(self, *bodies: int) -> None:
        """Those on these bodies."""

    def _no_longer_pushed(self, body: int) -> None:
        """The last push on a body was removed."""

    # --- inspection -----------------------------------------------------------------------------------------------

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
        return rows[:, :9].reshape(-1, 3, 3) @ self._pushes.turns[bodies].transpose(0, 2, 1), rows[:, 9:].copy()

    @abstractmethod
    def _poses_into(self, bodies: Ints, rows: Floats) -> None:
        """Write rows of rotations, of the kernels' frames, and positions."""

    # --- copies ---------------------------------------------------------------------------------------------------

    def _point(self) -> None:
        """Its parts know their own addresses."""

    def __copy__(self) -> Any:
        return deepcopy(self, {id(self.model): self.model})

    def __getstate__(self) -> dict[str, Any]:
        whole = [self, self.model, *self._pushes.acting]  # not copied here: the caller copies or pickles them
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


def ends_of(model: Model, body: str | int, other: str | int) -> tuple[Frame, Frame]:
    """The two places of a spring between bodies."""
    places = model.moving_place(body), model.moving_place(other)
    if places[0].body == places[1].body:
        raise StateError(
            f"a spring between {body!r} and {other!r} does nothing: both are on body "
            f"{model.body_names[places[0].body]!r}; use two bodies, or supple.Spring for one to the world"
        )
    return places


def view_of(x: Floats) -> Floats:
    view = x[:]
    view.flags.writeable = False
    return view
