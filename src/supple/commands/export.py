"""`supple export`: a recording as CSV, NumPy or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from supple.errors import printable


def export(
    recording: Annotated[Path, typer.Argument(help="A recording, as `supple run --record` makes it.")],
    to: Annotated[str | None, typer.Option("--to", help="csv, npz or parquet; by the ending of --output, too.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; beside the recording by default.")
    ] = None,
) -> None:
    """Write a recording as CSV, NumPy or Parquet."""
    from supple.record.export import export as write

    if to is None and output is None:
        raise typer.BadParameter("say what to write: --to csv, npz or parquet, or a file with -o")
    for path in write(recording, output, to):  # type: ignore[arg-type]
        print(f"{printable(path)}: {path.stat().st_size / 1e6:.3g} MB")
