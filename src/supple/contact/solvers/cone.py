"""One touch: an impulse that pushes, with friction within Coulomb's cone and against the slip.

    0 <= lam_n,  0 <= u_n + bias,  lam_n (u_n + bias) = 0
    |lam_t| <= mu lam_n,  and where u_t is not zero: lam_t = -mu lam_n u_t / |u_t|

with u = c + W lam. For any r > 0 this is the same as

    lam_n = max(lam_n - r (u_n + bias), 0)
    lam_t = P(lam_t - r u_t)                          P: the closest point of the disc of radius mu lam_n

[Alart and Curnier 1991], by which a solution is judged, whoever found it: what is left of these equations, as a
velocity. Each of them counts for itself. As one equation, in which lam is projected onto the cone [De Saxcé and Feng
1998, The bipotential method; interior.py], a touch that slides and sinks in would be judged by the part of its velocity
across the rim of the cone, 1 / sqrt(1 + mu^2) of it: with friction of 1,000, by next to nothing.

Sliding: u_t = -k lam_t with k > 0 makes (W_tt + k) lam_t = -(c_t + w lam_n), w = W_tn, so that for every k there is one
lam, and |lam_t| = mu lam_n picks k. Between sticking, k = 0, where friction is too large, and large k, where it is too
small, there is a root. By Cramer's rule, with D = det(W + k (0 0, 0 1)) > 0,

    lam_n = N / D,    lam_t = -(g + k e) / D,    e = W_nn c_t - c_n w,    g = adj(W_tt) e + (w x c_t) (w_s, -w_t)
    N = w . adj(W_tt) c_t - c_n det(W_tt) + (w . c_t - c_n tr(W_tt)) k - c_n k^2
"""

from __future__ import annotations

import math

from supple.spatial.algebra import Sym3, Vec3
from supple.spatial.compiler import helper, part

ROOTS = 60  #: steps to find the root, most of the time a few
PROX = 1e-9  #: of W: what keeps a touch solvable whose W is singular


@helper
def solved_sym(W, c):
    """x with W x = c, by Cholesky's factors. W is positive definite."""
    a = math.sqrt(W.xx)
    b, e = W.xy / a, W.xz / a
    d = math.sqrt(max(W.yy - b * b, 1e-300))
    f = (W.yz - b * e) / d
    g = math.sqrt(max(W.zz - e * e - f * f, 1e-300))
    x = c.x / a
    y = (c.y - b * x) / d
    z = (c.z - e * x - f * y) / (g * g)
    y = (y - f * z) / d
    return Vec3((x - b * y - e * z) / a, y, z)


@helper
def too_much(lam, mu):
    """By how much friction exceeds the cone."""
    return math.sqrt(lam.y * lam.y + lam.z * lam.z) - mu * lam.x


@part
def sliding(W, c, mu, k):
    """lam on the rim of the cone: the root of |g + k e| - mu N(k) in k, by Newton's method between bounds. k: to begin
    with, 0 if it is unknown."""
    det, trace, across = W.yy * W.zz - W.yz * W.yz, W.yy + W.zz, W.xy * c.z - W.xz * c.y
    e, f = W.xx * c.y - c.x * W.xy, W.xx * c.z - c.x * W.xz
    g, h = W.zz * e - W.yz * f + across * W.xz, W.yy * f - W.yz * e - across * W.xy
    a, b = W.zz * W.xy - W.yz * W.xz, W.yy * W.xz - W.yz * W.xy  # adj(W_tt) w
    n, m = a * c.y + b * c.z - c.x * det, W.xy * c.y + W.xz * c.z - c.x * trace  # N = n + m k - c_n k^2
    low, high = 0.0, 1e300
    if not k > 0.0:  # as if W were diagonal
        k = W.xx * math.sqrt(c.y * c.y + c.z * c.z) / max(-mu * c.x, 1e-300) - 0.5 * trace
    k = min(max(k, 1e-9 * trace), 1e100 * trace)
    y = z = N = size = 0.0
    for _ in range(ROOTS):
        y, z, N = g + k * e, h + k * f, n + k * (m - k * c.x)
        size = math.sqrt(y * y + z * z)
        more = size - mu * N
        if more > 0.0:
            low = k
        else:
            high = k
        slope = (e * y + f * z) / size - mu * (m - 2.0 * k * c.x) if size > 0.0 else 0.0
        new = k - more / slope if slope < 0.0 else -1.0
        if not low < new < high:
            new = 0.5 * (low + high) if high < 1e300 else 4.0 * k
        if abs(more) <= 1e-14 * size or abs(new - k) <= 1e-15 * k:
            break
        k = new
    D = W.xx * det - a * W.xy - b * W.xz + k * (W.xx * trace - W.xy * W.xy - W.xz * W.xz + k * W.xx)
    share = mu * N / size if size > 0.0 else 0.0
    return Vec3(N / D, -share * y / D, -share * z / D)


@helper
def one_touch(W, c, mu, k):
    """lam, where u = c + W lam and c includes the bias. k: about how fast it slides for its friction, 0 if that is
    unknown."""
    if c.x >= 0.0:
        lam = Vec3(0.0, 0.0, 0.0)
    elif mu == 0.0:
        lam = Vec3(-c.x / W.xx, 0.0, 0.0)
    else:
        lam = solved_sym(W, c) * -1.0
        if too_much(lam, mu) > 0.0:
            lam = sliding(W, c, mu, k)
    return lam


@helper
def stronger(W, share):
    """W with a share of its trace on the diagonal."""
    more = share * (W.xx + W.yy + W.zz)
    return Sym3(W.xx + more, W.xy, W.xz, W.yy + more, W.yz, W.zz + more)


@helper
def fault(W, lam, u, bias, mu):
    """How far lam, which is in its cone, and u are from what they should be: a velocity."""
    r = W.xx
    if r <= 0.0:
        return 0.0
    n = (u.x + bias) / r
    n = lam.x if n > lam.x else n  # not by min: what is no number stays so
    if mu == 0.0:
        return r * abs(n)
    y, z, most = lam.y - u.y / r, lam.z - u.z / r, mu * lam.x
    size = math.sqrt(y * y + z * z)
    share = most / size if size > most else 1.0
    t, s = lam.y - share * y, lam.z - share * z
    return r * math.sqrt(n * n + t * t + s * s)
