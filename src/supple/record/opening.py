"""Files opened safely: never a pipe or a device, never through a link, locked if the system has locks."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from supple.errors import RecordingError
from supple.holding import is_at, lock
from supple.reading import instead_of_file

#: O_NONBLOCK: do not block on a pipe.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL


def open_file(path: Path, flags: int) -> int:
    """An existing file, by its own name. Raises OSError; RecordingError, if it is something else."""
    _refuse_others(path, path.lstat().st_mode)
    file = os.open(path, flags | _FLAGS)
    try:
        _refuse_others(path, os.fstat(file).st_mode)
    except BaseException:
        os.close(file)
        raise
    return file


def refuse_long_name(path: Path) -> None:
    """Refuse a recording whose name leaves no room for this one next to it: otherwise a commit would fail."""
    longest = 255
    with suppress(AttributeError, ValueError, OSError):
        longest = os.pathconf(path.parent, "PC_NAME_MAX")
    over = len(os.fsencode(path.name)) - longest
    if over > 0:
        raise RecordingError(
            f"the name {path.name[:40]}... is too long by {over} bytes: a journal, {path.name[-29:]}, is kept beside a "
            "recording while it is written; give a shorter name"
        )


def _refuse_others(path: Path, mode: int) -> None:
    what = instead_of_file(mode)
    if what is not None:
        raise RecordingError(f"{path} is {what}, not a file; give the name of a file")


def create_file(path: Path) -> int:
    """A new file. Raises FileExistsError, also for a link."""
    return os.open(path, NEW | _FLAGS, 0o666)


def create_anew(path: Path) -> int:
    """The same, replacing whatever has this name; the target of a link is left alone."""
    try:
        return create_file(path)
    except FileExistsError:
        path.unlink(missing_ok=True)
        return create_file(path)


def create_locked(path: Path, of: Path) -> int:
    """A new locked file, next to the recording that it will become. A leftover of a killed run is removed; the file of
    a living one is not."""
    while True:
        try:
            file = create_file(path)
        except FileExistsError:
            _remove_left(path, of)
            continue
        if lock(file) is not False and is_at(file, path):
            return file
        os.close(file)


def _remove_left(path: Path, of: Path) -> None:
    try:
        file = open_file(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        locked = lock(file)
        if locked is False:
            raise being_written(of)
        if locked is None:
            raise RecordingError(
                f"{path} is there: another run begins {of.name}, or was killed when it did; remove it if there is none"
            )
        if is_at(file, path):
            path.unlink()
    finally:
        os.close(file)


def in_use(path: Path) -> bool:
    """Whether a process is writing it, as far as locks show."""
    try:
        file = open_file(Path(os.path.realpath(path)), os.O_RDONLY)
    except OSError:
        return False
    try:
        return lock(file, alone=False) is False
    finally:
        os.close(file)


def being_written(path: Path) -> RecordingError:
    return RecordingError(f"{path} is being written by another run; wait for it, or give another name")


def sync_folder(path: Path) -> None:
    with suppress(OSError):  # not every system allows opening folders
        file = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
