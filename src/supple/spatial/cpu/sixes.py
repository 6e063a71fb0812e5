"""Six numbers at once: a spatial vector, or a row of a 6x6 matrix, in two SIMD registers, of four and of two.

`six(a, k)` is a[k:k+6] of a vector; bounds are not checked. Matrices of such rows are in matrices.py. (One
register of eight would need a shuffle for every row that is read or written.)
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from supple.spatial.addresses import entry_address
from supple.spatial.compiler import OPTIONS

_FLAGS = tuple(sorted(OPTIONS["fastmath"]))
_FOUR, _TWO = ir.VectorType(ir.DoubleType(), 4), ir.VectorType(ir.DoubleType(), 2)
_PAIR = ir.LiteralStructType([_FOUR, _TWO])


class SixesType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("f64x6")


sixes_type = SixesType()


@register_model(SixesType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _PAIR)


def _parts(builder: Any, x: Any) -> tuple[Any, Any]:
    return builder.extract_value(x, 0), builder.extract_value(x, 1)


def _pair(builder: Any, four: Any, two: Any) -> Any:
    out = builder.insert_value(ir.Constant(_PAIR, ir.Undefined), four, 0)
    return builder.insert_value(out, two, 1)


def _splat(builder: Any, vector: Any, x: Any) -> Any:
    nothing = ir.Constant(vector, ir.Undefined)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(builder.insert_element(nothing, x, ir.Constant(ir.IntType(32), 0)), nothing, mask)


def _arithmetic(op: Any, instruction: str) -> None:
    s, f = sixes_type, types.float64
    pairs = [(s, s), (s, f), (f, s)]

    @infer_global(op)
    class _Typing(ConcreteTemplate):  # type: ignore[misc]
        cases = [signature(s, *pair) for pair in pairs]

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        sides = [
            _parts(builder, x) if t == s else (_splat(builder, _FOUR, x), _splat(builder, _TWO, x))
            for x, t in zip(args, sig.args)
        ]
        return _pair(builder, *(getattr(builder, instruction)(*halves, flags=_FLAGS) for halves in zip(*sides)))

    for pair in pairs:
        lower_builtin(op, *pair)(lower)


for _name, _instruction in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul")):
    _arithmetic(getattr(operator, _name), _instruction)
    _arithmetic(getattr(operator, "i" + _name), _instruction)


def _halves(builder: Any, at: Any) -> tuple[Any, Any]:
    """Pointers to the first four and to the last two numbers at a pointer of any kind."""
    at = builder.bitcast(at, ir.DoubleType().as_pointer())
    after = builder.gep(at, [ir.Constant(ir.IntType(64), 4)])
    return builder.bitcast(at, _FOUR.as_pointer()), builder.bitcast(after, _TWO.as_pointer())


def load_pair(builder: Any, at: Any) -> Any:
    """The six numbers at a pointer."""
    return _pair(builder, *(builder.load(p, align=8) for p in _halves(builder, at)))


def store_pair(builder: Any, at: Any, x: Any) -> None:
    """Write six numbers to a pointer."""
    for half, p in zip(_parts(builder, x), _halves(builder, at)):
        builder.store(half, p, align=8)


@intrinsic
def six(typingctx: Any, a: Any, k: Any) -> Any:
    """a[k:k+6]"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return load_pair(builder, entry_address(context, builder, sig.args[0], *args))

    return sixes_type(a, types.int64), codegen


@intrinsic
def set_six(typingctx: Any, a: Any, k: Any, x: Any) -> Any:
    """a[k:k+6] = x"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        store_pair(builder, entry_address(context, builder, sig.args[0], *args[:2]), args[2])
        return context.get_dummy_value()

    return types.void(a, types.int64, sixes_type), codegen


def _sum(builder: Any, four: Any, two: Any) -> Any:
    """The sum of six numbers, by halves."""
    nothing = ir.Constant(_FOUR, ir.Undefined)
    low, high = (
        builder.shuffle_vector(four, nothing, ir.Constant(ir.VectorType(ir.IntType(32), 2), mask))
        for mask in ([0, 1], [2, 3])
    )
    both = builder.fadd(builder.fadd(low, high, flags=_FLAGS), two, flags=_FLAGS)
    first, second = (builder.extract_element(both, ir.Constant(ir.IntType(32), i)) for i in (0, 1))
    return builder.fadd(first, second, flags=_FLAGS)


@intrinsic
def sum_of_six(typingctx: Any, x: Any) -> Any:
    """The sum of the six numbers."""
    return types.float64(sixes_type), lambda context, builder, sig, args: _sum(builder, *_parts(builder, args[0]))


@intrinsic
def dot(typingctx: Any, x: Any, y: Any) -> Any:
    """The sum of the six products."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        sides = zip(_parts(builder, args[0]), _parts(builder, args[1]))
        return _sum(builder, *(builder.fmul(a, b, flags=_FLAGS) for a, b in sides))

    return types.float64(sixes_type, sixes_type), codegen


@intrinsic
def absolute(typingctx: Any, x: Any) -> Any:
    """The magnitudes of the six numbers."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _pair(builder, *(_magnitude(builder, half) for half in _parts(builder, args[0])))

    return sixes_type(sixes_type), codegen


def _magnitude(builder: Any, x: Any) -> Any:
    kind = ir.FunctionType(x.type, [x.type])
    name = f"llvm.fabs.v{x.type.count}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [x])


@intrinsic
def swap_pairs(typingctx: Any, x: Any) -> Any:
    """(x1, x0, x3, x2, x4, x5)"""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        four, two = _parts(builder, args[0])
        mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [1, 0, 3, 2])
        return _pair(builder, builder.shuffle_vector(four, ir.Constant(_FOUR, ir.Undefined), mask), two)

    return sixes_type(sixes_type), codegen


@intrinsic
def make_six(typingctx: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Six numbers as one."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        four, two = ir.Constant(_FOUR, ir.Undefined), ir.Constant(_TWO, ir.Undefined)
        for i in range(4):
            four = builder.insert_element(four, args[i], ir.Constant(ir.IntType(32), i))
        for i in range(2):
            two = builder.insert_element(two, args[4 + i], ir.Constant(ir.IntType(32), i))
        return _pair(builder, four, two)

    return sixes_type(*[types.float64] * 6), codegen


@intrinsic
def entry(typingctx: Any, x: Any, i: Any) -> Any:
    """One of the six numbers; i is a compile-time constant."""
    if not isinstance(i, types.IntegerLiteral):
        return None
    index = i.literal_value

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        half = _parts(builder, args[0])[index // 4]
        return builder.extract_element(half, ir.Constant(ir.IntType(32), index % 4))

    return types.float64(sixes_type, i), codegen


if config.DISABLE_JIT:
    from supple.spatial.cpu.plain_sixes import absolute, dot, entry, make_six, set_six, six, sum_of_six, swap_pairs  # noqa: F401
