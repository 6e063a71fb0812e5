"""6x6 matrices: in memory, as fields of structs, or in registers, as six rows. Operators take both.

    C.Phi1 = A.Phi1 - J.Y.T @ J.Y       sums, products, the transpose as a factor on the left
    f = x @ M        a = M @ x          with six numbers
    M[i]   M[i, k]                      a row; a number. Those of a matrix in memory can be set.

A matrix in memory is identified by its address: `M = s.Phi` copies nothing, and sees what is written to s.Phi later.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, models, overload, overload_attribute, register_model

from supple.spatial import plain_structs
from supple.spatial.addresses import entry_address
from supple.spatial.compiler import INLINE, helper
from supple.spatial.cpu import dot, entry, make_six
from supple.spatial.cpu.sixes import load_pair, sixes_type, store_pair
from supple.spatial.fields import WORD, InPlace

_NUMBER = ir.DoubleType().as_pointer()


class MatrixRows(NamedTuple):
    """A matrix in registers."""

    r0: Any
    r1: Any
    r2: Any
    r3: Any
    r4: Any
    r5: Any


rows_type = types.NamedUniTuple(sixes_type, 6, MatrixRows)


class Mat6Type(types.Type):  # type: ignore[misc]
    """A matrix in memory."""

    def __init__(self) -> None:
        super().__init__("mat6")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.safe if other == rows_type else None


class TransposedType(types.Type):  # type: ignore[misc]
    """The same, read as its transpose."""

    def __init__(self) -> None:
        super().__init__("mat6.T")


@register_model(Mat6Type)
@register_model(TransposedType)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, fe_type: Any) -> None:
        super().__init__(manager, fe_type, _NUMBER)


mat6, mat6_T = Mat6Type(), TransposedType()


class Mat6(InPlace):
    """A field of a struct: six rows of six numbers."""

    words, dtype = 36, (np.float64, (6, 6))

    def numba_type(self, element: Any) -> Any:
        return mat6

    def write(self, context: Any, builder: Any, element: Any, at: Any, value: Any) -> None:
        _copy(builder, builder.bitcast(at, _NUMBER), value)

    def plain_read(self, row: Any, at: int) -> Any:
        return PlainMat6(at)


class SixRows(Mat6):
    """A field of a struct: a given number of rows of six numbers. An operator must not access rows that do not
    exist."""

    def __init__(self, count: int) -> None:
        self.words, self.dtype = 6 * count, (np.float64, (count, 6))


def _copy(builder: Any, to: Any, matrix: Any) -> None:
    """Everything is read before anything is written: they may overlap."""
    rows = [load_pair(builder, _row_address(builder, matrix, i)) for i in range(6)]
    for i in range(6):
        store_pair(builder, _row_address(builder, to, i), rows[i])


def _row_address(builder: Any, matrix: Any, i: Any) -> Any:
    index = ir.Constant(WORD, 6 * i) if isinstance(i, int) else builder.mul(i, ir.Constant(WORD, 6))
    return builder.gep(matrix, [index])


@lower_cast(types.NamedUniTuple, Mat6Type)
def _to_memory(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    """A matrix in registers gets an address when needed; otherwise the optimiser removes it."""
    room = builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), 36)), _NUMBER)
    for i in range(6):
        store_pair(builder, _row_address(builder, room, i), builder.extract_value(value, i))
    return room


@intrinsic
def in_memory(typingctx: Any, m: Any) -> Any:
    """A matrix, moved to memory if it is not there yet."""
    return mat6(mat6), lambda context, builder, sig, args: args[0]


@intrinsic
def new_matrix(typingctx: Any) -> Any:
    """An uninitialised matrix in the memory of the running function: must not be returned from it."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), 36)), _NUMBER)

    return mat6(), codegen


@intrinsic
def matrix_among(typingctx: Any, numbers: Any, k: Any) -> Any:
    """The matrix that begins at numbers[k]."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return entry_address(context, builder, sig.args[0], *args)

    return mat6(numbers, types.int64), codegen


@intrinsic
def assign(typingctx: Any, m: Any, value: Any) -> Any:
    """Overwrite a matrix in memory."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _copy(builder, *args)
        return context.get_dummy_value()

    return types.void(mat6, mat6), codegen


