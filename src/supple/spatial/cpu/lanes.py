"""Four states at once: a number type that is a SIMD register of four float64.

A kernel written for numbers also runs on this type: `lanes_vector(address)` is a vector of registers, so that `a[i]` is
entry i of four states, and structs have tables of them (structs.py). Values that differ between states must not
determine a branch: there are no comparisons on this type, only `smaller`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from supple.spatial.addresses import entry_address, pointers_to
from supple.spatial.any_number import number_like, smaller
from supple.spatial.compiler import INLINE, helper
from supple.spatial.cpu.registers import make_register, splat

WIDTH = 4
lanes_type = make_register(WIDTH)
_VECTOR = lanes_type.vector


_lanes_pointer = pointers_to(lanes_type)


@helper
def lanes_vector(address):
    """The vector of registers at an address, which must be a multiple of a register's size; compiled code knows only
    the address."""
    return _lanes_pointer(address)


@intrinsic
def load_four(typingctx: Any, a: Any, i: Any) -> Any:
    """a[i:i+4] of a float64 vector as a register; the caller ensures that they exist."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = entry_address(context, builder, sig.args[0], *args)
        return builder.load(builder.bitcast(at, _VECTOR.as_pointer()), align=8)

    return lanes_type(a, types.int64), codegen


@intrinsic
def store_four(typingctx: Any, a: Any, i: Any, x: Any) -> Any:
    """a[i:i+4] = x"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = entry_address(context, builder, sig.args[0], *args[:2])
        builder.store(args[2], builder.bitcast(at, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(a, types.int64, lanes_type), codegen


@intrinsic
def extract(typingctx: Any, x: Any, lane: Any) -> Any:
    """One number of a register."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], ir.IntType(32)))

    return types.float64(lanes_type, types.int64), codegen


@intrinsic
def insert(typingctx: Any, x: Any, lane: Any, value: Any) -> Any:
    """A register with one number replaced."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], ir.IntType(32)))

    return lanes_type(lanes_type, types.int64, types.float64), codegen


@intrinsic
def _vector_smaller(typingctx: Any, a: Any, b: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[0], args[1])

    return lanes_type(lanes_type, lanes_type), codegen


@intrinsic
def number_as_lanes(typingctx: Any, value: Any) -> Any:
    """One number in all lanes."""
    return lanes_type(types.float64), lambda context, builder, sig, args: splat(builder, lanes_type, args[0])


@overload(smaller, jit_options=INLINE, strict=False)
def _smaller(a: Any, b: Any) -> Any:
    return (lambda a, b: _vector_smaller(a, b)) if a == lanes_type else None


@overload(number_like, jit_options=INLINE, strict=False)
def _number_like(x: Any, value: Any) -> Any:
    return (lambda x, value: number_as_lanes(value)) if x == lanes_type else None
