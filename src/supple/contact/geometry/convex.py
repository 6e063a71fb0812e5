"""Where cylinders and convex hulls touch each other, and spheres, capsules and boxes.

The normal is the direction between closest points [support.py]. The places are found as those of boxes are: what of
each shape looks at the other is a corner, an edge or a face [faces.py]; one is clipped to the other, and the corners
that remain are touches [outlines.py]. So are the ends of what two parallel lines have side by side, and corners beside
a face that are over the other one. Where shapes overlap deeply, touches are all around what they have in common
[patches.py].
"""

from __future__ import annotations

from supple.contact.geometry.faces import IN_FACE, IN_PLANE, SIDES, corners_beside, find_face
from supple.contact.geometry.outlines import SAME, beyond, clip_to, new_outline, reduce_outline, remove_corner
from supple.contact.geometry.parting import likely_axis, overlap_along, parting
from supple.contact.geometry.patches import add_lines, add_patch, is_deep
from supple.contact.geometry.points import CLOSE, add_touch, norm
from supple.contact.geometry.support import between, farthest, new_simplex, radius_of
from supple.contact.memory import SPHERE
from supple.spatial.algebra import Vec3, dot, z_axis
from supple.spatial.compiler import helper, part

NEAR = 1e-2  #: distances below this share of the size of shapes are found after they are moved apart
FLAT = 5e-3  #: corners this share of a shape's size behind the farthest one may touch beside its face
ALIGNED = 1e-6  #: cosines between faces and the normal that differ by less are equal


@helper
def flatness(size, within):
    """How far behind the farthest corner others may touch."""
    return FLAT * size + min(within, 0.05 * size)


@helper
def gap_over(A, B, n, two, x, closest):
    """Of a corner over the plane of a face of the other shape, along n; none is closer than the closest points."""
    m = two.out
    gap = dot(m, x - two.on) / abs(dot(m, n)) - radius_of(A) - radius_of(B)
    return max(gap, closest)


@helper
def add_over(scene, A, B, i, j, n, x, gap, of_a, feature):
    p = x - n * (radius_of(A) + 0.5 * gap) if of_a else x + n * (radius_of(B) + 0.5 * gap)
    add_touch(scene, i, j, p, n, gap, feature + (0 if of_a else 20))


@part
def add_beside(scene, A, B, i, j, n, one, two, of_a, closest, within, flat, spare):
    """Corners of one shape that are beside its face, over the face of the other. Returns the smallest gap."""
    least, out = 1e300, n * (-1.0 if of_a else 1.0)
    if two.n < 3:
        return least
    corners_beside(scene, A if of_a else B, out, flat, one, spare)
    for k in range(spare.n):
        x = spare.corners[k].at
        if beyond(two, x, two.out) < 0.0:
            gap = gap_over(A, B, n, two, x, closest)
            if gap < within:
                add_over(scene, A, B, i, j, n, x, gap, of_a, SIDES + k)
            least = min(least, gap)
    return least


@part
def add_clipped(scene, A, B, i, j, n, one, two, of_a, closest, within, near, spare):
    """What of a face or an edge is over the other face. Returns the smallest gap."""
    clip_to(one, two, n if of_a else n * -1.0, spare, near)
    k, least = 0, 1e300
    while k < one.n:
        if gap_over(A, B, n, two, one.corners[k].at, closest) < within:
            k += 1
        else:
            remove_corner(one, k)
    reduce_outline(one, one.out, SIDES)
    for k in range(one.n):
        x = one.corners[k].at
        gap = gap_over(A, B, n, two, x, closest)
        add_over(scene, A, B, i, j, n, x, gap, of_a, k)
        least = min(least, gap)
    return least


@part
def add_faces_of(scene, A, B, i, j, n, closest, within, size):
    """Touches where faces look at each other, or a line at a face, or lines are parallel. Returns the smallest gap."""
    if A.kind == SPHERE or B.kind == SPHERE:
        return 1e300
    one, two, spare = new_outline(), new_outline(), new_outline()
    near, flat = SAME * size, flatness(size, within)
    find_face(scene, A, n * -1.0, IN_PLANE, one)
    find_face(scene, B, n, IN_PLANE, two)
    least = 1e300
    if one.n == 2 and two.n == 2:
        least = add_lines(scene, A, B, i, j, n, one, two, closest, within)
    elif max(one.n, two.n) >= 3:
        least = add_beside(scene, A, B, i, j, n, one, two, True, closest, within, flat, spare)
        least = min(least, add_beside(scene, A, B, i, j, n, two, one, False, closest, within, flat, spare))
        of_a = two.n >= 3 and (one.n < 3 or dot(two.out, n) >= -dot(one.out, n) - ALIGNED)
        if of_a and one.n >= 2:
            least = min(least, add_clipped(scene, A, B, i, j, n, one, two, True, closest, within, near, spare))
        elif not of_a and two.n >= 2:
            least = min(least, add_clipped(scene, A, B, i, j, n, two, one, False, closest, within, near, spare))
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


@helper
def add_halfway(scene, i, j, p, n, gap, feature):
    add_touch(scene, i, j, p - n * (0.5 * gap), n, gap, feature)


@part
def hull_on_plane(scene, i, j, within):
    """The corners of the face of a hull that looks at a plane, and those beside it; in any case its lowest one."""
    A, n, at = scene.shapes[i], z_axis(scene.shapes[j].X), scene.shapes[j].at
    low = farthest(scene, A, n * -1.0)
    lowest, size = dot(n, low - at), norm(A.box)
    if lowest >= within:
        return
    face, beside = new_outline(), new_outline()
    find_face(scene, A, n * -1.0, IN_FACE, face)
    corners_beside(scene, A, n * -1.0, flatness(size, within), face, beside)
    k, least = 0, 1e300
    while k < face.n:
        if dot(n, face.corners[k].at - at) < within:
            k += 1
        else:
            remove_corner(face, k)
    reduce_outline(face, n * -1.0, SIDES)
    for k in range(face.n):
        p = face.corners[k].at
        gap = dot(n, p - at)
        least = min(least, gap)
        add_halfway(scene, i, j, p, n, gap, k)
    for k in range(beside.n):
        p = beside.corners[k].at
        gap = dot(n, p - at)
        if gap < within:
            add_halfway(scene, i, j, p, n, gap, SIDES + k)
    if least > lowest + CLOSE * size:
        add_halfway(scene, i, j, low, n, lowest, 2 * SIDES)
