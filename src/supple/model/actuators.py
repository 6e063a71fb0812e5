"""Motors at joints, as a model carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from supple.arguments import NotNegative, checked_model, number, several, shown
from supple.errors import ModelError, quoted

Range = Annotated[tuple[float, float], several(number("a number", infinite=True), 2, as_tuple=True)]
ANY = (-np.inf, np.inf)


@checked_model
@dataclass(frozen=True)
class Actuator:
    """A motor at a joint with one degree of freedom. A control u, limited to control_range, makes it exert the force

        gain u + bias - stiffness q - damping v

    limited to force_range, at the joint: N m, or N. A motor has only a gain; a position servo of stiffness kp has
    gain = stiffness = kp; a velocity servo gain = damping.
    """

    name: str
    joint: str
    gain: float = 1.0
    stiffness: NotNegative = 0.0
    damping: NotNegative = 0.0
    bias: float = 0.0
    control_range: Range = ANY
    force_range: Range = ANY

    def __post_init__(self) -> None:
        for what in ("control_range", "force_range"):
            least, most = given = getattr(self, what)
            if not (least <= most and (given == ANY or np.isfinite(given).all())):
                raise ModelError(
                    f"actuator {self.name!r}: {what} must be two finite numbers, the lower one first, or (-inf, inf), "
                    f"not {shown(given)}"
                )

    @property
    def kind(self) -> str:
        """What the control sets: "position", "velocity", or the force of a "motor"."""
        return "position" if self.stiffness else "velocity" if self.damping else "motor"

    def __repr__(self) -> str:
        return f"<Actuator {quoted(self.name)}: {self.kind} at joint {quoted(self.joint)}, gain {self.gain:.4g}>"
