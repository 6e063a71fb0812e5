"""When to use the assembly tree: the cost of a solution over it depends on the joints reached, that of the whole body
is O(n).

Costs are in steps of the articulated-body algorithm: updating and traversing all of a large tree takes about FULL of
them. Where a solution over the tree was not possible (because of rounding, or because too many joints mattered), the
whole body is solved. The tree is then tried again after an increasing number of these solutions, so that failed tries
cost only a small part of the total.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

FULL = 24.0
PATIENCE = 4.0  #: a try waits until solutions of the whole body have taken this many times as long
LONGEST = 1024  #: largest number of solutions between tries
PROBES = 64  #: number of solutions of the whole body for which a probe of rounding is valid
DIGITS = 40  #: nodes recomputed and visited, per body, and
TURN = 0.1  #: displacement of joints, in radians, for which a probe of the tree's digits is valid


@dataclass
class Pace:
    """Counters of one body. They belong to the state of a run: equal counters lead to equal decisions."""

    n: int  #: bodies
    wait: int = 0  #: solutions of the whole body before the tree is tried again
    since: int = 0  #: number of these so far
    needed: int = 0  #: number of joints that were not negligible in the last one
    probed: int = 0  #: solutions of the whole body for which the last probe of rounding is still valid
    worked: int = 0  #: nodes recomputed and visited since the last probe of the tree's digits
    noise: float = 0.0  #: the size of rounding, and of the accelerations, at the last probe
    largest: float = 0.0
    slid: float = 0.0  #: sliding displacement of joints at that time, in link lengths
    moved: float = 0.0  #: displacement of joints since the last probe of the tree's digits: sum of the largest per step

    @property
    def budget(self) -> int:
        """Number of joints that a solution over the tree may compute."""
        return self.n // 12 + 64

    def tree(self, dirty: float) -> bool:
        """Whether to try the tree, given the fraction that is out of date."""
        if self.since == 0 and self.wait == 0:
            return True
        few = self.needed <= self.n // 16 + 64
        return few and self.since >= max(self.wait, PATIENCE * FULL * dirty)

    def tried(self, done: bool, nodes: int) -> None:
        """Record the result and cost of a solution over the tree."""
        self.wait = 0 if done else min(2 * self.wait + 1, LONGEST)
        self.since = 0
        self.worked += nodes

    def probed_digits(self, useful: bool) -> None:
        """Record a probe of the tree's digits."""
        self.worked, self.moved = 0, 0.0
        if not useful:
            self.wait, self.since = LONGEST, 0

    def digits_due(self) -> bool:
        """Whether to probe the tree's digits again: they depend on the posture alone."""
        return self.worked > DIGITS * self.n and self.moved > TURN

    def whole(self, needed: int) -> None:
        """Record a solution of the whole body, in which `needed` joints were not negligible."""
        self.since += 1
        self.needed = needed

    def stale_probe(self, noise: float, largest: float, slid: float) -> bool:
        """Whether to probe rounding, given its size, that of the accelerations, and the sliding displacement of joints;
        called once per solution of the whole body."""
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
