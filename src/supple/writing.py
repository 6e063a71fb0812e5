"""Writing a file that somebody names: a regular file, whole or not at all, or an error that says why not.

A path may lead to a pipe that nobody reads, a device, a socket or a folder; these are refused before anything is
opened. What is written has a name of its own, beside its place, until it is whole: what was there before is there until
then. A link stays, and what it leads to is replaced.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from supple.errors import SuppleError
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


@contextmanager
def replacing(path: str | Path, error: type[SuppleError] = SuppleError) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when all went well. What went wrong with files is raised as `error`."""
    part = None
    try:
        before = _there(path, error)
        real = Path(os.path.realpath(path))  # bears links that lead to themselves
        new = real.with_name(f".{real.name[:20]}.{token_hex(8)}.new")  # a name of 255 bytes has no room for more
        file = os.open(new, _NEW | _FLAGS, 0o666)
        part = new
        with os.fdopen(file, "wb") as f:
            if before is not None:
                with suppress(OSError, AttributeError):  # not every system has it
                    os.fchmod(file, stat.S_IMODE(before.st_mode))
            yield f
        part.replace(real)
        part = None
    except SuppleError:
        raise
    except OSError as e:
        raise error(f"{path} cannot be written: {e.strerror or e}") from None
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


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
