"""Every example runs as it stands, says what it shows in its first line, and is short. (The README: test_docs.py.)

The notebook shows what was saved with it. Examples run one after the other in a process that has nothing else: most of
the time of one for each would go into its imports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import notebook

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))


SHORT = 60  #: lines
NOTEBOOK = ROOT / "examples" / "17_notebook.ipynb"
SMALL = 200_000  #: bytes


def test_there_are_examples_numbered_without_gaps():
    assert [int(p.name[:2]) for p in EXAMPLES] == list(range(1, len(EXAMPLES) + 1)) != []


#: Runs each in a folder of its own; what it printed, or how it failed, is said by its path.
RUN = """
import contextlib, io, json, os, runpy, sys, traceback
said = {}
for path in sys.argv[1:]:
    os.makedirs(name := os.path.basename(path) + ".folder")
    out, wrong = io.StringIO(), ""
    with contextlib.chdir(name), contextlib.redirect_stdout(out):
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException:
            wrong = traceback.format_exc()
    said[path] = out.getvalue(), wrong
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """Of each example: what it printed, and how it failed if it did."""
    words = [sys.executable, "-W", "error", "-c", RUN, *map(str, EXAMPLES)]
    folder = tmp_path_factory.mktemp("examples")
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_and_says_something(path: Path, said: dict[str, tuple[str, str]]):
    printed, wrong = said[str(path)]
    assert not wrong, wrong
    assert printed.strip()


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
