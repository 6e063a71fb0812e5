"""Forces on bodies as a user names them: descriptions that runs take, and handles of those that act on a body now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from supple.arguments import NotNegative, Triple, checked
from supple.errors import StateError
from supple.model.model import listed


class Acts(Protocol):
    """One force among those of a body that is computed."""

    def change(self, vector: ArrayLike | None, moment: ArrayLike | None) -> None: ...

    def remove(self) -> None: ...


class Acting:
    """What .apply and .spring give: it can be changed and taken away. One that was only described cannot."""

    _acts: Acts | None = None  #: where it acts

    def remove(self) -> None:
        """Take it away from the body."""
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
        """What it is now."""
        for name, value in given.items():
            if value is not None:
                object.__setattr__(self, name, value)

    def _ending(self) -> str:
        return ", removed>" if getattr(self, "_removed", False) else ">"


@checked
@dataclass(frozen=True, repr=False)
class Push(Acting):
    """A constant force on a point of a body (in its frame), and a torque; along the world's axes or the body's.
    The body may also be a named frame.

    One that .apply gave can be changed (.set) and taken away (.remove).
    """

    body: str | int
    force: Triple = (0.0, 0.0, 0.0)
    point: Triple = (0.0, 0.0, 0.0)
    torque: Triple = (0.0, 0.0, 0.0)
    frame: Literal["world", "body"] = "world"

    @checked
    def set(self, force: Triple | None = None, torque: Triple | None = None) -> None:
        """Another force or torque from now on; the rest stays as it is."""
        self._where().change(force, torque)
        self._keep(force=force, torque=torque)

    def __repr__(self) -> str:
        torque = f", torque {listed(self.torque)}" if np.any(self.torque) else ""
        return f"<Push on {self.body!r}: force {listed(self.force)}{torque}{self._ending()}"


@checked
@dataclass(frozen=True, repr=False)
class Spring(Acting):
    """A spring, with a damper along the point's velocity, from a point of a body (in its frame) to an anchor in the
    world. length: at rest; zero pulls straight to the anchor. The body may also be a named frame.

    One that .spring gave can be changed (.set) and taken away (.remove).
    """

    body: str | int
    anchor: Triple
    stiffness: NotNegative
    point: Triple = (0.0, 0.0, 0.0)
    damping: NotNegative = 0.0
    length: NotNegative = 0.0

    @checked
    def set(self, anchor: Triple) -> None:
        """Another anchor from now on; the rest stays as it is."""
        self._where().change(anchor, None)
        self._keep(anchor=anchor)

    def __repr__(self) -> str:
        what = f"Spring on {self.body!r} to {listed(self.anchor)}, {self.stiffness:.4g} N/m"
        return f"<{what}{self._ending()}"


def acting(force: Push | Spring, acts: Acts) -> None:
    """From now on, changing it changes what acts."""
    object.__setattr__(force, "_acts", acts)
