"""A row of a benchmark: what was measured, against what, how good it ought to be; and the table of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from supple.machine import machine
from supple.writing import write_file

ABOVE_AIM, ABOVE_FLOOR, BELOW_FLOOR = "aim met", "floor met", "missed"
_COLOUR = {ABOVE_AIM: "green", ABOVE_FLOOR: "yellow", BELOW_FLOOR: "red"}


@dataclass(frozen=True)
class Row:
    """One figure. With a peer theirs / ours is judged, larger being better; else ours, less being better.

    ours, theirs: in `unit`. floor: what must be reached; aim: what is wanted (if none is named, the floor).
    """

    what: str
    ours: float
    unit: str
    theirs: float | None = None
    peer: str | None = None
    floor: float | None = None
    aim: float | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.theirs is None else self.theirs / self.ours

    @property
    def mark(self) -> str | None:
        """How the figure stands to floor and aim; None where nothing was promised."""
        if self.floor is None:
            return None
        value, sign = (self.ratio, 1) if self.ratio is not None else (self.ours, -1)
        aim = self.floor if self.aim is None else self.aim
        if sign * value >= sign * aim:
            return ABOVE_AIM
        return ABOVE_FLOOR if sign * value >= sign * self.floor else BELOW_FLOOR


def show(console: Console, title: str, rows: Sequence[Row]) -> None:
    """A table that fits 80 columns; columns that would be empty are left out."""
    columns = {
        "": [row.what if row.peer is None else f"{row.what} / {row.peer}" for row in rows],
        "Supple": [_figure(row.ours, row.unit) for row in rows],
        "peer": ["" if row.theirs is None else _figure(row.theirs, row.unit) for row in rows],
        "ratio": ["" if row.ratio is None else f"{row.ratio:.2f} x" for row in rows],
        "floor": [_bound(row, row.floor) for row in rows],
        "aim": [_bound(row, row.aim) for row in rows],
        " ": ["" if row.mark is None else f"[{_COLOUR[row.mark]}]{row.mark}[/]" for row in rows],
    }
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    table = Table(title=title, title_justify="left", title_style="bold", box=None, header_style="dim")
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    for name in filled:
        table.add_column(name, justify="left" if name.strip() == "" else "right", no_wrap=True)
    for cells in zip(*filled.values()):
        table.add_row(*cells)
    console.print(table)
    console.print()


def _bound(row: Row, x: float | None) -> str:
    if x is None:
        return ""
    return f"{x:g} x" if row.theirs is not None else f"≤ {x:g} {row.unit}"


def _figure(x: float, unit: str) -> str:
    """A figure with its unit; seconds in whatever unit of time reads well."""
    if unit == "s":
        for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if x >= scale:
                return f"{x / scale:.3g} {name}"
        return f"{x * 1e9:.3g} ns"
    return f"{x:,.0f} {unit}" if x >= 1000 else f"{x:.3g} {unit}"


def save(file: Path, groups: dict[str, list[Row]]) -> None:
    """The figures as JSON, times in seconds."""
    rows: dict[str, Any] = {
        title: [asdict(row) | {"ratio": row.ratio, "mark": row.mark} for row in group]
        for title, group in groups.items()
    }
    write_file(file, json.dumps({"machine": machine(), "groups": rows}, indent=1) + "\n")
