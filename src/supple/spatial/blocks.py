"""General 6x6 matrices in a vector of numbers, by rows, each identified by its first index: for unsymmetric
matrices."""

from __future__ import annotations

from supple.spatial.algebra import Mat3, Mobility, Sym3, Vec3, dot
from supple.spatial.compiler import helper

BLOCK = 36  #: numbers of a matrix


@helper
def store_row(x, a, ang, lin):
    """Store six numbers, given as halves."""
    x[a], x[a + 1], x[a + 2] = ang.x, ang.y, ang.z
    x[a + 3], x[a + 4], x[a + 5] = lin.x, lin.y, lin.z


@helper
def multiply_add(x, a, down, across, b, c):
    """C += A B; down and across: the strides between rows and between columns of A (6 and 1, or 1 and 6 for its
    transpose)."""
    for i in range(6):
        to = c + 6 * i
        s0, s1, s2 = x[to], x[to + 1], x[to + 2]
        s3, s4, s5 = x[to + 3], x[to + 4], x[to + 5]
        for k in range(6):
            y, j = x[a + down * i + across * k], b + 6 * k
            s0, s1, s2 = s0 + y * x[j], s1 + y * x[j + 1], s2 + y * x[j + 2]
            s3, s4, s5 = s3 + y * x[j + 3], s4 + y * x[j + 4], s5 + y * x[j + 5]
        store_row(x, to, Vec3(s0, s1, s2), Vec3(s3, s4, s5))


@helper
def transpose_into(x, a, b):
    """B = A^T"""
    for i in range(6):
        for k in range(6):
            x[b + 6 * k + i] = x[a + 6 * i + k]


@helper
def fill(x, a, value):
    for i in range(a, a + BLOCK):
        x[i] = value


@helper
def symmetrise(x, a):
    for i in range(6):
        for k in range(i):
            both = 0.5 * (x[a + 6 * i + k] + x[a + 6 * k + i])
            x[a + 6 * i + k] = both
            x[a + 6 * k + i] = both


@helper
def store_blocks(x, a, blocks):
    """[[P, Q], [R, T]]"""
    P, Q, R, T = blocks
    for i in range(3):
        store_row(x, a + 6 * i, P[i], Q[i])
        store_row(x, a + 18 + 6 * i, R[i], T[i])


@helper
def load_six(x, a):
    return Vec3(x[a], x[a + 1], x[a + 2]), Vec3(x[a + 3], x[a + 4], x[a + 5])


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
