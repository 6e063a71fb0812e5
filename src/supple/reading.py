"""Reading a file that somebody else gives: a regular file, of bounded size, or a ParseError that says why not.

A path may lead to a pipe nobody writes to, a device without an end, a socket or a folder; these are refused before they
are opened, and what was opened is looked at once more. Nothing here waits for anybody.
"""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

from supple.errors import ParseError

MEGABYTE = 2**20
LARGEST_FILE = 256 * MEGABYTE  #: bytes, of a robot, a motion or a mesh

_FLAGS = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_BLOCK = 8 * MEGABYTE


def read_file(path: str | Path, largest: int = LARGEST_FILE) -> bytes:
    """The content of a regular file of at most `largest` bytes."""
    return _read(path, largest, largest)


def read_beginning(path: str | Path, count: int) -> bytes:
    """The first bytes of a regular file, which may be larger."""
    return _read(path, count, None)


def check_file(path: str | Path, largest: int | None = None) -> None:
    """Refuse what is not a regular file, of at most `largest` bytes if that is given. It is not opened."""
    try:
        _check(Path(path).stat(), str(path), largest)
    except (OSError, ValueError) as e:
        raise _unreadable(e, path) from None


def read_text(path: str | Path, largest: int = LARGEST_FILE) -> str:
    """The text of a regular file in UTF-8, with or without a byte order mark."""
    data = read_file(path, largest).removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise ParseError(f"not UTF-8 text: byte {data[e.start]:#04x}; save it as UTF-8", str(path), line) from None


def _read(path: str | Path, count: int, largest: int | None) -> bytes:
    file = str(path)
    try:
        _check(Path(path).stat(), file, largest)  # to open some devices is to do something
        handle = os.open(path, _FLAGS)
        try:
            _check(os.fstat(handle), file, largest)
            data = _bytes(handle, count if largest is None else count + 1)
        finally:
            os.close(handle)
    except (OSError, ValueError, MemoryError) as e:
        raise _unreadable(e, path) from None
    if largest is not None and len(data) > largest:  # it has grown, or never told its size
        raise _too_large(file, largest)
    return data


def _bytes(handle: int, count: int) -> bytes:
    parts: list[bytes] = []
    while count > 0 and (part := os.read(handle, min(count, _BLOCK))):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _check(status: os.stat_result, file: str, largest: int | None) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ParseError("this is a folder; give the file inside it", file)
    what = instead_of_file(status.st_mode)
    if what is not None:
        raise ParseError(f"this is not a regular file but {what}; copy its content into a file", file)
    if largest is not None and status.st_size > largest:
        raise _too_large(file, largest)


def instead_of_file(mode: int) -> str | None:
    """What there is instead of a regular file; None if it is one. mode: as stat tells it, or lstat."""
    if stat.S_ISREG(mode):
        return None
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _too_large(file: str, largest: int) -> ParseError:
    return ParseError(f"the file is larger than {largest / MEGABYTE:g} MB, the most that is read", file)


def _unreadable(e: Exception, path: str | Path) -> ParseError:
    if isinstance(e, ParseError):
        return e
    if isinstance(e, FileNotFoundError):
        return ParseError("there is no such file", str(path))
    return ParseError(f"cannot be read: {getattr(e, 'strerror', None) or e}", str(path))  # ValueError: null characters
