"""How far apart two convex shapes are, and along which direction, from nothing but their farthest points along any
direction [Gilbert, Johnson and Keerthi 1988]. Spheres and capsules are a point and a line, with a radius that is added
in the end.

The algorithm finds the point of the difference A - B that is closest to the origin: of a simplex of up to four of its
points [Ericson 2005, Real-time collision detection, 5.1 and 9.5], which the farthest one towards the origin joins until
none is closer.
"""

from __future__ import annotations

import math

from supple.contact.geometry.hulls import farthest_corner
from supple.contact.geometry.points import norm
from supple.contact.memory import BOX, CAPSULE, CYLINDER, HULL, SPHERE
from supple.spatial.algebra import Vec3, cross, dot, transpose
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Several, Struct

ROUNDS = 60
CLOSE = 1e-12  #: of the squared distance: how much closer a point must be to count
LINE = 1e-14  #: the sine of the angle at a corner of a triangle that has no area: corners may coincide
THIN = 1e-10  #: a tetrahedron that is lower than this, relative to its edges, has no inside


class Vertex(Struct):
    """A point w = a - b of the difference, and its share of the closest point."""

    w = Value(Vec3)
    a = Value(Vec3)
    b = Value(Vec3)
    share = Number()


class Simplex(Struct):
    n = Integer()
    at = Several(4, Vertex)


new_simplex = Simplex.new


@helper
def radius_of(A):
    return A.half.x if A.kind == SPHERE or A.kind == CAPSULE else 0.0


@part
def farthest(scene, A, d):
    """The point of a shape, without its radius, that is farthest along d."""
    h, e = A.half, transpose(A.X) @ d
    p = Vec3(0.0, 0.0, 0.0)
    if A.kind == CAPSULE:
        p = Vec3(0.0, 0.0, math.copysign(h.z, e.z))
    elif A.kind == BOX:
        p = Vec3(math.copysign(h.x, e.x), math.copysign(h.y, e.y), math.copysign(h.z, e.z))
    elif A.kind == CYLINDER:
        r = math.sqrt(e.x * e.x + e.y * e.y)
        s = h.x / r if r > 0.0 else 0.0
        p = Vec3(e.x * s, e.y * s, math.copysign(h.z, e.z))
    elif A.kind == HULL:
        p = farthest_corner(scene, A, e)
    return A.at + A.X @ p


# --- the closest point of a simplex -----------------------------------------------------------------------------------


@helper
def on_line(a, b):
    ab = b - a
    size = dot(ab, ab)
    t = min(max(-dot(ab, a) / size, 0.0), 1.0) if size > 0.0 else 0.0
    return 1.0 - t, t


@helper
def on_edges(a, b, c):
    """The shares of the corners in the point of their triangle's edges that is closest to the origin."""
    u, v, w, best = 1.0, 0.0, 0.0, 1e300
    for k in range(3):
        d, e = (b if k == 2 else a), (b if k == 0 else c)
        x, y = on_line(d, e)
        p = d * x + e * y
        if dot(p, p) < best:
            best = dot(p, p)
            u, v, w = (0.0 if k == 2 else x), (x if k == 2 else y if k == 0 else 0.0), (0.0 if k == 0 else y)
    return u, v, w


@helper
def on_triangle(a, b, c):
    """The shares of the corners in the point of a triangle that is closest to the origin. Areas are products with its
    normal: differences of products of lengths would round by the square of its length over its width."""
    ab, ac = b - a, c - a
    n = cross(ab, ac)
    if dot(n, n) <= LINE * LINE * dot(ab, ab) * dot(ac, ac):
        return on_edges(a, b, c)
    d1, d2, d3, d4, d5, d6 = -dot(ab, a), -dot(ac, a), -dot(ab, b), -dot(ac, b), -dot(ab, c), -dot(ac, c)
    va, vb, vc = dot(n, cross(b, c)), dot(n, cross(c, a)), dot(n, cross(a, b))
    u, v, w = 1.0, 0.0, 0.0
    if d1 <= 0.0 and d2 <= 0.0:
        u, v, w = 1.0, 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        u, v, w = 0.0, 1.0, 0.0
    elif vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        v = d1 / (d1 - d3)
        u = 1.0 - v
    elif d6 >= 0.0 and d5 <= d6:
        u, w = 0.0, 1.0
    elif vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        w = d2 / (d2 - d6)
        u = 1.0 - w
    elif va <= 0.0 and d4 >= d3 and d5 >= d6:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        u, v = 0.0, 1.0 - w
    else:
        s = 1.0 / (va + vb + vc)
        v, w = vb * s, vc * s
        u = 1.0 - v - w
    return u, v, w


