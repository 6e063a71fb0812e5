"""What a reproduced paper consists of: headings, text, tables, claims and figures, kept as JSON beside the figures.

The report over all papers is put together from these files, so that papers reproduced one by one come together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from supple.reading import read_text
from supple.writing import write_file

TICK, CROSS = "✓", "✗"
FORMAT = 1  #: of the files; others are not read


def three(x: float) -> str:
    """A number in three digits, or all before the point: 0.0123, 12.3, 1,234."""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper beside what we find."""

    where: str
    what: str
    theirs: str
    ours: str
    holds: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "holds", bool(self.holds))  # NumPy's own truths cannot be written as JSON

    @classmethod
    def same(cls, where: str, what: str, theirs: str, ours: object) -> Claim:
        """Printed exactly: counts, costs, lists."""
        return cls(where, what, theirs, str(ours), theirs == str(ours))

    @classmethod
    def rounded(
        cls, where: str, what: str, theirs: str, ours: float, unit: float | None = None, suffix: str = ""
    ) -> Claim:
        """A number printed rounded to `unit`, which is its last decimal unless said."""
        decimals = len(theirs.partition(".")[2])
        unit = 10.0**-decimals if unit is None else unit
        holds = abs(ours - float(theirs)) <= 0.5 * unit
        return cls(where, what, f"{theirs}{suffix}", f"{ours:.{decimals + 2}f}{suffix}", holds)

    @property
    def mark(self) -> str:
        return TICK if self.holds else CROSS


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph, or a list of lines that begin with "- "; **bold** and `code` are marked as in Markdown."""

    markdown: str


@dataclass(frozen=True)
class Table:
    columns: list[str]
    rows: list[list[str]]
    left: list[int]  #: the columns that hold words; the others are set to the right


@dataclass(frozen=True)
class Claims:
    claims: list[Claim]

    def table(self) -> Table:
        """The paper's statements, ours beside theirs, ticked off."""
        rows = [[c.where, c.what, c.theirs, c.ours, c.mark] for c in self.claims]
        return Table(["where", "what", "theirs", "ours", ""], rows, [0, 1])

    def count(self) -> str:
        return f"{sum(c.holds for c in self.claims)} of {len(self.claims)} agree."


@dataclass(frozen=True)
class Picture:
    file: str
    caption: str


Part = Heading | Text | Table | Claims | Picture
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Heading, Text, Table, Claims, Picture)}


@dataclass(eq=False)
class Paper:
    """A paper reproduced: when, by which command, on which machine; and what was found."""

    key: str
    title: str
    date: str  #: when it was begun
    quick: bool
    machine: dict[str, str]
    seconds: float = 0.0
    finished: bool = False
    parts: list[Part] = field(default_factory=list)

    @property
    def command(self) -> str:
        return f"supple reproduce {self.key}{' --quick' if self.quick else ''}"

    def sections(self) -> Iterator[tuple[str, Part]]:
        """Every part, with the anchor of the heading above it: sf, sf-1, sf-2 and so on."""
        number = 0
        for part in self.parts:
            number += isinstance(part, Heading)
            yield f"{self.key}-{number}" if number else self.key, part

    def headings(self) -> list[tuple[str, str]]:
        """Anchors and texts."""
        return [(anchor, part.text) for anchor, part in self.sections() if isinstance(part, Heading)]

    def claims(self) -> list[tuple[str, Claim]]:
        """All claims, with the anchors of where they are."""
        return [(anchor, c) for anchor, part in self.sections() if isinstance(part, Claims) for c in part.claims]

    def save(self, folder: Path) -> None:
        about = {k: v for k, v in vars(self).items() if k != "parts"}
        parts = [{"kind": type(part).__name__, **asdict(part)} for part in self.parts]
        text = json.dumps({"format": FORMAT, **about, "parts": parts}, indent=1, ensure_ascii=False)
        write_file(folder / f"{self.key}.json", text + "\n")


def load_paper(folder: Path, key: str) -> Paper | None:
    """The paper as it was last reproduced into a folder; None where there is none, or nothing that we wrote."""
    try:
        about = json.loads(read_text(folder / f"{key}.json"))
        if about.pop("format") != FORMAT:
            return None
        return Paper(**{**about, "parts": [_part(**part) for part in about["parts"]]})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _part(kind: str, **values: Any) -> Part:
    if kind == "Claims":
        values = {"claims": [Claim(**c) for c in values["claims"]]}
    part: Part = _KINDS[kind](**values)
    return part
