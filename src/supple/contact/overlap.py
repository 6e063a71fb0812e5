"""Overlap, undone in positions alone.

Shapes overlap by what second-order motion adds to gap + h u_n, or because they began so. They are moved apart by the
least motion in the metric of H, J dq >= -gap, by sweeps over the touches of an island, with the rows of rows.py:
velocities, and so the energy of motion, do not grow.
"""

from __future__ import annotations

from supple.contact.equations import factorize_equations, find_pattern, solve_equations
from supple.contact.islands import touch_at
from supple.contact.newton import RHO, nothing
from supple.contact.passes import (
    answer_by_pass,
    begin_pass,
    enter_group,
    finish_pass,
    is_deep,
    push_bodies,
)
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper, part

SWEEPS, STEPS = 60, 20  #: at most
DEEPEST = 0.02  #: metres of overlap that are undone in one step, at most
STUCK = 1e-5  #: of W in all directions: touches with less along the normal cannot be moved apart
ROUNDING = 1e-12  #: of the largest W: less is none


@helper
def opened(scene, touch):
    """How far the motion opens a touch."""
    if touch.deep > 0:
        return answer_by_pass(scene, touch).x
    x = 0.0
    for i in range(touch.first, touch.first + touch.count):
        x += scene.entries[i].y.x * scene.total[scene.entries[i].dof]
    return x


@helper
def keep_small(scene):
    """Scale the motion against overlap so that it moves nothing too far: bodies that nothing can move apart would go
    anywhere. Returns whether it is a motion."""
    largest = 0.0
    for k in range(scene.n):
        touch = scene.touches[k]
        largest = max(largest, abs(opened(scene, touch)))
    if largest > 2.0 * DEEPEST:
        for i in range(scene.n_present):
            scene.total[scene.present[i]] *= 2.0 * DEEPEST / largest
    return largest < 1e300


@helper
def can_open(touch, least):
    return touch.W.xx > max(STUCK * (touch.W.xx + touch.W.yy + touch.W.zz), least)


@helper
def wanting(scene, touch, h):
    """What is left of its gap, if the motion is taken."""
    return max(touch.gap, -DEEPEST) + max(h * touch.u.x, 0.0) + opened(scene, touch)


@helper
def move_deep(scene):
    """The motion of a group of deep trees."""
    begin_pass(scene)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        push_bodies(scene, touch, Vec3(touch.push, 0.0, 0.0))
    finish_pass(scene, scene.total)


@part
def push_deep_island(scene, h, allowed, least):
    """The touches of an island of deep trees, by Newton's method [newton.py], until they hardly change."""
    move_deep(scene)
    change, zero = 0.0, Vec3(0.0, 0.0, 0.0)
    for k in range(scene.low, scene.high):
        change = max(change, -touch_at(scene, k).gap - allowed)
    if change <= 0.0 or not find_pattern(scene):
        return
    change = allowed
    for _ in range(STEPS):
        if change < 0.1 * allowed:
            break
        for k in range(scene.low, scene.high):
            touch = touch_at(scene, k)
            touch.f, touch.slope = nothing()
            if can_open(touch, least):
                r, stiff = wanting(scene, touch, h), 1.0 / (RHO * touch.W.xx)
                if touch.push > r / touch.W.xx:
                    touch.f, touch.slope = Vec3(-r * stiff, 0.0, 0.0), Mat3(Vec3(stiff, 0.0, 0.0), zero, zero)
                else:
                    touch.f = Vec3(-touch.push, 0.0, 0.0)
        factorize_equations(scene)
        solve_equations(scene)
        change = 0.0
        for k in range(scene.low, scene.high):
            touch = touch_at(scene, k)
            push = max(touch.push + touch.change.x, 0.0)
            change, touch.push = max(change, abs(push - touch.push) * touch.W.xx), push
        move_deep(scene)


@helper
def push_island(scene, h, allowed, least):
    """The touches of one island, until they hardly change."""
    for _ in range(SWEEPS):
        change = 0.0
        for k in range(scene.low, scene.high):
            touch = touch_at(scene, k)
            if can_open(touch, least):
                push = max(touch.push - wanting(scene, touch, h) / touch.W.xx, 0.0)
                more = push - touch.push
                touch.push = push
                change = max(change, abs(more) * touch.W.xx)
                for i in range(touch.first, touch.first + touch.count):
                    scene.total[scene.entries[i].dof] += scene.entries[i].y.x * more
        if change < 0.1 * allowed:
            break


@helper
def push_apart(scene, h, allowed):
    """The least motion that undoes overlap, in scene.total: dq is what add_changes makes of it. allowed: overlap, in
    metres, that is left alone. Islands are those that solve_touches has found. Returns whether there is any motion."""
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
        for k in range(scene.low, scene.high):
            deepest = max(deepest, -touch_at(scene, k).gap)
        enter_group(scene)
        if is_deep(scene):
            push_deep_island(scene, h, allowed, least)
        elif deepest > allowed:
            push_island(scene, h, allowed, least)
    return keep_small(scene)
