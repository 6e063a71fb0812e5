"""Removal of overlap, from positions only.

Shapes overlap because of motion of second order, beyond gap + h u_n, or because they did at the start. They are moved
apart by the smallest motion in the metric of H that satisfies J dq >= -gap, found by sweeps over the touches of an
island, with the rows of rows.py. Velocities, and so the kinetic energy, do not grow.
"""

from __future__ import annotations

from supple.contact.deep_groups import enter_group, is_deep
from supple.contact.islands import touch_at
from supple.contact.opening import DEEPEST, further, opened
from supple.contact.passes import begin_pass, finish_pass, push_bodies
from supple.contact.walking import walk
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, part

SWEEPS = 60  #: at most
ROUNDING = 1e-12  #: of the largest W: smaller ones are treated as zero


@helper
def keep_small(scene):
    """Scales the motion down if it moves a touch too far: that of bodies that cannot be moved apart is arbitrary.
    Returns whether it is finite."""
    largest = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        largest = max(largest, abs(opened(scene, touch)))
    if largest > 2.0 * DEEPEST:
        for i in range(scene.n_present):
            scene.total[scene.present[i]] *= 2.0 * DEEPEST / largest
    return largest < 1e300


@helper
def push_once(scene, h, least):
    """One sweep. Returns the largest motion."""
    change = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        more = further(scene, touch, h, least)
        touch.push += more
        change = max(change, abs(more) * touch.W.xx)
        for i in range(touch.first, touch.first + touch.count):
            scene.total[scene.entries[i].dof] += scene.entries[i].y.x * more
    return change


@part
def move_deep(scene):
    """The motion of a group of deep trees, by the pushes of touches."""
    begin_pass(scene)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        push_bodies(scene, touch, Vec3(touch.push, 0.0, 0.0))
    finish_pass(scene, scene.total)


@helper
def push_island(scene, h, allowed, least):
    """Sweeps over the touches of one island, until they converge."""
    for _ in range(SWEEPS):
        if is_deep(scene):
            change = walk(scene, True, h, least)
            move_deep(scene)
        else:
            change = push_once(scene, h, least)
        if change < 0.1 * allowed:
            break


@helper
def push_apart(scene, h, allowed):
    """The smallest motion that removes overlap, in scene.total; add_changes converts it to dq. allowed: metres of
    overlap that are not removed. Islands are those that solve_touches found. Returns whether there is any motion."""
    deepest, least = 0.0, 0.0
    for k in range(scene.n):
        scene.touches[k].push = 0.0
        deepest = max(deepest, -scene.touches[k].gap)
        least = max(least, ROUNDING * scene.touches[k].W.xx)
    if deepest <= allowed:
        return False
    for i in range(scene.n_present):
        scene.total[scene.present[i]] = 0.0
    scene.high = 0
    for island in range(scene.n_islands):
        scene.low, scene.high, deepest = scene.high, scene.ends[island], 0.0
        enter_group(scene)
        if is_deep(scene):
            move_deep(scene)
        for k in range(scene.low, scene.high):
            deepest = max(deepest, -touch_at(scene, k).gap)
        if deepest > allowed:
            push_island(scene, h, allowed, least)
    return keep_small(scene)
