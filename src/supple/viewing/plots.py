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
HEIGHT, LOW, WIDE = 150, 30, 84  #: pixels, of a plot, of the numbers below and of those on its left
ABOVE = 12  #: pixels above a plot, or the topmost number on its left would be cut in half
PAST = "rgba(20, 40, 80, 0.09)"  #: the ground of what is over
CURVES = {
    "energy": (("kinetic", "#2a6fbb"), ("potential", "#3c9d5d"), ("total", "#6a4c93")),
    "error": (("error", "#8a6d00"),),
    "active joints": (("active", "#0f7c83"),),
}
FEW = 0.01  #: numbers below have fewer digits on an axis than tell them apart: they are multiplied by thousands


class Plots:
    """A plot each for what there is."""

    def __init__(
        self, gui: Any, curves: dict[str, Floats], units: Units, about: Mapping[str, Any], measure: str = ""
    ) -> None:
        """curves: by name: time and others of CURVES, as long as each other. about: of the run. measure: of errors."""
        self._handles: dict[str, Any] = {}
        self._each = one_of_progress(about)
        title, self._factor = error_title(measure, float(np.max(curves.get("error", 0.0))))
        said = {"energy": f"energy ({units.energy})", "error": title}
        self._thin(curves)
        for title, lines in CURVES.items():
            if lines[0][0] in curves:
                along = {"s": "time (s)", "steps": "steps"}[progress_unit(about)]
                series = [{"label": along}, *({"label": n, "stroke": c, "width": 1.5} for n, c in lines)]
                past = {"label": "over", "scale": "over", "fill": PAST, "width": 0, "points": {"show": False}}
                self._handles[title] = gui.add_uplot(
                    self._data(title, 0), (*series, past), title=f"{said.get(title, title)} over {along}",
                    height=HEIGHT, legend={"show": False}, padding=(ABOVE, 8, 0, 0),
                    scales={"x": {"time": False}, "over": {"range": (0.0, 1.0)}}, axes=({"size": LOW}, {"size": WIDE}),
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
            self._curves["error"] = self._factor * self._curves["error"]

    def _data(self, title: str, now: int) -> tuple[Floats, ...]:
        time, lines = self._curves["time"], [self._curves[name] for name, _ in CURVES[title]]
        return (time, *lines, np.where(np.arange(len(time)) <= now, 1.0, 0.0))


def error_title(measure: str, largest: float) -> tuple[str, float]:
    """What a plot of errors is called, and what they are multiplied by in it. measure: in words; largest: of them."""
    _, absolute, unit = measure.partition(" [")
    relative = not absolute and "relative" in measure
    unit, factor = unit.rstrip("]") if absolute else "%" if relative else "", 100.0 if relative else 1.0
    if 0.0 < factor * largest < FEW:
        power = 3 * int(np.floor(np.log10(factor * largest) / 3.0))
        unit, factor = f"1e{power} {unit}".rstrip(), factor / 10.0**power
    return (f"{error_name(measure)} ({unit})" if unit else error_name(measure)), factor
