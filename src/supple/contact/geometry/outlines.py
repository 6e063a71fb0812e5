"""Outlines of what of a convex shape is farthest along a direction: a point, a line or a face of up to eight corners,
those that are farthest in eight directions across it, if the shape leaned that way: a corner that stands back a little
is one of them only if it is much farther out. A foot with a chamfer stands on its sole."""

from __future__ import annotations

import math

from supple.contact.geometry.points import corner, norm
from supple.contact.geometry.support import farthest
from supple.contact.memory import CAPSULE, CYLINDER, HULL, SPHERE
from supple.spatial.algebra import Vec3, cross, dot, z_axis
from supple.spatial.compiler import helper, part
from supple.spatial.fields import Integer, Number, Value
from supple.spatial.structs import Several, Struct

SAME = 1e-6  #: points closer than this share of the size are one
SIDES = 8  #: of an outline
LEANS = 0.1  #: the slope by which it leans


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
        back = top - dot(out, p)
        if back <= flat:
            x, y = dot(t, p), dot(s, p)
            for m in range(SIDES):
                angle = (m + 0.25) * (2.0 * math.pi / SIDES)
                far = x * math.cos(angle) + y * math.sin(angle) - back / LEANS
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
