"""Where capsules touch spheres, boxes and each other.

A capsule is the points of a line with a radius. Where the line of one is in a box, or the lines of two meet, the way
out is not that of the closest points, of which there are none: [convex.py] finds it for a box, and lines part across
both.
"""

from __future__ import annotations

from supple.contact.geometry.convex import convex
from supple.contact.geometry.points import (
    CLOSE,
    across,
    add_on_box,
    add_round,
    clamp,
    half_edge,
    nearest_on_box,
    norm,
)
from supple.spatial.algebra import Vec3, cross, dot, transpose, z_axis
from supple.spatial.compiler import helper, part

PARALLEL = 1e-3  #: the squared sine of the angle between capsules that are side by side
SHORT, SAME = 1e-3, 1e-6  #: of the smaller shape: what lies side by side, at least, and differences of gaps that count


@helper
def along(c, a, l, p):
    """The point of the line c + a x, |x| <= l, that is closest to p: its x."""
    return clamp(dot(a, p - c), -l, l)


@part
def sphere_on_capsule(scene, i, j, within):
    A, B = scene.shapes[i], scene.shapes[j]
    a = z_axis(B.X)
    d = B.at + a * along(B.at, a, B.half.z, A.at)
    add_round(scene, i, j, A.at, A.half.x, d, B.half.x, across(a)[0], within, 0)


@part
def capsules(scene, i, j, within):
    """The closest points; where the capsules are nearly parallel side by side, the ends of the overlap, and the closest
    points only if they are closer, as where thin ones cross."""
    A, B = scene.shapes[i], scene.shapes[j]
    a, b, l, m = z_axis(A.X), z_axis(B.X), A.half.z, B.half.z
    c, d = A.at, B.at
    ab = dot(a, b)
    x = clamp((dot(a, d - c) - ab * dot(b, d - c)) / max(1.0 - ab * ab, 1e-12), -l, l)
    for _ in range(3):  # from one line to the other; exact after the first unless an end is in the way
        e = d + b * along(d, b, m, c + a * x)
        x = along(c, a, l, e)
    if 1.0 - ab * ab >= PARALLEL and norm(c + a * x - e) - A.half.x - B.half.x >= within:
        return
    out = cross(a, b)
    out = out * (1.0 / norm(out)) if norm(out) > CLOSE else across(a)[0]
    if 1.0 - ab * ab < PARALLEL:
        low, high = dot(a, d - c) - m * abs(ab), dot(a, d - c) + m * abs(ab)
        low, high = max(low, -l), min(high, l)
        if high - low > SHORT * min(l, m):
            nearest = 1e300
            for k in range(2):
                p = c + a * (low if k == 0 else high)
                s = d + b * along(d, b, m, p)
                nearest = min(nearest, norm(p - s))
                add_round(scene, i, j, p, A.half.x, s, B.half.x, out, within, k)
            if nearest <= norm(c + a * x - e) + SAME * min(l, m):
                return
    add_round(scene, i, j, c + a * x, A.half.x, e, B.half.x, out, within, 2)


@helper
def outside(c, h):
    """From the closest point of a box to c, in the box's frame."""
    return Vec3(c.x - clamp(c.x, -h.x, h.x), c.y - clamp(c.y, -h.y, h.y), c.z - clamp(c.z, -h.z, h.z))


@helper
def box_gap(c, h):
    return nearest_on_box(c, h)[0]


@helper
def slope_to_box(c, d, x, h):
    """The derivative of half the squared distance between c + d x and a box, in the box's frame."""
    return dot(outside(c + d * x, h), d)


@helper
def closest_to_box(c, d, l, h):
    """Where on the line c + d x, |x| <= l, it is closest to a box that it does not meet, in the box's frame. Half the
    squared distance is convex, its derivative linear between the planes of faces: the zero is between two of them, or
    the ends of the line."""
    low, high = -l, l
    below, above = slope_to_box(c, d, low, h), slope_to_box(c, d, high, h)
    for k in range(6):
        at, way, face = half_edge(c, k // 2), half_edge(d, k // 2), half_edge(h, k // 2) * (1.0 if k % 2 else -1.0)
        if (face - at) * way > low * way * way and (face - at) * way < high * way * way:
            x = (face - at) / way
            slope = slope_to_box(c, d, x, h)
            if slope > 0.0:
                high, above = x, slope
            else:
                low, below = x, slope
    x = low if below >= 0.0 else high
    if below < 0.0 and above > 0.0:
        x = clamp(low + (high - low) * (below / (below - above)), low, high)
    return x


@helper
def crossing(c, a, h, high, x):
    """x, or where the line c + a x leaves the slab |.| <= h at the given end, if that is on the capsule."""
    if abs(a) > 1e-12:
        one, two = (h - c) / a, (-h - c) / a
        y = max(one, two) if high else min(one, two)
        x = min(x, y) if high else max(x, y)
    return x


@part
def capsule_on_box(scene, i, j, within):
    """The closest point of the line, and the two ends of what of it is over the box."""
    A, B = scene.shapes[i], scene.shapes[j]
    a, l, h = z_axis(A.X), A.half.z, B.half
    c, d = transpose(B.X) @ (A.at - B.at), transpose(B.X) @ a
    out = A.half.x + within
    if (
        abs(c.x) - abs(d.x) * l - h.x >= out
        or abs(c.y) - abs(d.y) * l - h.y >= out
        or abs(c.z) - abs(d.z) * l - h.z >= out
    ):
        return
    x = closest_to_box(c, d, l, h)
    nearest, n = nearest_on_box(c + d * x, h)
    if nearest >= out:
        return
    if nearest <= CLOSE * (l + norm(h)):
        convex(scene, i, j, within)
        return
    low, high = -l, l
    if abs(n.x) < 0.9:
        low, high = crossing(c.x, d.x, B.half.x, False, low), crossing(c.x, d.x, B.half.x, True, high)
    if abs(n.y) < 0.9:
        low, high = crossing(c.y, d.y, B.half.y, False, low), crossing(c.y, d.y, B.half.y, True, high)
    if abs(n.z) < 0.9:
        low, high = crossing(c.z, d.z, B.half.z, False, low), crossing(c.z, d.z, B.half.z, True, high)
    if high - low > SHORT * min(l, norm(h)):
        add_on_box(scene, i, j, A.at + a * low, A.half.x, within, 0)
        add_on_box(scene, i, j, A.at + a * high, A.half.x, within, 1)
        if nearest > min(box_gap(c + d * low, h), box_gap(c + d * high, h)) - SAME * min(l, norm(h)):
            return
    add_on_box(scene, i, j, A.at + a * x, A.half.x, within, 2)
