"""Outlines: polygons in space, as a direction sees them. They grow by points that are outside them, lose the corners
whose triangles are smallest, and are clipped to each other."""

from __future__ import annotations

from supple.contact.geometry.points import norm
from supple.spatial.algebra import Vec3, cross, dot
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Several, Struct

SAME = 1e-6  #: points closer than this share of the size are one
RING = 16  #: corners of an outline
ROOM = 2 * RING + 1  #: and those that clipping adds, or that it has while it is found
ALIKE = 1e-9  #: areas that differ relatively by less are equal


class OutlineCorner(Struct):
    at = Value(Vec3)
    k = Integer()  # which corner of the shape
    inward = Value(Vec3)  # across the edge to the next one, and as long
    far = Number()  # scratch


class Outline(Struct):
    """Corners in order, counter-clockwise about `out`, and room for those that clipping adds."""

    n = Integer()
    out = Value(Vec3)
    on = Value(Vec3)  # a point of its plane
    deep = Number()  # how far behind it corners may be
    corners = Several(ROOM, OutlineCorner)


new_outline = Outline.new


# --- rings ------------------------------------------------------------------------------------------------------------


@helper
def set_corner(outline, i, p, k):
    outline.corners[i].at, outline.corners[i].k = p, k


@helper
def copy_corner(to, source):
    to.at, to.k, to.inward, to.far = source.at, source.k, source.inward, source.far


@helper
def after(outline, i):
    return i + 1 if i + 1 < outline.n else 0


@helper
def remove_corner(outline, i):
    outline.n -= 1
    for k in range(i, outline.n):
        copy_corner(outline.corners[k], outline.corners[k + 1])


@helper
def before(outline, i):
    return i - 1 if i > 0 else outline.n - 1


@helper
def set_edge(outline, i, m):
    """The edge from a corner to the next one."""
    outline.corners[i].inward = cross(m, outline.corners[after(outline, i)].at - outline.corners[i].at)


@helper
def set_area(outline, i, m):
    """Of the triangle of a corner and its neighbours, as m sees it."""
    p = outline.corners[i].at
    a, b = outline.corners[before(outline, i)].at - p, outline.corners[after(outline, i)].at - p
    outline.corners[i].far = dot(m, cross(b, a))


@part
def reduce_outline(outline, m, count):
    """To so many corners: without those whose triangles are smallest, one after the other."""
    if outline.n <= count:
        return
    for i in range(outline.n):
        set_area(outline, i, m)
    while outline.n > count:
        i = 0
        for k in range(1, outline.n):
            if outline.corners[k].far < outline.corners[i].far * (1.0 - ALIKE):
                i = k
        remove_corner(outline, i)
        i = i if i < outline.n else 0
        set_area(outline, i, m)
        set_area(outline, before(outline, i), m)
        set_edge(outline, before(outline, i), m)


@helper
def widen_line(outline, p, k, m, near):
    """What has fewer than three corners, by a point."""
    a, b, n = outline.corners[0].at, outline.corners[max(outline.n - 1, 0)].at, outline.n
    inward = cross(m, b - a)
    length, side, along = dot(inward, inward), dot(inward, p - a), dot(p - a, b - a)
    if n == 0 or (n == 2 and side * side <= near * near * length and along < 0.0):
        set_corner(outline, 0, p, k)
        outline.n = max(n, 1)
    elif n == 1:
        d = cross(m, p - a)
        if dot(d, d) > near * near:
            set_corner(outline, 1, p, k)
            outline.n = 2
    elif side * side <= near * near * length:
        if along > length:
            set_corner(outline, 1, p, k)
    else:
        set_corner(outline, 2, p, k)
        if side < 0.0:
            q, i = outline.corners[1].at, outline.corners[1].k
            set_corner(outline, 1, p, k)
            set_corner(outline, 2, q, i)
        outline.n = 3
        for i in range(3):
            set_edge(outline, i, m)


@helper
def is_beyond(corner, p, near):
    """Whether a point is outside the edge that begins at a corner."""
    side = dot(corner.inward, p - corner.at)
    return side < 0.0 and side * side > near * near * dot(corner.inward, corner.inward)


@part
def widen_ring(outline, p, k, m, near):
    """What has three corners or more, by a point, if that is outside."""
    n, first, seen = outline.n, -1, is_beyond(outline.corners[outline.n - 1], p, near)
    for i in range(n):
        last, seen = seen, is_beyond(outline.corners[i], p, near)
        outline.corners[i].far = 1.0 if seen else 0.0
        if seen and not last:
            first = i
    if first < 0:
        return
    at, hidden = after(outline, first), 0
    while outline.corners[at].far > 0.0 and hidden < n - 2:  # corners between edges that the point sees
        at, hidden = after(outline, at), hidden + 1
    for _ in range(hidden):
        i = after(outline, first)
        remove_corner(outline, i)
        if i < first:
            first -= 1
    outline.n += 1
    for i in range(outline.n - 1, first + 1, -1):
        copy_corner(outline.corners[i], outline.corners[i - 1])
    set_corner(outline, first + 1, p, k)
    set_edge(outline, first, m)
    set_edge(outline, first + 1, m)


@helper
def begin_with_first(outline):
    """With the first corner in the order of the shape's, wherever it was begun."""
    first = 0
    for i in range(1, outline.n):
        if outline.corners[i].k < outline.corners[first].k:
            first = i
    for _ in range(first):
        copy_corner(outline.corners[outline.n], outline.corners[0])
        for i in range(outline.n):
            copy_corner(outline.corners[i], outline.corners[i + 1])


# --- clipping ---------------------------------------------------------------------------------------------------------


@helper
def add_corner(outline, p, near):
    """Unless it is the last one, or the first."""
    if outline.n > 0:
        a, b = p - outline.corners[outline.n - 1].at, p - outline.corners[0].at
        if dot(a, a) < near * near or dot(b, b) < near * near or outline.n == ROOM:
            return
    outline.corners[outline.n].at = p
    outline.n += 1


@part
def clip_outline(source, to, p, inward, near):
    """What of an outline is on the inner side of a line through p."""
    to.n = 0
    for k in range(source.n):
        a, b = source.corners[k].at, source.corners[after(source, k)].at
        x, y = dot(inward, a - p), dot(inward, b - p)
        if x >= -near:
            add_corner(to, a, near)
        if (x > near and y < -near) or (x < -near and y > near):
            add_corner(to, a + (b - a) * (x / (x - y)), near)


@part
def clip_to(outline, other, n, spare, near):
    """An outline clipped to the other one, which has an area and is counter-clockwise about n."""
    for k in range(other.n):
        p, q = other.corners[k].at, other.corners[after(other, k)].at
        inward = cross(n, q - p)
        size = norm(inward)
        if size > near:
            clip_outline(outline, spare, p, inward * (1.0 / size), near)
            outline.n = spare.n
            for m in range(spare.n):
                outline.corners[m].at = spare.corners[m].at


@helper
def beyond(outline, p, out):
    """How far outside an edge or a face a point is, as `out` sees it."""
    most = -1e300
    if outline.n == 2:
        a = outline.corners[0].at
        d, r = outline.corners[1].at - a, p - a
        d, r = d - out * dot(out, d), r - out * dot(out, r)
        most = norm(r - d * min(max(dot(r, d) / dot(d, d), 0.0), 1.0))
    else:
        for i in range(outline.n):
            q = outline.corners[i].at
            edge = outline.corners[after(outline, i)].at - q
            outward = cross(edge, out)
            most = max(most, dot(outward, p - q) / norm(outward))
    return most
