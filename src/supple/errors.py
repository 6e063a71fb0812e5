"""Every exception Supple raises on purpose.

    SuppleError
    ├── ModelError          a body that cannot be built: names, masses, inertias, topology
    │   └── ParseError      the same, found in a file: carries .file and .line
    ├── StateError          q, v, tau, wrenches: shape, dtype, non-finite, quaternion not of unit length
    ├── SingularError       the mass matrix has no inverse, or a method no digits left; names the joint or body
    ├── SimulationError     a run that went wrong: carries .time, .joint and .state, the last good one
    ├── RecordingError      a recording that cannot be written, read or continued; names the file
    ├── SweepError          a sweep whose store or engine cannot be used; names it
    └── ViewError           a page or picture that cannot be made

A message says what was wrong, where, and what to do about it. The names in it come from files: `printable` spells out
what a terminal would obey.
"""

from __future__ import annotations

from typing import Any


def printable(text: object, keep: str = "") -> str:
    """Text for a terminal, a page or a message: what is not to be seen in it (control characters, escape sequences,
    marks that turn the direction of reading) is spelled out as Python writes it, ESC as \\x1b; all else is as it was.

    keep: characters that stay, such as line breaks."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in whole)


LONGEST = 60  #: characters of a name in a line that says something of itself


def short(name: object) -> str:
    """A name within a line: printable, and cut off where it is long."""
    text = printable(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def quoted(name: object) -> str:
    """The same as Python writes it, in quotation marks; a number is a number."""
    cut = isinstance(name, str) and len(name) > LONGEST
    return repr(f"{name[: LONGEST - 3]}..." if cut else name)  # type: ignore[index]


class SuppleError(Exception):
    """The root of everything Supple raises on purpose."""

    def __str__(self) -> str:
        return printable(super().__str__(), keep="\n")


class ModelError(SuppleError, ValueError):
    """A body that cannot be built or changed as asked."""


class ParseError(ModelError):
    """Something in a file that cannot be understood or must not be accepted."""

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        self.message, self.file, self.line = message, file, line
        where = "" if file is None else f"{file}:" if line is None else f"{file}:{line}:"
        super().__init__(f"{where} {message}".strip())


class StateError(SuppleError, ValueError):
    """A state, force or matrix of the wrong shape, type or value."""


class SingularError(SuppleError, ArithmeticError):
    """The mass matrix is singular: some joint moves nothing that has inertia. Or virtual work cannot close a joint."""


class SimulationError(SuppleError, RuntimeError):
    """A simulation that cannot go on; the last good state is kept."""

    def __init__(self, message: str, time: float | None = None, joint: str | None = None, state: Any = None) -> None:
        self.time, self.joint, self.state = time, joint, state
        self.result: Any = None  #: of a run: what was good of it
        super().__init__(message)


class RecordingError(SuppleError, OSError):
    """A recording that cannot be written, read or continued."""


class SweepError(SuppleError, OSError):
    """A sweep whose store cannot be written, read or continued, or whose engine cannot be reached."""


class ViewError(SuppleError, RuntimeError):
    """A page or picture that cannot be made."""
