"""The places of nodes of a hybrid body on its reduced bodies: the same as long as the same joints are active."""

from __future__ import annotations

from supple.adaptive.touching_memory import touching_of
from supple.assembly.poses import beyond_joint, compose, pose_at, set_pose, span_of
from supple.assembly.tree import JOIN, LIGHT
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
