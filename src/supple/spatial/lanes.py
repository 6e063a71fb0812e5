"""Four states at once: a number type that is a SIMD register of four float64.

A kernel written for numbers also runs on this type: `lanes_at(address, shape)` is an array of registers, so that
`a[i, k]` is entry (i, k) of four states. What differs between states must not decide a branch: there are no
comparisons on this type, only `smaller`.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import carray, types
from numba.core.typeconv import Conversion
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, overload, register_model

from supple.spatial.compiler import INLINE, OPTIONS, helper

WIDTH = 4
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_FLAGS = tuple(sorted(OPTIONS["fastmath"]))


class LanesType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(f"f64x{WIDTH}")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if other == types.float64 else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if other == types.float64 else None


lanes_type = LanesType()


@register_model(LanesType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _VECTOR)


def _splat(builder: Any, x: Any) -> Any:
    zero = ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), x, zero)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)


@lower_cast(types.float64, LanesType)
def _from_float(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _splat(builder, value)


def _arithmetic(op: Any, instruction: str) -> None:
    v, f = lanes_type, types.float64
    pairs = [(v, v), (v, f), (f, v)]

    @infer_global(op)
    class _Typing(ConcreteTemplate):  # type: ignore[misc]
        cases = [signature(v, *pair) for pair in pairs]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide = [x if t == v else _splat(builder, x) for x, t in zip(args, sig.args)]
        return getattr(builder, instruction)(*wide, flags=_FLAGS)

    for pair in pairs:
        lower_builtin(op, *pair)(lower)


for _op, _iop, _instruction in (
    (operator.add, operator.iadd, "fadd"),
    (operator.sub, operator.isub, "fsub"),
    (operator.mul, operator.imul, "fmul"),
    (operator.truediv, operator.itruediv, "fdiv"),
):
    _arithmetic(_op, _instruction)
    _arithmetic(_iop, _instruction)


@infer_global(operator.neg)
class _NegTyping(ConcreteTemplate):  # type: ignore[misc]
    cases = [signature(lanes_type, lanes_type)]


@lower_builtin(operator.neg, lanes_type)
def _negate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fsub(ir.Constant(_VECTOR, [-0.0] * WIDTH), args[0], flags=_FLAGS)


@intrinsic
def _lanes_pointer(typingctx: Any, address: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

    return types.CPointer(lanes_type)(types.int64), codegen


@helper
def lanes_at(address, shape):
    """The array of registers of that shape at an address, which must be a multiple of a register's size."""
    return carray(_lanes_pointer(address), shape)


@intrinsic
def load_four(typingctx: Any, a: Any, i: Any) -> Any:
    """a[i:i+4] of a float64 vector as a register; the caller sees to it that they are there."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.load(builder.bitcast(builder.gep(array.data, [args[1]]), _VECTOR.as_pointer()), align=8)

    return lanes_type(a, types.int64), codegen


@intrinsic
def store_four(typingctx: Any, a: Any, i: Any, x: Any) -> Any:
    """a[i:i+4] = x"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = context.make_array(sig.args[0])(context, builder, args[0])
        builder.store(args[2], builder.bitcast(builder.gep(array.data, [args[1]]), _VECTOR.as_pointer()), align=8)
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


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers, lane by lane; the second where either is NaN."""
    return a if a < b else b


@overload(smaller, jit_options=INLINE, strict=False)
def _smaller(a: Any, b: Any) -> Any:
    if a == lanes_type:
        return lambda a, b: _vector_smaller(a, b)
    return lambda a, b: a if a < b else b


def number_like(x: Any, value: float) -> Any:
    """The number `value` in the type of x, so that both arms of a branch have one type."""
    return x * 0 + value if not isinstance(x, float) else value


@intrinsic
def number_as_lanes(typingctx: Any, value: Any) -> Any:
    """One number in all lanes."""
    return lanes_type(types.float64), lambda context, builder, sig, args: _splat(builder, args[0])


@overload(number_like, jit_options=INLINE, strict=False)
def _number_like(x: Any, value: Any) -> Any:
    if x == lanes_type:
        return lambda x, value: number_as_lanes(value)
    return lambda x, value: value
