"""Pairs of shapes of a hybrid body that may touch in the next steps.

Boxes around all that is rigid [touching_boxes.py] are sorted along x and swept, in strips across y. Where one that
overlaps another is around many bodies, a search goes on along the assembly tree, down from pairs of nodes as long as
their own boxes are near each other [contact/volumes.py]. What is rigidly connected does not meet. So it costs O(active
log active + pairs log n), whatever rests.

Boxes are near each other if they may meet within several steps, and pairs are kept that long [Verlet 1967, who does
this for atoms], or until other joints are active. The few bodies that move farther than was expected meet others again
[touching_strays.py]. Pairs are in ascending order, so that the touches of a step do not depend on when they were
listed.
"""

from __future__ import annotations

from supple.adaptive.heapsort import sort_by
from supple.adaptive.radix_sort import sort_large
from supple.adaptive.touching_boxes import make_boxes, volume_at
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_places import note_shape, place_node, world_of
from supple.adaptive.touching_spares import begin_shifts, list_pair, spare_of
from supple.assembly.tree import LEAF, LIGHT
from supple.contact.finding import AHEAD, may_touch
from supple.contact.memory import PLANE
from supple.contact.points import norm
from supple.contact.volumes import are_apart, is_above, is_empty
from supple.spatial.algebra import Vec3, dot, z_axis
from supple.spatial.compiler import helper

KEPT, AFTER = 24, 4  #: steps that a list is meant for, at most, and after the next update
STRIPS, FEW = 64, 128  #: in which boxes are swept, at most; boxes in one, at least, on average


# --- what is listed ---------------------------------------------------------------------------------------------------


@helper
def reach_within(hybrid, s):
    """How far shape s may move until pairs are listed again."""
    touching = touching_of(hybrid)
    return hybrid.body_volumes[touching.homes[s].body].reach if touching.scene.shapes[s].body >= 0 else 0.0


@helper
def note_pair(hybrid, s, t):
    """Shapes s and t, if they may touch, and come near enough until pairs are listed again."""
    touching = touching_of(hybrid)
    scene, k = touching.scene, touching.n_pairs
    note_shape(hybrid, s)
    note_shape(hybrid, t)
    s, t = min(s, t), max(s, t)
    if not touching.strays and spare_of(scene, s, t) > reach_within(hybrid, s) + reach_within(hybrid, t):
        return
    if may_touch(scene, s, t, touching.homes[s].body, touching.homes[t].body):
        if k < touching.pair_room:
            touching.pairs[k] = s * scene.n_shapes + t
        touching.n_pairs = k + 1


@helper
def ways_of(hybrid, reach):
    """How far something with that reach may move from where it is: after a stray, it is no longer where pairs were
    listed."""
    return 2.0 * reach if touching_of(hybrid).strays else reach


@helper
def pass_on(hybrid, i):
    """The parts of a rigid node move at most as far as it does."""
    tree, volumes = hybrid.body.tree, hybrid.volumes
    l, r, reach = tree.left[i], tree.right[i], volumes[i].reach
    if tree.kind[i] == LEAF:
        hybrid.body_volumes[tree.item[i]].reach = reach
    elif r >= 0:
        volumes[r].reach = reach
    if l >= 0:
        volumes[l].reach = reach


# --- with the world ---------------------------------------------------------------------------------------------------


@helper
def is_far(hybrid, i, t):
    """Whether a node, or the body of a LEAF, is far from a shape of the world."""
    scene, volume, n = touching_of(hybrid).scene, volume_at(hybrid, i), hybrid.body.tree.n_nodes
    R, r = world_of(hybrid, i if i < n else i - n)
    shape = scene.shapes[t]
    out = ways_of(hybrid, volume.reach) + shape.margin + scene.length
    if shape.kind == PLANE:
        axis = z_axis(shape.X)
        return is_above(axis, dot(axis, shape.at), R, r, volume, out)
    if t >= scene.n_shapes - scene.n_flat:
        return False
    A, B = volume, hybrid.body_volumes[hybrid.body.tree.n]
    B.c, B.h = Vec3(0.0, 0.0, 0.0), shape.box
    return are_apart(R, r, A, shape.X, shape.at, B, out)


