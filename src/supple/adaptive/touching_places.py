"""The boxes of nodes of a hybrid body in every step: those of nodes with an active joint in them are renewed; others
stay as they are, and only the places of a few of them are found anew.
"""

from __future__ import annotations

from supple.adaptive.touching_memory import touching_of
from supple.assembly.poses import compose, pose_at, renew_span, set_pose
from supple.assembly.tree import JOIN, LEAF, LIGHT
from supple.contact.volumes import both, is_empty, nothing_in, with_turned
from supple.integrating.push_law import length
from supple.spatial.algebra import Vec3, cross, transpose
from supple.spatial.compiler import helper


@helper
def node_reach(hybrid, rb, R, r, volume, h, fall):
    """How far anything in a box on reduced body rb, whose frame is at R, r, may move in h; fall: by gravity."""
    reach = 0.0
    if rb > 0 and not is_empty(volume.h):
        body = touching_of(hybrid).scene.bodies[rb - 1]
        at = R @ volume.c + r - body.P
        speed = length(body.V.lin + cross(body.V.ang, at)) + length(body.V.ang) * length(volume.h)
        reach = h * speed + fall
    return reach


@helper
def place_seen(hybrid, i, rb):
    """The place of a node of the region or its front, from that of its reduced body."""
    touching = touching_of(hybrid)
    R, r = pose_at(hybrid.world, rb)
    S, s = pose_at(hybrid.piece_pose, i)
    R, r = compose(R, r, S, s)
    set_pose(touching.world, i, R, r)
    touching.part[i], touching.stamps[i] = rb, touching.stamp
    return R, r


@helper
def renew_volumes(hybrid, mask, h, fall):
    """Places of all nodes of the region and its front, and boxes of those of the region, children first."""
    body, tree, touching = hybrid.body, hybrid.body.tree, touching_of(hybrid)
    touching.stamp += 1
    for k in range(hybrid.n_seen - 1, -1, -1):
        i = hybrid.seen[k]
        rb = hybrid.piece[i]
        R, r = place_seen(hybrid, i, rb)
        volume = hybrid.volumes[i]
        if not hybrid.flags[i] & mask:
            volume.reach = node_reach(hybrid, rb, R, r, volume, h, fall)
            continue
        kind, j, l = tree.kind[i], tree.item[i], tree.left[i]
        left = hybrid.volumes[l]
        c, size, reach = left.c, left.h, left.reach
        if kind == LEAF:
            own = hybrid.body_volumes[j]
            own.reach = node_reach(hybrid, rb, R, r, own, h, fall)
            c, size = both(c, size, own.c, own.h)
            reach = max(reach, own.reach)
        elif kind == LIGHT:
            S, s = seen_from(touching, R, r, l)
            c, size = with_turned(Vec3(0.0, 0.0, 0.0), nothing_in(), S, s, c, size)
        else:
            right = hybrid.volumes[tree.right[i]]
            reach = max(reach, right.reach)
            if kind == JOIN:
                S, s = seen_from(touching, R, r, tree.right[i])
                c, size = with_turned(c, size, S, s, right.c, right.h)
                if tree.open[i]:
                    renew_span(body, i)
            else:
                c, size = both(c, size, right.c, right.h)
        volume.c, volume.h, volume.reach = c, size, reach


@helper
def seen_from(touching, R, r, i):
    """The place of node i in a frame at R, r."""
    S, s = pose_at(touching.world, i)
    T = transpose(R)
    return T @ S, T @ (s - r)
