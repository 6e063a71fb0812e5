"""Poses of nodes and shapes of a hybrid body in the frames of its reduced bodies: they change only with the active
joints."""

from __future__ import annotations

from supple.adaptive.touching.memory import touching_of
from supple.assembly.poses import beyond_joint, compose, pose_at, set_pose, span_of
from supple.assembly.tree import JOIN, LIGHT
from supple.contact.geometry.finding import place_shape
from supple.contact.geometry.points import norm
from supple.spatial.compiler import helper


@helper
def world_pose(hybrid, i):
    """The pose of node i in the world; the one in its reduced body is known."""
    touching = touching_of(hybrid)
    R, r = pose_at(hybrid.world, touching.reduced_body[i])
    S, s = pose_at(touching.within, i)
    return compose(R, r, S, s)


@helper
def place_region(hybrid):
    """Places the nodes of the region and its rigid front."""
    touching = touching_of(hybrid)
    for k in range(hybrid.n_seen):
        i = hybrid.seen[k]
        R, r = pose_at(hybrid.piece_pose, i)
        set_pose(touching.within, i, R, r)
        touching.reduced_body[i], touching.stamps[i] = hybrid.piece[i], touching.formed


@helper
def place_node(hybrid, i):
    """Places node i; its parent node is placed."""
    body, tree, touching = hybrid.body, hybrid.body.tree, touching_of(hybrid)
    if touching.stamps[i] == touching.formed:
        return
    up = tree.up[i]
    R, r = pose_at(touching.within, up)
    kind, j = tree.kind[up], tree.item[up]
    if kind == LIGHT or (kind == JOIN and tree.right[up] == i):
        S, s = pose_at(tree.frames, j)
        if kind == JOIN:
            S, s = span_of(body, tree.left[up])
        S, s = beyond_joint(tree, j, body.q, S, s)
        R, r = compose(R, r, S, s)
    set_pose(touching.within, i, R, r)
    touching.reduced_body[i], touching.stamps[i] = touching.reduced_body[up], touching.formed


@helper
def place_path(hybrid, i):
    """Places node i, and those above it that are not placed yet."""
    tree, touching, n = hybrid.body.tree, touching_of(hybrid), 0
    while touching.stamps[i] != touching.formed:
        touching.stack[n] = i
        i, n = tree.up[i], n + 1
    for k in range(n - 1, -1, -1):
        place_node(hybrid, touching.stack[k])


@helper
def list_shape(hybrid, s):
    """Adds shape s to the listed shapes, with its pose in its reduced body; its LEAF is placed."""
    touching = touching_of(hybrid)
    if touching.shape_stamps[s] == touching.stamp:
        return
    touching.shape_stamps[s] = touching.stamp
    home, shape = touching.homes[s], touching.scene.shapes[s]
    if home.body >= 0:
        leaf = hybrid.body.tree.leaf_of[home.body]
        R, r = pose_at(touching.within, leaf)
        shape.R, shape.p = compose(R, r, home.R, home.p)
        shape.body = touching.reduced_body[leaf] - 1
    listed = touching.listed_shapes[touching.n_listed_shapes]
    listed.shape, listed.body, listed.far = s, shape.body, norm(shape.p) + norm(shape.box)
    touching.n_listed_shapes += 1
    place_shape(touching.scene, shape, 0.0, 0.0)
