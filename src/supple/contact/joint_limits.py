"""The joint limits that a run enforces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.contact.settings import Contacts
from supple.model.manifold import UNLIMITED, layout
from supple.model.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PLAY = 1e-6  #: the smallest range of a joint, in metres or radians: interior-point methods need an interior


def limits_of(model: Model, contacts: Contacts) -> tuple[Ints, Ints, Floats, Floats]:
    """Degrees of freedom with limits, their coordinates, and lower and upper limits. The range of a joint is at least
    PLAY."""
    at, index = layout(model).plain_q, layout(model).plain_v
    has = (np.abs(model.lower[at]) < UNLIMITED) | (np.abs(model.upper[at]) < UNLIMITED)
    keep = np.flatnonzero(has & contacts.limits)
    keep = keep[np.argsort(index[keep])]
    lower, upper = model.lower[at[keep]], model.upper[at[keep]]
    play = 0.5 * np.maximum(PLAY - (upper - lower), 0.0)
    return index[keep], at[keep], lower - play, upper + play
