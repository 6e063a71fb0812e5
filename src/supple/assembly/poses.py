"""Poses between handles, and of bodies in the world, along the assembly tree [QS section 5.1].

A pose is R, r with x_outer = R x_inner + r. Each open stretch has a span: the frame of the joint that follows it,
relative to its top body. `world`: the pose of its top body (for LIGHT and SUM, of the body that carries them), valid
only for nodes for which it was computed.
"""

from __future__ import annotations

from supple.assembly.joints import identity, pose_of_joint
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper


@helper
def pose_at(poses, i):
    return poses[i].R, poses[i].r


@helper
def set_pose(poses, i, R, r):
    poses[i].R, poses[i].r = R, r


@helper
def compose(R, r, S, s):
    """The pose S, s inside R, r."""
    return R @ S, R @ s + r


@helper
def beyond_joint(tree, j, q, R, r):
    """The pose of the body of joint j, whose frame at zero position is R, r."""
    S, s = pose_of_joint(tree, j, q)
    return compose(R, r, S, s)


@helper
def span_of(body, i):
    """The frame of the joint after stretch i, relative to its top body."""
    tree = body.tree
    if tree.kind[i] == LEAF:
        return pose_at(tree.frames, tree.heavy[tree.item[i]])
    return pose_at(body.spans, i)


@helper
def renew_span(body, i):
    """The span of an open JOIN, from those of its parts."""
    tree = body.tree
    R, r = span_of(body, tree.left[i])
    R, r = beyond_joint(tree, tree.item[i], body.q, R, r)
    S, s = span_of(body, tree.right[i])
    R, r = compose(R, r, S, s)
    set_pose(body.spans, i, R, r)


@helper
def find_world(body, i, world):
    """`world` of node i, from that of the node above."""
    tree = body.tree
    up = tree.up[i]
    if up < 0:
        set_pose(world, i, identity(), Vec3(0.0, 0.0, 0.0))
        return
    R, r = pose_at(world, up)
    kind, j = tree.kind[up], tree.item[up]
    if kind == JOIN and tree.right[up] == i:
        S, s = span_of(body, tree.left[up])
        R, r = compose(R, r, S, s)
        R, r = beyond_joint(tree, j, body.q, R, r)
    elif kind == LIGHT:
        S, s = pose_at(tree.frames, j)
        R, r = compose(R, r, S, s)
        R, r = beyond_joint(tree, j, body.q, R, r)
    set_pose(world, i, R, r)
