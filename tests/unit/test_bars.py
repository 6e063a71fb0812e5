"""Progress: lines where there is no terminal, and none too soon or too often."""

from __future__ import annotations

import io

import pytest

import supple
from supple import bars
from supple.bars import Bar
from supple.request import Request
from supple.simulating.progress import Progress


def test_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(bars.clock, "monotonic", lambda: now[0])
    with Bar("run.gif") as bar:
        for second in range(31):
            now[0] = float(second)
            bar.show(second, 30)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert [line.split(",")[0] for line in lines] == ["run.gif: 2 of 30", "run.gif: 12 of 30", "run.gif: 22 of 30"]
    assert "40 %" in lines[1] and "18 s left" in lines[1]


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("run.gif") as bar:
        bar.show(1, 2, "half of it")
    assert capsys.readouterr() == ("", "")


def test_terminals_get_a_bar() -> None:
    from rich.console import Console

    screen = io.StringIO()
    with Bar("run [1].gif", console=Console(file=screen, force_terminal=True)) as bar:
        bar.show(1, 2)
        bar._bar.refresh()
    assert "run [1].gif" in screen.getvalue() and "1 of 2" in screen.getvalue()


def test_runs_say_how_far_they_are(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "FIRST", 0.0)
    model = supple.trees.chain(2)
    supple.simulate(model, dt=1e-3, duration=0.1, progress=True)
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("run: 0 of 0.1 s")
    supple.simulate(model, dt=1e-3, duration=0.1)
    assert capsys.readouterr().err == ""


def test_runs_without_an_end_say_the_time_alone() -> None:
    run = Request(scene="pendulum").simulation(endless=True)
    sample = next(iter(run.samples()))
    assert Progress(run, False).line(sample)[0] == "0 s"
