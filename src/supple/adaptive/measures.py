"""What an error is measured in: the names of the measures, with their units.

`error` is one thing everywhere: how large what is left out is at most, in the measure that goes with it. As a setting
it is what is allowed, in a result what is certified (quasi-statics, adaptive dynamics with guaranteed=True) or was
left out at the last choice of active joints (other adaptive dynamics); setting and result are in the same measure.

Units are those of joints that turn; of joints that slide, read m for rad.
"""

from __future__ import annotations

from typing import Literal, get_args

Measure = Literal["relative-joint", "absolute-joint", "relative-linkage", "absolute-linkage"]
MEASURES: tuple[str, ...] = get_args(Measure)  #: of quasi-statics [QS definition 2]


def of_quasi_statics(measure: str) -> str:
    """The name of one of its measures, with its unit."""
    return f"{measure} acceleration" + ("" if measure.startswith("relative") else " [rad/s^2]")


def of_adaptive_dynamics(certified: bool, weights: str) -> str:
    """The root of a motion metric [AD section 5.2]. weights: "" if all are one, else what they are."""
    unit, of = ("px", "") if weights == "camera" else ("rad", "weighted " if weights else "")
    return f"{of}acceleration [{unit}/s^2]" if certified else f"{of}velocity [{unit}/s]"


#: What recordings of adaptive dynamics have that do not say what their error is measured in: squares, from before.
SQUARED = "acceleration metric [rad^2/s^4]"
