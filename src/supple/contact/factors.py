"""Newton's equations of an island by block elimination, in the order of blocks.py, with pivots within blocks.

For each block e, in order, with R = [M_ee | U] its rows and C its columns: M_ee = L V, then U becomes L^-1 U, C becomes
C V^-1, and C U is subtracted from the blocks of all pairs of neighbours.
"""

from __future__ import annotations

from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, part


@helper
def block_size(B, rank):
    return B.first[rank + 1] - B.first[rank]


@helper
def rows_of(B, rank):
    return from_entry(B.numbers, B.rows[rank])


@helper
def columns_of(B, rank):
    size = block_size(B, rank)
    return from_entry(B.numbers, B.rows[rank] + size * (size + B.width[rank]))


@helper
def eliminate_rows(R, swaps, size, length):
    """L, V and L^-1 U in place, with pivots; swaps: the row that each was exchanged with."""
    for i in range(size):
        best = i
        for k in range(i + 1, size):
            if abs(R[length * k + i]) > abs(R[length * best + i]):
                best = k
        swaps[i] = best
        own, other = from_entry(R, length * i), from_entry(R, length * best)
        if best != i:
            for j in range(length):
                own[j], other[j] = other[j], own[j]
        d = 1.0 / own[i]
        for k in range(i + 1, size):
            row = from_entry(R, length * k)
            f = row[i] * d
            row[i] = f
            if f != 0.0:
                for j in range(i + 1, length):
                    row[j] -= f * own[j]


@helper
def divide_columns(R, C, size, width):
    """C becomes C V^-1."""
    length = size + width
    for r in range(width):
        row = from_entry(C, size * r)
        for k in range(size):
            x = row[k] / R[length * k + k]
            row[k] = x
            if x != 0.0:
                for j in range(k + 1, size):
                    row[j] -= x * R[length * k + j]


@helper
def multiply_into(R, C, S, size, width):
    """S = C U, three rows of U at a time."""
    length = size + width
    for r in range(width):
        row, out = from_entry(C, size * r), from_entry(S, width * r)
        for j in range(width):
            out[j] = 0.0
        k = 0
        while k + 2 < size:
            a, b, c = row[k], row[k + 1], row[k + 2]
            one = from_entry(R, length * k + size)
            two, three = from_entry(one, length), from_entry(one, 2 * length)
            for j in range(width):
                out[j] += a * one[j] + b * two[j] + c * three[j]
            k += 3
        while k < size:
            a, one = row[k], from_entry(R, length * k + size)
            for j in range(width):
                out[j] += a * one[j]
            k += 1


@helper
def subtract_block(S, stride, to, length, rows, columns):
    for i in range(rows):
        a, b = from_entry(S, stride * i), from_entry(to, length * i)
        for j in range(columns):
            b[j] -= a[j]


@helper
def subtract_products(B, rank, S):
    """C U from the blocks of all pairs of neighbours."""
    width = B.width[rank]
    for i in range(B.begins[rank], B.begins[rank + 1]):
        a, at = B.neighbours[i], B.places[i]
        size, length = block_size(B, a), block_size(B, a) + B.width[a]
        R, C = rows_of(B, a), columns_of(B, a)
        subtract_block(from_entry(S, width * at + at), width, R, length, size, size)
        for k in range(B.begins[a], B.begins[a + 1]):
            B.where[B.neighbours[k]] = B.places[k]
        for k in range(i + 1, B.begins[rank + 1]):
            b, beside = B.neighbours[k], B.places[k]
            to, other = B.where[b], block_size(B, b)
            subtract_block(from_entry(S, width * at + beside), width, from_entry(R, size + to), length, size, other)
            subtract_block(from_entry(S, width * beside + at), width, from_entry(C, size * to), size, other, size)


@part
def factorize(scene):
    """In place."""
    B = scene.blocks
    S = from_entry(B.numbers, B.product)
    for rank in range(B.n):
        size, width = block_size(B, rank), B.width[rank]
        R, C = rows_of(B, rank), columns_of(B, rank)
        eliminate_rows(R, from_entry(B.swaps, B.first[rank]), size, size + width)
        if width > 0:
            divide_columns(R, C, size, width)
            multiply_into(R, C, S, size, width)
            subtract_products(B, rank, S)


@helper
def substitute_forward(B, rank):
    """y = L^-1 b of a block, and C y from those of its neighbours."""
    R, C, size, width = rows_of(B, rank), columns_of(B, rank), block_size(B, rank), B.width[rank]
    x, swaps, length = from_entry(B.x, B.first[rank]), from_entry(B.swaps, B.first[rank]), size + width
    for i in range(size):
        x[i], x[swaps[i]] = x[swaps[i]], x[i]
    for i in range(size):
        for k in range(i):
            x[i] -= R[length * i + k] * x[k]
    for i in range(B.begins[rank], B.begins[rank + 1]):
        b = B.neighbours[i]
        y, rows = from_entry(B.x, B.first[b]), from_entry(C, size * B.places[i])
        for r in range(block_size(B, b)):
            for k in range(size):
                y[r] -= rows[size * r + k] * x[k]


@helper
def substitute_back(B, rank):
    """x = V^-1 (y - U x) of a block."""
    R, size, width = rows_of(B, rank), block_size(B, rank), B.width[rank]
    x, length = from_entry(B.x, B.first[rank]), size + width
    for i in range(B.begins[rank], B.begins[rank + 1]):
        b = B.neighbours[i]
        y, columns = from_entry(B.x, B.first[b]), from_entry(R, size + B.places[i])
        for r in range(size):
            for k in range(block_size(B, b)):
                x[r] -= columns[length * r + k] * y[k]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            x[i] -= R[length * i + k] * x[k]
        x[i] /= R[length * i + i]


@part
def substitute(B):
    """The solution for the right side in B.x, in its place."""
    for rank in range(B.n):
        substitute_forward(B, rank)
    for rank in range(B.n - 1, -1, -1):
        substitute_back(B, rank)
