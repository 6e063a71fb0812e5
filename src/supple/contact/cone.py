"""One touch: an impulse that pushes, with friction within Coulomb's cone and against the slip.

    0 <= lam_n,  0 <= u_n + bias,  lam_n (u_n + bias) = 0
    |lam_t| <= mu lam_n,  and where u_t is not zero: lam_t = -mu lam_n u_t / |u_t|

with u = c + W lam. This is one statement: lam is in the cone K, u + (bias + mu |u_t|) n is in its dual, and they are
perpendicular [De Saxcé and Feng 1998, The bipotential method]; equivalently, for any r > 0,

    lam = P(lam - r (u + (bias + mu |u_t|) n))        P: the closest point of K

by which a solution is judged, whoever found it.

Sliding: lam_t = -k u_t with k > 0 makes (W_tt + 1/k) lam_t = -(c_t + W_tn lam_n), so that for every k there is one lam,
and |lam_t| = mu lam_n picks k. Between k = 0, where friction is too small, and sticking, where it is too large, there
is a root.
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
def slid(W, c, k):
    """lam for a given 1/k."""
    yy, yz, zz = W.yy + k, W.yz, W.zz + k
    det = yy * zz - yz * yz
    # M^-1 W_tn and M^-1 c_t
    ay, az = (zz * W.xy - yz * W.xz) / det, (yy * W.xz - yz * W.xy) / det
    cy, cz = (zz * c.y - yz * c.z) / det, (yy * c.z - yz * c.y) / det
    n = (W.xy * cy + W.xz * cz - c.x) / (W.xx - W.xy * ay - W.xz * az)
    return Vec3(n, -(cy + ay * n), -(cz + az * n))


@helper
def too_much(lam, mu):
    """By how much friction exceeds the cone."""
    return math.sqrt(lam.y * lam.y + lam.z * lam.z) - mu * lam.x


@part
def sliding(W, c, mu):
    """lam on the rim of the cone: the root in x, with 1/k = w x / (1 - x), by the Illinois method. w is of the size
    that 1/k = |u_t| / |lam_t| has."""
    slip = math.sqrt(c.y * c.y + c.z * c.z)
    w = W.yy + W.zz + slip * W.xx / max(-mu * c.x, 1e-100 * slip)
    low, high = 0.0, 1.0
    f, g = too_much(slid(W, c, 0.0), mu), mu * c.x / W.xx  # c.x < 0
    lam, size = Vec3(-c.x / W.xx, 0.0, 0.0), -g
    for step in range(ROOTS):
        if high - low < 1e-14:
            break
        x = low + (high - low) * (f / (f - g)) if step % 4 < 3 else 0.5 * (low + high)
        x = min(max(x, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
        lam = slid(W, c, w * x / (1.0 - x))
        y = too_much(lam, mu)
        if abs(y) <= 1e-14 * size:
            break
        if y > 0.0:
            low, f, g = x, y, 0.5 * g if step > 0 else g
        else:
            high, g, f = x, y, 0.5 * f if step > 0 else f
    across = math.sqrt(lam.y * lam.y + lam.z * lam.z)
    share = mu * lam.x / across if across > 0.0 else 0.0
    return Vec3(lam.x, lam.y * share, lam.z * share)


@helper
def one_touch(W, c, mu):
    """lam, where u = c + W lam and c includes the bias."""
    if c.x >= 0.0:
        lam = Vec3(0.0, 0.0, 0.0)
    elif mu == 0.0:
        lam = Vec3(-c.x / W.xx, 0.0, 0.0)
    else:
        lam = solved_sym(W, c) * -1.0
        if too_much(lam, mu) > 0.0:
            lam = sliding(W, c, mu)
    return lam


@helper
def stronger(W, share):
    """W with a share of its trace on the diagonal."""
    more = share * (W.xx + W.yy + W.zz)
    return Sym3(W.xx + more, W.xy, W.xz, W.yy + more, W.yz, W.zz + more)


@helper
def on_cone(x, mu):
    """P: the closest point of the cone |x_t| <= mu x_n."""
    across = math.sqrt(x.y * x.y + x.z * x.z)
    if across <= mu * x.x and x.x >= 0.0:
        out = x
    elif mu * across <= -x.x:
        out = Vec3(0.0, 0.0, 0.0)
    else:
        n = (x.x + mu * across) / (1.0 + mu * mu)
        share = mu * n / across
        out = Vec3(n, share * x.y, share * x.z)
    return out


@helper
def cone_slope(x, mu):
    """The derivative of P at x, a symmetric matrix."""
    across = math.sqrt(x.y * x.y + x.z * x.z)
    if across <= mu * x.x and x.x >= 0.0:
        out = Sym3(1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
    elif mu * across <= -x.x:
        out = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    else:  # g g^T along the rim, and what of the circle about the axis is there
        y, z = x.y / across, x.z / across
        d = 1.0 / (1.0 + mu * mu)
        k, r = mu * d * (x.x + mu * across) / across, mu * mu * d
        out = Sym3(d, mu * y * d, mu * z * d, r * y * y + k * z * z, (r - k) * y * z, r * z * z + k * y * y)
    return out


@helper
def fault(W, lam, u, bias, mu):
    """How far lam and u are from what they should be: a velocity."""
    r = W.xx
    if r <= 0.0:
        return 0.0
    slip = math.sqrt(u.y * u.y + u.z * u.z)
    x = on_cone(Vec3(lam.x - (u.x + bias + mu * slip) / r, lam.y - u.y / r, lam.z - u.z / r), mu)
    if mu == 0.0:
        x = Vec3(x.x, lam.y, lam.z)
    a, b, c = x.x - lam.x, x.y - lam.y, x.z - lam.z
    return r * math.sqrt(a * a + b * b + c * c)
