"""Where a hybrid body touches the world, itself and others, or may within a step: of the pairs of shapes that are
listed [touching_pairs.py]."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_memory import PAIRS, touching_of
from supple.adaptive.touching_pairs import renew_list
from supple.assembly.poses import pose_at
from supple.contact.finding import AHEAD, add_limit, join_limit, meet, meet_flat, overlap_all, place_shape
from supple.contact.memory import Scene
from supple.contact.points import norm
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Motion
from supple.spatial.compiler import helper, kernel

LISTED, NOTING, NEAR = range(3)  #: which pairs are tried


@helper
def place_parts(hybrid):
    """Reduced bodies as the scene's, after without_joints with note."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    touching.tables.n = m.n
    for b in range(m.n):
        R, P = pose_at(hybrid.world, b + 1)
        V, body = hybrid.moves[b + 1], touching.scene.bodies[b]
        body.R, body.P, body.V = R, P, Motion(R @ V.w, R @ V.v)


@helper
def note_near(touching, pair, s, t):
    """A pair that may touch in the step, and its shapes."""
    touching.near[touching.n_near] = pair
    touching.n_near += 1
    for shape in (s, t):
        if touching.near_stamps[shape] != touching.near_stamp:
            touching.near_stamps[shape] = touching.near_stamp
            touching.near_shapes[touching.n_near_shapes] = shape
            touching.n_near_shapes += 1


@helper
def try_pair(scene, pair):
    """The touches of a pair, whose shapes are placed. Returns whether there are any."""
    n, shapes, before = scene.n_shapes, scene.shapes, scene.n
    s, t = pair // n, pair % n
    if t >= n - scene.n_flat:
        meet_flat(scene, s, t)
    elif overlap_all(shapes[s], shapes[t]):
        meet(scene, s, t)
    return scene.n > before


@kernel(
    types.void(HybridBody.type, Scene.type, types.float64, types.int64), "touches of listed pairs", effort=3, nogil=True
)
def try_pairs(hybrid, scene, h, which):
    """The touches within a step of length h, in a scene: of all listed pairs; of these, and those that have any are
    noted as near, with how far shapes may move; or of those that are near."""
    touching, fall = touching_of(hybrid), norm(hybrid.gravity) * h * h
    shapes, n = scene.shapes, scene.n_shapes
    if which == NEAR:
        for k in range(touching.n_near_shapes):
            place_shape(scene, shapes[touching.near_shapes[k]], h, fall)
        for k in range(touching.n_near):
            try_pair(scene, touching.near[k])
        return
    for k in range(touching.n_noted):
        s = touching.noted[k]
        place_shape(scene, shapes[s], h, fall)
        if which == NOTING:
            touching.reaches[s] = shapes[s].reach
    if which == NOTING:
        touching.n_near = touching.n_near_shapes = 0
        touching.near_stamp += 1
        touching.near_of = touching.stamp
    for k in range(touching.n_pairs):
        pair = touching.pairs[k]
        if try_pair(scene, pair) and which == NOTING:
            note_near(touching, pair, pair // n, pair % n)


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


@helper
def search_near(hybrid, h):
    """All touches for a time h to come, among the pairs that were near in the last search; bodies are placed where they
    have come since."""
    scene = touching_of(hybrid).scene
    scene.n = 0
    try_pairs(hybrid, scene, h, NEAR)
    search_limits(hybrid, h)


@kernel(types.void(HybridBody.type, types.int64, types.float64), "touches of the hybrid body", nogil=True)
def search_touches(hybrid, mask, h):
    """All touches within a step of length h; after without_joints with note, of the region with one of the flags in
    `mask`."""
    touching = touching_of(hybrid)
    scene = touching.scene
    scene.n = 0
    place_parts(hybrid)
    if renew_list(hybrid, mask, h):
        try_pairs(hybrid, scene, h, NOTING)
        search_limits(hybrid, h)
    else:
        scene.n = touching.n_pairs // PAIRS + 1  # more than there is room for
