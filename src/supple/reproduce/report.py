"""What a reproduction says as it goes: tables and claims on the console, progress meanwhile; and keeps for reports."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich import box
from rich import table as rich_table
from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape

from supple.bars import Bar
from supple.drawing import new_figure
from supple.machine import machine
from supple.reproduce import markdown
from supple.reproduce.parts import Claim, Claims, Heading, Paper, Picture, Table, Text, load_paper
from supple.writing import check_target, write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")


class Report:
    """A paper's results: `with Report(...) as report:`, said on the console as they come, written at the end.

    What there is when it is stopped is written, too, unless the folder has the paper whole from an earlier run: that is
    kept then. Figures wait in memory for the same reason.
    """

    def __init__(self, key: str, title: str, out: Path, quick: bool = False, console: Console | None = None) -> None:
        new_figure(1, 1)  # if figures cannot be drawn, say so before the work
        self.out, self.console = out, console or Console()
        date = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
        self.paper = Paper(key, title, date, quick, machine())
        self._begun, self._images = time.perf_counter(), dict[str, bytes]()
        out.mkdir(parents=True, exist_ok=True)
        for name in (f"{key}.md", f"{key}.json"):  # nor may it be found after the work that these cannot be written
            check_target(out / name)
        self.console.rule(escape(title))

    def __enter__(self) -> Report:
        return self

    def __exit__(self, kind: type[BaseException] | None, *what: object) -> None:
        self.paper.finished = kind is None
        self.paper.seconds = round(time.perf_counter() - self._begun, 1)
        if kind is None or (self.paper.parts and not self._whole_before()):
            self._save()

    def text(self, markdown: str) -> None:
        """A paragraph."""
        self.paper.parts.append(Text(markdown))
        self.console.print(Markdown(markdown))

    def heading(self, text: str) -> None:
        self.paper.parts.append(Heading(text))
        self.console.print(f"\n[bold]{escape(text)}[/bold]")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], left: Sequence[int] = (0,)) -> None:
        """left: the columns that hold words; the others are set to the right."""
        table = Table(list(columns), [[str(x) for x in row] for row in rows], list(left))
        self.paper.parts.append(table)
        self._show(table)

    def claims(self, claims: Sequence[Claim]) -> None:
        """The paper's statements, ours beside theirs, ticked off."""
        part = Claims(list(claims))
        self.paper.parts.append(part)
        self._show(part.table())
        self.console.print(part.count())

    def figure(self, name: str, caption: str, figure: Figure) -> Path:
        """A figure, which will be beside the report."""
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=150, facecolor="white")
        self._images[name] = file.getvalue()
        self.paper.parts.append(Picture(name, caption))
        path = self.out / name
        self.console.print(f"[green]figure[/green] {escape(str(path))}: {escape(caption)}", soft_wrap=True)
        return path

    def track(self, items: Sequence[T], doing: str) -> Iterator[T]:
        """The items, with a progress bar while they last."""
        with Bar(doing, console=self.console) as bar:
            for done, item in enumerate(items):
                bar.show(done, len(items))
                yield item

    def _show(self, table: Table) -> None:
        shown = rich_table.Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(table.columns):
            longest = max(len(word) for row in [table.columns, *table.rows] for word in row[i].split() or [""])
            shown.add_column(escape(name), justify="left" if i in table.left else "right", min_width=longest)
        for row in table.rows:
            shown.add_row(*map(escape, row))
        self.console.print(shown)

    def _whole_before(self) -> bool:
        before = load_paper(self.out, self.paper.key)
        return before is not None and before.finished

    def _save(self) -> None:
        for name, image in self._images.items():
            write_file(self.out / name, image)
        self.paper.save(self.out)
        path = self.out / f"{self.paper.key}.md"
        write_file(path, "\n".join(markdown.alone(self.paper)) + "\n")
        self.console.print(f"[green]written[/green] {escape(str(path))}", soft_wrap=True)
