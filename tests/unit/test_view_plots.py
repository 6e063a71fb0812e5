"""The plots of the page: what they are over, and the names and units of what they show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import supple
from supple import scenes
from supple.viewing.player import curves
from supple.viewing.plots import Plots, error_title
from supple.viewing.timeline import Timeline


class Gui:
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def add_uplot(self, data: Any, series: Any, **how: Any) -> Any:
        self.made[how["title"]] = (data, series, how)
        return type("Handle", (), {"data": data})()

    def add_html(self, text: str) -> None:
        pass


def plotted(**how: Any) -> tuple[supple.Result, dict[str, Any]]:
    scene, gui = scenes.molecule(60), Gui()
    run = supple.simulate(scene.model, scene.q0, dt=scene.dt, duration=8 * scene.dt, forces=scene.all_forces(), **how)
    Plots(gui, curves(Timeline(run)), scene.model.units, run.about, run.measure or "")
    return run, gui.made


def test_quasi_statics_is_plotted_over_steps_with_its_error_in_per_cent() -> None:
    run, made = plotted(method="quasi-statics", error=0.01)
    assert list(made) == [
        f"{name} over steps" for name in ("energy (Da Å²/s²)", "certified error (%)", "active joints")
    ]
    (x, error, _), series, _ = made["certified error (%) over steps"]
    assert series[0]["label"] == "steps"
    np.testing.assert_allclose(x, range(9))
    np.testing.assert_allclose(error, 100.0 * run.error)  # type: ignore[operator]


def test_dynamics_is_plotted_over_time() -> None:
    run, made = plotted(method="adaptive", active=20)
    (x, _, _), series, _ = made["error at updates (%) over time (s)"]
    assert series[0]["label"] == "time (s)"
    np.testing.assert_allclose(x, run.times)
    _, made = plotted(method="aba")
    assert list(made) == ["energy (Da Å²/s²) over time (s)"]


@pytest.mark.parametrize(
    ("measure", "largest", "title", "factor"),
    [("relative-joint acceleration", 0.02, "certified error (%)", 100.0),
     ("relative-joint acceleration", 0.0, "certified error (%)", 100.0),
     ("relative-linkage velocity", 3e-9, "error at updates (1e-9 %)", 1e11),
     ("absolute-linkage velocity [rad/s]", 5.0, "error at updates (rad/s)", 1.0),
     ("on-screen absolute-linkage acceleration [px/s^2]", 4e-6, "certified error (1e-6 px/s^2)", 1e6),
     ("", 1.0, "error at updates", 1.0)],
)  # fmt: skip
def test_errors_are_named_with_their_unit(measure: str, largest: float, title: str, factor: float) -> None:
    """Those of tiny errors have numbers that an axis with three decimals tells apart."""
    said, times = error_title(measure, largest)
    assert (said, times) == (title, pytest.approx(factor))
