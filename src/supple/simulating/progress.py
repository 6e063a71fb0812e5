"""A progress bar for a run: time left, rate, active joints, error, energy."""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np

from supple.simulating.simulation import Sample, Simulation


class Progress:
    """A context with a Rich progress bar, or with none."""

    def __init__(self, run: Simulation, shown: bool) -> None:
        self._run, self._shown, self._bar = run, shown, None
        self._begun, self._first = clock.perf_counter(), run.cursor.time

    def __enter__(self) -> Progress:
        if self._shown:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            end = self._run.grid.end
            columns = (
                BarColumn(bar_width=24),
                TextColumn("{task.fields[now]}"),
                TimeRemainingColumn(compact=True),
                TextColumn("{task.fields[more]}"),
            )
            bar: Any = Progress(*columns, transient=True)
            total = end if np.isfinite(end) else None
            self._task = bar.add_task("", total=total, completed=self._first, now="", more="")
            bar.start()
            self._bar = bar
        return self

    def __exit__(self, *what: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, sample: Sample) -> None:
        if self._bar is not None and len(sample.piece.times):
            now, more = self.line(sample)
            self._bar.update(self._task, completed=float(sample.piece.times[-1]), now=now, more=more)

    def line(self, sample: Sample) -> tuple[str, str]:
        """The current time of the run, and its progress."""
        run, p = self._run, sample.piece
        wall = max(clock.perf_counter() - self._begun, 1e-9)
        now = f"{p.times[-1]:.4g} of {run.grid.end:.4g} s"
        parts = [f"{(float(p.times[-1]) - self._first) / wall:.3g} s/s"]
        if p.active is not None:
            parts.append(f"{len(p.active[-1])} active")
        if p.error is not None:
            parts.append(f"error {p.error[-1]:.2g}")
        parts.append(f"{float(sample.kinetic[-1] + sample.potential[-1]):.6g} J")
        return now, ", ".join(parts)
