"""Running the pieces of a batch on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

from supple.arguments import take, whole
from supple.spatial.cpu import WIDTH
from supple.spatial.stacks import roomy_threads

_SMALL = 32  #: batches below this are not worth a second thread
_PIECES = 8  #: per thread, in one batch
MOST = 1024  #: threads
_threads: int | None = None  #: as given to set_threads


def set_threads(count: int) -> None:
    """Set how many threads batches run on (initially: all cores, or SUPPLE_THREADS)."""
    global _threads
    _threads = _checked("the number of threads", count)


def threads() -> int:
    """How many threads batches run on."""
    return _threads or _usual_threads()


@cache
def _usual_threads() -> int:
    given = os.environ.get("SUPPLE_THREADS", "").strip()
    number = int(given) if given.isdecimal() and len(given) < 100 else given  # Python limits the number of digits
    return min(os.cpu_count() or 1, MOST) if number in ("", 0) else _checked("SUPPLE_THREADS", number)


def _checked(name: str, count: Any) -> int:
    number: int = take(name, count, whole(1, MOST))
    return number


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=count, thread_name_prefix="supple")


if hasattr(os, "register_at_fork"):  # the threads of a pool do not exist in a child process
    os.register_at_fork(after_in_child=_pool.cache_clear)


def in_parallel(part: Callable[[tuple[int, int]], int], size: int) -> list[int]:
    """part((first, stop)) over 0 ... size, in pieces of whole registers, on the configured threads."""
    if size < _SMALL or threads() == 1:
        return [part((0, size))] if size else []
    step = -(-size // (threads() * _PIECES * WIDTH)) * WIDTH
    return run_parts(part, [(i, min(i + step, size)) for i in range(0, size, step)])


def run_parts(part: Callable[[Any], int], arguments: Iterable[Any]) -> list[int]:
    """part(x) for each of the arguments, on the configured threads; returns the results, in no particular order.

    Each thread, including the caller's, takes the next piece when it has finished one: a core slowed down by other work
    takes fewer.
    """
    given = list(arguments)
    pieces = iter(given)

    def some() -> list[int]:
        return [part(piece) for piece in pieces]

    count = threads()
    others: list[Future[list[int]]] = []
    with suppress(RuntimeError), roomy_threads():  # no more threads: Python is shutting down, or has none left
        for _ in range(min(count, len(given)) - 1):
            others.append(_pool(count).submit(some))
    return [*some(), *(status for other in others for status in other.result())]
