"""What a loader read but the model does not use, changed, or found unusual: nothing is dropped silently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from supple.errors import printable, short
from supple.once import made_once


@dataclass(frozen=True)
class Remark:
    """One remark. subject: the kind of thing, for counting ("transmission"); line: in the file, where known."""

    subject: str
    message: str
    line: int | None = None

    def __repr__(self) -> str:
        return f"<Remark on {short(self.subject)}: {short(self)}>"

    def __str__(self) -> str:
        return printable(f"{'' if self.line is None else f'line {self.line}: '}{self.message}")


class Units(NamedTuple):
    """The units in which a model is described, for whoever prints its numbers."""

    mass: str = "kg"
    length: str = "m"
    energy: str = "J"

    def __repr__(self) -> str:
        return f"<Units: {', '.join(map(short, self))}>"


UNITS = "units"  #: the subject of a remark that has others than these, separated by semicolons


@made_once("source")
@dataclass(frozen=True)
class Report:
    """The remarks made while a model was loaded, in the order of the file."""

    source: str | None = None
    remarks: tuple[Remark, ...] = ()

    def __iter__(self) -> Iterator[Remark]:
        return iter(self.remarks)

    def __len__(self) -> int:
        return len(self.remarks)

    def __repr__(self) -> str:
        what = f"{len(self)} remarks ({short(self.summary())})" if self.remarks else self.summary()
        return f"<Report of {short(self.source or 'model')}: {what}>"

    def about(self, subject: str) -> tuple[Remark, ...]:
        return tuple(r for r in self.remarks if r.subject == subject)

    @property
    def units(self) -> Units:
        """SI units, unless a remark names others: a benchmark may be in daltons and angstroms."""
        said = self.about(UNITS)
        words = [short(word.strip()) for word in said[0].message.split(";")] if said else []
        return Units(*words) if len(words) == len(Units._fields) else Units()

    def summary(self) -> str:
        """One line: how many remarks, and on what."""
        if not self.remarks:
            return "everything in the file is used"
        counts = Counter(r.subject for r in self.remarks)
        return printable(", ".join(f"{n} x {subject}" for subject, n in counts.most_common()))

    def __str__(self) -> str:
        head = f"{printable(self.source or 'model')}: {self.summary()}"
        return "\n".join([head, *(f"  {r}" for r in self.remarks)])
