"""All touches of an island, one after the other, again and again: Gauss and Seidel's method by blocks, each solved
exactly.

z holds what all impulses do to the degrees of freedom [rows.py], so that a touch costs O(depth), whatever the number of
others. A sweep goes forth and back. Few touches need few sweeps; where these are slow, interior.py goes on.

A solution is good if every touch, judged by itself with everything else as it is, has a fault below the tolerance
[cone.py].
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.response.deep_groups import is_deep
from supple.contact.response.passes import begin_pass, finish_pass, push_bodies
from supple.contact.response.rows import answer, push_z
from supple.contact.solvers.cone import fault
from supple.contact.solvers.walking import renewed, walk
from supple.spatial.compiler import helper, part

QUICKLY = 0.1  #: by which the worst fault falls in a sweep, as long as sweeps go on


@part
def prepare_z(scene):
    """z from the impulses of the present island."""
    if is_deep(scene):
        begin_pass(scene)
        for k in range(scene.low, scene.high):
            touch = touch_at(scene, k)
            if touch.active:
                push_bodies(scene, touch, touch.lam)
        finish_pass(scene, scene.z)
        return
    for i in range(scene.n_local):
        scene.z[scene.dofs[i]] = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active:
            push_z(scene, touch, touch.lam)


@helper
def renew(scene, touch):
    """The impulse of one touch, with all others as they are."""
    new = renewed(scene, touch)
    change = new - touch.lam
    if change.x != 0.0 or change.y != 0.0 or change.z != 0.0:
        touch.lam = new
        push_z(scene, touch, change)


@part
def worst_fault(scene):
    """The largest fault, and u of every touch."""
    worst = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.u = touch.free + answer(scene, touch)
        if touch.active:
            x = fault(touch.W, touch.lam, touch.u, touch.bias, touch.friction)
            worst = x if not x <= worst else worst  # also if it is no number
    return worst


@part
def sweep_once(scene):
    """Forth and back; of deep trees, by a walk."""
    if is_deep(scene):
        walk(scene, False, 0.0, 0.0)
        prepare_z(scene)
        return
    n = scene.high - scene.low
    for i in range(2 * n):
        touch = touch_at(scene, scene.low + (i if i < n else 2 * n - 1 - i))
        if touch.active:
            renew(scene, touch)


@part
def sweep(scene, worst, least, most, tolerance):
    """Until the worst fault is below the tolerance: at least so often, at most so often, in between as long as it falls
    quickly; touch.u and `worst` are of the impulses that there are. Returns it, and the number of sweeps."""
    done, before = 0, 0.0
    while not worst <= tolerance and done < most and (done < least or worst < QUICKLY * before):
        sweep_once(scene)
        done += 1
        before, worst = worst, worst_fault(scene)
    return worst, done
