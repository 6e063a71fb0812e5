"""Touches that are too far open to close in a part of a step.

Most shapes that are near each other do not touch within a step. Those that close by less than half of their gap are set
aside: they have no rows, belong to no island, and nothing is solved for them. If velocities at the end of the part turn
out to close one of them after all, because something strikes its bodies, all take part, and impulses are solved again.
So what is found satisfies the law of all touches.
"""

from __future__ import annotations

from supple.contact.landing import relative_speed, speed_of_touch
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper

CLOSES = 0.5  #: of its gap: a touch that closes by more takes part
CLEAR = 10.0  #: times what gravity changes velocities by in a part: one that may close no faster than that does, too


@helper
def set_aside(scene, v, time, change):
    """Those that do not close within a time at velocities v, where bodies are placed, that have pushed nothing so far
    and do not bounce. change: of velocities in a part, by gravity."""
    for k in range(scene.n):
        touch = scene.touches[k]
        quiet = touch.lam.x == 0.0 and touch.restitution == 0.0 and touch.gap > CLEAR * change * time
        touch.aside = 0
        if quiet and time * speed_of_touch(scene, touch, v, True).x > -CLOSES * touch.gap:
            touch.aside, touch.lam = 1, Vec3(0.0, 0.0, 0.0)


@helper
def any_aside(scene):
    found = False
    for k in range(scene.n):
        found = found or scene.touches[k].aside > 0
    return found


@helper
def take_in(scene, end):
    """Lets all take part if one of them closes by more than it may at the velocities of the end, which body_motions
    was given. Returns whether it does."""
    found = False
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.aside:
            touch.u = relative_speed(scene, touch, end)
            found = found or touch.u.x + touch.bias < 0.0
    if found:
        for k in range(scene.n):
            scene.touches[k].aside = scene.touches[k].settled = 0
    return found
