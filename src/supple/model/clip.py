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
class Clip:
    """Positions of a model at evenly spaced times. feet: the bodies that can stand on the ground."""

    model: Model
    times: Floats
    q: Floats  #: (frames, nq)
    feet: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.times) if self.times.ndim == 1 else -1
        if n < 0 or self.q.shape != (n, self.model.nq) or not np.isfinite(self.q).all():
            raise StateError(f"a clip is times (n,) and finite positions (n, {self.model.nq}), not {shown(self.q)}")
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise StateError("the times of a clip must be finite and grow")

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
