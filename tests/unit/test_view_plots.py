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
    assert list(made) == ["energy (Da Å²/s²)", "certified error (%)", "active joints"]
    (x, error, _), series, how = made["certified error (%)"]
    assert series[0]["label"] == how["axes"][0]["label"] == "progress (steps)"
    np.testing.assert_allclose(x, range(9))
    np.testing.assert_allclose(error[1:], 100.0 * run.error[1:])  # type: ignore[index]
    assert how["scales"]["y"]["distr"] == 3  # logarithmic


def test_dynamics_is_plotted_over_time() -> None:
    run, made = plotted(method="adaptive", active=20)
    (x, _, _), series, _ = made["error at updates (%)"]
    assert series[0]["label"] == "time (s)"
    np.testing.assert_allclose(x, run.times)
    _, made = plotted(method="aba")
    assert list(made) == ["energy (Da Å²/s²)"]


@pytest.mark.parametrize(
    ("measure", "title"),
    [("relative-joint acceleration", "certified error (%)"),
     ("absolute-linkage velocity [rad/s]", "error at updates (rad/s)"),
     ("on-screen absolute-linkage acceleration [px/s^2]", "certified error (px/s^2)"), ("", "error at updates")],
)  # fmt: skip
def test_errors_are_named_with_their_unit(measure: str, title: str) -> None:
    assert error_title(measure) == title


def test_zero_errors_have_a_place_on_a_logarithmic_scale() -> None:
    gui, model = Gui(), supple.trees.chain(2)
    at = {name: np.arange(3.0) for name in ("time", "kinetic", "potential", "total")}
    for error, shown in (([0.0, 0.02, 0.5], [2.0, 2.0, 50.0]), ([0.0, 0.0, 0.0], [1e-9] * 3)):
        Plots(gui, at | {"error": np.array(error)}, model.units, {}, "relative-joint acceleration")
        np.testing.assert_allclose(gui.made["certified error (%)"][0][1], shown)
