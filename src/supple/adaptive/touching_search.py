"""Where a hybrid body touches the world, itself and others, or may within a step: of the pairs of shapes that are
listed [touching_pairs.py]."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_memory import PAIRS, touching_of
from supple.adaptive.touching_places import place_path, place_seen
from supple.adaptive.touching_placing import place_parts
from supple.adaptive.touching_spares import may_meet, renew_spare, shapes_of, shift_shapes
from supple.adaptive.touching_strays import renew_list
from supple.contact.finding import AHEAD, add_limit, join_limit, meet, meet_flat, overlap_all, place_shape
from supple.contact.memory import Scene
from supple.contact.points import copy_found, norm
from supple.model.joint_poses import DOF
from supple.spatial.compiler import helper, kernel


@helper
def try_pair(touching, scene, s, t, h, fall):
    """The touches of two shapes within a step of length h, in a scene. fall: by gravity. Returns whether there are
    any."""
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
    """The touches of listed pairs within a step of length h, in a scene; after renew_list for that step."""
    touching, fall = touching_of(hybrid), norm(hybrid.gravity) * h * h
    touching.searches += 1
    shift_shapes(touching)
    for k in range(touching.n_pairs):
        pair = touching.list[k]
        if may_meet(touching, pair):
            s, t = shapes_of(pair)
            if not try_pair(touching, scene, s, t, h, fall):
                renew_spare(touching, pair)


@helper
def search_limits(hybrid, h):
    """Active joints near their limits; and which degrees of freedom there are."""
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
            at, reach = x.q[touching.coordinate[k]], scene.length + AHEAD * h * abs(x.v[j]) + h
            for side in range(2):
                gap = at - touching.lower[k] if side == 0 else touching.upper[k] - at
                if gap < reach:
                    add_limit(scene, j, 1.0 if side == 0 else -1.0, gap, k, side)
    scene.n_present = n


@helper
def join_active_limits(hybrid, h):
    """Adds those of active joints that a part of length h runs into [contact/finding.py]. Returns whether there are
    any."""
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
    """All touches within a time h to come, of the region with one of the flags in `mask`; reduced bodies are placed."""
    touching = touching_of(hybrid)
    scene = touching.scene
    scene.n = 0
    if renew_list(hybrid, mask, h):
        try_pairs(hybrid, scene, h)
        touching.n_contacts = scene.n
        search_limits(hybrid, h)
    else:
        scene.n = touching.n_pairs // PAIRS + 1  # more than there is room for


@helper
def take_foreseen(hybrid, h):
    """The same, where a part ended, at which they have been looked for [touching_judging.py]."""
    touching = touching_of(hybrid)
    scene = touching.scene
    scene.n = touching.n_contacts = touching.n_foreseen
    for k in range(scene.n):
        copy_found(scene.touches[k], touching.ahead.touches[k])
    search_limits(hybrid, h)


@helper
def row_of(hybrid, shape):
    """The row of the reduced body that a shape is on, -1: the world."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    body = touching.homes[shape].body
    if body < 0:
        return -1
    place_path(hybrid, tree.leaf_of[body])
    return touching.part[tree.leaf_of[body]] - 1


@helper
def attach_touches(hybrid, h):
    """The touches that there are, on other reduced bodies, which are placed: the active joints have changed, but
    nothing has moved. Limits are those of a step of length h."""
    touching, n = touching_of(hybrid), 0
    touches = touching.scene.touches
    place_seen(hybrid)
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
    """The same as search_placed; after without_joints with note."""
    place_parts(hybrid)
    search_placed(hybrid, mask, h)
