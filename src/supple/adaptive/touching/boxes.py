"""Axis-aligned bounding boxes of everything rigid in a hybrid body, for the sweep of the broad phase [pairs.py]: one
for each body of a rigid node that has few bodies with shapes, one for a larger node as a whole; and one for each shape
of the world, except planes and height fields.

Boxes include their reach: the distance that their contents may be, within several steps, from where they would be
halfway at their present velocity, and the distance within which touches are searched for from there, in all directions.
They are valid until something is farther away than that; then its box is extended [neighbours.py].
"""

from __future__ import annotations

from supple.adaptive.touching.capsules import capsule_around_box
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.node_poses import place_node, place_region
from supple.assembly.poses import pose_at
from supple.assembly.tree import LEAF, LIGHT
from supple.contact.geometry.finding import AHEAD
from supple.contact.geometry.points import norm
from supple.contact.geometry.volumes import is_empty, mat_abs
from supple.spatial.algebra import Vec3, cross
from supple.spatial.compiler import helper

FEW = 32  #: bodies with shapes: nodes with more of them have one box


@helper
def volume_at(hybrid, i):
    """The bounding volume of node i; or, if i is n_nodes or more, of the body of LEAF i - n_nodes alone."""
    tree = hybrid.body.tree
    return hybrid.volumes[i] if i < tree.n_nodes else hybrid.body_volumes[tree.item[i - tree.n_nodes]]


@helper
def velocity_at(hybrid, rb, at):
    """The velocity of a point of reduced body rb."""
    body = touching_of(hybrid).scene.bodies[rb - 1]
    return body.V.lin + cross(body.V.ang, at - body.P)


@helper
def reach_of(hybrid, rb, at, far, h, fall):
    """How far any point of reduced body rb within a distance `far` of point `at` may move in h. fall: the distance that
    bodies fall in it."""
    reach = 0.0
    if rb > 0:
        body = touching_of(hybrid).scene.bodies[rb - 1]
        reach = h * (norm(velocity_at(hybrid, rb, at)) + norm(body.V.ang) * far) + fall
    return reach


@helper
def strays_of(hybrid, rb, at, far, h):
    """How far any such point may move relative to the root of its tree."""
    touching, strays = touching_of(hybrid), 0.0
    if rb > 0:
        body = touching.scene.bodies[rb - 1]
        root = touching.scene.bodies[touching.travels[rb - 1].root]
        lin = velocity_at(hybrid, rb, at) - root.V.lin - cross(root.V.ang, at - root.P)
        strays = h * (norm(lin) + norm(body.V.ang - root.V.ang) * far)
    return strays


@helper
def in_root_frame(hybrid, rb, at):
    """A point of reduced body rb in the frame of the root of its tree."""
    touching = touching_of(hybrid)
    root = touching.scene.bodies[touching.travels[rb - 1].root]
    return (at - root.P) @ root.R


@helper
def add_box(hybrid, i, h, fall, step):
    """Adds the box of item i, a node or the body of a LEAF, which is placed. It reaches as far as its contents may move
    in h, in which bodies fall by `fall`, and then in a step. step: its length."""
    tree, touching, volume = hybrid.body.tree, touching_of(hybrid), volume_at(hybrid, i)
    node = i if i < tree.n_nodes else i - tree.n_nodes
    rb = touching.reduced_body[node]
    S, s = pose_at(touching.within, node)
    R, r = pose_at(hybrid.world, rb)
    box = touching.boxes[touching.n_boxes]
    box.item, box.reduced_body = i, rb
    box.c, box.far = S @ volume.c + s, norm(volume.h)
    box.here, box.extent = R @ box.c + r, norm(box.c) + box.far
    touching.farthest = max(touching.farthest, box.extent)
    ahead = reach_of(hybrid, rb, box.here, box.far, AHEAD * step, 0.0)
    box.at, volume.reach = box.here, reach_of(hybrid, rb, box.here, box.far, h, fall) + ahead
    box.strays = volume.strays = 0.0
    if rb > 0:
        travel = touching.travels[touching.travels[rb - 1].root]
        box.next, travel.box = travel.box, touching.n_boxes
        box.at, box.at_in_root = (
            box.here + velocity_at(hybrid, rb, box.here) * (0.5 * h),
            in_root_frame(hybrid, rb, box.here),
        )
        box.strays = volume.strays = strays_of(hybrid, rb, box.here, box.far, h) + ahead + fall
    halfway = norm(box.at - box.here)
    box.reach = volume.reach - halfway
    box.due, box.due_in_tree = box.reach - halfway, box.strays
    out, X = box.reach + touching.scene.length, R @ S
    size = mat_abs(X) @ volume.h + Vec3(out, out, out)
    box.low, box.high = box.at - size, box.at + size
    box.axis, box.half, box.radius = capsule_around_box(X, volume.h)
    touching.n_boxes += 1


