"""Corners and cells of height fields, what of them goes through shapes, and the way out of hills.

Closest points of the surface lead different parts of a shape that is deep inside to different sides, where each is in
the way of the others. What is deep is pushed straight up, until none of it is.
"""

from __future__ import annotations

import math

from supple.contact.geometry.points import across, add_touch, clamp, norm
from supple.contact.geometry.support import between, farthest, new_simplex, radius_of
from supple.contact.geometry.volumes import vec_abs
from supple.contact.memory import CAPSULE, PlacedShape
from supple.spatial.algebra import Mat3, Vec3, cross, dot, transpose, z_axis
from supple.spatial.compiler import helper, part

DEEP = 0.1  #: overlap that is deep, relative to the size of a shape, or of a cell
CLOSE = 1e-7  #: relative to the size of a shape: it lies on a line
SINKS = 30  #: steps down to one, at most

new_line = PlacedShape.new


@helper
def spacing(H):
    """The size of a cell along x and y."""
    return 2.0 * H.half.x / (H.count - 1), 2.0 * H.half.y / (H.rows - 1)


@helper
def distance_beyond(H, p, size):
    """How far a box with half edges `size` about p is above or beside a height field, at least; negative if it may be
    inside. All in the field's frame; what is below the field counts as inside."""
    return max(abs(p.x) - size.x - H.half.x, abs(p.y) - size.y - H.half.y, p.z - size.z - H.half.z)


@helper
def field_point(scene, H, row, column):
    """A corner of the field, in its own frame."""
    dx, dy = spacing(H)
    return Vec3(column * dx - H.half.x, row * dy - H.half.y, scene.points[3 * H.first + row * H.count + column])


@helper
def corners_of_cell(scene, H, row, column):
    """Those of a cell, around it from its first one."""
    a, b = field_point(scene, H, row, column), field_point(scene, H, row, column + 1)
    return a, b, field_point(scene, H, row + 1, column + 1), field_point(scene, H, row + 1, column)


@helper
def cells_near(x, size, half, cells, reach):
    """The cells from which something within reach of x may come."""
    low, high = clamp((x - reach + half) / size, 0.0, cells - 1.0), clamp((x + reach + half) / size, 0.0, cells - 1.0)
    return int(low), int(high)


@helper
def over(p, a, b, c):
    """Whether p is above or below a triangle, seen from above."""
    x, y, z = cross(b - a, p - a).z, cross(c - b, p - b).z, cross(a - c, p - c).z
    return (x >= 0.0 and y >= 0.0 and z >= 0.0) or (x <= 0.0 and y <= 0.0 and z <= 0.0)


@helper
def deep_overlap(A, H):
    """Overlap from which on a shape is deep inside a field."""
    dx, dy = spacing(H)
    return DEEP * min(norm(A.box), dx, dy)


@helper
def make_line(H, p, q, line):
    """The edge from p to q, in the frame of a field, as a capsule without a radius, in the world."""
    half, z = norm(q - p) * 0.5, H.X @ (q - p)
    z = z * (1.0 / norm(z))
    x, y = across(z)
    line.kind, line.at = CAPSULE, H.at + H.X @ ((p + q) * 0.5)
    line.X = transpose(Mat3(x, y, z))
    line.half = line.box = Vec3(0.0, 0.0, half)


@helper
def cut_by_triangle(scene, A, H, p, turn, a, b, c, least):
    """Whether a shape, at p in the frame of a field, reaches through a triangle from above: what is lowest on its slope
    is below its plane, by more than `least`, and the line from there to what is highest meets the plane in the
    triangle."""
    n, r = cross(b - a, c - a), radius_of(A)
    n = n * (math.copysign(1.0, n.z) / norm(n))
    height, size = dot(n, p - a), dot(vec_abs(n @ turn), A.box)
    if height - size > -least or height + size < 0.0:
        return False
    up = H.X @ n
    low = transpose(H.X) @ (farthest(scene, A, up * -1.0) - H.at) - n * r
    x = dot(n, low - a)
    if x > -least:
        return False
    high = transpose(H.X) @ (farthest(scene, A, up) - H.at) + n * r
    y = dot(n, high - a)
    return y > 0.0 and over(low + (high - low) * (x / (x - y)), a, b, c)


