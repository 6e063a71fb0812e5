"""What benchmarks measure and how they judge it; their figures are never tested."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from supple import scenes
from supple.bench import dynamics, virtual_work
from supple.bench import run as runner
from supple.bench.measure import agree
from supple.bench.rows import ABOVE_AIM, BELOW_FLOOR, Row
from supple.errors import SuppleError
from supple.exact import threads


def test_results_that_differ_are_not_timed():
    agree("twins", [1.0, 2.0], [1.0, 2.0 + 1e-11])
    with pytest.raises(SuppleError, match=r"strangers: results differ by 0\.5"):
        agree("strangers", [1.0, 2.0], [0.0, 2.0])
    agree("strangers", [1.0, 2.0], [0.0, 2.0], within=0.6)
    with pytest.raises(SuppleError, match="nan"):
        agree("nothing", [np.nan], [1.0])


def test_a_ceiling_is_kept_from_below():
    assert Row("x", 2.9, "x", floor=3.0).mark == ABOVE_AIM
    assert Row("x", 3.1, "x", floor=3.0).mark == BELOW_FLOOR


def test_virtual_work_measures_chains_and_a_star(tmp_path, monkeypatch):
    monkeypatch.setattr(virtual_work, "SIZES", (10, 20))
    monkeypatch.setattr(virtual_work, "LARGEST", 40)
    monkeypatch.setattr(virtual_work, "BRANCHES", 8)
    monkeypatch.setattr(
        virtual_work, "minima", lambda calls, rounds: {name: (call(), 2e-6)[1] for name, call in calls.items()}
    )
    screen = io.StringIO()
    file = tmp_path / "figures.json"
    runner.run(["virtual-work"], Console(file=screen, width=100), False, file)
    out = screen.getvalue()
    for said in ("chain of 40", "ns/joint", "absorbed", "split into pieces", "a matrix for every pair, 8 joints"):
        assert said in out
    assert "≤ 3 x" in out and '"ratio"' in file.read_text()


def test_dynamics_measures_a_pendulum_a_crowd_and_a_molecule(tmp_path, monkeypatch):
    monkeypatch.setattr(dynamics, "SIZES", {"pendulum": (30,), "crowd": (1, 2), "molecule": (400,)})
    monkeypatch.setattr(dynamics, "PENDULUM", {1: dynamics.PENDULUM[1], 10: dynamics.PENDULUM[20]})
    monkeypatch.setattr(dynamics, "WARM", 40)
    monkeypatch.setattr(threads, "_threads", threads._threads)  # the benchmark sets it
    screen = io.StringIO()
    file = tmp_path / "figures.json"
    runner.run(["dynamics"], Console(file=screen, width=100), True, file)
    for said in (
        "pendulum of 30 links",
        "1 active / DCA",
        "all active",
        "≤ 1.5 x DCA",
        "5% active / ABA",
        "100 active",
    ):
        assert said in screen.getvalue()
    assert '"aim": 250.0' in file.read_text()


def test_stretches_of_adaptive_dynamics_start_where_they_started_before():
    stretch = dynamics._adaptive(scenes.crowd(1, 1), 20, 40)
    ends = []
    for _ in range(2):
        stretch.start()
        ends.append(stretch.go())
    assert ends[0].active_count == ends[1].active_count == 20
    assert ends[0].acceleration_error == ends[1].acceleration_error > 0
