"""Whether a part of a step of a hybrid body is accepted, by the rules of contact/steps/judging.py: energies are those
of the reduced bodies, and overlap is searched for among the candidate pairs [pairs.py]. It costs O(active joints +
pairs)."""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import CURRENT, HybridBody
from supple.adaptive.reduced import end_way, is_pushed, push_on
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.body_poses import kinetic_energy
from supple.adaptive.touching.boxes import reach_of
from supple.adaptive.touching.memory import PAIRS, touching_of
from supple.adaptive.touching.neighbours import renew_list
from supple.adaptive.touching.search import add_near_limits, try_pairs
from supple.assembly.poses import pose_at
from supple.contact.geometry.points import norm
from supple.contact.steps.judging import deepest_of, outruns_search, work_of_joint
from supple.contact.steps.landing import body_motions
from supple.integrating.push_law import END, end_parts, velocity_of
from supple.spatial.algebra import dot
from supple.spatial.compiler import helper, kernel

NO_ROOM = -1.0  #: in place of a depth: there is not enough memory for touches or candidate pairs


# --- energy -----------------------------------------------------------------------------------------------------------


@helper
def energies_of(hybrid, first, last):
    """Kinetic and gravitational energy of reduced bodies `first` to `last`, which are placed
    [body_poses.py]."""
    m, x = open_reduced(hybrid)
    touching, kinetic, potential = touching_of(hybrid), 0.0, 0.0
    for b in range(first, last):
        I, body = x.work.bodies[b].I, touching.scene.bodies[b]
        kinetic += touching.kinetic[b] if hybrid.n_loop_rows == 0 else kinetic_energy(m, x.v, b, I, body.V)
        potential -= dot(body.P * I.m + I.h, m.gravity)
    return kinetic, potential


@helper
def energies(hybrid):
    """Kinetic and gravitational energy of all reduced bodies, and their total mass. The first is known since they were
    placed."""
    m, x = open_reduced(hybrid)
    scene, potential, mass = touching_of(hybrid).scene, 0.0, 0.0
    for b in range(m.n):
        I = x.work.bodies[b].I
        potential -= dot(scene.bodies[b].P * I.m + I.h, m.gravity)
        mass += I.m
    return hybrid.kinetic, potential, mass


@helper
def work_of_pushes(hybrid, m, x, h):
    """The work of pushes and springs in a part of length h, with the velocities for which their forces were found."""
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
    """W of a part of length h, by the velocities at its end. Armatures still include the slopes of joint forces."""
    m, x = open_reduced(hybrid)
    touching, armature, work = touching_of(hybrid), hybrid.body.tree.armature, 0.0
    for i in range(touching.scene.n_present):
        j = touching.scene.present[i]
        slopes = m.dofs[j].armature - armature[j]
        work += work_of_joint(x.drive[j], m.dofs[j].damping, slopes, x.v[j], touching.end[j], h)
    if hybrid.n_pushes > 0:
        work += work_of_pushes(hybrid, m, x, h)
    return work


# --- motion beyond the search range -----------------------------------------------------------------------------------


@helper
def is_faster(hybrid, h):
    """Whether any reduced body moved farther in a part of length h than the last search for touches assumed."""
    m, _ = open_reduced(hybrid)
    touching = touching_of(hybrid)
    slack, far, found = touching.scene.length, touching.farthest, False
    for b in range(m.n):
        V, travel = touching.scene.bodies[b].V, touching.travels[b]
        more = max(h * norm(V.lin) - travel.step_moved, 0.0) + max(h * norm(V.ang) - travel.step_turned, 0.0) * far
        found = found or not more <= slack
    return found


@helper
def leaves_box(touching, box, h, slack):
    """Whether what is in a box may have left it in a part of length h by more than `slack`, moving farther than was
    expected."""
    V, travel, far = touching.scene.bodies[box.reduced_body - 1].V, touching.travels[box.reduced_body - 1], box.extent
    adds, way = travel.step_moved + travel.step_turned * far, h * (norm(V.lin) + norm(V.ang) * far)
    moved, strayed = travel.moved + travel.turned * far, travel.moved_in_tree + travel.turned_in_tree * far
    return way > adds and not (moved + way <= box.due + slack and strayed + way <= box.due_in_tree + slack)


