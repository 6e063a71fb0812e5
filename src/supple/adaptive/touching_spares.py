"""Which listed pairs of shapes cannot touch yet: those that were too far apart when they were listed for what has moved
since.

A pair is listed with the distance that it has to spare: between two rods that contain its shapes, beyond what counts as
touching. Points of a reduced body move by no more than its origin does, and by no more than it turns, times their
distance from the origin. While both shapes together have moved less than the pair has to spare, and may within a step,
they are not even placed. So pairs that come no nearer cost two numbers each.

Within a tree, motion counts relative to the first body of it: what falls as a whole comes no nearer to itself.
"""

from __future__ import annotations

import math

from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_memory import touching_of
from supple.assembly.poses import pose_at, set_pose
from supple.contact.finding import AHEAD
from supple.contact.memory import CAPSULE, PLANE, SPHERE
from supple.contact.points import clamp, norm
from supple.spatial.algebra import Vec3, dot, transpose, x_axis, y_axis, z_axis
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
def begin_shifts(hybrid):
    """The places of reduced bodies where pairs are listed: in the world, and on the first of their tree."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        p = m.bodies[b].parent
        shift = touching.shifts[b]
        shift.first = b if p < 0 else touching.shifts[p].first
        R, r = pose_at(hybrid.world, b + 1)
        set_pose(touching.begun, b + 1, R, r)
        S, s = pose_at(hybrid.world, shift.first + 1)
        set_pose(touching.begun_on, b, transpose(S) @ R, (r - s) @ S)


@helper
def are_kin(touching, s, t):
    """Whether two shapes are on bodies of one tree."""
    a, b = touching.scene.shapes[s].body, touching.scene.shapes[t].body
    return a >= 0 and b >= 0 and touching.shifts[a].first == touching.shifts[b].first


# --- afterwards -------------------------------------------------------------------------------------------------------


@helper
def turned(R, S):
    """By how much rotation has moved a point at distance 1, at most: the difference of two rotations has Frobenius'
    norm sqrt(2) times that."""
    return math.sqrt(0.5) * norm(Vec3(norm(R.r0 - S.r0), norm(R.r1 - S.r1), norm(R.r2 - S.r2)))


@helper
def shift_bodies(hybrid, h, fall):
    """How far reduced bodies have moved, and may within a step of length h. fall: by gravity."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        shift, body = touching.shifts[b], touching.scene.bodies[b]
        R, r = pose_at(touching.begun, b + 1)
        moves, turns = AHEAD * (h * norm(body.V.lin) + fall), AHEAD * h * norm(body.V.ang)
        shift.moved, shift.turned = moves + norm(body.P - r), turns + turned(body.R, R)
        first = touching.scene.bodies[shift.first]
        S, s = pose_at(touching.begun_on, b)
        shift.strayed = moves + norm((body.P - first.P) @ first.R - s)
        shift.twisted = turns + turned(transpose(first.R) @ body.R, S)


@helper
def shift_shapes(touching):
    """The same of shapes: `away` in the world, `astray` on the first body of their tree."""
    for k in range(touching.n_noted):
        noted = touching.noted[k]
        away = astray = 0.0
        if noted.body >= 0:
            shift = touching.shifts[noted.body]
            away, astray = shift.moved + shift.turned * noted.far, shift.strayed + shift.twisted * noted.far
        touching.away[noted.shape], touching.astray[noted.shape] = away, astray
