"""All places where shapes touch, or may within a step.

A shape may move by its speed times the step, so touches are found with gaps up to what two shapes may approach each
other. Boxes along the world's axes that contain shapes all the step are sorted along one axis, that along which the
model is the longest, and swept: the order of the step before is nearly right, so that sorting costs O(n). Planes and
height fields are tried with everything that moves.
"""

from __future__ import annotations

from numba import types

from supple.contact.boxes import boxes
from supple.contact.convex import convex, hull_on_plane
from supple.contact.heights import shape_on_heights
from supple.contact.memory import BOX, CAPSULE, CYLINDER, HULL, LIMIT, PLANE, SPHERE, Scene
from supple.contact.points import (
    FEATURES,
    add_spheres,
    capsule_on_box,
    capsules,
    norm,
    shape_on_plane,
    sphere_on_box,
    sphere_on_capsule,
)
from supple.spatial.algebra import Vec3, cross, dot, z_axis
from supple.spatial.compiler import helper, kernel, part

AHEAD = 1.5  #: what the motion of a step may be, relative to what velocities and gravity say at its beginning


@helper
def vec_abs(a):
    return Vec3(abs(a.x), abs(a.y), abs(a.z))


@helper
def place_shape(scene, shape, h, fall):
    """Where a shape is, and how far it may come in a step of length h. fall: what gravity adds to that."""
    X, at, reach = shape.R, shape.p, 0.0
    if shape.body >= 0:
        body = scene.bodies[shape.body]
        X, at = body.R @ shape.R, body.R @ shape.p
        speed = norm(body.V.lin + cross(body.V.ang, at)) + norm(body.V.ang) * norm(shape.box)
        at, reach = body.P + at, AHEAD * (h * speed + fall)
    shape.X, shape.at, shape.reach = X, at, reach
    box, out = shape.box, reach + shape.margin + scene.length
    size = Vec3(dot(vec_abs(X.r0), box) + out, dot(vec_abs(X.r1), box) + out, dot(vec_abs(X.r2), box) + out)
    shape.low, shape.high = at - size, at + size


@helper
def comes_after(one, two):
    """Whether a span comes after another; where they begin alike, the numbers of shapes decide."""
    return one.low.x > two.low.x or (one.low.x == two.low.x and one.shape > two.shape)


@helper
def turned_to(a, axis):
    """The coordinates of a, beginning with the one along an axis."""
    if axis == 1:
        a = Vec3(a.y, a.z, a.x)
    elif axis == 2:
        a = Vec3(a.z, a.x, a.y)
    return a


@helper
def copy_span(source, to):
    to.low, to.high, to.shape = source.low, source.high, source.shape


@helper
def place_shapes(scene, h):
    """All shapes, and their order along an axis."""
    fall, spans, n = norm(scene.model.gravity) * h * h, scene.spans, scene.n_shapes - scene.n_flat
    for i in range(scene.n_shapes):
        place_shape(scene, scene.shapes[i], h, fall)
    moved = spans[n]
    for k in range(n):
        shape, at = scene.shapes[spans[k].shape], k
        moved.low, moved.high = turned_to(shape.low, scene.axis), turned_to(shape.high, scene.axis)
        moved.shape = spans[k].shape
        while at > 0 and comes_after(spans[at - 1], moved):
            copy_span(spans[at - 1], spans[at])
            at -= 1
        copy_span(moved, spans[at])


@helper
def is_apart(scene, pair):
    """Whether a pair is among those that are never tried."""
    low, high = 0, scene.n_apart
    while low < high:
        middle = (low + high) // 2
        if scene.apart[middle] < pair:
            low = middle + 1
        else:
            high = middle
    return low < scene.n_apart and scene.apart[low] == pair


@helper
def may_touch(scene, i, j, a, b):
    """Whether two shapes may touch: those of bodies a and b, which may be parts of larger rigid ones."""
    A, B = scene.shapes[i], scene.shapes[j]
    if A.body == B.body or (A.group & B.mask) | (B.group & A.mask) == 0:
        return False
    if scene.neighbours == 0 and a >= 0 and b >= 0 and (scene.above[a] == b or scene.above[b] == a):
        return False
    return scene.n_apart == 0 or not is_apart(scene, min(i, j) * scene.n_shapes + max(i, j))


