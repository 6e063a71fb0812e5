"""A captured motion: positions of a model, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.arguments import checked, shown
from supple.errors import StateError, quoted, short
from supple.model.model import Model

Floats = NDArray[np.float64]


@checked
@dataclass(frozen=True)
class Arrows:
    """Vectors to draw beside a motion, such as the ground's forces: for each time and name a point in the world and a
    vector from there, which is zero where there is nothing to draw."""

    names: tuple[str, ...]
    times: Floats  #: (frames,) seconds, growing
    points: Floats  #: (frames, names, 3) metres
    vectors: Floats  #: (frames, names, 3)
    unit: str = "N"

    def __post_init__(self) -> None:
        _check_times("arrows", self.times)
        shape = (len(self.times), len(self.names), 3)
        for name in ("points", "vectors"):
            x = getattr(self, name)
            if x.shape != shape or not np.isfinite(x).all():
                raise StateError(f"{name} of arrows must be finite numbers of shape {shape}, not {shown(x)}")

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"<Arrows: {short(', '.join(self.names))} in {short(self.unit)}, {len(self)} frames>"

    @property
    def largest(self) -> float:
        """The length of the longest vector."""
        return float(np.linalg.norm(self.vectors, axis=2).max(initial=0.0))

    def at(self, time: float) -> tuple[Floats, Floats]:
        """Points and vectors (names, 3) of the frame nearest to a time; none if there are no frames."""
        if not len(self):
            return np.zeros((0, 3)), np.zeros((0, 3))
        i = int(np.searchsorted(0.5 * (self.times[1:] + self.times[:-1]), time))
        return self.points[i], self.vectors[i]


@checked
@dataclass(frozen=True)
class Clip:
    """Positions of a model at evenly spaced times. feet: the bodies that can stand on the ground. arrows: to be drawn
    beside it (supple.motion_loads(clip).clip has the ground's forces)."""

    model: Model
    times: Floats
    q: Floats  #: (frames, nq)
    feet: tuple[str, ...] = ()
    arrows: Arrows | None = None

    def __post_init__(self) -> None:
        n = len(self.times) if self.times.ndim == 1 else -1
        if n < 0 or self.q.shape != (n, self.model.nq) or not np.isfinite(self.q).all():
            raise StateError(f"a clip is times (n,) and finite positions (n, {self.model.nq}), not {shown(self.q)}")
        _check_times("a clip", self.times)

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        feet = f", feet {', '.join(map(short, self.feet[:4]))}" if self.feet else ""
        return f"<Clip of {quoted(self.model.name)}: {len(self)} frames in {self.duration:.4g} s{feet}>"

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return float(self.times[-1] - self.times[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Frames per second; infinite if there are fewer than two frames."""
        return (len(self) - 1) / self.duration if self.duration > 0 else float("inf")


def _check_times(what: str, times: Floats) -> None:
    if times.ndim != 1 or not (np.isfinite(times).all() and (np.diff(times) > 0).all()):
        raise StateError(f"the times of {what} must be finite and grow")
