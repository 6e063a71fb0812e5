"""What a reproduced paper consists of: headings, text, tables, claims and figures, kept as JSON beside the figures.

The report over all papers is put together from these files, so that papers reproduced one by one come together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from supple.reading import read_text
from supple.writing import write_file

TICK, CROSS, ASIDE = "✓", "✗", "–"
FORMAT = 2  #: of the files; others are not read
NEAR = 1.25  #: a factor within which two measured numbers are alike: timings vary by that much from run to run

Said = Callable[[float], str]
Verdict = Literal["agrees", "better", "worse", "differs", "not counted"]
MARKS: dict[Verdict, str] = {
    "agrees": TICK,
    "better": f"{TICK} better",
    "worse": f"{CROSS} worse",
    "differs": f"{CROSS} differs",
    "not counted": ASIDE,
}


def three(x: float) -> str:
    """A number in three digits, or all before the point: 0.0123, 12.3, 1,234."""
    return f"{x:,.0f}" if abs(x) >= 100 else f"{x:.3g}"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper beside what we find. It is counted only if both are the same quantity."""

    where: str
    what: str
    theirs: str
    ours: str
    verdict: Verdict

    @classmethod
    def stated(cls, where: str, what: str, theirs: str, ours: str, holds: bool) -> Claim:
        """A statement that is true of ours or not."""
        return cls(where, what, theirs, ours, "agrees" if holds else "differs")

    @classmethod
    def same(cls, where: str, what: str, theirs: str, ours: object) -> Claim:
        """Printed exactly: counts, costs, lists."""
        return cls.stated(where, what, theirs, str(ours), theirs == str(ours))

    @classmethod
    def rounded(
        cls, where: str, what: str, theirs: str, ours: float, unit: float | None = None, suffix: str = ""
    ) -> Claim:
        """A number printed rounded to `unit`, which is its last decimal unless said."""
        decimals = len(theirs.partition(".")[2])
        unit = 10.0**-decimals if unit is None else unit
        holds = abs(ours - float(theirs)) <= 0.5 * unit
        return cls.stated(where, what, f"{theirs}{suffix}", f"{ours:.{decimals + 2}f}{suffix}", holds)

    @classmethod
    def most(cls, where: str, what: str, theirs: float, ours: float, said: Said = three) -> Claim:
        """A measured number of which more is better: how many times faster. said: how numbers are written."""
        return cls(where, what, said(theirs), said(ours), _compared(ours, theirs))

    @classmethod
    def least(cls, where: str, what: str, theirs: float, ours: float, said: Said = three) -> Claim:
        """A measured number of which less is better: an error, a size from which on something pays. Infinity: never."""
        return cls(where, what, said(theirs), said(ours), _compared(theirs, ours))

    @classmethod
    def aside(cls, where: str, what: str, theirs: str, ours: str, why: str) -> Claim:
        """Shown and not counted: theirs is another quantity, or the paper has none."""
        return cls(where, f"{what} (not counted: {why})", theirs, ours, "not counted")

    @property
    def counted(self) -> bool:
        return self.verdict != "not counted"

    @property
    def holds(self) -> bool:
        return self.verdict in ("agrees", "better")

    @property
    def mark(self) -> str:
        return MARKS[self.verdict]


def _compared(good: float, bad: float) -> Verdict:
    """good: what should be the larger of the two."""
    return "worse" if NEAR * good < bad else "better" if good > NEAR * bad else "agrees"


def tally(claims: Sequence[Claim]) -> str:
    """How many hold, and what of the others: a sentence or two."""
    counted = [c for c in claims if c.counted]
    how = Counter(c.verdict for c in claims)
    text = f"{sum(c.holds for c in counted)} of {len(counted)} hold"
    text += f", in {how['better']} of them ours is better" if how["better"] else ""
    not_so = [f"in {how['worse']} ours is worse"] if how["worse"] else []
    not_so += [f"{how['differs']} {'differs' if how['differs'] == 1 else 'differ'}"] if how["differs"] else []
    text += f"; {' and '.join(not_so)}" if not_so else ""
    return f"{text}. Not counted: {how['not counted']}." if how["not counted"] else f"{text}."


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
        return tally(self.claims)


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
