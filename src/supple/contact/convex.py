"""Where cylinders and convex hulls touch each other, and spheres, capsules and boxes.

The normal is the direction between closest points [support.py]. The places are found as those of boxes are: what of
each shape is farthest towards the other is a point, a line or the outline of a face; one is clipped to the other, and
the corners that remain are touches. An outline has at most eight corners, those that are farthest in eight directions.
"""

from __future__ import annotations

import math

from supple.contact.memory import CAPSULE, CYLINDER, HULL, SPHERE
from supple.contact.points import across, add_touch, corner, norm
from supple.contact.support import between, farthest, likely_axis, new_simplex, parting, radius_of
from supple.spatial.algebra import Vec3, cross, dot, z_axis
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Several, Struct

NEAR = 1e-2  #: distances below this share of the size of shapes are found after they are moved apart
FLAT = 5e-3  #: corners this share of a shape's size behind the farthest one belong to its face
SAME = 1e-6  #: points closer than this share of the size are one
SIDES = 8  #: of an outline
FACING = 0.7  #: the least cosine between a face and the normal


class OutlineCorner(Struct):
    at = Value(Vec3)
    far = Number()


class Outline(Struct):
    """Corners in order, counter-clockwise about the normal, and room for those that clipping adds."""

    n = Integer()
    corners = Several(26, OutlineCorner)


new_outline = Outline.new


@helper
def outer_count(A):
    """Of the points that may be corners of an outline."""
    n = 8
    if A.kind == SPHERE:
        n = 1
    elif A.kind == CAPSULE:
        n = 2
    elif A.kind == CYLINDER:
        n = 2 * (SIDES + 1)
    elif A.kind == HULL:
        n = A.count
    return n


