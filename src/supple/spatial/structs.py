"""Memory shared by kernels, declared once: fields by name, for compiled code, for NumPy and for plain Python.

    class Stretch(Struct):
        Phi1 = Mat6()       # [QS (1)]
        b1 = Six()
        eta = Number()

In a kernel, `nodes = Stretch.table(address)`, then `nodes[i].b1 = nodes[k].b1 + f` and `nodes[i].eta += 1.0`; one
struct alone is `Stretch.at(address)`. A field is at a constant offset from an address, so a name costs nothing. A
struct of registers, four states at once, is `Stretch.lanes_at(address)`; `Stretch.table_of(kind)` opens tables of
numbers of any type.

On the host, `Stretch.zeros(n)` is NumPy's structured array of the same layout and `Stretch.of(q=array, n=3)` one struct
whose address fields were given arrays, which it keeps alive [held.py].

Without the compiler `at` and `table` open the same memory as Python objects whose every index is checked
[plain_structs.py].
"""

from __future__ import annotations

import operator
from typing import Any, ClassVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.imputils import lower_builtin, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from supple.spatial import plain_structs
from supple.spatial.addresses import entry_address
from supple.spatial.cpu import lanes_type
from supple.spatial.fields import BYTE, WORD, Elsewhere, Field, InPlace, Pointer
from supple.spatial.held import Held, held_class


class StructType(types.Type):  # type: ignore[misc]
    """One struct, identified by its address; its numbers are of the type `element`."""

    def __init__(self, struct: type[Struct], element: Any) -> None:
        self.struct, self.element = struct, element
        self.word = 8 * getattr(element, "width", 1)  # bytes of a number
        super().__init__(f"{struct.__module__}.{struct.__name__}[{element}]")


class TableType(types.Type):  # type: ignore[misc]
    """Consecutive structs."""

    def __init__(self, row: StructType) -> None:
        self.row = row
        self.row_bytes, self.word = row.word * row.struct.words, row.word
        super().__init__(f"table({row.name})")


@register_model(StructType)
@register_model(TableType)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, BYTE)


