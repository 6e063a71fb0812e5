"""The demonstration: its tables, picture and page, and that the errors it shows are within those it certifies."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

import supple
from pictures import lacking
from supple import demo
from supple.demo import exact, picture, promises


def test_the_demonstration_keeps_its_promises(tmp_path: Path, monkeypatch):
    """Small bodies instead of large ones, with the same tables, picture and page."""
    for module, name, value in (
        (demo, "JOINTS", 400), (demo, "FILM", (1, 2)), (demo, "SECONDS", 0.2),
        (promises, "STEPS", 6), (exact, "TREE", 60), (exact, "ROUNDS", 1),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    screen = io.StringIO()
    demo.run(tmp_path, Console(file=screen, width=140))
    wanted = ("certified", "measured", "exact", "error at most 0.1%", "aba", "xdg-open")
    for said in wanted:
        assert said in screen.getvalue()
    assert not lacking(tmp_path, {"demo.png": [picture.ACTIVE, picture.EXACT, picture.STILL]})
    assert "<html" in (tmp_path / "demo.html").read_text(encoding="utf-8")[:2000]


def test_errors_in_the_demonstration_are_within_what_is_certified():
    scene = supple.scenes.molecule(400)
    compared, curve = promises.molecule(scene)
    rows = compared.rows[1:] + promises.moving(scene).rows[1:]
    pairs = [(row.measured, row.certified) for row in rows] + list(zip(curve.measured, curve.certified))
    for measured, certified in pairs:
        assert measured is not None and certified is not None and measured <= 1.01 * certified
    assert all(row.certified <= error for row, error in zip(compared.rows[1:], promises.ERRORS))


def test_tables_fit_a_usual_terminal():
    """80 columns, with the widest numbers there are."""
    rows = [
        promises.Row("exact", 50_000, 14.8e-3),
        promises.Row("error at most 0.000191%", 78, 63.3e-6, 1.91e-6, 1.23e-6),
    ]
    screen = io.StringIO()
    Console(file=screen, width=80).print(promises.table(promises.Comparison("A molecule", "molecule", "all", rows)))
    for said in ("certified", "measured", "steps/s", "14.8 ms", "63.3 µs", "234 x", "0.000191%", "0.000123%"):
        assert said in screen.getvalue()
