"""Where boxes touch each other.

The normal is the axis along which they are farthest apart, or overlap least, among the fifteen that can separate two
boxes: the faces' normals, and the products of their edges [Gottschalk, Lin and Manocha 1996, OBBTree]. If it is a
face's, the face of the other box that looks at it most is clipped to its outline, and the corners that remain are
touches: up to eight. If it is a product of edges, touches along it are those of hulls: an edge that leans a little over
a face crosses an edge of that, and touches the face all along. If what is closest is none of these, as where edges are
parallel or corners meet, the normal is found as that of hulls, too.
"""

from __future__ import annotations

import math

from supple.contact.geometry.convex import add_facing, convex
from supple.contact.geometry.points import add_touch, box_axis, half_edge, norm
from supple.spatial.algebra import Vec3, cross, dot
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Value
from supple.spatial.structs import Several, Struct

FACE_FIRST = 1e-4  #: an edge's axis must be better than a face's by this share of the smallest half edge ...
A_FIRST = 1e-6  #: ... and a face of the second box than those of the first: touches of parallel faces keep their keys
ON_THE_EDGE = 1e-9  #: relative to sizes
PARALLEL = 1e-6  #: edges whose product is shorter than this have none
SIDE_BY_SIDE = 1e-3  #: and its square, of those that touch along a line


class Corner(Struct):
    at = Value(Vec3)


class Polygon(Struct):
    """A face that is clipped: at most eight corners. Two of them take turns."""

    n = Integer()
    corners = Several(12, Corner)


new_polygon = Polygon.new


@helper
def extent(A, n):
    """Half the length of a box along n."""
    h = A.half
    return (
        h.x * abs(dot(n, box_axis(A.X, 0))) + h.y * abs(dot(n, box_axis(A.X, 1))) + h.z * abs(dot(n, box_axis(A.X, 2)))
    )


@helper
def separation(A, B, n):
    """How far apart two boxes are along n, and n towards A."""
    d = dot(n, A.at - B.at)
    if d < 0.0:
        n = n * -1.0
    return abs(d) - extent(A, n) - extent(B, n), n


@helper
def thinnest(A, B):
    h, g = A.half, B.half
    return min(h.x, h.y, h.z, g.x, g.y, g.z)


@helper
def best_axis(A, B):
    """The normal, how far apart they are along it, and which it is: 0 to 2 faces of A, 3 to 5 of B, from 6 edges."""
    best, which, normal, size = -1e300, 0, Vec3(0.0, 0.0, 1.0), thinnest(A, B)
    for k in range(6):
        gap, n = separation(A, B, box_axis(A.X, k) if k < 3 else box_axis(B.X, k - 3))
        if gap > best + (A_FIRST * size if k >= 3 else 0.0):
            best, which, normal = gap, k, n
    ahead = FACE_FIRST * size
    for k in range(9):
        e = cross(box_axis(A.X, k // 3), box_axis(B.X, k % 3))
        length = norm(e)
        if length > PARALLEL:
            gap, n = separation(A, B, e * (1.0 / length))
            if gap > best + ahead:
                best, which, normal = gap, 6 + k, n
    return best, which, normal


@helper
def edge_point(A, k, n):
    """The middle of the edge along axis k that is farthest along n."""
    p = A.at
    for i in range(3):
        if i != k:
            e = box_axis(A.X, i)
            p = p + e * math.copysign(half_edge(A.half, i), dot(e, n))
    return p


@helper
def closest_of_edges(A, B, which, n):
    """Whether two edges are closest within both, as those that are nearly parallel are not, and that point of A's."""
    a, b = box_axis(A.X, which // 3), box_axis(B.X, which % 3)
    c, d = edge_point(A, which // 3, n * -1.0), edge_point(B, which % 3, n)
    ab, r = dot(a, b), d - c
    if 1.0 - ab * ab < SIDE_BY_SIDE:
        return False, c
    x, y = (dot(a, r) - ab * dot(b, r)) / (1.0 - ab * ab), (ab * dot(a, r) - dot(b, r)) / (1.0 - ab * ab)
    return abs(x) <= half_edge(A.half, which // 3) and abs(y) <= half_edge(B.half, which % 3), c + a * x


@helper
def clip(source, to, axis, at, size):
    """What of a polygon is within `size` of `at` along an axis; a corner nearly there counts as there."""
    to.n, near = 0, ON_THE_EDGE * size
    for k in range(source.n):
        p, q = source.corners[k].at, source.corners[k + 1 if k + 1 < source.n else 0].at
        x, y = dot(axis, p - at) - size, dot(axis, q - at) - size
        if x <= near:
            to.corners[to.n].at = p
            to.n += 1
        if (x < -near and y > near) or (x > near and y < -near):
            to.corners[to.n].at = p + (q - p) * (x / (x - y))
            to.n += 1


@helper
def facing(B, n, face):
    """The corners of the face of a box that looks most against n."""
    k, most = 0, -1.0
    for i in range(3):
        if abs(dot(box_axis(B.X, i), n)) > most:
            k, most = i, abs(dot(box_axis(B.X, i), n))
    e = box_axis(B.X, k)
    middle = B.at - e * math.copysign(half_edge(B.half, k), dot(e, n))
    i, j = (k + 1) % 3, (k + 2) % 3
    u, w = box_axis(B.X, i) * half_edge(B.half, i), box_axis(B.X, j) * half_edge(B.half, j)
    face.n = 4
    face.corners[0].at = middle + u + w
    face.corners[1].at = middle + u - w
    face.corners[2].at = middle - u - w
    face.corners[3].at = middle - u + w


@helper
def add_faces(scene, i, j, which, n, within):
    """The corners of one box's face over the other's: n is the normal from B to A. Returns the smallest gap."""
    of_a = which < 3
    k = which if of_a else which - 3
    A, B = scene.shapes[i], scene.shapes[j]
    one, two = new_polygon(), new_polygon()
    if of_a:  # the other box's face is clipped to this one's
        clip_face(A, B, n * -1.0, k, one, two)
        at, size, out = A.at, half_edge(A.half, k), n * -1.0
    else:
        clip_face(B, A, n, k, one, two)
        at, size, out = B.at, half_edge(B.half, k), n
    least = 1e300
    for p in range(one.n):
        c = one.corners[p].at
        gap = dot(out, c - at) - size
        least = min(least, gap)
        if gap < within:
            add_touch(scene, i, j, c - out * (0.5 * gap), n, gap, p + (8 if of_a else 16))
    return least


@helper
def clip_face(A, B, out, k, one, two):
    """The face of B that looks at A's face, along its normal `out`, clipped to that."""
    facing(B, out, one)
    for step in range(2):
        i = (k + 1 + step) % 3
        e, h = box_axis(A.X, i), half_edge(A.half, i)
        clip(one, two, e, A.at, h)
        clip(two, one, e * -1.0, A.at, h)


@part
def boxes(scene, i, j, within):
    A, B = scene.shapes[i], scene.shapes[j]
    gap, which, n = best_axis(A, B)
    if gap >= within:
        return
    known, found = scene.n, True
    if which < 6:
        least = add_faces(scene, i, j, which, n, within)
        found = least <= max(gap, 0.0) + FACE_FIRST * thinnest(A, B)  # what is closest may be beside the face
    else:
        found, a = closest_of_edges(A, B, which - 6, n)
        if found:
            add_facing(scene, A, B, i, j, n, gap, a, within)
    if not found:
        scene.n = known
        convex(scene, i, j, within)
