"""Newton's equations (1 + Y^T A Y) x = -g with their matrix, by Gauss's elimination, of as many rows as touches act on
degrees of freedom: for any r, and quickest where these are few [krylov.py has the others]."""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.krylov import GRADIENT, STEP, vector
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper, part

MOST = 240  #: rows


@helper
def add_block(scene, touch, n):
    """Y^T A Y of one touch."""
    M, A = scene.matrix, touch.slope
    for i in range(touch.first, touch.first + touch.count):
        e = scene.entries[i]
        f, column = A @ e.y, scene.local[e.dof]
        for k in range(touch.first, touch.first + touch.count):
            other = scene.entries[k]
            M[n * scene.local[other.dof] + column] += dot(other.y, f)


@helper
def swap_rows(M, x, n, i, k):
    if i != k:
        x[i], x[k] = x[k], x[i]
        for j in range(n):
            M[n * i + j], M[n * k + j] = M[n * k + j], M[n * i + j]


@helper
def eliminate_rows(M, x, n):
    """x = M^-1 x, by elimination with partial pivoting; M is overwritten."""
    for i in range(n):
        best = i
        for k in range(i + 1, n):
            if abs(M[n * k + i]) > abs(M[n * best + i]):
                best = k
        swap_rows(M, x, n, i, best)
        d = 1.0 / M[n * i + i]
        for k in range(i + 1, n):
            f = M[n * k + i] * d
            if f != 0.0:
                x[k] -= f * x[i]
                for j in range(i + 1, n):
                    M[n * k + j] -= f * M[n * i + j]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for j in range(i + 1, n):
            total -= M[n * i + j] * x[j]
        x[i] = total / M[n * i + i]


@part
def directly(scene):
    """x in STEP."""
    n, M, x = scene.n_local, scene.matrix, scene.local_step
    for i in range(n * n):
        M[i] = 0.0
    for i in range(n):
        M[n * i + i] = 1.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.slope.r0.x > 0.0:
            add_block(scene, touch, n)
    g, out = vector(scene, GRADIENT), vector(scene, STEP)
    for i in range(n):
        x[i] = -g[scene.dofs[i]]
    eliminate_rows(M, x, n)
    for i in range(n):
        out[scene.dofs[i]] = x[i]
