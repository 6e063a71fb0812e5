"""All touches of an island at once, by Newton's method from impulses that are nearly right: those of the step before.

Every touch is open, sticks or slides, by where x = lam - r u is [Alart and Curnier 1991, A mixed formulation for
frictional contact problems prone to Newton like solution methods]:

    open    x_n <= 0              lam' = 0
    sticks  |x_t| <= mu x_n       u' + b n = 0
    slides  otherwise             u_n' + b = 0,    lam_t' = mu lam_n' s',    s = x_t / |x_t|

with the derivative of s in the last. These are linear equations lam' - lam = f - A du [equations.py]. A touch that had
all the friction that it may have in the step before goes on to slide in the first step, however x is: where bodies
settle, impulses change by little, and their faults say nothing of where touches slide.

u' includes rho (lam' - lam), with rho small beside W, so that redundant touches, four under every box, have a solution:
that nearest to lam. Where states of touches are right, few steps are enough. Where they are not, lam' of some is not in
the cone: what is brought back into it is judged, but the next step begins with lam' itself, which says what slides or
opens. Where that makes no progress, steps begin again from the best impulses, with a larger rho, which keeps impulses
that velocities hardly depend on closer to what they are; steps that help make it smaller. Where states still go on
changing, interior.py begins.

A touch with friction of 100 slides only where x_n is between zero and a hundredth of |x_t|: steps lead past that, from
open to sticking and back. In the last attempt r is smaller in x_n, by mu if that is above one.
"""

from __future__ import annotations

import math

from supple.contact.islands import touch_at
from supple.contact.solvers.equations import factorize_equations, solve_equations
from supple.contact.solvers.sweeps import prepare_z, worst_fault
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper, part

STEPS = 12  #: at most
STALLED = 3  #: of them, one after the other, without progress; one that makes impulses worse ends the first attempt
RHO = (1e-7, 1e-4, 1e-3)  #: relative to W, of each attempt
LOOSER = 0.1  #: by what it falls after a step that helps, down to the first
EDGE = 1.0 - 1e-9  #: of the friction that a touch may have: all of it


@helper
def nothing():
    zero = Vec3(0.0, 0.0, 0.0)
    return zero, Mat3(zero, zero, zero)


@helper
def slides(touch, rho, r, x):
    """f and A."""
    lam, u, mu = touch.lam, touch.u, touch.friction
    size = math.sqrt(x.y * x.y + x.z * x.z)
    y, z = x.y / size, x.z / size  # s; across it: (-z, y)
    share = max(min(mu * lam.x / size, 1.0), 0.0)  # beyond that, there is no such state
    d = 1.0 / max(1.0 - share + share * r * rho, 1e-12)
    k, aside = share * r * d, -(y * lam.z - z * lam.y) * d
    n = -(u.x + touch.bias) / rho
    along = mu * (lam.x + n) - (y * lam.y + z * lam.z)
    c = Vec3(n, y * along - z * aside, z * along + y * aside)
    f = mu / rho
    return c, Mat3(Vec3(1.0 / rho, 0.0, 0.0), Vec3(f * y, k * z * z, -k * y * z), Vec3(f * z, -k * y * z, k * y * y))


@helper
def sticks(touch, rho):
    """f and A. rho: relative to W."""
    W, u, zero = touch.W, touch.u, Vec3(0.0, 0.0, 0.0)
    k = 1.0 / (rho * max(W.xx, W.yy, W.zz))
    if touch.friction == 0.0:
        return Vec3(-(u.x + touch.bias) * k, 0.0, 0.0), Mat3(Vec3(k, 0.0, 0.0), zero, zero)
    c = Vec3(-(u.x + touch.bias) * k, -u.y * k, -u.z * k)
    return c, Mat3(Vec3(k, 0.0, 0.0), Vec3(0.0, k, 0.0), Vec3(0.0, 0.0, k))


@helper
def set_equation(touch, rho, first, rough):
    """f and A of a touch, by its state. rho: relative to W. first: whether lam is that of the step before. rough:
    whether touches with much friction slide sooner."""
    W, lam, u, mu = touch.W, touch.lam, touch.u, touch.friction
    c, K = nothing()
    x = lam.x - (u.x + touch.bias) / (W.xx * (max(mu, 1.0) if rough else 1.0))
    r = 1.0 / max(W.yy, W.zz, 1e-300)  # of a limit, both are zero
    y, z = lam.y - r * u.y, lam.z - r * u.z
    slid = first and math.sqrt(lam.y * lam.y + lam.z * lam.z) >= EDGE * mu * lam.x > 0.0
    if x <= 0.0:
        c = lam * -1.0
    elif mu == 0.0 or (math.sqrt(y * y + z * z) <= mu * x and not slid):
        c, K = sticks(touch, rho)
    else:
        c, K = slides(touch, rho * max(W.xx, W.yy, W.zz), r, Vec3(x, y, z))
    touch.f, touch.slope = c, K


@helper
def within_cone(lam, mu):
    """lam, pushing, with friction no larger than it may be."""
    n = max(lam.x, 0.0)
    size = math.sqrt(lam.y * lam.y + lam.z * lam.z)
    share = mu * n / size if size > mu * n else 1.0
    return Vec3(n, share * lam.y, share * lam.z)


@part
def newton_step(scene, rho, first, rough):
    """The impulses after a step; touch.u is theirs before it. rho: relative to W. first: whether they are those of the
    step before. rough: as in set_equation."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.W.xx > 0.0:
            set_equation(touch, rho, first, rough)
        else:
            touch.f, touch.slope = nothing()
    change_impulses(scene)


@part
def change_impulses(scene):
    """By f and A of all touches."""
    factorize_equations(scene)
    solve_equations(scene)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.beyond, touch.beyond_u = touch.lam, touch.u + touch.v
        if touch.active and touch.W.xx > 0.0:
            touch.beyond = touch.lam + touch.change
            touch.lam = within_cone(touch.beyond, touch.friction)


@helper
def go_beyond(scene):
    """Back to impulses as the last step left them, in their cones or not."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.lam, touch.u = touch.beyond, touch.beyond_u


@helper
def keep_best(scene):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.best = touch.lam


@helper
def take_best(scene):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.lam = touch.best
    prepare_z(scene)
    return worst_fault(scene)


@part
def from_nearby(scene, enough, worst):
    """Impulses of the present island, from those that there are, until the worst fault is `enough`; touch.u is theirs.
    Returns the fault of the best, which they are then, and the number of steps. The pattern of equations is there."""
    stalled, done, now, attempt, begins = 0, 0, worst, 0, True
    rho = RHO[0]
    keep_best(scene)
    while done < STEPS and attempt < len(RHO) and not worst <= enough:
        if not begins:
            go_beyond(scene)
        newton_step(scene, rho, begins, attempt == len(RHO) - 1)
        prepare_z(scene)
        now = worst_fault(scene)
        done += 1
        begins, stalled = False, 0 if now < 0.5 * worst else stalled + 1
        if now < worst:
            worst, rho = now, max(LOOSER * rho, RHO[0])
            keep_best(scene)
        elif attempt == 0 or stalled >= STALLED:
            attempt, begins, stalled = attempt + 1, True, 0
            if attempt < len(RHO):
                rho, now = RHO[attempt], take_best(scene)
    if not now <= worst:
        worst = take_best(scene)
    return worst, done
