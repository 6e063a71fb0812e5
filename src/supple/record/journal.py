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

The first page is ours (HDF5 calls it a user block, and begins after it): which file it is, by a random number, how many
commits there were, and how many bytes the last one left. A commit changes this page first. So a reader, who looks at it
after each read, notices when another process has committed, and opens the file again; a journal that lies beside
another file is not taken for its own; and a file that was cut off is recognized.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from supple.errors import RecordingError

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

PAGE = 4096
MAGIC, JOURNAL = b"supple recording", b"supple journal 2\n"
HDF5 = b"\x89HDF\r\n\x1a\n"  #: how HDF5 begins


class Head(NamedTuple):
    """What the first page says."""

    id: bytes  #: 16, at random
    generation: int  #: commits so far
    size: int  #: bytes at the last one, at least

    def page(self) -> bytearray:
        return bytearray(struct.pack("<16s16sqq", MAGIC, *self).ljust(PAGE, b"\0"))


def read_head(data: bytes | bytearray) -> Head | None:
    """Of a file's first bytes, if they are a recording's."""
    magic, *rest = struct.unpack("<16s16sqq", data[:48].ljust(48, b"\0"))
    return Head(*rest) if magic == MAGIC else None


class Journaled:
    """A binary file, as h5py wants one: `commit` makes all changes since the last one permanent, together."""

    def __init__(self, path: Path, mode: str) -> None:
        """mode: "r", "r+" (both of a file that is there), or "w" (a new one, or one in place of an old one)."""
        if path.is_symlink():
            path = path.resolve()  # the journal lies beside the file itself
        self.path, self.writable = path, mode != "r"
        self._pages: dict[int, bytearray] = {}
        self._position = 0
        self._failed: OSError | None = None
        self.stale = False  #: to a reader: another process has committed since
        self._new = mode == "w"
        if self._new and in_use(path):
            raise being_written(path)
        self._at = _beside(path, ".new") if self._new else path
        how = os.O_RDONLY if mode == "r" else os.O_RDWR | (os.O_CREAT if self._new else 0)
        self._file = os.open(self._at, how | _BINARY, 0o666)
        try:
            if self.writable and not _lock(self._file):
                raise being_written(path)
            if self._new:
                os.ftruncate(self._file, 0)
                self._head = Head(os.urandom(16), 0, 0)
            else:
                self._head = _begins(self._file, path)
                self._pages = dict(_read_journal(path, self._head))
                self._head = read_head(self._pages.get(0, b"")) or self._head
                if self.writable:
                    self._recover()
        except BaseException:
            os.close(self._file)
            raise
        self.size = self._committed = os.fstat(self._file).st_size  # other tools may have added to it
        self._physical = self.size

    @property
    def id(self) -> bytes:
        """Of this file, whatever its name."""
        return self._head.id

    @property
    def generation(self) -> int:
        """Commits so far."""
        return self._head.generation

    @property
    def missing(self) -> int:
        """Bytes that the last commit left and that are not there: it was cut off, or another tool made it shorter."""
        return max(0, self._head.size - self.size)

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
        if not self.writable and self._changed():
            self.stale = True
            raise OSError(f"{self.path} changed while it was read")
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
        head = self._head._replace(generation=self.generation + 1, size=self.size)
        if self._new:
            _apply(self._file, {0: head.page()})
            self._at.replace(self.path)
            _sync_folder(self.path)
            self._at, self._new = self.path, False
        else:
            os.fsync(self._file)
            pages = self._pages | {0: head.page()}
            _write_journal(self.path, pages)
            _apply(self._file, pages)
            _journal(self.path).unlink()
        self._head, self._pages = head, {}
        self._committed = self.size

    @property
    def closed(self) -> bool:
        return self._file < 0

    def close(self) -> None:
        """What was not committed is lost."""
        if self._file >= 0:
            if self._new:
                with suppress(OSError):
                    self._at.unlink()
            os.close(self._file)
            self._file = -1

    def _recover(self) -> None:
        """Finish a commit that was interrupted."""
        if self._pages:
            _apply(self._file, self._pages)
        self._pages = {}
        _journal(self.path).unlink(missing_ok=True)

    def _changed(self) -> bool:
        now = read_head(_read_at(self._file, 48, 0))
        return now is None or now.generation > self.generation

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


def _begins(file: int, path: Path) -> Head:
    """What the first page says; refused where it is not a recording's."""
    data = _read_at(file, PAGE, 0)
    head = read_head(data)
    if head is None:
        reason = "is an HDF5 file, but not a recording of Supple's" if data.startswith(HDF5) else "is not a recording"
        raise RecordingError(f"{path} {reason if data else 'is empty: not a recording'}")
    return head


def in_use(path: Path) -> bool:
    """Whether a process is writing it."""
    try:
        file = os.open(path, os.O_RDONLY | _BINARY)
    except OSError:
        return False
    try:
        return not _lock(file, alone=False)
    finally:
        os.close(file)


def _lock(file: int, alone: bool = True) -> bool:
    """Whether this process can have a file for itself, or together with others that do not write it; it then has, until
    it is closed."""
    if fcntl is not None:
        try:
            fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without such locks
            pass
    return True


def being_written(path: Path) -> RecordingError:
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
    at.replace(_journal(path))
    _sync_folder(path)


def _read_journal(path: Path, head: Head) -> Iterator[tuple[int, bytearray]]:
    """The pages of a journal that is whole; none where there is none, or it is damaged, old, or another file's."""
    try:
        data = _journal(path).read_bytes()
    except FileNotFoundError:
        return
    begin = len(JOURNAL) + hashlib.blake2b().digest_size
    body = data[begin:]
    if data[: len(JOURNAL)] != JOURNAL or hashlib.blake2b(body).digest() != data[len(JOURNAL) : begin]:
        return
    (count,) = struct.unpack_from("<q", body)
    first = 8 + 8 * count
    after = read_head(body[first : first + PAGE])  # the first page is always among them
    if after is None or after.id != head.id or after.generation < head.generation:
        return
    for i, number in enumerate(struct.unpack_from(f"<{count}q", body, 8)):
        start = first + i * PAGE
        yield number, bytearray(body[start : start + PAGE])


def _apply(file: int, pages: dict[int, bytearray]) -> None:
    """The first page goes first: who reads meanwhile sees by it that others may have changed."""
    for number in sorted(pages):
        page, done = pages[number], 0
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
