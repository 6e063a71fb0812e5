"""Arrays that refuse every index below zero or beyond the end; and kernels, as Python, on such arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from supple.spatial.plain_structs import Checked


def hand(array: Any) -> Any:
    return array.view(Checked)


def arrays_at_addresses() -> None:
    """From now on kernels find such arrays at the addresses they are given. Numba must be switched off, and modules of
    kernels not be imported yet."""
    from supple.spatial import addresses

    addresses.floats_at = addresses.float_vector = _array_at(ctypes.c_double)
    addresses.ints_at = addresses.int_vector = _array_at(ctypes.c_int64)
    from supple.integrating import states

    vars(states)["TOTALS"] = lambda *state: None  # has no entry for Python


def _array_at(kind: Any) -> Callable[[int, Any], Any]:
    def array(address: int, shape: Any) -> Any:
        sizes = tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)
        if 0 in sizes:
            return hand(np.zeros(sizes))
        return Checked(sizes, kind, (kind * math.prod(sizes)).from_address(int(address)))

    return array
