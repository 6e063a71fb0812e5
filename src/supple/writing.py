"""Writing a file that somebody names: a regular file, whole or not at all, or an error that says why not.

A path may lead to a pipe that nobody reads, a device, a socket or a folder; these are refused before anything is
opened. What is written has a name of its own, beside its place, until it is whole: what was there before is there until
then. A link stays, and what it leads to is replaced. A process that is killed leaves its part behind, which the next
one to write this file removes: who still writes, has a lock on it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from supple.errors import SuppleError
from supple.holding import LOCKS, is_at, lock
from supple.reading import instead_of_file

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_FLAGS = sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))


def check_target(path: str | Path, error: type[SuppleError] = SuppleError) -> None:
    """Refuse what `replacing` would: to be asked before the work whose result is to be written there."""
    try:
        _there(path, error)
    except SuppleError:
        raise
    except OSError as e:
        raise error(f"{path} cannot be written: {e.strerror or e}") from None


def reason(e: OSError, path: str | Path) -> str:
    """Why a file was not written. A folder in which there is no file to be made, as /proc, is there all the same."""
    folder = Path(os.path.realpath(path)).parent
    if isinstance(e, FileNotFoundError) and folder.is_dir():
        return f"the folder {folder} cannot hold files"
    return e.strerror or str(e)


@contextmanager
def replacing(path: str | Path, error: type[SuppleError] = SuppleError) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when all went well. What went wrong with files is raised as `error`."""
    try:
        before = _there(path, error)
        real = Path(os.path.realpath(path))  # bears links that lead to themselves
        with _part(real) as (file, part):
            with os.fdopen(file, "wb") as f:
                if before is not None:
                    with suppress(OSError, AttributeError):  # not every system has it
                        os.fchmod(file, stat.S_IMODE(before.st_mode))
                yield f
            part.replace(real)
    except SuppleError:
        raise
    except OSError as e:
        raise error(f"{path} cannot be written: {reason(e, path)}") from None


@contextmanager
def _part(real: Path) -> Iterator[tuple[int, Path]]:
    """A new file beside the place of another, to be closed by whoever writes it. It is locked, and removed unless it
    was given another name."""
    begins = f".{real.name[:20]}."  # a name of 255 bytes has no room for more
    _remove_left(real.parent, re.compile(rf"{re.escape(begins)}[0-9a-f]{{16}}\.new"))
    while True:
        part = real.with_name(f"{begins}{token_hex(8)}.new")
        file = os.open(part, _NEW | _FLAGS, 0o666)
        if lock(file) is not False and is_at(file, part):
            break
        os.close(file)  # another process took it for one that was left
    try:
        with _held(file):
            yield file, part
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _held(file: int) -> Iterator[None]:
    """Keep the lock of a file, also when it is closed, inside."""
    if not LOCKS:
        yield
        return
    try:
        held = os.dup(file)
    except OSError:
        os.close(file)
        raise
    try:
        yield
    finally:
        os.close(held)


def _remove_left(folder: Path, named: re.Pattern[str]) -> None:
    """Remove the files of these names that nobody holds; where there are no locks, none."""
    with suppress(OSError):
        for path in [x for x in folder.iterdir() if LOCKS and named.fullmatch(x.name)]:
            with suppress(OSError):
                _remove_unheld(path)


def _remove_unheld(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _FLAGS)
    try:
        if instead_of_file(os.fstat(file).st_mode) is None and lock(file) and is_at(file, path):
            path.unlink()
    finally:
        os.close(file)


def write_file(path: str | Path, content: str | bytes, error: type[SuppleError] = SuppleError) -> None:
    """A file of this content; text in UTF-8."""
    with replacing(path, error) as f:
        f.write(content.encode() if isinstance(content, str) else content)


def _there(path: str | Path, error: type[SuppleError]) -> os.stat_result | None:
    """The file that is there already, if one is, and may be replaced."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        for folder in (Path(path).parent, Path(os.path.realpath(path)).parent):  # of the link, and where it leads
            if not folder.is_dir():
                raise error(f"{path} cannot be written: there is no folder {folder}") from None
        return None
    what = instead_of_file(status.st_mode)
    if what is not None:
        raise error(f"{path} cannot be written: it is {what}, not a file; give the name of a file")
    if not os.access(Path(path), os.W_OK):
        raise error(f"{path} cannot be written: it is there already, and read-only")
    return status
