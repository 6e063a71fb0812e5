"""The field types of a struct: how many numbers each has, and how compiled code reads and writes it.

    mass = Number()                 count = Integer()
    h = Value(Vec3)                 any NamedTuple of algebra.py: read and written as a whole, in registers
    f = Six()                       six numbers in SIMD registers
    Phi = Mat6()                    six rows of six: stays in memory; operators read it row by row [matrices.py]
    L = Numbers(10)                 ten numbers in the struct itself: L[i]
    q = Floats()                    numbers elsewhere, by their address: q[i]. Their count, against which plain Python
    flags = Integers()              checks indices, is stored with the address
    nodes = Table(Stretch)          structs elsewhere, by the address of the first: nodes[i]          [structs.py]
    desk = Link(Desk)               one struct elsewhere
    rows = Address()                anything elsewhere: its address, an integer
    dofs = Following(Dof)           structs that follow this one: the last field

Numbers may be float64 or SIMD registers of four (cpu/lanes.py): a struct of registers has the same fields.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_cast

from supple.spatial import algebra
from supple.spatial.cpu import make_six
from supple.spatial.cpu.sixes import load_pair, sixes_type, store_pair
from supple.spatial.plain_structs import flat, integer_at, number, numbers_at

BYTE = ir.IntType(8).as_pointer()
WORD = ir.IntType(64)

_float = types.float64
#: What the classes of algebra.py contain.
_PARTS: dict[type, tuple[Any, ...]] = {
    algebra.Vec3: (float,) * 3,
    algebra.Mat3: (algebra.Vec3,) * 3,
    algebra.Sym3: (float,) * 6,
    algebra.Motion: (algebra.Vec3,) * 2,
    algebra.Force: (algebra.Vec3,) * 2,
    algebra.RigidInertia: (float, algebra.Vec3, algebra.Sym3),
    algebra.Inertia: (algebra.Sym3, algebra.Mat3, algebra.Sym3),
    algebra.Mobility: (algebra.Sym3, algebra.Mat3, algebra.Sym3),
}


class Field(ABC):
    """A field of a struct. `words`: how many numbers it takes; `dtype`: what NumPy sees."""

    words = 1
    dtype: Any = np.float64

    @abstractmethod
    def numba_type(self, element: Any) -> Any:
        """The type in compiled code, for numbers of the type `element`."""

    def read(self, context: Any, builder: Any, element: Any, at: Any) -> Any:
        """The value at an address (a pointer to bytes)."""
        kind = context.get_value_type(self.numba_type(element))
        return builder.load(builder.bitcast(at, kind.as_pointer()), align=8)

    def write(self, context: Any, builder: Any, element: Any, at: Any, value: Any) -> None:
        """Write a value of `numba_type` to an address."""
        builder.store(value, builder.bitcast(at, value.type.as_pointer()), align=8)

    @abstractmethod
    def plain_read(self, row: Any, at: int) -> Any:
        """The value at an address, without the compiler. row: the struct it belongs to."""

    def plain_write(self, at: int, value: Any) -> None:
        """Write a value, without the compiler."""
        numbers_at(at, (self.words,))[:] = flat(value)


class Number(Field):
    def numba_type(self, element: Any) -> Any:
        return element

    def plain_read(self, row: Any, at: int) -> Any:
        return number(numbers_at(at, (1,))[0])


class Integer(Field):
    dtype = np.int64

    def numba_type(self, element: Any) -> Any:
        return types.int64

    def plain_read(self, row: Any, at: int) -> Any:
        return integer_at(at)

    def plain_write(self, at: int, value: Any) -> None:
        numbers_at(at, (1,), np.int64)[0] = value


class Six(Field):
    words, dtype = 6, (np.float64, 6)

    def numba_type(self, element: Any) -> Any:
        return sixes_type

    def plain_read(self, row: Any, at: int) -> Any:
        return make_six(*map(number, numbers_at(at, (6,))))

    def read(self, context: Any, builder: Any, element: Any, at: Any) -> Any:
        return load_pair(builder, at)

    def write(self, context: Any, builder: Any, element: Any, at: Any, value: Any) -> None:
        store_pair(builder, at, value)


class Value(Field):
    """A NamedTuple of algebra.py."""

    def __init__(self, of: type) -> None:
        self.of = of
        self.words = _count(of)
        self.dtype = (np.float64, self.words)

    def numba_type(self, element: Any) -> Any:
        return _tuple_type(self.of, element)

    def read(self, context: Any, builder: Any, element: Any, at: Any) -> Any:
        return _read_parts(context, builder, element, builder.bitcast(at, _pointer(context, element)), self.of, 0)[0]

    def write(self, context: Any, builder: Any, element: Any, at: Any, value: Any) -> None:
        _write_parts(builder, builder.bitcast(at, _pointer(context, element)), self.of, value, 0)

    def plain_read(self, row: Any, at: int) -> Any:
        return _build(self.of, iter(map(number, numbers_at(at, (self.words,)))))


def _build(of: Any, numbers: Iterator[Any]) -> Any:
    return next(numbers) if of is float else of(*[_build(part, numbers) for part in _PARTS[of]])


def _count(of: Any) -> int:
    return 1 if of is float else sum(_count(x) for x in _PARTS[of])


def _tuple_type(of: Any, element: Any) -> Any:
    if of is float:
        return element
    parts = [_tuple_type(x, element) for x in _PARTS[of]]
    if len(set(parts)) == 1:
        return types.NamedUniTuple(parts[0], len(parts), of)
    return types.NamedTuple(parts, of)


def _pointer(context: Any, element: Any) -> Any:
    return context.get_value_type(element).as_pointer()


def _entry(builder: Any, p: Any, k: int) -> Any:
    return builder.gep(p, [ir.Constant(WORD, k)])


def _read_parts(context: Any, builder: Any, element: Any, p: Any, of: Any, k: int) -> tuple[Any, int]:
    """The value whose numbers begin at p[k], and where the next begins."""
    if of is float:
        return builder.load(_entry(builder, p, k), align=8), k + 1
    values = []
    for part in _PARTS[of]:
        value, k = _read_parts(context, builder, element, p, part, k)
        values.append(value)
    return context.make_tuple(builder, _tuple_type(of, element), values), k


@lower_cast(types.BaseNamedTuple, types.BaseNamedTuple)
def _cast(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    """Where some numbers are float64 and all must be registers: cast part by part."""
    parts = [
        context.cast(builder, builder.extract_value(value, i), a, b)
        for i, (a, b) in enumerate(zip(fromty.types, toty.types))
    ]
    return context.make_tuple(builder, toty, parts)


def _write_parts(builder: Any, p: Any, of: Any, value: Any, k: int) -> int:
    if of is float:
        builder.store(value, _entry(builder, p, k), align=8)
        return k + 1
    for i, part in enumerate(_PARTS[of]):
        k = _write_parts(builder, p, part, builder.extract_value(value, i), k)
    return k


# --- fields that stay in memory -------------------------------------------------------------------------------------


class InPlace(Field):
    """A field that compiled code identifies by its address."""

    def read(self, context: Any, builder: Any, element: Any, at: Any) -> Any:
        return builder.bitcast(at, context.get_value_type(self.numba_type(element)))


class Numbers(InPlace):
    """A fixed count of numbers in the struct itself."""

    def __init__(self, count: int) -> None:
        self.words, self.dtype = count, (np.float64, count)

    def numba_type(self, element: Any) -> Any:
        return types.CPointer(element)

    def plain_read(self, row: Any, at: int) -> Any:
        return numbers_at(at, (self.words,))


# --- fields that point elsewhere ------------------------------------------------------------------------------------


class Pointer(Field):
    """A field that holds an address. It never changes while compiled code runs, which therefore need not reload it
    after a write."""

    dtype: Any = np.int64

    def read(self, context: Any, builder: Any, element: Any, at: Any) -> Any:
        found = super().read(context, builder, element, at)
        found.set_metadata("invariant.load", builder.module.add_metadata([]))
        return found

    def write(self, context: Any, builder: Any, element: Any, at: Any, value: Any) -> None:
        raise TypeError("addresses are written on the host, before compiled code runs")


class Address(Pointer):
    """The code that reads it knows what the address refers to."""

    def numba_type(self, element: Any) -> Any:
        return types.int64

    def plain_read(self, row: Any, at: int) -> Any:
        return integer_at(at)


class Elsewhere(Pointer):
    """A field that holds an address, and the number of items there."""

    words = 2
    dtype = (np.int64, 2)

    def count(self, value: Any) -> int:
        """The number of items in an array assigned to it."""
        return int(value.size)


class Floats(Elsewhere):
    def numba_type(self, element: Any) -> Any:
        return types.CPointer(element)

    def plain_read(self, row: Any, at: int) -> Any:
        return numbers_at(integer_at(at), (integer_at(at + 8),))


class Integers(Elsewhere):
    def numba_type(self, element: Any) -> Any:
        return types.CPointer(types.int64)

    def plain_read(self, row: Any, at: int) -> Any:
        return numbers_at(integer_at(at), (integer_at(at + 8),), np.int64)
