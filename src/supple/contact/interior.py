"""All touches of an island at once, by an interior-point method: for stacks and heaps, for heavy bodies on light ones,
and wherever sweeps are slow.

With the cone of friction scaled to a circular one, a solution is [De Saxcé and Feng 1998; cone.py]

    x = (mu lam_n, lam_t)                in the cone |x_t| <= x_n
    y = ((u_n + bias) / mu + |y_t|, u_t) in it, too;    x o y = 0;    u = u_free + Y z,  z = Y^T lam

where x o y = (x . y, x_n y_t + y_n x_t). x and y begin well inside their cones, and Newton's steps lead to x o y = s
(1, 0, 0) with s ever smaller, as in methods for convex problems of this kind: with the scaling H of Nesterov and Todd,
for which H y = x, and Mehrotra's choice of s [Nesterov and Todd 1997; Mehrotra 1992]. The problem is not convex because
of |y_t| [Acary, Cadoux, Lemaréchal and Malick 2011], whose derivative is part of the equations:

    dx = r - H dy,    dy = B (D v + g + R dx),    v = W D dx,    B = 1 + n t^T,  D = diag(1/mu, 1, 1)
    D dx = f - A v,    f = D (N r - K g),  A = D K D,  K = N H B,  N = (1 + H B R)^-1,    t = y_t / |y_t|

with g by how much y is not yet what z says; equations.py solves the last line. R is none at first, and after short
steps keeps x near where it is. Where a touch has no friction, or is a limit, only normal parts count. It takes fifteen
to twenty-five steps, however many touches there are; fewer if, near the end, a step of newton.py leads there at once.

Where the way from the impulses of the step before ends, it is begun well inside again, and then without that derivative
after short steps. Rigid bodies that slide on more places than they need, as a box that turns on its four corners, have
many solutions and more that are nearly some, and there may be no way from one to another. If none is found, touches are
made soft: u_n is increased by soft (lam_n - anchor), from impulses found so far, which then are the anchors of the next
attempt.
"""

from __future__ import annotations

from supple.contact.circular import across, circle, quadratic, root_of, scaling, undone, way_out
from supple.contact.cone import fault
from supple.contact.equations import factorize_equations, solve_equations
from supple.contact.islands import touch_at
from supple.contact.newton import keep_best, newton_step, nothing, take_best
from supple.contact.rows import answer
from supple.contact.sweeps import prepare_z, worst_fault
from supple.contact.touch_equations import takes_part
from supple.spatial.algebra import Mat3, Vec3, cross, dot
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
def largest(W):
    return max(W.xx, W.yy, W.zz)


@helper
def scale_of(touch):
    return touch.friction if touch.friction > 0.0 else 1.0


# --- one step ---------------------------------------------------------------------------------------------------------


@helper
def impulse_of(touch):
    return Vec3(touch.x.x / scale_of(touch), touch.x.y, touch.x.z)


