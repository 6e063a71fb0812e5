"""The measures of errors: their names and units.

`error` has the same meaning everywhere: the largest size of the neglected part, in the associated measure. As a setting
it is the error allowed. In a result it is the certified error (quasi-statics, adaptive dynamics with guaranteed=True)
or the part neglected at the last choice of active joints (other adaptive dynamics). Both use the same measure.

Units are those of rotating joints; for sliding joints, read m for rad.
"""

from __future__ import annotations

from typing import Literal, get_args

Measure = Literal["relative-joint", "absolute-joint", "relative-linkage", "absolute-linkage"]
MEASURES: tuple[str, ...] = get_args(Measure)  #: of quasi-statics [QS definition 2]


def of_quasi_statics(measure: str) -> str:
    """The name of a measure of quasi-statics, with its unit."""
    return f"{measure} acceleration" + ("" if measure.startswith("relative") else " [rad/s^2]")


def of_adaptive_dynamics(certified: bool, weights: str) -> str:
    """The root of a motion metric [AD section 5.2]. weights: "" if all are one, otherwise their description."""
    unit, of = ("px", "") if weights == "camera" else ("rad", "weighted " if weights else "")
    return f"{of}acceleration [{unit}/s^2]" if certified else f"{of}velocity [{unit}/s]"


#: For recordings of adaptive dynamics that do not state the measure of their error: squares, from older versions.
SQUARED = "acceleration metric [rad^2/s^4]"
