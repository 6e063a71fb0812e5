"""All touches of an island at once, by an augmented Lagrangian: for stacks, for heavy bodies on light ones, and
wherever sweeps are slow.

From impulses lam, a step finds the root in z of [Rockafellar 1976; z, Y as in rows.py; P, r as in cone.py]

    g(z) = z - Y^T P(w)        w = lam - r (u + (bias + s) n),  u = u_free + Y z

and takes lam = P(w): the larger r, the fewer steps. s = mu |u_t| is friction's part of the normal velocity. With s as
it was before the step, g is the gradient of a convex function,

    phi(z) = |z|^2 / 2 + sum |P(w)|^2 / (2 r)

and Newton's method always finds its root; impulses that stick are found in a few steps. Where touches slide, the step
is better taken with s at z itself: Newton's method then goes by |g|. Its equations are

    (1 + Y^T A Y) dz = -g,    A = r P' (1 + n (mu u_t / |u_t|)^T), without the last term if s is fixed

with P' the derivative of P [dense.py, krylov.py]. r is relative to W of each touch, and grows where steps are slow: the
impulses of bodies that can hardly move apart need a large one. Redundant touches do no harm.
"""

from __future__ import annotations

import math

from numba import types

from supple.contact.cone import cone_slope, on_cone
from supple.contact.dense import MOST, directly
from supple.contact.islands import enter_island, find_islands, touch_at
from supple.contact.krylov import GRADIENT, STEP, by_gmres, by_gradients, inner, vector
from supple.contact.memory import Scene
from supple.contact.rows import answer
from supple.contact.sweeps import prepare_z, sweep, worst_fault
from supple.spatial.algebra import Mat3, Vec3, dot
from supple.spatial.compiler import helper, kernel, part

SWEEPS, MANY = 4, 200  #: that are tried first; in an island of many degrees of freedom
ATTEMPTS, OUTER, NEWTON, HALVES = 4, 20, 20, 12
FAR = 1e4  #: faults beyond this, relative to the tolerance: slip is not known yet
STIFFNESS, STIFFER, STIFF, STIFFEST = 100.0, 10.0, 1e4, 1e6  #: r, relative to 1/W; the most without a matrix


@helper
def slip_of(u):
    return math.sqrt(u.y * u.y + u.z * u.z)


@helper
def pulled(scene, touch, u):
    """w."""
    r, lam = touch.stiff, touch.anchor
    s = touch.friction * slip_of(u) if scene.sliding else touch.shift
    return Vec3(lam.x - r * (u.x + touch.bias + s), lam.y - r * u.y, lam.z - r * u.z)


@part
def potential(scene):
    """phi at z."""
    total = 0.5 * inner(scene, scene.z, scene.z)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.stiff > 0.0:
            p = on_cone(pulled(scene, touch, touch.free + answer(scene, touch)), touch.friction)
            total += 0.5 * dot(p, p) / touch.stiff
    return total


@helper
def slope_at(scene, touch, w, u):
    """A."""
    r, P = touch.stiff, cone_slope(w, touch.friction)
    y = z = 0.0
    slip = slip_of(u)
    if scene.sliding and slip > 0.0:
        y, z = touch.friction * u.y / slip, touch.friction * u.z / slip
    return Mat3(
        Vec3(P.xx, P.xy + y * P.xx, P.xz + z * P.xx) * r,
        Vec3(P.xy, P.yy + y * P.xy, P.yz + z * P.xy) * r,
        Vec3(P.xz, P.yz + y * P.xz, P.zz + z * P.xz) * r,
    )


@part
def gradient(scene):
    """g in its vector, lam = P(w), and A of all touches. Returns |g|."""
    g = vector(scene, GRADIENT)
    for l in range(scene.n_local):
        j = scene.dofs[l]
        g[j] = scene.z[j]
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if touch.active and touch.stiff > 0.0:
            u = touch.free + answer(scene, touch)
            w = pulled(scene, touch, u)
            lam = on_cone(w, touch.friction)
            touch.lam, touch.slope = lam, slope_at(scene, touch, w, u)
            for i in range(touch.first, touch.first + touch.count):
                e = scene.entries[i]
                g[e.dof] -= dot(e.y, lam)
    return math.sqrt(inner(scene, g, g))


