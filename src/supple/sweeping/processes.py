"""Processes of this machine that make runs. Light to import: it is all that a new one needs at first."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        """Without the main script, which the new process would run once more: what is to be run is sent whole."""
        main = sys.modules["__main__"]
        hidden: dict[str, Any] = {name: vars(main).pop(name) for name in ("__file__", "__spec__") if name in vars(main)}
        main.__spec__ = None
        try:
            return SpawnProcess._Popen(process_obj)  # type: ignore[attr-defined]
        finally:
            vars(main).update(hidden)


class Alone(SpawnContext):
    """New processes that have nothing of this one."""

    Process = _Process


def begin() -> None:
    """In a new worker: Ctrl-C is the driver's, and the driver's end is the worker's. A process for each core has one
    thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["SUPPLE_THREADS"] = "1"
    threading.Thread(target=_end_with_driver, daemon=True).start()


def _end_with_driver() -> None:
    driver = multiprocessing.parent_process()
    if driver is not None:
        driver.join()
    os._exit(1)