@part
def meet(scene, i, j):
    """The touches of a pair of shapes."""
    if scene.shapes[i].kind > scene.shapes[j].kind:
        i, j = j, i
    A, B = scene.shapes[i], scene.shapes[j]
    within = A.reach + B.reach + A.margin + B.margin + scene.length
    if B.kind == CYLINDER or B.kind == HULL:
        convex(scene, i, j, within)
    elif A.kind == SPHERE:
        if B.kind == SPHERE:
            add_spheres(scene, i, j, A.at, A.half.x, B.at, B.half.x, within, 0)
        elif B.kind == CAPSULE:
            sphere_on_capsule(scene, i, j, within)
        elif B.kind == BOX:
            sphere_on_box(scene, i, j, within)
    elif A.kind == CAPSULE:
        if B.kind == CAPSULE:
            capsules(scene, i, j, within)
        elif B.kind == BOX:
            capsule_on_box(scene, i, j, within)
    elif A.kind == BOX and B.kind == BOX:
        boxes(scene, i, j, within)


@helper
def near_flat(scene, A, B):
    """How near a shape has to be to a plane or a height field, and whether it may be."""
    within = A.reach + A.margin + B.margin + scene.length
    return within, B.kind != PLANE or dot(z_axis(B.X), A.at - B.at) < norm(A.box) + within


@helper
def meet_flat(scene, i, j):
    """A shape and a plane or a height field."""
    A, B = scene.shapes[i], scene.shapes[j]
    within, near = near_flat(scene, A, B)
    if near and B.kind != PLANE:
        shape_on_heights(scene, i, j, within)
    elif near and A.kind == HULL:
        hull_on_plane(scene, i, j, within)
    elif near:
        shape_on_plane(scene, i, j, within)


@helper
def overlap(A, B):
    return A.low.y <= B.high.y and B.low.y <= A.high.y and A.low.z <= B.high.z and B.low.z <= A.high.z


@helper
def find_pairs(scene):
    shapes, spans, n = scene.shapes, scene.spans, scene.n_shapes - scene.n_flat
    for k in range(n):
        one = spans[k]
        i, end, l = one.shape, one.high.x, k + 1
        while l < n and spans[l].low.x <= end:
            if overlap(one, spans[l]):
                j = spans[l].shape
                if may_touch(scene, i, j, shapes[i].body, shapes[j].body):
                    meet(scene, i, j)
            l += 1
    for j in range(n, scene.n_shapes):
        for i in range(n):
            near = shapes[i].body >= 0 and near_flat(scene, shapes[i], shapes[j])[1]
            if near and may_touch(scene, i, j, shapes[i].body, shapes[j].body):
                meet_flat(scene, i, j)


@helper
def find_limits(scene, q, v, h):
    """Joints near their limits."""
    for k in range(scene.n_limits):
        dof, x = scene.limits[k], q[scene.coordinates[k]]
        reach = scene.length + AHEAD * h * abs(v[dof]) + h
        for side in range(2):
            gap = x - scene.lower[k] if side == 0 else scene.upper[k] - x
            if gap < reach:
                add_limit(scene, dof, 1.0 if side == 0 else -1.0, gap, k, side)


@helper
def join_limits(scene, q, end, h):
    """Adds the limits that were too far away, and that a part of length h with velocities `end` runs into: what strikes
    a light link may make it fast. Returns whether there are any."""
    found = False
    for k in range(scene.n_limits):
        dof, x = scene.limits[k], q[scene.coordinates[k]]
        for side in range(2):
            sign, gap = (1.0, x - scene.lower[k]) if side == 0 else (-1.0, scene.upper[k] - x)
            if gap > 0.0 and gap + sign * h * end[dof] < -1e-3 * scene.length and not has_limit(scene, k, side):
                add_limit(scene, dof, sign, gap, k, side)
                found = True
    return found


@helper
def limit_key(scene, k, side):
    return (scene.n_shapes * scene.n_shapes + k) * FEATURES + side


@helper
def has_limit(scene, k, side):
    key, found = limit_key(scene, k, side), False
    for i in range(scene.n):
        found = found or scene.touches[i].key == key
    return found


@helper
def add_limit(scene, dof, sign, gap, k, side):
    at = scene.n
    scene.n = at + 1
    if at < scene.capacity:
        touch, zero = scene.touches[at], Vec3(0.0, 0.0, 0.0)
        touch.kind, touch.a, touch.b, touch.shape, touch.other, touch.active = LIMIT, dof, -1, -1, -1, 1
        touch.key, touch.lam, touch.struck = limit_key(scene, k, side), zero, zero
        touch.n, touch.t, touch.s, touch.point = Vec3(sign, 0.0, 0.0), zero, zero, zero
        touch.gap, touch.friction, touch.restitution = gap, 0.0, 0.0


@kernel(types.void(Scene.type, types.float64), "touches", effort=2)
def find_touches(scene, h):
    """All of them for a step of length h; bodies are placed."""
    scene.n = 0
    place_shapes(scene, h)
    find_pairs(scene)
    find_limits(scene, scene.q, scene.v, h)
