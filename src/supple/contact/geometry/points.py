"""Where spheres and corners touch planes, boxes and each other.

A sphere is a point with a radius. Every function adds touches whose gap is below `within`; normals point from the
second shape to the first.
"""

from __future__ import annotations

import math

from supple.contact.memory import BOX, CAPSULE, CONTACT, CYLINDER, HULL, SPHERE
from supple.spatial.algebra import Vec3, cross, dot, transpose, x_axis, y_axis, z_axis
from supple.spatial.compiler import helper, part

CLOSE = 1e-9  #: lengths that are as good as none, relative to sizes
FEATURES = 64  #: touches that a pair of shapes may have
UPRIGHT = 1e-3  #: the sine of the angle by which a cylinder leans whose corners stay where they are on its rim
AS_LOW = 1e-6  #: relative to its radius: points of its rim that differ by less in height are equally low


@helper
def norm(a):
    return math.sqrt(dot(a, a))


@helper
def across(n):
    """Two unit vectors that make a right-handed frame with n; they are continuous where n turns little."""
    t = Vec3(n.z, 0.0, -n.x) if abs(n.z) > 0.6 else Vec3(-n.y, n.x, 0.0)
    t = t * (1.0 / norm(t))
    return t, cross(n, t)


@part
def add_touch(scene, i, j, point, n, gap, feature):
    """A touch of shapes i and j at a point halfway between their surfaces."""
    k = scene.n
    scene.n = k + 1
    if k >= scene.capacity:
        return
    A, B, touch = scene.shapes[i], scene.shapes[j], scene.touches[k]
    touch.kind, touch.a, touch.b, touch.shape, touch.other = CONTACT, A.body, B.body, i, j
    touch.key = (i * scene.n_shapes + j) * FEATURES + feature % FEATURES
    touch.point, touch.n, touch.gap = point, n, gap - A.margin - B.margin
    touch.t, touch.s = across(n)
    touch.friction = max(A.friction, B.friction)
    if touch.friction < 0.0:
        touch.friction = 1.0
    touch.restitution = max(A.restitution, B.restitution)
    touch.active, touch.aside, touch.struck = 1, 0, Vec3(0.0, 0.0, 0.0)


@helper
def copy_found(to, touch):
    """A touch as it was found."""
    to.kind, to.a, to.b, to.shape, to.other, to.key = touch.kind, touch.a, touch.b, touch.shape, touch.other, touch.key
    to.point, to.n, to.t, to.s, to.gap = touch.point, touch.n, touch.t, touch.s, touch.gap
    to.friction, to.restitution = touch.friction, touch.restitution
    to.active, to.aside, to.struck = 1, 0, Vec3(0.0, 0.0, 0.0)


@helper
def add_round(scene, i, j, c, r, d, s, out, within, feature):
    """Spheres about c and d, of radii r and s; out: the normal where c and d are one point."""
    away = c - d
    distance = norm(away)
    gap = distance - r - s
    if gap < within:
        n = away * (1.0 / distance) if distance > CLOSE * (r + s) else out
        add_touch(scene, i, j, d + n * (s + 0.5 * gap), n, gap, feature)


@helper
def add_spheres(scene, i, j, within):
    A, B = scene.shapes[i], scene.shapes[j]
    add_round(scene, i, j, A.at, A.half.x, B.at, B.half.x, Vec3(0.0, 0.0, 1.0), within, 0)


# --- planes ---------------------------------------------------------------------------------------------------------


@helper
def add_on_plane(scene, i, j, c, r, within, feature):
    """A sphere about c on the plane j."""
    n = z_axis(scene.shapes[j].X)
    gap = dot(n, c - scene.shapes[j].at) - r
    if gap < within:
        add_touch(scene, i, j, c - n * (r + 0.5 * gap), n, gap, feature)


@helper
def n_corners(A):
    """How many points with a radius stand for a shape on flat ground, and that radius."""
    n, r = 1, A.half.x
    if A.kind == CAPSULE:
        n = 2
    elif A.kind == BOX:
        n, r = 8, 0.0
    elif A.kind == CYLINDER:
        n, r = 10, 0.0
    elif A.kind == HULL:
        n, r = A.count, 0.0
    return n, r


