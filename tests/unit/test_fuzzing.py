"""The command that fuzzes: what it leaves behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.fuzz.__main__ import fuzz


def test_killed_processes_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that tries inputs is killed at the end, whatever it is doing."""
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    findings = tmp_path / "findings"
    findings.mkdir()
    counts = fuzz("journals", 0, 0.0, findings)
    assert sum(counts.values()) >= 1 and not list(findings.iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["findings"]
