"""Numbers of 32 digits: the sum of two float64, the second being the rounding error of the first.

A kernel written for numbers also runs on this type, some 20 times slower: `pair_vector(address)` is a vector of such
numbers. The operations are those of Dekker and Knuth with fused multiplication, as in Hida, Li and Bailey, Library for
double-double and quad-double arithmetic (2007): relative errors of 1e-31 or so. They depend on every rounding, so they
are compiled without contraction, whatever the surrounding kernel allows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.extending import intrinsic, lower_cast, models, overload, register_model

from supple.spatial.addresses import pointers_to
from supple.spatial.any_number import number_like, smaller
from supple.spatial.compiler import INLINE, OPTIONS, helper

_PAIR = ir.VectorType(ir.DoubleType(), 2)
#: Compiled exactly as written, and called rather than inlined: a kernel has thousands of these operations.
_EXACTLY: dict[str, Any] = dict(error_model=OPTIONS["error_model"], no_cfunc_wrapper=True, no_cpython_wrapper=True)


class PairType(types.Type):  # type: ignore[misc]
    """The type of hi + lo."""

    width = 2  #: float64 numbers

    def __init__(self) -> None:
        super().__init__("double_double")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if other == types.float64 else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if other == types.float64 else None


@register_model(PairType)
class _Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _PAIR)


pair_type = PairType()


def _place(i: int) -> Any:
    return ir.Constant(ir.IntType(32), i)


@lower_cast(types.float64, PairType)
def _from_float(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return builder.insert_element(ir.Constant(_PAIR, [0.0, 0.0]), value, _place(0))


@intrinsic
def make_pair(typingctx: Any, hi: Any, lo: Any) -> Any:
    """hi + lo, where lo is at most half a unit in the last place of hi."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x = builder.insert_element(ir.Constant(_PAIR, ir.Undefined), args[0], _place(0))
        return builder.insert_element(x, args[1], _place(1))

    return pair_type(types.float64, types.float64), codegen


def _half(which: int) -> Any:
    def half(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.extract_element(args[0], _place(which))

        return types.float64(pair_type), codegen

    half.__name__ = ("high", "low")[which]
    return intrinsic(half)


high, low = _half(0), _half(1)


@intrinsic
def _fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c with one rounding."""
    f = types.float64
    return f(f, f, f), lambda context, builder, sig, args: builder.fma(*args)


_pointer = pointers_to(pair_type)


@helper
def pair_vector(address):
    """The vector of pairs at an address, which must be a multiple of 16; compiled code knows only the address."""
    return _pointer(address)


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _sum(a, b):
    """a + b"""
    s, t = high(a) + high(b), low(a) + low(b)
    u, v = s - high(a), t - low(a)
    e = (high(a) - (s - u)) + (high(b) - u)
    f = (low(a) - (t - v)) + (low(b) - v)
    e += t
    h = s + e
    e = (e - (h - s)) + f
    s = h + e
    return make_pair(s, e - (s - h))


def _product(a, b):
    """a b"""
    p = high(a) * high(b)
    e = _fma(high(a), high(b), -p)
    e = _fma(high(a), low(b), _fma(low(a), high(b), e))
    s = p + e
    return make_pair(s, e - (s - p))


def _quotient(a, b):
    """a / b: two digits of base 2^53, and what the remainder adds."""
    x = high(a) / high(b)
    r = a - b * x
    y = high(r) / high(b)
    r = r - b * y
    z = high(r) / high(b)
    s = x + y
    return make_pair(s, y - (s - x)) + z


def _difference(a, b):
    """a - b"""
    return a + make_pair(-high(b), -low(b))


def _defined(op: Any, function: Callable[..., Any]) -> None:
    """Define op for pairs, and for a pair and a number, as `function`."""

    def resolve(a: Any, b: Any) -> Any:
        kinds = a, b
        if pair_type not in kinds or not set(kinds) <= {pair_type, types.float64}:
            return None
        if kinds == (pair_type, pair_type):
            return function
        if a == pair_type:
            return lambda a, b: op(a, make_pair(b, 0.0))
        return lambda a, b: op(make_pair(a, 0.0), b)

    overload(op, jit_options=_EXACTLY, strict=False)(resolve)


for _name, _function in (("add", _sum), ("sub", _difference), ("mul", _product), ("truediv", _quotient)):
    _defined(getattr(operator, _name), _function)
    _defined(getattr(operator, "i" + _name), _function)


@overload(operator.neg, jit_options=_EXACTLY, strict=False)
def _negated(a: Any) -> Any:
    return (lambda a: make_pair(-high(a), -low(a))) if a == pair_type else None


@overload(operator.lt, jit_options=_EXACTLY, strict=False)
def _less(a: Any, b: Any) -> Any:
    if a == pair_type and b == pair_type:
        return lambda a, b: high(a) < high(b) or (high(a) == high(b) and low(a) < low(b))
    return None


@overload(number_like, jit_options=INLINE, strict=False)
def _number_like(x: Any, value: Any) -> Any:
    return (lambda x, value: make_pair(value, 0.0)) if x == pair_type else None


@overload(smaller, jit_options=INLINE, strict=False)
def _smaller(a: Any, b: Any) -> Any:
    return (lambda a, b: a if a < b else b) if a == pair_type else None
