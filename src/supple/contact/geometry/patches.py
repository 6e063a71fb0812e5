"""Touches of two convex shapes around what they have in common: the ends of lines that are parallel, and the corners of
what they share, seen along the normal, where they overlap deeply.

A single touch would let shapes that overlap deeply turn about it, which brings other parts of them deeper into each
other. With touches all around, each as deep as the overlap along the normal, they are moved apart along that.
"""

from __future__ import annotations

import math

from supple.contact.geometry.faces import SIDES, find_shadow
from supple.contact.geometry.outlines import SAME, clip_to, new_outline, reduce_outline
from supple.contact.geometry.points import add_touch, norm
from supple.contact.geometry.support import farthest, radius_of
from supple.contact.memory import CYLINDER, SPHERE
from supple.spatial.algebra import cross, dot, z_axis
from supple.spatial.compiler import helper, part

DEEP = 0.1  #: overlap, relative to the size of the smaller shape
PARALLEL = 1e-3  #: the squared sine of the angle between lines
SHORT = 1e-3  #: of the length of lines: what they have side by side, at least
FIRST = 48  #: feature of a patch


@helper
def is_deep(A, B, gap):
    return gap < -DEEP * min(norm(A.box), norm(B.box)) and A.kind != SPHERE and B.kind != SPHERE


@part
def add_patch(scene, A, B, i, j, n, gap):
    """Touches of shapes that overlap along n, from B to A: the corners of what they share, as n sees it, of corners
    that are in the overlap. Returns whether there are any."""
    one, two, spare = new_outline(), new_outline(), new_outline()
    near = SAME * min(norm(A.box), norm(B.box))
    find_shadow(scene, A, n * -1.0, -gap, one)
    find_shadow(scene, B, n, -gap, two)
    low, high = dot(n, farthest(scene, A, n * -1.0)) - radius_of(A), dot(n, farthest(scene, B, n)) + radius_of(B)
    if two.n >= 3:
        clip_to(one, two, n, spare, near)
    elif one.n >= 3:
        clip_to(two, one, n * -1.0, spare, near)
        one.n = two.n
        for k in range(two.n):
            one.corners[k].at = two.corners[k].at
    else:
        one.n = 0
    reduce_outline(one, n * -1.0 if two.n >= 3 else n, SIDES)
    for k in range(one.n):
        p = one.corners[k].at
        add_touch(scene, i, j, p + n * (0.5 * (low + high) - dot(n, p)), n, gap, FIRST + k)
    return one.n > 0


@helper
def radius_across(A, a):
    """Of a shape about a line in it along a: none, if that is an edge."""
    along_axis = A.kind == CYLINDER and abs(dot(a, z_axis(A.X))) > 0.9
    return A.half.x if along_axis else radius_of(A)


@part
def add_lines(scene, A, B, i, j, n, one, two, closest, within):
    """The ends of what two lines have side by side, if they are nearly parallel; no gap is smaller than that of the
    closest points. Where they cross, they are farther apart at their ends: there, they are beside each other, too.
    Returns the smallest gap."""
    c, d = one.corners[0].at, two.corners[0].at
    a, b = one.corners[1].at - c, two.corners[1].at - d
    l, m, least = norm(a), norm(b), 1e300
    a, b = a * (1.0 / l), b * (1.0 / m)
    ab = dot(a, b)
    if 1.0 - ab * ab > PARALLEL:
        return least
    x, y = dot(a, d - c), dot(a, d + b * m - c)
    low, high = max(min(x, y), 0.0), min(max(x, y), l)
    if high - low > SHORT * min(l, m):
        beside, r = cross(n, a), radius_across(A, a) + radius_across(B, b)
        for k in range(2):
            p = c + a * (low if k == 0 else high)
            q = d + b * min(max(dot(b, p - d), 0.0), m)
            gap = dot(n, p - q) - radius_of(A) - radius_of(B) + math.hypot(r, dot(beside, p - q)) - r
            gap = max(gap, closest)
            if gap < within:
                add_touch(scene, i, j, p - n * (radius_of(A) + 0.5 * gap), n, gap, 42 + k)
            least = min(least, gap)
    return least
