"""What the machine code of a kernel depends on: our sources, the versions below them, and the settings."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

PACKAGE = Path(__file__).resolve().parent.parent
#: The layers that contain compiled code or that it may import; the layers above them cannot affect a kernel.
COMPILED_LAYERS = (
    "spatial", "model", "assembly", "exact", "rerooting", "integrating", "contact", "adaptive", "walking",
    "comparisons",
)  # fmt: skip

_IMPORT = re.compile(rf"^(?:from|import) ({PACKAGE.name}(?:\.\w+)*)(?: import \(?([^)\n]*))?", re.MULTILINE)


def modules_of(function: Callable[..., Any]) -> frozenset[str]:
    """The modules that define a function and the functions that it closes over."""
    function = getattr(function, "py_func", function)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    found = {function.__module__} if hasattr(function, "__module__") else set()
    return frozenset(found).union(*(modules_of(x) for x in cells if callable(x)))


_read = cache(Path.read_bytes)


@cache
def _file_of(module: str) -> Path | None:
    """The file of a module of ours, None if there is none: a name that is imported may be a module."""
    at = PACKAGE.joinpath(*module.split(".")[1:])
    file = at / "__init__.py" if at.is_dir() else at.with_suffix(".py")
    return file if at != PACKAGE and file.exists() else None


@cache
def _imported(file: Path) -> frozenset[str]:
    """The modules of ours that a file imports at the top level, and perhaps other names."""
    found: set[str] = set()
    for module, names in _IMPORT.findall(_read(file).decode()):
        found.update((module, *(f"{module}.{x}" for x in re.findall(r"\w+", names))))
    return frozenset(filter(_file_of, found))


@cache
def sources(modules: frozenset[str]) -> list[Path]:
    """Our files on which these modules depend: their own, and those of everything that they import at the top level;
    every file of COMPILED_LAYERS for a module that is not ours."""
    if any(name.partition(".")[0] != PACKAGE.name for name in modules):
        return sorted(p for layer in COMPILED_LAYERS for p in (PACKAGE / layer).rglob("*.py"))
    found: set[Path] = set()
    waiting = list(modules)
    while waiting:
        file = _file_of(waiting.pop())
        if file is not None and file not in found:
            found.add(file)
            waiting += _imported(file)
    return sorted(found)


@cache
def generation(modules: frozenset[str] = frozenset({""})) -> str:
    """A hash of everything that determines the machine code of these modules: our sources, the versions below them, the
    settings. By default, of everything that is compiled."""
    digest = hashlib.blake2b(digest_size=12)
    for path in sources(modules):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + _read(path))
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    skipped = ("NUMBA_CACHE", "NUMBA_NUM_THREADS", "NUMBA_DEBUG", "NUMBA_WARNINGS")
    settings = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_") and not k.startswith(skipped))
    digest.update(repr((versions, settings)).encode())
    return digest.hexdigest()
