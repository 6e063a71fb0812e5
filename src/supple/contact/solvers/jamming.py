"""Touches of an island that jam: what is nearly closed begins as if it stuck, whatever that takes.

A light body that slides between heavy ones may wedge itself, and stop them [Painlevé 1895]: friction lets the normal
impulse grow, which lets friction grow. The only impulses that satisfy the law then are as large as all momentum that
they stop, a million times those of the step before, from where no way leads to them. Newton's steps do [newton.py],
from impulses with which everything sticks, without sweeps in between.

Where nothing is known of impulses, they also come first. What is gripped from both sides may be held by all its
corners, or turn about one that has all of the pressure: both satisfy the law. Steps from where everything sticks hold
it, with the smallest impulses; sweeps would give all pressure to the corner that they come to first.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.solvers.interior import size_of
from supple.contact.solvers.newton import RHO, change_impulses, keep_best, newton_step, nothing, sticks, take_best
from supple.contact.solvers.sweeps import prepare_z, worst_fault
from supple.contact.solvers.touch_equations import takes_part
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, part

CLOSED = 1e-2  #: of the largest velocity: what may open by that is nearly closed


@helper
def let_all_stick(scene):
    """Impulses that stop all that is nearly closed, and leave the rest alone."""
    closed = CLOSED * size_of(scene)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.lam, touch.u = Vec3(0.0, 0.0, 0.0), touch.free
        touch.f, touch.slope = nothing()
        if takes_part(touch) and touch.free.x + touch.bias <= closed:
            touch.f, touch.slope = sticks(touch, RHO[0])
    change_impulses(scene)


@part
def from_sticking(scene, enough, worst, most):
    """Impulses of the present island, until the worst fault is `enough`; those that there are, whose fault is `worst`,
    if none are better. most: how many steps it may take. Returns the fault, and the number of steps. The pattern of the
    equations is there."""
    keep_best(scene)
    let_all_stick(scene)
    done = 0
    while done < most and not worst <= enough:
        prepare_z(scene)
        now = worst_fault(scene)
        if now < worst:
            worst = now
            keep_best(scene)
        elif not now < 1e300:
            break
        newton_step(scene, RHO[0], False, False)
        done += 1
    return take_best(scene), done
