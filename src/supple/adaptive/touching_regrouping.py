"""Pairs that were listed, after some of the joints that were active then have stopped, and nothing has moved: the same,
but for those that are rigidly connected now, with boxes and shapes on the reduced bodies that there are."""

from __future__ import annotations

from supple.adaptive.touching_boxes import volume_at
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_places import note_shape, place_path, place_seen
from supple.adaptive.touching_spares import are_kin, begin_shifts
from supple.assembly.poses import pose_at
from supple.contact.points import norm
from supple.spatial.compiler import helper


@helper
def regroup_boxes(hybrid):
    """They remain where they are."""
    touching, n = touching_of(hybrid), hybrid.body.tree.n_nodes
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.item < 2 * n:
            node = box.item if box.item < n else box.item - n
            place_path(hybrid, node)
            S, s = pose_at(touching.within, node)
            box.part, box.c = touching.part[node], S @ volume_at(hybrid, box.item).c + s
            box.out = norm(box.c) + box.far


@helper
def regroup_shape(hybrid, s):
    touching = touching_of(hybrid)
    body = touching.homes[s].body
    if body >= 0:
        place_path(hybrid, hybrid.body.tree.leaf_of[body])
    note_shape(hybrid, s)


@helper
def regroup_list(hybrid):
    touching, n = touching_of(hybrid), 0
    shapes = touching.scene.shapes
    begin_shifts(hybrid)
    place_seen(hybrid)
    regroup_boxes(hybrid)
    touching.stamp += 1
    touching.n_noted = 0
    for k in range(touching.n_pairs):
        pair = touching.list[k]
        regroup_shape(hybrid, pair.one)
        regroup_shape(hybrid, pair.two)
        if shapes[pair.one].body != shapes[pair.two].body:
            to = touching.list[n]
            to.one, to.two, to.kin, to.spare = pair.one, pair.two, are_kin(touching, pair.one, pair.two), pair.spare
            n += 1
    touching.n_pairs, touching.listed = n, touching.formed
