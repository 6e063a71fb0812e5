"""The citation that Python gives and the file CITATION.cff say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import supple
from supple.cite import PAPERS, TITLE

FILE = (Path(__file__).parents[2] / "CITATION.cff").read_text()


def test_the_file_says_the_same():
    assert f'title: "{TITLE}"' in FILE and f"version: {supple.__version__}" in FILE
    assert FILE.count("  - type: ") == len(PAPERS)
    for _, fields in PAPERS.values():
        title, rest = fields["title"], {k: v for k, v in fields.items() if k in ("journal", "booktitle", "doi", "year")}
        part = FILE[FILE.index(title) :].split("  - type: ")[0]
        assert all(value in part for value in rest.values())
        assert all(name.split(",")[0] in part for name in fields["author"].split(" and "))


def test_citation_gives_entries():
    assert supple.citation().count("@") == 1 + len(PAPERS)
    one = supple.citation("qs")
    assert "10.1145/1060244.1060264" in one and "Featherstone" not in one and supple.__version__ in one
    assert one.count("{") == one.count("}")
    with pytest.raises(supple.StateError, match="there are sf, vw"):
        supple.citation("xx")
