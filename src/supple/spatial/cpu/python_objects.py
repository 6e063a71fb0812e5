"""Calling compiled code cheaply: a kernel as a builtin function, which gets Python objects as they are.

Numba's own wrapper costs 70 ns per call, and 50 to 80 more for each array: more than a joint's share of the dynamics.
An entry kernel is what CPython calls a C function instead: `function_of` makes a builtin of it, bound to a header, and
it receives the addresses of the header and of the arguments. It checks by itself, in a few loads, that these are
C-contiguous float64 arrays of the right shape (`fits_...`); the caller holds the objects and the interpreter lock for
the duration of the call. If an argument does not fit, the kernel returns ODD and the Python caller converts it or
reports what is wrong with it.

The result is made in the same way: `new_array` calls NumPy's own constructor, which saves the 150 ns of a call of
np.empty. An entry kernel returns the address of an object: that array, a `status_object`, or the result of `refuse`.

The header is an int64 array whose first entries are addresses in this interpreter, followed by that of a struct in
which the algorithm finds everything else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config
from numba.extending import intrinsic

from supple.spatial.addresses import float_vector, int_vector, ints_at
from supple.spatial.compiler import Kernel, helper

OK, ODD = 0, 1

_ARRAY_TYPE, _FLOAT64, _NONE, _PYARRAY_NEW = range(4)
_STRUCT = 4  #: where the address of the algorithm's struct follows

#: Signatures of entry kernels: with one argument, and with several (the address of their addresses, and their number).
ONE_ARGUMENT = types.int64(types.int64, types.int64)
ARGUMENTS = types.int64(types.int64, types.int64, types.int64)
_METH_O, _METH_FASTCALL = 0x0008, 0x0080

_HEAD = object.__basicsize__ // 8  #: words at the beginning of every object; the last is its type
_PYARRAY_NEW_INDEX = 93  #: of PyArray_New in NumPy's C API, whose order is stable
_NPY_DOUBLE = 12

_C_CONTIGUOUS_ALIGNED = 0x0001 | 0x0100


def header_prefix() -> list[int]:
    """What kernels must know about this interpreter: two types, None, how to make an array."""
    return [id(np.ndarray), id(np.dtype(np.float64)), id(None), _pyarray_new()]


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


@cache
def _method(kernel: Kernel) -> _MethodDef:
    """How CPython calls an entry kernel; kept forever, since functions refer to it."""
    flags = _METH_O if kernel.signature == ONE_ARGUMENT else _METH_FASTCALL
    return _MethodDef(kernel.name.encode(), kernel.address(), flags, None)


class Object:
    """An object made known to compiled code, for the field of a struct."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.address = id(of)


class _Header(np.ndarray[Any, Any]):
    """A header, and everything its addresses refer to."""

    kept: tuple[Any, ...]


def function_of(kernel: Kernel, struct: Any, *kept: Any) -> Callable[..., Any]:
    """An entry kernel as a Python function, bound to a struct; it keeps the struct alive, and what that refers to.
    With the compiler disabled, one that refuses: there is nothing to call."""
    if config.DISABLE_JIT:
        return kernel.refuse_plain
    header = np.array([*header_prefix(), struct.address], dtype=np.int64).view(_Header)
    header.kept = (struct, *kept)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = make(ctypes.addressof(_method(kernel)), header, None)
    return function


@cache
def _pyarray_new() -> int:
    """The address of NumPy's PyArray_New."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    umath = import_module("numpy._core._multiarray_umath" if np.__version__ >= "2" else "numpy.core._multiarray_umath")
    table = ctypes.cast(get_pointer(umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return int(table[_PYARRAY_NEW_INDEX] or 0)


@intrinsic
def status_object(typingctx: Any, status: Any) -> Any:
    """A new int."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ptrtoint(context.get_python_api(builder).long_from_longlong(args[0]), ir.IntType(64))

    return types.int64(types.int64), codegen


@intrinsic
def _retain(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pyapi = context.get_python_api(builder)
        pyapi.incref(builder.inttoptr(args[0], pyapi.pyobj))
        return args[0]

    return types.int64(types.int64), codegen


@helper
def none_object(header):
    """None, for a kernel that has nothing to return."""
    return _retain(header[_NONE])


@intrinsic
def refuse(typingctx: Any, exception: Any, message: Any) -> Any:
    """Raise an exception, given the addresses of its class and of a message: the return value of an entry kernel."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pyapi = context.get_python_api(builder)
        pyapi.err_set_object(*[builder.inttoptr(x, pyapi.pyobj) for x in args])
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(types.int64, types.int64), codegen


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
    """Release an array made by new_array."""
    _release(array)


@helper
def data_of(array):
    """The address of an array's data."""
    return ints_at(array, (_HEAD + 1,))[_HEAD]


@helper
def floats_of(array, size):
    """The data of an array, as a vector."""
    return float_vector(data_of(array), size)


# An ndarray has, after the head common to all objects: data, ndim (32 bits), dimensions, strides, base, descr, flags.


@helper
def header_of(array):
    """The header that an entry kernel is bound to, and the address of the algorithm's own struct."""
    header = int_vector(data_of(array), _STRUCT + 1)
    return header, header[_STRUCT]


@helper
def is_none(header, x):
    return x == header[_NONE]


@helper
def _is_plain(header, x, ndim):
    """Whether x is a C-contiguous, aligned float64 ndarray (not of a subclass) of ndim dimensions."""
    words = ints_at(x, (_HEAD + 7,))
    if words[_HEAD - 1] != header[_ARRAY_TYPE]:
        return False
    if words[_HEAD + 5] != header[_FLOAT64]:
        return False
    flags = words[_HEAD + 6] & _C_CONTIGUOUS_ALIGNED
    return (words[_HEAD + 1] & 0xFFFFFFFF) == ndim and flags == _C_CONTIGUOUS_ALIGNED


@helper
def fits_vector(header, x, n):
    return _is_plain(header, x, 1) and ints_at(ints_at(x, (_HEAD + 7,))[_HEAD + 2], (1,))[0] == n


@helper
def fits_matrix(header, x, n, m):
    if not _is_plain(header, x, 2):
        return False
    shape = ints_at(ints_at(x, (_HEAD + 7,))[_HEAD + 2], (2,))
    return shape[0] == n and shape[1] == m
