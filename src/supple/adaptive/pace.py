"""When the assembly tree pays: solutions over it cost what they reach, those of the whole body O(n).

Costs are in steps of the articulated-body algorithm: renewing and traversing all of a large tree takes about FULL of
them. Where a solution over the tree was not to be had (rounding did not allow it, or too many joints
mattered), the whole body is solved for, and the tree is tried again after ever more of these solutions: what is tried
in vain costs a small part of them.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

FULL = 24.0
PATIENCE = 4.0  #: a try waits until solutions of the whole body have taken so many times as long
LONGEST = 1024  #: solutions between tries, at most
PROBES = 64  #: solutions of the whole body for which a probe of rounding holds
DIGITS = 40  #: times all bodies: nodes renewed and visited for which a probe of the tree's digits holds


@dataclass
class Pace:
    """Of one body. What it counts belongs to the state of a run: the same counts decide the same."""

    n: int  #: bodies
    wait: int = 0  #: solutions of the whole body before the tree is tried again
    since: int = 0  #: how many there were
    needed: int = 0  #: joints that were not negligible in the last one
    probed: int = 0  #: solutions of the whole body for which the last probe of rounding still holds
    worked: int = 0  #: nodes renewed and visited since the last probe of the tree's digits
    noise: float = 0.0  #: the size of rounding, and of the accelerations, when it was probed
    largest: float = 0.0
    slid: float = 0.0  #: how far joints had slid then, in lengths of a link

    @property
    def budget(self) -> int:
        """Joints that a solution over the tree may compute."""
        return self.n // 12 + 64

    def tree(self, dirty: float) -> bool:
        """Whether to try the tree, of which a part is out of date."""
        if self.since == 0 and self.wait == 0:
            return True
        few = self.needed <= self.n // 16 + 64
        return few and self.since >= max(self.wait, PATIENCE * FULL * dirty)

    def tried(self, done: bool, nodes: int) -> None:
        """How a solution over the tree ended, and what it took."""
        self.wait = 0 if done else min(2 * self.wait + 1, LONGEST)
        self.since = 0
        self.worked += nodes

    def probed_digits(self, useful: bool) -> None:
        """The tree's digits were probed just now."""
        self.worked = 0
        if not useful:
            self.wait, self.since = LONGEST, 0

    def digits_due(self) -> bool:
        return self.worked > DIGITS * self.n

    def whole(self, needed: int) -> None:
        """A solution of the whole body, in which so many joints were not negligible."""
        self.since += 1
        self.needed = needed

    def stale_probe(self, noise: float, largest: float, slid: float) -> bool:
        """Whether rounding is to be probed, given its size, that of the accelerations, and how far joints have slid;
        asked once a solution of the whole body."""
        self.probed = max(self.probed - 1, 0)
        near = self.noise / 2 <= noise <= 2 * self.noise and self.largest / 2 <= largest <= 2 * self.largest
        if self.probed > 0 and near and 0.0 <= slid - self.slid <= 1.0:
            return False
        self.probed, self.noise, self.largest, self.slid = PROBES, noise, largest, slid
        return True

    def save(self) -> NDArray[np.float64]:
        return np.array(astuple(self), dtype=np.float64)

    @classmethod
    def restored(cls, saved: NDArray[np.float64]) -> Pace:
        n, wait, since, needed, probed, worked = (int(x) for x in saved[:6])
        return cls(n, wait, since, needed, probed, worked, *saved[6:].tolist())
