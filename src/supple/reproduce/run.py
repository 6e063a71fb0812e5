"""Reproducing papers one after another into a folder, and the report over all that is in it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from supple.reproduce import book


def run(names: Sequence[str], folder: Path, quick: bool, console: Console) -> None:
    """A paper that fails does not keep the others from being reproduced: its error is raised at the end. Whatever
    happens, Ctrl-C included, the report over what there is is written."""
    failed: list[Exception] = []
    try:
        for number, name in enumerate(names, 1):
            if len(names) > 1:
                console.print(f"\nPaper {number} of {len(names)}", highlight=False)
            try:
                import_module(f"supple.reproduce.{name}").run(folder, quick, console)
            except Exception as e:
                console.print(f"[bold red]{name} failed:[/] {escape(str(e))}", highlight=False)
                failed.append(e)
    finally:
        for path in book.write(folder):
            console.print(f"[green]report[/green] {escape(str(path))}", soft_wrap=True)
    if failed:
        raise failed[0]
