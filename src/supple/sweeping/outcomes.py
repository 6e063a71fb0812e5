"""What a run gives: quantities by name, or a message.

Checked where it was computed, so that a wrong one is a failure of that run only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from supple.errors import StateError, SuppleError, printable, quoted

NAME = re.compile(r"[A-Za-z_][\w ().+-]{0,79}")  #: of a quantity, which becomes that of a folder
LONGEST = 200  #: characters of a text that is kept
LARGEST = 1_000_000  #: numbers of a quantity
ONE = "result"  #: the name of what a function returns, if it gives none
WALL = "wall_time"  #: seconds that the run took
STATUS, FAILURE = "status", "failure"


class Outcome(NamedTuple):
    """Quantities, or a message."""

    values: dict[str, Any] | None
    message: str
    seconds: float


def measured(returned: Any, taken: frozenset[str], most: int = LARGEST) -> dict[str, Any]:
    """Quantities in our form: float, text, or an array of float64. taken: names that a quantity cannot have. most:
    numbers of one of them."""
    if not isinstance(returned, Mapping):
        returned = {ONE: returned}
    out = {}
    for name, value in returned.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise StateError(f"a quantity cannot be called {quoted(name)}: letters, digits and _ make a name")
        if name in taken:
            raise StateError(f"a quantity cannot be called {name!r}: a parameter is, or Supple's own record")
        out[name] = _form(name, value, most)
    return out


def _form(name: str, value: Any, most: int) -> Any:
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise StateError(f"{name} is text of {len(value):,} characters (at most {LONGEST})")
        return value.replace("\0", "\\0")
    if isinstance(value, (bool, np.bool_, Real)):
        try:
            return float(value)
        except OverflowError:
            raise StateError(f"{name} is too large for a number of 64 bits") from None
    if value is None:
        raise StateError(f"{name} is None: return a number, text, an array, or several by name {{'speed': 1.2}}")
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        way = ": give its real and imaginary parts" if array.dtype.kind == "c" else ""
        raise StateError(f"{name} is {type(value).__name__}; quantities are real numbers, text or arrays{way}")
    if array.size > most:
        raise StateError(f"{name} has {array.size:,} numbers (at most {most:,})")
    return float(array) if array.ndim == 0 else np.array(array, dtype=np.float64)


def failure(e: BaseException) -> str:
    """An exception as a message that can be kept."""
    try:
        said = " ".join(str(e).split())
    except Exception:  # of an exception of somebody else's making
        said = ""
    text = said if isinstance(e, SuppleError) and said else f"{type(e).__name__}: {said}" if said else type(e).__name__
    text = printable(text)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
