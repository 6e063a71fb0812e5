"""The part of a convex shape by which it touches what is beyond it along a direction: its face, an edge or a corner.

It is found as the shape would settle on a plane across that direction: on its farthest corner, then over the edge on
which it has to lean the least, then over the face on which it has to lean the least about that edge. It ends at an edge
or a corner if it would have to lean by more than LEANS. The outline of a face is that of all corners in its plane, and
the corners of a chamfer around a sole are no part of it, however low the chamfer. Corners beside a face are found apart
[corners_beside].

Outlines are found in the frame of the shape, without tangents of the world: they turn with the shape. Beyond RING
corners, those are left out without which the area is smallest reduced.
"""

from __future__ import annotations

import math

from supple.contact.geometry.hulls import SECTORS, farthest_index, hull_point
from supple.contact.geometry.points import UPRIGHT, norm
from supple.contact.memory import BOX, CAPSULE, CYLINDER, HULL, SPHERE
from supple.spatial.algebra import Vec3, cross, dot, transpose
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Several, Struct

SAME = 1e-6  #: points closer than this share of the size are one
IN_PLANE = 1e-5  #: relative to the size: corners that stand back less than this from a face are on it,
IN_FACE = 1e-8  #: and where it meets a plane, so that none of them takes the place of one that does not
LEVEL = 1e-8  #: relative to the size: differences of heights that do not matter beside how far apart corners are
LEANS = 0.1  #: the slope by which a shape leans, at most, for a face or an edge
RING = 16  #: corners of an outline
ROOM = 2 * RING + 1  #: and those that clipping adds, or that it has while it is found
SIDES = 8  #: touches of faces
CANDIDATES = 24  #: corners beside a face among which SIDES are chosen
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


# --- the corners of shapes, in their frames ---------------------------------------------------------------------------


@helper
def outer_count(A):
    """How many points stand for a shape, without its radius."""
    n = 8
    if A.kind == SPHERE:
        n = 1
    elif A.kind == CAPSULE:
        n = 2
    elif A.kind == CYLINDER:
        n = 16
    elif A.kind == HULL:
        n = A.count
    return n


@helper
def rim_point(A, e, k):
    """An eighth of the way around the rim of a cylinder each, both ends in turn, beginning with what is farthest along
    e; where it stands upright, they do not turn."""
    size = math.sqrt(e.x * e.x + e.y * e.y)
    x, y = 1.0, 0.0
    if size > UPRIGHT:
        x, y = e.x / size, e.y / size
    m = k // 2
    if m % 2 == 1:
        x, y = (x - y) * math.sqrt(0.5), (x + y) * math.sqrt(0.5)
    if m // 2 == 1:
        x, y = -y, x
    elif m // 2 == 2:
        x, y = -x, -y
    elif m // 2 == 3:
        x, y = y, -x
    return Vec3(A.half.x * x, A.half.x * y, A.half.z if k % 2 == 0 else -A.half.z)


