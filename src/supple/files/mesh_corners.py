"""The corners of a mesh file, for its convex hull: STL, in text or binary, OBJ and Collada. Nothing else is read."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from supple.errors import ParseError
from supple.files.collada import corners_of_collada
from supple.model.shapes import corners
from supple.reading import read_file

Floats = NDArray[np.float64]

KINDS = {".stl": "STL", ".obj": "OBJ", ".dae": "Collada"}
_HEAD, _FACET = 84, 50  #: bytes of a binary STL
_VERTEX = {".stl": rb"^\s*vertex\s+(\S+)\s+(\S+)\s+(\S+)", ".obj": rb"^v\s+(\S+)\s+(\S+)\s+(\S+)"}


def hull_of(path: str | Path) -> Floats:
    """(k, 3) the corners of its convex hull; kept for a file that is read again. Raises ParseError, ModelError."""
    stat = Path(path).stat()
    return _hull(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(256)
def _hull(path: str, changed: int, size: int) -> Floats:
    return corners("its convex hull", corners_in(path))


def corners_in(path: str | Path) -> Floats:
    """(k, 3) the corners of its triangles."""
    kind = Path(path).suffix.lower()
    found = corners_of_collada(path) if kind == ".dae" else _corners(path, kind)
    if not len(found) or not np.isfinite(found).all():
        raise ParseError(f"no {KINDS[kind]} file with corners, all of them finite", str(path))
    return found


def _corners(path: str | Path, kind: str) -> Floats:
    data = read_file(path)
    if kind == ".stl" and _is_binary(data):
        facets = np.frombuffer(data, np.uint8, offset=_HEAD)[: _FACET * _count(data)].reshape(-1, _FACET)
        with np.errstate(invalid="ignore"):  # of NaNs that signal; whoever asks refuses them
            return facets[:, 12:48].copy().view("<f4").reshape(-1, 3).astype(np.float64)
    try:
        rows = [tuple(map(float, row)) for row in re.findall(_VERTEX[kind], data, re.MULTILINE)]
    except ValueError:
        raise ParseError("a corner of the mesh is not three numbers", str(path)) from None
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _count(data: bytes) -> int:
    return int.from_bytes(data[80:84], "little")


def _is_binary(data: bytes) -> bool:
    """Whether the size is what a binary STL says: some of them begin with `solid`, as those in text do."""
    return len(data) >= _HEAD and len(data) >= _HEAD + _FACET * _count(data) and _count(data) > 0
