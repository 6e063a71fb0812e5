"""Robots to try things on: files of the PyPI package example-robot-data, where it is installed."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

#: The robots that the demonstration and the benchmarks use, below the package's folder.
PANDA = "panda_description/urdf/panda.urdf"
TALOS = "talos_data/robots/talos_reduced.urdf"


def find(robot: str) -> Path | None:
    """The file of a robot, or None where the package, or that robot in it, is not installed."""
    bases = [Path(sys.prefix)]
    with suppress(PackageNotFoundError):
        bases.insert(0, Path(str(distribution("example-robot-data").locate_file("cmeel.prefix"))))
    files = (base / "share" / "example-robot-data" / "robots" / robot for base in bases)
    return next((file for file in files if file.is_file()), None)
