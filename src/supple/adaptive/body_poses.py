"""World poses of single bodies in quasi-statics: O(depth of the tree) each."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import QuasiStaticBody
from supple.assembly.joints import identity
from supple.assembly.poses import beyond_joint, compose, pose_at, span_of
from supple.assembly.tree import JOIN, LIGHT
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, kernel
from supple.spatial.rows import store_mat, store_vec


@helper
def climb(qs, b):
    """The world pose of body b, from its leaf up: O(depth)."""
    body, tree = qs.body, qs.body.tree
    i = tree.leaf_of[b]
    R, r = identity(), Vec3(0.0, 0.0, 0.0)
    while tree.up[i] >= 0:
        up = tree.up[i]
        kind, j = tree.kind[up], tree.item[up]
        if kind == JOIN and tree.right[up] == i:
            S, s = span_of(body, tree.left[up])
            S, s = beyond_joint(tree, j, body.q, S, s)
            R, r = compose(S, s, R, r)
        elif kind == LIGHT:
            S, s = pose_at(tree.frames, j)
            S, s = beyond_joint(tree, j, body.q, S, s)
            R, r = compose(S, s, R, r)
        i = up
    return R, r


@kernel(types.void(QuasiStaticBody.type, types.int64[::1], types.float64[:, ::1]), "quasi-statics, poses", nogil=True)
def poses_kernel(qs, bodies, out):
    """World poses of some bodies, twelve numbers each; modifies nothing else."""
    for x in range(bodies.shape[0]):
        R, r = climb(qs, bodies[x])
        store_mat(out, x, 0, R)
        store_vec(out, x, 9, r)
