"""Where shapes touch a height field.

Its surface is two triangles to a cell, divided from the corner with the lowest indices to the one with the highest. A
point with a radius touches triangles, at their closest points; a shape's points are those of points.corner. What else
may touch are ridges of the field, edges from which it falls off on both sides, and peaks, where they end: each is a
line, which a convex shape touches as it touches a capsule without a radius [convex.py], if the normal is out of the
triangles on both sides; and the lowest points of cylinders over each triangle. Beyond its outermost edges, which are
ridges, too, a field falls off straight down; walls there are not touched otherwise.

The normal at a ridge that is inside a shape may lean into the field, at all ridges that are: then any that is not level
is taken, as the shape would not be found otherwise. What is deep inside, or pierced, is pushed straight up instead
[hills.py].
"""

from __future__ import annotations

import math

from supple.contact.geometry.convex import add_facing, facing
from supple.contact.geometry.hills import (
    cells_near,
    corners_of_cell,
    deep_overlap,
    field_point,
    is_pierced,
    lift_out,
    make_line,
    new_line,
    over,
    spacing,
)
from supple.contact.geometry.points import add_touch, corner, lower_than_corners, n_corners, norm
from supple.contact.geometry.support import farthest, radius_of
from supple.contact.memory import CYLINDER, SPHERE
from supple.spatial.algebra import Vec3, cross, dot, transpose, z_axis
from supple.spatial.compiler import helper, part

ALIKE = 0.999  #: touches of one point whose normals agree to this are one
MOST = 4  #: touches of one point
FLAT = 1e-3  #: the sine of the angle by which a ridge falls off, at least
LEANING = 0.02  #: the sine of the angle by which a normal may lean towards a triangle
EDGES = 16  #: by which touches at ridges are told apart
UNSEEN = 5e-4  #: metres that a ridge may be inside a shape, with no touch that says so, unless that is deep
STEEP = 0.3  #: the sine of the angle by which a normal rises, at least, that leans into the field


@helper
def nearest_on_triangle(p, a, b, c):
    """The point of a triangle closest to p [Ericson 2005, Real-Time Collision Detection, 5.1.5]."""
    ab, ac, ap = b - a, c - a, p - a
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return a
    bp = p - b
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return b
    if d1 * d4 - d3 * d2 <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return a + ab * (d1 / (d1 - d3))
    cp = p - c
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return c
    if d5 * d2 - d1 * d6 <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return a + ac * (d2 / (d2 - d6))
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)))
    total = va + vb + vc
    return a + ab * (vb / total) + ac * (vc / total)


@helper
def touch_triangle(p, a, b, c, r):
    """Gap and normal of a sphere about p at a triangle; below it, those of its plane."""
    up = cross(b - a, c - a)
    up = up * (1.0 / norm(up))
    if up.z < 0.0:
        up = up * -1.0
    q = nearest_on_triangle(p, a, b, c)
    away, height = p - q, dot(up, p - a)
    distance = norm(away)
    if height <= 0.0 or distance <= 1e-12:
        gap, n, valid = height - r, up, over(p, a, b, c)
    else:
        gap, n, valid = distance - r, away * (1.0 / distance), True
    return gap, n, valid


@helper
def place_for(scene, begin, n, gap):
    """Where a touch of a point goes among those since `begin`: that of one with nearly the same normal if it is farther
    away, a new one, or that of the one that is farthest away. -1: nowhere."""
    count, farthest, most = min(scene.n, scene.capacity) - begin, -1, gap
    for k in range(begin, begin + count):
        touch = scene.touches[k]
        if dot(touch.n, n) > ALIKE:
            return k - begin if gap < touch.gap else -1
        if touch.gap > most:
            farthest, most = k - begin, touch.gap
    return farthest if count == MOST else count


@helper
def on_rim(scene, A, H, a, b, c, k):
    """What of an end of the cylinder A is lowest on the slope of a triangle, and whether it is another point than all
    corners before k."""
    up = cross(b - a, c - a)
    up = H.X @ (up * (math.copysign(1.0, up.z) / norm(up)))
    return corner(scene, A, up, k), k < 8 or lower_than_corners(A, up)


