"""Threads whose stacks are large enough for the compiler.

`threading.stack_size` may give threads as little as 32 KiB. Kernels need at most 16 KiB of that, but LLVM needs more
than 64 KiB even to load what is compiled, and overruns of a stack end the interpreter. So kernels are loaded on the
main thread, or on one made for it; and the threads that run batches are not made smaller than that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ROOM = 2**24  #: bytes


@contextmanager
def roomy_threads() -> Iterator[None]:
    """Inside, threads are started with stacks of at least ROOM, or of the system's default size."""
    given = threading.stack_size()
    if not 0 < given < ROOM:  # 0: the default
        yield
        return
    threading.stack_size(ROOM)
    try:
        yield
    finally:
        threading.stack_size(given)


class _Roomy(threading.Thread):
    """A thread that does one thing, and keeps what went wrong."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="supple: loading")
        self._work = work
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as e:
            self.error = e


def with_room(work: Callable[[], None]) -> None:
    """Call a function on a thread with enough room: on this one, if it is known to have it."""
    if threading.current_thread() is threading.main_thread() or isinstance(threading.current_thread(), _Roomy):
        work()
        return
    thread = _Roomy(work)
    try:
        with roomy_threads():
            thread.start()
    except RuntimeError:  # no more threads: Python is shutting down, or the system has none left
        work()
        return
    thread.join()
    if thread.error is not None:
        raise thread.error
