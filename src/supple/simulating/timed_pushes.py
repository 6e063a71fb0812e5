"""Pushes that act for a while: the instants at which they start and stop, where steps end; and pushes on a body with
its own stepper, which are scaled, and switched on and off there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.simulating.forces import Push

Floats = NDArray[np.float64]

NEVER = 1 << 62
ROUNDING = 8  #: units in the last place: instants that are this close are the same


class Switches:
    """The instants at which something starts or stops, except the beginning of a run, ascending. An instant of the grid
    of steps dt is exactly that."""

    def __init__(self, times: tuple[Floats, Floats], dt: float) -> None:
        start, stop = times
        acts = start < stop
        at = np.unique(on_grid(np.concatenate([start[acts], stop[acts]]), dt))
        at = at[(at > 0.0) & (at < np.inf)]
        apart = np.diff(at, prepend=-np.inf) > ROUNDING * np.spacing(at)
        self._times: list[float] = at[apart].tolist()

    def after(self, time: float) -> float:
        """The next one after a time; infinite if there is none."""
        i = bisect_right(self._times, time)
        return self._times[i] if i < len(self._times) else np.inf

    def before(self, time: float) -> float:
        """The last one before a time; zero if there is none."""
        i = bisect_left(self._times, time)
        return self._times[i - 1] if i > 0 else 0.0


def on_grid(times: ArrayLike, dt: float) -> Floats:
    """Times, those that are multiples of dt up to rounding exactly so."""
    t = np.asarray(times, dtype=float)
    finite = np.where(np.isfinite(t), t, 0.0)
    near = np.rint(finite / dt) * dt
    return np.where(np.isfinite(t) & (np.abs(near - finite) <= ROUNDING * np.spacing(finite)), near, t)


class TimedPushes:
    """Pushes as they were given, each with the handle of the force that acts.

    A push acts from `start` on, and before `stop`: steps end there. A stepper that counts steps rather than seconds
    (whole_steps) does not divide them: a push acts in those that begin within its time.
    """

    def __init__(self, pushes: Sequence[tuple[Push, Any]], dt: float, whole_steps: bool = False) -> None:
        self._pushes, self._scale, self._dt = pushes, 1.0, dt
        start, stop = (np.array([getattr(push, name) for push, _ in pushes], dtype=float) for name in ("start", "stop"))
        self._start, self._stop = ((next_step if whole_steps else on_grid)(times, dt) for times in (start, stop))
        self._switches = Switches((self._start, self._stop), dt)
        self._acts = np.ones(len(pushes), dtype=bool)  #: which ones do, in the stepper

    def scale(self, scale: float) -> None:
        """From now on, every push is multiplied by `scale`."""
        self._scale = scale
        for i in range(len(self._pushes)):
            self._set(i)

    def begin(self, time: float) -> float:
        """Let those act that do in a step from a time on. Returns when that changes."""
        end = self._switches.after(time)
        self._act(time + min(0.5 * (end - time), self._dt))
        return end

    def restore(self, time: float) -> None:
        """Let those act that did in the last step before a time."""
        if time > 0.0:
            self._act(0.5 * (time + self._switches.before(time)))
        else:
            self.begin(time)

    def unchanged(self, step: int) -> int:
        """Number of whole steps, from this one on, in which the same ones act."""
        end = self._switches.after(step * self._dt)
        if end == np.inf:
            return NEVER
        k = int(end / self._dt)
        return k - (k * self._dt > end) + ((k + 1) * self._dt <= end) - step

    def _act(self, time: float) -> None:
        """Let those act that do at a time."""
        acts = (self._start <= time) & (time < self._stop)
        changed = np.flatnonzero(acts != self._acts)
        self._acts = acts
        for i in changed.tolist():
            self._set(i)

    def _set(self, i: int) -> None:
        push, handle = self._pushes[i]
        scale = self._scale if self._acts[i] else 0.0
        handle.set(force=scale * np.asarray(push.force), torque=scale * np.asarray(push.torque))


def next_step(times: ArrayLike, dt: float) -> Floats:
    """The beginning of the first step of dt that begins at each time or later."""
    return np.asarray(np.ceil(np.asarray(times, dtype=float) / dt - 1e-9) * dt)