@part
def point_on_heights(scene, i, j, c, r, within, feature):
    """A sphere about c, in the world, on the height field j. The lowest points of a cylinder are others on every
    triangle."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, slides = transpose(H.X) @ (c - H.at), A.kind == CYLINDER and (feature < 2 or feature >= 8)
    dx, dy = spacing(H)
    reach = r + within + (2.0 * A.half.x if slides else 0.0)
    if abs(p.x) > H.half.x + reach or abs(p.y) > H.half.y + reach:
        return
    low, high = cells_near(p.x, dx, H.half.x, H.count - 1.0, reach)
    bottom, top = cells_near(p.y, dy, H.half.y, H.rows - 1.0, reach)
    begin, margin = scene.n, A.margin + H.margin
    for row in range(bottom, top + 1):
        for column in range(low, high + 1):
            a, d = field_point(scene, H, row, column), field_point(scene, H, row + 1, column + 1)
            for half in range(2):
                b = field_point(scene, H, row, column + 1) if half == 0 else field_point(scene, H, row + 1, column)
                at, other = on_rim(scene, A, H, a, b, d, feature) if slides else (c, True)
                gap, n, valid = touch_triangle(transpose(H.X) @ (at - H.at), a, b, d, r)
                if valid and other and gap < within:
                    n = H.X @ n
                    place = place_for(scene, begin, n, gap - margin)
                    if place >= 0:
                        end = max(scene.n, begin + place + 1)
                        scene.n = begin + place
                        add_touch(scene, i, j, at - n * (r + 0.5 * gap), n, gap, MOST * feature + place)
                        scene.n = end


# --- ridges -----------------------------------------------------------------------------------------------------------


@helper
def rises(p, q, u, w):
    """Whether the edge from p to q is a ridge between the triangles with the third corners u and w: the second one is
    below the plane of the first."""
    n = cross(q - p, u - p)
    if n.z < 0.0:
        n = n * -1.0
    return dot(n, w - p) < -FLAT * norm(n) * norm(w - p)


@helper
def between_slopes(n, p, u, w):
    """Whether a normal at a ridge is out of both triangles."""
    return dot(n, u - p) < LEANING * norm(u - p) and dot(n, w - p) < LEANING * norm(w - p)


@helper
def below(p):
    """What is beyond the border at p, as the third corner of a triangle."""
    return p - Vec3(0.0, 0.0, 1.0)


@helper
def copy_touch(source, to):
    to.point, to.n, to.t, to.s = source.point, source.n, source.t, source.s
    to.gap, to.key = source.gap, source.key


@helper
def repeated(scene, begin, touch, k, near):
    """The touch since `begin`, before k, that is where this one is, -1 if there is none."""
    for m in range(begin, k):
        d = scene.touches[m].point - touch.point
        if dot(d, d) < near * near and dot(scene.touches[m].n, touch.n) > ALIKE:
            return m
    return -1


@helper
def drop_repeated(scene, begin, first, near):
    """Of the touches from `first` on and those since `begin` that are in the same places, the ones that are farther
    apart."""
    k = first
    while k < scene.n <= scene.capacity:
        touch = scene.touches[k]
        same = repeated(scene, begin, touch, k, near)
        if same >= 0:
            if touch.gap < scene.touches[same].gap:
                copy_touch(touch, scene.touches[same])
            scene.n -= 1
            copy_touch(scene.touches[scene.n], touch)
        else:
            k += 1


@helper
def unseen_overlap(A, H):
    """Overlap that is noticed even if no touch says so."""
    return min(UNSEEN, deep_overlap(A, H))


@part
def add_ridge(scene, i, j, p, q, u, w, line, begin, within, lenient, feature):
    """The touches of a shape with the edge from p to q of the field j, if that is a ridge and below the shape; lenient:
    or inside it, and the normal rises. Returns the gap, however the shape lies."""
    A, H = scene.shapes[i], scene.shapes[j]
    if not rises(p, q, u, w):
        return 1e300
    make_line(H, p, q, line)
    if norm(A.at - line.at) > norm(A.box) + line.half.z + within:
        return 1e300
    n, gap, a = facing(scene, A, line, within)
    out = transpose(H.X) @ n
    if gap < within and (between_slopes(out, p, u, w) or (lenient and gap < -unseen_overlap(A, H) and out.z > STEEP)):
        first = scene.n
        add_facing(scene, A, line, i, j, n, gap, a, within)
        for k in range(first, min(scene.n, scene.capacity)):
            scene.touches[k].key += feature % EDGES
        drop_repeated(scene, begin, first, 0.01 * line.half.z)
    return gap


@part
def ridges_under(scene, i, j, begin, within, lenient):
    """The ridges of the height field j under the shape i, cell by cell: along x, along y, and across. Returns the
    smallest gap."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, reach, line = transpose(H.X) @ (A.at - H.at), norm(A.box) + within, new_line()
    (dx, dy), least = spacing(H), 1e300
    if abs(p.x) > H.half.x + reach or abs(p.y) > H.half.y + reach:
        return least
    up = z_axis(H.X)
    lowest = dot(up, farthest(scene, A, up * -1.0) - H.at) - radius_of(A) - within
    left, right = cells_near(p.x, dx, H.half.x, H.count - 1.0, reach)
    bottom, top = cells_near(p.y, dy, H.half.y, H.rows - 1.0, reach)
    for row in range(bottom, top + 1):
        for column in range(left, right + 1):
            a, b, d, e = corners_of_cell(scene, H, row, column)
            feature = 3 * (row * H.count + column)
            if max(a.z, b.z) > lowest:
                w = field_point(scene, H, row - 1, column) if row > 0 else below(a)
                least = min(least, add_ridge(scene, i, j, a, b, d, w, line, begin, within, lenient, feature))
            if max(a.z, e.z) > lowest:
                w = field_point(scene, H, row, column - 1) if column > 0 else below(a)
                least = min(least, add_ridge(scene, i, j, a, e, d, w, line, begin, within, lenient, feature + 1))
            if max(a.z, d.z) > lowest:
                least = min(least, add_ridge(scene, i, j, a, d, b, e, line, begin, within, lenient, feature + 2))
            if max(e.z, d.z) > lowest and row == H.rows - 2:
                least = min(
                    least,
                    add_ridge(scene, i, j, e, d, a, below(e), line, begin, within, lenient, feature + 3 * H.count),
                )
            if max(b.z, d.z) > lowest and column == H.count - 2:
                least = min(least, add_ridge(scene, i, j, b, d, a, below(b), line, begin, within, lenient, feature + 4))
    return least


