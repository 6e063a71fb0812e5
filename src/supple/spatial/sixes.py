"""Six numbers at once: a spatial vector, or a row of a 6x6 matrix, in one SIMD register.

Matrices lie in flat arrays, six numbers a row: `six(a, k)` is a[k:k+6], and row i of the matrix at k is
`six(a, k + 6 * i)`. Nothing checks that they are there.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from supple.spatial.registers import make_register

SIX = 6
sixes_type = make_register(SIX)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, k: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [k]), sixes_type.vector.as_pointer())


@intrinsic
def six(typingctx: Any, a: Any, k: Any) -> Any:
    """a[k:k+6]"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, sig.args[0], *args), align=8)

    return sixes_type(a, types.int64), codegen


@intrinsic
def set_six(typingctx: Any, a: Any, k: Any, x: Any) -> Any:
    """a[k:k+6] = x"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, sig.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(a, types.int64, sixes_type), codegen


@intrinsic
def dot(typingctx: Any, x: Any, y: Any) -> Any:
    """The sum of the six products."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        product = builder.fmul(*args, flags=("contract", "nsz"))
        parts = [builder.extract_element(product, ir.Constant(ir.IntType(32), i)) for i in range(SIX)]
        a, b, c = (builder.fadd(*parts[i : i + 2]) for i in (0, 2, 4))  # by pairs: a shorter chain of additions
        return builder.fadd(builder.fadd(a, b), c)

    return types.float64(sixes_type, sixes_type), codegen


@intrinsic
def swap_pairs(typingctx: Any, x: Any) -> Any:
    """(x1, x0, x3, x2, x4, x5)"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), SIX), [1, 0, 3, 2, 4, 5])
        return builder.shuffle_vector(args[0], ir.Constant(sixes_type.vector, ir.Undefined), mask)

    return sixes_type(sixes_type), codegen


@intrinsic
def make_six(typingctx: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Six numbers as one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        out = ir.Constant(sixes_type.vector, ir.Undefined)
        for i, x in enumerate(args):
            out = builder.insert_element(out, x, ir.Constant(ir.IntType(32), i))
        return out

    return sixes_type(*[types.float64] * SIX), codegen