@helper
def search(scene, size):
    """Moves z by the part of dz that lowers phi, or |g|, enough. Returns |g| there."""
    dz = vector(scene, STEP)
    before, slope, t = size, -size, 1.0
    if not scene.sliding:
        before, slope = potential(scene), inner(scene, vector(scene, GRADIENT), dz)
    for l in range(scene.n_local):
        j = scene.dofs[l]
        scene.z[j] += dz[j]
    size = gradient(scene)
    for _ in range(HALVES):
        now = size if scene.sliding else potential(scene)
        if now <= before + 1e-4 * t * slope + 1e-15 * abs(before):
            break
        t *= 0.5
        for l in range(scene.n_local):
            j = scene.dofs[l]
            scene.z[j] -= t * dz[j]
        size = gradient(scene)
    return size


@part
def find_root(scene, enough):
    """z with |g| below `enough`, by Newton's method; lam = P(w) there. Returns the number of its steps."""
    size = gradient(scene)
    steps = 0
    while size > enough and steps < NEWTON:
        if scene.n_local <= MOST:
            directly(scene)
        elif scene.sliding:
            by_gmres(scene, 1e-4)
        else:
            by_gradients(scene, 1e-3)
        size = search(scene, size)
        steps += 1
    return steps


@helper
def begin_outer(scene, stiffness, near):
    """From the impulses as they are; s is none if these are not near. Returns the largest W."""
    largest, zero = 0.0, Vec3(0.0, 0.0, 0.0)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.anchor, touch.shift = touch.lam, touch.friction * slip_of(touch.u) if near else 0.0
        touch.stiff = stiffness / touch.W.xx if touch.W.xx > 0.0 else 0.0
        touch.slope = Mat3(zero, zero, zero)
        largest = max(largest, touch.W.xx)
    return largest


@helper
def begin_with(scene, share):
    """To a share of the impulses from which the last step began. Returns the worst fault."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.lam = touch.anchor * share
    prepare_z(scene)
    return worst_fault(scene)


@part
def go_on(scene, most, tolerance, worst):
    """Steps from the impulses as they are and, where these lead nowhere, from none. Returns the worst fault, and how
    many of Newton's steps it took."""
    done = 0
    for attempt in range(ATTEMPTS):
        stiffness, scene.sliding = STIFFNESS if attempt < 2 else STIFFNESS * STIFFER ** (5 - 2 * attempt), 0
        worst = begin_with(scene, 0.0) if attempt > 0 else worst
        for outer in range(OUTER):
            if worst <= tolerance or done >= most:
                return worst, done
            largest = begin_outer(scene, stiffness, outer > 0 or worst < FAR * tolerance)
            done += 1 + find_root(scene, 1e-2 * tolerance / math.sqrt(largest + 1e-300))
            prepare_z(scene)
            now = worst_fault(scene)
            if not now <= 0.1 * worst:
                scene.sliding = 1 - scene.sliding if not now <= 0.9 * worst else 1
                stiffness = min(STIFFER * stiffness, STIFFEST if scene.n_local <= MOST else STIFF)
            if not now <= 10.0 * worst and outer > 3:
                now, stiffness = begin_with(scene, 1.0), max(stiffness / STIFFER**2, STIFFNESS / STIFFER)
            worst = now
    return worst, done


@kernel(types.float64(Scene.type, types.int64, types.float64), "impulses of touches", effort=2)
def solve_touches(scene, most, tolerance):
    """Impulses of all touches that are active, beginning with those that they have. Returns the worst fault; scene.done
    is how many sweeps and Newton's steps the slowest island took."""
    worst, n = 0.0, find_islands(scene)
    scene.done, scene.n_local = 0, 0
    for j in range(scene.model.nv):
        scene.z[j] = 0.0
    for k in range(n):
        enter_island(scene, k)
        x, done = sweep(scene, min(SWEEPS if scene.n_local <= MOST else MANY, most), tolerance)
        if not x <= tolerance:
            x, more = go_on(scene, most - done, tolerance, x)
            done += more
        worst, scene.done = x if not x <= worst else worst, max(done, scene.done)
    return worst
