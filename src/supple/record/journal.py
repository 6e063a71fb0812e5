"""A file that changes all at once or not at all.

HDF5 overwrites its own metadata in many small writes; a process killed among them leaves a file that nothing can read.
Here HDF5 writes to a `Journaled` file instead, which h5py takes in place of a path:

- bytes beyond what was there at the last commit go to the file at once: nothing refers to them yet;
- pages that were there are changed in memory only;
- `commit` writes the changed pages to a journal beside the file (under another name, then renamed, so that a journal
  that is there is whole), only then to the file, and removes the journal.

So at any instant the file, together with its journal if there is one, is as it was at the last commit. Opening it for
reading lays the journal over it; opening it for writing finishes the commit first. A new file has another name until
its first commit. A lock keeps a second writer away.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from supple.errors import RecordingError

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

PAGE = 4096
MAGIC = b"supple journal 1\n"


class Journaled:
    """A binary file, as h5py wants one: `commit` makes all changes since the last one permanent, together."""

    def __init__(self, path: Path, mode: str) -> None:
        """mode: "r", "r+" (both of a file that is there), or "w" (a new one, or one in place of an old one)."""
        self.path, self.writable = path, mode != "r"
        self._pages: dict[int, bytearray] = {}
        self._position = 0
        self._failed: OSError | None = None
        self._new = mode == "w"
        if self._new and in_use(path):
            raise _being_written(path)
        self._at = _beside(path, ".new") if self._new else path
        how = os.O_RDONLY if mode == "r" else os.O_RDWR | (os.O_CREAT if self._new else 0)
        self._file = os.open(self._at, how | _BINARY, 0o666)
        try:
            if self.writable and not _lock(self._file):
                raise _being_written(path)
            if self._new:
                os.ftruncate(self._file, 0)
            elif self.writable:
                recover(path)
            else:
                self._pages = dict(_read_journal(path))
        except BaseException:
            os.close(self._file)
            raise
        self.size = self._committed = os.fstat(self._file).st_size
        self._physical = self.size

    # --- what h5py asks of a file -------------------------------------------------------------------------------

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self.size)[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        buffer = bytearray(max(0, self.size - self._position) if size < 0 else size)
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        begin = self._position
        n = max(0, min(len(view), self.size - begin))
        got = b"" if n == 0 else _read_at(self._file, n, begin)
        view[: len(got)] = got
        view[len(got) : n] = bytes(n - len(got))  # beyond what was ever written
        for page, start, stop in _pages_of(begin, begin + n):
            if page in self._pages:
                view[start - begin : stop - begin] = self._pages[page][start - page * PAGE : stop - page * PAGE]
        self._position = begin + n
        return n

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        begin, end = self._position, self._position + len(view)
        old = -(-self._committed // PAGE) * PAGE  # pages that the last commit left
        for page, start, stop in _pages_of(begin, min(end, old)):
            if page not in self._pages:
                self._pages[page] = bytearray(_read_at(self._file, PAGE, page * PAGE).ljust(PAGE, b"\0"))
            self._pages[page][start - page * PAGE : stop - page * PAGE] = view[start - begin : stop - begin]
        if end > old:
            self._put(view[max(0, old - begin) :], max(begin, old))
        self.size, self._position = max(self.size, end), end
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        self.size = self._position if size is None else size
        return self.size

    def flush(self) -> None:
        """Nothing: what is not committed is not to be relied on."""

    # --- commits --------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Make everything written so far permanent. If that fails (a full disk), the file stays as it was."""
        if self._failed is not None:
            raise self._failed
        if self._physical < self.size:
            os.ftruncate(self._file, self.size)
            self._physical = self.size
        os.fsync(self._file)
        if self._new:
            self._at.replace(self.path)
            _sync_folder(self.path)
            self._at, self._new = self.path, False
        elif self._pages:
            _write_journal(self.path, self._pages)
            _apply(self._file, self._pages)
            _journal(self.path).unlink()
        self._pages = {}
        self._committed = self.size

    def close(self) -> None:
        """What was not committed is lost."""
        if self._file >= 0:
            if self._new:
                with suppress(OSError):
                    self._at.unlink()
            os.close(self._file)
            self._file = -1

    def _put(self, data: memoryview, offset: int) -> None:
        """To the file itself. HDF5 does not take a failure well: it is kept for `commit`."""
        if self._failed is not None:
            return
        try:
            done = 0
            while done < len(data):
                done += _write_at(self._file, data[done:], offset + done)
            self._physical = max(self._physical, offset + done)
        except OSError as e:
            self._failed = OSError(e.errno, e.strerror, str(self.path))


_BINARY = getattr(os, "O_BINARY", 0)


def recover(path: Path) -> None:
    """Finish a commit that was interrupted. The caller has the lock."""
    pages = dict(_read_journal(path))
    if pages:
        file = os.open(path, os.O_RDWR | _BINARY)
        try:
            _apply(file, pages)
        finally:
            os.close(file)
    _journal(path).unlink(missing_ok=True)


def in_use(path: Path) -> bool:
    """Whether a process is writing it."""
    try:
        file = os.open(path, os.O_RDONLY | _BINARY)
    except OSError:
        return False
    try:
        return not _lock(file)
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Whether this process can have a file for itself; it then has, until it is closed."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _being_written(path: Path) -> RecordingError:
    return RecordingError(f"{path} is being written by another run; wait for it, or give another name")


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _journal(path: Path) -> Path:
    return _beside(path, ".journal")


def _write_journal(path: Path, pages: dict[int, bytearray]) -> None:
    at, numbers = _beside(path, ".journal.new"), sorted(pages)
    body = struct.pack(f"<q{len(numbers)}q", len(numbers), *numbers) + b"".join(bytes(pages[n]) for n in numbers)
    try:
        file = os.open(at, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o666)
        try:
            data = memoryview(MAGIC + hashlib.blake2b(body).digest() + body)
            done = 0
            while done < len(data):
                done += os.write(file, data[done:])
            os.fsync(file)
        finally:
            os.close(file)
    except OSError:
        with suppress(OSError):
            at.unlink()
        raise
    at.replace(_journal(path))
    _sync_folder(path)


def _read_journal(path: Path) -> Iterator[tuple[int, bytearray]]:
    """The pages of a journal that is whole; none where there is none, or it is damaged."""
    try:
        data = _journal(path).read_bytes()
    except FileNotFoundError:
        return
    head = len(MAGIC) + hashlib.blake2b().digest_size
    body = data[head:]
    if data[: len(MAGIC)] != MAGIC or hashlib.blake2b(body).digest() != data[len(MAGIC) : head]:
        return
    (count,) = struct.unpack_from("<q", body)
    for i, number in enumerate(struct.unpack_from(f"<{count}q", body, 8)):
        start = 8 + 8 * count + i * PAGE
        yield number, bytearray(body[start : start + PAGE])


def _apply(file: int, pages: dict[int, bytearray]) -> None:
    for number, page in pages.items():
        done = 0
        while done < PAGE:
            done += _write_at(file, page[done:], number * PAGE + done)
    os.fsync(file)


def _read_at(file: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, size, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)


def _write_at(file: int, data: Any, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, data, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.write(file, data)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # not every system lets folders be opened
        file = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _pages_of(begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The pages that bytes begin ... end are in, and which of these bytes each has."""
    for page in range(begin // PAGE, -(-end // PAGE)):
        yield page, max(begin, page * PAGE), min(end, (page + 1) * PAGE)
