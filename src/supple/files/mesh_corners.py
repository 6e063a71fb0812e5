"""The corners of a mesh file, for its convex hull: STL, in text or binary, OBJ and Collada. Nothing else is read."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from supple.errors import ParseError
from supple.files.collada import corners_of_collada
from supple.files.xml import NUMBER, short
from supple.model.shapes import corners
from supple.reading import read_file

Floats = NDArray[np.float64]

KINDS = {".stl": "STL", ".obj": "OBJ", ".dae": "Collada"}
_HEAD, _FACET = 84, 50  #: bytes of a binary STL
_WHOLE = re.compile(rb"-?\d{1,18}")
_MARK = b"\xef\xbb\xbf"  #: that some programs begin UTF-8 with


def hull_of(path: str | Path) -> Floats:
    """(k, 3) the corners of its convex hull; kept for a file that is read again. Raises ParseError, ModelError."""
    stat = Path(path).stat()
    return _hull(str(path), stat.st_mtime_ns, stat.st_size)


@lru_cache(256)
def _hull(path: str, changed: int, size: int) -> Floats:
    return corners("its convex hull", corners_in(path))


def corners_in(path: str | Path) -> Floats:
    """(k, 3) the corners of its triangles; of an OBJ without faces, all of its vertices."""
    kind = Path(path).suffix.lower()
    found = corners_of_collada(path) if kind == ".dae" else _corners(path, kind)
    if not len(found):
        raise ParseError(f"the {KINDS[kind]} file has no corners", str(path))
    wrong = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(wrong):
        raise ParseError(f"corner {wrong[0] + 1} of {len(found)} is not finite", str(path))
    return found


def _corners(path: str | Path, kind: str) -> Floats:
    data = read_file(path)
    if kind == ".obj":
        return _of_obj(data, str(path))
    if _is_binary(data):
        facets = np.frombuffer(data, np.uint8, offset=_HEAD)[: _FACET * _count(data)].reshape(-1, _FACET)
        with np.errstate(invalid="ignore"):  # of NaNs that signal; whoever asks refuses them
            return facets[:, 12:48].copy().view("<f4").reshape(-1, 3).astype(np.float64)
    found, ending, line = array("d"), b"", 0
    for number, text in _lines(data):
        words = text.split()
        if words:
            ending, line = b"".join(words[:2]).lower(), number
            if words[0].lower() == b"vertex":
                found.extend(_point(words, number, str(path)))
    if found and not ending.startswith(b"endsolid"):  # the hull of what is there would be another one
        raise ParseError("the file ends without `endsolid`: it is cut off", str(path), line)
    if not found and len(data) >= _HEAD and _count(data) > 0:
        there = f"as a binary STL of {_count(data):,} triangles it is cut off after {(len(data) - _HEAD) // _FACET:,}"
        raise ParseError(f"no corners: as text it has none, and {there}", str(path))
    return np.array(found).reshape(-1, 3)


def _of_obj(data: bytes, file: str) -> Floats:
    """The vertices that faces refer to: others belong to lines, or to nothing."""
    found, used = array("d"), array("q")
    for line, words in _statements(data.removeprefix(_MARK)):
        if words[:1] == [b"v"]:
            found.extend(_point(words, line, file))
        elif words[:1] == [b"f"]:
            used.extend(_vertex(word, len(found) // 3, line, file) for word in words[1:])
    points, corners = np.array(found).reshape(-1, 3), np.unique(np.array(used, dtype=np.int64))
    if len(corners) and not 0 <= corners[0] <= corners[-1] < len(points):
        wrong = corners[0] if corners[0] < 0 else corners[-1]
        raise ParseError(f"a face has vertex {wrong + 1}, and there are {len(points)}, from 1", file)
    return points[corners] if len(corners) else points


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines, however they end, and their numbers."""
    return enumerate(BytesIO(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")), 1)


def _statements(data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of an OBJ as words, without comments. A line that ends in a backslash goes on in the next one."""
    before: list[bytes] = []
    for number, line in _lines(data):
        text = line.partition(b"#")[0].rstrip()
        words = [*before, *text.removesuffix(b"\\").split()]
        before = words if text.endswith(b"\\") else []
        if not before:
            yield number, words


def _point(words: Sequence[bytes], line: int, file: str) -> tuple[float, ...]:
    """The coordinates of a vertex, which may have more numbers after them."""
    numbers = [word.decode("latin-1") for word in words[1:4]]
    if len(numbers) < 3 or not all(map(NUMBER.fullmatch, numbers)):
        raise ParseError(f"a corner of the mesh is not three numbers: {short(' '.join(numbers))}", file, line)
    return tuple(map(float, numbers))


def _vertex(word: bytes, count: int, line: int, file: str) -> int:
    """Of `vertex/texture/normal` in a face the vertex, from 0 on. Given from 1 on, or from -1 back."""
    given = word.partition(b"/")[0]
    if not _WHOLE.fullmatch(given):
        raise ParseError(f"a face has {short(word.decode('latin-1'))} in place of a vertex", file, line)
    number = int(given)
    return count + number if number < 0 else number - 1


def _count(data: bytes) -> int:
    return int.from_bytes(data[80:84], "little")


def _is_binary(data: bytes) -> bool:
    """Whether the size is what a binary STL says: some of them begin with `solid`, as those in text do."""
    return len(data) >= _HEAD and len(data) >= _HEAD + _FACET * _count(data) and _count(data) > 0
