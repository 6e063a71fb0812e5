"""SIMD registers as number types: arithmetic between registers of one width, and with numbers."""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

from supple.spatial.compiler import OPTIONS

_FLAGS = tuple(sorted(OPTIONS["fastmath"]))


class RegisterType(types.Type):  # type: ignore[misc]
    """A register of `width` float64."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.vector = ir.VectorType(ir.DoubleType(), width)
        super().__init__(f"f64x{width}")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if other == types.float64 else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if other == types.float64 else None


@register_model(RegisterType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, fe_type.vector)


def splat(builder: Any, register: RegisterType, x: Any) -> Any:
    """One number in all places of a register."""
    zero, nothing = ir.Constant(ir.IntType(32), 0), ir.Constant(register.vector, ir.Undefined)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), register.width), [0] * register.width)
    return builder.shuffle_vector(builder.insert_element(nothing, x, zero), nothing, mask)


@lower_cast(types.float64, RegisterType)
def _from_float(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return splat(builder, toty, value)


def _arithmetic(register: RegisterType, op: Any, instruction: str) -> None:
    f = types.float64
    pairs = [(register, register), (register, f), (f, register)]

    @infer_global(op)
    class _Typing(ConcreteTemplate):  # type: ignore[misc]
        cases = [signature(register, *pair) for pair in pairs]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        wide = [x if t == register else splat(builder, register, x) for x, t in zip(args, sig.args)]
        return getattr(builder, instruction)(*wide, flags=_FLAGS)

    for pair in pairs:
        lower_builtin(op, *pair)(lower)


def make_register(width: int) -> RegisterType:
    """A register type with + - * / and negation."""
    register = RegisterType(width)
    for name, instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
        _arithmetic(register, getattr(operator, name), instruction)
        _arithmetic(register, getattr(operator, "i" + name), instruction)

    @infer_global(operator.neg)
    class _NegTyping(ConcreteTemplate):  # type: ignore[misc]
        cases = [signature(register, register)]

    @lower_builtin(operator.neg, register)
    def _negate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fsub(ir.Constant(register.vector, [-0.0] * width), args[0], flags=_FLAGS)

    return register
