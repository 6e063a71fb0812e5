"""Where a hybrid body may touch the world, itself and others, along its assembly tree.

A search goes down from the last node, or from pairs of nodes, as long as their boxes [touching_places.py] are
near each other: a rigid node does not meet itself, nor one that is rigidly connected with it. So it costs
O(active + touches log n), whatever rests.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_places import renew_volumes
from supple.assembly.poses import beyond_joint, compose, pose_at, set_pose, span_of
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.contact.finding import AHEAD, add_limit, may_touch, meet, meet_flat
from supple.contact.memory import PLANE
from supple.contact.points import norm
from supple.contact.volumes import are_apart, is_above, is_empty
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion, Vec3, cross, dot, z_axis
from supple.spatial.compiler import helper, kernel


@helper
def place_node(hybrid, i):
    """The place of node i; that of the node above is known. Returns it, and its reduced body."""
    body, tree, touching = hybrid.body, hybrid.body.tree, touching_of(hybrid)
    if touching.stamps[i] != touching.stamp:
        up = tree.up[i]
        R, r = pose_at(touching.world, up)
        kind, j = tree.kind[up], tree.item[up]
        if kind == LIGHT or (kind == JOIN and tree.right[up] == i):
            S, s = pose_at(tree.frames, j)
            if kind == JOIN:
                S, s = span_of(body, tree.left[up])
            S, s = beyond_joint(tree, j, body.q, S, s)
            R, r = compose(R, r, S, s)
        set_pose(touching.world, i, R, r)
        touching.part[i], touching.stamps[i] = touching.part[up], touching.stamp
        hybrid.volumes[i].reach = hybrid.volumes[up].reach  # at least as large as its own
    R, r = pose_at(touching.world, i)
    return R, r, touching.part[i]


@helper
def place_on(hybrid, s, h, fall):
    """Where shape s is, on a body whose leaf is placed; and how far it may move."""
    touching = touching_of(hybrid)
    if touching.shape_stamps[s] == touching.stamp:
        return
    touching.shape_stamps[s] = touching.stamp
    home, shape = touching.homes[s], touching.scene.shapes[s]
    leaf = hybrid.body.tree.leaf_of[home.body]
    R, r = pose_at(touching.world, leaf)
    rb = touching.part[leaf]
    X, at, reach = R @ home.R, R @ home.p + r, 0.0
    if rb > 0:
        V = touching.scene.bodies[rb - 1].V
        speed = norm(V.lin + cross(V.ang, at - touching.scene.bodies[rb - 1].P)) + norm(V.ang) * norm(shape.box)
        reach = AHEAD * (h * speed + fall)
    shape.body, shape.X, shape.at, shape.reach = rb - 1, X, at, reach


@helper
def may_meet(hybrid, s, t):
    """Whether two shapes that are not rigidly connected may touch."""
    touching = touching_of(hybrid)
    return may_touch(touching.scene, s, t, touching.homes[s].body, touching.homes[t].body)


@helper
def is_rigid(hybrid, mask, i):
    return not hybrid.flags[i] & mask


@helper
def push_children(tree, stack, top, i):
    """A node's parts, to a stack: the left one is the next."""
    l, r = tree.left[i], tree.right[i]
    if r >= 0 and tree.kind[i] != LIGHT:
        stack[top] = r
        top += 1
    if l >= 0:
        stack[top] = l
        top += 1
    return top


@helper
def is_far(hybrid, i, R, r, t):
    """Whether node i, at R, r, is far from a shape of the world."""
    scene, volume = touching_of(hybrid).scene, hybrid.volumes[i]
    shape = scene.shapes[t]
    out = volume.reach + shape.margin + scene.length
    if shape.kind == PLANE:
        n = z_axis(shape.X)
        return is_above(n, dot(n, shape.at), R, r, volume, out)
    if t >= scene.n_shapes - scene.n_flat:
        return False
    A, B = volume, hybrid.body_volumes[hybrid.body.tree.n]
    B.c, B.h = Vec3(0.0, 0.0, 0.0), shape.box
    return are_apart(R, r, A, shape.X, shape.at, B, out)


