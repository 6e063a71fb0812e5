"""A run has one consumer at a time: no second thread, and no call from within one of its own forces."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Generic, TypeVar

from supple.errors import SimulationError, StateError

T = TypeVar("T")


class Following(Generic[T]):
    """Yields what another iterator yields."""

    def __init__(self, inner: Iterator[T]) -> None:
        self._inner, self._lock = inner, Lock()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if not self._lock.acquire(blocking=False):
            raise StateError(
                "this run is being followed already, by another thread or by a call that one of its own functions "
                "came from: make another Simulation"
            )
        try:
            return next(self._inner)
        except RuntimeError as error:
            if isinstance(error.__cause__, StopIteration):
                raise SimulationError("a force or an event of this run raised StopIteration") from error.__cause__
            raise
        finally:
            self._lock.release()
