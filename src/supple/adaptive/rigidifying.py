"""Joints that stop: nodes become rigid, and the others keep their momenta [AD section 5.4.2]."""

from __future__ import annotations

from numba import types

from supple.adaptive.articulated import rest_force
from supple.adaptive.hybrid_places import form_hybrid_body
from supple.adaptive.memory import CHOSEN, CURRENT, HELD, HOLD, UPDATE, HybridBody
from supple.adaptive.momenta import IMPULSE, MOMENTUM, project, velocities_of
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.regions import settle
from supple.adaptive.touching.volumes import settle_volume
from supple.assembly.tree import JOIN, LIGHT
from supple.model.joint_poses import DOF
from supple.spatial.compiler import kernel


@kernel(types.float64(HybridBody.type, types.int64), "nodes that become rigid", effort=5, nogil=True)
def become_rigid(hybrid, i):
    tree = hybrid.body.tree
    _, x = open_reduced(hybrid)
    kind = tree.kind[i]
    if kind in (JOIN, LIGHT):
        rest_force(hybrid, x, tree.item[i])
    settle(hybrid, i)
    if hybrid.has_touches:
        settle_volume(hybrid, i)
    return 0.0


@kernel(types.float64(HybridBody.type, types.int64), "rigidification", nogil=True)
def rigidify(hybrid, dropped):
    """Make the chosen region the active one, instead of the transient one [AD section 5.4.2]; dropped: some of its
    joints stop.

    AD solves for the impulses that stop them. The velocities after these impulses are those with which the remaining
    joints have the same momenta as before: one inward pass and one solution, O(active joints), instead of a matrix of
    impulses. Returns the smallest pivot.

    The kick was for the whole step, but the stopped joints do not move in its second half: forces have given them more
    energy than they do work along the way, by 1/2 h (H a - pushes and dampers, which are counted before) (v' - v'').
    """
    tree = hybrid.body.tree
    m, x = open_reduced(hybrid)
    before, more = 0.0, 0.0
    if dropped:
        before = 0.5 * project(hybrid, MOMENTUM)  # the kick has placed the bodies
        more = project(hybrid, IMPULSE)
    changed = False
    for k in range(hybrid.n_seen - 1, -1, -1):
        i = hybrid.seen[k]
        flags = hybrid.flags[i]
        chosen = (flags & CHOSEN) != 0
        if flags & CURRENT and not chosen:
            become_rigid(hybrid, i)
        changed = changed or chosen != ((flags & (CURRENT | UPDATE)) != 0) or (flags & HOLD) != 0
        hybrid.flags[i] = 0 if not chosen else CURRENT | HELD if flags & HOLD else CURRENT
    if not changed:
        return 1.0
    for b in range(m.n):
        if hybrid.flags[tree.node_of[hybrid.joints[b]]] != CURRENT:
            for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                x.v[k] = 0.0
            hybrid.dropped[hybrid.n_dropped] = hybrid.joints[b]
            hybrid.n_dropped += 1
    form_hybrid_body(hybrid, CURRENT)
    smallest = 1.0
    if dropped:
        after, smallest = velocities_of(hybrid)
        m, x = open_reduced(hybrid)
        for b in range(m.n):
            for k in range(m.bodies[b].iv, m.bodies[b].iv + DOF[m.bodies[b].kind]):
                more -= x.impulse[k] * x.v[k]
        hybrid.removed += before - after
        hybrid.stopped += before - after - 0.5 * hybrid.dt * more
    return smallest
