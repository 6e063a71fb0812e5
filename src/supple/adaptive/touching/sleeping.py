"""Sleeping characters: nothing of them moves, not even their free root, and they cost nothing.

A character is still if its speed, derived from its kinetic energy, has been below `still` for `patience` seconds, and
none of its reduced bodies has been faster than a few times that: small joints that become active, one after the other,
do not keep a heap of people awake. It falls asleep if it is also in balance, so that the forces that are kept are those
of rest. Characters in contact with each other, an island, fall asleep together, or not at all. A sleeping character is
part of the world: its contacts with the world, and with others that sleep, are kept with their forces, and are not
searched for. It wakes as soon as anything awake touches it, so that an island wakes as a whole; or if a force on it
changes.
"""

from __future__ import annotations

from numba import types

from supple.adaptive.memory import CURRENT, PASSES, PINNED, HybridBody
from supple.adaptive.reduced_tree import open_reduced
from supple.adaptive.touching.memory import touching_of
from supple.assembly.tree import LIGHT
from supple.contact.geometry.points import across, norm
from supple.contact.islands import set_of
from supple.contact.memory import CONTACT
from supple.spatial.algebra import Vec3, cross, dot
from supple.spatial.compiler import helper, kernel

RESTLESS = -1.0  #: in place of the time that a character has been still: it moves, or a force on it has changed
LIVELY = 10.0  #: times `still`: reduced bodies of a character that is still may be as fast
BALANCED = 0.1  #: of gravity: the largest acceleration of a character that falls asleep


@helper
def watch_motion(hybrid, h):
    """Updates how long characters have been still, from the first step at whose beginning they were, and whether they
    are in balance. h: the time since the last call. After without_joints with note."""
    m, x = open_reduced(hybrid)
    touching = touching_of(hybrid)
    limit = touching.still * touching.still
    for b in range(m.n):
        p = m.bodies[b].parent
        c = touching.root_of[hybrid.joints[b]] if p < 0 else touching.row_root[p]
        touching.row_root[b] = c
        if c >= 0:
            pace, Y, V = touching.paces[c], x.work.bodies[b].I, touching.scene.bodies[b].V
            if p < 0:
                touching.quiet[c] = 0.0 if touching.quiet[c] < 0.0 else touching.quiet[c] + h
                pace.mass, pace.twice_kinetic, pace.momentum = 0.0, 0.0, Vec3(0.0, 0.0, 0.0)
            twice = V @ (Y @ V)
            pace.mass += Y.m
            pace.twice_kinetic += twice
            pace.momentum += V.lin * Y.m + cross(V.ang, Y.h)
            if not LIVELY * LIVELY * limit * Y.m > twice:
                touching.quiet[c] = RESTLESS
    for b in range(m.n):
        c = touching.row_root[b]
        if c >= 0 and m.bodies[b].parent < 0:
            pace = touching.paces[c]
            if not limit * pace.mass > pace.twice_kinetic:
                touching.quiet[c] = RESTLESS
            change = norm(pace.momentum - pace.last)
            most = BALANCED * norm(hybrid.gravity) + touching.still / touching.patience
            pace.unbalanced = not change <= most * h * pace.mass
            pace.last = pace.momentum


@helper
def character(touching, shape):
    """The character that a shape belongs to, -1: none."""
    body = touching.homes[shape].body if shape >= 0 else -1
    return touching.root_of[body] if body >= 0 else -1


@helper
def meets_active(touching, touch):
    """The character of a touch whose other body is active and belongs to no character: it would wake it again. -1:
    none."""
    if touch.kind != CONTACT:
        return -1
    a, b = character(touching, touch.shape), character(touching, touch.other)
    return a if b < 0 <= touch.b else b if a < 0 <= touch.a else -1


@helper
def find_islands(touching):
    """Sets of characters that touch each other, or are tied: they fall asleep together."""
    scene, island = touching.scene, touching.island
    for c in range(touching.n_roots):
        island[c] = touching.tied[c] if touching.has_ties else c
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.kind == CONTACT:
            a, b = character(touching, touch.shape), character(touching, touch.other)
            if a >= 0 and b >= 0:
                island[set_of(island, a)] = set_of(island, b)


@helper
def find_restless(touching):
    """Islands that stay awake: those with a character that is not still, not in balance, or never sleeps, or that
    touches something active."""
    scene, island = touching.scene, touching.island
    for c in range(touching.n_roots):
        touching.restless[c] = 0
    for k in range(scene.n):
        c = meets_active(touching, scene.touches[k])
        if c >= 0:
            touching.restless[set_of(island, c)] = 1
    for c in range(touching.n_roots):
        awake = not touching.asleep[c]
        if awake and (touching.keeps_awake[c] or touching.paces[c].unbalanced or touching.quiet[c] < touching.patience):
            touching.restless[set_of(island, c)] = 1


@helper
def find_sleepers(hybrid):
    """Lets characters fall asleep that have been still long enough, with their whole island. Returns how many. Active
    bodies of no character, such as those of a robot fixed to the world, never sleep."""
    touching, found = touching_of(hybrid), 0
    if touching.still <= 0.0 or touching.n_asleep == touching.n_roots:
        return 0
    find_islands(touching)
    find_restless(touching)
    for c in range(touching.n_roots):
        if not (touching.asleep[c] or touching.restless[set_of(touching.island, c)]):
            fall_asleep(hybrid, c)
            found += 1
    if found > 0:
        keep_touches(touching)
    return found


