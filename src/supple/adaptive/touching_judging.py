"""Whether a part of a step of a hybrid body may stand, by the rules of contact/judging.py: energies are those of the
reduced bodies, and overlap is looked for among the listed pairs of shapes [touching_pairs.py]. It costs
O(active joints + pairs)."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import CURRENT, HybridBody
from supple.adaptive.reduced import end_way, is_pushed, push_on
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching_boxes import reach_of
from supple.adaptive.touching_memory import PAIRS, touching_of
from supple.adaptive.touching_search import try_pairs
from supple.adaptive.touching_strays import renew_list
from supple.assembly.poses import pose_at
from supple.contact.finding import add_limit
from supple.contact.judging import deepest_of, work_of_joint
from supple.contact.landing import body_motions
from supple.integrating.push_law import END, end_parts, velocity_of
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper, kernel

NO_ROOM = -1.0  #: for touches where a part ends, or for pairs


# --- energy -----------------------------------------------------------------------------------------------------------


@helper
def energies(hybrid):
    """Of motion, and of gravity, of what moves; and its mass. Reduced bodies are placed [touching_search.py]."""
    m, x = open_reduced(hybrid)
    scene, potential, mass = touching_of(hybrid).scene, 0.0, 0.0
    for b in range(m.n):
        I = x.work.bodies[b].I
        potential -= dot(scene.bodies[b].P * I.m + I.h, m.gravity)
        mass += I.m
    return hybrid.kinetic, potential, mass


@helper
def work_of_pushes(hybrid, m, x, h):
    """As they were taken for the part, at velocities of its middle."""
    touching, work = touching_of(hybrid), 0.0
    scene = touching.scene
    body_motions(scene, x.work, touching.end)
    for b in range(m.n):
        if is_pushed(hybrid, b):
            R, X = pose_at(hybrid.world, b + 1)
            push, _, _ = push_on(hybrid, b + 1, R, X, hybrid.pushed[b + 1].now)
            work += h * (((scene.bodies[b].V + scene.motions[b].x) * 0.5) @ push)
    if hybrid.n_ends > 0:
        for k in range(hybrid.n_pushes):
            end = hybrid.reduced_pushes[k]
            if end.kind == END and end.body > 0:
                R, _ = pose_at(hybrid.world, end.body)
                way, rate = end_way(hybrid, end)
                pull, drag = end_parts(end, way, rate)
                mean = (scene.bodies[end.body - 1].V + scene.motions[end.body - 1].x) * 0.5
                work += h * dot(velocity_of(end, R, mean), pull + drag)
    return work


@kernel(types.float64(HybridBody.type, types.float64), "work of forces on the hybrid body", nogil=True)
def work_of_forces(hybrid, h):
    """W of a part of length h, whose velocities at the end have been found; armatures still include the slopes of the
    joints' forces."""
    m, x = open_reduced(hybrid)
    touching, armature, work = touching_of(hybrid), hybrid.body.tree.armature, 0.0
    for i in range(touching.scene.n_present):
        j = touching.scene.present[i]
        slopes = m.dofs[j].armature - armature[j]
        work += work_of_joint(x.drive[j], m.dofs[j].damping, slopes, x.v[j], touching.end[j], h)
    if hybrid.n_pushes > 0:
        work += work_of_pushes(hybrid, m, x, h)
    return work


# --- overlap ----------------------------------------------------------------------------------------------------------


@helper
def farthest_turn(touching, rate):
    """The largest rate of active joints with limits, m/s or rad/s."""
    scene, most = touching.scene, 0.0
    for i in range(scene.n_present):
        j = scene.present[i]
        if touching.limit_of[j] >= 0:
            most = max(most, abs(rate[j]))
    return most


@helper
def farthest_move(hybrid, h, enough):
    """How far anything with a shape, or a joint with limits, moved in a part of length h, at most; if that is more than
    `enough`, some of it."""
    touching, (_, x) = touching_of(hybrid), open_reduced(hybrid)
    most = h * farthest_turn(touching, x.v)
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.part > 0:
            R, r = pose_at(hybrid.world, box.part)
            most = max(most, reach_of(hybrid, box.part, R @ box.c + r, box.far, h, 0.0))
            if most > enough:
                break
    return most


@helper
def add_beyond(hybrid, ahead):
    """Limits that active joints are beyond."""
    touching, (_, x) = touching_of(hybrid), open_reduced(hybrid)
    for i in range(touching.scene.n_present):
        j = touching.scene.present[i]
        k = touching.limit_of[j]
        if k >= 0:
            at = x.q[touching.coordinate[k]]
            for side in range(2):
                gap = at - touching.lower[k] if side == 0 else touching.upper[k] - at
                if gap < 0.0:
                    add_limit(ahead, j, 1.0 if side == 0 else -1.0, gap, k, side)


@kernel(types.float64(HybridBody.type, types.float64), "overlap of the hybrid body", effort=2, nogil=True)
def too_deep(hybrid, horizon):
    """How deep the worst overlap is where a part ended, at which bodies are placed, among those that are larger than
    they may be: 0 if none is, NO_ROOM if there is no room to know. All touches within a time `horizon` to come are
    looked for, as the next part needs them."""
    touching = touching_of(hybrid)
    scene, ahead = touching.scene, touching.ahead
    ahead.n = 0
    if not renew_list(hybrid, CURRENT, horizon):
        scene.n = touching.n_pairs // PAIRS + 1
        return NO_ROOM
    try_pairs(hybrid, ahead, horizon)
    touching.n_foreseen = ahead.n
    add_beyond(hybrid, ahead)
    if ahead.n > ahead.capacity:
        scene.n = max(scene.n, ahead.n)
        return NO_ROOM
    touching.foreseen, touching.horizon = touching.formed, horizon
    return deepest_of(scene, ahead)


@helper
def depth_after(hybrid, h, horizon):
    """The same after a part of length h: nothing is searched for if nothing moved far enough."""
    enough = 0.5 * touching_of(hybrid).scene.allowed
    return too_deep(hybrid, horizon) if farthest_move(hybrid, h, enough) > enough else 0.0
