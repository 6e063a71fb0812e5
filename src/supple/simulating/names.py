"""Recordings made by earlier versions: names that have changed since, and entries that they lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.adaptive.measures import MEASURES, SQUARED, is_certified, of_quasi_statics
from supple.record.index import is_number

Floats = NDArray[np.float64]

SHORT = 1e-3  #: of a step: less is rounding
INTEGRATORS = {"adaptive": "dop853"}
TEXTS = ("method", "integrator", "error_measure", "stopped")
NUMBERS = ("dt", "duration", "seconds")


def today(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a recorded run, under their current names."""
    known = settings.get("integrator")
    renamed = isinstance(known, str) and known in INTEGRATORS
    return {**settings, "integrator": INTEGRATORS[known]} if renamed else dict(settings)  # type: ignore[index]


def about_run(said: Mapping[str, Any]) -> dict[str, Any]:
    """What a recording says about its run, under the current names. A file may be anybody's: entries that this package
    reads are left out if they are not what they should be."""
    kinds: dict[str, Callable[[Any], bool]] = dict.fromkeys(TEXTS, lambda x: isinstance(x, str | None))
    kinds |= dict.fromkeys(NUMBERS, lambda x: x is None or isinstance(x, float) or is_number(x))
    kinds["measure"] = lambda x: x is None or x in MEASURES
    return {name: x for name, x in today(said).items() if name not in kinds or kinds[name](x)}


def progress_unit(about: Mapping[str, Any]) -> str:
    """What the progress of a run is counted in: "s", or "steps" of quasi-statics, which knows no time."""
    return "steps" if about.get("method") == "quasi-statics" else "s"


def one_of_progress(about: Mapping[str, Any]) -> float:
    """Of the times of a run, what counts as one of its progress: a second, or the dt of a quasi-static step."""
    dt = about.get("dt")
    return dt if progress_unit(about) == "steps" and isinstance(dt, float) and dt > 0.0 else 1.0


def when(time: float, about: Mapping[str, Any]) -> str:
    """A time of a run in words: "0.25 s", or "250 steps" of quasi-statics."""
    dt = about.get("dt")
    if progress_unit(about) == "s" or not isinstance(dt, int | float) or not dt > 0.0:
        return f"{time:.6g} s"
    return f"{float(whole_steps(np.array(time), float(dt))):,.6g} steps"


def whole_steps(times: Floats, dt: float) -> Floats:
    """How many quasi-static steps lead to these: the last one of a run may be shorter, and is one."""
    return np.asarray(np.ceil(times / dt - SHORT) + 0.0)  # not -0


def measure_of(about: Mapping[str, Any]) -> str:
    """What the error of a run is measured in, with its unit."""
    said, method = about.get("error_measure"), about.get("method")
    if isinstance(said, str):
        return said
    return of_quasi_statics(about.get("measure") or "relative-joint") if method == "quasi-statics" else SQUARED


def error_name(measure: str) -> str:
    """What the errors of a run are called. measure: in words."""
    return "certified error" if is_certified(measure) else "error at updates"
