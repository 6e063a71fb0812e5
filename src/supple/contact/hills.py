"""Corners and cells of height fields, and the way out of hills.

Closest points of the surface lead different parts of a shape that is deep inside to different sides, where each is in
the way of the others. What is deep is pushed straight up, until none of it is.
"""

from __future__ import annotations

from supple.contact.points import add_touch, clamp, norm
from supple.contact.support import farthest, radius_of
from supple.contact.volumes import vec_abs
from supple.spatial.algebra import Vec3, dot, transpose, z_axis
from supple.spatial.compiler import helper, part

DEEP = 0.1  #: overlap that is deep, relative to the size of a shape, or of a cell


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
def is_deep_inside(A, H, gap):
    dx, dy = spacing(H)
    return gap < -DEEP * min(norm(A.box), dx, dy)


@helper
def highest_under(scene, A, H, p, x, y):
    """The highest corner of the cells that are within x and y of the place p; in the field's frame."""
    dx, dy = spacing(H)
    left, right = cells_near(p.x, dx, H.half.x, H.count - 1.0, x)
    bottom, top = cells_near(p.y, dy, H.half.y, H.rows - 1.0, y)
    most = -1e300
    for row in range(bottom, top + 2):
        for column in range(left, right + 2):
            most = max(most, field_point(scene, H, row, column).z)
    return most


@part
def lift_out(scene, i, j):
    """Touches that push the shape i straight up, at the corners of a rectangle around it: as deep as its lowest point
    is below the highest corner of the field there."""
    A, H = scene.shapes[i], scene.shapes[j]
    p, turn, up = transpose(H.X) @ (A.at - H.at), transpose(H.X) @ A.X, z_axis(H.X)
    x, y = dot(vec_abs(turn.r0), A.box), dot(vec_abs(turn.r1), A.box)
    low = dot(up, farthest(scene, A, up * -1.0) - H.at) - radius_of(A)
    gap = min(low - highest_under(scene, A, H, p, x, y), 0.0)
    for k in range(4):
        c = Vec3(p.x + (x if k % 2 == 0 else -x), p.y + (y if k < 2 else -y), low - 0.5 * gap)
        add_touch(scene, i, j, H.at + H.X @ c, up, gap, k)