@helper
def search_world(hybrid, mask, t, h, fall):
    """Touches of whatever moves with shape t of the world."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    scene, stack, top = touching.scene, touching.stack, 1
    flat = t >= scene.n_shapes - scene.n_flat
    stack[0] = tree.n_nodes - 1
    while top > 0:
        top -= 1
        i = stack[top]
        R, r, rb = place_node(hybrid, i)
        still = rb == 0 and is_rigid(hybrid, mask, i)
        if still or is_empty(hybrid.volumes[i].h) or is_far(hybrid, i, R, r, t):
            continue
        if tree.kind[i] == LEAF and rb > 0:
            b = tree.item[i]
            for k in range(touching.shape_start[b], touching.shape_start[b + 1]):
                s = touching.shapes_on[k]
                place_on(hybrid, s, h, fall)
                if may_meet(hybrid, s, t):
                    if flat:
                        meet_flat(scene, s, t)
                    else:
                        meet(scene, s, t)
        top = push_children(tree, stack, top, i)


@helper
def add_pair(stack, top, i, j):
    stack[2 * top], stack[2 * top + 1] = i, j
    return top + 1


@helper
def inside_pairs(hybrid, mask, top, i):
    """The pairs of parts of node i, which is not rigid. A number beyond those of nodes stands for the body of a LEAF
    alone."""
    tree, stack = hybrid.body.tree, touching_of(hybrid).stack
    kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
    if l >= 0:
        top = add_pair(stack, top, l, l)
        if kind == LEAF:
            top = add_pair(stack, top, i + tree.n_nodes, l)
        elif kind != LIGHT:
            top = add_pair(stack, top, r, r)
            top = add_pair(stack, top, l, r)
    return top


@helper
def with_parts(hybrid, top, i, j):
    """The pairs of node j with the parts of node i."""
    tree, stack = hybrid.body.tree, touching_of(hybrid).stack
    kind, l, r = tree.kind[i], tree.left[i], tree.right[i]
    if kind == LEAF:
        top = add_pair(stack, top, i + tree.n_nodes, j)
    if l >= 0:
        top = add_pair(stack, top, l, j)
    if r >= 0 and kind != LIGHT and kind != LEAF:
        top = add_pair(stack, top, r, j)
    return top


@helper
def volume_at(hybrid, i):
    """The box of a node, or of the body of a LEAF alone."""
    tree = hybrid.body.tree
    return hybrid.volumes[i] if i < tree.n_nodes else hybrid.body_volumes[tree.item[i - tree.n_nodes]]


@helper
def shapes_meet(hybrid, i, j, h, fall):
    """The touches of two bodies, given by their LEAFs."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    a, b = tree.item[i], tree.item[j]
    for k in range(touching.shape_start[a], touching.shape_start[a + 1]):
        for l in range(touching.shape_start[b], touching.shape_start[b + 1]):
            s, t = touching.shapes_on[k], touching.shapes_on[l]
            place_on(hybrid, s, h, fall)
            place_on(hybrid, t, h, fall)
            if may_meet(hybrid, s, t):
                meet(touching.scene, min(s, t), max(s, t))  # always the same way round


@helper
def search_pairs(hybrid, mask, h, fall):
    """Touches of bodies with each other."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    n, stack, top = tree.n_nodes, touching.stack, 0
    top = add_pair(stack, top, n - 1, n - 1)
    while top > 0:
        top -= 1
        i, j = stack[2 * top], stack[2 * top + 1]
        if i == j:
            if not is_rigid(hybrid, mask, i):
                top = inside_pairs(hybrid, mask, top, i)
            continue
        A, B = volume_at(hybrid, i), volume_at(hybrid, j)
        if is_empty(A.h) or is_empty(B.h):
            continue
        node, other = i if i < n else i - n, j if j < n else j - n
        R, r, a = place_node(hybrid, node)
        S, s, b = place_node(hybrid, other)
        whole = (i >= n or is_rigid(hybrid, mask, i)) and (j >= n or is_rigid(hybrid, mask, j))
        if whole and a == b:
            continue
        out = hybrid.volumes[node].reach + hybrid.volumes[other].reach + touching.scene.length
        if are_apart(R, r, A, S, s, B, out):
            continue
        if i >= n and j >= n:
            shapes_meet(hybrid, node, other, h, fall)
        elif j >= n or (i < n and dot(A.h, A.h) >= dot(B.h, B.h)):
            top = with_parts(hybrid, top, i, j)
        else:
            top = with_parts(hybrid, top, j, i)


@helper
def search_limits(hybrid, h):
    """Active joints near their limits."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            touching.owner[j] = b
            k = touching.limit_of[j]
            if k < 0:
                continue
            at, reach = x.q[touching.coordinate[k]], touching.scene.length + AHEAD * h * abs(x.v[j]) + h
            for side in range(2):
                gap = at - touching.lower[k] if side == 0 else touching.upper[k] - at
                if gap < reach:
                    add_limit(touching.scene, j, 1.0 if side == 0 else -1.0, gap, k, side)


@helper
def place_parts(hybrid):
    """Reduced bodies as the scene's, after without_joints with note."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    touching.tables.n = m.n
    for b in range(m.n):
        R, P = pose_at(hybrid.world, b + 1)
        V, body = hybrid.moves[b + 1], touching.scene.bodies[b]
        body.R, body.P, body.V = R, P, Motion(R @ V.w, R @ V.v)


@kernel(types.void(HybridBody.type, types.int64, types.float64), "touches of the hybrid body", effort=3, nogil=True)
def search_touches(hybrid, mask, h):
    """All touches within a step of length h; after without_joints with note, of the region with one of the flags in
    `mask`."""
    touching = touching_of(hybrid)
    scene = touching.scene
    fall = norm(hybrid.gravity) * h * h
    scene.n = 0
    place_parts(hybrid)
    renew_volumes(hybrid, mask, AHEAD * h, AHEAD * fall)
    for t in range(scene.n_shapes - scene.n_flat, scene.n_shapes):
        search_world(hybrid, mask, t, h, fall)
    for k in range(touching.n_fixed):
        search_world(hybrid, mask, touching.fixed[k], h, fall)
    search_pairs(hybrid, mask, h, fall)
    search_limits(hybrid, h)
