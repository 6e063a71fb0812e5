"""All touches of an island at once, by Newton's method from impulses that are nearly right: those of the step before.

Every touch is open, sticks or slides, by where x = lam - r u is [Alart and Curnier 1991, A mixed formulation for
frictional contact problems prone to Newton like solution methods]:

    open    x_n <= 0              lam' = 0
    sticks  |x_t| <= mu x_n       u' + b n = 0
    slides  otherwise             u_n' + b = 0,    lam_t' = mu lam_n' s',    s = x_t / |x_t|

with the derivative of s in the last. These are linear equations lam' - lam = f - A du [equations.py].

u' includes rho (lam' - lam), with rho small beside W, so that redundant touches, four under every box, have a solution:
that nearest to lam. Where states of touches are right, few steps are enough. Where they are not, sweeps change them:
from where the step led to, or, if that is worse, from where it began. Where they go on changing, interior.py begins
from the best impulses.
"""

from __future__ import annotations

import math

from supple.contact.equations import factorize_equations, solve_equations
from supple.contact.islands import touch_at
from supple.contact.sweeps import prepare_z, sweep_once, worst_fault
from supple.spatial.algebra import Mat3, Vec3
from supple.spatial.compiler import helper, part

STEPS = 12  #: at most
STALLED = 2  #: of them, one after the other, without progress
QUICKLY, SWEEPS = 0.1, 2  #: unless a step lets the fault fall by so much, so many sweeps: some states are not right
RHO = 1e-7  #: relative to W


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
    share = mu * lam.x / size
    d = 1.0 / max(1.0 - share + share * r * rho, 1e-12)
    k, aside = share * r * d, -(y * lam.z - z * lam.y) * d
    n = -(u.x + touch.bias) / rho
    along = mu * (lam.x + n) - (y * lam.y + z * lam.z)
    c = Vec3(n, y * along - z * aside, z * along + y * aside)
    f = mu / rho
    return c, Mat3(Vec3(1.0 / rho, 0.0, 0.0), Vec3(f * y, k * z * z, -k * y * z), Vec3(f * z, -k * y * z, k * y * y))


@helper
def sticks(touch):
    """f and A."""
    W, u, zero = touch.W, touch.u, Vec3(0.0, 0.0, 0.0)
    k = 1.0 / (RHO * max(W.xx, W.yy, W.zz))
    if touch.friction == 0.0:
        return Vec3(-(u.x + touch.bias) * k, 0.0, 0.0), Mat3(Vec3(k, 0.0, 0.0), zero, zero)
    c = Vec3(-(u.x + touch.bias) * k, -u.y * k, -u.z * k)
    return c, Mat3(Vec3(k, 0.0, 0.0), Vec3(0.0, k, 0.0), Vec3(0.0, 0.0, k))


@helper
def set_equation(touch):
    """f and A of a touch, by its state."""
    W, lam, u, mu = touch.W, touch.lam, touch.u, touch.friction
    c, K = nothing()
    x = lam.x - (u.x + touch.bias) / W.xx
    r = 1.0 / max(W.yy, W.zz, 1e-300)  # of a limit, both are zero
    y, z = lam.y - r * u.y, lam.z - r * u.z
    if x <= 0.0:
        c = lam * -1.0
    elif mu == 0.0 or math.sqrt(y * y + z * z) <= mu * x:
        c, K = sticks(touch)
    else:
        c, K = slides(touch, RHO * max(W.xx, W.yy, W.zz), r, Vec3(x, y, z))
    touch.f, touch.slope = c, K


@helper
def within_cone(lam, mu):
    """lam, pushing, with friction no larger than it may be."""
    n = max(lam.x, 0.0)
    size = math.sqrt(lam.y * lam.y + lam.z * lam.z)
    share = mu * n / size if size > mu * n else 1.0
    return Vec3(n, share * lam.y, share * lam.z)


@part
def newton_step(scene):
    """The impulses after a step; touch.u is theirs before it."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.W.xx > 0.0:
            set_equation(touch)
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
        if touch.active and touch.W.xx > 0.0:
            touch.lam = within_cone(touch.lam + touch.change, touch.friction)


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
    stalled, done, now = 0, 0, worst
    keep_best(scene)
    while done < STEPS and stalled < STALLED and not worst <= enough:
        newton_step(scene)
        prepare_z(scene)
        now = worst_fault(scene)
        if not now <= max(enough, QUICKLY * worst):
            if not now < worst:
                take_best(scene)
            for _ in range(SWEEPS):
                sweep_once(scene)
            now = worst_fault(scene)
        done += 1
        stalled = 0 if now < 0.5 * worst else stalled + 1
        if now < worst:
            worst = now
            keep_best(scene)
    if not now <= worst:
        worst = take_best(scene)
    return worst, done
