"""Where cylinders and convex hulls touch each other, and spheres, capsules and boxes.

The normal is the direction between closest points [support.py]. The places are found as those of boxes are: what of
each shape is farthest towards the other is a point, a line or the outline of a face; one is clipped to the other, and
the corners that remain are touches [outlines.py]. So are the ends of what two parallel lines have side by side. Where
shapes overlap deeply, touches are all around what they have in common [patches.py].
"""

from __future__ import annotations

from supple.contact.geometry.outlines import (
    SAME,
    SIDES,
    bent,
    clip_to,
    face_normal,
    find_outline,
    middle_of,
    new_outline,
)
from supple.contact.geometry.parting import likely_axis, overlap_along, parting
from supple.contact.geometry.patches import add_lines, add_patch, is_deep
from supple.contact.geometry.points import across, add_touch, norm
from supple.contact.geometry.support import between, farthest, new_simplex, radius_of
from supple.contact.memory import SPHERE
from supple.spatial.algebra import Vec3, dot, z_axis
from supple.spatial.compiler import helper, part

NEAR = 1e-2  #: distances below this share of the size of shapes are found after they are moved apart
FLAT = 5e-3  #: corners this share of a shape's size behind the farthest one belong to its face
FACING = 0.7  #: the least cosine between a face and the normal


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
    """Touches where faces look at each other, or a line at a face, or lines are parallel. Returns the smallest gap."""
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
    elif one.n == 2 and two.n == 2:
        least = add_lines(scene, A, B, i, j, n, one, two, closest, within)
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
            m = p * (1.0 / gap) if gap > SAME * size else n
            if overlap_along(scene, A, B, m) < depth:  # the direction between them parts them farther
                n = m
            else:
                gap, a = -depth, b
    return n, gap - both, a


@part
def add_facing(scene, A, B, i, j, n, gap, a, within):
    """The touches of two convex shapes, as those of shapes i and j, from what `facing` found."""
    size = min(norm(A.box), norm(B.box))
    if is_deep(A, B, gap) and add_patch(scene, A, B, i, j, n, gap):
        return
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
