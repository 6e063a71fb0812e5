"""What can be found out about adaptive dynamics without changing it: the true error of a step, and its regions."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.hybrid import Hybrid
from supple.adaptive.measures import ratio

if TYPE_CHECKING:
    from supple.adaptive.dynamics import AdaptiveDynamics

Ints = NDArray[np.int64]


def measured_error(dynamics: AdaptiveDynamics, dt: float) -> float:
    """The error of the accelerations of a step of dt, in its measure: the difference from one in which all joints
    move."""
    some, whole = copy(dynamics), copy(dynamics)
    hybrid = whole._hybrid
    hybrid.settings = hybrid.settings.exact()
    hybrid.lay_out()
    hybrid.assemble()
    for body in (some, whole):
        body.step(dt)
    weights = hybrid.metrics.acceleration
    off, total = (weights.norm((whole.v - body.v) / dt) for body in (some, dynamics))
    return ratio(off, total) if hybrid.settings.relative else off


def regions(hybrid: Hybrid) -> dict[str, Ints]:
    """Joints by region [AD section 4.1]."""
    hybrid.arrange()
    active = np.zeros(hybrid.model.n_bodies, dtype=bool)
    active[hybrid.active_joints] = True
    forced = hybrid.memory.on_path[hybrid.assembly.node_of] != 0
    sets = {"active": active, "rigid": ~active, "forced": forced, "passive": ~active & ~forced}
    return {name: np.flatnonzero(x) for name, x in sets.items()}
