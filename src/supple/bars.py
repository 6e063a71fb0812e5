"""How far something long has come: a bar in a terminal, and where there is none, a line now and then."""

from __future__ import annotations

import sys
import time as clock
from typing import Any

from supple.errors import printable

FIRST, EVERY = 2.0, 10.0  #: seconds before the first line, and between two


class Bar:
    """`with Bar("run.gif") as bar: bar.show(1, 10)`. Lines go to stderr, where they are in nobody's way."""

    def __init__(self, what: str, shown: bool = True, console: Any = None) -> None:
        self._what, self._shown, self._console = printable(what), shown, console
        self._bar: Any = None
        self._begun = self._said = clock.monotonic()
        self._first: float | None = None  #: where it began, for how long it takes

    def __enter__(self) -> Bar:
        if self._shown:
            from rich.console import Console
            from rich.markup import escape
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            console = self._console or Console()
            self._begun = self._said = clock.monotonic()
            if console.is_terminal:
                columns = (
                    TextColumn(escape(self._what)),
                    BarColumn(bar_width=24),
                    TextColumn("{task.fields[now]}", markup=False),
                    TimeRemainingColumn(compact=True),
                    TextColumn("{task.fields[more]}", markup=False),
                )
                self._bar = Progress(*columns, console=console, transient=True)
                self._task = self._bar.add_task("", total=None, now="", more="")
                self._bar.start()
        return self

    def __exit__(self, *what: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def wanted(self) -> bool:
        """Whether there is anything to be said now: what costs something to say may be left out otherwise."""
        return self._bar is not None or (self._shown and clock.monotonic() >= self._due)

    def show(self, done: float, of: float | None, now: str = "", more: str = "") -> None:
        """done, of: how far it is; of is None where there is no end. now, more: words beside the bar."""
        self._first = done if self._first is None else self._first
        if self._bar is not None:
            self._bar.update(self._task, total=of, completed=done, now=now or _count(done, of), more=more)
        elif self.wanted:
            self._said = clock.monotonic()
            words = [now or _count(done, of), *([] if of is None else self._share(done, of)), more]
            print(f"{self._what}: {', '.join(w for w in words if w)}", file=sys.stderr, flush=True)

    @property
    def _due(self) -> float:
        return self._begun + FIRST if self._said == self._begun else self._said + EVERY

    def _share(self, done: float, of: float) -> list[str]:
        out = [f"{100.0 * done / of:.0f} %"] if of > 0 else []
        came = done - (self._first or 0.0)
        if came > 0:
            out.append(f"{(clock.monotonic() - self._begun) * (of - done) / came:.0f} s left")
        return out


def _count(done: float, of: float | None) -> str:
    return f"{done:g}" if of is None else f"{done:g} of {of:g}"
