"""Mutual exclusion: threads that share a body take turns.

Kernels let other threads run, and a public method may call several of them: other callers wait meanwhile. A lock
belongs to one object in one process. A copy has its own lock, and so does a forked child; an object that another thread
was using at the time of the fork is in an inconsistent state there, and refuses to be used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import getattr_static, isfunction
from threading import RLock
from typing import Any, NoReturn, TypeVar
from weakref import WeakSet

from supple.errors import StateError

T = TypeVar("T", bound=type)

_living: WeakSet[TakesTurns] = WeakSet()


class TakesTurns:
    """An object that only one thread at a time may use: the thread holds `_lock`."""

    def _begin_turns(self) -> None:
        self._lock: Any = RLock()
        _living.add(self)


class _Lost:
    """Replaces the lock of an object that was in use when the process was forked."""

    def __enter__(self) -> NoReturn:
        raise StateError(
            "another thread was using this when the process was forked, and it is half changed here: make it anew in "
            "the child, or fork while no other thread uses it"
        )

    def __exit__(self, *exception: object) -> None:
        """Never reached."""


def _after_fork() -> None:
    """In the child only the forking thread exists: locks held by others would never be released."""
    for each in _living:
        if isinstance(each._lock, _Lost):
            continue
        if each._lock.acquire(blocking=False):
            each._lock.release()
        else:
            each._lock = _Lost()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method so that it waits for its turn."""

    @wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return alone


def one_at_a_time(*free: str) -> Callable[[T], T]:
    """Make the public methods and properties of a class wait for their turn, including inherited ones, except those
    named: they only read data that is always consistent, or take a turn for each of several parts."""

    def decorate(cls: T) -> T:
        for name in dir(cls):
            part = getattr_static(cls, name)
            if name.startswith("_") or name in free:
                continue
            if isfunction(part):
                setattr(cls, name, in_turn(part))
            elif isinstance(part, property):
                get, put = part.fget, part.fset
                assert get is not None
                setattr(cls, name, property(in_turn(get), None if put is None else in_turn(put), doc=part.__doc__))
        return cls

    return decorate
