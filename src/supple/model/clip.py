"""A motion as it was captured: positions of a model, frame after frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.errors import printable
from supple.model.model import Model

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Clip:
    """Positions of a model at times that are evenly spaced. feet: the bodies that can stand on the ground."""

    model: Model
    times: Floats
    q: Floats  #: (frames, nq)
    feet: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        feet = f", feet {printable(', '.join(self.feet))}" if self.feet else ""
        return f"<Clip of {self.model.name!r}: {len(self)} frames in {self.duration:.4g} s{feet}>"

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return float(self.times[-1] - self.times[0]) if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Frames a second; infinite where one frame, or none, says nothing about it."""
        return (len(self) - 1) / self.duration if self.duration > 0 else float("inf")
