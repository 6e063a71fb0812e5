"""How far a sweep is: runs, their rate, the time left, failures."""

from __future__ import annotations

import time as clock

from supple.bars import Bar
from supple.sweeping.engines import Engine, said
from supple.sweeping.table import Table


class Progress:
    """A context with a progress bar (lines, where there is no terminal), or with none."""

    def __init__(self, table: Table, engine: Engine, shown: bool) -> None:
        self._table, self._engine, self._bar = table, engine, Bar("sweep", shown)
        self._size = len(table.status)
        self._begun, self._first = clock.monotonic(), sum(table.counts)

    def __enter__(self) -> Progress:
        self._bar.__enter__()
        return self

    def __exit__(self, *what: object) -> None:
        self._bar.__exit__(*what)

    def show(self) -> None:
        if not self._bar.wanted:
            return
        done, failed = self._table.counts
        came = done + failed - self._first
        rate = came / max(clock.monotonic() - self._begun, 1e-9)
        more = [
            f"{rate:.3g} runs/s" if came else "",
            f"{failed:,} failed" if failed else "",
            f"on {said(self._engine)}",
        ]
        now = f"{done + failed:,} of {self._size:,} runs"
        self._bar.show(done + failed, self._size, now, ", ".join(x for x in more if x))
