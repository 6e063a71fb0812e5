"""Vectors and matrices stored in rows of arrays, and in sections of vectors."""

from __future__ import annotations

from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper


@helper
def load_vec(a, i, k):
    """a[i, k:k+3]"""
    return Vec3(a[i, k], a[i, k + 1], a[i, k + 2])


@helper
def load_mat(a, i, k):
    """a[i, k:k+9], by rows."""
    return Mat3(load_vec(a, i, k), load_vec(a, i, k + 3), load_vec(a, i, k + 6))


@helper
def store_vec(a, i, k, x):
    a[i, k], a[i, k + 1], a[i, k + 2] = x.x, x.y, x.z


@helper
def store_mat(a, i, k, x):
    store_vec(a, i, k, x.r0)
    store_vec(a, i, k + 3, x.r1)
    store_vec(a, i, k + 6, x.r2)