@helper
def outer_point(scene, A, e, k):
    """One of them; e: the direction in which they are looked for."""
    h, sign = A.half, 1.0 if k % 2 == 0 else -1.0
    p = Vec3(0.0, 0.0, 0.0)
    if A.kind == HULL:
        p = hull_point(scene, A, k)
    elif A.kind == BOX:
        p = Vec3(sign * h.x, h.y if k // 2 % 2 == 0 else -h.y, h.z if k // 4 == 0 else -h.z)
    elif A.kind == CYLINDER:
        p = rim_point(A, e, k)
    elif A.kind == CAPSULE:
        p = Vec3(0.0, 0.0, sign * h.z)
    return p


@helper
def outermost(scene, A, e):
    """Which of them is farthest along e."""
    if A.kind == HULL:
        return farthest_index(scene, A, e)
    k, best = 0, -1e300
    for i in range(outer_count(A)):
        far = dot(e, outer_point(scene, A, e, i))
        if far > best:
            k, best = i, far
    return k


@helper
def around(scene, A, k):
    """How many points may be joined to one by an edge, and where the list of them begins; -1: they are all."""
    if A.kind != HULL or A.graph < 0:
        return outer_count(A), -1
    first = scene.graphs[A.graph + SECTORS + k]
    return scene.graphs[A.graph + SECTORS + k + 1] - first, first


@helper
def steepness(back, away, level):
    """Of what stands back at a distance. Of corners that are equally high, the more distant ones are best."""
    return (back + level) / away


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


@part
def widen(scene, A, e, m, a, deep, outline):
    """An outline about m, by all points of a shape that are at most this deep behind a along m."""
    near, top = SAME * norm(A.box), dot(m, a) - deep
    for k in range(outer_count(A)):
        p = outer_point(scene, A, e, k)
        if dot(m, p) >= top:
            if outline.n < 3:
                widen_line(outline, p, k, m, near)
            else:
                widen_ring(outline, p, k, m, near)
                if outline.n == ROOM - 1:
                    reduce_outline(outline, m, RING)
    reduce_outline(outline, m, RING)


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


@helper
def place_outline(A, outline, m, a):
    """In the world; a: a point of its plane."""
    outline.out, outline.on = A.X @ m, A.at + A.X @ a
    begin_with_first(outline)
    for i in range(outline.n):
        outline.corners[i].at = A.at + A.X @ outline.corners[i].at


# --- faces ------------------------------------------------------------------------------------------------------------


@part
def find_face(scene, A, out, in_plane, outline):
    """The face, edge or corner of a shape that looks along a unit vector `out`; in_plane: relative to its size."""
    e, size = transpose(A.X) @ out, norm(A.box)
    near, level = SAME * size, LEVEL * size
    i = outermost(scene, A, e)
    a = outer_point(scene, A, e, i)
    set_corner(outline, 0, a, i)
    outline.n, outline.deep = 1, in_plane * size
    count, first = around(scene, A, i)
    b, j, best = a, -1, LEANS
    for x in range(count):
        k = x if first < 0 else scene.graphs[first + x]
        p = outer_point(scene, A, e, k)
        back = dot(e, a - p)
        away = norm(p - a + e * back)
        if away > near and steepness(back, away, level) < best:
            b, j, best = p, k, steepness(back, away, level)
    m = e
    if j >= 0:
        set_corner(outline, 1, b, j)
        outline.n = 2
        back = dot(e, a - b)
        across = b - a + e * back
        m = e + across * (back / dot(across, across))  # leaning so that b is as high as a
        m = m * (1.0 / norm(m))
        side = cross(m, b - a) * (1.0 / norm(b - a))
        c, found, best = a, False, LEANS
        for x in range(count):
            k = x if first < 0 else scene.graphs[first + x]
            p = outer_point(scene, A, e, k)
            away = abs(dot(side, p - a))
            if away > near and steepness(dot(m, a - p), away, level) < best:
                c, found, best = p, True, steepness(dot(m, a - p), away, level)
        if found:
            x = cross(b - a, c - a)
            m = x * (math.copysign(1.0, dot(x, m)) / norm(x))
            outline.n = 0
            widen(scene, A, e, m, a, outline.deep, outline)
    place_outline(A, outline, m, a)


@part
def find_shadow(scene, A, out, deep, outline):
    """The outline, as `out` sees it, of all points of a shape that are at most this deep behind its farthest one."""
    e = transpose(A.X) @ out
    a = outer_point(scene, A, e, outermost(scene, A, e))
    outline.n = 0
    widen(scene, A, e, e, a, deep, outline)
    place_outline(A, outline, e, a)


# --- beside faces -----------------------------------------------------------------------------------------------------


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


@helper
def add_candidate(beside, p, lower):
    """One of the most that there is room for."""
    at, n = beside.n, beside.n
    if n == CANDIDATES:
        at = 0
        for i in range(1, n):
            if beside.corners[i].far < beside.corners[at].far:
                at = i
        if beside.corners[at].far >= lower:
            return
    else:
        beside.n = n + 1
    beside.corners[at].at, beside.corners[at].far = p, lower


@part
def corners_beside(scene, A, out, flat, face, beside):
    """Corners of a shape that are near the plane of its face or edge, to make SIDES with those of that: one after the
    other the one that would be lowest, below all that were chosen, if the shape leaned towards it."""
    beside.n = 0
    if face.n < 2 or face.n >= SIDES or A.kind != HULL:
        return
    e = transpose(A.X) @ out
    top = dot(out, A.at + A.X @ hull_point(scene, A, farthest_index(scene, A, e))) - dot(out, A.at)
    for k in range(A.count):
        p = hull_point(scene, A, k)
        back = top - dot(e, p)
        if back <= flat:
            x = A.at + A.X @ p
            known = dot(face.out, face.on - x) <= face.deep and face.n > 2
            if not known:
                lower = LEANS * beyond(face, x, out) - back
                if lower > 0.0:
                    add_candidate(beside, x, lower)
    chosen = 0
    while chosen < beside.n and chosen < SIDES - face.n:
        best = chosen
        for i in range(chosen + 1, beside.n):
            if beside.corners[i].far > beside.corners[best].far:
                best = i
        if not beside.corners[best].far > 0.0:
            break
        p, q = beside.corners[best].at, beside.corners[chosen].at
        beside.corners[best].at, beside.corners[best].far = q, beside.corners[chosen].far
        beside.corners[chosen].at = p
        chosen += 1
        for i in range(chosen, beside.n):
            d = beside.corners[i].at - p
            up = dot(out, d)
            lower = LEANS * norm(d - out * up) + up
            beside.corners[i].far = min(beside.corners[i].far, lower)
    beside.n = chosen


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
