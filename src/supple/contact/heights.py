"""Where shapes touch a height field.

Its surface is two triangles to a cell, divided from the corner with the lowest indices to the one with the highest. A
point with a radius touches triangles, at their closest points; a shape's points are those of points.corner. Corners of
the field touch capsules, boxes and cylinders from below. An edge of a shape that crosses an edge of the field between
corners of both is not found until a corner is near: cells should not be much larger than shapes.
"""

from __future__ import annotations

import math

from supple.contact.memory import BOX, CAPSULE, CYLINDER
from supple.contact.points import add_touch, along, clamp, corner, n_corners, nearest_on_box, nearest_on_cylinder, norm
from supple.spatial.algebra import Vec3, cross, dot, transpose, z_axis
from supple.spatial.compiler import helper, part

ALIKE = 0.999  #: touches of one point whose normals agree to this are one
MOST = 4  #: touches of one point


@helper
def spacing(H):
    """The size of a cell along x and y."""
    return 2.0 * H.half.x / (H.count - 1), 2.0 * H.half.y / (H.rows - 1)


@helper
def field_point(scene, H, row, column):
    """A corner of the field, in its own frame."""
    dx, dy = spacing(H)
    return Vec3(column * dx - H.half.x, row * dy - H.half.y, scene.points[3 * H.first + row * H.count + column])


@helper
def cells_near(x, size, half, cells, reach):
    """The cells from which something within reach of x may come."""
    low, high = clamp((x - reach + half) / size, 0.0, cells - 1.0), clamp((x + reach + half) / size, 0.0, cells - 1.0)
    return int(low), int(high)


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
def over(p, a, b, c):
    """Whether p is above or below a triangle, seen from above."""
    x, y, z = cross(b - a, p - a).z, cross(c - b, p - b).z, cross(a - c, p - c).z
    return (x >= 0.0 and y >= 0.0 and z >= 0.0) or (x <= 0.0 and y <= 0.0 and z <= 0.0)


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
    """What of an end of the cylinder A is lowest on the slope of a triangle."""
    up = cross(b - a, c - a)
    up = up * (math.copysign(1.0, up.z) / norm(up))
    return corner(scene, A, H.X @ up, k)


@part
def point_on_heights(scene, i, j, c, r, within, feature):
    """A sphere about c, in the world, on the height field j. The lowest points of a cylinder are others on every
    triangle."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, slides = transpose(H.X) @ (c - H.at), A.kind == CYLINDER and feature < 2
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
                at = on_rim(scene, A, H, a, b, d, feature) if slides else c
                gap, n, valid = touch_triangle(transpose(H.X) @ (at - H.at), a, b, d, r)
                if valid and gap < within:
                    n = H.X @ n
                    place = place_for(scene, begin, n, gap - margin)
                    if place >= 0:
                        end = max(scene.n, begin + place + 1)
                        scene.n = begin + place
                        add_touch(scene, i, j, at - n * (r + 0.5 * gap), n, gap, MOST * feature + place)
                        scene.n = end


@helper
def add_field_corner(scene, i, j, c, within, feature):
    """A corner of the field, c in the world, under the capsule, box or cylinder i: the normal is out of the field."""
    A = scene.shapes[i]
    if A.kind == CAPSULE:
        a = z_axis(A.X)
        away = A.at + a * along(A.at, a, A.half.z, c) - c
        distance = norm(away)
        gap = distance - A.half.x
        n = away * (1.0 / max(distance, 1e-12))
    else:
        p = transpose(A.X) @ (c - A.at)
        gap, n = nearest_on_cylinder(p, A.half) if A.kind == CYLINDER else nearest_on_box(p, A.half)
        n = A.X @ (n * -1.0)
    if gap < within and dot(n, z_axis(scene.shapes[j].X)) > 0.1:
        add_touch(scene, i, j, c + n * (0.5 * gap), n, gap, 48 + feature % 16)


@part
def corners_under(scene, i, j, within):
    """The corners of the height field j under the shape i."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, reach = transpose(H.X) @ (A.at - H.at), norm(A.box) + within
    dx, dy = spacing(H)
    if abs(p.x) > H.half.x + reach or abs(p.y) > H.half.y + reach:
        return
    low, high = cells_near(p.x, dx, H.half.x, H.count - 1.0, reach)
    bottom, top = cells_near(p.y, dy, H.half.y, H.rows - 1.0, reach)
    for row in range(bottom, top + 2):
        for column in range(low, high + 2):
            c = field_point(scene, H, row, column)
            if p.z - reach < c.z:
                add_field_corner(scene, i, j, H.at + H.X @ c, within, row * H.count + column)


@part
def shape_on_heights(scene, i, j, within):
    A = scene.shapes[i]
    up = z_axis(scene.shapes[j].X)
    count, r = n_corners(A)
    for k in range(count):
        point_on_heights(scene, i, j, corner(scene, A, up, k), r, within, k)
    if A.kind == CAPSULE or A.kind == BOX or A.kind == CYLINDER:
        corners_under(scene, i, j, within)
