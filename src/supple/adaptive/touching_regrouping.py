"""Pairs that were listed, after some of the joints that were active have stopped, and nothing has moved since the last
search: the same, but for those that are rigidly connected now, with boxes and shapes on the reduced bodies that there
are. The ways of these begin anew."""

from __future__ import annotations

from supple.adaptive.touching_boxes import volume_at
from supple.adaptive.touching_memory import touching_of
from supple.adaptive.touching_places import note_shape, place_path, place_seen
from supple.adaptive.touching_spares import begin_shifts, list_pair, shapes_of, way_of
from supple.assembly.poses import pose_at
from supple.contact.points import norm
from supple.spatial.compiler import helper


@helper
def regroup_boxes(hybrid):
    """They may move by what is left of how far they might."""
    touching, n = touching_of(hybrid), hybrid.body.tree.n_nodes
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.item < 2 * n:
            node = box.item if box.item < n else box.item - n
            place_path(hybrid, node)
            S, s = pose_at(touching.within, node)
            R, r = pose_at(hybrid.world, touching.part[node])
            turned = touching.shifts[box.part - 1].turned if box.part > 0 else 0.0
            box.part, box.c = touching.part[node], S @ volume_at(hybrid, box.item).c + s
            at = R @ box.c + r
            box.reach -= norm(at - box.at) + turned * box.far
            box.at, box.out = at, norm(box.c) + box.far


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
    place_seen(hybrid)
    regroup_boxes(hybrid)
    begin_shifts(hybrid)
    touching.stamp += 1
    touching.n_noted = 0
    for k in range(touching.n_pairs):
        pair = touching.list[k]
        s, t = shapes_of(pair)
        regroup_shape(hybrid, s)
        regroup_shape(hybrid, t)
        if shapes[s].body != shapes[t].body:
            list_pair(touching, touching.list[n], s, t, pair.spare - way_of(touching, pair))
            n += 1
    touching.n_pairs, touching.listed = n, touching.formed
