"""The colours of bodies."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

Rgb = tuple[int, int, int]
ACTIVE: Rgb = (255, 40, 0)  #: reserved: of bodies whose joints are computed, and of nothing else in the page
RIGID: Rgb = (120, 138, 160)  #: of those that move with their parents
PLAIN: Rgb = (150, 165, 182)  #: where no method chose joints, and the file says no colour
GROUND: Rgb = (190, 190, 190)  #: what does not move
EXACT, WORST = np.array([38, 70, 140]), np.array([240, 225, 70])  #: of the error: none, the largest of the run

By = Literal["active", "error", "own"]
MEANING: dict[str, str] = {
    "active": "orange: the joint is computed; grey: it is rigid",
    "error": "blue: computed; towards yellow: taken for zero, the larger the error of the whole (log scale)",
    "own": "the file's own colours",
}


def paint(by: By, n: int, active: Ints | None, error: float | None, largest: float) -> Bytes | None:
    """(n, 3) the colours of bodies at a state; None: their own. largest: the error that is drawn as the worst."""
    if by == "own" or active is None:
        return None
    out = np.empty((n, 3), dtype=np.uint8)
    out[:] = RIGID if by == "active" else shade(error, largest)
    out[active] = ACTIVE if by == "active" else EXACT
    return out


def shade(error: float | None, largest: float, decades: float = 6.0) -> Bytes:
    """The colour of an error, on a logarithmic scale below the largest."""
    if error is None or not error > 0 or not largest > 0:
        return EXACT.astype(np.uint8)
    at = np.clip(1.0 + np.log10(error / largest) / decades, 0.0, 1.0)
    return np.asarray(np.round(EXACT + at * (WORST - EXACT)), dtype=np.uint8)
