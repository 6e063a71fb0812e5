"""Refusing, in words, what would not fit in memory."""

from __future__ import annotations

import os

from supple.errors import ModelError


def physical_memory() -> int | None:
    """Bytes of memory of this machine, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def require(numbers: int, what: str, instead: str) -> None:
    """Refuse to make `numbers` float64 that would not fit."""
    available = physical_memory()
    if available is not None and 8 * numbers > 0.8 * available:
        size = 8 * min(numbers, 10**300) / 1e9
        raise ModelError(f"{what} would take {size:.3g} GB and this machine has {available / 1e9:.3g} GB; {instead}")
