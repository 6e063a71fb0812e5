"""Machine code on disk: a private folder, and files that are verified before anything in them is run.

A file consists of MARK, a digest, and the code. The digest covers the contents and the identity of the code, so a file
that was damaged, truncated, written by someone else or exchanged with another is not accepted as code. It is no secret:
other users are kept out because folder and files belong to this user, and nobody else may write to them.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from numba.misc.appdirs import AppDirs

MARK = b"supple kernel 1\n"
DIGEST = 32  #: bytes
LARGEST = 2**26  #: bytes of a file: kernels have at most 2 MB


class NotOurs(Exception):
    """A file or folder that is not as we left it; the message says why."""


def say(text: str, before: str = "supple: ", end: str = "\n") -> None:
    """Print a line on standard error, if there is one: the lack of it stops nobody from computing."""
    with suppress(OSError, ValueError):  # a full disk, a closed stream
        if sys.stderr is not None:
            print(before + text, end=end, file=sys.stderr, flush=True)


def read_kept(path: Path, identity: bytes) -> bytes | None:
    """The code of `identity` stored at a path; None if there is none. Raises NotOurs if something else is there."""
    try:
        with open(path, "rb", opener=_open_plain) as f:
            state = os.fstat(f.fileno())
            check_ours(state, stat.S_ISREG)
            content = f.read(LARGEST) if state.st_size <= LARGEST else b""
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise NotOurs(f"cannot be read ({e.strerror})") from None
    head = len(MARK) + DIGEST
    kept = content[head:]
    if content[:head] != MARK + _digest(kept, identity):
        raise NotOurs("is damaged")
    return kept


def _open_plain(path: str, flags: int) -> int:
    """Open without following links or blocking on pipes."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def write_kept(path: Path, identity: bytes, kept: bytes) -> None:
    """Store the code of `identity` at a path, atomically, whatever was there before. The folder of the generation, and
    those that it is in, may have been removed since they were made."""
    for folder in reversed(path.parents[:3]):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.stem}.", suffix=".new")
    try:
        with os.fdopen(file, "wb") as f:
            f.write(MARK + _digest(kept, identity) + kept)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(kept: bytes, identity: bytes) -> bytes:
    return hashlib.blake2b(kept, digest_size=DIGEST, key=hashlib.blake2b(identity).digest()).digest()


def check_ours(state: os.stat_result, is_kind: Callable[[int], bool]) -> None:
    """Raise NotOurs unless it is of that kind, belongs to this user, and nobody else may write to it."""
    if not is_kind(state.st_mode):
        raise NotOurs("is a link, or not what it should be")
    if not hasattr(os, "geteuid"):  # a system that separates users in other ways
        return
    if state.st_uid != os.geteuid():
        raise NotOurs("belongs to another user")
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotOurs("can be written to by other users (chmod go-w)")


@cache
def cache_folder() -> Path:
    """The folder of compiled kernels, with a subfolder per generation; writable, and private. Where there is none, a
    path at which there cannot be one: nothing is found there, and nothing kept."""
    user, *shared = bases = _bases()
    for base in bases:
        folder = base / "kernels"
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if base in shared:  # anyone can create folders next to it
                check_ours(base.lstat(), stat.S_ISDIR)
            folder.mkdir(mode=0o700, exist_ok=True)
            check_ours(folder.lstat(), stat.S_ISDIR)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except NotOurs as e:
            say(f"the folder {folder} for compiled code {e}, and what is in it is run: it is not used")
        except OSError:
            continue
    try:
        passing = tempfile.mkdtemp(prefix="supple-")
    except OSError:
        say(f"compiled code cannot be kept in {user} or in a temporary folder; SUPPLE_CACHE_DIR selects another")
        return Path(os.devnull) / "kernels"
    atexit.register(_remove, passing, os.getpid())
    return Path(passing)


def _bases() -> list[Path]:
    """The folders to try: the user's, and one of the temporary folder, if there is that."""
    chosen = os.environ.get("SUPPLE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    out = [Path(chosen or AppDirs(appname="supple", appauthor=False).user_cache_dir)]
    with suppress(FileNotFoundError):  # the working folder may be gone
        out = [out[0].absolute()]
    with suppress(FileNotFoundError):
        out.append(Path(tempfile.gettempdir()) / f"supple-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    return out


def _remove(folder: str, process: int) -> None:
    """At the end of the process that made it, not of its children."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
