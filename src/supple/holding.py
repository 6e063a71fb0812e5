"""Whose a file is: locks, which end with the process that holds them, and names, which may come to mean another file.

A lock belongs to the file, not to its name: after locking, the name must still refer to that file (`is_at`).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

LOCKS = fcntl is not None  #: whether the system has locks


def lock(file: int, alone: bool = True) -> bool | None:
    """Lock a file, exclusively or shared with others that do not write it, until it is closed. Returns whether that
    succeeded; None if the system has no locks."""
    if not LOCKS:
        return None
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError as e:
        return False if e.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) else None
    return True


def is_at(file: int, path: Path) -> bool:
    """Whether a name refers to this open file."""
    try:
        there = path.lstat()
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(file))
