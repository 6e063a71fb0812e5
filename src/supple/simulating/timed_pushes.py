"""Pushes on a body with its own stepper: scaled, and switched on and off at steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.simulating.forces import Push

NEVER = 1 << 62


class TimedPushes:
    """Pushes as they were given, each with the handle of the force that acts.

    A push acts in the steps that begin within its time: from `start` on, and before `stop`.
    """

    def __init__(self, pushes: Sequence[tuple[Push, Any]], dt: float) -> None:
        self._pushes, self._scale = pushes, 1.0
        self._start = _step([push.start for push, _ in pushes], dt)
        self._stop = _step([push.stop for push, _ in pushes], dt)
        self._acts = np.ones(len(pushes), dtype=bool)  #: which ones do, in the stepper

    def scale(self, scale: float) -> None:
        """From now on, every push is multiplied by `scale`."""
        self._scale = scale
        for i in range(len(self._pushes)):
            self._set(i)

    def begin(self, step: int) -> None:
        """Let those act that do in a step."""
        acts = (self._start <= step) & (step < self._stop)
        changed = np.flatnonzero(acts != self._acts)
        self._acts = acts
        for i in changed.tolist():
            self._set(i)

    def unchanged(self, step: int) -> int:
        """Number of steps, from this one on, in which the same ones act."""
        later = np.concatenate([self._start, self._stop])
        return int(np.min(later[later > step], initial=NEVER)) - step

    def _set(self, i: int) -> None:
        push, handle = self._pushes[i]
        scale = self._scale if self._acts[i] else 0.0
        handle.set(force=scale * np.asarray(push.force), torque=scale * np.asarray(push.torque))


def _step(times: Sequence[float], dt: float) -> NDArray[np.int64]:
    """The first step that begins at these times or later."""
    steps = np.ceil(np.array(times, dtype=float) / dt - 1e-9)
    return np.where(steps < NEVER, steps, NEVER).astype(np.int64)
