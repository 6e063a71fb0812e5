"""Forces on bodies in the user interface: descriptions passed to runs, and handles of forces acting on a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from supple.arguments import NOT_NEGATIVE_OR_INFINITE, NotNegative, Triple, checked
from supple.errors import StateError, quoted
from supple.model.model import listed


class Acts(Protocol):
    """One of the forces acting on a simulated body."""

    def change(self, vector: ArrayLike | None, moment: ArrayLike | None) -> None: ...

    def remove(self) -> None: ...


class Acting:
    """Returned by .apply and .spring: it can be changed and removed. One that is only a description cannot."""

    _acts: Acts | None = None  #: the force acting on a body, if any

    def remove(self) -> None:
        """Remove it from the body."""
        self._where().remove()
        object.__setattr__(self, "_removed", True)

    def _where(self) -> Acts:
        if self._acts is None:
            raise StateError(
                f"this {type(self).__name__} acts on nothing yet: .apply(...) and .spring(...) of QuasiStatics and "
                "AdaptiveDynamics give some that can be changed"
            )
        return self._acts

    def _keep(self, **given: ArrayLike | None) -> None:
        """Store its current values."""
        for name, value in given.items():
            if value is not None:
                object.__setattr__(self, name, value)

    def _ending(self) -> str:
        return ", removed>" if getattr(self, "_removed", False) else ">"


@checked
@dataclass(frozen=True, repr=False)
class Push(Acting):
    """A constant force at a point of a body (in its frame), and a torque, along the axes of the world or of the body.
    The body may also be a named frame. start, stop: the seconds of a run within which it acts; always, by default.

    One returned by .apply can be changed (.set) and removed (.remove).
    """

    body: str | int
    force: Triple = (0.0, 0.0, 0.0)
    point: Triple = (0.0, 0.0, 0.0)
    torque: Triple = (0.0, 0.0, 0.0)
    frame: Literal["world", "body"] = "world"
    start: NotNegative = 0.0
    stop: Annotated[float, NOT_NEGATIVE_OR_INFINITE] = np.inf

    @property
    def always(self) -> bool:
        """Whether it acts all the time."""
        return self.start == 0.0 and self.stop == np.inf

    @checked
    def set(self, force: Triple | None = None, torque: Triple | None = None) -> None:
        """Set another force or torque from now on; arguments not given are unchanged."""
        self._where().change(force, torque)
        self._keep(force=force, torque=torque)

    def __repr__(self) -> str:
        torque = f", torque {listed(self.torque)}" if np.any(self.torque) else ""
        time = "" if self.always else f", from {self.start:g} to {self.stop:g} s"
        return f"<Push on {quoted(self.body)}: force {listed(self.force)}{torque}{time}{self._ending()}"


@checked
@dataclass(frozen=True, repr=False)
class Spring(Acting):
    """A spring, with a damper along the point's velocity, from a point of a body (in its frame) to an anchor in the
    world. length: the rest length; zero pulls straight to the anchor. The body may also be a named frame.

    One returned by .spring can be changed (.set) and removed (.remove).
    """

    body: str | int
    anchor: Triple
    stiffness: NotNegative
    point: Triple = (0.0, 0.0, 0.0)
    damping: NotNegative = 0.0
    length: NotNegative = 0.0

    @checked
    def set(self, anchor: Triple) -> None:
        """Set another anchor from now on; the rest is unchanged."""
        self._where().change(anchor, None)
        self._keep(anchor=anchor)

    def __repr__(self) -> str:
        what = f"Spring on {quoted(self.body)} to {listed(self.anchor)}, {self.stiffness:.4g} N/m"
        return f"<{what}{self._ending()}"


@checked
@dataclass(frozen=True, repr=False)
class SpringBetween(Acting):
    """A spring, with a damper along its line, between points of two bodies (each in its body's frame): equal and
    opposite forces on both. length: the rest length, which may be zero. pulls_only: like a rope, it is slack when
    shorter than that, and its damper never pushes. A body may also be a named frame.

    One returned by .spring_between can be changed (.set) and removed (.remove).
    """

    body: str | int
    other: str | int
    stiffness: NotNegative
    point: Triple = (0.0, 0.0, 0.0)
    other_point: Triple = (0.0, 0.0, 0.0)
    damping: NotNegative = 0.0
    length: NotNegative = 0.0
    pulls_only: bool = False

    @checked
    def set(self, length: NotNegative) -> None:
        """Set another rest length from now on; the rest is unchanged."""
        self._where().change(length, None)
        self._keep(length=length)

    def __repr__(self) -> str:
        kind = ", pulls only" if self.pulls_only else ""
        what = f"SpringBetween {quoted(self.body)} and {quoted(self.other)}, {self.stiffness:.4g} N/m{kind}"
        return f"<{what}{self._ending()}"


OnBody = Push | Spring | SpringBetween  #: what acts on bodies rather than at joints


def acting(force: OnBody, acts: Acts) -> None:
    """Connect a description to the acting force: from now on, changing it changes the force."""
    object.__setattr__(force, "_acts", acts)
