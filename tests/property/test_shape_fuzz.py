"""A few hundred inputs of `python -m tests.fuzz shapes`: each runs to finite numbers or is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from supple.errors import SuppleError
from tests.fuzz import shapes
from tests.fuzz.target import source

pytest.importorskip("mujoco")


@pytest.mark.parametrize("seed", range(2))
def test_odd_shapes(tmp_path: Path, seed: int) -> None:
    outcomes = []
    for number in range(150):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            shapes.attempt(source("shapes", 1000 + seed, number), folder)
            outcomes.append("accepted")
        except SuppleError as e:
            assert str(e).strip(), "a message says what is wrong"
            outcomes.append("refused")
    assert outcomes.count("accepted") > 30 and outcomes.count("refused") > 30
