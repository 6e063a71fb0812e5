"""The places of nodes and shapes of a hybrid body on its reduced bodies: the same as long as the same joints are
active."""

from __future__ import annotations

from supple.adaptive.touching_memory import touching_of
from supple.assembly.poses import beyond_joint, compose, pose_at, set_pose, span_of
from supple.assembly.tree import JOIN, LIGHT
from supple.contact.finding import place_shape
from supple.contact.points import norm
from supple.spatial.compiler import helper


@helper
def world_of(hybrid, i):
    """The place of node i in the world; on its reduced body it is known."""
    touching = touching_of(hybrid)
    R, r = pose_at(hybrid.world, touching.part[i])
    S, s = pose_at(touching.within, i)
    return compose(R, r, S, s)


@helper
def place_seen(hybrid):
    """The nodes of the region and its front."""
    touching = touching_of(hybrid)
    for k in range(hybrid.n_seen):
        i = hybrid.seen[k]
        R, r = pose_at(hybrid.piece_pose, i)
        set_pose(touching.within, i, R, r)
        touching.part[i], touching.stamps[i] = hybrid.piece[i], touching.formed


@helper
def place_node(hybrid, i):
    """Node i, where the node above is placed."""
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
    touching.part[i], touching.stamps[i] = touching.part[up], touching.formed


@helper
def place_path(hybrid, i):
    """Node i, and those above it as far as they are not placed."""
    tree, touching, n = hybrid.body.tree, touching_of(hybrid), 0
    while touching.stamps[i] != touching.formed:
        touching.stack[n] = i
        i, n = tree.up[i], n + 1
    for k in range(n - 1, -1, -1):
        place_node(hybrid, touching.stack[k])


@helper
def note_shape(hybrid, s):
    """Where shape s is on its reduced body; its leaf is placed."""
    touching = touching_of(hybrid)
    if touching.shape_stamps[s] == touching.stamp:
        return
    touching.shape_stamps[s] = touching.stamp
    home, shape = touching.homes[s], touching.scene.shapes[s]
    if home.body >= 0:
        leaf = hybrid.body.tree.leaf_of[home.body]
        R, r = pose_at(touching.within, leaf)
        shape.R, shape.p = compose(R, r, home.R, home.p)
        shape.body = touching.part[leaf] - 1
    noted = touching.noted[touching.n_noted]
    noted.shape, noted.body, noted.far = s, shape.body, norm(shape.p) + norm(shape.box)
    touching.n_noted += 1
    place_shape(touching.scene, shape, 0.0, 0.0)
