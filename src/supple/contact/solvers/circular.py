"""The circular cone |x_t| <= x_n, and the products and scalings by which interior-point methods keep inside it
[Nesterov and Todd 1997; Alizadeh and Goldfarb 2003, Second-order cone programming]."""

from __future__ import annotations

import math

from supple.spatial.algebra import Sym3, Vec3, dot
from supple.spatial.compiler import helper


@helper
def across(x):
    return math.sqrt(x.y * x.y + x.z * x.z)


@helper
def determinant(x):
    """x_n^2 - |x_t|^2, of a point inside."""
    t = across(x)
    return max((x.x - t) * (x.x + t), 1e-15 * x.x * x.x + 1e-300)


@helper
def circle(a, b):
    """a o b."""
    return Vec3(dot(a, b), a.x * b.y + b.x * a.y, a.x * b.z + b.x * a.z)


@helper
def undone(l, r):
    """q with l o q = r."""
    q = (l.x * r.x - l.y * r.y - l.z * r.z) / determinant(l)
    return Vec3(q, (r.y - q * l.y) / l.x, (r.z - q * l.z) / l.x)


@helper
def quadratic(w, s):
    """s (2 w w^T - diag(1, -1, -1)), of w with determinant 1."""
    return Sym3(
        s * (2.0 * w.x * w.x - 1.0), 2.0 * s * w.x * w.y, 2.0 * s * w.x * w.z,
        s * (2.0 * w.y * w.y + 1.0), 2.0 * s * w.y * w.z, s * (2.0 * w.z * w.z + 1.0),
    )  # fmt: skip


@helper
def scaling(x, y):
    """w and s by which H = quadratic(w, s) takes y to x."""
    a, b = math.sqrt(determinant(x)), math.sqrt(determinant(y))
    p, q = x * (1.0 / a), y * (1.0 / b)
    g = 1.0 / math.sqrt(2.0 + 2.0 * dot(p, q))
    return Vec3((p.x + q.x) * g, (p.y - q.y) * g, (p.z - q.z) * g), a / b


@helper
def root_of(w, s):
    """w and s of the root of quadratic(w, s)."""
    f = 1.0 / math.sqrt(2.0 * (w.x + 1.0))
    return Vec3((w.x + 1.0) * f, w.y * f, w.z * f), math.sqrt(s)


@helper
def way_out(x, d):
    """How far x + a d stays inside: a, at most 2."""
    p = d.x * d.x - d.y * d.y - d.z * d.z
    q = x.x * d.x - x.y * d.y - x.z * d.z
    r, a = determinant(x), 2.0
    root = q * q - p * r
    if root >= 0.0 and math.sqrt(root) > q:
        a = min(a, r / (math.sqrt(root) - q))
    if d.x < 0.0:
        a = min(a, -x.x / d.x)
    return a
