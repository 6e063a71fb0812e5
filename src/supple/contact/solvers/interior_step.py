"""One step of the interior-point method of interior.py, in whose words, with R to keep x near where it is:

    dx = r - H dy,    dy = B (D v + g + R dx),    v = W D dx,    B = 1 + n t^T,  D = diag(1/mu, 1, 1)
    D dx = f - A v,    f = D (N r - K g),  A = D K D,  K = N H B,  N = (1 + H B R)^-1,    t = y_t / |y_t|

with g by how much y is not yet what z says; equations.py solves the last line. Where a touch has no friction, or is a
limit, only normal parts count.
"""

from __future__ import annotations

from supple.contact.islands import touch_at
from supple.contact.response.rows import answer
from supple.contact.solvers.circular import across, circle, quadratic, root_of, scaling, undone, way_out
from supple.contact.solvers.cone import fault
from supple.contact.solvers.equations import factorize_equations, solve_equations
from supple.contact.solvers.newton import nothing
from supple.contact.solvers.sweeps import prepare_z
from supple.contact.solvers.touch_equations import takes_part
from supple.spatial.algebra import Mat3, Vec3, cross, dot
from supple.spatial.compiler import helper, part


@helper
def largest(W):
    return max(W.xx, W.yy, W.zz)


@helper
def scale_of(touch):
    return touch.friction if touch.friction > 0.0 else 1.0


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
