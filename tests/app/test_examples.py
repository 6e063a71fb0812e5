"""Every example runs as it stands, says what it shows in its first line, and is short. (The README: test_docs.py.)

The notebook shows what was saved with it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import notebook

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))


SHORT = 60  #: lines
NOTEBOOK = ROOT / "examples" / "14_notebook.ipynb"
SMALL = 200_000  #: bytes


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


def test_the_notebook_shows_what_it_showed():
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    cells = notebook.code_cells(NOTEBOOK)
    assert NOTEBOOK.stat().st_size < SMALL and [c["execution_count"] for c in cells] == list(range(1, len(cells) + 1))
    kinds: set[str] = set()
    for cell, now in zip(cells, notebook.run(cells)):
        before = notebook.shown(cell)
        assert now.keys() == before.keys(), cell["source"]
        table = "dataframe" in before.get("text/html", "")  # how it is set is pandas' own
        for kind in now.keys() - ({"image/png", "text/html"} if table else {"image/png"}):
            assert now[kind].split() == before[kind].split()
        kinds |= now.keys()
    assert kinds == {"stream", "text/plain", "text/html", "image/png"}
