"""Candidate pairs of two rigid nodes of the assembly tree, or of a node and a shape of the world.

The tree is a hierarchy of bounding boxes [contact/geometry/volumes.py]: the search descends from pairs of nodes as long
as their boxes may come close. An item is a node i, or the body of LEAF i alone, with the number n_nodes + i.
"""

from __future__ import annotations

from supple.adaptive.touching.boxes import volume_at
from supple.adaptive.touching.clearance import clearance_of, in_same_tree
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.node_poses import list_shape, place_node, world_pose
from supple.assembly.tree import LEAF, LIGHT
from supple.contact.geometry.finding import may_touch
from supple.contact.geometry.hills import distance_beyond
from supple.contact.geometry.volumes import are_apart, is_above, is_empty, mat_abs
from supple.contact.memory import PLANE
from supple.spatial.algebra import Vec3, dot, transpose, z_axis
from supple.spatial.compiler import helper

# --- candidates -------------------------------------------------------------------------------------------------------


@helper
def reach_within(hybrid, s, same_tree):
    """How far shape s may move while the list lasts; if same_tree, relative to the root of its tree."""
    touching, reach = touching_of(hybrid), 0.0
    if touching.scene.shapes[s].body >= 0:
        volume = hybrid.body_volumes[touching.homes[s].body]
        reach = volume.strays if same_tree else volume.reach
    return reach


@helper
def add_candidate(hybrid, s, t):
    """Adds shapes s and t, if they may touch, and may come close enough while the list lasts."""
    touching = touching_of(hybrid)
    scene, k = touching.scene, touching.n_pairs
    list_shape(hybrid, s)
    list_shape(hybrid, t)
    s, t = min(s, t), max(s, t)
    same_tree = in_same_tree(touching, scene.shapes[s].body, scene.shapes[t].body)
    reach = reach_within(hybrid, s, same_tree) + reach_within(hybrid, t, same_tree)
    if not touching.extending and clearance_of(scene, s, t) > reach:
        return
    if may_touch(scene, s, t, touching.homes[s].body, touching.homes[t].body):
        if k < touching.pair_room:
            touching.pairs[k] = s * scene.n_shapes + t
        touching.n_pairs = k + 1


@helper
def from_here(hybrid, reach):
    """How far something with this reach may move from where it is. If the list is being extended, that may be twice the
    reach: it is no longer where it was when the list was built."""
    return 2.0 * reach if touching_of(hybrid).extending else reach


@helper
def reach_between(hybrid, A, B, same_tree):
    """How far two boxes may approach each other."""
    return from_here(hybrid, A.strays + B.strays if same_tree else A.reach + B.reach)


@helper
def pass_reach_down(hybrid, i):
    """The children of a rigid node move at most as far as it does."""
    tree, volumes = hybrid.body.tree, hybrid.volumes
    l, r, reach, strays = tree.left[i], tree.right[i], volumes[i].reach, volumes[i].strays
    if tree.kind[i] == LEAF:
        hybrid.body_volumes[tree.item[i]].reach, hybrid.body_volumes[tree.item[i]].strays = reach, strays
    elif r >= 0:
        volumes[r].reach, volumes[r].strays = reach, strays
    if l >= 0:
        volumes[l].reach, volumes[l].strays = reach, strays


# --- with the world ---------------------------------------------------------------------------------------------------


@helper
def is_far(hybrid, i, t):
    """Whether item i is too far from shape t of the world to touch it."""
    scene, volume, n = touching_of(hybrid).scene, volume_at(hybrid, i), hybrid.body.tree.n_nodes
    R, r = world_pose(hybrid, i if i < n else i - n)
    shape = scene.shapes[t]
    out = from_here(hybrid, volume.reach) + shape.margin + scene.length
    if shape.kind == PLANE:
        axis = z_axis(shape.X)
        return is_above(axis, dot(axis, shape.at), R, r, volume, out)
    if t >= scene.n_shapes - scene.n_flat:
        size = mat_abs(transpose(shape.X) @ R) @ volume.h
        return distance_beyond(shape, transpose(shape.X) @ (R @ volume.c + r - shape.at), size) > out
    A, B = volume, hybrid.body_volumes[hybrid.body.tree.n]
    B.c, B.h = Vec3(0.0, 0.0, 0.0), shape.box
    return are_apart(R, r, A, shape.X, shape.at, B, out)


