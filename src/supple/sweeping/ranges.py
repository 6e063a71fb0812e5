"""The values of a parameter in a sweep: a list, or a range; and how they are written.

5,10,15               a list
0.01:0.1:100          a hundred numbers from 0.01 to 0.1
1e-4:1e-1:25:log      the same with equal ratios
0.01:0.1              no number of them: samples are drawn from there (0.01:0.1:log: of the logarithm)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked, whole
from supple.errors import StateError

Floats = NDArray[np.float64]

MOST = 10**7  #: values of a parameter
LOG = "log"
HOW = "write A,B,C, or FROM:TO:COUNT, or FROM:TO:COUNT:log, or for samples FROM:TO"


@checked
@dataclass(frozen=True)
class Range:
    """Numbers from `start` to `stop`: `count` of them, both ends included; or, without a count, where samples are
    drawn from (supple.sweep(..., samples=128)). log: with equal ratios instead of equal differences."""

    start: float
    stop: float
    count: Annotated[int, whole(1, MOST)] | None = None
    log: bool = False

    def __post_init__(self) -> None:
        if self.log and not (self.start > 0.0 and self.stop > 0.0):
            raise StateError(f"a range by ratios goes between positive numbers, not from {self.start:g}")
        if not np.isfinite(self.stop - self.start):
            raise StateError(f"a range from {self.start:g} to {self.stop:g} is too wide for numbers of 64 bits")

    def __repr__(self) -> str:
        count = "sampled" if self.count is None else f"{self.count:,} numbers"
        return f"<Range from {self.start:g} to {self.stop:g}, {count}{', by ratios' if self.log else ''}>"

    def values(self) -> Floats:
        """(count,)"""
        n = 1 if self.count is None else self.count
        made = np.geomspace if self.log else np.linspace
        out: Floats = made(self.start, self.stop, n)
        return out

    def at(self, shares: Floats) -> Floats:
        """The numbers at shares of the way, from 0 to 1."""
        if self.log:
            low, high = np.log(self.start), np.log(self.stop)
            return np.asarray(np.exp(low + (high - low) * shares))
        return np.asarray(self.start + (self.stop - self.start) * shares)

    def whole_at(self, shares: Floats) -> NDArray[np.int64]:
        """The same among whole numbers, each of them as likely as the others (by ratios: as its share of the range)."""
        low, high = int(np.ceil(min(self.start, self.stop))), int(np.floor(max(self.start, self.stop)))
        if low > high:
            raise StateError(f"there is no whole number from {self.start:g} to {self.stop:g}")
        between = Range(low, high + 1, None, self.log).at(shares)
        return np.clip(np.floor(between), low, high).astype(np.int64)


def read(name: str, text: str) -> Range | list[str]:
    """What is written for a parameter."""
    if ":" not in text:
        out = [part.strip() for part in text.split(",")]
        if not all(out):
            raise StateError(f"{name}={text}: a value is missing; {HOW}")
        return out
    parts = [part.strip() for part in text.split(":")]
    log = parts[-1] == LOG
    numbers = parts[:-1] if log else parts
    try:
        start, stop, *count = [float(x) for x in numbers]
    except ValueError:
        raise StateError(f"{name}={text} is no range; {HOW}") from None
    if len(count) > 1 or (count and count[0] != np.floor(count[0])) or not np.isfinite([start, stop, *count]).all():
        raise StateError(f"{name}={text} is no range; {HOW}")
    try:
        return Range(start, stop, int(count[0]) if count else None, log)
    except StateError as e:
        raise StateError(f"{name}={text}: {e}") from None


def given(name: str, value: Any) -> Range | list[Any]:
    """The values of a parameter as they may be given from Python: a Range, text, a list or an array."""
    if isinstance(value, Range):
        return value
    if isinstance(value, str):
        return read(name, value)
    if isinstance(value, (dict, set, bytes)) or not hasattr(value, "__len__"):
        raise StateError(
            f"{name}: a sweep goes over a list of values, a supple.Range, or text such as '0.01:0.1:100', "
            f"not over {type(value).__name__}; what is the same in all runs belongs in fixed={{...}}"
        )
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise StateError(f"{name}: values are a list of numbers, not an array of shape {value.shape}")
    if not 1 <= len(value) <= MOST:
        raise StateError(f"{name}: there must be from 1 to {MOST:,} values, not {len(value):,}")
    return list(value)
