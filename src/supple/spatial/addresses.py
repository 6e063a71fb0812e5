"""Memory by its address: vectors and arrays at an address, and the addresses of their entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import config
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from supple.spatial.compiler import INLINE, helper
from supple.spatial.plain_structs import numbers_at


def from_entry(a: Any, i: int) -> Any:
    """a[i:] of a vector of which only the address is known."""
    return a[i:]


@overload(from_entry, jit_options=INLINE, strict=False)
def _compiled_from_entry(a: Any, i: Any) -> Any:
    return (lambda a, i: _from_entry(a, i)) if isinstance(a, types.CPointer) else from_entry


@intrinsic
def _from_entry(typingctx: Any, a: Any, i: Any) -> Any:
    return a(a, types.int64), lambda context, builder, sig, args: builder.gep(args[0], [args[1]])


def entry_address(context: Any, builder: Any, kind: Any, value: Any, *index: Any) -> Any:
    """The address of an entry of a C-contiguous array, or of a vector of which only the address is known."""
    if isinstance(kind, types.CPointer):
        return builder.gep(value, [index[0]])
    if hasattr(kind, "row_bytes"):  # a table of structs: row, and number in it
        row, number = (ir.Constant(ir.IntType(64), x) for x in (kind.row_bytes, kind.word))
        return builder.gep(value, [builder.add(builder.mul(index[0], row), builder.mul(index[1], number))])
    array = context.make_array(kind)(context, builder, value)
    offset = index[0]
    if len(index) == 2:
        offset = builder.add(builder.mul(index[0], builder.extract_value(array.shape, 1)), index[1])
    return builder.gep(array.data, [offset])


# --- vectors and arrays at an address ------------------------------------------------------------------------------


def address_of(a: NDArray[Any]) -> int:
    """The address of an array's data; the caller keeps the array alive."""
    if a.dtype.names is not None:  # NumPy would describe its fields, too, which takes 10 us
        a = a.view(f"V{a.dtype.itemsize}")
    return int(a.__array_interface__["data"][0])


def pointers_to(kind: Any) -> Any:
    """A function that makes a pointer to numbers of a type from an address, in compiled code."""

    @intrinsic
    def pointer(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

        return types.CPointer(kind)(types.int64), codegen

    return pointer


_int_pointer = pointers_to(types.int64)
_float_pointer = pointers_to(types.float64)


@helper
def ints_at(address, shape):
    """The int64 array of that shape at an address."""
    return carray(_int_pointer(address), shape)


@helper
def floats_at(address, shape):
    return carray(_float_pointer(address), shape)


def int_vector(address: int, size: Any) -> Any:
    """The int64 vector at an address. Compiled code knows only its address, which is much cheaper to pass between
    functions than an array, and does not support negative indices; under NUMBA_BOUNDSCHECK it is an array."""
    return numbers_at(address, (int(size),), np.int64)


def float_vector(address: int, size: Any) -> Any:
    """The float64 vector at an address, likewise."""
    return numbers_at(address, (int(size),))


@overload(int_vector, jit_options=INLINE, strict=False)
def _int_vector(address: Any, size: Any) -> Any:
    if config.BOUNDSCHECK:
        return lambda address, size: ints_at(address, (size,))
    return lambda address, size: _int_pointer(address)


@overload(float_vector, jit_options=INLINE, strict=False)
def _float_vector(address: Any, size: Any) -> Any:
    if config.BOUNDSCHECK:
        return lambda address, size: floats_at(address, (size,))
    return lambda address, size: _float_pointer(address)


@helper
def vector(a):
    """A one-dimensional array as such a vector."""
    return float_vector(a.ctypes.data, a.shape[0])
