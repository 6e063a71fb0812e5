"""Running the pieces of a batch on several threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Annotated, Any

from supple.arguments import checked, whole
from supple.spatial.lanes import WIDTH

_SMALL = 32  #: batches below this are not worth a second thread
_PIECES = 8  #: a thread, of one batch
_threads = int(os.environ.get("SUPPLE_THREADS", "0")) or os.cpu_count() or 1


@checked
def set_threads(count: Annotated[int, whole(1, 1000)]) -> None:
    """How many threads batches run on (at first: all cores, or SUPPLE_THREADS)."""
    global _threads
    _threads = count


@cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=count, thread_name_prefix="supple")


def in_parallel(part: Callable[[tuple[int, int]], int], size: int) -> list[int]:
    """part((first, stop)) over 0 ... size, in pieces of whole registers, on the threads asked for."""
    if _threads == 1 or size < _SMALL:
        return [part((0, size))] if size else []
    step = -(-size // (_threads * _PIECES * WIDTH)) * WIDTH
    return run_parts(part, [(i, min(i + step, size)) for i in range(0, size, step)])


def run_parts(part: Callable[[Any], int], arguments: Iterable[Any]) -> list[int]:
    """part of each of the arguments, on the threads asked for; what they return, in no particular order.

    Each thread, the caller's among them, takes the next piece when it has done one: a core that others slow down
    takes fewer.
    """
    pieces = iter(list(arguments))

    def some() -> list[int]:
        return [part(piece) for piece in pieces]

    others = [_pool(_threads).submit(some) for _ in range(_threads - 1)]
    return [*some(), *(status for other in others for status in other.result())]
