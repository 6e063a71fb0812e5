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


def measure_of(about: Mapping[str, Any]) -> str:
    """What the error of a run is measured in, with its unit."""
    said, method = about.get("error_measure"), about.get("method")
    if isinstance(said, str):
        return said
    return of_quasi_statics(about.get("measure", "relative-joint")) if method == "quasi-statics" else SQUARED
