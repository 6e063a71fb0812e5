"""Objects that are never changed, and so are made once.

Kernels take their numbers on trust, and others keep what they found out about them. A frozen dataclass refuses to have
its fields set, but Python would let anybody call `__init__` of one that is made, with other fields.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

from supple.errors import StateError

C = TypeVar("C", bound=type)


def made_once(mark: str) -> Callable[[C], C]:
    """For a class: `__init__` of an object that is made is refused, and one that could not be made has no fields.

    mark: an attribute that every object has that is made, in whatever way."""

    def decorate(kind: C) -> C:
        begin = kind.__init__  # type: ignore[misc]
        slotted = mark in vars(kind).get("__slots__", ())

        @wraps(begin)
        def init(self: Any, *given: Any, **named: Any) -> None:
            if hasattr(self, mark) if slotted else mark in self.__dict__:
                refuse(self)
            try:
                begin(self, *given, **named)
            except BaseException:
                if not slotted:
                    self.__dict__.clear()
                raise

        kind.__init__ = init  # type: ignore[misc]
        return kind

    return decorate


def refuse(x: Any) -> NoReturn:
    """To make an object that is made already."""
    raise StateError(f"this {type(x).__name__} is made already, and never changed: make another one instead")
