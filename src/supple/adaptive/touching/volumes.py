"""Bounding boxes of the nodes of a hybrid body [contact/geometry/volumes.py]: found when a node becomes rigid."""

from __future__ import annotations

from supple.assembly.poses import beyond_joint, pose_at, span_of
from supple.assembly.tree import LEAF, LIGHT, SUM
from supple.contact.geometry.volumes import both, nothing_in, with_turned
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import part


@part
def settle_volume(hybrid, i):
    """The bounding box of node i, in its own frame, from those of its children."""
    body, tree, volumes = hybrid.body, hybrid.body.tree, hybrid.volumes
    kind, j, l = tree.kind[i], tree.item[i], tree.left[i]
    zero = Vec3(0.0, 0.0, 0.0)
    c, h = zero, nothing_in()
    if kind == LEAF:
        c, h = hybrid.body_volumes[j].c, hybrid.body_volumes[j].h
        if l >= 0:
            c, h = both(c, h, volumes[l].c, volumes[l].h)
    elif kind == LIGHT:
        R, r = pose_at(tree.frames, j)
        R, r = beyond_joint(tree, j, body.q, R, r)
        c, h = with_turned(zero, nothing_in(), R, r, volumes[l].c, volumes[l].h)
    else:
        right = volumes[tree.right[i]]
        c, h = volumes[l].c, volumes[l].h
        if kind == SUM:
            c, h = both(c, h, right.c, right.h)
        else:
            R, r = span_of(body, l)
            R, r = beyond_joint(tree, j, body.q, R, r)
            c, h = with_turned(c, h, R, r, right.c, right.h)
    volumes[i].c, volumes[i].h, volumes[i].reach, volumes[i].strays = c, h, 0.0, 0.0
