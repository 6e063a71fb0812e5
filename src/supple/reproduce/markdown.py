"""Reproduced papers as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from supple.reproduce.parts import Claims, Heading, Paper, Picture, Table, Text


def alone(made: Paper) -> list[str]:
    """The lines of a paper in a file of its own."""
    return [f"# {made.title}", "", provenance(made), "", about_machine(made.machine), *contents(made, 2)]


def section(made: Paper) -> list[str]:
    """The lines of a paper among others; anchors are the same as in the page."""
    return [f'## <a id="{made.key}"></a>{made.title}', "", provenance(made), *contents(made, 3)]


def contents(made: Paper, level: int) -> list[str]:
    """level: of its headings."""
    lines: list[str] = []
    for anchor, part in made.sections():
        match part:
            case Heading(text):
                lines += ["", f'{"#" * level} <a id="{anchor}"></a>{text}']
            case Text(markdown):
                lines += ["", markdown]
            case Table(columns, rows, left):
                lines += ["", *table(columns, rows, left)]
            case Claims():
                shown = part.table()
                lines += ["", *table(shown.columns, shown.rows, shown.left), "", part.count()]
            case Picture(file, caption):
                lines += ["", f"![{caption}]({file})", "", f"*{caption}*"]
    return lines


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    marks = ["---" if i in left else "---:" for i in range(len(columns))]
    cells = [[x.replace("|", "\\|").replace("\n", " ") for x in row] for row in [columns, *rows]]
    return ["| " + " | ".join(row) + " |" for row in [cells[0], marks, *cells[1:]]]


def provenance(made: Paper) -> str:
    """When, how, in which form, and whether to its end."""
    form = "the quick form: fewer and smaller cases" if made.quick else "the full form"
    end = "" if made.finished else " **Stopped before its end: what follows is not all of it.**"
    return f"Made on {made.date} by `{made.command}`, {form}, in {duration(made.seconds)}.{end}"


def about_machine(machine: dict[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in machine.items()) + "."


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, as one would say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
