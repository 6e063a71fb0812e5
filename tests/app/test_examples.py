"""Every example runs as it stands, says what it shows in its first line, and is short. (The README: test_docs.py.)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))


SHORT = 60  #: lines


def test_there_are_examples_numbered_without_gaps():
    assert [int(p.name[:2]) for p in EXAMPLES] == list(range(1, len(EXAMPLES) + 1)) != []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_and_says_something(path: Path, tmp_path: Path):
    words = [sys.executable, "-W", "error", str(path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short_and_begins_with_what_it_shows(path: Path):
    lines = path.read_text().splitlines()
    assert len(lines) < SHORT
    assert lines[0].startswith('"""') and lines[0].endswith('."""')