@part
def is_pierced(scene, i, j, least):
    """Whether a face of the height field j is inside the shape i, which reaches through it by more than `least`: as
    where a blade goes all through the shape, with neither its corners nor ridges inside the other."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, turn, up = transpose(H.X) @ (A.at - H.at), transpose(H.X) @ A.X, z_axis(H.X)
    x, y, (dx, dy) = dot(vec_abs(turn.r0), A.box), dot(vec_abs(turn.r1), A.box), spacing(H)
    if abs(p.x) > H.half.x + x or abs(p.y) > H.half.y + y:
        return False
    lowest = dot(up, farthest(scene, A, up * -1.0) - H.at) - radius_of(A) + least
    left, right = cells_near(p.x, dx, H.half.x, H.count - 1.0, x)
    bottom, top = cells_near(p.y, dy, H.half.y, H.rows - 1.0, y)
    for row in range(bottom, top + 1):
        for column in range(left, right + 1):
            a, b, d, e = corners_of_cell(scene, H, row, column)
            if max(a.z, b.z, d.z, e.z) > lowest and (
                cut_by_triangle(scene, A, H, p, turn, a, b, d, least)
                or cut_by_triangle(scene, A, H, p, turn, a, e, d, least)
            ):
                return True
    return False


@part
def lift_off_edge(scene, A, H, p, q, line, S, low, least):
    """How far a shape, whose lowest point is at `low`, must be lifted to be above the edge from p to q, if that is more
    than `least`: from where it is above in any case it sinks by as much as is free. Distance is convex along the way,
    so that it never sinks too far."""
    up, lift = z_axis(H.X), max(p.z, q.z) - low
    if lift <= least:
        return least
    make_line(H, p, q, line)
    r, near, n = radius_of(A), CLOSE * norm(A.box), up
    for _ in range(SINKS):
        p, _, _ = between(scene, A, line, S, up * lift, n)
        distance = norm(p)
        if distance - r < near:
            break
        n = p * (1.0 / distance)
        if dot(n, up) * (lift - least) <= distance - r:  # it sinks past the line, or farther than that
            return least
        lift -= (distance - r) / dot(n, up)
    return max(lift, least)


@helper
def lift_off_triangle(scene, A, H, a, b, c, least):
    """The same of what of a shape is lowest on the slope of a triangle, if that is over the triangle."""
    n = cross(b - a, c - a)
    n = n * (math.copysign(1.0, n.z) / norm(n))
    p = transpose(H.X) @ (farthest(scene, A, H.X @ (n * -1.0)) - H.at) - n * radius_of(A)
    return max(least, -dot(n, p - a) / n.z) if over(p, a, b, c) else least


@part
def lift_of(scene, A, H, p, x, y, low):
    """How far a shape at p, that reaches as far as x and y, and down to `low`, must be lifted to be out of the field;
    in the field's frame."""
    dx, dy = spacing(H)
    S, line, most = new_simplex(), new_line(), 0.0
    left, right = cells_near(p.x, dx, H.half.x, H.count - 1.0, x)
    bottom, top = cells_near(p.y, dy, H.half.y, H.rows - 1.0, y)
    for row in range(bottom, top + 1):
        for column in range(left, right + 1):
            a, b, d, e = corners_of_cell(scene, H, row, column)
            if max(a.z, b.z, d.z, e.z) - low > most:
                most = lift_off_triangle(scene, A, H, a, b, d, most)
                most = lift_off_triangle(scene, A, H, a, e, d, most)
                most = lift_off_edge(scene, A, H, a, b, line, S, low, most)
                most = lift_off_edge(scene, A, H, a, d, line, S, low, most)
                most = lift_off_edge(scene, A, H, a, e, line, S, low, most)
                most = lift_off_edge(scene, A, H, b, d, line, S, low, most)
                most = lift_off_edge(scene, A, H, e, d, line, S, low, most)
    return most


@part
def lift_out(scene, i, j):
    """Touches that push the shape i straight up, at the corners of a rectangle around it, by as much as it takes."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, turn, up = transpose(H.X) @ (A.at - H.at), transpose(H.X) @ A.X, z_axis(H.X)
    x, y = dot(vec_abs(turn.r0), A.box), dot(vec_abs(turn.r1), A.box)
    low = dot(up, farthest(scene, A, up * -1.0) - H.at) - radius_of(A)
    gap = -lift_of(scene, A, H, p, x, y, low)
    for k in range(4):
        c = Vec3(p.x + (x if k % 2 == 0 else -x), p.y + (y if k < 2 else -y), low - 0.5 * gap)
        add_touch(scene, i, j, H.at + H.X @ c, up, gap, k)
