"""How commands speak: without breaking lines, and without taking what is in a file for markup or obeying it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from supple.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

    from supple.model.report import Remark, Report

SHOWN = 12  #: kinds of remarks, and frames, that are shown unless all are asked for


def new_console() -> Console:
    from rich.console import Console

    if hasattr(sys.stdout, "reconfigure"):  # what an encoding lacks is spelled out
        sys.stdout.reconfigure(errors="backslashreplace")
    return Console()


def plain(text: Any) -> str:
    """Text of which nothing is markup, nor an order to the terminal."""
    from rich.markup import escape

    return escape(printable(text))


def say(console: Console, text: str) -> None:
    """Print without breaking lines, so that paths and remarks can be searched for."""
    console.print(text, highlight=False, soft_wrap=True)


def show_remarks(
    console: Console, title: str, report: Report, everything: bool = False, leave_out: Sequence[str] = ()
) -> None:
    """Every remark; or one of each kind, with how many there are."""
    remarks = [r for r in report if r.subject not in leave_out]
    if not remarks:
        return
    say(console, f"\n[bold]{title}:[/]")
    kinds: dict[str, list[Remark]] = {}
    for remark in remarks:
        kinds.setdefault(remark.subject, []).append(remark)
    for kind in kinds.values():
        for remark in kind if everything else kind[:1]:
            more = f"  ({len(kind) - 1} more like it)" if len(kind) > 1 and not everything else ""
            say(console, f"  {plain(remark)}{more}")
    if not everything and len(remarks) > len(kinds):
        say(console, f"  {len(remarks)} remarks in all: `supple inspect --all` shows each.")
