"""The states of a result by their number, and what is said of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.errors import ViewError
from supple.model.model import Model
from supple.simulating.contacts import Contact
from supple.simulating.names import progress_unit, when
from supple.simulating.result import Result
from supple.simulating.sleeping import asleep
from supple.simulating.state import State

Floats = NDArray[np.float64]

REAL_TIME = (2.0, 60.0)  #: seconds: runs between these are played at the speed at which they happen,
OTHERWISE = 10.0  #: others in so many seconds
HOLD = 1.0  #: seconds that what repeats stays at its last state


class Timeline:
    """States are read when they are asked for; numbers that there is one of for each state are held."""

    def __init__(self, result: Result) -> None:
        self._models: list[Model] = []
        self.renew(result)

    def renew(self, result: Result) -> None:
        """The same result, longer: its models are those that are known already."""
        self.result, self.segments = result, [s for s in result.segments if len(s)]
        if not self.segments:
            raise ViewError(f"{result.recording or 'this result'} has no states to look at")
        known = {id(s.model): model for s, model in zip(self.segments, self._models)}
        self._models = [known.get(id(s.model), s.model) for s in self.segments]
        self._starts = np.cumsum([0] + [len(s) for s in self.segments])
        self.times = np.concatenate([s.times for s in self.segments])
        self.kinetic = np.concatenate([s.kinetic for s in self.segments])
        self.potential = np.concatenate([s.potential for s in self.segments])
        errors, counts = [s.error for s in self.segments], [s.active_counts for s in self.segments]
        self.error, self.active = _of_all(errors), _of_all(counts)

    def __len__(self) -> int:
        return len(self.times)

    def state(self, i: int) -> State:
        n, k = self._where(i)
        s, error = self.segments[n], None if self.error is None else float(self.error[i])
        active, model = s.active_joints(k), self._models[n]
        sleeping = asleep(self.result.about, model, active)
        return State(float(self.times[i]), s.q[k], s.v[k], model, active, error, sleeping)

    def moment(self, i: int) -> str:
        """When a state is, in words."""
        about, time = self.result.about, float(self.times[i])
        return when(time, about) if progress_unit(about) != "s" else f"{time:.3f} s"

    def wrench(self, i: int, body: int) -> Floats | None:
        """What the joint of a body carries, where that was kept."""
        n, k = self._where(i)
        s = self.segments[n]
        return None if s.joint_wrenches is None else np.asarray(s.joint_wrenches[k, body])

    def contacts(self, i: int) -> list[Contact]:
        """What touches at a state, in a run with contacts."""
        return self.result.contacts(i)

    def touches(self, i: int) -> Floats | None:
        """The same as rows of contact/room.py."""
        n, k = self._where(i)
        return self.segments[n].touches_at(k)

    def at(self, time: float) -> int:
        """The last state that is not later."""
        return max(0, int(np.searchsorted(self.times, time, side="right")) - 1)

    @property
    def largest_error(self) -> float:
        return 0.0 if self.error is None else float(self.error.max())

    @property
    def speed(self) -> float:
        """How many seconds of the run to play in one."""
        return fit_speed(float(self.times[-1] - self.times[0]))

    def spread(self, most: int) -> list[int]:
        """At most so many states, evenly in time, the first and the last among them."""
        if len(self) <= most:
            return list(range(len(self)))
        wanted = np.linspace(self.times[0], self.times[-1], most)
        return sorted({self.at(float(t)) for t in wanted} | {len(self) - 1})[-most:]

    def _where(self, i: int) -> tuple[int, int]:
        """In which segment a state is, and which one it is there."""
        n = int(np.searchsorted(self._starts, i, side="right")) - 1
        return n, i - int(self._starts[n])


def _of_all(parts: list[Any]) -> Any:
    """In one; None where some segment has none: a recording may be anybody's."""
    return None if any(x is None for x in parts) else np.concatenate(parts)


def fit_speed(span: float) -> float:
    if REAL_TIME[0] <= span <= REAL_TIME[1] or not 0 < span < np.inf:
        return 1.0
    return float(f"{span / OTHERWISE:.2g}")
