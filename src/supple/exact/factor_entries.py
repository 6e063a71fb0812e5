"""The entry points of sparse factors: matrices and factors as Python objects, given to the algorithms of ltdl.py."""

from __future__ import annotations

import numpy as np
from numba import types

from supple.exact.ltdl import ltdl, ltl, mul_L, mul_Lt, solve_L, solve_Lt
from supple.exact.packing import Packing
from supple.spatial.addresses import float_vector, int_vector
from supple.spatial.compiler import helper, kernel
from supple.spatial.cpu import (
    ARGUMENTS,
    ODD,
    OK,
    ONE_ARGUMENT,
    fits_matrix,
    fits_vector,
    floats_of,
    header_of,
    none_object,
    refuse,
    status_object,
)
from supple.spatial.fields import Address, Integer
from supple.spatial.structs import Link, Struct

LTDL, LTL = 0, 1
MUL_L, MUL_LT, SOLVE_L, SOLVE_LT, SOLVE = range(5)


class Factoring(Struct):
    """What the entry points find at one address."""

    packing = Link(Packing)
    dense_rows = Integer()  # of a dense matrix that is read directly; -1: none is
    form = Integer()
    values = Address()  # of the factor that refactorize overwrites
    odd_class = Address()  # what it raises, as objects
    odd_message = Address()
    singular_class = Address()
    singular_message = Address()


packing_at, factoring_at = Packing.at, Factoring.at


@helper
def factor_into(h, factoring, a, H):
    """Factors of a dense (n, n) or packed matrix, an object, into packed values a. Returns OK, ODD, or 2 + the
    offending row."""
    p = factoring.packing
    if fits_vector(h, H, p.size):
        packed = floats_of(H, p.size)
        for c in range(p.size):
            a[c] = packed[c]
    elif fits_matrix(h, H, factoring.dense_rows, p.n):
        dense = floats_of(H, p.n * p.n)
        for k in range(p.n):
            j, at = k, p.starts[k] + p.depth[k] - 1
            while j >= 0:
                a[at] = dense[p.n * k + j]
                j = p.parent[j]
                at -= 1
    else:
        return ODD
    if factoring.form == LTL:
        bad = ltl(a, p)
        return OK if bad < 0 else 2 + bad
    ltdl(a, p)
    for k in range(p.n - 1, -1, -1):
        if not 0.0 < a[p.size + k] < np.inf:  # 1/D; a NaN anywhere in H reaches one of them
            return 2 + k
    return OK


@kernel(ARGUMENTS, "factorize")
def factorize_kernel(self, arguments, count):
    """factorize(values, H) into new packed values. Returns the status."""
    h, struct = header_of(self)
    factoring, given = factoring_at(struct), int_vector(arguments, 2)
    p = factoring.packing
    return status_object(factor_into(h, factoring, floats_of(given[0], p.size + p.n), given[1]))


@kernel(ONE_ARGUMENT, "refactorize")
def refactorize_kernel(self, H):
    """refactorize(H) into the values referenced by the struct. Returns None, or raises."""
    h, struct = header_of(self)
    factoring = factoring_at(struct)
    p = factoring.packing
    status = factor_into(h, factoring, float_vector(factoring.values, p.size + p.n), H)
    if status == ODD:
        return refuse(factoring.odd_class, factoring.odd_message)
    if status != OK:
        return refuse(factoring.singular_class, factoring.singular_message)
    return none_object(h)


_floats2, _floats3 = types.float64[:, ::1], types.float64[:, :, ::1]


@kernel(types.void(types.int64, _floats2, _floats3, _floats3, types.int64, types.boolean), "products of factors")
def apply_kernel(packing, values, x, y, operation, unit):
    """y = op x for every factor (B, size + n) and each of its vectors, the rows of x (B, k, n).

    Holds the interpreter's lock: nobody else factors into these values in the meantime.
    """
    p = packing_at(packing)
    for b in range(x.shape[0]):
        a = float_vector(values.ctypes.data + 8 * b * values.shape[1], values.shape[1])
        for c in range(x.shape[1]):
            at = 8 * p.n * (b * x.shape[1] + c)
            given, to = float_vector(x.ctypes.data + at, p.n), float_vector(y.ctypes.data + at, p.n)
            if operation == MUL_L:
                mul_L(a, p, given, to, unit)
                continue
            if operation == MUL_LT:
                mul_Lt(a, p, given, to, unit)
                continue
            for i in range(p.n):
                to[i] = given[i]
            if operation in (SOLVE_LT, SOLVE):
                solve_Lt(a, p, to, unit)
            if operation == SOLVE and unit:
                for i in range(p.n):
                    to[i] *= a[p.size + i]
            if operation in (SOLVE_L, SOLVE):
                solve_L(a, p, to, unit)
