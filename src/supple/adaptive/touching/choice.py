"""The choice of active joints with contact: the active region update of adaptive dynamics [AD].

The contact forces of the previous step act on the articulated body as external forces. Velocities are those that the
transient hybrid body would have at the end of the step, with the current touches. Characters that sleep on other bodies
load them with the forces that they fell asleep with. Joints that are not chosen are
stopped, from the velocities that they have now. Then touches are found for the new hybrid body, and the step is taken,
which resolves the effect of stopping joints on contacts.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.choose import choose_active_region, find_update_region
from supple.adaptive.heapsort import sort
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.loop_units import ALL, choose_region, find_region
from supple.adaptive.memory import CURRENT, UPDATE, HybridBody
from supple.adaptive.reduced import without_joints
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.rigidifying import rigidify
from supple.adaptive.steps import accelerate_all, is_new
from supple.adaptive.touching.body_poses import place_bodies
from supple.adaptive.touching.halving import lacks_room
from supple.adaptive.touching.memory import touching_of
from supple.adaptive.touching.node_poses import place_path, place_region, world_pose
from supple.adaptive.touching.search import attach_touches, row_of
from supple.adaptive.touching.sleeping import find_sleepers, loaded_body
from supple.adaptive.touching.solution import solve_part
from supple.contact.memory import CONTACT
from supple.contact.outcomes import DONE, MORE_TOUCHES, SINGULAR
from supple.contact.steps.warm_start import recall
from supple.model.joint_poses import DOF
from supple.spatial.algebra import Force, cross
from supple.spatial.compiler import helper, kernel

ROUGH = 0.01  #: tolerance of contacts when the velocities are predicted by which joints are chosen


@helper
def add_path(hybrid, n, body):
    """Adds the nodes above a body, -1: none, to the first n `paths`. Returns how many there are."""
    tree = hybrid.body.tree
    i = tree.leaf_of[body] if body >= 0 else -1
    while i >= 0 and not hybrid.on_path[i]:
        hybrid.on_path[i] = 1
        hybrid.paths[n] = i
        n += 1
        i = tree.up[i]
    return n


@helper
def add_paths(hybrid):
    """Adds the nodes above bodies with contact forces to those above pushed bodies."""
    touching = touching_of(hybrid)
    n = hybrid.n_paths
    for k in range(touching.scene.n):
        touch = touching.scene.touches[k]
        for side in range(2):
            shape = touch.shape if side == 0 else touch.other
            n = add_path(hybrid, n, touching.homes[shape].body if touch.kind == CONTACT and touch.lam.x > 0.0 else -1)
    for k in range(touching.n_loads):
        n = add_path(hybrid, n, loaded_body(touching, touching.resting[k]))
    if n > hybrid.n_paths:
        sort(hybrid.paths, n)
    hybrid.n_paths = n


@helper
def force_at_touch(touch, scale):
    """The force on the first shape of a touch, `lam` times `scale`."""
    lam = touch.lam * scale
    return touch.n * lam.x + touch.t * lam.y + touch.s * lam.z


@helper
def load_of(touching, touch, body):
    """The force with which a sleeping character loads a body."""
    return force_at_touch(touch, 1.0 if touching.homes[touch.shape].body == body else -1.0)


@helper
def add_force(hybrid, body, point, force):
    """Adds a force at a point of a body, whose LEAF is placed, to those of contacts."""
    R, r = world_pose(hybrid, hybrid.body.tree.leaf_of[body])
    outer = hybrid.outer[hybrid.n_outer]
    outer.body, outer.f = body, Force(cross(point - r, force) @ R, force @ R)
    hybrid.n_outer += 1


@helper
def collect_forces(hybrid):
    """The forces of contacts on bodies; their impulses are those of a step."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    hybrid.n_outer = 0
    for k in range(touching.scene.n):
        touch = touching.scene.touches[k]
        if touch.kind != CONTACT or not touch.lam.x > 0.0:
            continue
        force = force_at_touch(touch, 1.0 / hybrid.dt)
        for side in range(2):
            b = touching.homes[touch.shape if side == 0 else touch.other].body
            if b >= 0:
                add_force(hybrid, b, touch.point, force if side == 0 else force * -1.0)
    if touching.n_loads > 0:
        place_region(hybrid)
    for k in range(touching.n_loads):
        touch = touching.resting[k]
        b = loaded_body(touching, touch)
        place_path(hybrid, tree.leaf_of[b])
        add_force(hybrid, b, touch.point, load_of(touching, touch, b))


