"""How long a part of a step may be.

Touches are found at the beginning of a part and move along straight lines within it. Where a body rotates, the gap
deviates from that by a t^2 / 2, with a the centripetal acceleration along the normal.

Forces act in the middle of a part. Shapes that would have passed through each other by then would be parted to the
wrong side, or not be found at all. The distance of convex shapes that move along straight lines is a convex function of
time, so that it is at least gap + u_n t; if they rotate, gap + u_n t - a t^2 / 2. In half a part, that may fall to
minus half the thickness of both.
"""

from __future__ import annotations

import math

from supple.contact.memory import CAPSULE, LIMIT, SPHERE
from supple.contact.steps.landing import speed_at
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper

CURVED = 5e-4  #: metres by which gaps may deviate from straight lines in a part ...
PARTS_MOST = 8  #: ... unless a step would need more parts than this
SHARE = 1e-6  #: of a step: the shortest part
FASTEST = 1e-3  #: of a step: the shortest part because of fast shapes


@helper
def strays(scene, b, shape, point, n):
    """The centripetal acceleration along n of a touch point of a body; for spheres and capsules, of the point on their
    axis. n: into the body."""
    if b < 0:
        return 0.0
    body, kind, w = scene.bodies[b], scene.shapes[shape].kind, scene.bodies[b].V.ang
    r = point - body.P
    if kind in (SPHERE, CAPSULE):
        r = r + n * scene.shapes[shape].half.x
    return abs(dot(n, w) * dot(w, r) - dot(n, r) * dot(w, w))


@helper
def half_thickness(shape):
    """Of the box about a shape."""
    return min(shape.box.x, shape.box.y, shape.box.z)


@helper
def until_passed(scene, touch, a):
    """The time in which the shapes of a touch may approach each other by their gap and half of their thickness. a: the
    centripetal acceleration along the normal."""
    one, other = scene.shapes[touch.shape], scene.shapes[touch.other]
    w = speed_at(scene, touch.a, touch.point, True) - speed_at(scene, touch.b, touch.point, True)
    u, way = -dot(touch.n, w), max(touch.gap, 0.0) + 0.5 * (half_thickness(one) + half_thickness(other))
    if not way < 1e300:
        return way  # nothing passes through a plane
    return 2.0 * way / max(u + math.sqrt(u * u + 2.0 * a * way), 1e-300)


@helper
def careful_length(scene, h):
    """The length of a part, at most h, in which rotation changes no gap by more than CURVED, and in whose first half no
    shapes pass through each other."""
    most, soonest = 0.0, 0.5 * h
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.kind != LIMIT:
            a = strays(scene, touch.a, touch.shape, touch.point, touch.n)
            b = strays(scene, touch.b, touch.other, touch.point, touch.n * -1.0)
            most, soonest = max(most, a, b), min(soonest, until_passed(scene, touch, a + b))
    parts = min(math.ceil(h * math.sqrt(0.5 * most / CURVED)), PARTS_MOST)
    return min(h / max(parts, 1), max(2.0 * soonest, FASTEST * h))
