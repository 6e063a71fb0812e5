"""Which listed pairs of shapes cannot touch yet: those that were too far apart when they were last tried for the ways
that they have gone since.

A pair has some distance to spare: that between two rods that contain its shapes, beyond what counts as touching. From
search to search, points of a reduced body move by no more than its origin does, and by no more than it turns, times
their distance from the origin. While the ways of both shapes, with what a step may add, are shorter than what their
pair has to spare, they are not even placed; then they are tried, and if they are still apart, they have some distance
to spare again. So a pair that is far apart costs two numbers in most steps.

Within a tree, ways are relative to the first body of it: what falls as a whole comes no nearer to itself.
"""

from __future__ import annotations

import math

from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_memory import touching_of
from supple.assembly.poses import pose_at, set_pose
from supple.contact.finding import AHEAD
from supple.contact.memory import CAPSULE, PLANE, SPHERE
from supple.contact.points import clamp, norm
from supple.spatial.algebra import dot, transpose, x_axis, y_axis, z_axis
from supple.spatial.compiler import helper

SURE = 1e-6  #: of their sizes: what rounding may do to the distance of rods
UNKNOWN = -1e300  #: what a pair has to spare that is always tried


# --- when pairs are listed --------------------------------------------------------------------------------------------


@helper
def rod_of(shape):
    """A line along the longest axis of a shape that is placed, half its length, and the radius about it that contains
    the shape."""
    box = shape.box
    if shape.kind in (SPHERE, CAPSULE):
        axis, half, radius = z_axis(shape.X), shape.half.z if shape.kind == CAPSULE else 0.0, shape.half.x
    elif box.x >= box.y and box.x >= box.z:
        axis, half, radius = x_axis(shape.X), box.x, math.sqrt(box.y * box.y + box.z * box.z)
    elif box.y >= box.z:
        axis, half, radius = y_axis(shape.X), box.y, math.sqrt(box.x * box.x + box.z * box.z)
    else:
        axis, half, radius = z_axis(shape.X), box.z, math.sqrt(box.x * box.x + box.y * box.y)
    return axis, half, radius


@helper
def between_lines(way, a, l, b, m):
    """The distance of two lines of half lengths l and m along a and b: of their closest points [Ericson 2005, Real-Time
    Collision Detection, section 5.1.9]. way: from the middle of the first to that of the second."""
    ab, da, db = dot(a, b), dot(way, a), dot(way, b)
    x = clamp((da - ab * db) / max(1.0 - ab * ab, 1e-12), -l, l)
    y = clamp(ab * x - db, -m, m)
    x = clamp(da + ab * y, -l, l)
    return norm(way + b * y - a * x)


@helper
def spare_of(scene, s, t):
    """How much nearer two shapes that are placed may come before they can touch."""
    A, B = scene.shapes[s], scene.shapes[t]
    a, l, radius = rod_of(A)
    out = radius + A.margin + B.margin + scene.length
    if t < scene.n_shapes - scene.n_flat:
        b, m, other = rod_of(B)
        return between_lines(B.at - A.at, a, l, b, m) - out - other - SURE * (l + m + radius + other)
    if B.kind == PLANE:
        n = z_axis(B.X)
        return dot(n, A.at - B.at) - abs(dot(n, a)) * l - out - SURE * (l + radius)
    return UNKNOWN


@helper
def keep_place(hybrid, b):
    """Of reduced body b: in the world, and on the first of its tree."""
    touching = touching_of(hybrid)
    body, first = touching.scene.bodies[b], touching.scene.bodies[touching.shifts[b].first]
    set_pose(touching.places, b, body.R, body.P)
    set_pose(touching.places_on, b, transpose(first.R) @ body.R, (body.P - first.P) @ first.R)


@helper
def begin_shifts(hybrid):
    """Reduced bodies have not moved yet."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        p = m.bodies[b].parent
        shift = touching.shifts[b]
        shift.first = b if p < 0 else touching.shifts[p].first
        shift.moved = shift.turned = shift.strayed = shift.twisted = 0.0
        keep_place(hybrid, b)


@helper
def are_kin(touching, a, b):
    """Whether two reduced bodies are of one tree."""
    return a >= 0 and b >= 0 and touching.shifts[a].first == touching.shifts[b].first


@helper
def list_pair(touching, pair, s, t, spare):
    """Two shapes, and what they have to spare."""
    a, b = touching.scene.shapes[s].body, touching.scene.shapes[t].body
    kin = 1 if are_kin(touching, a, b) else 0
    pair.one, pair.two, pair.spare = 2 * s + kin, 2 * t + kin, spare


@helper
def shapes_of(pair):
    return pair.one >> 1, pair.two >> 1


# --- afterwards -------------------------------------------------------------------------------------------------------


@helper
def turned(R, S):
    """By how much rotation has moved a point at distance 1, at most: the difference of two rotations has Frobenius'
    norm sqrt(2) times that."""
    a, b, c = R.r0 - S.r0, R.r1 - S.r1, R.r2 - S.r2
    return math.sqrt(0.5 * (dot(a, a) + dot(b, b) + dot(c, c)))


@helper
def shift_bodies(hybrid, h, fall):
    """The ways of reduced bodies go on to where they are, and within a step of length h. fall: by gravity."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        shift, V = touching.shifts[b], touching.scene.bodies[b].V
        R, r = pose_at(touching.places, b)
        S, s = pose_at(touching.places_on, b)
        keep_place(hybrid, b)
        now, on = touching.places[b], touching.places_on[b]
        shift.moved += norm(now.r - r)
        shift.turned += turned(now.R, R)
        shift.strayed += norm(on.r - s)
        shift.twisted += turned(on.R, S)
        shift.moves, shift.turns = AHEAD * (h * norm(V.lin) + fall), AHEAD * h * norm(V.ang)


@helper
def shift_shapes(touching):
    """The same of shapes: in the world, and on the first body of their tree."""
    for k in range(touching.n_noted):
        noted = touching.noted[k]
        s, way, on, adds = noted.shape, 0.0, 0.0, 0.0
        if noted.body >= 0:
            shift, far = touching.shifts[noted.body], noted.far
            adds = shift.moves + shift.turns * far
            way, on = shift.moved + shift.turned * far, shift.strayed + shift.twisted * far
        touching.ways[2 * s], touching.ways[2 * s + 1], touching.adds[s] = way + adds, on + adds, adds


@helper
def may_meet(touching, pair):
    """Whether the shapes of a pair may touch within the step."""
    return not touching.ways[pair.one] + touching.ways[pair.two] < pair.spare


@helper
def way_of(touching, pair):
    """Of both shapes of a pair, until the last search."""
    s, t = shapes_of(pair)
    return touching.ways[pair.one] - touching.adds[s] + (touching.ways[pair.two] - touching.adds[t])


@helper
def renew_spare(touching, pair):
    """From where its shapes are now, which are placed."""
    s, t = shapes_of(pair)
    pair.spare = spare_of(touching.scene, s, t) + way_of(touching, pair)
