"""How far a run is: time left, rate, active joints, error, energy."""

from __future__ import annotations

import time as clock

import numpy as np

from supple.adaptive.measures import said
from supple.bars import Bar
from supple.simulating.simulation import Sample, Simulation


class Progress:
    """A context with a progress bar (lines, where there is no terminal), or with none."""

    def __init__(self, run: Simulation, shown: bool) -> None:
        self._run, self._bar = run, Bar("run", shown)
        self._begun, self._first = clock.perf_counter(), run.cursor.time

    def __enter__(self) -> Progress:
        self._bar.__enter__()
        return self

    def __exit__(self, *what: object) -> None:
        self._bar.__exit__(*what)

    def show(self, sample: Sample) -> None:
        if len(sample.piece.times) and self._bar.wanted:
            end = self._run.grid.end
            self._bar.show(float(sample.piece.times[-1]), end if np.isfinite(end) else None, *self.line(sample))

    def line(self, sample: Sample) -> tuple[str, str]:
        """The current time of the run, and its progress."""
        run, p = self._run, sample.piece
        wall = max(clock.perf_counter() - self._begun, 1e-9)
        done, end, unit = float(p.times[-1]), run.grid.end, str(run.settings["progress_unit"])
        each = run.dt if unit == "steps" else 1.0
        now = f"{done / each:.4g}" + (f" of {end / each:.4g}" if np.isfinite(end) else "") + f" {unit}"
        parts = [f"{(done - self._first) / each / wall:.3g} {unit}/s"]
        if p.active is not None:
            parts.append(f"{len(p.active[-1])} active")
        if p.error is not None:
            parts.append(f"error {said(float(p.error[-1]), str(run.settings.get('error_measure', '')))}")
        parts.append(f"{float(sample.kinetic[-1] + sample.potential[-1]):.6g} {sample.piece.model.units.energy}")
        return now, ", ".join(parts)
