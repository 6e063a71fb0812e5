"""A progress bar for a run: time left, rate, active joints, error, energy."""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np

from supple.adaptive.measures import said
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
        done, end, unit = float(p.times[-1]), run.grid.end, str(run.settings["progress_unit"])
        each = run.dt if unit == "steps" else 1.0
        now = f"{done / each:.4g} of {end / each:.4g} {unit}"
        parts = [f"{(done - self._first) / each / wall:.3g} {unit}/s"]
        if p.active is not None:
            parts.append(f"{len(p.active[-1])} active")
        if p.error is not None:
            parts.append(f"error {said(float(p.error[-1]), str(run.settings.get('error_measure', '')))}")
        parts.append(f"{float(sample.kinetic[-1] + sample.potential[-1]):.6g} {sample.piece.model.units.energy}")
        return now, ", ".join(parts)
