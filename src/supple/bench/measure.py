"""Times on a noisy machine: candidates take turns, and the least time of each counts.

A minimum over many short rounds is what the code takes when nothing else runs; taking turns gives every
candidate the same share of the quiet moments. Results are compared before anything is timed.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from supple.errors import SuppleError

BLOCK = 2e-3  #: seconds of calls between two readings of the clock
AGREEMENT = 1e-10  #: relative difference that results may have


def minima(candidates: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least seconds a call took, for each candidate, over rounds in which all take turns."""
    numbers = {name: _block_size(call) for name, call in candidates.items()}
    best = dict.fromkeys(candidates, np.inf)
    for _ in range(rounds):
        for name, call in candidates.items():
            best[name] = min(best[name], timeit.timeit(call, number=numbers[name]) / numbers[name])
    return best


def _block_size(call: Callable[[], Any]) -> int:
    call()
    once = timeit.timeit(call, number=1)
    return max(1, min(5000, int(BLOCK / max(once, 1e-7))))


def agree(what: str, ours: Any, theirs: Any, within: float = AGREEMENT) -> None:
    """Refuse to time what does not compute the same: it may differ by so much of the largest number."""
    a, b = np.asarray(ours), np.asarray(theirs)
    difference = float(np.abs(a - b).max() / np.abs(b).max())
    if not difference <= within:
        raise SuppleError(f"{what}: results differ by {difference:.2g} of the largest; timing them would mean nothing")