@helper
def search_world(hybrid, i, t):
    """What of a rigid node, or of the body of a LEAF, is near shape t of the world."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    n, stack, top = tree.n_nodes, touching.stack, 1
    stack[0] = i
    while top > 0:
        top -= 1
        i = stack[top]
        if i < n:
            place_node(hybrid, i)
        if is_empty(volume_at(hybrid, i).h) or is_far(hybrid, i, t):
            continue
        if i >= n:
            b = tree.item[i - n]
            for k in range(touching.shape_start[b], touching.shape_start[b + 1]):
                note_pair(hybrid, touching.shapes_on[k], t)
            continue
        pass_on(hybrid, i)
        kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
        if kind == LEAF:
            stack[top] = i + n
            top += 1
        elif kind != LIGHT:
            stack[top] = r
            top += 1
        if l >= 0:
            stack[top] = l
            top += 1


# --- with each other --------------------------------------------------------------------------------------------------


@helper
def add_pair(stack, top, i, j):
    stack[2 * top], stack[2 * top + 1] = i, j
    return top + 1


@helper
def with_parts(hybrid, top, i, j):
    """The pairs of j with the parts of node i."""
    tree, stack = hybrid.body.tree, touching_of(hybrid).stack
    kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
    pass_on(hybrid, i)
    if kind == LEAF:
        top = add_pair(stack, top, i + tree.n_nodes, j)
    elif kind != LIGHT:
        top = add_pair(stack, top, r, j)
    if l >= 0:
        top = add_pair(stack, top, l, j)
    return top


@helper
def note_pairs(hybrid, i, j):
    """Those of two bodies, given by their LEAFs."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    a, b = tree.item[i], tree.item[j]
    for k in range(touching.shape_start[a], touching.shape_start[a + 1]):
        for l in range(touching.shape_start[b], touching.shape_start[b + 1]):
            note_pair(hybrid, touching.shapes_on[k], touching.shapes_on[l])


