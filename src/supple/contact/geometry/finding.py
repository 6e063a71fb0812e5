"""All places where shapes touch, or may within a step.

A shape may move by its speed times the step, so touches are found with gaps up to what two shapes may approach each
other. Boxes along the world's axes that contain shapes all the step are sorted in strips [spans.py], and swept: each
strip by itself, and with those that its boxes reach into. Planes and height fields are tried with everything that
moves and is near them.

Pairs are kept with their boxes. Where a part of a step ends, shapes that are still within these overlap in no other
pairs.
"""

from __future__ import annotations

from numba import types

from supple.contact.geometry.boxes import boxes
from supple.contact.geometry.capsules import capsule_on_box, capsules, sphere_on_capsule
from supple.contact.geometry.convex import convex, hull_on_plane
from supple.contact.geometry.heights import shape_on_heights
from supple.contact.geometry.hills import distance_beyond
from supple.contact.geometry.points import FEATURES, add_spheres, norm, shape_on_plane, sphere_on_box
from supple.contact.geometry.spans import order_spans, strip_at, turned_to
from supple.contact.memory import BOX, CAPSULE, CYLINDER, HULL, LIMIT, PLANE, SPHERE, Scene
from supple.spatial.algebra import Vec3, cross, dot, transpose, z_axis
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
def place_ahead(scene, shape, h, fall):
    """The same, and keeps how far that is, unless it is for this instant alone."""
    place_shape(scene, shape, h, fall)
    if h > 0.0:
        shape.searched = shape.reach
        if shape.body >= 0:
            shape.turned = AHEAD * h * norm(scene.bodies[shape.body].V.ang) * norm(shape.box)


@helper
def place_shapes(scene, h):
    """All shapes, and their order."""
    fall = norm(scene.model.gravity) * h * h
    for i in range(scene.n_shapes):
        place_ahead(scene, scene.shapes[i], h, fall)
    order_spans(scene)


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
    """The touches of a pair of shapes, the same in whichever order they are given."""
    kind, other = scene.shapes[i].kind, scene.shapes[j].kind
    if kind > other or (kind == other and i > j):
        i, j = j, i
    A, B = scene.shapes[i], scene.shapes[j]
    within = A.reach + B.reach + A.margin + B.margin + scene.length
    if B.kind == CYLINDER or B.kind == HULL:
        convex(scene, i, j, within)
    elif A.kind == SPHERE:
        if B.kind == SPHERE:
            add_spheres(scene, i, j, within)
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
    within, size, d = A.reach + A.margin + B.margin + scene.length, norm(A.box), A.at - B.at
    if B.kind == PLANE:
        near = dot(z_axis(B.X), d) < size + within
    else:
        near = distance_beyond(B, transpose(B.X) @ d, Vec3(size, size, size)) < within
    return within, near


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
def overlap_all(A, B):
    """Along all three axes."""
    return A.low.x <= B.high.x and B.low.x <= A.high.x and overlap(A, B)


@helper
def keep_pair(pairs, i, j):
    if pairs.n < pairs.room:
        pairs.one[pairs.n], pairs.two[pairs.n] = i, j
    pairs.n += 1


@helper
def note_near(scene, i, j, before):
    """Note a pair, if there are more touches than before it was tried."""
    pairs = scene.pairs
    if scene.n > before and pairs.n_near < pairs.room:
        pairs.near[pairs.n_near] = i * scene.n_shapes + j
        pairs.n_near += 1


@helper
def try_pair(scene, one, two):
    """The touches of two shapes whose boxes overlap along the axis of the sweep."""
    if overlap(one, two):
        i, j = one.shape, two.shape
        if may_touch(scene, i, j, scene.shapes[i].body, scene.shapes[j].body):
            before = scene.n
            keep_pair(scene.pairs, i, j)
            meet(scene, i, j)
            note_near(scene, i, j, before)


@helper
def sweep_strip(scene, k, end):
    """The spans from k on, with each other. Returns the last strip that they reach into."""
    spans, last = scene.spans, scene.spans[k].strip
    while k < end:
        one, l = spans[k], k + 1
        while l < end and spans[l].low.x <= one.high.x:
            try_pair(scene, one, spans[l])
            l += 1
        last = max(last, strip_at(scene, one.high.y))
        k += 1
    return last


@helper
def sweep_both(scene, k, k_end, l, l_end):
    """The spans of two strips, from k and from l on, with each other: each one with those of the other strip that begin
    after it."""
    spans = scene.spans
    while k < k_end and l < l_end:
        if spans[k].low.x <= spans[l].low.x:
            one, m, end = spans[k], l, l_end
            k += 1
        else:
            one, m, end = spans[l], k, k_end
            l += 1
        while m < end and spans[m].low.x <= one.high.x:
            try_pair(scene, one, spans[m])
            m += 1