@helper
def corner(scene, A, n, k):
    """One of these points, on ground with the normal n."""
    half, X = A.half, A.X
    sign = 1.0 if k % 2 == 0 else -1.0
    if A.kind == SPHERE:
        c = A.at
    elif A.kind == CAPSULE:
        c = A.at + z_axis(X) * (sign * half.z)
    elif A.kind == BOX:
        y, z = 1.0 if k // 2 % 2 == 0 else -1.0, 1.0 if k // 4 == 0 else -1.0
        c = A.at + X @ Vec3(sign * half.x, y * half.y, z * half.z)
    elif A.kind == CYLINDER:
        c = A.at + z_axis(X) * (sign * half.z) + rim(A, n, k // 2) * half.x
    else:
        p = 3 * (A.first + k)
        c = A.at + X @ Vec3(scene.points[p], scene.points[p + 1], scene.points[p + 2])
    return c


@helper
def rim(A, n, k):
    """A direction to the rim of a cylinder: the one that points most against n, and then a quarter on, and so on. These
    four do not turn where a cylinder stands upright; the fifth is the lowest then [lower_than_corners]."""
    z = z_axis(A.X)
    down = z * dot(n, z) - n
    size = norm(down)
    down = down * (1.0 / size) if size > UPRIGHT or (k == 4 and size > 0.0) else x_axis(A.X)
    side = cross(z, down)
    if k == 1:
        down = side
    elif k == 2:
        down = down * -1.0
    elif k == 3:
        down = side * -1.0
    return down


@helper
def lower_than_corners(A, n):
    """Whether a cylinder that stands on ground with the normal n is lowest at none of its four corners there."""
    d = transpose(A.X) @ n
    size = math.sqrt(d.x * d.x + d.y * d.y)
    return size <= UPRIGHT and size - max(abs(d.x), abs(d.y)) > AS_LOW


@part
def shape_on_plane(scene, i, j, within):
    A = scene.shapes[i]
    count, r = n_corners(A)
    normal = z_axis(scene.shapes[j].X)
    for k in range(count):
        if k < 8 or A.kind != CYLINDER or lower_than_corners(A, normal):
            add_on_plane(scene, i, j, corner(scene, A, normal, k), r, within, k)


# --- boxes ----------------------------------------------------------------------------------------------------------


@helper
def clamp(x, low, high):
    return min(max(x, low), high)


@helper
def nearest_on_box(c, h):
    """For a point c, in a box's frame: the gap, and the normal out of the box there."""
    p = Vec3(clamp(c.x, -h.x, h.x), clamp(c.y, -h.y, h.y), clamp(c.z, -h.z, h.z))
    away = c - p
    gap = norm(away)
    if gap > 0.0:
        return gap, away * (1.0 / gap)
    x, y, z = h.x - abs(c.x), h.y - abs(c.y), h.z - abs(c.z)
    if x <= y and x <= z:
        gap, n = -x, Vec3(math.copysign(1.0, c.x), 0.0, 0.0)
    elif y <= z:
        gap, n = -y, Vec3(0.0, math.copysign(1.0, c.y), 0.0)
    else:
        gap, n = -z, Vec3(0.0, 0.0, math.copysign(1.0, c.z))
    return gap, n


@helper
def add_on_box(scene, i, j, c, r, within, feature):
    """A sphere about c on the box j."""
    B = scene.shapes[j]
    gap, n = nearest_on_box(transpose(B.X) @ (c - B.at), B.half)
    gap -= r
    if gap < within:
        n = B.X @ n
        add_touch(scene, i, j, c - n * (r + 0.5 * gap), n, gap, feature)


@part
def sphere_on_box(scene, i, j, within):
    add_on_box(scene, i, j, scene.shapes[i].at, scene.shapes[i].half.x, within, 0)


@helper
def box_axis(X, k):
    """A box's axis."""
    a = x_axis(X)
    if k == 1:
        a = y_axis(X)
    elif k == 2:
        a = z_axis(X)
    return a


@helper
def half_edge(h, k):
    e = h.x
    if k == 1:
        e = h.y
    elif k == 2:
        e = h.z
    return e
