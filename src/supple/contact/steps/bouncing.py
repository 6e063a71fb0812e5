"""Restitution within a step: when the next touch closes, and the impacts where a part begins.

A touch with restitution that closes ends a part of a step. impacts.py solves the impacts at that instant, from rows
that exist already: those of the model in exact runs, those of the active joints in adaptive dynamics.
"""

from __future__ import annotations

import math

from supple.contact.geometry.points import norm
from supple.contact.islands import find_islands, touch_at
from supple.contact.outcomes import DONE, MORE_EQUATIONS, UNSOLVED
from supple.contact.response.rows import add_changes
from supple.contact.solvers.impacts import CLOSED, bounce_all
from supple.contact.steps.judging import share_of_bounce
from supple.contact.steps.landing import SLOWEST, body_motions, relative_speed
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper

STRIKES_MOST = 40  #: rounds of impacts in a step, after which nothing bounces in it


@helper
def until_strike(scene, h, before, slowest):
    """The time until the first touch with restitution closes, in a part of length h whose forces act after the time
    `before`: gap + u t + (1 - before/h) a t^2 = 0; h if none does. The gap is that at the beginning of the part, which
    is only known to first order unless forces act there."""
    soonest = h
    for k in range(scene.n):
        touch = scene.touches[k]
        gap = max(touch.gap - before * touch.before.x, 0.0)
        if touch.restitution > 0.0 and (gap > CLOSED * scene.length or before > 0.0):
            u, a = touch.before.x, (touch.free.x - touch.before.x) / h
            root = u * u - 4.0 * (1.0 - before / h) * a * gap
            if root >= 0.0:
                t = 2.0 * gap / (math.sqrt(root) - u) if math.sqrt(root) > u else 2.0 * h
                if t < soonest and u + a * t < -slowest:
                    soonest = t
    return soonest


@helper
def may_bounce(scene, bounces):
    """Whether a closed touch has restitution, and may bounce. Resets the impulses of impacts."""
    possible = False
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.struck = Vec3(0.0, 0.0, 0.0)
        possible = possible or (touch.restitution > 0.0 and touch.gap <= CLOSED * scene.length)
    return possible and bounces < STRIKES_MOST


@helper
def share_speeds(scene):
    """Gives all touches of an island the speed of the fastest: bounces pass velocities on from touch to touch."""
    low = 0
    for island in range(find_islands(scene)):
        high, fastest = scene.ends[island], 0.0
        for k in range(low, high):
            fastest = max(fastest, touch_at(scene, k).speed)
        for k in range(low, high):
            touch = touch_at(scene, k)
            touch.speed = fastest
        low = high


@helper
def bounce_here(scene, landing, m, work, v):
    """Impacts at this instant, by rows that have been made: v is changed if there are any. landing: settings and
    statistics. Returns the outcome."""
    body_motions(scene, work, v)
    for k in range(scene.n):
        touch = scene.touches[k]
        touch.free = relative_speed(scene, touch, v)
        touch.speed = norm(touch.free)
    share_speeds(scene)
    share = share_of_bounce(landing)
    worst, rounds = bounce_all(scene, landing.slowest, share, landing.most, landing.tolerance, SLOWEST)
    if worst < 0.0:
        return MORE_EQUATIONS
    landing.bounces += rounds
    landing.fault = max(landing.fault, worst)
    if not worst <= 1.0:
        return UNSOLVED
    if rounds > 0:
        add_changes(m, work, scene.total, v)
    for k in range(scene.n):
        scene.touches[k].active = 1
    return DONE