class Struct:
    """Declares a layout by its class attributes. `words`: its size; `align` (an argument of the class): the number of
    words of which the size is a multiple."""

    fields: ClassVar[dict[str, Field]] = {}
    offsets: ClassVar[dict[str, int]] = {}  #: in words
    words: ClassVar[int] = 0
    dtype: ClassVar[Any] = None
    type: ClassVar[Any] = None  #: for the signatures of kernels: Python gives them the address of a struct
    held: ClassVar[Any]  #: the class of one struct on the host [held.py]
    at: ClassVar[Any]
    among: ClassVar[Any]  #: (numbers, k): the struct that begins at numbers[k], with numbers of that type
    new: ClassVar[Any]  #: (): a struct in the memory of the running function, which must not be returned from it
    table: ClassVar[Any]
    lanes_at: ClassVar[Any]
    lanes_table: ClassVar[Any]

    def __init_subclass__(cls, align: int = 1) -> None:
        own = {name: x for name, x in vars(cls).items() if isinstance(x, Field)}
        cls.fields, cls.offsets, end = {}, {}, 0
        for name, field in own.items():
            inner: type[Struct] | None = field.struct if isinstance(field, Embedded) else None
            cls.fields |= {name: field} | (inner.fields if inner else {})
            cls.offsets |= {name: end} | ({k: end + at for k, at in inner.offsets.items()} if inner else {})
            end += field.words
        cls.words = -(-end // align) * align
        shown = {k: x for k, x in cls.fields.items() if x.words and not isinstance(x, Embedded)}
        cls.dtype = np.dtype(
            {
                "names": list(shown),
                "formats": [x.dtype for x in shown.values()],
                "offsets": [8 * cls.offsets[name] for name in shown],
                "itemsize": 8 * cls.words,
            }
        )
        cls.type, cls.held = StructType(cls, types.float64), held_class(cls)
        cls.at, cls.table, cls.among, cls.new = _openers(cls, types.float64)
        cls.lanes_at, cls.lanes_table, _, _ = _openers(cls, lanes_type)

    @classmethod
    def table_of(cls, element: Any) -> Any:
        """`table`, for numbers of a given type."""
        return _openers(cls, element)[1]

    @classmethod
    def zeros(cls, n: int) -> np.ndarray[Any, Any]:
        """n structs on the host."""
        return np.zeros(n, cls.dtype)

    @classmethod
    def of(cls, **values: Any) -> Held:
        """One struct on the host with these values."""
        return cls.held(values)


def _openers(struct: type[Struct], element: Any) -> tuple[Any, Any, Any, Any]:
    """Functions that open one struct, and a table of them, at an address; one struct among numbers; and make a new
    one."""
    if config.DISABLE_JIT:
        return plain_structs.openers(struct)
    row = StructType(struct, element)
    return _opener(row), _opener(TableType(row)), _among(struct), _maker(row)


def _opener(kind: Any) -> Any:
    @intrinsic
    def opened(typingctx: Any, address: Any) -> Any:
        return kind(types.int64), lambda context, builder, sig, args: builder.inttoptr(args[0], BYTE)

    return opened


def _among(struct: type[Struct]) -> Any:
    @intrinsic
    def among(typingctx: Any, numbers: Any, k: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.bitcast(entry_address(context, builder, sig.args[0], *args), BYTE)

        return StructType(struct, numbers.dtype)(numbers, types.int64), codegen

    return among


def _maker(kind: Any) -> Any:
    @intrinsic
    def new(typingctx: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            room = ir.ArrayType(ir.IntType(8), kind.word * kind.struct.words)
            return builder.bitcast(cgutils.alloca_once(builder, room), BYTE)

        return kind(), codegen

    return new


# --- fields that refer to structs -----------------------------------------------------------------------------------


class Table(Elsewhere):
    """Structs elsewhere, by the address of the first."""

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct

    def count(self, value: Any) -> int:
        return int(value.nbytes) // (8 * self.struct.words)

    def numba_type(self, element: Any) -> Any:
        return TableType(StructType(self.struct, element))

    def plain_read(self, row: Any, at: int) -> Any:
        return plain_structs.Table(self.struct, plain_structs.integer_at(at), plain_structs.integer_at(at + 8))


class Link(Pointer):
    """One struct elsewhere, by its address."""

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct

    def numba_type(self, element: Any) -> Any:
        return StructType(self.struct, element)

    def plain_read(self, row: Any, at: int) -> Any:
        return plain_structs.Row(self.struct, plain_structs.integer_at(at))


class Embedded(InPlace):
    """A struct inside another. Its fields are fields of the other, too."""

    def __init__(self, struct: type[Struct]) -> None:
        self.struct, self.words, self.dtype = struct, struct.words, struct.dtype

    def numba_type(self, element: Any) -> Any:
        return StructType(self.struct, element)

    def plain_read(self, row: Any, at: int) -> Any:
        return plain_structs.Row(self.struct, at)


class Several(InPlace):
    """A fixed number of structs inside another."""

    def __init__(self, count: int, struct: type[Struct]) -> None:
        self.struct, self.count, self.words = struct, count, count * struct.words
        self.dtype = (struct.dtype, count)

    def numba_type(self, element: Any) -> Any:
        return TableType(StructType(self.struct, element))

    def plain_read(self, row: Any, at: int) -> Any:
        return plain_structs.Table(self.struct, at, self.count)


class Following(InPlace):
    """Structs that follow this one, as many as there is room for: the last field of a struct."""

    words = 0

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct

    def numba_type(self, element: Any) -> Any:
        return TableType(StructType(self.struct, element))

    def plain_read(self, row: Any, at: int) -> Any:
        return plain_structs.Table(self.struct, at)


# --- compiled code --------------------------------------------------------------------------------------------------


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = StructType

    def generic_resolve(self, row: StructType, name: str) -> Any:
        field = row.struct.fields.get(name)
        return None if field is None else field.numba_type(row.element)


def _field_address(builder: Any, row: StructType, value: Any, name: str) -> Any:
    return builder.gep(value, [ir.Constant(WORD, row.word * row.struct.offsets[name])])


@lower_getattr_generic(StructType)
def _read(context: Any, builder: Any, row: StructType, value: Any, name: str) -> Any:
    return row.struct.fields[name].read(context, builder, row.element, _field_address(builder, row, value, name))


@lower_setattr_generic(StructType)
def _write(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    row, field = sig.args[0], sig.args[0].struct.fields[name]
    value = context.cast(builder, args[1], sig.args[1], field.numba_type(row.element))
    field.write(context, builder, row.element, _field_address(builder, row, args[0], name), value)


@infer_global(operator.getitem)
class _Rows(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0].row, args[0], types.int64) if isinstance(args[0], TableType) else None


@lower_builtin(operator.getitem, TableType, types.int64)
def _row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.gep(args[0], [builder.mul(args[1], ir.Constant(WORD, sig.args[0].row_bytes))])


@unbox(StructType)
def _from_python(kind: Any, address: Any, c: Any) -> Any:
    return NativeValue(c.builder.inttoptr(c.pyapi.long_as_longlong(address), BYTE))


@intrinsic
def address_in_memory(typingctx: Any, x: Any) -> Any:
    """The address of a struct or of a table, for a kernel that takes addresses."""
    return types.int64(x), lambda context, builder, sig, args: builder.ptrtoint(args[0], WORD)


if config.DISABLE_JIT:
    address_in_memory = plain_structs.address_in_memory
