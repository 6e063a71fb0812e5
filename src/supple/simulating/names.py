"""Recordings made by earlier versions: names that have changed since, and entries that they lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from supple.adaptive.measures import SQUARED, of_quasi_statics

INTEGRATORS = {"adaptive": "dop853"}


def today(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a recorded run, under their current names."""
    known = settings.get("integrator")
    return {**settings, "integrator": INTEGRATORS[known]} if known in INTEGRATORS else dict(settings)


def progress_unit(about: Mapping[str, Any]) -> str:
    """What the progress of a run is counted in: "s", or "steps" of quasi-statics, which knows no time."""
    return "steps" if about.get("method") == "quasi-statics" else "s"


def when(time: float, about: Mapping[str, Any]) -> str:
    """A time of a run in words: "0.25 s", or "250 steps" of quasi-statics."""
    dt = about.get("dt")
    if progress_unit(about) == "s" or not isinstance(dt, int | float) or not dt > 0.0:
        return f"{time:.6g} s"
    return f"{time / dt:,.6g} steps"


def measure_of(about: Mapping[str, Any]) -> str:
    """What the error of a run is measured in, with its unit."""
    said, method = about.get("error_measure"), about.get("method")
    if isinstance(said, str):
        return said
    return of_quasi_statics(about.get("measure", "relative-joint")) if method == "quasi-statics" else SQUARED
