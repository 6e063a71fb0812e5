"""Energy, error and active joints over time, beside the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.model.report import Units
from supple.simulating.names import error_name, one_of_progress, progress_unit
from supple.viewing.colours import patch, patches

Floats = NDArray[np.float64]

POINTS = 600  #: of a curve, at most
HEIGHT, WIDE = 165, 84  #: pixels, of a plot and of the numbers on its left
LOW, LABEL, FONT = 30, 16, "12px sans-serif"  #: pixels, of the numbers below it, and of what they are
PADDING = (8, 14, 0, 0)  #: above, right, below and left: half of a number must be seen there
PAST = "rgba(20, 40, 80, 0.09)"  #: the ground of what is over
CURVES = {
    "energy": (("kinetic", "#2a6fbb"), ("potential", "#3c9d5d"), ("total", "#6a4c93")),
    "error": (("error", "#8a6d00"),),
    "active joints": (("active", "#0f7c83"),),
}
LOG = 3  #: uPlot's name of a logarithmic scale
NONE = 1e-9  #: what zeros are drawn as there, if there is nothing else


class Plots:
    """A plot each for what there is."""

    def __init__(
        self, gui: Any, curves: dict[str, Floats], units: Units, about: Mapping[str, Any], measure: str = ""
    ) -> None:
        """curves: by name: time and others of CURVES, as long as each other. about: of the run. measure: of errors."""
        self._handles: dict[str, Any] = {}
        self._each, absolute = one_of_progress(about), "[" in measure or "relative" not in measure
        self._factor = 1.0 if absolute else 100.0
        said = {"energy": f"energy ({units.energy})", "error": error_title(measure)}
        self._thin(curves)
        for title, lines in CURVES.items():
            if lines[0][0] in curves:
                along = {"s": "time (s)", "steps": "progress (steps)"}[progress_unit(about)]
                series = [{"label": along}, *({"label": n, "stroke": c, "width": 1.5} for n, c in lines)]
                past = {"label": "over", "scale": "over", "fill": PAST, "width": 0, "points": {"show": False}}
                scales = {"x": {"time": False}, "over": {"range": (0.0, 1.0)}}
                if title == "error":
                    scales["y"] = {"distr": LOG}
                self._handles[title] = gui.add_uplot(
                    self._data(title, 0), (*series, past), title=said.get(title, title), height=HEIGHT,
                    padding=PADDING,
                    legend={"show": False}, scales=scales,
                    axes=({"label": along, "size": LOW, "labelSize": LABEL, "labelFont": FONT}, {"size": WIDE}),
                )  # fmt: skip
                if len(lines) > 1:
                    gui.add_html(patches(*((patch(colour), name) for name, colour in lines)))

    def show(self, time: float) -> None:
        """Say where the page is."""
        at = int(np.argmin(np.abs(self._curves["time"] - time / self._each)))
        for title, handle in self._handles.items():
            handle.data = self._data(title, at)

    def renew(self, curves: dict[str, Floats], time: float) -> None:
        """Other curves of the same names, and where the page is."""
        self._thin(curves)
        self.show(time)

    def _thin(self, curves: dict[str, Floats]) -> None:
        n = len(curves["time"])
        rows = np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))
        self._curves = {name: np.asarray(x, dtype=float)[rows] for name, x in curves.items()}
        self._curves["time"] = self._curves["time"] / self._each
        if "error" in curves:
            e = self._factor * self._curves["error"]
            self._curves["error"] = np.maximum(e, e[e > 0].min() if np.any(e > 0) else NONE)  # zeros have a place, too

    def _data(self, title: str, now: int) -> tuple[Floats, ...]:
        time, lines = self._curves["time"], [self._curves[name] for name, _ in CURVES[title]]
        return (time, *lines, np.where(np.arange(len(time)) <= now, 1.0, 0.0))


def error_title(measure: str) -> str:
    """What a plot of errors is called. measure: in words."""
    _, absolute, unit = measure.partition(" [")
    unit = unit.rstrip("]") if absolute else "%" if "relative" in measure else ""
    return f"{error_name(measure)} ({unit})" if unit else error_name(measure)
