"""A file with atomic changes.

- Bytes that nothing refers to yet go to the file at once (`append`): whole chunks, and rows beyond those of the last
  commit;
- existing pages are changed in memory only (`write`);
- `commit` writes the changed pages to a journal next to the file (under another name, then renamed, so that an existing
  journal is always complete), only then to the file, and removes the journal.

So at any instant the file, together with its journal if there is one, is as it was at the last commit. Opening it for
reading overlays the journal; opening it for writing finishes the commit first. A new file has another name until its
first commit. The journal's name contains the file's id: two files never share one.

The first page (head.py) is written first in a commit: a reader that finds inconsistent bytes checks there whether
another process has committed, and opens the file again. Before a commit the writer checks whether the file still has
its name, and whether the head is the one that it left: so it detects a file that was deleted or moved, and, on systems
without locks, a second writer.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time as clock
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from supple.errors import RecordingError
from supple.holding import is_at, lock
from supple.record.head import FORMAT, LENGTH, PAGE, Head, Place, is_head, old_format, read_head
from supple.record.opening import (
    being_written,
    create_anew,
    create_locked,
    in_use,
    open_file,
    refuse_long_name,
    sync_folder,
)

JOURNAL = b"supple journal 3\n"
HDF5 = b"\x89HDF\r\n\x1a\n"  #: the signature of HDF5
NOWHERE = Place(0, 0, 0)
HOLES = 2**28  #: bytes that may be read at once from any file,
DENSE = 64  #: and as a multiple of its size on disk


class Journaled:
    """A binary file: `commit` makes all changes since the last one permanent, atomically."""

    _file = -1

    def __init__(self, path: Path, mode: str) -> None:
        """mode: "r", "r+" (both for an existing file), or "w" (a new file, or one that replaces an old one)."""
        # the journal is next to the file itself; realpath tolerates circular links
        self.path = Path(os.path.realpath(path)) if path.is_symlink() else path
        self.writable, self._new = mode != "r", mode == "w"
        self._pages: dict[int, bytearray] = {}
        self._failed: OSError | None = None
        if self.writable:
            refuse_long_name(_journal(self.path, bytes(16)).with_suffix(".journal.new"))
        self._at = self.path.with_name(self.path.name + ".new") if self._new else self.path
        if self._new and in_use(self.path):
            raise being_written(path)
        self._file = self._opened()
        try:
            if self._new:
                self.head = Head(os.urandom(16), 0, 0, NOWHERE, os.urandom(16))
            else:
                self.head = _begins(self._file, path)
                self._seen = self.head.packed()
                self._lay_over()
        except BaseException:
            self._let_go()
            raise
        self._physical = os.fstat(self._file).st_size
        self._committed = self.head.size  # what a killed run wrote beyond this is free
        self.size = self._committed if self.writable else self._physical

    def _opened(self) -> int:
        if self._new:
            return create_locked(self._at, self.path)
        while True:
            file = open_file(self.path, os.O_RDWR if self.writable else os.O_RDONLY)
            if not self.writable:
                return file
            if lock(file) is False:
                os.close(file)
                raise being_written(self.path)
            if is_at(file, self.path):
                return file
            os.close(file)  # another file has its name now

    def _lay_over(self) -> None:
        """Overlay the journal's pages; a writer writes them to the file, and its own id to the head."""
        self._pages = dict(_read_journal(self.path, self.head, os.fstat(self._file).st_size))
        self.head = read_head(bytes(self._pages.get(0, b""))) or self.head
        if self.writable:
            self.head = self.head._replace(writer=os.urandom(16))
            _apply(self._file, self._pages | {0: self.head.page()})
            self._pages, self._seen = {}, self.head.packed()
            _journal(self.path, self.head.id).unlink(missing_ok=True)

    @property
    def generation(self) -> int:
        """Number of commits so far."""
        return self.head.generation

    @property
    def missing(self) -> int:
        """Number of bytes of the last commit that do not exist: the file was truncated."""
        return max(0, self.head.size - self._physical)

    @property
    def most(self) -> int:
        """Bytes that may be read from it at once: a file can be larger than its size on disk, and nothing else in it
        bounds that. Compressing file systems are allowed for."""
        blocks = getattr(os.fstat(self._file), "st_blocks", None)
        return self._physical if blocks is None else max(HOLES, DENSE * 512 * blocks)

    @property
    def stale(self) -> bool:
        """Whether another process has committed since, or begun to write."""
        return _read_at(self._file, LENGTH, 0) != self._seen

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes, fewer at the end of the file; none if the offset is outside it."""
        size = min(size, self._physical - offset) if offset >= 0 and size <= self.most else 0
        out = bytearray(_read_at(self._file, size, offset))
        for page, start, stop in _pages_of(offset, offset + len(out)) if self._pages else ():
            if page in self._pages:
                out[start - offset : stop - offset] = self._pages[page][start - page * PAGE : stop - page * PAGE]
        return bytes(out)

    def write(self, offset: int, data: bytes) -> None:
        """Change bytes, effective from the next commit."""
        end = offset + len(data)
        old = -(-self._committed // PAGE) * PAGE  # pages of the last commit
        for page, start, stop in _pages_of(offset, min(end, old)):
            if page not in self._pages:
                self._pages[page] = bytearray(_read_at(self._file, PAGE, page * PAGE).ljust(PAGE, b"\0"))
            self._pages[page][start - page * PAGE : stop - page * PAGE] = data[start - offset : stop - offset]
        if end > old:
            self.append(max(offset, old), memoryview(data)[max(0, old - offset) :])
        self.size = max(self.size, end)

    def append(self, offset: int, data: Any) -> None:
        """Bytes to which nothing refers before the next commit, in separate pages: written to the file at once. A
        failure is reported by `commit`."""
        self.size = max(self.size, offset + len(data))
        if self._failed is not None:
            return
        try:
            self._refuse_cut()
            done = 0
            while done < len(data):
                done += _write_at(self._file, data[done:], offset + done)
            if done:
                self._physical = max(self._physical, offset + done)
        except RecordingError as e:
            self._failed = e
        except OSError as e:
            self._failed = OSError(e.errno, e.strerror, str(self.path))

    def commit(self, index: Place) -> None:
        """Make everything written so far permanent. If that fails (disk full), the file stays as it was."""
        if self._failed is not None:
            raise self._failed
        self._refuse_lost()
        if self._physical < self.size:
            os.ftruncate(self._file, self.size)
            self._physical = self.size
        head = self.head._replace(generation=self.generation + 1, size=self.size, place=index)
        if self._new:
            _apply(self._file, {0: head.page()})
            if in_use(self.path):
                raise being_written(self.path)
            self._at.replace(self.path)
            sync_folder(self.path)
            self._at, self._new = self.path, False
        else:
            os.fsync(self._file)
            pages: dict[int, Any] = self._pages | {0: head.page()}
            _write_journal(self.path, head.id, pages)
            _apply(self._file, pages)
            _journal(self.path, head.id).unlink()
        self.head, self._seen, self._pages = head, head.packed(), {}
        self._committed = self.size

    def _refuse_lost(self) -> None:
        if not is_at(self._file, self._at):
            raise RecordingError(
                f"{self.path} was deleted, moved or replaced while its run went on, which ends here; if it was moved, "
                "it is whole where it is now, and can be resumed there"
            )
        self._refuse_cut()
        if not self._new and self.stale:
            if read_head(_read_at(self._file, PAGE, 0)) is None:
                raise RecordingError(
                    f"{self.path} was overwritten while its run went on, which ends here: its first page is no longer "
                    "that of a recording; restore it from a copy, or record again"
                )
            raise being_written(self.path)

    def _refuse_cut(self) -> None:
        """Called before anything is written past its end, which would turn the missing part into a hole."""
        left = os.fstat(self._file).st_size
        if left < self._physical:
            raise RecordingError(
                f"{self.path} was cut off while its run went on, which ends here: of {self._physical} bytes {left} are "
                "left; restore it from a copy, or record again"
            )

    @property
    def closed(self) -> bool:
        return self._file < 0

    def close(self) -> None:
        """Uncommitted changes are lost."""
        if self._file >= 0:
            if self._new and is_at(self._file, self._at):
                with suppress(OSError):
                    self._at.unlink()
            self._let_go()

    def _let_go(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __del__(self) -> None:
        """For a file that nobody has closed. A new file is kept: in a forked process it belongs to another."""
        self._let_go()


def _begins(file: int, path: Path) -> Head:
    """The contents of the first page; refused if it is not that of a recording."""
    data = _read_at(file, PAGE, 0)
    head = read_head(data)
    for wait in (0.001, 0.01, 0.1):  # another process may be writing it right now
        if head is not None or not is_head(data) or old_format(data):
            break
        clock.sleep(wait)
        data = _read_at(file, PAGE, 0)
        head = read_head(data)
    if head is not None and head.format == FORMAT:
        return head
    if head is not None or old_format(data):
        number = "an earlier format" if head is None else f"format {head.format}"
        raise RecordingError(
            f"{path} is of {number}; this Supple reads format {FORMAT}: read or export it with the one that made it"
        )
    if is_head(data):
        raise RecordingError(f"{path} is damaged, and refused: its first page, the head, is not as it was written")
    reason = "is an HDF5 file, but not a recording of Supple's" if data.startswith(HDF5) else "is not a recording"
    raise RecordingError(f"{path} {reason if data else 'is empty: not a recording'}")


def _journal(path: Path, name: bytes) -> Path:
    return path.with_name(f"{path.name}.{name.hex()[:16]}.journal")


def _write_journal(path: Path, name: bytes, pages: dict[int, Any]) -> None:
    to = _journal(path, name)
    at, numbers = to.with_name(to.name + ".new"), sorted(pages)
    body = struct.pack(f"<q{len(numbers)}q", len(numbers), *numbers) + b"".join(bytes(pages[n]) for n in numbers)
    try:
        file = create_anew(at)
        try:
            data = memoryview(JOURNAL + hashlib.blake2b(body).digest() + body)
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
    at.replace(to)
    sync_folder(path)


def _read_journal(path: Path, head: Head, size: int) -> Iterator[tuple[int, bytearray]]:
    """The pages of a file's journal; none if there is no journal, or if it belongs to an earlier commit.

    size: of the file. A journal has each of its pages at most once: a larger one is not read."""
    at = _journal(path, head.id)
    try:
        file = open_file(at, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        begin = len(JOURNAL) + hashlib.blake2b().digest_size
        most = begin + 8 + (8 + PAGE) * (size // PAGE + 1)
        data = _read_at(file, begin, 0)
        if data.startswith(JOURNAL) and os.fstat(file).st_size <= most:
            data = _read_at(file, most, 0)
    finally:
        os.close(file)
    body = data[begin:]
    count = struct.unpack_from("<q", body)[0] if len(body) >= 8 else -1
    whole = (
        data[: len(JOURNAL)] == JOURNAL
        and hashlib.blake2b(body).digest() == data[len(JOURNAL) : begin]
        and count >= 1
        and len(body) == 8 + count * (8 + PAGE)
    )
    numbers = struct.unpack_from(f"<{count}q", body, 8) if whole else ()
    first = 8 + 8 * count
    after = read_head(body[first : first + PAGE]) if whole and numbers[0] == 0 else None
    if after is None or after.id != head.id or after.format != FORMAT or not _rising(numbers, after.size):
        raise RecordingError(
            f"{at} is damaged, and refused; without it {path.name} is as it was at the commit before, or refused if "
            "that was half overwritten: remove it, or restore it from a copy"
        )
    if after.generation < head.generation:
        return
    for i, number in enumerate(numbers):
        start = first + i * PAGE
        yield number, bytearray(body[start : start + PAGE])


def _rising(numbers: tuple[int, ...], size: int) -> bool:
    """Whether these are pages of a file of this size, each at most once."""
    return all(a < b for a, b in pairwise(numbers)) and numbers[-1] * PAGE < max(size, PAGE)


def _apply(file: int, pages: dict[int, Any]) -> None:
    """The first page is written first: concurrent readers recognise by it that others may have changed."""
    for number in sorted(pages):
        page, done = pages[number], 0
        while done < PAGE:
            done += _write_at(file, page[done:], number * PAGE + done)
    os.fsync(file)


def _read_at(file: int, size: int, offset: int) -> bytes:
    """`size` bytes, fewer at the end of the file: the system may return them in parts."""
    parts, got = [], 0
    while got < size:
        part = _read_some(file, size - got, offset + got)
        if not part:
            break
        parts.append(part)
        got += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read_some(file: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(file, size, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)


def _write_at(file: int, data: Any, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, data, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.write(file, data)


def _pages_of(begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The pages that contain bytes begin ... end, and which of these bytes each has."""
    for page in range(begin // PAGE, -(-end // PAGE)):
        yield page, max(begin, page * PAGE), min(end, (page + 1) * PAGE)
