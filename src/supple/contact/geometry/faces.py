"""The part of a convex shape by which it touches what is beyond it along a direction: its face, an edge or a corner.

It is found as the shape would settle on a plane across that direction: on its farthest corner, then over the edge on
which it has to lean the least, then over the face on which it has to lean the least about that edge. It ends at an edge
or a corner if it would have to lean by more than LEANS. The outline of a face is that of all corners in its plane, and
those of a chamfer around a sole are no part of it. Corners beside a face are found apart [corners_beside].

Outlines are found in the frame of the shape, without tangents of the world: they turn with the shape. Beyond RING
corners, those are left out without which the area is reduced the least.
"""

from __future__ import annotations

import math

from supple.contact.geometry.hulls import SECTORS, farthest_index, hull_point
from supple.contact.geometry.outlines import (
    RING,
    ROOM,
    SAME,
    begin_with_first,
    beyond,
    reduce_outline,
    set_corner,
    widen_line,
    widen_ring,
)
from supple.contact.geometry.points import UPRIGHT, norm
from supple.contact.memory import BOX, CAPSULE, CYLINDER, HULL, SPHERE
from supple.spatial.algebra import Vec3, cross, dot, transpose
from supple.spatial.compiler import helper, part

IN_PLANE = 1e-5  #: relative to the size: corners that stand back less than this from a face are on it,
IN_FACE = 1e-8  #: and where it meets a plane, so that none of them takes the place of one that does not
LEVEL = 1e-8  #: relative to the size: differences of heights that do not matter beside how far apart corners are
LEANS = 0.1  #: the slope by which a shape leans, at most, for a face or an edge
SIDES = 8  #: touches of faces
CANDIDATES = 24  #: corners beside a face among which SIDES are chosen


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


# --- faces ------------------------------------------------------------------------------------------------------------


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
def place_outline(A, outline, m, a):
    """In the world; a: a point of its plane."""
    outline.out, outline.on = A.X @ m, A.at + A.X @ a
    begin_with_first(outline)
    for i in range(outline.n):
        outline.corners[i].at = A.at + A.X @ outline.corners[i].at


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
