"""Calling compiled code cheaply: Python objects passed as they are, and model data passed as one address.

Numba's own unboxing of an array argument costs 50 to 80 ns, more than a joint's share of the dynamics. A kernel that takes
`reference` arguments gets the objects' addresses and checks for itself, in a few loads, that they are C-contiguous float64
arrays of the right shape (`fits`); the caller holds the objects and the interpreter lock for as long as the call lasts. When
an argument does not fit, the kernel returns ODD and the Python caller converts it or says what is wrong with it.

The rest comes in a header: an int64 array whose first entries describe how this interpreter lays out its objects, followed by
whatever the algorithm put there (sizes, addresses of tables and scratch).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox
from numpy.typing import NDArray

from supple.spatial.compiler import helper

OK, ODD = 0, 1

_ARRAY_TYPE, _FLOAT64, _HEAD_WORDS, _NONE = range(4)
PREFIX = 4  #: words of a header before the algorithm's own

_C_CONTIGUOUS_ALIGNED = 0x0001 | 0x0100


def header_prefix() -> list[int]:
    """What kernels must know of this interpreter: two types, the size of an object's head, None."""
    return [id(np.ndarray), id(np.dtype(np.float64)), object.__basicsize__ // 8, id(None)]


class ReferenceType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("object_reference")


reference = ReferenceType()


@register_model(ReferenceType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, ir.IntType(64))


@unbox(ReferenceType)
def _unbox(typ: Any, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.builder.ptrtoint(obj, ir.IntType(64)))


@intrinsic
def _address(typingctx: Any, x: Any) -> Any:
    return types.int64(x), lambda context, builder, sig, args: args[0]


def _pointer_to(element: Any) -> Any:
    @intrinsic
    def pointer(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

        return types.CPointer(element)(types.int64), codegen

    return pointer


_int_pointer = _pointer_to(types.int64)
_float_pointer = _pointer_to(types.float64)


@helper
def ints_at(address, shape):
    """The int64 array of that shape at an address."""
    return carray(_int_pointer(address), shape)


@helper
def floats_at(address, shape):
    return carray(_float_pointer(address), shape)


# An ndarray object is, after the head common to all objects: data, ndim (32 bits), dimensions, strides, base, descr, flags.


@helper
def is_none(header, x):
    return _address(x) == header[_NONE]


@helper
def _is_plain(header, x, ndim):
    """Whether x is a C-contiguous, aligned float64 ndarray (not of a subclass) of ndim dimensions."""
    head = header[_HEAD_WORDS]
    words = ints_at(_address(x), (head + 7,))
    if words[head - 1] != header[_ARRAY_TYPE]:
        return False
    if words[head + 5] != header[_FLOAT64]:
        return False
    return (words[head + 1] & 0xFFFFFFFF) == ndim and (words[head + 6] & _C_CONTIGUOUS_ALIGNED) == _C_CONTIGUOUS_ALIGNED


@helper
def fits_vector(header, x, n):
    if not _is_plain(header, x, 1):
        return False
    head = header[_HEAD_WORDS]
    return ints_at(ints_at(_address(x), (head + 7,))[head + 2], (1,))[0] == n


@helper
def fits_matrix(header, x, n, m):
    if not _is_plain(header, x, 2):
        return False
    head = header[_HEAD_WORDS]
    shape = ints_at(ints_at(_address(x), (head + 7,))[head + 2], (2,))
    return shape[0] == n and shape[1] == m


@helper
def floats_of(header, x, shape):
    """The data of an array that fits."""
    head = header[_HEAD_WORDS]
    return floats_at(ints_at(_address(x), (head + 7,))[head], shape)


def address_of(a: NDArray[Any]) -> int:
    """Where an array's data are; the caller keeps the array alive."""
    return int(a.__array_interface__["data"][0])
