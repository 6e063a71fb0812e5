"""Addresses of entries of arrays, vectors and tables, and prefetching them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from supple.spatial.compiler import INLINE

LINE = 8  #: numbers in a cache line


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


def fetch(a: Any, i: int, lines: int) -> None:
    """Prefetch the first cache lines of a row of an array or table that will be used soon; the row need not exist."""


def fetch_from(a: Any, k: int, lines: int) -> None:
    """The same for a vector, starting at its entry k."""


@intrinsic
def _fetch(typingctx: Any, a: Any, i: Any, k: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if isinstance(a, types.CPointer) or getattr(a, "ndim", 2) == 1:
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
