"""The settings of adaptive dynamics: which joints may move, and how well the choice must be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.choose import GUARANTEED, RELATIVE
from supple.adaptive.keeping import UNWATCHED
from supple.adaptive.steps import FIXED
from supple.arguments import FLAG, NOT_NEGATIVE, Kind, take, whole
from supple.contact.settings import Contacts
from supple.errors import StateError
from supple.model.joints import JointType
from supple.model.model import Model
from supple.spatial.held import Held

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ALL = 1 << 60


def _region(value: Any) -> float:
    x = NOT_NEGATIVE.form(value)
    return int(value) if isinstance(value, (int, np.integer)) else x


REGION = Kind("a whole number of joints >= 0, or a finite number >= 0", _region)


@dataclass(frozen=True, eq=False)
class Settings:
    """Replaced as a whole when one of them changes."""

    pins: Ints  #: of each joint: 1 if always active, -1 if never
    roots: Flags  #: of each joint: whether it is the free root of a body, always active unless locked
    fixed: bool = False  #: whether the moving joints were given as a list, once and for all
    most: int = ALL  #: how many joints may move; ALL: determined by the error
    error: float = 0.0
    measure: str = "relative-linkage"  #: of errors
    region: float | None = None  #: acceleration_region, as given
    guaranteed: bool = False
    every_asked: int = 20  #: update_every, as given
    check_energy: bool = True

    @staticmethod
    def free_roots(model: Model) -> Ints:
        """The joints that are free roots of bodies."""
        return np.flatnonzero((model.parent < 0) & (model.joint_type == JointType.FREE))

    @property
    def every(self) -> int:
        """Steps from one choice of active joints to the next."""
        return 1 if self.guaranteed else self.every_asked

    @property
    def pinned(self) -> Flags:
        """Of each joint, whether it is always active: pinned, or the free root of a body."""
        pinned: Flags = (self.pins > 0) | (self.roots & (self.pins == 0))
        return pinned

    @cached_property
    def most_with_roots(self) -> int:
        """How many joints may move, together with the free roots, which do not count."""
        return self.most if self.fixed else min(self.most + int((self.roots & (self.pins >= 0)).sum()), ALL)

    @property
    def reach(self) -> tuple[int, float]:
        """How many joints the acceleration update region may have, and the error allowed for the others."""
        if self.guaranteed or self.region is None:
            return self.most_with_roots, self.error
        return (min(self.region, ALL), 0.0) if isinstance(self.region, int) else (ALL, self.region)

    @cached_property
    def all_fixed(self) -> bool:
        """Whether the moving joints never change: those given, or all."""
        return self.fixed or (self.most < ALL and self.most_with_roots >= int((self.pins >= 0).sum()))

    @property
    def always(self) -> Ints:
        """The joints that are always active: all that may move, or the pinned ones."""
        return np.flatnonzero(self.pins >= 0 if self.all_fixed else self.pinned)

    @property
    def relative(self) -> bool:
        """Whether errors are shares of the motion of all joints."""
        return self.measure == "relative-linkage"

    # --- with one of them changed ---------------------------------------------------------------------------------

    def with_active(self, value: Any) -> Settings:
        """A number of joints decides which move."""
        if self.guaranteed:
            raise StateError("with guaranteed=True the error decides how many joints move: set guaranteed = False")
        self._refuse_if_fixed()
        return replace(self, most=checked_active(value), error=0.0)._with_room_for_pins()

    def with_error(self, value: Any) -> Settings:
        """An error decides which joints move."""
        self._refuse_if_fixed()
        return replace(self, most=ALL, error=take("error", value, NOT_NEGATIVE))

    def with_every(self, value: Any) -> Settings:
        every = checked_every(value)
        if self.guaranteed and every != 1:
            raise StateError("with guaranteed=True the choice is made at every step: update_every is 1")
        return replace(self, every_asked=every)

    def with_guaranteed(self, value: Any) -> Settings:
        wanted = take("guaranteed", value, FLAG)
        if wanted == self.guaranteed:
            return self
        self._refuse_if_fixed()
        if self.most != ALL:
            raise StateError("guaranteed=True needs an error to guarantee: set error first")
        return replace(self, guaranteed=wanted)

    def with_pin(self, joint: int, moves: bool | None) -> Settings:
        """A joint always moves, never does, or neither (None)."""
        self._refuse_if_fixed()
        pins = self.pins.copy()
        pins[joint] = 0 if moves is None else 1 if moves else -1
        return replace(self, pins=pins)._with_room_for_pins()

    def exact(self) -> Settings:
        """Those with which all joints move, but for those that are locked one by one."""
        pins = np.zeros_like(self.pins) if self.fixed else self.pins
        return replace(self, pins=pins, fixed=False, guaranteed=False, most=len(pins))

    def _with_room_for_pins(self) -> Settings:
        wanted = int(((self.pins > 0) & ~self.roots).sum())
        if wanted > self.most:
            raise StateError(f"{wanted} joints are pinned to be active, but at most {self.most} may move")
        return self

    def _refuse_if_fixed(self) -> None:
        if self.fixed:
            raise StateError(
                "the joints that move were fixed by a list: make another AdaptiveDynamics, with a number of active "
                "joints or an error"
            )

    def write(self, memory: Held) -> None:
        """Pass them to the kernels. Their metrics are sums of squares, so errors are squared."""
        reach, reach_error = self.reach
        memory.every, memory.most, memory.most_reached = self.every, self.most_with_roots, reach
        ways = GUARANTEED if self.guaranteed else FIXED if self.all_fixed else 0
        memory.ways = ways | (0 if self.check_energy else UNWATCHED) | (RELATIVE if self.relative else 0)
        memory.error, memory.reach_error = self.error * self.error, reach_error * reach_error


def which_move(
    model: Model, active: int | Sequence[str | int] | None, error: float | None, guaranteed: bool
) -> dict[str, Any]:
    """The settings that follow from a number or a list of joints, or from an error."""
    listed = isinstance(active, Sequence)
    if listed and (error is not None or guaranteed):
        raise StateError("give either a list of active joints, or error and guaranteed, not both")
    if active is not None and error is not None:
        raise StateError("give either active (a number of joints) or error, not both")
    if guaranteed and error is None:
        raise StateError("guaranteed=True needs an error to guarantee: give error=...")
    pins, roots = np.zeros(model.n_bodies, dtype=np.int64), np.zeros(model.n_bodies, dtype=np.bool_)
    roots[Settings.free_roots(model)] = True
    joints: dict[str, Any] = {"pins": pins, "roots": roots}
    if listed:
        chosen = {model.joints[name].index for name in active}  # type: ignore[union-attr,index]
        pins[:] = -1
        pins[sorted(chosen)] = 1
        return joints | {"fixed": True, "most": len(chosen)}
    if error is not None:
        return joints | {"error": error, "guaranteed": guaranteed}
    return joints | {"most": model.n_bodies if active is None else checked_active(active)}


def refuse_contacts(contacts: Contacts | None, guaranteed: bool) -> None:
    """The forces of contacts have errors that no certificate counts."""
    if contacts is not None and guaranteed:
        raise StateError(
            "guaranteed=True is for bodies that do not touch: errors of the forces of contacts are not certified; "
            "leave guaranteed or contacts out"
        )


def checked_active(value: Any) -> int:
    return min(take("active", value, whole(0)), ALL - 1)


def checked_every(value: Any) -> int:
    return min(take("update_every", value, whole(1)), ALL)
