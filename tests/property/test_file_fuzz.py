"""A few hundred inputs of `python -m tests.fuzz files`: each is read or refused, and nothing else happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from supple.errors import SuppleError
from tests.fuzz import files
from tests.fuzz.target import source

pytest.importorskip("mujoco")
pytest.importorskip("trimesh")


@pytest.mark.parametrize("seed", range(4))
def test_changed_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setenv("SUPPLE_FILE_SECONDS", "2")
    outcomes = []
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            files.attempt(source("files", 1000 + seed, number), folder)
            outcomes.append("accepted")
        except SuppleError as e:
            assert str(e).strip(), "a message says what is wrong"
            outcomes.append("refused")
    assert outcomes.count("accepted") > 10 and outcomes.count("refused") > 10