@helper
def search_world(hybrid, i, t):
    """Adds the candidate pairs of item i, which is rigid, with shape t of the world."""
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
                add_candidate(hybrid, touching.shapes_on[k], t)
            continue
        pass_reach_down(hybrid, i)
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


# --- between rigid nodes ----------------------------------------------------------------------------------------------


@helper
def push_pair(stack, top, i, j):
    stack[2 * top], stack[2 * top + 1] = i, j
    return top + 1


@helper
def push_children(hybrid, top, i, j):
    """Pushes the pairs of item j with the children of node i."""
    tree, stack = hybrid.body.tree, touching_of(hybrid).stack
    kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
    pass_reach_down(hybrid, i)
    if kind == LEAF:
        top = push_pair(stack, top, i + tree.n_nodes, j)
    elif kind != LIGHT:
        top = push_pair(stack, top, r, j)
    if l >= 0:
        top = push_pair(stack, top, l, j)
    return top


@helper
def add_candidates(hybrid, i, j):
    """Adds the candidate pairs of two bodies, given by their LEAFs."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    a, b = tree.item[i], tree.item[j]
    for k in range(touching.shape_start[a], touching.shape_start[a + 1]):
        for l in range(touching.shape_start[b], touching.shape_start[b + 1]):
            add_candidate(hybrid, touching.shapes_on[k], touching.shapes_on[l])


@helper
def search_pairs(hybrid, i, j, same_tree):
    """Adds the candidate pairs of items i and j, which are rigid. same_tree: whether they are of one reduced tree."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    n, stack, top = tree.n_nodes, touching.stack, 0
    top = push_pair(stack, top, i, j)
    while top > 0:
        top -= 1
        i, j = stack[2 * top], stack[2 * top + 1]
        A, B = volume_at(hybrid, i), volume_at(hybrid, j)
        if is_empty(A.h) or is_empty(B.h):
            continue
        if i >= n and j >= n:
            add_candidates(hybrid, i - n, j - n)
            continue
        node, other = i if i < n else i - n, j if j < n else j - n
        place_node(hybrid, node)
        place_node(hybrid, other)
        R, r = world_pose(hybrid, node)
        S, s = world_pose(hybrid, other)
        if are_apart(R, r, A, S, s, B, reach_between(hybrid, A, B, same_tree) + touching.scene.length):
            continue
        if j >= n or (i < n and dot(A.h, A.h) >= dot(B.h, B.h)):
            top = push_children(hybrid, top, i, j)
        else:
            top = push_children(hybrid, top, j, i)


# --- between boxes ----------------------------------------------------------------------------------------------------


@helper
def search_boxes(hybrid, A, B, same_tree):
    """Adds the candidate pairs of two boxes. same_tree: whether they are of one reduced tree."""
    n = hybrid.body.tree.n_nodes
    if A.item >= 2 * n:
        search_world(hybrid, B.item, A.item - 2 * n)
    elif B.item >= 2 * n:
        search_world(hybrid, A.item, B.item - 2 * n)
    elif A.item >= n and B.item >= n:
        add_candidates(hybrid, A.item - n, B.item - n)
    else:
        search_pairs(hybrid, A.item, B.item, same_tree)


@helper
def search_flats(hybrid, box):
    """Adds the candidate pairs of a box with planes and height fields."""
    scene = touching_of(hybrid).scene
    for t in range(scene.n_shapes - scene.n_flat, scene.n_shapes):
        search_world(hybrid, box.item, t)