@helper
def add_bodies(hybrid, i, h, fall, step):
    """Adds a box for every body with shapes of the rigid node i, which is placed."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    stack, top = touching.stack, 1
    stack[0] = i
    while top > 0:
        top -= 1
        i = stack[top]
        place_node(hybrid, i)
        kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
        if kind == LEAF and not is_empty(hybrid.body_volumes[tree.item[i]].h):
            add_box(hybrid, i + tree.n_nodes, h, fall, step)
        if l >= 0 and touching.shaped[l] > 0:
            stack[top] = l
            top += 1
        if r >= 0 and kind != LIGHT and kind != LEAF and touching.shaped[r] > 0:
            stack[top] = r
            top += 1


@helper
def add_world(hybrid):
    """Adds a box for every shape of the world, except planes and height fields."""
    touching, n = touching_of(hybrid), hybrid.body.tree.n_nodes
    for k in range(touching.n_fixed):
        t = touching.fixed[k]
        shape, box = touching.scene.shapes[t], touching.boxes[touching.n_boxes]
        box.item, box.reduced_body, box.reach, box.strays, box.far = 2 * n + t, 0, 0.0, 0.0, 0.0
        box.here = box.at = shape.at
        out = shape.margin + touching.scene.length
        size = mat_abs(shape.X) @ shape.box + Vec3(out, out, out)
        box.low, box.high = box.at - size, box.at + size
        box.axis, box.half, box.radius = capsule_around_box(shape.X, shape.box)
        box.radius += shape.margin
        touching.n_boxes += 1


@helper
def make_boxes(hybrid, mask, h, fall, step):
    """Makes all boxes, for the region with one of the flags in `mask`. They reach as far as their contents may move in
    h, in which bodies fall by `fall`, and then in a step. step: its length."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    touching.n_boxes, touching.farthest = 0, 0.0
    place_region(hybrid)
    for k in range(hybrid.n_seen):
        i = hybrid.seen[k]
        if hybrid.flags[i] & mask:
            if tree.kind[i] == LEAF and not is_empty(hybrid.body_volumes[tree.item[i]].h):
                add_box(hybrid, i + tree.n_nodes, h, fall, step)
        elif touching.shaped[i] > FEW:
            add_box(hybrid, i, h, fall, step)
        elif touching.shaped[i] > 0:
            add_bodies(hybrid, i, h, fall, step)
    add_world(hybrid)


@helper
def needed_reach(hybrid, box, h, fall):
    """The reach that a box needs so that its contents are inside, now and within a step of length h; and the same
    relative to the root of its tree. fall: the distance that bodies fall in the step. After update_travel for that
    step: as long as travel is within the bounds of the box, its present reach is returned; otherwise what it needs by
    the place of its centre, and if that is enough, the bounds are renewed."""
    travel = touching_of(hybrid).travels[box.reduced_body - 1]
    adds = travel.step_moved + travel.step_turned * box.extent
    moved = travel.moved + travel.turned * box.extent
    strayed = travel.moved_in_tree + travel.turned_in_tree * box.extent
    if moved + adds <= box.due and strayed + adds <= box.due_in_tree:
        return box.reach, box.strays
    R, r = pose_at(hybrid.world, box.reduced_body)
    at = R @ box.c + r
    away = norm(at - box.at) + travel.turned * box.far
    relative = norm(in_root_frame(hybrid, box.reduced_body, at) - box.at_in_root) + travel.turned_in_tree * box.far
    box.due, box.due_in_tree = moved + box.reach - away, strayed + box.strays - relative
    adds = reach_of(hybrid, box.reduced_body, at, box.far, AHEAD * h, AHEAD * fall)
    return away + adds, relative + adds


@helper
def extend_box(hybrid, box, reach, strays):
    """Extends a box to the given reach, and `strays`: the reach relative to the root of its tree."""
    more, volume = reach - box.reach, volume_at(hybrid, box.item)
    out = Vec3(more, more, more)
    box.low, box.high = box.low - out, box.high + out
    box.due, box.due_in_tree = box.due + more, box.due_in_tree + strays - box.strays
    box.reach, volume.reach = reach, reach + norm(box.at - box.here)
    box.strays = volume.strays = strays
