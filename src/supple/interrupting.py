"""Ctrl-C while something long runs: it comes to an end of its own, and nothing is half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any


class Interrupted:
    """While active, Ctrl-C calls `halt`. A second one stops at once."""

    def __init__(self, halt: Callable[[], None]) -> None:
        self._halt, self.told = halt, False
        self._before: Any = None

    def __enter__(self) -> Interrupted:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._tell)
        return self

    def __exit__(self, *what: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _tell(self, number: int, frame: Any) -> None:
        if self.told:
            raise KeyboardInterrupt
        self.told = True
        self._halt()
