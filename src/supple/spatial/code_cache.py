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
from functools import cache
from pathlib import Path

from numba.misc.appdirs import AppDirs

MARK = b"supple kernel 1\n"
DIGEST = 32  #: bytes


class NotOurs(Exception):
    """A file or folder that is not as we left it; the message says why."""


def say(text: str) -> None:
    """Print a line on standard error."""
    print(f"supple: {text}", file=sys.stderr)


def read_kept(path: Path, identity: bytes) -> bytes | None:
    """The code of `identity` stored at a path; None if there is none. Raises NotOurs if something else is there."""
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
    """Open without following links or blocking on pipes."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def write_kept(path: Path, identity: bytes, kept: bytes) -> None:
    """Store the code of `identity` at a path, atomically, whatever was there before."""
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
    """The folder of compiled kernels, with a subfolder per generation; writable, and private."""
    chosen = os.environ.get("SUPPLE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    user = chosen or AppDirs(appname="supple", appauthor=False).user_cache_dir
    fallback = Path(tempfile.gettempdir()) / f"supple-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    for base in (Path(user), fallback):
        folder = base / "kernels"
        try:
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if base == fallback:  # anyone can create folders next to it
                check_ours(base.lstat(), stat.S_ISDIR)
            folder.mkdir(mode=0o700, exist_ok=True)
            check_ours(folder.lstat(), stat.S_ISDIR)
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except NotOurs as e:
            say(f"the folder {folder} for compiled code {e}, and what is in it is run: it is not used")
        except OSError:
            continue
    passing = tempfile.mkdtemp(prefix="supple-")  # removed with this process
    atexit.register(shutil.rmtree, passing, ignore_errors=True)
    return Path(passing)
