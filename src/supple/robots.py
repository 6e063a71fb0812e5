"""Robots to try things on: files of the PyPI package example-robot-data, where it is installed."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

#: The robots that the demonstration and the benchmarks use, below the package's folder.
PANDA = "panda_description/urdf/panda.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"


def folder() -> Path | None:
    """Where the package keeps its robots, or None where it is not installed."""
    bases = [Path(sys.prefix)]
    with suppress(PackageNotFoundError):
        bases.insert(0, Path(str(distribution("example-robot-data").locate_file("cmeel.prefix"))))
    folders = (base / "share" / "example-robot-data" / "robots" for base in bases)
    return next((f for f in folders if f.is_dir()), None)


def find(robot: str) -> Path | None:
    """The file of a robot, or None where the package, or that robot in it, is not installed."""
    base = folder()
    file = None if base is None else base / robot
    return file if file is not None and file.is_file() else None