@helper
def measure(scene, holding):
    """lam, z and u from x; g. Returns the worst fault, and the mean of x . y. holding: |u_t| is the one that is held
    [holding.py]."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            touch.lam = impulse_of(touch)
    prepare_z(scene)
    worst, total, n = 0.0, 0.0, 0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            u, y, bias = (
                touch.free + answer(scene, touch),
                touch.y,
                touch.bias + touch.soft * (touch.lam.x - touch.anchor),
            )
            slip = across(y)
            f = fault(touch.W, touch.lam, u, bias, touch.friction)
            if holding:
                slip = touch.held
                f = fault(touch.W, touch.lam, u, bias + touch.friction * (slip - across(u)), touch.friction)
            worst = f if not f <= worst else worst
            g = Vec3((u.x + bias) / scale_of(touch) + slip - y.x, u.y - y.y, u.z - y.z)
            touch.u = u
            touch.g = g if touch.friction > 0.0 else Vec3(g.x, 0.0, 0.0)
            total, n = total + dot(touch.x, y), n + 1
    return worst, total / max(n, 1)


@helper
def sheared(touch, v):
    """B v."""
    return Vec3(v.x + touch.t_y * v.y + touch.t_z * v.z, v.y, v.z)


@helper
def one_more(K, a, b):
    """1 + K diag(a, b, b)."""
    p, q, r = K.r0, K.r1, K.r2
    return Mat3(
        Vec3(1.0 + p.x * a, p.y * b, p.z * b),
        Vec3(q.x * a, 1.0 + q.y * b, q.z * b),
        Vec3(r.x * a, r.y * b, 1.0 + r.z * b),
    )


@helper
def inverse(a):
    """By cofactors."""
    p, q, r = cross(a.r1, a.r2), cross(a.r2, a.r0), cross(a.r0, a.r1)
    d = 1.0 / dot(a.r0, p)
    return Mat3(Vec3(p.x * d, q.x * d, r.x * d), Vec3(p.y * d, q.y * d, r.y * d), Vec3(p.z * d, q.z * d, r.z * d))


@helper
def set_slope(touch, damping, convex):
    """H, t, N and K; t is none if convex."""
    w, s = scaling(touch.x, touch.y)
    H, slip = quadratic(w, s), across(touch.y)
    y = z = 0.0
    if slip > 0.0 and not convex:
        y, z = touch.y.y / slip, touch.y.z / slip
    touch.w, touch.strength, touch.t_y, touch.t_z = w, s, y, z
    d = 1.0 / scale_of(touch)
    rho = damping * largest(touch.W)
    soft = rho + d * d * touch.soft
    K = Mat3(
        Vec3(H.xx, H.xy + H.xx * y, H.xz + H.xx * z),
        Vec3(H.xy, H.yy + H.xy * y, H.yz + H.xy * z),
        Vec3(H.xz, H.yz + H.xz * y, H.zz + H.xz * z),
    )
    if touch.friction == 0.0:
        K = Mat3(Vec3(H.xx, 0.0, 0.0), Vec3(0.0, 0.0, 0.0), Vec3(0.0, 0.0, 0.0))
    touch.R_n, touch.R_t, touch.N = soft, rho, inverse(one_more(K, soft, rho))
    k = touch.N @ K
    touch.K = k
    touch.slope = Mat3(
        Vec3(d * d * k.r0.x, d * k.r0.y, d * k.r0.z), Vec3(d * k.r1.x, k.r1.y, k.r1.z), Vec3(d * k.r2.x, k.r2.y, k.r2.z)
    )


@helper
def prepare_step(scene, damping, convex):
    """The matrix, factorized."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            set_slope(touch, damping, convex)
        else:
            touch.f, touch.slope = nothing()
    factorize_equations(scene)


@part
def solve_step(scene):
    """dx and dy for the right sides r of touches."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            f = touch.N @ touch.r - touch.K @ touch.g
            touch.f = Vec3(f.x / scale_of(touch), f.y, f.z)
    solve_equations(scene)
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            m, d, v = scale_of(touch), touch.change, touch.v
            d = Vec3(m * d.x, d.y, d.z)
            v = Vec3(v.x / m, v.y, v.z) if touch.friction > 0.0 else Vec3(v.x, 0.0, 0.0)
            v = v + touch.g + Vec3(touch.R_n * d.x, touch.R_t * d.y, touch.R_t * d.z)
            touch.dx, touch.dy = d, sheared(touch, v)


@helper
def longest_step(scene):
    """How far along dx and dy all stay inside."""
    a = 2.0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            a = min(a, way_out(touch.x, touch.dx), way_out(touch.y, touch.dy))
    return a


@helper
def mean_after(scene, a):
    """The mean of x . y after a step."""
    total, n = 0.0, 0
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            total += dot(touch.x + touch.dx * a, touch.y + touch.dy * a)
            n += 1
    return total / max(n, 1)


@helper
def aim_at_zero(scene):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        touch.r = touch.x * -1.0


@helper
def aim_at(scene, s, second_order):
    """x o y = s (1, 0, 0), with what dx o dy of the step to zero adds, if asked for: in coordinates in which x and y
    are alike."""
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            w, f = root_of(touch.w, touch.strength)
            R = quadratic(w, f)
            back = quadratic(Vec3(w.x, -w.y, -w.z), 1.0 / f)
            aim = Vec3(s, 0.0, 0.0)
            if second_order:
                aim = aim - circle(back @ touch.dx, R @ touch.dy)
            r = R @ undone(R @ touch.y, aim) - touch.x
            touch.r = r if touch.friction > 0.0 else Vec3(r.x, 0.0, 0.0)


@helper
def move(scene, a):
    for k in range(scene.low, scene.high):
        touch = touch_at(scene, k)
        if takes_part(touch):
            touch.x, touch.y = touch.x + touch.dx * a, touch.y + touch.dy * a


# --- all steps --------------------------------------------------------------------------------------------------------


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
    newton_step(scene)
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
