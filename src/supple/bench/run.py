"""Running benchmarks: each is a module with groups(console, quick), which measures and yields tables one by one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from rich.console import Console

from supple.bench.rows import Row, save, show
from supple.machine import machine
from supple.writing import check_target


def run(benches: Sequence[str], console: Console, quick: bool, json: Path | None) -> None:
    """Measure everything, show each group as it is ready, and write the figures to a file if one is named."""
    if json is not None:
        check_target(json)
    console.print("  ".join(f"{k} {v}" for k, v in machine().items()), highlight=False)
    console.print(
        "The least time of many rounds in which all take turns; results are compared first.\n",
        highlight=False,
    )
    done: dict[str, list[Row]] = {}
    for name in benches:
        module = import_module(f"supple.bench.{name.replace('-', '_')}")
        for title, rows in module.groups(console, quick):
            done[title] = rows
            show(console, title, rows)
    if json is not None:
        save(json, done)
        console.print(f"written to {json}", markup=False, highlight=False)