@helper
def search_pairs(hybrid, i, j):
    """What of two rigid nodes, or bodies of LEAFs, is near each other."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    n, stack, top = tree.n_nodes, touching.stack, 0
    top = add_pair(stack, top, i, j)
    while top > 0:
        top -= 1
        i, j = stack[2 * top], stack[2 * top + 1]
        A, B = volume_at(hybrid, i), volume_at(hybrid, j)
        if is_empty(A.h) or is_empty(B.h):
            continue
        if i >= n and j >= n:
            note_pairs(hybrid, i - n, j - n)
            continue
        node, other = i if i < n else i - n, j if j < n else j - n
        place_node(hybrid, node)
        place_node(hybrid, other)
        R, r = world_of(hybrid, node)
        S, s = world_of(hybrid, other)
        if are_apart(R, r, A, S, s, B, ways_of(hybrid, A.reach + B.reach) + touching.scene.length):
            continue
        if j >= n or (i < n and dot(A.h, A.h) >= dot(B.h, B.h)):
            top = with_parts(hybrid, top, i, j)
        else:
            top = with_parts(hybrid, top, j, i)


# --- the list ---------------------------------------------------------------------------------------------------------


@helper
def meet_boxes(hybrid, A, B):
    """What of two boxes that overlap may touch."""
    n = hybrid.body.tree.n_nodes
    if A.part == B.part:
        return
    if A.item >= 2 * n:
        search_world(hybrid, B.item, A.item - 2 * n)
    elif B.item >= 2 * n:
        search_world(hybrid, A.item, B.item - 2 * n)
    elif A.item >= n and B.item >= n:
        note_pairs(hybrid, A.item - n, B.item - n)
    else:
        search_pairs(hybrid, A.item, B.item)


@helper
def meet_flats(hybrid, box):
    """What of a box may touch planes and height fields."""
    scene = touching_of(hybrid).scene
    for t in range(scene.n_shapes - scene.n_flat, scene.n_shapes):
        search_world(hybrid, box.item, t)


@helper
def order_boxes(touching):
    """Along x."""
    boxes, order, begins, sides, n = touching.boxes, touching.order, touching.begins, touching.sides, touching.n_boxes
    for k in range(n):
        order[k], begins[k] = k, boxes[k].low.x
    sort_by(order, begins, n)
    for k in range(n):
        sides[2 * k], sides[2 * k + 1] = boxes[order[k]].low.y, boxes[order[k]].high.y


@helper
def sweep_strip(hybrid, low, high):
    """Along x, those that reach into a strip across y: two that overlap meet in the strip in which the second one
    begins."""
    touching = touching_of(hybrid)
    boxes, order, begins, sides, inside = (
        touching.boxes, touching.order, touching.begins, touching.sides, touching.inside,
    )  # fmt: skip
    n = 0
    for k in range(touching.n_boxes):
        if sides[2 * k] < high and low <= sides[2 * k + 1]:
            inside[n] = k
            n += 1
    for i in range(n):
        k = inside[i]
        A = boxes[order[k]]
        end, first, last = A.high.x, A.low.y, A.high.y
        for j in range(i + 1, n):
            l = inside[j]
            if begins[l] > end:
                break
            if sides[2 * l] <= last and first <= sides[2 * l + 1] and low <= max(first, sides[2 * l]):
                B = boxes[order[l]]
                if A.low.z <= B.high.z and B.low.z <= A.high.z:
                    meet_boxes(hybrid, A, B)


@helper
def sweep_boxes(hybrid):
    """All of them, in strips that are twice as wide as boxes are on average."""
    touching = touching_of(hybrid)
    sides, n, width, low, high = touching.sides, touching.n_boxes, 0.0, 1e300, -1e300
    order_boxes(touching)
    for k in range(n):
        width += (sides[2 * k + 1] - sides[2 * k]) * 2.0 / n
        low, high = min(low, sides[2 * k]), max(high, sides[2 * k + 1])
    count = max(min(int((high - low) / max(width, 1e-300)), STRIPS, n // FEW), 1) if n > 0 else 0
    for s in range(count):
        begin = low + (high - low) * s / count if s > 0 else -1e300
        end = low + (high - low) * (s + 1) / count if s < count - 1 else 1e300
        sweep_strip(hybrid, begin, end)


@helper
def note_list(touching):
    """The pairs, in ascending order, and what they have to spare."""
    scene = touching.scene
    sort_large(touching.pairs, touching.spare, touching.counts, touching.n_pairs)
    for k in range(touching.n_pairs):
        s = touching.pairs[k] // scene.n_shapes
        t = touching.pairs[k] - s * scene.n_shapes
        list_pair(touching, touching.list[k], s, t, spare_of(scene, s, t))


@helper
def list_pairs(hybrid, mask, h):
    """Those that may touch while the present joints are active, of the region with one of the flags in `mask`."""
    touching = touching_of(hybrid)
    n = hybrid.body.tree.n_nodes
    ahead, g = min(KEPT, hybrid.every + AFTER) * hybrid.dt, norm(hybrid.gravity)
    touching.stamp += 1
    touching.n_pairs = touching.n_noted = touching.strays = 0
    begin_shifts(hybrid)
    make_boxes(hybrid, mask, max(AHEAD * h, ahead), g * max(AHEAD * h * h, ahead * ahead))
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.item < 2 * n and box.part > 0:
            meet_flats(hybrid, box)
    sweep_boxes(hybrid)
    if touching.n_pairs <= touching.pair_room:
        note_list(touching)
        touching.listed = touching.formed
    else:
        touching.listed = 0
