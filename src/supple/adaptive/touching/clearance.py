"""Which candidate pairs cannot touch yet: those whose shapes have travelled less, since they were last tested, than
their clearance was then.

The clearance of a pair is the distance between the bounding capsules of its shapes [capsules.py], beyond what counts as
touching. From search to search, a point of a reduced body moves by at most the motion of the origin, plus the rotation
times its distance from the origin; `travel` is the sum of these bounds. While the travel of both shapes, including what
the next step may add, is less than their clearance, they are not even placed. Then they are tested, and if they are
still apart, their clearance is found again. So a pair that is far apart costs two numbers in most steps.

Within a tree, travel is relative to its root: shapes that fall together come no nearer to each other.
"""

from __future__ import annotations

import math

from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.capsules import ROUNDING, capsule_around, segment_distance
from supple.adaptive.touching.memory import touching_of
from supple.assembly.poses import pose_at, set_pose
from supple.contact.geometry.finding import AHEAD
from supple.contact.geometry.hills import distance_beyond
from supple.contact.geometry.points import norm
from supple.contact.geometry.volumes import vec_abs
from supple.contact.memory import PLANE
from supple.spatial.algebra import dot, transpose, z_axis
from supple.spatial.compiler import helper

UNKNOWN = -1e300  #: the clearance of pairs that are tested in the next search


# --- when the neighbour list is built ---------------------------------------------------------------------------------


@helper
def clearance_of(scene, s, t):
    """How far two shapes that are placed may approach each other before they can touch."""
    A, B = scene.shapes[s], scene.shapes[t]
    a, l, radius = capsule_around(A)
    out = radius + A.margin + B.margin + scene.length
    if t < scene.n_shapes - scene.n_flat:
        b, m, other = capsule_around(B)
        return segment_distance(B.at - A.at, a, l, b, m) - out - other - ROUNDING * (l + m + radius + other)
    if B.kind == PLANE:
        n = z_axis(B.X)
        gap = dot(n, A.at - B.at) - abs(dot(n, a)) * l
    else:
        gap = distance_beyond(B, transpose(B.X) @ (A.at - B.at), vec_abs(transpose(B.X) @ a) * l)
    return gap - out - ROUNDING * (l + radius)


@helper
def store_pose(hybrid, b):
    """Stores the pose of reduced body b: in the world, and in the frame of the root of its tree."""
    touching = touching_of(hybrid)
    body, root = touching.scene.bodies[b], touching.scene.bodies[touching.travels[b].root]
    set_pose(touching.last_poses, b, body.R, body.P)
    set_pose(touching.poses_in_root, b, transpose(root.R) @ body.R, (body.P - root.P) @ root.R)


@helper
def reset_travel(hybrid):
    """Sets the travel of all reduced bodies to zero. Trees have no boxes yet."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        p = m.bodies[b].parent
        travel = touching.travels[b]
        travel.root = b if p < 0 else touching.travels[p].root
        travel.moved = travel.turned = travel.moved_in_tree = travel.turned_in_tree = 0.0
        travel.box = -1
        store_pose(hybrid, b)


@helper
def in_same_tree(touching, a, b):
    """Whether two reduced bodies are of the same tree."""
    return a >= 0 and b >= 0 and touching.travels[a].root == touching.travels[b].root


@helper
def list_pair(touching, pair, s, t, clearance):
    """Fills a row of the list with a pair of shapes and its clearance."""
    a, b = touching.scene.shapes[s].body, touching.scene.shapes[t].body
    same_tree = 1 if in_same_tree(touching, a, b) else 0
    pair.one, pair.two, pair.clearance = 2 * s + same_tree, 2 * t + same_tree, clearance


@helper
def shapes_of(pair):
    return pair.one >> 1, pair.two >> 1


# --- in a search ------------------------------------------------------------------------------------------------------


@helper
def rotated(R, S):
    """The largest motion of a point at distance 1 from the origin between rotations R and S: the Frobenius norm of
    their difference is sqrt(2) times that."""
    a, b, c = R.r0 - S.r0, R.r1 - S.r1, R.r2 - S.r2
    return math.sqrt(0.5 * (dot(a, a) + dot(b, b) + dot(c, c)))


@helper
def update_travel(hybrid, h, fall):
    """Adds the motion of reduced bodies since the last search to their travel; and bounds what a step of length h may
    add. fall: the distance that bodies fall in it."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        travel, V = touching.travels[b], touching.scene.bodies[b].V
        R, r = pose_at(touching.last_poses, b)
        S, s = pose_at(touching.poses_in_root, b)
        store_pose(hybrid, b)
        now, on = touching.last_poses[b], touching.poses_in_root[b]
        travel.moved += norm(now.r - r)
        travel.turned += rotated(now.R, R)
        travel.moved_in_tree += norm(on.r - s)
        travel.turned_in_tree += rotated(on.R, S)
        travel.step_moved, travel.step_turned = AHEAD * (h * norm(V.lin) + fall), AHEAD * h * norm(V.ang)


@helper
def update_shape_travel(touching):
    """The travel of listed shapes, with what the next step may add: in the world, and relative to the root of their
    tree."""
    for k in range(touching.n_listed_shapes):
        listed = touching.listed_shapes[k]
        s, total, relative, adds = listed.shape, 0.0, 0.0, 0.0
        if listed.body >= 0:
            travel, far = touching.travels[listed.body], listed.far
            adds = travel.step_moved + travel.step_turned * far
            total = travel.moved + travel.turned * far
            relative = travel.moved_in_tree + travel.turned_in_tree * far
        touching.shape_travel[2 * s], touching.shape_travel[2 * s + 1] = total + adds, relative + adds
        touching.shape_step_travel[s] = adds


@helper
def may_meet(touching, pair):
    """Whether the shapes of a pair may touch within the next step."""
    return not touching.shape_travel[pair.one] + touching.shape_travel[pair.two] < pair.clearance


@helper
def travel_of(touching, pair):
    """The travel of both shapes of a pair until now."""
    s, t = shapes_of(pair)
    travel, adds = touching.shape_travel, touching.shape_step_travel
    return travel[pair.one] - adds[s] + (travel[pair.two] - adds[t])


@helper
def renew_clearance(touching, pair):
    """Finds the clearance of a pair again, from the present poses of its shapes."""
    s, t = shapes_of(pair)
    pair.clearance = clearance_of(touching.scene, s, t) + travel_of(touching, pair)
