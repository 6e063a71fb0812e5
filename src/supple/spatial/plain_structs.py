"""structs.py without the compiler (NUMBA_DISABLE_JIT): the same memory, with every index checked."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from supple.spatial.structs import Struct

_C_TYPES: dict[Any, Any] = {np.float64: ctypes.c_double, np.int64: ctypes.c_int64}
_number: list[Callable[[Any], Any]] = [float]


def number(x: Any) -> Any:
    """A number read from memory, in the type used for computing."""
    return _number[0](x)


def read_numbers_as(kind: Callable[[Any], Any]) -> None:
    """From now on, convert numbers that are read by `kind`: reproduce/counting.py makes them count operations."""
    _number[0] = kind


class Checked(np.ndarray[Any, Any]):
    """An array that refuses every index below zero or past the end."""

    def _inside(self, index: Any) -> Any:
        for i, n in zip(index if isinstance(index, tuple) else (index,), self.shape):
            if not isinstance(i, slice) and not 0 <= i < n:
                raise IndexError(f"{index} of {self.shape}")
        return index

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(self._inside(index))
        return number(found) if isinstance(found, np.float64) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(self._inside(index), value)


def numbers_at(address: int, shape: tuple[int, ...], kind: Any = np.float64) -> Any:
    """The numbers at an address, as a checked array."""
    count = math.prod(shape)
    if count == 0:
        return np.zeros(shape, kind).view(Checked)
    return Checked(shape, kind, (_C_TYPES[kind] * count).from_address(int(address)))


def integer_at(address: int) -> int:
    """The integer at an address."""
    return int(ctypes.c_int64.from_address(int(address)).value)


def flat(value: Any) -> list[Any]:
    """The numbers of a number, six, matrix or NamedTuple, in order."""
    if isinstance(value, tuple):
        return [x for part in value for x in flat(part)]
    if hasattr(value, "of"):
        return list(value.of)
    return [x for part in value for x in flat(part)] if hasattr(value, "__iter__") else [value]


class Row:
    """One struct at an address."""

    def __init__(self, struct: type[Struct], address: int) -> None:
        vars(self).update(_struct=struct, _address=int(address))

    def _place(self, name: str) -> tuple[Any, int]:
        if name not in self._struct.fields:
            raise AttributeError(f"{self._struct.__name__} has no field {name!r}")
        return self._struct.fields[name], self._address + 8 * self._struct.offsets[name]

    def __getattr__(self, name: str) -> Any:
        field, at = self._place(name)
        return field.plain_read(self, at)

    def __setattr__(self, name: str, value: Any) -> None:
        field, at = self._place(name)
        field.plain_write(at, value)


class Table:
    """Consecutive structs; `length` None: any number."""

    def __init__(self, struct: type[Struct], address: int, length: int | None = None) -> None:
        self._struct, self._address, self._length = struct, int(address), length

    def __getitem__(self, i: int) -> Row:
        if i < 0 or (self._length is not None and i >= self._length):
            raise IndexError(f"{i} of {self._length} {self._struct.__name__}")
        return Row(self._struct, self._address + 8 * self._struct.words * int(i))


def openers(struct: type[Struct]) -> tuple[Any, Any, Any, Any]:
    """Functions that open one struct, and a table of them, at an address; one struct among numbers; and make a new
    one."""

    def among(numbers: Any, k: int) -> Row:
        if not 0 <= k < len(numbers):
            raise IndexError(f"{k} of {len(numbers)} numbers")
        return Row(struct, numbers.ctypes.data + 8 * int(k))

    def new() -> Row:
        room = np.full(struct.words, np.nan)
        row = Row(struct, room.ctypes.data)
        vars(row)["_kept"] = room
        return row

    return (
        staticmethod(lambda address: Row(struct, address)),
        staticmethod(lambda address: Table(struct, address)),
        staticmethod(among),
        staticmethod(new),
    )


def address_in_memory(x: Row | Table) -> int:
    """The address of a struct or of a table."""
    return x._address
