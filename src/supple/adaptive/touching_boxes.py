"""Boxes around all that is rigid in a hybrid body, along the world's axes, so that they can be swept
[touching_pairs.py]: around every body of a piece that has few of them with shapes, around other pieces as a whole; and
around what of the world is not flat.

Boxes include how far they may move within several steps. They hold until something has moved farther than that; then
its box is extended. How far they may move relative to the first body of their tree is known besides: what falls as a
whole comes no nearer to itself.
"""

from __future__ import annotations

from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_places import place_node, place_seen
from supple.assembly.poses import pose_at
from supple.assembly.tree import LEAF, LIGHT
from supple.contact.finding import AHEAD
from supple.contact.points import norm
from supple.contact.volumes import is_empty, mat_abs
from supple.spatial.algebra import Vec3, cross
from supple.spatial.compiler import helper

FEW = 32  #: bodies with shapes


@helper
def volume_at(hybrid, i):
    """The box of a node, or of the body of a LEAF alone: that has a number beyond those of nodes."""
    tree = hybrid.body.tree
    return hybrid.volumes[i] if i < tree.n_nodes else hybrid.body_volumes[tree.item[i - tree.n_nodes]]


@helper
def reach_of(hybrid, rb, at, far, h, fall):
    """How far anything within `far` of a point of reduced body rb may move in h; fall: by gravity."""
    reach = 0.0
    if rb > 0:
        body = touching_of(hybrid).scene.bodies[rb - 1]
        reach = h * (norm(body.V.lin + cross(body.V.ang, at - body.P)) + norm(body.V.ang) * far) + fall
    return reach


@helper
def strays_of(hybrid, rb, at, far, h):
    """How far anything within `far` of a point of reduced body rb may move in h relative to the first one of its
    tree."""
    touching, strays = touching_of(hybrid), 0.0
    if rb > 0:
        body = touching.scene.bodies[rb - 1]
        first = touching.scene.bodies[touching.shifts[rb - 1].first]
        lin = body.V.lin + cross(body.V.ang, at - body.P) - first.V.lin - cross(first.V.ang, at - first.P)
        strays = h * (norm(lin) + norm(body.V.ang - first.V.ang) * far)
    return strays


@helper
def on_first(hybrid, rb, at):
    """A point, as the first reduced body of a tree has it."""
    touching = touching_of(hybrid)
    first = touching.scene.bodies[touching.shifts[rb - 1].first]
    return (at - first.P) @ first.R


@helper
def add_box(hybrid, i, h, fall, step):
    """Around node i, or the body of a LEAF, which is placed."""
    tree, touching, volume = hybrid.body.tree, touching_of(hybrid), volume_at(hybrid, i)
    node = i if i < tree.n_nodes else i - tree.n_nodes
    rb = touching.part[node]
    S, s = pose_at(touching.within, node)
    R, r = pose_at(hybrid.world, rb)
    box = touching.boxes[touching.n_boxes]
    box.item, box.part = i, rb
    box.c, box.far = S @ volume.c + s, norm(volume.h)
    box.at, box.out = R @ box.c + r, norm(box.c) + box.far
    box.reach = volume.reach = reach_of(hybrid, rb, box.at, box.far, h, fall)
    box.strays = volume.strays = 0.0
    if rb > 0:
        box.at_on, ahead = (
            on_first(hybrid, rb, box.at),
            reach_of(hybrid, rb, box.at, box.far, AHEAD * step, fall),
        )
        box.strays = volume.strays = strays_of(hybrid, rb, box.at, box.far, h) + ahead
    out = box.reach + touching.scene.length
    size = mat_abs(R @ S) @ volume.h + Vec3(out, out, out)
    box.low, box.high = box.at - size, box.at + size
    touching.n_boxes += 1


@helper
def add_bodies(hybrid, i, h, fall, step):
    """Around every body with shapes of the rigid node i, which is placed."""
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
    """Around what of the world is not flat."""
    touching, n = touching_of(hybrid), hybrid.body.tree.n_nodes
    for k in range(touching.n_fixed):
        t = touching.fixed[k]
        shape, box = touching.scene.shapes[t], touching.boxes[touching.n_boxes]
        box.item, box.part, box.reach, box.strays, box.far, box.at = 2 * n + t, 0, 0.0, 0.0, 0.0, shape.at
        out = shape.margin + touching.scene.length
        size = mat_abs(shape.X) @ shape.box + Vec3(out, out, out)
        box.low, box.high = box.at - size, box.at + size
        touching.n_boxes += 1


@helper
def make_boxes(hybrid, mask, h, fall, step):
    """All of them, with how far they may move in h; step: the length of one."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    touching.n_boxes = 0
    place_seen(hybrid)
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
def ways_of(hybrid, box, h, fall):
    """How far a box has to reach, and to stray, so that nothing has left it, nor may within a step of length h; what it
    does, if that is surely enough. fall: by gravity. After shift_bodies for the same step; where that does not tell, by
    the middle of the box."""
    shift = touching_of(hybrid).shifts[box.part - 1]
    adds = shift.moves + shift.turns * box.out
    moved, strayed = shift.moved + shift.turned * box.out + adds, shift.strayed + shift.twisted * box.out + adds
    if moved <= box.reach and strayed <= box.strays:
        return box.reach, box.strays
    R, r = pose_at(hybrid.world, box.part)
    at = R @ box.c + r
    adds = reach_of(hybrid, box.part, at, box.far, AHEAD * h, AHEAD * fall)
    moved = norm(at - box.at) + shift.turned * box.far + adds
    return moved, norm(on_first(hybrid, box.part, at) - box.at_on) + shift.twisted * box.far + adds


@helper
def extend_box(hybrid, box, reach, strays):
    """Let a box reach and stray so far."""
    more, volume = reach - box.reach, volume_at(hybrid, box.item)
    out = Vec3(more, more, more)
    box.low, box.high = box.low - out, box.high + out
    box.reach = volume.reach = reach
    box.strays = volume.strays = strays
