"""General 6x6 matrices in a vector of numbers, row by row, each known by where it begins: for what has no symmetry."""

from __future__ import annotations

from supple.spatial.algebra import Mat3, Mobility, Motion, Sym3, Vec3, dot
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.rows import set_six

BLOCK = 36  #: numbers of a matrix


@helper
def multiply_add(x, a, down, across, b, c):
    """C += A B; down and across: the steps from row to row and from column to column of A (6 and 1, or 1 and 6 for its
    transpose)."""
    for i in range(6):
        to = c + 6 * i
        s0, s1, s2 = item(x, to), item(x, to + 1), item(x, to + 2)
        s3, s4, s5 = item(x, to + 3), item(x, to + 4), item(x, to + 5)
        for k in range(6):
            y, j = item(x, a + down * i + across * k), b + 6 * k
            s0, s1, s2 = s0 + y * item(x, j), s1 + y * item(x, j + 1), s2 + y * item(x, j + 2)
            s3, s4, s5 = s3 + y * item(x, j + 3), s4 + y * item(x, j + 4), s5 + y * item(x, j + 5)
        set_six(x, to, Motion(Vec3(s0, s1, s2), Vec3(s3, s4, s5)))


@helper
def transpose_into(x, a, b):
    """B = A^T"""
    for i in range(6):
        for k in range(6):
            set_item(x, b + 6 * k + i, item(x, a + 6 * i + k))


@helper
def fill(x, a, value):
    for i in range(a, a + BLOCK):
        set_item(x, i, value)


@helper
def symmetrise(x, a):
    for i in range(6):
        for k in range(i):
            both = 0.5 * (item(x, a + 6 * i + k) + item(x, a + 6 * k + i))
            set_item(x, a + 6 * i + k, both)
            set_item(x, a + 6 * k + i, both)


@helper
def store_blocks(x, a, blocks):
    """[[P, Q], [R, T]]"""
    P, Q, R, T = blocks
    for i in range(3):
        set_six(x, a + 6 * i, Motion(P[i], Q[i]))
        set_six(x, a + 18 + 6 * i, Motion(R[i], T[i]))


@helper
def load_six(x, a):
    return Vec3(item(x, a), item(x, a + 1), item(x, a + 2)), Vec3(item(x, a + 3), item(x, a + 4), item(x, a + 5))


@helper
def load_symmetric(x, a):
    """A mobility, symmetrised."""
    symmetrise(x, a)
    (p0, q0), (p1, q1), (p2, q2) = load_six(x, a), load_six(x, a + 6), load_six(x, a + 12)
    (_, t0), (_, t1), (_, t2) = load_six(x, a + 18), load_six(x, a + 24), load_six(x, a + 30)
    return Mobility(
        Sym3(p0.x, p0.y, p0.z, p1.y, p1.z, p2.z), Mat3(q0, q1, q2), Sym3(t0.x, t0.y, t0.z, t1.y, t1.z, t2.z)
    )


@helper
def apply(x, a, m):
    """A times a six-vector."""
    up = Vec3(row_times(x, a, m), row_times(x, a + 6, m), row_times(x, a + 12, m))
    return up, Vec3(row_times(x, a + 18, m), row_times(x, a + 24, m), row_times(x, a + 30, m))


@helper
def apply_transposed(x, a, m):
    (p0, q0), (p1, q1), (p2, q2) = load_six(x, a), load_six(x, a + 6), load_six(x, a + 12)
    (r0, t0), (r1, t1), (r2, t2) = load_six(x, a + 18), load_six(x, a + 24), load_six(x, a + 30)
    P, Q, R, T = Mat3(p0, p1, p2), Mat3(q0, q1, q2), Mat3(r0, r1, r2), Mat3(t0, t1, t2)
    return m.ang @ P + m.lin @ R, m.ang @ Q + m.lin @ T


@helper
def row_times(x, a, m):
    p, q = load_six(x, a)
    return dot(p, m.ang) + dot(q, m.lin)
