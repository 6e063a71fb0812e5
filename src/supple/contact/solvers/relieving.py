"""Smaller impulses that do the same.

Where touches are more than bodies need, or an impulse pushes against its own friction, as where a shape is wedged
beside a hinge, impulses are not unique, and may have no bound: interior.py ends far inside the cones, and what an
impact took is where the next step begins. Bodies at rest then hold each other by a hundred times their weights.

One step of Newton's method in which every touch keeps its state, open, sticking or sliding, and its velocity,

    u' + b n + rho lam' = 0        in place of        u' + b n + rho (lam' - lam) = 0        [newton.py]

leads to the smallest of these. Impulses go there as far as friction stays within its cones, so that they satisfy the
law all the way; then once more, without those that were in the way. They stop short of the rims, from where touches
that stick would slide at the slightest disturbance.
"""

from __future__ import annotations

import math

from supple.contact.geometry.points import norm
from supple.contact.islands import touch_at
from supple.contact.solvers.circular import way_out
from supple.contact.solvers.equations import factorize_equations, solve_equations
from supple.contact.solvers.interior import size_of
from supple.contact.solvers.interior_step import largest
from supple.contact.solvers.newton import RHO, keep_best, newton_step, nothing, set_equation, take_best, within_cone
from supple.contact.solvers.sweeps import prepare_z, worst_fault
from supple.contact.solvers.touch_equations import takes_part
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper, part

STRAINED = 60.0  #: times the velocities that they have to undo, or make: what impulses may do before they are looked at
SHARE = 0.9  #: of the way to the rim of a cone: what is beyond sticks less surely in the next step
BARELY = 0.2  #: of a change that was made: touches that allow no more than this beyond it were in the way
WORTH = 0.5  #: of what it was: the largest impulse after a change that is worth it


@helper
def is_strained(scene):
    """Whether an impulse of the present island would do much more than it has to if nothing held against it."""
    most = STRAINED * size_of(scene)
    found = False
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        found = found or (takes_part(touch) and touch.lam.x * largest(touch.W) > most)
    return found


@helper
def is_sliding(touch):
    """Whether a touch with friction slides: |lam_t - r u_t| > mu (lam_n - r u_n) [newton.py]."""
    W, lam, u = touch.W, touch.lam, touch.u
    r = 1.0 / max(W.yy, W.zz, 1e-300)
    return math.hypot(lam.y - r * u.y, lam.z - r * u.z) > touch.friction * (lam.x - (u.x + touch.bias) / W.xx)


@helper
def way_within(touch):
    """How much of its change leaves the impulse of a touch within its cone, at most 2; of one that slides, along the
    rim."""
    mu, lam, d = touch.friction, touch.lam, touch.change
    if mu > 0.0 and not is_sliding(touch):
        return way_out(Vec3(mu * lam.x, lam.y, lam.z), Vec3(mu * d.x, d.y, d.z))
    return min(-lam.x / d.x, 2.0) if d.x < 0.0 else 2.0


@helper
def find_smallest(scene, made):
    """The change to the smallest impulses, in touch.change; touch.u is that of those that there are. made: how much of
    the last change was; those that were in the way stay as they are."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        stays = not takes_part(touch) or way_within(touch) < BARELY * made
        touch.f, touch.slope = nothing()
        if not stays:
            set_equation(touch, RHO[0], False, False)
            touch.f = touch.f - touch.lam
    factorize_equations(scene)
    solve_equations(scene)


@helper
def is_worth_it(scene):
    """Whether the largest impulse becomes much smaller."""
    before = after = 0.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            W = largest(touch.W)
            before, after = max(before, W * norm(touch.lam)), max(after, W * norm(touch.lam + touch.change))
    return after < WORTH * before


@helper
def go_there(scene):
    """Changes impulses as far as they stay within their cones. Returns how far that is."""
    a = 1.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            a = min(a, SHARE * way_within(touch))
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            touch.lam = within_cone(touch.lam + touch.change * a, touch.friction)
    prepare_z(scene)
    return a


@part
def relieve(scene, enough, worst):
    """Impulses of the present island, whose worst fault is `worst`, made smaller where that is worth it and leaves no
    larger fault than that, or than `enough`. Returns it. The pattern of the equations is there."""
    find_smallest(scene, 0.0)
    if not is_worth_it(scene):
        prepare_z(scene)
        return worst
    keep_best(scene)
    made = go_there(scene)
    if made < 1.0:
        worst_fault(scene)
        find_smallest(scene, made)
        go_there(scene)
    now = worst_fault(scene)
    if not now <= enough:
        newton_step(scene, RHO[0], False, False)
        prepare_z(scene)
        now = worst_fault(scene)
    if not now <= max(enough, worst):
        now = take_best(scene)
    return now
