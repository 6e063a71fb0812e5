"""Impulses of touches over a step: those of all its parts, and of the impacts between them.

A step may have several parts [stepping.py], each with its own touches. Results report the sum of impulses, divided by
the step size: forces times step sizes add up to the change of momentum. Touches of two parts are the same if their keys
are equal; point, normal, gap and slip are those of the last part in which a touch pushed.
"""

from __future__ import annotations

from supple.contact.memory import CONTACT
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper


@helper
def begin_exerting(scene):
    """Called at the beginning of a step."""
    scene.n_exerted = 0


@helper
def may_exert(scene):
    """Whether there is memory for all touches of a part."""
    return scene.n_exerted + scene.capacity <= scene.exerted_room


@helper
def place_of(scene, key, first, n):
    """The index of a key among the first n, searched for from `first` on; n_exerted if it is not there."""
    for i in range(n):
        at = first + i if first + i < n else first + i - n
        if scene.exerted[at].key == key:
            return at
    return scene.n_exerted


@helper
def add_exerted(scene):
    """Adds the impulses of a finished part, and of the impacts at its beginning."""
    before, following = scene.n_exerted, 0
    for k in range(scene.n):
        touch = scene.touches[k]
        lam = touch.lam + touch.struck
        if not lam.x > 0.0:
            continue
        at = place_of(scene, touch.key, following, before)
        one, impulse = scene.exerted[at], touch.n * lam.x + touch.t * lam.y + touch.s * lam.z
        if at < before:
            one.impulse, following = one.impulse + impulse, at + 1 if at + 1 < before else 0
        else:
            one.impulse, scene.n_exerted = impulse, at + 1
        one.key, one.kind, one.dof, one.shape, one.other = touch.key, touch.kind, touch.a, touch.shape, touch.other
        one.gap, one.point, one.n = touch.gap, touch.point, touch.n
        one.slip = touch.t * touch.u.y + touch.s * touch.u.z if touch.kind == CONTACT else Vec3(0.0, 0.0, 0.0)
