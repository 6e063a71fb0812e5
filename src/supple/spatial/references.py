"""Calling compiled code cheaply: Python objects passed as they are, and model data passed as one address.

Numba's own unboxing of an array argument costs 50 to 80 ns, more than a joint's share of the dynamics. A kernel that
takes `reference` arguments gets the objects' addresses and checks for itself, in a few loads, that they are
C-contiguous float64 arrays of the right shape (`fits`); the caller holds the objects and the interpreter lock for as
long as the call lasts. When an argument does not fit, the kernel returns ODD and the Python caller converts it or
says what is wrong with it.

The result is made the same way: `new_array` calls NumPy's own constructor, and a kernel whose return type is
`reference` hands the array (or, in its place, a small integer: a status) to Python. That saves the 150 ns of a call
of np.empty.

The rest comes in a header: an int64 array whose first entries describe how this interpreter lays out its objects,
followed by whatever the algorithm put there (sizes, addresses of tables and scratch).
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.core import cgutils
from numba.extending import NativeValue, box, intrinsic, models, register_model, unbox
from numpy.typing import NDArray

from supple.spatial.compiler import helper

OK, ODD = 0, 1

_ARRAY_TYPE, _FLOAT64, _HEAD_WORDS, _NONE, _PYARRAY_NEW = range(5)
PREFIX = 5  #: words of a header before the algorithm's own

_PYARRAY_NEW_INDEX = 93  #: of PyArray_New in NumPy's C interface, which keeps its order
_NPY_DOUBLE = 12
_LARGEST_STATUS = 4095  #: no object lives at so low an address

_C_CONTIGUOUS_ALIGNED = 0x0001 | 0x0100


def header_prefix() -> list[int]:
    """What kernels must know of this interpreter: two types, the size of an object's head, None, how to make an
    array."""
    return [id(np.ndarray), id(np.dtype(np.float64)), object.__basicsize__ // 8, id(None), _pyarray_new()]


@cache
def _pyarray_new() -> int:
    """The address of NumPy's PyArray_New."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    umath = import_module("numpy._core._multiarray_umath" if np.__version__ >= "2" else "numpy.core._multiarray_umath")
    table = ctypes.cast(get_pointer(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[_PYARRAY_NEW_INDEX] or 0)


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


@box(ReferenceType)
def _box(typ: Any, value: Any, c: Any) -> Any:
    """An object, whose reference passes to the caller, or a status as an int."""
    b = c.builder
    out = cgutils.alloca_once(b, c.pyapi.pyobj)
    is_status = b.icmp_unsigned("<=", value, ir.Constant(ir.IntType(64), _LARGEST_STATUS))
    with b.if_else(is_status) as (status, thing):
        with status:
            b.store(c.pyapi.long_from_longlong(value), out)
        with thing:
            b.store(b.inttoptr(value, c.pyapi.pyobj), out)
    return b.load(out)


@intrinsic
def as_reference(typingctx: Any, x: Any) -> Any:
    """An address, or a status, as what a kernel returns."""
    return reference(types.int64), lambda context, builder, sig, args: args[0]


@intrinsic
def _call_pyarray_new(typingctx: Any, function: Any, array_type: Any, ndim: Any, dims: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word, small = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(word, [word, small, word, small, word, word, small, small, word])
        zero, small_zero = ir.Constant(word, 0), ir.Constant(small, 0)
        call = builder.inttoptr(args[0], kind.as_pointer())
        ndim32, double = builder.trunc(args[2], small), ir.Constant(small, _NPY_DOUBLE)
        return builder.call(call, [args[1], ndim32, args[3], double, zero, zero, small_zero, small_zero, zero])

    return types.int64(types.int64, types.int64, types.int64, types.int64), codegen


@intrinsic
def _release(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pyapi = context.get_python_api(builder)
        pyapi.decref(builder.inttoptr(args[0], pyapi.pyobj))
        return context.get_dummy_value()

    return types.void(types.int64), codegen


@helper
def new_array(header, ndim, dims):
    """A new float64 array, uninitialised: its address as an object. dims: the address of its shape."""
    return _call_pyarray_new(header[_PYARRAY_NEW], header[_ARRAY_TYPE], ndim, dims)


@helper
def release(array):
    """Give up an array that new_array made."""
    _release(array)


@helper
def floats_in(header, array, shape):
    """The data of an array that new_array made."""
    return floats_at(ints_at(array, (header[_HEAD_WORDS] + 1,))[header[_HEAD_WORDS]], shape)


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


# An ndarray is, after the head common to all objects: data, ndim (32 bits), dimensions, strides, base, descr, flags.


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
