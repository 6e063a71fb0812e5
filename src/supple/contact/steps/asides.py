"""Touches that are too far open to close in a part of a step.

Most shapes that are near each other do not touch within a step. Those that close by less than half of their gap are set
aside: they have no rows, belong to no island, and nothing is solved for them. If velocities at the end of the part turn
out to close some of them after all, because something strikes their bodies, these take part, and impulses of all that
they act on are solved again; and so on, until none of them closes. So what is found satisfies the law of all touches.
"""

from __future__ import annotations

from supple.contact.steps.landing import relative_speed, speed_of_touch
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper

CLOSES = 0.5  #: of its gap: a touch that closes by more takes part
ROUNDS = 3  #: in which those that close after all take part; then all do
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
def take_in(scene, end, rounds):
    """Lets those take part that close by more than they may at the velocities of the end, which body_motions was given;
    after so many rounds, all. What others do is settled, unless they act on the same. Returns whether there are any."""
    found, every = False, False
    for k in range(scene.n):
        touch = scene.touches[k]
        if touch.aside:
            touch.u = relative_speed(scene, touch, end)
            found = found or touch.u.x + touch.bias < 0.0
    every = rounds == ROUNDS or scene.deep.n_groups > 0
    for k in range(scene.n if found else 0):
        touch = scene.touches[k]
        touch.settled = 0 if every or touch.aside else 1
        if touch.aside and (every or touch.u.x + touch.bias < 0.0):
            touch.aside = 0
    return found
