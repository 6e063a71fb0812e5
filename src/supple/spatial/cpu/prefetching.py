"""Prefetching: asking for memory that will be used soon."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from supple.spatial.addresses import entry_address
from supple.spatial.compiler import INLINE

LINE = 8  #: numbers in a cache line


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
