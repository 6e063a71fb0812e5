"""The measures of errors: their names, their units, and errors in words.

`error` has the same meaning everywhere: the size of what is left out. As a setting it is the largest one allowed. In a
result it is the certified one (quasi-statics, and adaptive dynamics with guaranteed=True), rounding included, or the
one of the last choice of active joints (other adaptive dynamics). `measure` says how it is measured [QS definition 2]:
with e what is left out of the accelerations a of the joints (other adaptive dynamics: of their velocities),

    relative-linkage    |e| / |a|                     a share of the whole motion
    absolute-linkage    |e|
    relative-joint      max |e_j| / max |a_j|         a share of the largest motion of a joint
    absolute-joint      max |e_j|

Adaptive dynamics takes the first two; its joints may be weighted, and |x|^2 is then the sum of x.A x over joints.
Units are those of rotating joints; for sliding joints, read m for rad.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LinkageMeasure = Literal["relative-linkage", "absolute-linkage"]
Measure = Literal["relative-joint", "absolute-joint", "relative-linkage", "absolute-linkage"]
LINKAGE_MEASURES: tuple[str, ...] = get_args(LinkageMeasure)  #: of adaptive dynamics
MEASURES: tuple[str, ...] = get_args(Measure)  #: of quasi-statics


def of_quasi_statics(measure: str) -> str:
    """A measure of quasi-statics in words."""
    return _described(measure, "acceleration", "rad/s^2")


def of_adaptive_dynamics(measure: str, certified: bool, weights: str) -> str:
    """A measure of adaptive dynamics in words. weights: "" if all are one, otherwise their description."""
    length = "px" if weights == "camera" else "rad"
    motion, unit = ("acceleration", f"{length}/s^2") if certified else ("velocity", f"{length}/s")
    of = "" if not weights else "on-screen " if weights == "camera" else "weighted "
    return of + _described(measure, motion, unit)


def _described(measure: str, motion: str, unit: str) -> str:
    return f"{measure} {motion}" + ("" if measure.startswith("relative") else f" [{unit}]")


#: For recordings of adaptive dynamics that do not state the measure of their error: squares, from older versions.
SQUARED = "acceleration metric [rad^2/s^4]"


def said(error: float, measure: str) -> str:
    """An error in words: "0.83% of the acceleration of all joints". measure: in words, as above."""
    name, found, unit = measure.partition(" [")
    if found:
        return f"{error:.3g} {unit.rstrip(']')} ({name})"
    joint = "relative-joint " in measure
    motion = name.replace("relative-joint ", "").replace("relative-linkage ", "")
    if "relative" not in measure:  # of a recording by somebody else
        return f"{error:.3g} ({measure})" if measure else f"{error:.3g}"
    return f"{percent(error)} of the {f'largest joint {motion}' if joint else f'{motion} of all joints'}"


def percent(share: float) -> str:
    """A share as per cent, with three digits."""
    return f"{100.0 * share:.3g}%"


def is_certified(measure: str) -> bool:
    """Whether errors in this measure are certified, rather than those of the last choice; measure: in words."""
    return "acceleration" in measure


def ratio(part: float, whole: float) -> float:
    """part / whole; zero if there is no part, and infinite if there is no whole to compare it with."""
    return 0.0 if part == 0.0 else part / whole if whole > 0.0 else math.inf


def measured(exact: Floats, found: Floats, measure: str, joints: NDArray[np.int64]) -> float:
    """The error of accelerations against exact ones. joints: where those of each joint begin."""
    missing = exact - found
    if measure.endswith("linkage"):
        off, whole = float(np.linalg.norm(missing)), float(np.linalg.norm(exact))
    else:
        off, whole = (float(np.sqrt(np.add.reduceat(x * x, joints).max())) for x in (missing, exact))
    return ratio(off, whole) if measure.startswith("relative") else off
