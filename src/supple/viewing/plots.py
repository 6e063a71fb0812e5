"""Energy, error and active joints over time, beside the body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.viewing.colours import patch, patches

Floats = NDArray[np.float64]

POINTS = 600  #: of a curve, at most
HEIGHT, WIDE = 150, 84  #: pixels, of a plot and of the numbers on its left
PAST = "rgba(20, 40, 80, 0.09)"  #: the ground of what is over
CURVES = {
    "energy": (("kinetic", "#2a6fbb"), ("potential", "#3c9d5d"), ("total", "#6a4c93")),
    "error (log 10)": (("error", "#8a6d00"),),
    "active joints": (("active", "#0f7c83"),),
}


class Plots:
    """A plot each for what there is."""

    def __init__(self, gui: Any, curves: dict[str, Floats], unit: str = "J") -> None:
        """curves: by name: time and others of CURVES, as long as each other; unit: of energies."""
        self._handles: dict[str, Any] = {}
        self._thin(curves)
        for title, lines in CURVES.items():
            if lines[0][0] in curves:
                series = [{"label": "time (s)"}, *({"label": n, "stroke": c, "width": 1.5} for n, c in lines)]
                past = {"label": "over", "scale": "over", "fill": PAST, "width": 0, "points": {"show": False}}
                shown = f"{title} ({unit})" if title == "energy" else title
                self._handles[title] = gui.add_uplot(
                    self._data(title, 0), (*series, past), title=shown, height=HEIGHT, legend={"show": False},
                    scales={"x": {"time": False}, "over": {"range": (0.0, 1.0)}}, axes=({}, {"size": WIDE}),
                )  # fmt: skip
                if len(lines) > 1:
                    gui.add_html(patches(*((patch(colour), name) for name, colour in lines)))

    def show(self, time: float) -> None:
        """Say where the page is."""
        for title, handle in self._handles.items():
            handle.data = self._data(title, int(np.argmin(np.abs(self._curves["time"] - time))))

    def renew(self, curves: dict[str, Floats], time: float) -> None:
        """Other curves of the same names, and where the page is."""
        self._thin(curves)
        self.show(time)

    def _thin(self, curves: dict[str, Floats]) -> None:
        n = len(curves["time"])
        rows = np.unique(np.linspace(0, n - 1, min(n, POINTS)).astype(int))
        self._curves = {name: np.asarray(x, dtype=float)[rows] for name, x in curves.items()}
        if "error" in curves:
            e = self._curves["error"]
            least = e[e > 0].min(initial=1.0)  # what zeros are drawn as
            self._curves["error"] = np.log10(np.maximum(e, least))

    def _data(self, title: str, now: int) -> tuple[Floats, ...]:
        time, lines = self._curves["time"], [self._curves[name] for name, _ in CURVES[title]]
        return (time, *lines, np.where(np.arange(len(time)) <= now, 1.0, 0.0))
