"""A struct in the host's memory, its fields as attributes.

Each struct has a class of its own here, with one property per field: a number is read from the memory in 0.1 us, where
NumPy takes five times as long for a field of a structured array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from supple.spatial.addresses import address_of
from supple.spatial.fields import Elsewhere, Field, Integer, Number, Pointer

H = TypeVar("H", bound="Held")


class Held:
    """One struct. A field that holds an address takes an array, another Held or a structured array, keeps it alive and
    returns it. A copy or an unpickled object has copies of those, and their addresses.

    An interrupt may come between any two lines: the old object is kept until the address is that of the new one."""

    __slots__ = ("_floats", "_integers", "_kept", "_record", "address")
    _struct: Any

    address: int  #: of the struct; the caller keeps the object alive
    _record: Any  #: a structured array of one entry,
    _integers: memoryview  #: the same memory as integers
    _floats: memoryview  #: and as numbers
    _kept: dict[str, list[Any]]  #: the objects to which fields refer

    if TYPE_CHECKING:  # the fields

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def __init__(self, values: dict[str, Any]) -> None:
        self._begin(np.zeros(1, self._struct.dtype))
        for name, value in values.items():
            setattr(self, name, value)

    def _begin(self, record: Any) -> None:
        words = record.view(np.int64)
        self._record, self._kept, self.address = record, {}, address_of(words)
        self._integers, self._floats = memoryview(words), memoryview(record.view(np.float64))

    def _refer(self, name: str, value: Any) -> None:
        """Keep an object and store its address."""
        field, at, kept = self._struct.fields[name], self._struct.offsets[name], self._kept.setdefault(name, [])
        kept.append(value)
        self._integers[at] = value.address if hasattr(value, "address") else address_of(value)
        if isinstance(field, Elsewhere):
            self._integers[at + 1] = field.count(value)
        del kept[:-1]

    @property
    def arrays(self) -> list[Any]:
        """The objects that it keeps alive."""
        return list(self._referred().values())

    def _referred(self) -> dict[str, Any]:
        return {name: kept[-1] for name, kept in self._kept.items()}

    def but(self: H, **values: Any) -> H:
        """A copy with other values; it shares the remaining arrays with this one."""
        other: H = _unfilled(self._struct)
        other.__setstate__((self._record.copy(), self._referred() | values))
        return other

    def __reduce__(self) -> Any:
        return _unfilled, (self._struct,), (self._record, self._referred())

    def __setstate__(self, state: tuple[Any, dict[str, Any]]) -> None:
        record, values = state
        self._begin(record)
        for name, value in values.items():
            setattr(self, name, value)


def _unfilled(struct: Any) -> Any:
    return struct.held.__new__(struct.held)


def held_class(struct: Any) -> type[Held]:
    """The class of the structs of one layout."""
    parts = {name: _property(name, field, struct.offsets[name]) for name, field in struct.fields.items()}
    return type(struct.__name__, (Held,), {"__slots__": (), "_struct": struct, "__module__": struct.__module__} | parts)


def _property(name: str, field: Field, at: int) -> property:
    """The attribute for a field that begins at word `at`."""

    def get_integer(self: Held) -> int:
        return self._integers[at]

    def set_integer(self: Held, value: Any) -> None:
        self._integers[at] = int(value)

    def get_number(self: Held) -> float:
        return self._floats[at]  # type: ignore[return-value]

    def set_number(self: Held, value: Any) -> None:
        self._floats[at] = float(value)  # type: ignore[call-overload]

    def get_object(self: Held) -> Any:
        kept = self._kept.get(name)
        return kept[-1] if kept else self._record[name][0]

    def set_object(self: Held, value: Any) -> None:
        self._refer(name, value)

    def get_record(self: Held) -> Any:
        return self._record[name][0]

    def set_record(self: Held, value: Any) -> None:
        self._record[name][0] = value

    if isinstance(field, Integer):
        return property(get_integer, set_integer)
    if isinstance(field, Number):
        return property(get_number, set_number)
    if isinstance(field, Pointer):
        return property(get_object, set_object)
    return property(get_record, set_record)
