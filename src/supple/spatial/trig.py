"""Sines and cosines together, four at a time, to within 1.6 units in the last place (4 for thousands of turns).

Range reduction by π/2 in three parts (Cody and Waite), exact as long as the multiple of π/2 has at most 20 bits; a
larger argument is first reduced by the C library. Minimax polynomials of degree 13 and 14 on ±π/4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from supple.spatial.compiler import INLINE, helper
from supple.spatial.cpu import WIDTH, lanes_type
from supple.spatial.cpu.lanes import extract, insert, number_as_lanes
from supple.spatial.fields import Number
from supple.spatial.structs import Struct

RING = 32  #: turns in a ring
LARGEST = 1.0e6  #: beyond this the three-part reduction loses digits
_TWO_OVER_PI = 0.6366197723675814
_PI_2_A, _PI_2_B, _PI_2_C = 1.5707963267341256, 6.0771005063039660e-11, 2.0222662487959506e-21
_S = (-1.66666666666666324e-1, 8.33333333332248946e-3, -1.98412698298579493e-4, 2.75573137070700677e-6,
      -2.50507602534068634e-8, 1.58969099521155010e-10)  # fmt: skip
_C = (4.16666666666666019e-2, -1.38888888888741096e-3, 2.48015872894767294e-5, -2.75573143513906633e-7,
      2.08757232129817483e-9, -1.13596475577881948e-11)  # fmt: skip
S1, S2, S3, S4, S5, S6 = _S
C1, C2, C3, C4, C5, C6 = _C


class Turn(Struct):
    """Sine and cosine of an angle."""

    sin = Number()
    cos = Number()


@helper
def _reduce(x, n):
    """x - n π/2"""
    return ((x - n * _PI_2_A) - n * _PI_2_B) - n * _PI_2_C


@helper
def _sine(r):
    z = r * r
    return r + r * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))


@helper
def _cosine(r):
    z = r * r
    return 1.0 - 0.5 * z + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))))


_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_INTS = ir.VectorType(ir.IntType(64), WIDTH)


@intrinsic
def _vector_rint(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        f = cgutils.get_or_insert_function(builder.module, kind, f"llvm.nearbyint.v{WIDTH}f64")
        return builder.call(f, args)

    return lanes_type(lanes_type), codegen


@intrinsic
def _vector_small(typingctx: Any, x: Any) -> Any:
    """Whether every lane is within ±LARGEST."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ok = None
        for lane in range(WIDTH):
            e = builder.extract_element(args[0], ir.Constant(ir.IntType(32), lane))
            low = builder.fcmp_ordered(">=", e, ir.Constant(ir.DoubleType(), -LARGEST))
            high = builder.fcmp_ordered("<=", e, ir.Constant(ir.DoubleType(), LARGEST))
            both = builder.and_(low, high)
            ok = both if ok is None else builder.and_(ok, both)
        return ok

    return types.boolean(lanes_type), codegen


@intrinsic
def _vector_quadrant(typingctx: Any, s: Any, c: Any, n: Any) -> Any:
    """Sine and cosine of r + n π/2 from those of r."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        sine, cosine, number = args
        narrow = builder.fptosi(number, ir.VectorType(ir.IntType(32), WIDTH))
        k = builder.sext(narrow, _INTS)

        def constant(value: int) -> Any:
            return ir.Constant(_INTS, [value] * WIDTH)

        odd = builder.icmp_signed("!=", builder.and_(k, constant(1)), constant(0))
        swapped = builder.select(odd, cosine, sine), builder.select(odd, sine, cosine)
        signs = (
            builder.shl(builder.and_(k, constant(2)), constant(62)),
            builder.shl(builder.and_(builder.add(k, constant(1)), constant(2)), constant(62)),
        )
        out = [
            builder.bitcast(builder.xor(builder.bitcast(x, _INTS), sign), _VECTOR) for x, sign in zip(swapped, signs)
        ]
        return context.make_tuple(builder, sig.return_type, out)

    return types.UniTuple(lanes_type, 2)(lanes_type, lanes_type, lanes_type), codegen


@helper
def _vector_sincos(x):
    if _vector_small(x):
        n = _vector_rint(x * _TWO_OVER_PI)
        r = _reduce(x, n)
        return _vector_quadrant(_sine(r), _cosine(r), n)
    s, c = x, x
    for lane in range(WIDTH):
        e = extract(x, lane)
        s = insert(s, lane, math.sin(e))
        c = insert(c, lane, math.cos(e))
    return s, c


@helper
def _four(q, index, first, stop):
    """Four entries of q as a register (the last one repeated past the end)."""
    x = number_as_lanes(q[index[first]])
    for lane in range(1, WIDTH):
        x = insert(x, lane, q[index[min(first + lane, stop - 1)]])
    return x


@helper
def _sincos_numbers(q, index, first, stop, ring):
    for k in range(first, stop, WIDTH):
        s, c = _vector_sincos(_four(q, index, k, stop))
        for lane in range(min(WIDTH, stop - k)):
            turn = ring[(k + lane) & (RING - 1)]
            turn.sin = extract(s, lane)
            turn.cos = extract(c, lane)


@helper
def _sincos_lanes(q, index, first, stop, ring):
    for k in range(first, stop):
        turn = ring[k & (RING - 1)]
        turn.sin, turn.cos = _vector_sincos(q[index[k]])


def sincos_ring(q: Any, index: Any, first: int, stop: int, ring: Any) -> None:
    """Sine and cosine of q[index[k]], first <= k < stop, into row k mod RING of a ring of turns: four at a time, for
    any values of q."""
    for k in range(first, stop):
        turn, x = ring[k % RING], q[index[k]]
        turn.sin, turn.cos = np.sin(x), np.cos(x)


@overload(sincos_ring, jit_options=INLINE, strict=False)
def _sincos_ring(q: Any, index: Any, first: Any, stop: Any, ring: Any) -> Any:
    return _sincos_lanes.py_func if q.dtype == lanes_type else _sincos_numbers.py_func