@helper
def restore_paths(hybrid):
    """Undoes add_paths and collect_forces."""
    hybrid.n_outer = 0
    touching = touching_of(hybrid)
    for k in range(hybrid.n_paths):
        hybrid.on_path[hybrid.paths[k]] = 0
    for k in range(touching.n_own_paths):
        hybrid.paths[k] = touching.own_paths[k]
        hybrid.on_path[hybrid.paths[k]] = 1
    hybrid.n_paths = touching.n_own_paths


@helper
def swap_with_end(hybrid, m, x):
    """Exchanges the velocities with those at the end of a part."""
    end = touching_of(hybrid).end
    for b in range(m.n):
        for j in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
            x.v[j], end[j] = end[j], x.v[j]


@helper
def exclude_sleepers(hybrid):
    """Subtracts the free roots of sleeping characters from the numbers of joints that may move: these leave no budget
    to others. Returns the original numbers."""
    most, reached, asleep = hybrid.most, hybrid.most_reached, touching_of(hybrid).n_asleep
    if most < ALL:
        hybrid.most = most - asleep
        hybrid.most_reached = reached - asleep if reached == most else reached
    return most, reached


@helper
def find_transient(hybrid, h):
    """Forms the transient hybrid body: the active region and the acceleration update region. Returns DONE or
    SINGULAR."""
    touching = touching_of(hybrid)
    recall(touching.scene, h)
    find_sleepers(hybrid)
    add_paths(hybrid)
    collect_forces(hybrid)
    smallest = accelerate_all(hybrid)
    if not smallest > 0.0:
        restore_paths(hybrid)
        return SINGULAR
    most, reached = exclude_sleepers(hybrid)
    if hybrid.has_loops:
        find_region(hybrid)
        touching.formed += 1
    else:
        find_update_region(hybrid)
    hybrid.most, hybrid.most_reached = most, reached
    restore_paths(hybrid)
    if not hybrid.has_loops and is_new(hybrid):
        form_hybrid_body(hybrid, CURRENT | UPDATE)
        touching.formed += 1
    return DONE


@helper
def load_transient(hybrid):
    """The forces of sleeping characters on the transient hybrid body, after attach_touches: on reduced bodies, in the
    axes of the world."""
    touching, n = touching_of(hybrid), 0
    for k in range(touching.n_loads):
        touch = touching.resting[k]
        body = loaded_body(touching, touch)
        b = row_of(hybrid, touch.shape if touching.homes[touch.shape].body == body else touch.other)
        if b >= 0:
            force, outer = load_of(touching, touch, body), hybrid.outer[n]
            outer.body, outer.f = b, Force(cross(touch.point - touching.scene.bodies[b].P, force), force)
            n += 1
    hybrid.n_outer = n


@helper
def predict_end(hybrid, h):
    """Predicts the velocities of the transient hybrid body at the end of a step of length h, in `end`. Returns the
    outcome."""
    touching = touching_of(hybrid)
    scene, tolerance = touching.scene, touching.tolerance
    without_joints(hybrid, True, False, True)
    place_bodies(hybrid)
    attach_touches(hybrid, h)
    if scene.n > scene.capacity:
        return MORE_TOUCHES
    recall(scene, h)
    touching.tolerance, touching.before = max(tolerance, ROUGH), 0.0
    load_transient(hybrid)
    status = solve_part(hybrid, h, True, False)
    touching.tolerance, hybrid.n_outer = tolerance, 0
    return status


@kernel(types.int64(HybridBody.type, types.float64), "active region update with touches", effort=2, nogil=True)
def choose_joints(hybrid, h):
    """The active region update at the beginning of a step of length h, whose touches have been found. Returns DONE,
    SINGULAR, or that more memory is needed: then it is called again, and continues."""
    touching = touching_of(hybrid)
    if not touching.choosing:
        if find_transient(hybrid, h) != DONE:
            return SINGULAR
        touching.choosing = 1
    status = predict_end(hybrid, h)
    if lacks_room(status):
        return status
    touching.choosing = 0
    m, x = open_reduced(hybrid)
    if status == DONE:
        swap_with_end(hybrid, m, x)
    most, reached = exclude_sleepers(hybrid)
    count = choose_region(hybrid) if hybrid.has_loops else choose_active_region(hybrid)
    hybrid.most, hybrid.most_reached = most, reached
    if status == DONE:
        swap_with_end(hybrid, m, x)
    without_joints(hybrid, True, True, False)
    stopped, removed = hybrid.stopped, hybrid.removed
    smallest = rigidify(hybrid, count < m.n)
    hybrid.stopped = stopped + hybrid.removed - removed  # joints stop before the first part of the step
    touching.formed += 1
    return DONE if smallest > 0.0 else SINGULAR
