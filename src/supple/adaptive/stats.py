"""Statistics of adaptive dynamics."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from supple.adaptive.measures import ratio, said
from supple.adaptive.settings import Settings
from supple.spatial.held import Held


@dataclass(frozen=True)
class AdaptiveStats:
    """Statistics of adaptive dynamics."""

    time: float
    steps: int
    updates: int  #: number of active region updates
    active_count: int  #: joints that move
    reached: int  #: joints in the last acceleration update region
    rigid_front: int  #: rigid nodes directly below nodes that are not rigid
    force_region: int  #: nodes above pushed bodies
    energy_removed: float  #: by stopping joints, since the beginning
    acceleration_error: float  #: at the last update: of the joints that were not reached
    velocity_error: float  #: at the last update: of the joints that were stopped
    certified: bool  #: whether acceleration_error holds for the accelerations of every step
    measure: str  #: what `error` is measured in: relative, or with its unit
    #: Parts of steps with contacts that stand although they end with more overlap or energy than they may, because they
    #: are as short as they get; the largest overlap in them, or joints beyond their limits, m or rad; and the most
    #: energy that one added, relative to T + m g^2 h^2.
    rough: int = 0
    overlap: float = 0.0
    energy_gain: float = 0.0
    #: Parts of steps, of at most a 64th, that miss the law of contact by more than Contacts.tolerance, because no
    #: forces were found that keep it: what slides in them may part; and the largest velocity by which they do, m/s.
    relaxed: int = 0
    relaxed_fault: float = 0.0

    def __repr__(self) -> str:
        done = f"{self.steps:,} steps to {self.time:.6g} s, {self.active_count:,} joints active"
        return f"<AdaptiveStats: {done}, error {self.error:.3g}, {self.energy_removed:.3g} J removed>"

    @property
    def error(self) -> float:
        """The error at the last update, in the measure in which `error` is set."""
        return self.acceleration_error if self.certified else self.velocity_error

    def __str__(self) -> str:
        return f"{self.active_count:,} joints active, error {said(self.error, self.measure)}"


def stats_of(hybrid: Held, settings: Settings, measure: str) -> AdaptiveStats:
    """Of a HybridBody."""
    front = hybrid.flags[hybrid.seen[: hybrid.n_seen]] == 0
    return AdaptiveStats(
        time=hybrid.time,
        steps=hybrid.steps,
        updates=hybrid.updates,
        active_count=hybrid.n_joints,
        reached=hybrid.n_reached,
        rigid_front=int(front.sum()),
        force_region=hybrid.n_paths,
        energy_removed=hybrid.removed,
        acceleration_error=_share(hybrid.acceleration_rest, hybrid.acceleration_least, settings.relative),
        velocity_error=_share(hybrid.velocity_rest, hybrid.velocity_total, settings.relative),
        certified=settings.guaranteed,
        measure=measure,
        **(_of_contacts(hybrid.touching) if hybrid.has_touches else {}),
    )


def _of_contacts(t: Held) -> dict[str, Any]:
    names = {"rough": "rough", "overlap": "deepest", "energy_gain": "gained", "relaxed": "relaxed"}
    return {name: getattr(t, field) for name, field in names.items()} | {"relaxed_fault": t.relaxed_fault}


def _share(rest: float, total: float, relative: bool) -> float:
    """The root of a metric left out: itself, or as a share of the total."""
    return ratio(math.sqrt(rest), math.sqrt(total)) if relative else math.sqrt(rest)
