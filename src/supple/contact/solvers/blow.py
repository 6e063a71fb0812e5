"""The impulse of a single touch, outside of time steps: cone.py, called from Python."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.contact.solvers.cone import one_touch
from supple.spatial.addresses import vector
from supple.spatial.algebra import Sym3, Vec3
from supple.spatial.compiler import kernel

Floats = NDArray[np.float64]

_numbers = types.float64[::1]


@kernel(types.void(_numbers, _numbers, types.float64, _numbers), "impulse of one touch")
def _one_impulse(W, c, mu, out):
    W, c, out = vector(W), vector(c), vector(out)
    lam = one_touch(Sym3(W[0], W[1], W[2], W[4], W[5], W[8]), Vec3(c[0], c[1], c[2]), mu, 0.0)
    out[0], out[1], out[2] = lam.x, lam.y, lam.z


def one_impulse(W: Floats, c: Floats, friction: float) -> Floats:
    """lam of cone.py, with u = c + W lam, W positive definite; the first component is along the normal."""
    out = np.zeros(3)
    _one_impulse.load()(np.ascontiguousarray(W).reshape(9), np.ascontiguousarray(c), friction, out)
    return out
