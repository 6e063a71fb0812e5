"""Every example, and the code in the README, runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))


def run(program: str | Path, folder: Path) -> str:
    arguments = ["-c", program] if isinstance(program, str) else [str(program)]
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_examples_numbered_without_gaps():
    assert [int(p.name[:2]) for p in EXAMPLES] == list(range(1, len(EXAMPLES) + 1)) != []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_and_says_something(path: Path, tmp_path: Path):
    assert run(path, tmp_path).strip()
    assert len(path.read_text().splitlines()) < 60


def test_the_code_in_the_readme_runs(tmp_path: Path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert run(code, tmp_path).strip()
