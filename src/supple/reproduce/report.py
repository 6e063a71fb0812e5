"""What a reproduction writes: tables, on the console and in Markdown; figures as PNG; progress meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich import box
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from supple.errors import SuppleError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
TICK, CROSS = "✓", "✗"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper beside what we find."""

    where: str
    what: str
    theirs: str
    ours: str
    holds: bool

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


class Report:
    """A paper's results: said on the console as they come, written to a file at the end."""

    def __init__(self, title: str, out: Path, console: Console | None = None) -> None:
        self.out, self.console = out, console or Console()
        self._lines: list[str] = [f"# {title}"]
        out.mkdir(parents=True, exist_ok=True)
        self.console.rule(title)

    def text(self, markdown: str) -> None:
        """A paragraph."""
        self._lines += ["", markdown]
        self.console.print(Markdown(markdown))

    def heading(self, text: str) -> None:
        self._lines += ["", f"## {text}"]
        self.console.print(f"\n[bold]{text}[/bold]")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], left: Sequence[int] = (0,)) -> None:
        """left: the columns that hold words; the others are set to the right."""
        rows = [[str(x) for x in row] for row in rows]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(columns):
            longest = max(len(word) for row in [columns, *rows] for word in row[i].split() or [""])
            table.add_column(name, justify="left" if i in left else "right", min_width=longest)
        for row in rows:
            table.add_row(*row)
        self.console.print(table)
        marks = ["---" if i in left else "---:" for i in range(len(columns))]
        self._lines += [
            "",
            *("| " + " | ".join(r).replace("\n", " ") + " |" for r in [list(columns), marks, *rows]),
        ]

    def claims(self, claims: Sequence[Claim]) -> None:
        """The paper's statements, ours beside theirs, ticked off."""
        self.table(
            ["where", "what", "theirs", "ours", ""],
            [(c.where, c.what, c.theirs, c.ours, TICK if c.holds else CROSS) for c in claims],
            left=(0, 1),
        )
        held = sum(c.holds for c in claims)
        self.text(f"{held} of {len(claims)} agree.")

    def figure(self, name: str, caption: str, figure: Figure) -> Path:
        """Save a figure beside the report."""
        path = self.out / name
        figure.savefig(path, dpi=150, facecolor="white")
        self._lines += ["", f"![{caption}]({name})", "", f"*{caption}*"]
        self.console.print(f"[green]figure[/green] {path}: {caption}", soft_wrap=True)
        return path

    def track(self, items: Sequence[T], doing: str) -> Iterator[T]:
        """The items, with a progress bar while they last."""
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            yield from progress.track(items, description=doing)

    def save(self, name: str) -> Path:
        path = self.out / name
        path.write_text("\n".join(self._lines) + "\n", encoding="utf-8")
        self.console.print(f"[green]report[/green] {path}", soft_wrap=True)
        return path


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches; refused in one sentence where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise SuppleError("figures need matplotlib: pip install 'supple[figures]'") from None
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
