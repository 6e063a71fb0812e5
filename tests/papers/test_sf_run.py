"""The reproduction of SF as a whole: what it writes, and what it says where matplotlib is missing."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from rich.console import Console

from pictures import lacking
from supple.costs.matrices import Cost
from supple.errors import SuppleError
from supple.reproduce import counting, sf, sf_figures, sf_measure
from supple.reproduce.report import Report


def test_run_writes_tables_and_figures(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sf_measure, "SHAPES", {k: (f, sizes[:2]) for k, (f, sizes) in sf_measure.SHAPES.items()})
    monkeypatch.setattr(sf_measure, "shortest", lambda function, budget: (function(), 1e-6)[1])
    screen = io.StringIO()
    sf.run(tmp_path, quick=True, console=Console(file=screen, width=110))
    figures = {p.name for p in tmp_path.glob("*.png")}
    shown = {
        "sf-sparsity.png": [],  # in shades
        "sf-figure-5.png": sf_figures.COLOURS,
        "sf-figure-7.png": sf_figures.PARTS.values(),
        "sf-time.png": sf_figures.COLOURS[3:],  # under this clock the others are behind it
        "sf-accuracy.png": sf_figures.COLOURS[1:2],
    }
    assert figures == shown.keys() and not lacking(tmp_path, shown)
    text = (tmp_path / "sf.md").read_text(encoding="utf-8")
    for wanted in (*figures, "14555m + 11756a", "434.40", "Table 2", "humanoid"):
        assert wanted in text
    assert "✗" not in text and "✗" not in screen.getvalue()
    assert "1258m + 1039a" in screen.getvalue()


def test_missing_matplotlib_is_said_first(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SuppleError, match=r"pip install 'supple\[figures\]'"):
        sf.run(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_table_is_the_same_in_markdown(tmp_path) -> None:
    with Report("sf", "title", tmp_path, console=Console(file=io.StringIO())) as report:
        report.table(["what", "n"], [("x", 1), ("y", Cost(m=2))])
    lines = (tmp_path / "sf.md").read_text().splitlines()
    assert lines[0] == "# title" and lines[-4:] == ["| what | n |", "| --- | ---: |", "| x | 1 |", "| y | 2m |"]


def test_accuracy_is_measured_beyond_double_precision() -> None:
    """The exact solution is one: its residual in extended precision is far below any method's."""
    H = sf_measure.sample(1)
    a = sf_measure.accuracy(H, np.random.default_rng(0))
    eps = np.finfo(float).eps
    for errors in a.errors.values():
        assert set(errors) == {"ltdl", "ltl", "listed", "cholesky"}
        assert all(1e-3 * eps < x < 1e5 * eps for x in errors.values())
    bins = sf_measure.in_bins([a], "solution", "ltdl")
    assert len(bins) == 1 and bins[0].size == 1 and bins[0].low < a.density <= bins[0].high


def test_counting_needs_a_process_of_its_own() -> None:
    with pytest.raises(SuppleError, match="compiler is disabled"):
        counting.count(len, [])
    with pytest.raises(SuppleError, match="no system 'snake'"):
        counting.counts(["snake"])


def test_counted_numbers_count() -> None:
    x = counting.Counted(3.0)
    counting.Counted.tally = dict.fromkeys(("m", "a", "div"), 0)
    y = (2 * x + 1.0 - x) / -x * x
    assert isinstance(y, counting.Counted) and float(y) == -4.0
    assert counting.Counted.tally == {"m": 2, "a": 2, "div": 1}
