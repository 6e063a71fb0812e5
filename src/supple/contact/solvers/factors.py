"""Newton's equations of an island by block elimination, in the order of blocks.py, with pivots within blocks.

For each block e, in order, with R = [M_ee | U] its rows and C its columns: M_ee = L V, then U becomes L^-1 U, C becomes
C V^-1, and C U is subtracted from the blocks of all pairs of neighbours. The diagonal of V is stored as reciprocals.

Most blocks have 3 to 15 rows: loops over them go by four numbers at a time, in registers.
"""

from __future__ import annotations

from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, part
from supple.spatial.cpu import load_four, store_four


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
def choose_pivot(R, swaps, i, size, length):
    """Exchanges row i with the one below that has the largest number in column i."""
    best = i
    for k in range(i + 1, size):
        if abs(R[length * k + i]) > abs(R[length * best + i]):
            best = k
    swaps[i] = best
    if best != i:
        own, other = from_entry(R, length * i), from_entry(R, length * best)
        for j in range(length):
            own[j], other[j] = other[j], own[j]


@helper
def subtract_one(row, own, f, j, end):
    """row -= f own, from entry j to the end."""
    while j + 4 <= end:
        store_four(row, j, load_four(row, j) - load_four(own, j) * f)
        j += 4
    while j < end:
        row[j] -= f * own[j]
        j += 1


@helper
def subtract_two(row, own, other, f, g, j, end):
    """row -= f own + g other, likewise."""
    while j + 4 <= end:
        store_four(row, j, load_four(row, j) - (load_four(own, j) * f + load_four(other, j) * g))
        j += 4
    while j < end:
        row[j] -= f * own[j] + g * other[j]
        j += 1


@helper
def eliminate_rows(R, swaps, size, length):
    """L, V and L^-1 U in place, with pivots, two columns at a time; swaps: the row that each was exchanged with."""
    i = 0
    while i + 1 < size:
        choose_pivot(R, swaps, i, size, length)
        own, other = from_entry(R, length * i), from_entry(R, length * (i + 1))
        d = 1.0 / own[i]
        own[i] = d
        for k in range(i + 1, size):
            row = from_entry(R, length * k)
            row[i] *= d
            row[i + 1] -= row[i] * own[i + 1]
        choose_pivot(R, swaps, i + 1, size, length)
        f, d = other[i], 1.0 / other[i + 1]
        other[i + 1] = d
        if f != 0.0:
            subtract_one(other, own, f, i + 2, length)
        for k in range(i + 2, size):
            row = from_entry(R, length * k)
            f, g = row[i], row[i + 1] * d
            row[i + 1] = g
            if f != 0.0 or g != 0.0:
                subtract_two(row, own, other, f, g, i + 2, length)
        i += 2
    if i < size:
        swaps[i] = i
        R[(length + 1) * i] = 1.0 / R[(length + 1) * i]


@helper
def divide_columns(R, C, size, width):
    """C becomes C V^-1, two rows of V at a time."""
    length = size + width
    for r in range(width):
        row, k = from_entry(C, size * r), 0
        while k + 1 < size:
            own, other = from_entry(R, length * k), from_entry(R, length * (k + 1))
            x = row[k] * own[k]
            y = (row[k + 1] - x * own[k + 1]) * other[k + 1]
            row[k], row[k + 1] = x, y
            if x != 0.0 or y != 0.0:
                subtract_two(row, own, other, x, y, k + 2, size)
            k += 2
        if k < size:
            row[k] *= R[(length + 1) * k]


@helper
def multiply_into(R, C, S, size, width):
    """S = C U."""
    length = size + width
    for r in range(width):
        row, out, j = from_entry(C, size * r), from_entry(S, width * r), 0
        while j + 4 <= width:
            total = load_four(R, size + j) * row[0]
            for k in range(1, size):
                total = total + load_four(R, length * k + size + j) * row[k]
            store_four(out, j, total)
            j += 4
        while j < width:
            x = 0.0
            for k in range(size):
                x += row[k] * R[length * k + size + j]
            out[j] = x
            j += 1


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
        if size > 0 and width > 0:
            divide_columns(R, C, size, width)
            multiply_into(R, C, S, size, width)
            subtract_products(B, rank, S)


@helper
def product(a, b, n):
    """a . b, by four sums, which need not wait for each other."""
    p = q = r = s = 0.0
    k = 0
    while k + 3 < n:
        p, q = p + a[k] * b[k], q + a[k + 1] * b[k + 1]
        r, s = r + a[k + 2] * b[k + 2], s + a[k + 3] * b[k + 3]
        k += 4
    while k < n:
        p += a[k] * b[k]
        k += 1
    return (p + q) + (r + s)


@helper
def substitute_forward(B, rank):
    """y = L^-1 b of a block, and C y from those of its neighbours."""
    R, C, size, width = rows_of(B, rank), columns_of(B, rank), block_size(B, rank), B.width[rank]
    x, swaps, length = from_entry(B.x, B.first[rank]), from_entry(B.swaps, B.first[rank]), size + width
    for i in range(size):
        x[i], x[swaps[i]] = x[swaps[i]], x[i]
    for i in range(size):
        x[i] -= product(from_entry(R, length * i), x, i)
    for i in range(B.begins[rank], B.begins[rank + 1]):
        b = B.neighbours[i]
        y, rows = from_entry(B.x, B.first[b]), from_entry(C, size * B.places[i])
        for r in range(block_size(B, b)):
            y[r] -= product(from_entry(rows, size * r), x, size)


@helper
def substitute_back(B, rank):
    """x = V^-1 (y - U x) of a block."""
    R, size, width = rows_of(B, rank), block_size(B, rank), B.width[rank]
    x, length = from_entry(B.x, B.first[rank]), size + width
    for i in range(B.begins[rank], B.begins[rank + 1]):
        b = B.neighbours[i]
        y, columns = from_entry(B.x, B.first[b]), from_entry(R, size + B.places[i])
        for r in range(size):
            x[r] -= product(from_entry(columns, length * r), y, block_size(B, b))
    for i in range(size - 1, -1, -1):
        row = from_entry(R, length * i)
        x[i] = (x[i] - product(from_entry(row, i + 1), from_entry(x, i + 1), size - 1 - i)) * row[i]


@part
def substitute(B):
    """The solution for the right side in B.x, in its place."""
    for rank in range(B.n):
        substitute_forward(B, rank)
    for rank in range(B.n - 1, -1, -1):
        substitute_back(B, rank)
