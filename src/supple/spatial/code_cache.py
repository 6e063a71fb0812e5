"""Machine code on disk: a folder that is ours alone, and files that are looked at before anything in them is run.

A file is MARK, a digest, and what was kept. The digest is of the contents and of what they are the code of, so a file
that was damaged, cut off, written by somebody else or put in another's place is not taken for code. It is no secret:
what keeps other people out is that folder and files belong to this user, and nobody else may write to them.
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
from functools import cache
from pathlib import Path

from numba.misc.appdirs import AppDirs

MARK = b"supple kernel 1\n"
DIGEST = 32  #: bytes


class NotOurs(Exception):
    """A file or folder that is not as we left it; says why."""


def say(text: str) -> None:
    """A line on standard error."""
    print(f"supple: {text}", file=sys.stderr)


def read_kept(path: Path, identity: bytes) -> bytes | None:
    """What is kept at a path as the code of `identity`; None if nothing is. Raises NotOurs if something else is."""
    try:
        with open(path, "rb", opener=_open_plain) as f:
            check_ours(os.fstat(f.fileno()), stat.S_ISREG)
            content = f.read()
    except FileNotFoundError:
        return None
    except OSError as e:
        raise NotOurs(f"cannot be read ({e.strerror})") from None
    head = len(MARK) + DIGEST
    kept = content[head:]
    if content[:head] != MARK + _digest(kept, identity):
        raise NotOurs("is damaged")
    return kept


def _open_plain(path: str, flags: int) -> int:
    """Follows no link, and waits for no pipe."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def write_kept(path: Path, identity: bytes, kept: bytes) -> None:
    """Keep the code of `identity` at a path: there at once or not at all, whatever was there before."""
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
    if not hasattr(os, "geteuid"):  # a system that keeps users apart in other ways
        return
    if state.st_uid != os.geteuid():
        raise NotOurs("belongs to another user")
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise NotOurs("can be written to by other users (chmod go-w)")


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept, in a folder for each generation; writable, and ours alone."""
    chosen = os.environ.get("SUPPLE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    user = chosen or AppDirs(appname="supple", appauthor=False).user_cache_dir
    fallback = Path(tempfile.gettempdir()) / f"supple-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    for base in (Path(user), fallback):
        folder = base / "kernels"
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if base == fallback:  # anybody can make folders beside it
                check_ours(base.lstat(), stat.S_ISDIR)
            folder.mkdir(mode=0o700, exist_ok=True)
            check_ours(folder.lstat(), stat.S_ISDIR)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except NotOurs as e:
            say(f"the folder {folder} for compiled code {e}, and what is in it is run: it is not used")
        except OSError:
            continue
    passing = tempfile.mkdtemp(prefix="supple-")  # goes with this process
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return Path(passing)