@helper
def outer_point(scene, A, out, t, s, k):
    """One of them; those on the rims of a cylinder are towards `out` and around."""
    if A.kind != CYLINDER:
        return corner(scene, A, out, k)
    z = z_axis(A.X)
    d = out
    if k >= 2:
        angle = (k // 2 - 1) * (2.0 * math.pi / SIDES)
        d = t * math.cos(angle) + s * math.sin(angle)
    d = d - z * dot(d, z)
    size = norm(d)
    d = d * (A.half.x / size) if size > 1e-9 else d * 0.0
    return A.at + z * (A.half.z if k % 2 == 0 else -A.half.z) + d


@helper
def add_corner(outline, p, near):
    """Unless it is the last one, or the first."""
    if outline.n > 0:
        a, b = p - outline.corners[outline.n - 1].at, p - outline.corners[0].at
        if dot(a, a) < near * near or dot(b, b) < near * near:
            return
    outline.corners[outline.n].at = p
    outline.n += 1


@part
def find_outline(scene, A, out, t, s, flat, outline, found):
    """Of what of a shape is farthest along `out`; found: scratch."""
    top = dot(out, farthest(scene, A, out))
    for m in range(SIDES):
        found.corners[m].far = -1e300
    for k in range(outer_count(A)):
        p = outer_point(scene, A, out, t, s, k)
        if dot(out, p) >= top - flat:
            x, y = dot(t, p), dot(s, p)
            for m in range(SIDES):
                angle = (m + 0.25) * (2.0 * math.pi / SIDES)
                far = x * math.cos(angle) + y * math.sin(angle)
                if far > found.corners[m].far:
                    found.corners[m].far, found.corners[m].at = far, p
    outline.n = 0
    for m in range(SIDES):
        if found.corners[m].far > -1e300:
            add_corner(outline, found.corners[m].at, SAME * norm(A.box))


@helper
def middle_of(outline):
    c = Vec3(0.0, 0.0, 0.0)
    for k in range(outline.n):
        c = c + outline.corners[k].at
    return c * (1.0 / outline.n)


@helper
def face_normal(outline, n):
    """A unit vector across an outline, n itself if it has no area."""
    m, first = Vec3(0.0, 0.0, 0.0), outline.corners[0].at
    for k in range(1, outline.n - 1):
        m = m + cross(outline.corners[k].at - first, outline.corners[k + 1].at - first)
    size = norm(m)
    return m * (1.0 / size) if size > 0.0 else n


@helper
def bent(outline, n):
    """How far its corners are from a plane."""
    m, c, most = face_normal(outline, n), middle_of(outline), 0.0
    for k in range(outline.n):
        most = max(most, abs(dot(m, outline.corners[k].at - c)))
    return most


@part
def clip_outline(source, to, p, inward, near):
    """What of an outline is on the inner side of a line through p."""
    to.n = 0
    for k in range(source.n):
        a, b = source.corners[k].at, source.corners[k + 1 if k + 1 < source.n else 0].at
        x, y = dot(inward, a - p), dot(inward, b - p)
        if x >= -near:
            add_corner(to, a, near)
        if (x > near and y < -near) or (x < -near and y > near):
            add_corner(to, a + (b - a) * (x / (x - y)), near)


@part
def clip_to(outline, other, n, spare, near):
    """An outline clipped to the other one, which has an area."""
    for k in range(other.n):
        p, q = other.corners[k].at, other.corners[k + 1 if k + 1 < other.n else 0].at
        inward = cross(n, q - p)
        size = norm(inward)
        if size > near:
            clip_outline(outline, spare, p, inward * (1.0 / size), near)
            outline.n = spare.n
            for m in range(spare.n):
                outline.corners[m].at = spare.corners[m].at


@helper
def add_outline(scene, A, B, i, j, n, one, two, of_a, closest, within):
    """The corners of one outline over the plane of the other; none is closer than the closest points. Returns the
    smallest gap."""
    m, c, least = face_normal(two, n), middle_of(two), 1e300
    slope = dot(m, n)
    for k in range(one.n):
        x = one.corners[k].at
        gap = dot(m, x - c) / slope * (1.0 if of_a else -1.0) - radius_of(A) - radius_of(B)
        gap = max(gap, closest)
        if gap < within:
            p = x - n * (radius_of(A) + 0.5 * gap) if of_a else x + n * (radius_of(B) + 0.5 * gap)
            add_touch(scene, i, j, p, n, gap, k + (0 if of_a else 20))
        least = min(least, gap)
    return least


@part
def add_faces_of(scene, A, B, i, j, n, closest, within, size):
    """Touches where faces look at each other, or a line at a face. Returns the smallest gap."""
    if A.kind == SPHERE or B.kind == SPHERE:
        return 1e300
    one, two, spare = new_outline(), new_outline(), new_outline()
    t, s = across(n)
    near, flat = SAME * size, FLAT * size + min(within, 0.05 * size)
    find_outline(scene, A, n * -1.0, t, s, flat, one, spare)
    find_outline(scene, B, n, t, s, flat, two, spare)
    least, of_a = 1e300, two.n >= 3 and (one.n < 3 or bent(two, n) <= bent(one, n))
    if of_a and one.n >= 2 and dot(face_normal(two, n), n) > FACING:
        clip_to(one, two, n, spare, near)
        least = add_outline(scene, A, B, i, j, n, one, two, True, closest, within)
    elif one.n >= 3 and two.n >= 2 and not of_a and dot(face_normal(one, n), n) > FACING:
        clip_to(two, one, n, spare, near)
        least = add_outline(scene, A, B, i, j, n, two, one, False, closest, within)
    return least


@part
def facing(scene, A, B, within):
    """The normal from one convex shape to another, the gap along it, and the closest point of A, without its radius.
    They may be anything if the gap is not within reach."""
    size, both, S = min(norm(A.box), norm(B.box)), radius_of(A) + radius_of(B), new_simplex()
    p, a, _ = between(scene, A, B, S, Vec3(0.0, 0.0, 0.0), likely_axis(A, B, 0))
    gap, n = norm(p), p
    if gap - both < within + SAME * size:  # it is none where they overlap, however deep that is
        if gap > NEAR * size:
            n = p * (1.0 / gap)
        else:
            n, depth, b = parting(scene, A, B, S, size)
            if gap > SAME * size and -depth < gap - SAME * size:  # another direction parts them farther
                n = p * (1.0 / gap)
            else:
                gap, a = -depth, b
    return n, gap - both, a


@part
def add_facing(scene, A, B, i, j, n, gap, a, within):
    """The touches of two convex shapes, as those of shapes i and j, from what `facing` found."""
    size = min(norm(A.box), norm(B.box))
    least = add_faces_of(scene, A, B, i, j, n, gap, within, size)
    if least > gap + SAME * size:
        add_touch(scene, i, j, a - n * (radius_of(A) + 0.5 * gap), n, gap, 40)


@part
def convex(scene, i, j, within):
    """The touches of two convex shapes."""
    A, B = scene.shapes[i], scene.shapes[j]
    n, gap, a = facing(scene, A, B, within)
    if gap < within:
        add_facing(scene, A, B, i, j, n, gap, a, within)


@part
def hull_on_plane(scene, i, j, within):
    """The corners of what of a hull is lowest."""
    A, n = scene.shapes[i], z_axis(scene.shapes[j].X)
    size, outline, spare = norm(A.box), new_outline(), new_outline()
    t, s = across(n)
    find_outline(scene, A, n * -1.0, t, s, FLAT * size + min(within, 0.05 * size), outline, spare)
    for k in range(outline.n):
        p = outline.corners[k].at
        gap = dot(n, p - scene.shapes[j].at)
        if gap < within:
            add_touch(scene, i, j, p - n * (0.5 * gap), n, gap, k)
    add_lowest(scene, i, j, outline, farthest(scene, A, n * -1.0), n, within)


@helper
def add_lowest(scene, i, j, outline, p, n, within):
    """Its lowest corner, unless that is one of the outline."""
    for k in range(outline.n):
        d = outline.corners[k].at - p
        if dot(d, d) == 0.0:
            return
    gap = dot(n, p - scene.shapes[j].at)
    if gap < within:
        add_touch(scene, i, j, p - n * (0.5 * gap), n, gap, SIDES)
