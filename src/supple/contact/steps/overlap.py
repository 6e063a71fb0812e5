"""Removal of overlap, from positions only.

Shapes overlap because of motion of second order, beyond gap + h u_n, or because they did at the start. They are moved
apart by the smallest motion in the metric of H that satisfies J dq >= -gap, found by sweeps over the touches of an
island, with the rows of rows.py. Velocities, and so the kinetic energy, do not grow.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.response.deep_groups import enter_group, is_deep
from supple.contact.response.passes import begin_pass, finish_pass, push_bodies
from supple.contact.solvers.opening import DEEPEST, further, opened
from supple.contact.solvers.walking import walk
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, part

SWEEPS = 60  #: at most
ROUNDING = 1e-12  #: of the largest W of an island: smaller ones are treated as zero


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
def move_again(scene):
    """The motion of the present island, by the pushes of its touches."""
    if is_deep(scene):
        move_deep(scene)
        return
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        for i in range(touch.first, touch.first + touch.count):
            scene.total[scene.entries[i].dof] = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        for i in range(touch.first, touch.first + touch.count):
            scene.total[scene.entries[i].dof] += scene.entries[i].y.x * touch.push


@helper
def keep_small(scene):
    """Scales the motion of an island down if it moves a touch too far, to nothing if it is not finite: that of bodies
    that cannot be moved apart is arbitrary. Others move as they would without these."""
    farthest = 0.0
    for k in range(scene.low, scene.high):
        x = abs(opened(scene, touch_at(scene, k)))
        farthest = x if not x <= farthest else farthest  # also if it is no number
    if not farthest <= 2.0 * DEEPEST:
        for k in range(scene.low, scene.high):
            touch = touch_at(scene, k)
            touch.push = touch.push * (2.0 * DEEPEST / farthest) if farthest < 1e300 else 0.0
        move_again(scene)


@helper
def push_island(scene, h, allowed):
    """Sweeps over the touches of one island, until they converge."""
    least = 0.0
    for k in range(scene.low, scene.high):
        least = max(least, ROUNDING * touch_at(scene, k).W.xx)
    for _ in range(SWEEPS):
        if is_deep(scene):
            change = walk(scene, True, h, least)
            move_deep(scene)
        else:
            change = push_once(scene, h, least)
        if change < 0.1 * allowed:
            break
    keep_small(scene)


@helper
def push_apart(scene, h, allowed):
    """The smallest motion that removes overlap, in scene.total; add_changes converts it to dq. allowed: metres of
    overlap that are not removed. Islands are those that solve_touches found. Returns whether there is any motion."""
    deepest = 0.0
    for k in range(scene.n):
        scene.touches[k].push = 0.0
        deepest = max(deepest, -scene.touches[k].gap)
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
            push_island(scene, h, allowed)
    return True
