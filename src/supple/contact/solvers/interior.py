"""All touches of an island at once, by an interior-point method: for stacks and heaps, for heavy bodies on light ones,
and wherever sweeps are slow.

With the cone of friction scaled to a circular one, a solution is [De Saxcé and Feng 1998, The bipotential method]

    x = (mu lam_n, lam_t)                in the cone |x_t| <= x_n
    y = ((u_n + bias) / mu + |y_t|, u_t) in it, too;    x o y = 0;    u = u_free + Y z,  z = Y^T lam

where x o y = (x . y, x_n y_t + y_n x_t). x and y begin well inside their cones, and Newton's steps lead to x o y = s
(1, 0, 0) with s ever smaller, as in methods for convex problems of this kind: with the scaling H of Nesterov and Todd,
for which H y = x, and Mehrotra's choice of s [Nesterov and Todd 1997; Mehrotra 1992]. The problem is not convex because
of |y_t| [Acary, Cadoux, Lemaréchal and Malick 2011], whose derivative is part of the equations [interior_step.py]. It
takes fifteen to twenty-five steps, however many touches there are; fewer if, near the end, a step of newton.py leads
there at once.

Where the way from the impulses of the step before ends, it is begun well inside again, and then without that derivative
after short steps. Rigid bodies that slide on more places than they need, as a box that turns on its four corners, have
many solutions and more that are nearly some, and there may be no way from one to another. If none is found, touches are
made soft: u_n is increased by soft (lam_n - anchor), from impulses found so far, which then are the anchors of the next
attempt.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.solvers.circular import across
from supple.contact.solvers.interior_step import (
    aim_at,
    aim_at_zero,
    largest,
    longest_step,
    mean_after,
    measure,
    move,
    prepare_step,
    scale_of,
    solve_step,
)
from supple.contact.solvers.newton import RHO, keep_best, newton_step, take_best
from supple.contact.solvers.sweeps import prepare_z, worst_fault
from supple.contact.solvers.touch_equations import takes_part
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, part

STEPS = 40  #: at most
SHARE = 0.9  #: of the way to the boundary of a cone that a step goes
CONVEX = 0.3  #: after a step shorter than this, the derivative of |y_t| is left out in every second attempt
SHORT, CENTRED = 0.1, 0.2  #: after a step shorter than this, s is at least this share of what it is
NEAREST = 1e-4  #: a beginning is at least so far inside the cones, relative to the velocities that meet
NEARLY = 100.0  #: times the tolerance: where the fault is below that, most states of touches are known
STALLED = 3  #: steps without progress, where the fault is below the tolerance
SOFT, SOFTER = 1e-4, 1e-3  #: relative to W
ATTEMPTS = 8  #: after the first; from the third on they are soft
WEAKEST, STRONGEST, DAMPING = 1e-5, 1e-2, 10.0  #: rho relative to W, after short steps; a factor


@helper
def size_of(scene):
    """The largest velocity that has to be undone, or made."""
    size = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            c = touch.free
            size = max(size, abs(c.x + touch.bias), abs(c.y), abs(c.z))
    return size


@helper
def begin_inside(scene, worst):
    """x and y, as far inside their cones as the impulses that there are have faults; from none, if these are large."""
    size = max(size_of(scene), 1e-300)
    far = max(worst, NEAREST * size)
    known = far < size
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            m, W = scale_of(touch), largest(touch.W)
            x = y = Vec3(0.0, 0.0, 0.0)
            if known:
                x, y = Vec3(m * touch.lam.x, touch.lam.y, touch.lam.z), touch.u
                x = Vec3(max(x.x, across(x)), x.y, x.z)
                y = Vec3(max((y.x + touch.bias) / m, 0.0) + across(y), y.y, y.z)
                if touch.friction == 0.0:
                    x, y = Vec3(x.x, 0.0, 0.0), Vec3(max(touch.u.x + touch.bias, 0.0), 0.0, 0.0)
            shift = far if known else size
            touch.x, touch.y = Vec3(x.x + m * shift / W, x.y, x.z), Vec3(y.x + shift / m, y.y, y.z)


@helper
def damped(damping, length):
    """After a step of that length."""
    if length < SHORT:
        damping = min(max(DAMPING * damping, WEAKEST), STRONGEST)
    elif length > 0.5:
        damping = damping / DAMPING if damping > WEAKEST else 0.0
    return damping


@helper
def soften(scene, share):
    """Lets touches yield by a share of W for every change of lam_n from what it is."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.soft, touch.anchor = share * touch.W.xx, touch.lam.x


@helper
def is_finished(scene, enough):
    """Whether a step of newton.py from here is the last one that is needed; then it is taken."""
    newton_step(scene, RHO[0], False, False)
    prepare_z(scene)
    finished = worst_fault(scene) <= enough
    if finished:
        keep_best(scene)
    return finished


@part
def find_way(scene, enough, tolerance, worst, convex, holding):
    """Steps from x and y, without the derivative of |y_t| after those that are shorter than `convex`, and in all if it
    is held. Returns the least fault, and their number; `best` are its impulses, unless those there are are better."""
    length, damping, stalled = 1.0, 0.0, 0
    for step in range(STEPS):
        now, mean = measure(scene, holding)
        stalled = 0 if now <= 0.5 * worst else stalled + 1
        if now <= worst:
            worst = now
            keep_best(scene)
        if now <= enough or (worst <= tolerance and stalled >= STALLED) or not 0.0 < mean < 1e300:
            return worst, step
        if not holding and now <= NEARLY * tolerance and is_finished(scene, enough):
            return enough, step
        damping = damped(damping, length)
        prepare_step(scene, damping, holding or length < convex)
        aim_at_zero(scene)
        solve_step(scene)
        share = (mean_after(scene, min(longest_step(scene), 1.0)) / mean) ** 3
        share = min(max(share, CENTRED if length < SHORT else 1e-4), 1.0)
        aim_at(scene, share * mean, length >= SHORT)
        solve_step(scene)
        length = min(SHARE * longest_step(scene), 1.0)
        move(scene, length)
    return worst, STEPS


@part
def from_inside(scene, enough, tolerance, worst):
    """Impulses of the present island, from those that there are, until the worst fault is `enough`, or at least below
    the tolerance. Returns it, and the number of steps. The pattern of the equations is there."""
    soften(scene, 0.0)
    keep_best(scene)
    begin_inside(scene, worst)
    _, steps = find_way(scene, enough, tolerance, worst, 0.0, False)
    worst = take_best(scene)
    for attempt in range(ATTEMPTS):
        if worst <= tolerance:
            break
        soft = attempt >= 2
        soften(scene, (SOFT if attempt % 4 < 2 else SOFTER) if soft else 0.0)
        begin_inside(scene, 1e300)
        convex = CONVEX if attempt % 2 == 1 else 0.0
        _, more = find_way(scene, enough, tolerance, 1e300 if soft else worst, convex, False)
        worst, steps = take_best(scene), steps + more
    return worst, steps