@helper
def smallest_gap(scene, begin, margin):
    """Of the touches since `begin`."""
    least = 1e300
    for k in range(begin, min(scene.n, scene.capacity)):
        least = min(least, scene.touches[k].gap + margin)
    return least


@helper
def is_at_border(A, H, within):
    """Whether a sphere reaches beyond the border of a field."""
    p, reach = transpose(H.X) @ (A.at - H.at), A.half.x + within
    return abs(p.x) + reach > H.half.x or abs(p.y) + reach > H.half.y


@part
def shape_on_heights(scene, i, j, within):
    A, H = scene.shapes[i], scene.shapes[j]
    up, begin, margin, unseen = z_axis(H.X), scene.n, A.margin + H.margin, unseen_overlap(A, H)
    count, r = n_corners(A)
    for k in range(count):
        point_on_heights(scene, i, j, corner(scene, A, up, k), r, within, k)
    least = 1e300
    if A.kind != SPHERE:
        least = ridges_under(scene, i, j, begin, within, False)
    elif is_at_border(A, H, within):  # within it, the triangles on both sides of a ridge have touched a sphere
        ridges_under(scene, i, j, begin, within, False)
    found = smallest_gap(scene, begin, margin)
    if least < -unseen and found > 0.5 * least:
        ridges_under(scene, i, j, begin, within, True)
        found = smallest_gap(scene, begin, margin)
    most = deep_overlap(A, H)
    deep = min(least, found) < -most or (least < -unseen and found > 0.0)
    if not deep and least > -unseen and A.kind != SPHERE:
        deep = is_pierced(scene, i, j, unseen if found > -unseen else most)
    if deep:
        scene.n = begin
        lift_out(scene, i, j)
