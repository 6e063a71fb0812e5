"""The terms of the equations of motion, apart: H(q) a + c(q, v) + g(q) + damping = tau."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import take
from supple.exact.answers import at_rest
from supple.exact.rnea import RNEA
from supple.exact.state_errors import MODEL
from supple.model.changed import changed
from supple.model.model import Model

Floats = NDArray[np.float64]


def gravity_force(model: Model, q: ArrayLike) -> Floats:
    """g(q): the joint forces that hold the body at rest against gravity. (nv,), or (B, nv) for batches."""
    return RNEA(model, q, None, None, None)


def coriolis_force(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Floats:
    """c(q, v): the joint forces that balance centrifugal and Coriolis forces, without gravity and damping. (nv,), or
    (B, nv) for batches. Computed without gravity, so that slow motions lose no digits to it."""
    take("model", model, MODEL)
    return RNEA(model._kept(coriolis_force, lambda: _weightless(model)), q, at_rest(model, v), None, None)


def _weightless(model: Model) -> Model:
    """The same without gravity and damping."""
    return changed(model, gravity=np.zeros(3), damping=np.zeros(model.nv))