@intrinsic
def _transposed(typingctx: Any, m: Any) -> Any:
    return mat6_T(mat6), lambda context, builder, sig, args: args[0]


@intrinsic
def _untransposed(typingctx: Any, m: Any) -> Any:
    return mat6(mat6_T), lambda context, builder, sig, args: args[0]


@overload_attribute(Mat6Type, "T", jit_options=INLINE, strict=False)
def _T(m: Any) -> Any:
    return lambda m: _transposed(m)


# --- rows and numbers -----------------------------------------------------------------------------------------------

_pair = types.UniTuple(types.int64, 2)


@infer_global(operator.getitem)
class _Read(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if args[0] != mat6:
            return None
        if isinstance(args[1], types.Integer):
            return signature(sixes_type, mat6, types.int64)
        return signature(types.float64, mat6, _pair)


@infer_global(operator.setitem)
class _Write(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        if args[0] != mat6:
            return None
        if isinstance(args[1], types.Integer):
            return signature(types.none, mat6, types.int64, sixes_type)
        return signature(types.none, mat6, _pair, types.float64)


def _number_address(builder: Any, matrix: Any, pair: Any) -> Any:
    i, k = builder.extract_value(pair, 0), builder.extract_value(pair, 1)
    return builder.gep(_row_address(builder, matrix, i), [k])


@lower_builtin(operator.getitem, Mat6Type, types.int64)
def _row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return load_pair(builder, _row_address(builder, *args))


@lower_builtin(operator.getitem, Mat6Type, _pair)
def _number(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_number_address(builder, *args), align=8)


@lower_builtin(operator.setitem, Mat6Type, types.int64, sixes_type)
def _set_row(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    store_pair(builder, _row_address(builder, *args[:2]), args[2])
    return context.get_dummy_value()


@lower_builtin(operator.setitem, Mat6Type, _pair, types.float64)
def _set_number(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    builder.store(args[2], _number_address(builder, *args[:2]), align=8)
    return context.get_dummy_value()


# --- arithmetic, of matrices in memory and in registers -------------------------------------------------------------


@helper
def zero_rows():
    o = make_six(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return MatrixRows(o, o, o, o, o, o)


@helper
def unit_rows():
    return MatrixRows(
        make_six(1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        make_six(0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
        make_six(0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        make_six(0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        make_six(0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        make_six(0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    )


@helper
def _sum(A, B):
    return MatrixRows(A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5])


@helper
def _difference(A, B):
    return MatrixRows(A[0] - B[0], A[1] - B[1], A[2] - B[2], A[3] - B[3], A[4] - B[4], A[5] - B[5])


@helper
def plus_column_times_row(X, A, k, row):
    """X plus column k of A times a row."""
    return MatrixRows(
        X[0] + row * A[0, k],
        X[1] + row * A[1, k],
        X[2] + row * A[2, k],
        X[3] + row * A[3, k],
        X[4] + row * A[4, k],
        X[5] + row * A[5, k],
    )


@helper
def plus_rows_product(X, A, k, row):
    """X plus row k of A, as a column, times a row."""
    return MatrixRows(
        X[0] + row * A[k, 0],
        X[1] + row * A[k, 1],
        X[2] + row * A[k, 2],
        X[3] + row * A[k, 3],
        X[4] + row * A[k, 4],
        X[5] + row * A[k, 5],
    )


@helper
def add_row_products(X, x, y, factor):
    """X plus a factor times the column x times the row y."""
    y = y * factor
    return MatrixRows(
        X[0] + y * entry(x, 0),
        X[1] + y * entry(x, 1),
        X[2] + y * entry(x, 2),
        X[3] + y * entry(x, 3),
        X[4] + y * entry(x, 4),
        X[5] + y * entry(x, 5),
    )


@helper
def _product(A, B):
    X = zero_rows()
    for k in range(6):
        X = plus_column_times_row(X, A, k, B[k])
    return X


@helper
def product_of_rows(A, B, n):
    """A^T B over the first n rows of both."""
    X = zero_rows()
    for k in range(n):
        X = plus_rows_product(X, A, k, B[k])
    return X


@helper
def _from_left(x, A):
    """x A: the sum of x_i row_i."""
    even = A[0] * entry(x, 0) + A[2] * entry(x, 2) + A[4] * entry(x, 4)
    odd = A[1] * entry(x, 1) + A[3] * entry(x, 3) + A[5] * entry(x, 5)
    return even + odd


@helper
def _from_right(A, x):
    return make_six(dot(A[0], x), dot(A[1], x), dot(A[2], x), dot(A[3], x), dot(A[4], x), dot(A[5], x))


def _is_matrix(*kinds: Any) -> bool:
    return all(x in (mat6, rows_type) for x in kinds)


@overload(operator.add, jit_options=INLINE, strict=False)
def _add(A: Any, B: Any) -> Any:
    return (lambda A, B: _sum(A, B)) if _is_matrix(A, B) else None


@overload(operator.sub, jit_options=INLINE, strict=False)
def _sub(A: Any, B: Any) -> Any:
    return (lambda A, B: _difference(A, B)) if _is_matrix(A, B) else None


@overload(operator.matmul, jit_options=INLINE, strict=False)
def _matmul(A: Any, B: Any) -> Any:
    if mat6_T == A and _is_matrix(B):
        return lambda A, B: product_of_rows(_untransposed(A), in_memory(B), 6)
    if _is_matrix(A, B):
        return lambda A, B: _product(in_memory(A), in_memory(B))
    if sixes_type == A and _is_matrix(B):
        return lambda A, B: _from_left(A, B)
    if _is_matrix(A) and sixes_type == B:
        return lambda A, B: _from_right(A, B)
    return None


# --- without the compiler -------------------------------------------------------------------------------------------


class PlainMat6:
    """A matrix at an address."""

    def __init__(self, at: int, kept: Any = None) -> None:
        self.at, self.kept = at, kept

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return plain_structs.number(plain_structs.numbers_at(self.at, (6, 6))[index])
        return make_six(*map(plain_structs.number, plain_structs.numbers_at(self.at, (6, 6))[index].tolist()))

    def __setitem__(self, index: Any, value: Any) -> None:
        plain_structs.numbers_at(self.at, (6, 6))[index] = value if isinstance(index, tuple) else value.of

    def __iter__(self) -> Any:
        return (self[i] for i in range(6))


class _PlainTransposed:
    def __init__(self, of: Any) -> None:
        self.of_matrix = of

    def __matmul__(self, B: Any) -> Any:
        return product_of_rows(self.of_matrix, B, 6)


def _entry_of_rows(A: Any, index: Any) -> Any:
    return tuple.__getitem__(A, index[0]).of[index[1]] if isinstance(index, tuple) else tuple.__getitem__(A, index)


def _plain_matmul(A: Any, B: Any) -> Any:
    return _product(A, B) if isinstance(B, MatrixRows | PlainMat6) else _from_right(A, B)


if config.DISABLE_JIT:

    def in_memory(m: Any) -> Any:
        return m

    def new_matrix() -> Any:
        numbers = np.full(36, np.nan)
        return PlainMat6(numbers.ctypes.data, numbers)

    def matrix_among(numbers: Any, k: int) -> Any:
        return PlainMat6(numbers[k : k + 36].ctypes.data)

    def assign(m: Any, value: Any) -> None:
        for i, row in enumerate(list(value)):
            m[i] = row

    _operators: dict[str, Any] = {
        "__add__": lambda A, B: _sum(A, B),
        "__sub__": lambda A, B: _difference(A, B),
        "__matmul__": _plain_matmul,
        "__rmatmul__": lambda A, x: _from_left(x, A),
        "T": property(_PlainTransposed),
    }
    for _name, _function in _operators.items():
        setattr(MatrixRows, _name, _function)
        setattr(PlainMat6, _name, _function)
    setattr(MatrixRows, "__getitem__", _entry_of_rows)  # noqa: B010 (mypy)
