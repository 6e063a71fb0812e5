"""The way out for convex shapes that overlap.

From a direction, one shape is moved out along it, and the direction between closest points there is taken instead,
while that is better. Where this ends depends on where it begins; what it misses is found by the faces of the difference
of the shapes [expanding.py].
"""

from __future__ import annotations

from supple.contact.geometry.expanding import less_overlap
from supple.contact.geometry.points import box_axis, norm
from supple.contact.geometry.support import CLOSE, between, farthest
from supple.spatial.algebra import dot, z_axis
from supple.spatial.compiler import helper, part

LIKELY, STEPS, APART = 13, 8, 0.1  #: directions and steps to part shapes that overlap, and by which share of their size
CLOSER = 0.25  #: which share of that in the next step
SMALL = 1e-3  #: overlap, relative to the size of the smaller shape, that need not be less along other directions


@helper
def overlap_along(scene, A, B, n):
    """How far A must move along n to be outside B."""
    return dot(n, farthest(scene, B, n)) - dot(n, farthest(scene, A, n * -1.0))


@helper
def likely_axis(A, B, k):
    """Directions that are likely to part two shapes: between their middles, and their axes, both ways."""
    n = A.at - B.at
    if k > 0:
        i = (k - 1) % 6 // 2
        n = box_axis(A.X if k <= 6 else B.X, i) * (1.0 if k % 2 else -1.0)
    size = norm(n)
    return n * (1.0 / size) if size > 0.0 else z_axis(B.X)


@helper
def parted(scene, A, B, S, size, n):
    """From a normal n: each step moves A out of B along it, and takes the direction between them there, until that is
    no better. Returns the normal, the overlap along it, and the point of A that is closest once they are parted. From
    farther away than a shape is thin or its surface curved, directions change little: each step goes less far out."""
    depth, out = overlap_along(scene, A, B, n), APART * size
    p, a, _ = between(scene, A, B, S, n * (depth + out), n)
    for _ in range(STEPS):
        m = p * (1.0 / norm(p)) if norm(p) > 0.0 else n
        x = overlap_along(scene, A, B, m)
        if not x < depth - CLOSE * size:
            break
        n, depth, out = m, x, CLOSER * out
        p, a, _ = between(scene, A, B, S, n * (depth + out), n)
    return n, depth, a


@part
def parting(scene, A, B, S, size):
    """The normal along which two shapes that overlap, or nearly so, are parted soonest, the overlap along it, and the
    closest point of A once they are: from their middles, and from the best of the likely directions. Overlap that is
    not small beside the shapes may be less along others [expanding.py]."""
    best, least = likely_axis(A, B, 0), 1e300
    for k in range(1, LIKELY):
        m = likely_axis(A, B, k)
        x = overlap_along(scene, A, B, m)
        if x < least:
            best, least = m, x
    n, depth, a = parted(scene, A, B, S, size, likely_axis(A, B, 0))
    m, other, b = parted(scene, A, B, S, size, best)
    if other < depth:
        n, depth, a = m, other, b
    if depth > SMALL * size:
        m, other = less_overlap(scene, A, B, n, depth)
        if other < depth:
            n, depth, a = parted(scene, A, B, S, size, m)
    return n, depth, a
