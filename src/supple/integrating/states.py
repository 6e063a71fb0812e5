"""User-given positions and velocities, checked once for everything that keeps them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import as_floats
from supple.errors import StateError
from supple.exact.energy import TOTALS
from supple.model.model import Model

Floats = NDArray[np.float64]


def checked_state(model: Model, q: ArrayLike | None, v: ArrayLike | None) -> tuple[Floats, Floats]:
    """q and v as separate arrays: neutral and zero by default; refused by name if they have the wrong shape, are not
    finite, not of unit length, or too large to have an energy."""
    x = model.neutral() if q is None else as_floats("q", q).copy()
    u = np.zeros(model.nv) if v is None else as_floats("v", v).copy()
    for name, value, size in (("q", x, model.nq), ("v", u, model.nv)):
        if value.shape != (size,):
            raise StateError(f"{name} has shape {value.shape}; expected ({size},)")
    TOTALS(model, x, u, None, None)
    return x, u
