"""The narrow phase of a hybrid body: its touches now, and those that may close within a step, among the candidate pairs
of the neighbour list [pairs.py]."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.body_poses import place_bodies
from supple.adaptive.touching.clearance import may_meet, renew_clearance, shapes_of, update_shape_travel
from supple.adaptive.touching.memory import PAIRS, touching_of
from supple.adaptive.touching.neighbours import renew_list
from supple.adaptive.touching.node_poses import place_path, place_region
from supple.contact.geometry.finding import AHEAD, add_limit, join_limit, meet, meet_flat, overlap_all, place_shape
from supple.contact.geometry.points import copy_found, norm
from supple.contact.memory import Scene
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel


@helper
def try_pair(touching, scene, s, t, h, fall):
    """Adds the touches of shapes s and t that may close within a step of length h to a scene. fall: the distance that
    bodies fall in it. Returns whether there are any."""
    shapes, before = scene.shapes, scene.n
    for shape in (s, t):
        if touching.tried[shape] != touching.searches:
            touching.tried[shape] = touching.searches
            place_shape(scene, shapes[shape], h, fall)
    if t >= scene.n_shapes - scene.n_flat:
        meet_flat(scene, s, t)
    elif overlap_all(shapes[s], shapes[t]):
        meet(scene, s, t)
    return scene.n > before


@kernel(types.void(HybridBody.type, Scene.type, types.float64), "touches of listed pairs", effort=3, nogil=True)
def try_pairs(hybrid, scene, h):
    """Adds the touches of candidate pairs that may close within a step of length h to a scene; after renew_list for
    that step."""
    touching, fall = touching_of(hybrid), norm(hybrid.gravity) * h * h
    touching.searches += 1
    update_shape_travel(touching)
    for k in range(touching.n_pairs):
        pair = touching.list[k]
        if may_meet(touching, pair):
            s, t = shapes_of(pair)
            if not try_pair(touching, scene, s, t, h, fall):
                renew_clearance(touching, pair)


@helper
def add_near_limits(touching, scene, q, j, k, reach):
    """Adds the limits of degree of freedom j, which are row k of all, that are nearer than `reach` to a scene."""
    at = q[touching.coordinate[k]]
    for side in range(2):
        gap = at - touching.lower[k] if side == 0 else touching.upper[k] - at
        if gap < reach:
            add_limit(scene, j, 1.0 if side == 0 else -1.0, gap, k, side)


@helper
def search_limits(hybrid, h):
    """Adds active joints that may reach their limits within h; and numbers the active degrees of freedom."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    scene, n = touching.scene, 0
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            touching.owner[j], scene.present[n] = b, j
            n += 1
            k = touching.limit_of[j]
            if k < 0:
                continue
            add_near_limits(touching, scene, x.q, j, k, scene.length + AHEAD * h * abs(x.v[j]) + h)
    scene.n_present = n


@helper
def join_active_limits(hybrid, h):
    """Adds the limits of active joints that a part of length h would exceed [contact/geometry/finding.py]. Returns
    whether there are any."""
    touching, found = touching_of(hybrid), False
    scene, (_, x) = touching.scene, open_reduced(hybrid)
    for i in range(scene.n_present):
        j = scene.present[i]
        k = touching.limit_of[j]
        if k >= 0:
            at, lower, upper = x.q[touching.coordinate[k]], touching.lower[k], touching.upper[k]
            found = join_limit(scene, j, at, lower, upper, touching.end[j], k, h) or found
    return found


@kernel(types.void(HybridBody.type, types.int64, types.float64), "touches of placed bodies", nogil=True)
def search_placed(hybrid, mask, h):
    """Finds all touches that may close within a time h, where reduced bodies are placed. mask: a flag of the region."""
    touching = touching_of(hybrid)
    scene = touching.scene
    scene.n = 0
    if renew_list(hybrid, mask, h):
        try_pairs(hybrid, scene, h)
        touching.n_contacts = scene.n
        search_limits(hybrid, h)
    else:
        scene.n = touching.n_pairs // PAIRS + 1  # more than there is memory for


@helper
def take_foreseen(hybrid, h):
    """The same where a part ended: contacts have been found when it was judged [judging.py]."""
    touching = touching_of(hybrid)
    scene = touching.scene
    scene.n = touching.n_contacts = touching.n_foreseen
    for k in range(scene.n):
        copy_found(scene.touches[k], touching.ahead.touches[k])
    search_limits(hybrid, h)


@helper
def row_of(hybrid, shape):
    """The reduced body that a shape is on, counted from 0; -1: the world."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    body = touching.homes[shape].body
    if body < 0:
        return -1
    place_path(hybrid, tree.leaf_of[body])
    return touching.reduced_body[tree.leaf_of[body]] - 1


@helper
def attach_touches(hybrid, h):
    """Moves the present contacts to new reduced bodies, which are placed: the active joints have changed, but nothing
    has moved. Contacts within one reduced body are dropped. Limits are those of a step of length h."""
    touching, n = touching_of(hybrid), 0
    touches = touching.scene.touches
    place_region(hybrid)
    for k in range(touching.n_contacts):
        touch = touches[k]
        a, b = row_of(hybrid, touch.shape), row_of(hybrid, touch.other)
        if a != b:
            copy_found(touches[n], touch)
            touches[n].a, touches[n].b = a, b
            n += 1
    touching.scene.n = touching.n_contacts = n
    search_limits(hybrid, h)


@kernel(types.void(HybridBody.type, types.int64, types.float64), "touches of the hybrid body", nogil=True)
def search_touches(hybrid, mask, h):
    """Places reduced bodies and finds touches, as search_placed; after without_joints with note."""
    place_bodies(hybrid)
    search_placed(hybrid, mask, h)
