"""Where things are: poses between handles, and of bodies in the world, along the assembly tree [QS section 5.1].

A pose is R, r with x_outer = R x_inner + r, twelve numbers. Each open stretch keeps `spans`: where the joint that
follows it begins, seen from its top body. `world`: where its top body is (for LIGHT and SUM, the body they hang on),
kept only for the nodes for which it was asked.
"""

from __future__ import annotations

from supple.assembly.joints import pose_of_joint
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper
from supple.spatial.rows import set_vec


@helper
def load_pose(a, k):
    R = Mat3(
        Vec3(a[k], a[k + 1], a[k + 2]),
        Vec3(a[k + 3], a[k + 4], a[k + 5]),
        Vec3(a[k + 6], a[k + 7], a[k + 8]),
    )
    return R, Vec3(a[k + 9], a[k + 10], a[k + 11])


@helper
def store_pose(a, k, R, r):
    set_vec(a, k, R.r0)
    set_vec(a, k + 3, R.r1)
    set_vec(a, k + 6, R.r2)
    set_vec(a, k + 9, r)


@helper
def compose(R, r, S, s):
    """The pose S, s inside R, r."""
    return R @ S, R @ s + r


@helper
def beyond_joint(t, j, q, R, r):
    """The body of joint j, whose frame before it moves is R, r."""
    S, s = pose_of_joint(t, j, q)
    return compose(R, r, S, s)


@helper
def span_of(t, i, trees, spans):
    """Where the joint after stretch i begins, seen from its top body. trees: the constant poses of the joints."""
    if t.kind[i] == LEAF:
        return load_pose(trees, 12 * t.heavy[t.item[i]])
    return load_pose(spans, 12 * i)


@helper
def renew_span(t, i, q, trees, spans):
    """The span of a JOIN that is open, from those of its parts."""
    R, r = span_of(t, t.left[i], trees, spans)
    R, r = beyond_joint(t, t.item[i], q, R, r)
    S, s = span_of(t, t.right[i], trees, spans)
    R, r = compose(R, r, S, s)
    store_pose(spans, 12 * i, R, r)


@helper
def find_world(t, i, q, trees, spans, world):
    """`world` of node i, from that of the node above."""
    up = t.up[i]
    if up < 0:
        store_pose(
            world, 12 * i, Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)), Vec3(0.0, 0.0, 0.0)
        )
        return
    R, r = load_pose(world, 12 * up)
    kind, j = t.kind[up], t.item[up]
    if kind == JOIN and t.right[up] == i:
        S, s = span_of(t, t.left[up], trees, spans)
        R, r = compose(R, r, S, s)
        R, r = beyond_joint(t, j, q, R, r)
    elif kind == LIGHT:
        S, s = load_pose(trees, 12 * j)
        R, r = compose(R, r, S, s)
        R, r = beyond_joint(t, j, q, R, r)
    store_pose(world, 12 * i, R, r)
