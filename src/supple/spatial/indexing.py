"""Array entries at indices that are known not to count from the end.

Python's negative indices cost compiled code a test at every access whose index the compiler cannot prove positive,
which in loops over small rows is a tenth to a third of the time. `item`, `set_item`, `get` and `put` leave the test
out; under NUMBA_BOUNDSCHECK, and with the compiler disabled, they index as usual, so that a wrong index is found
there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import carray, types
from numba.core import cgutils, config
from numba.extending import intrinsic, overload

from supple.spatial.compiler import INLINE

LINE = 8  #: numbers in a cache line


def item(a: Any, i: int) -> Any:
    """a[i] of a vector."""
    return a[i]


def set_item(a: Any, i: int, x: Any) -> None:
    """a[i] = x of a vector."""
    a[i] = x


def get(a: Any, i: int, k: int) -> Any:
    """a[i, k]"""
    return a[i, k]


def put(a: Any, i: int, k: int, x: Any) -> None:
    """a[i, k] = x"""
    a[i, k] = x


def from_entry(a: Any, i: int) -> Any:
    """a[i:] of a vector of which only the address is known."""
    return a[i:]


def as_array(a: Any, n: int) -> Any:
    """a[:n] of a vector of which only the address is known, as an array."""
    return a[:n]


@overload(as_array, jit_options=INLINE, strict=False)
def _compiled_as_array(a: Any, n: Any) -> Any:
    return lambda a, n: carray(a, (n,))


@overload(from_entry, jit_options=INLINE, strict=False)
def _compiled_from_entry(a: Any, i: Any) -> Any:
    return lambda a, i: _from_entry(a, i)


@intrinsic
def _from_entry(typingctx: Any, a: Any, i: Any) -> Any:
    return a(a, types.int64), lambda context, builder, sig, args: builder.gep(args[0], [args[1]])


def entry_address(context: Any, builder: Any, kind: Any, value: Any, *index: Any) -> Any:
    """The address of an entry of a C-contiguous array, or of a vector of which only the address is known."""
    if isinstance(kind, types.CPointer):
        return builder.gep(value, [index[0]])
    array = context.make_array(kind)(context, builder, value)
    offset = index[0]
    if len(index) == 2:
        offset = builder.add(builder.mul(index[0], builder.extract_value(array.shape, 1)), index[1])
    return builder.gep(array.data, [offset])


@intrinsic
def _item(typingctx: Any, a: Any, i: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.unpack_value(builder, a.dtype, entry_address(context, builder, a, *args))

    return a.dtype(a, types.int64), codegen


@intrinsic
def _set_item(typingctx: Any, a: Any, i: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        context.pack_value(builder, a.dtype, args[2], entry_address(context, builder, a, *args[:2]))
        return context.get_dummy_value()

    return types.void(a, types.int64, a.dtype), codegen


@intrinsic
def _get(typingctx: Any, a: Any, i: Any, k: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.unpack_value(builder, a.dtype, entry_address(context, builder, a, *args))

    return a.dtype(a, types.int64, types.int64), codegen


@intrinsic
def _put(typingctx: Any, a: Any, i: Any, k: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        context.pack_value(builder, a.dtype, args[3], entry_address(context, builder, a, *args[:3]))
        return context.get_dummy_value()

    return types.void(a, types.int64, types.int64, a.dtype), codegen


@overload(item, jit_options=INLINE, strict=False)
def _compiled_item(a: Any, i: Any) -> Any:
    return item if config.BOUNDSCHECK else lambda a, i: _item(a, i)


@overload(set_item, jit_options=INLINE, strict=False)
def _compiled_set_item(a: Any, i: Any, x: Any) -> Any:
    return set_item if config.BOUNDSCHECK else lambda a, i, x: _set_item(a, i, x)


@overload(get, jit_options=INLINE, strict=False)
def _compiled_get(a: Any, i: Any, k: Any) -> Any:
    return get if config.BOUNDSCHECK else lambda a, i, k: _get(a, i, k)


@overload(put, jit_options=INLINE, strict=False)
def _compiled_put(a: Any, i: Any, k: Any, x: Any) -> Any:
    return put if config.BOUNDSCHECK else lambda a, i, k, x: _put(a, i, k, x)


def fetch(a: Any, i: int, lines: int) -> None:
    """Ask for the first cache lines of a row that will be wanted soon; it need not be there."""


def fetch_from(a: Any, k: int, lines: int) -> None:
    """The same, of a vector from its entry k on."""


@intrinsic
def _fetch(typingctx: Any, a: Any, i: Any, k: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if isinstance(a, types.CPointer) or a.ndim == 1:
            args = (args[0], builder.add(args[1], args[2]))
        byte, small = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, small, small, small])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(entry_address(context, builder, a, *args), byte)
        reading, often, data = (ir.Constant(small, x) for x in (0, 3, 1))
        builder.call(prefetch, [address, reading, often, data])
        return context.get_dummy_value()

    return types.void(a, types.int64, types.int64), codegen


@overload(fetch, jit_options=INLINE, strict=False)
def _compiled_fetch(a: Any, i: Any, lines: Any) -> Any:
    def compiled(a, i, lines):  # type: ignore[no-untyped-def]
        for line in range(lines):
            _fetch(a, i, LINE * line)

    return compiled


@overload(fetch_from, jit_options=INLINE, strict=False)
def _compiled_fetch_from(a: Any, k: Any, lines: Any) -> Any:
    def compiled(a, k, lines):  # type: ignore[no-untyped-def]
        for line in range(lines):
            _fetch(a, k, LINE * line)

    return compiled
