"""Equations that the source and its documents cite exist in their papers, and those that kernels implement stand on a
line of code.

A citation is [SHORT (n)], [SHORT (n), (m)] or [SHORT (n) to (m)]. QS: Redon and Lin 2005, AD: Redon, Galoppo and Lin
2005, SF: Featherstone 2005, VW: Yamane and Nakamura, RR: Stepien 2012.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import supple

SOURCE = Path(supple.__file__).parent
PAGES = Path(__file__).parents[2] / "docs"

EQUATIONS = {"QS": 9, "AD": 9, "SF": 21, "VW": 53, "RR": 23}  #: the last number in each paper

#: What is implemented: beside code where a kernel follows the paper line by line, in the docstring of what does no more
#: than that elsewhere.
BESIDE_CODE = {"QS": {1, 2, 4, 5, 8, 9}, "VW": {40, 41, 47, 48, 53}}
ANYWHERE = {
    "AD": {7},
    "SF": {1, 5, 6, *range(8, 16), 17, 19, 20, 21},
    "VW": {15, 29, 39},
    "RR": {9, 10, 18, 21, 22, 23},
}

_CITATION = re.compile(r"\[(QS|AD|SF|VW|RR) ([^\]]*)\]")
_NUMBER = re.compile(r"\((\d+)\)(?: to \((\d+)\))?")


def cited(text: str) -> dict[str, set[int]]:
    """Numbers of equations, by paper."""
    found: dict[str, set[int]] = {name: set() for name in EQUATIONS}
    for paper, what in _CITATION.findall(text):
        for first, last in _NUMBER.findall(what):
            found[paper] |= set(range(int(first), int(last or first) + 1))
    return found


def comments_beside_code(text: str) -> str:
    """The comments that share a line with code."""
    beside = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
            beside.append(token.string)
    return "\n".join(beside)


def test_citations_are_read():
    """The reader itself, so that it finds what it is to check."""
    found = cited(
        "a [QS (2)], b [QS (4), (5)] c [SF (12) (13)] d [VW (15): b - f] e [RR (2) to (4)] f (7) [QS section 4]"
    )
    assert found == {"QS": {2, 4, 5}, "AD": set(), "SF": {12, 13}, "VW": {15}, "RR": {2, 3, 4}}
    assert comments_beside_code('"""[QS (1)]"""\n# [QS (2)]\nx = 1  # [QS (3)]\n') == "# [QS (3)]"


def test_every_equation_cited_is_in_its_paper():
    files = [*SOURCE.rglob("*.py"), *PAGES.rglob("*.md")]
    wrong = [
        f"{file.name}: {paper} ({n})"
        for file in files
        for paper, numbers in cited(file.read_text(encoding="utf-8")).items()
        for n in numbers
        if not 1 <= n <= EQUATIONS[paper]
    ]
    assert len(files) > 100 and not wrong


def test_equations_that_are_implemented_stand_on_their_lines():
    texts = [file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py")]
    for wanted, found in (
        (BESIDE_CODE, cited("\n".join(map(comments_beside_code, texts)))),
        (ANYWHERE, cited("\n".join(texts))),
    ):
        assert {paper: numbers & found[paper] for paper, numbers in wanted.items()} == wanted