@helper
def is_at_rest(touching, touch):
    """Whether a touch is between sleeping characters, or one of them and the world."""
    a, b = character(touching, touch.shape), character(touching, touch.other)
    return touch.kind == CONTACT and (a < 0 or touching.asleep[a]) and (b < 0 or touching.asleep[b])


@helper
def loaded_body(touching, touch):
    """The body that a sleeping character touches and that belongs to none, as the links of a robot fixed to the world.
    -1: none."""
    a, b = touching.homes[touch.shape].body, touching.homes[touch.other].body
    return a if a >= 0 and touching.root_of[a] < 0 else b if b >= 0 and touching.root_of[b] < 0 else -1


@helper
def keep_touches(touching):
    """Keeps the touches of characters that have just fallen asleep, with their forces, as they were in the last step;
    those that load other bodies come first. Where faces of shapes are equal, touches at the beginning of a step may
    have other keys than those of the step before: their forces would not be known."""
    scene = touching.scene
    for k in range(scene.n_exerted):
        touch = scene.exerted[k]
        one = character(touching, touch.shape) >= 0 or character(touching, touch.other) >= 0
        if one and is_at_rest(touching, touch):
            at = touching.n_resting
            if loaded_body(touching, touch) >= 0:
                copy_touch(touching.resting[at], touching.resting[touching.n_loads])
                at = touching.n_loads
                touching.n_loads += 1
            begin_rest(touching.resting[at], touch, 1.0 / touching.previous)
            touching.n_resting += 1


@helper
def begin_rest(to, touch, rate):
    """A touch with the force by which it acted in the last step. rate: one over its length."""
    to.kind, to.key, to.shape, to.other = touch.kind, touch.key, touch.shape, touch.other
    to.point, to.n, to.gap = touch.point, touch.n, touch.gap
    to.t, to.s = across(touch.n)
    to.lam = Vec3(dot(touch.impulse, to.n), dot(touch.impulse, to.t), dot(touch.impulse, to.s)) * rate


@helper
def copy_touch(to, touch):
    to.kind, to.key, to.shape, to.other = touch.kind, touch.key, touch.shape, touch.other
    to.point, to.n, to.t, to.s, to.gap, to.lam = touch.point, touch.n, touch.t, touch.s, touch.gap, touch.lam


@helper
def drop_touches(touching):
    """Drops the touches of characters that have just been woken; their forces are a warm start."""
    n, loads, scene = 0, 0, touching.scene
    for k in range(touching.n_resting):
        touch = touching.resting[k]
        if is_at_rest(touching, touch):
            copy_touch(touching.resting[n], touch)
            n += 1
            loads += 1 if k < touching.n_loads else 0
        else:
            known = scene.known[scene.n_known]
            known.key, known.lam = touch.key, touch.lam
            scene.n_known += 1
    touching.n_resting, touching.n_loads = n, loads


@helper
def fall_asleep(hybrid, c):
    """Marks character c as asleep: its root is no longer active."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    touching.asleep[c] = 1
    touching.n_asleep += 1
    i = tree.node_of[touching.roots[c]]
    hybrid.must[i], hybrid.asleep[i] = 0, 1
    up = tree.up[i]
    while up >= 0:
        l, r = tree.left[up], tree.right[up]
        hybrid.asleep[up] = hybrid.asleep[l] & hybrid.asleep[r]
        hybrid.must[up] = PASSES if hybrid.must[l] or hybrid.must[r] else 0
        up = tree.up[up]


@helper
def wake(hybrid, c):
    """Wakes character c, and those that are tied to it."""
    touching = touching_of(hybrid)
    if touching.has_ties:
        for k in range(touching.n_roots):
            if k != c and touching.asleep[k] and touching.tied[k] == touching.tied[c]:
                wake_one(hybrid, k)
    wake_one(hybrid, c)


@helper
def wake_one(hybrid, c):
    """Marks character c as awake: its root is active from now on, and joints are chosen in the next step."""
    tree, touching = hybrid.body.tree, touching_of(hybrid)
    touching.asleep[c] = 0
    touching.n_asleep -= 1
    touching.quiet[c] = RESTLESS
    i = tree.node_of[touching.roots[c]]
    hybrid.must[i] = PINNED
    while i >= 0:
        hybrid.asleep[i] = 0
        hybrid.flags[i] = CURRENT
        if tree.kind[i] != LIGHT:
            hybrid.must[i] = PASSES
        i = tree.up[i]
    hybrid.due = 0


@helper
def wake_touched(hybrid):
    """Wakes sleeping characters in contact with anything awake. Returns how many."""
    touching = touching_of(hybrid)
    scene, woken = touching.scene, 0
    if touching.n_asleep == 0:
        return 0
    for k in range(min(scene.n, scene.capacity)):
        touch = scene.touches[k]
        for side in range(2):
            c = character(touching, touch.shape if side == 0 else touch.other)
            if touch.kind == CONTACT and c >= 0 and touching.asleep[c]:
                wake(hybrid, c)
                woken += 1
    if woken > 0:
        drop_touches(touching)
    return woken


@kernel(types.void(HybridBody.type, types.int64), "characters that wake")
def wake_kernel(hybrid, c):
    """Wakes character c, or all if c is -1. The reduced tree has to be formed again afterwards."""
    touching = touching_of(hybrid)
    for k in range(touching.n_roots):
        if touching.asleep[k] and (c < 0 or k == c):
            wake(hybrid, k)
    drop_touches(touching)