@helper
def keep_those_with_shares(S):
    n = 0
    for i in range(S.n):
        if S.at[i].share > 0.0:
            if n != i:
                S.at[n].w, S.at[n].a, S.at[n].b, S.at[n].share = S.at[i].w, S.at[i].a, S.at[i].b, S.at[i].share
            n += 1
    S.n = n


@helper
def corner_of(face, k):
    """Corners of the faces of a tetrahedron; the fourth is the one opposite."""
    return (face + k) % 4


@helper
def on_tetrahedron(S):
    """Sets shares; all are positive if the origin is inside."""
    best = 1e300
    found = False
    for i in range(4):
        S.at[i].share = 0.25
    for face in range(4):
        i, j, k, l = corner_of(face, 0), corner_of(face, 1), corner_of(face, 2), corner_of(face, 3)
        a, b, c, d = S.at[i].w, S.at[j].w, S.at[k].w, S.at[l].w
        n = cross(b - a, c - a)
        high = dot(n, d - a)
        if -dot(n, a) * high <= 0.0 or abs(high) <= THIN * norm(n) * norm(d - a):  # the origin is not on the inner side
            u, v, w = on_triangle(a, b, c)
            p = a * u + b * v + c * w
            if dot(p, p) < best:
                best, found = dot(p, p), True
                S.at[i].share, S.at[j].share, S.at[k].share, S.at[l].share = u, v, w, 0.0
    return not found


@part
def closest_point(S):
    """Of a simplex to the origin, and whether the origin is inside; corners without a share are dropped."""
    inside = False
    if S.n == 1:
        S.at[0].share = 1.0
    elif S.n == 2:
        S.at[0].share, S.at[1].share = on_line(S.at[0].w, S.at[1].w)
    elif S.n == 3:
        S.at[0].share, S.at[1].share, S.at[2].share = on_triangle(S.at[0].w, S.at[1].w, S.at[2].w)
    else:
        inside = on_tetrahedron(S)
    keep_those_with_shares(S)
    p = Vec3(0.0, 0.0, 0.0)
    for i in range(S.n):
        p = p + S.at[i].w * S.at[i].share
    if S.n == 3:  # across the triangle: shares of one that is long and thin round too much
        a = S.at[0].w
        n = cross(S.at[1].w - a, S.at[2].w - a)
        size = dot(n, n)
        p = n * (dot(n, a) / size) if size > 0.0 else p
    return p, inside


# --- two shapes -------------------------------------------------------------------------------------------------------


@helper
def add_farthest(scene, A, B, S, d, shift):
    """The point of A - B, A moved by a shift, that is farthest along d."""
    v = S.at[S.n]
    v.a, v.b = farthest(scene, A, d) + shift, farthest(scene, B, d * -1.0)
    v.w = v.a - v.b
    S.n += 1


@helper
def points_of(S):
    """The points of A and B that the closest point of a simplex is made of."""
    a = b = Vec3(0.0, 0.0, 0.0)
    for i in range(S.n):
        a, b = a + S.at[i].a * S.at[i].share, b + S.at[i].b * S.at[i].share
    return a, b


@part
def between(scene, A, B, S, shift, n):
    """The vector from B to A, moved by a shift, between their closest points, and these; beginning with a direction n
    from B to A. None if they overlap."""
    S.n = 0
    add_farthest(scene, A, B, S, n * -1.0, shift)
    p, inside = closest_point(S)
    a, b = points_of(S)
    for _ in range(ROUNDS):
        size = dot(p, p)
        if inside or size == 0.0:
            break
        add_farthest(scene, A, B, S, p * -1.0, shift)
        if size - dot(p, S.at[S.n - 1].w) <= CLOSE * size:
            break
        new, inside = closest_point(S)
        if S.n == 0 or (not inside and dot(new, new) >= size):  # S.n: a triangle without area has no shares
            break
        p = new
        a, b = points_of(S)
    if inside:
        p = Vec3(0.0, 0.0, 0.0)
    return p, a - shift, b
