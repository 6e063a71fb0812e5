"""Newton's equations (1 + Y^T A Y) x = -g without their matrix: only products with it, O(depth) for each touch. A: one
3x3 block for each touch [lagrangian.py], Y as in rows.py.

Conjugate gradients where A is symmetric; GMRES, restarted, where it is not [Saad and Schultz 1986]. Both divide by the
diagonal first.
"""

from __future__ import annotations

import math

from supple.contact.islands import touch_at
from supple.spatial.addresses import from_entry
from supple.spatial.algebra import Vec3, dot
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Numbers
from supple.spatial.structs import Struct

BASIS = 40  #: vectors of GMRES before it begins anew
RESTARTS = 6
STEP, GRADIENT, DIAGONAL, WORK = range(4)  #: vectors; those from WORK on are scratch
VECTORS = WORK + BASIS + 2


class Small(Struct):
    """The least-squares problem of GMRES: an upper triangle, the rotations that made it, and the right side."""

    R = Numbers((BASIS + 1) * BASIS)
    c = Numbers(BASIS)
    s = Numbers(BASIS)
    g = Numbers(BASIS + 1)


new_small = Small.new


@helper
def vector(scene, k):
    return from_entry(scene.vectors, scene.model.nv * k)


@helper
def inner(scene, a, b):
    """Over the degrees of freedom of the present island, as everything here."""
    total = 0.0
    for i in range(scene.n_local):
        j = scene.dofs[i]
        total += a[j] * b[j]
    return total


@part
def multiply(scene, x, out):
    """out = (1 + Y^T A Y) x."""
    for l in range(scene.n_local):
        j = scene.dofs[l]
        out[j] = x[j]
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.slope.r0.x > 0.0:
            a = b = c = 0.0
            for i in range(touch.first, touch.first + touch.count):
                e = scene.entries[i]
                y, z = e.y, x[e.dof]
                a, b, c = a + y.x * z, b + y.y * z, c + y.z * z
            f = touch.slope @ Vec3(a, b, c)
            for i in range(touch.first, touch.first + touch.count):
                e = scene.entries[i]
                out[e.dof] += dot(e.y, f)


@part
def diagonal(scene, out):
    for l in range(scene.n_local):
        j = scene.dofs[l]
        out[j] = 1.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.slope.r0.x > 0.0:
            for i in range(touch.first, touch.first + touch.count):
                e = scene.entries[i]
                out[e.dof] += max(dot(e.y, touch.slope @ e.y), 0.0)


@part
def by_gradients(scene, accuracy):
    """x in STEP, by conjugate gradients, to a rest below accuracy times |g|."""
    n = scene.n_local
    x, g, d = vector(scene, STEP), vector(scene, GRADIENT), vector(scene, DIAGONAL)
    r, p, A = vector(scene, WORK), vector(scene, WORK + 1), vector(scene, WORK + 2)
    diagonal(scene, d)
    rz = 0.0
    for l in range(scene.n_local):
        j = scene.dofs[l]
        x[j], r[j] = 0.0, -g[j]
        p[j] = r[j] / d[j]
        rz += r[j] * p[j]
    enough = accuracy * accuracy * rz
    for _ in range(3 * n + 10):
        if rz <= enough:
            break
        multiply(scene, p, A)
        a = rz / inner(scene, p, A)
        new = 0.0
        for l in range(scene.n_local):
            j = scene.dofs[l]
            x[j] += a * p[j]
            r[j] -= a * A[j]
            new += r[j] * r[j] / d[j]
        for l in range(scene.n_local):
            j = scene.dofs[l]
            p[j] = r[j] / d[j] + (new / rz) * p[j]
        rz = new


@helper
def begin_gmres(scene, small):
    """The rest -g - M x over the diagonal, as the first vector. Returns its length."""
    x, g = vector(scene, STEP), vector(scene, GRADIENT)
    d, first = vector(scene, DIAGONAL), vector(scene, WORK)
    multiply(scene, x, first)
    for l in range(scene.n_local):
        j = scene.dofs[l]
        first[j] = (-g[j] - first[j]) / d[j]
    size = math.sqrt(inner(scene, first, first))
    small.g[0] = size
    if size > 0.0:
        for l in range(scene.n_local):
            j = scene.dofs[l]
            first[j] /= size
    return size


@helper
def extend(scene, small, k):
    """The k-th column: one more vector, perpendicular to the others, and the rotation that makes R triangular."""
    d, new = vector(scene, DIAGONAL), vector(scene, WORK + k + 1)
    R, c, s, g = small.R, small.c, small.s, small.g
    multiply(scene, vector(scene, WORK + k), new)
    for l in range(scene.n_local):
        j = scene.dofs[l]
        new[j] /= d[j]
    for i in range(k + 1):
        other = vector(scene, WORK + i)
        x = inner(scene, other, new)
        R[i * BASIS + k] = x
        for l in range(scene.n_local):
            j = scene.dofs[l]
            new[j] -= x * other[j]
    size = math.sqrt(inner(scene, new, new))
    if size > 0.0:
        for l in range(scene.n_local):
            j = scene.dofs[l]
            new[j] /= size
    for i in range(k):
        a, b = R[i * BASIS + k], R[(i + 1) * BASIS + k]
        R[i * BASIS + k], R[(i + 1) * BASIS + k] = c[i] * a + s[i] * b, c[i] * b - s[i] * a
    a = R[k * BASIS + k]
    r = math.sqrt(a * a + size * size)
    c[k], s[k] = (a / r, size / r) if r > 0.0 else (1.0, 0.0)
    R[k * BASIS + k] = r
    if k + 1 < BASIS:
        R[(k + 1) * BASIS + k + 1] = 0.0
    g[k + 1], g[k] = -s[k] * g[k], c[k] * g[k]
    return abs(g[k + 1])


@helper
def add_solution(scene, small, k):
    """x += the best combination of the first k vectors."""
    x, g, R = vector(scene, STEP), small.g, small.R
    for i in range(k - 1, -1, -1):
        for j in range(i + 1, k):
            g[i] -= R[i * BASIS + j] * g[j]
        g[i] = g[i] / R[i * BASIS + i] if R[i * BASIS + i] != 0.0 else 0.0
        other = vector(scene, WORK + i)
        for l in range(scene.n_local):
            j = scene.dofs[l]
            x[j] += g[i] * other[j]


@part
def by_gmres(scene, accuracy):
    """x in STEP, by GMRES, to a rest below accuracy times |g|."""
    x, small = vector(scene, STEP), new_small()
    for l in range(scene.n_local):
        j = scene.dofs[l]
        x[j] = 0.0
    diagonal(scene, vector(scene, DIAGONAL))
    enough = -1.0
    for _ in range(RESTARTS):
        size = begin_gmres(scene, small)
        enough = accuracy * size if enough < 0.0 else enough
        k = 0
        while size > enough and k < BASIS:
            size = extend(scene, small, k)
            k += 1
        add_solution(scene, small, k)
        if size <= enough:
            break