@kernel(types.int64(HybridBody.type, types.float64, types.float64), "motion of hybrid bodies beyond reach", nogil=True)
def outruns(hybrid, h, share):
    """Whether something moved farther in a part of length h than touches were searched for, as in
    contact/steps/judging.py: a shape of the neighbour list, by more than a share of its half thickness, or something
    else out of its box, by more than that of the thinnest shape."""
    if not is_faster(hybrid, h):
        return False
    touching = touching_of(hybrid)
    scene = touching.scene
    for k in range(touching.n_listed_shapes):
        listed = touching.listed_shapes[k]
        if listed.body >= 0:
            shape, searched = scene.shapes[listed.shape], touching.shape_step_travel[listed.shape] + scene.length
            turned = touching.travels[listed.body].step_turned * norm(shape.box)
            if outruns_search(scene.bodies[listed.body], shape, h, searched, turned, share):
                return True
    for k in range(touching.n_boxes):
        if touching.boxes[k].reduced_body > 0 and leaves_box(touching, touching.boxes[k], h, share * touching.thinnest):
            return True
    return False


# --- overlap ----------------------------------------------------------------------------------------------------------


@helper
def fastest_limited_joint(touching, rate):
    """The largest velocity of active joints with limits, in m/s or rad/s."""
    scene, most = touching.scene, 0.0
    for i in range(scene.n_present):
        j = scene.present[i]
        if touching.limit_of[j] >= 0:
            most = max(most, abs(rate[j]))
    return most


@helper
def farthest_move(hybrid, h, enough):
    """A bound on the motion of all points of shapes, and of joints with limits, in a part of length h; or any motion
    that is larger than `enough`."""
    touching, (_, x) = touching_of(hybrid), open_reduced(hybrid)
    most = h * fastest_limited_joint(touching, x.v)
    for k in range(touching.n_boxes):
        box = touching.boxes[k]
        if box.reduced_body > 0:
            R, r = pose_at(hybrid.world, box.reduced_body)
            most = max(most, reach_of(hybrid, box.reduced_body, R @ box.c + r, box.far, h, 0.0))
            if most > enough:
                break
    return most


@helper
def add_exceeded_limits(hybrid, ahead):
    """Adds the limits that active joints exceed to a scene."""
    touching, (_, x) = touching_of(hybrid), open_reduced(hybrid)
    for i in range(touching.scene.n_present):
        j = touching.scene.present[i]
        k = touching.limit_of[j]
        if k >= 0:
            add_near_limits(touching, ahead, x.q, j, k, 0.0)


@kernel(types.float64(HybridBody.type, types.float64), "overlap of the hybrid body", effort=2, nogil=True)
def too_deep(hybrid, horizon):
    """The largest overlap beyond what is allowed at the end of a part, where bodies are placed; 0 if there is none, and
    NO_ROOM if there is not enough memory. All touches that may close within a time `horizon` are found, because the
    next part needs them."""
    touching = touching_of(hybrid)
    scene, ahead = touching.scene, touching.ahead
    ahead.n = 0
    if not renew_list(hybrid, CURRENT, horizon):
        scene.n = touching.n_pairs // PAIRS + 1
        return NO_ROOM
    try_pairs(hybrid, ahead, horizon)
    touching.n_foreseen = ahead.n
    add_exceeded_limits(hybrid, ahead)
    if ahead.n > ahead.capacity:
        scene.n = max(scene.n, ahead.n)
        return NO_ROOM
    touching.foreseen, touching.horizon = touching.formed, horizon
    return deepest_of(scene, ahead)


@helper
def depth_after(hybrid, h, horizon):
    """The same after a part of length h; touches are searched for only if something moved far enough to overlap."""
    enough = 0.5 * touching_of(hybrid).scene.allowed
    return too_deep(hybrid, horizon) if farthest_move(hybrid, h, enough) > enough else 0.0