@helper
def find_pairs(scene):
    spans, strips = scene.spans, scene.strips
    scene.pairs.n = 0
    for s in range(scene.n_strips):
        last, t = sweep_strip(scene, strips[s], strips[s + 1]), s + 1
        while t < scene.n_strips and spans[strips[t]].strip <= last:
            sweep_both(scene, strips[s], strips[s + 1], strips[t], strips[t + 1])
            t += 1


@helper
def find_flat(scene):
    """The touches of planes and height fields."""
    shapes, n = scene.shapes, scene.n_shapes - scene.n_flat
    for j in range(n, scene.n_shapes):
        for i in range(n):
            near = shapes[i].body >= 0 and near_flat(scene, shapes[i], shapes[j])[1]
            if near and may_touch(scene, i, j, shapes[i].body, shapes[j].body):
                before = scene.n
                meet_flat(scene, i, j)
                note_near(scene, i, j, before)


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
def join_limit(scene, dof, x, lower, upper, rate, k, h):
    """Adds a limit of a joint at x, of row k, that was too far away to be found, if a part of length h with this rate
    at its end runs into it: what strikes a light link may make it fast. Returns whether it did."""
    found = False
    for side in range(2):
        sign, gap = (1.0, x - lower) if side == 0 else (-1.0, upper - x)
        if gap > 0.0 and gap + sign * h * rate < -1e-3 * scene.length and not has_limit(scene, k, side):
            add_limit(scene, dof, sign, gap, k, side)
            found = True
    return found


@helper
def join_limits(scene, q, end, h):
    """Those of all joints. Returns whether any were added."""
    found = False
    for k in range(scene.n_limits):
        dof, x = scene.limits[k], q[scene.coordinates[k]]
        found = join_limit(scene, dof, x, scene.lower[k], scene.upper[k], end[dof], k, h) or found
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
        touch.kind, touch.a, touch.b, touch.shape, touch.other = LIMIT, dof, -1, -1, -1
        touch.active, touch.aside = 1, 0
        touch.key, touch.lam, touch.struck = limit_key(scene, k, side), zero, zero
        touch.n, touch.t, touch.s, touch.point = Vec3(sign, 0.0, 0.0), zero, zero, zero
        touch.gap, touch.friction, touch.restitution = gap, 0.0, 0.0


@kernel(types.void(Scene.type, types.float64), "touches", effort=2)
def find_touches(scene, h):
    """All of them for a step of length h; bodies are placed."""
    scene.n = scene.pairs.n_near = 0
    scene.pairs.ahead = h > 0.0
    place_shapes(scene, h)
    find_pairs(scene)
    find_flat(scene)
    find_limits(scene, scene.q, scene.v, h)


@helper
def stay_within(scene):
    """Places shapes where they are now, until one is not within its box. Returns whether there was none."""
    axis = scene.pairs.axis
    for k in range(scene.n_shapes - scene.n_flat):
        span, shape = scene.spans[k], scene.shapes[scene.spans[k].shape]
        place_shape(scene, shape, 0.0, 0.0)
        low, high = turned_to(shape.low, axis), turned_to(shape.high, axis)
        if low.x < span.low.x or low.y < span.low.y or low.z < span.low.z:
            return False
        if high.x > span.high.x or high.y > span.high.y or high.z > span.high.z:
            return False
    return True


@kernel(types.void(Scene.type, types.float64), "touches within a part", effort=2)
def find_touches_near(scene, h):
    """All of them for a time h to come, of pairs that were near in the last search if that was for the way here; bodies
    are placed where they have come since."""
    pairs, shapes, n, fall = scene.pairs, scene.shapes, scene.n_shapes, norm(scene.model.gravity) * h * h
    if not pairs.ahead:
        find_touches(scene, h)
        return
    scene.n = 0
    for k in range(pairs.n_near):
        i, j = pairs.near[k] // n, pairs.near[k] % n
        place_ahead(scene, shapes[i], h, fall)
        if j < n - scene.n_flat:
            place_ahead(scene, shapes[j], h, fall)
            meet(scene, i, j)
        else:
            meet_flat(scene, i, j)
    find_limits(scene, scene.q, scene.v, h)


@helper
def forget_pairs(scene):
    scene.pairs.n = scene.pairs.room + 1


@kernel(types.void(Scene.type), "touches where a part ends", effort=2)
def find_touches_again(scene):
    """All of them at this instant; bodies are placed, and the search before this one was for the way here."""
    pairs, shapes, near = scene.pairs, scene.shapes, scene.pairs.n_near
    if pairs.n <= pairs.room and stay_within(scene):
        scene.n = 0
        for k in range(pairs.n):
            if overlap_all(shapes[pairs.one[k]], shapes[pairs.two[k]]):
                meet(scene, pairs.one[k], pairs.two[k])
        find_flat(scene)
        pairs.n_near = near
        find_limits(scene, scene.q, scene.v, 0.0)
    else:
        find_touches(scene, 0.0)
