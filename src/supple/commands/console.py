"""How commands speak: without breaking lines, and without taking what is in a file for markup or obeying it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from supple.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

    from supple.model.report import Remark

SHOWN = 12  #: frames that are shown unless all are asked for


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


def show_remarks(console: Console, title: str, remarks: Sequence[Remark], everything: bool = False) -> None:
    """Remarks in groups, one a line; with the names of all elements if everything is asked for."""
    from supple.files.lost import groups

    if remarks:
        say(console, f"\n[bold]{title}:[/]")
        found = groups(remarks)
        for group in found:
            say(console, f"  {plain(group.shown(everything))}")
        if not everything and any(group.is_cut for group in found):
            say(console, "  `supple inspect --all` names each.")
