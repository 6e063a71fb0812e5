"""What a node knows of itself, from its parts: the articulated-body equation and the total acceleration equation.

A stretch of a path, with forces f1 on its top body and f2 on its bottom one [QS (1), (8)]:

    a1 = Phi1 f1 + Phi12 f2 + b1        a2 = Phi21 f1 + Phi2 f2 + b2
    A  = f1.Psi1 f1 + 2 f2.Psi21 f1 + f2.Psi2 f2 + p1.f1 + p2.f2 + eta        the sum of qdd^2 over its joints

What is absorbed into a body, LIGHT or SUM, when the body accelerates by a, takes force and has total acceleration

    f = I a + z        A = a.P a + p.a + e

All in the adapted bases of frames.py. The bottom handle is in the basis of the joint that follows, before it moves, so
joining only turns it by that joint's E(q). Each stretch is joined again at one of its handles, its principal handle: of
Phi12 and Psi12 the rows are kept that belong to it (CROSS, SCROSS). A stretch at the end of its path has no bottom
handle (it is not `open`).

A joint of a JOIN [QS (2) to (5)], with M = Phi2^A + Phi1^B, beta = b2^A - b1^B, all turned by E:

    f = FT f1 - FB f2 + gamma        FT = W Phi21^A, FB = W Phi12^B        gamma = W beta + Z Q
    qdd = UT f1 - UB f2 + r          r = N Q - Z beta

f is the force on the lower stretch, W is M^-1 with the joint's directions taken out. It is not made from M^-1: the
forbidden rows of M are eliminated, M = L D L^T, which loses fewer digits; then W = V^T V, V being the forbidden rows of
D^-1/2 L^-1, and Z are the allowed rows of L^-1. Armature rho adds Z^T K Z to W, K = (1/rho + N)^-1. A LIGHT has the
same equation, with Phi2^A = 0 and the acceleration of its body in the place of Phi21^A f1.
"""

from __future__ import annotations

import math

from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import (
    Rows,
    add_outer,
    dot,
    make_six,
    minus,
    plus,
    product,
    product_T,
    rows,
    set_rows,
    set_six,
    six,
    swap_pairs,
    zero_rows,
)

# A stretch's coefficients ...
TOP, BOT, CROSS, BT, BB, STILL = 0, 36, 72, 108, 114, 120
STOP, SBOT, SCROSS, PT, PB, ETA, STRETCH = 120, 156, 192, 228, 234, 240, 242
# ... what is absorbed into a body ...
INERTIA, BIAS, QUADRATIC, LINEAR, CONSTANT, ABSORBED = 0, 36, 42, 78, 84, 86
# ... and a joint's, in two parts. On the way down one needs FT, FB, gamma and, of its k degrees of freedom, UT, UB (6 k
# each), r (k); when only forces change, W and then Z (6 k), N (k^2).
FT, FB, GAMMA, JOINT = 0, 36, 72, 78
W, TAIL = 0, 36

# Scratch
M, V, Y, Z, VS, YS, ZS, SS, XA, XB, T1, T2, E, ET, EB, EBT, X = range(0, 17 * 36, 36)
BETA, GAMMA_A, GAMMA_B, QV, XV, ROOM = (17 * 36 + 6 * i for i in range(6))
K, N, C = ROOM, ROOM + 36, ROOM + 72
WU, WR, MOVED = ROOM + 108, ROOM + 144, ROOM + 150
SPARE = ROOM + 156  # the second part of a joint, where it is not kept
LOADS = SPARE + TAIL + 36 + 36 + 8  # what loads.py needs
SCRATCH = LOADS + 512


@helper
def times(w, x, a, k):
    """The vector w[x:x+6] times the matrix of rows a[k:]: the sum of x_i row_i."""
    even = six(a, k) * item(w, x) + six(a, k + 12) * item(w, x + 2) + six(a, k + 24) * item(w, x + 4)
    odd = six(a, k + 6) * item(w, x + 1) + six(a, k + 18) * item(w, x + 3) + six(a, k + 30) * item(w, x + 5)
    return even + odd


@helper
def transpose_to(a, j, w, to):
    """A^T, of the matrix at a[j:], to w[to:]."""
    for i in range(6):
        for l in range(6):
            set_item(w, to + 6 * l + i, item(a, j + 6 * i + l))


# --- turning by the joint -------------------------------------------------------------------------------------------


@helper
def turn_rows(x, c, s):
    """E A of a revolute joint: pairs of rows turn."""
    return Rows(x.r0 * c + x.r1 * s, x.r1 * c - x.r0 * s, x.r2 * c + x.r3 * s, x.r3 * c - x.r2 * s, x.r4, x.r5)


@helper
def turn_row(v, cc, ss):
    return v * cc + swap_pairs(v) * ss


@helper
def cosines(c):
    return make_six(c, c, c, c, 1.0, 1.0)


@helper
def sines(s):
    return make_six(s, -s, s, -s, 0.0, 0.0)


@helper
def turn_both(x, c, s):
    """E A E^T of a revolute joint."""
    x, cc, ss = turn_rows(x, c, s), cosines(c), sines(s)
    return Rows(
        turn_row(x.r0, cc, ss), turn_row(x.r1, cc, ss), turn_row(x.r2, cc, ss),
        turn_row(x.r3, cc, ss), turn_row(x.r4, cc, ss), turn_row(x.r5, cc, ss),
    )  # fmt: skip


@helper
def moved_rows(a, k, w, turned):
    """E A, of the matrix at a[k:]."""
    revolute, c, s, _ = turned
    if revolute:
        return turn_rows(rows(a, k), c, s)
    return product(w, E, a, k)


@helper
def moved_both(a, k, w, turned):
    """E A E^T"""
    revolute, c, s, _ = turned
    if revolute:
        return turn_both(rows(a, k), c, s)
    set_rows(w, X, product(w, E, a, k))
    return product(w, X, w, ET)


@helper
def lower_rows(a, k, w, turned):
    """A matrix of the lower side: itself, or turned, too."""
    return product(w, EB, a, k) if turned[3] else rows(a, k)


@helper
def lower_both(a, k, w, turned):
    if turned[3]:
        set_rows(w, X, product(w, EB, a, k))
        return product(w, X, w, EBT)
    return rows(a, k)


@helper
def lower_vector(w, x, turned):
    """EB x of a vector in scratch."""
    return times(w, x, w, EBT) if turned[3] else six(w, x)


@helper
def to_lower(w, x, turned):
    """EB^T x"""
    return times(w, x, w, EB) if turned[3] else six(w, x)


@helper
def forth(w, x, turned):
    """E x of a vector in scratch."""
    revolute, c, s, _ = turned
    if revolute:
        return turn_row(six(w, x), cosines(c), sines(s))
    return times(w, x, w, ET)


@helper
def back(w, x, turned):
    """E^T x"""
    revolute, c, s, _ = turned
    if revolute:
        return turn_row(six(w, x), cosines(c), sines(-s))
    return times(w, x, w, E)


# --- the joint's elimination ----------------------------------------------------------------------------------------


@helper
def unit_rows():
    return Rows(
        make_six(1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        make_six(0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
        make_six(0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        make_six(0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        make_six(0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        make_six(0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    )


@helper
def eliminate(w, nc, upper, below):
    """The first nc rows of M = L D L^T. V becomes L^-1, and Y and Z, if they are wanted, L^-1 Y and L^-1 Z; VS, YS, ZS
    their first nc rows, divided by the roots of D. Returns the smallest pivot."""
    smallest = 1.0e300
    set_rows(w, V, unit_rows())
    for m in range(nc):
        at = 6 * m
        pivot = item(w, M + 7 * m)
        smallest = pivot if pivot < smallest else smallest
        d = 1.0 / pivot
        root = math.sqrt(d)
        x, v = six(w, M + at), six(w, V + at)
        set_six(w, VS + at, v * root)
        if upper:
            set_six(w, YS + at, six(w, Y + at) * root)
        if below:
            set_six(w, ZS + at, six(w, Z + at) * root)
        for i in range(at + 6, 36, 6):
            l = item(w, M + i + m) * d
            set_six(w, M + i, six(w, M + i) - x * l)
            set_six(w, V + i, six(w, V + i) - v * l)
            if upper:
                set_six(w, Y + i, six(w, Y + i) - six(w, Y + at) * l)
            if below:
                set_six(w, Z + i, six(w, Z + i) - six(w, Z + at) * l)
    return smallest


@helper
def copy_allowed(w, nc):
    """N: the allowed block of what elimination leaves of M."""
    for a in range(6 - nc):
        for b in range(6 - nc):
            set_item(w, N + 6 * a + b, item(w, M + 6 * (nc + a) + nc + b))


@helper
def stiffen(w, armature, j, nc, upper, below):
    """With armature, which is in armature[j:]: K, and C = 1 - N K; K's factor times the allowed rows of V, Y, Z goes to
    VS, YS, ZS. Returns how many rows those then have."""
    k = 6 - nc
    copy_allowed(w, nc)
    any_ = False
    for a in range(k):
        any_ = any_ or item(armature, j + a) != 0.0
    if not any_:
        return nc
    # K = (1 + rho N)^-1 rho, by Gauss and Jordan on [1 + rho N | rho]
    for a in range(k):
        for b in range(k):
            one = 1.0 if a == b else 0.0
            set_item(w, C + 6 * a + b, item(armature, j + a) * item(w, N + 6 * a + b) + one)
            set_item(w, K + 6 * a + b, item(armature, j + a) * one)
    gauss_jordan(w, C, K, k)
    for a in range(k):
        for b in range(k):
            x = 1.0 if a == b else 0.0
            for i in range(k):
                x -= item(w, N + 6 * a + i) * item(w, K + 6 * i + b)
            set_item(w, C + 6 * a + b, x)
    for a in range(k):  # K = L L^T in place; rows without armature are zero
        for i in range(a):
            set_item(w, K + 6 * i + a, 0.0)
        for b in range(a + 1):
            x = item(w, K + 6 * a + b)
            for i in range(b):
                x -= item(w, K + 6 * a + i) * item(w, K + 6 * b + i)
            pivot = item(w, K + 7 * b) if b < a else math.sqrt(max(x, 0.0))
            set_item(w, K + 6 * a + b, pivot if a == b else (x / pivot if pivot > 0.0 else 0.0))
    for a in range(k):
        at = 6 * (nc + a)
        for source, to, wanted in ((V, VS, True), (Y, YS, upper), (Z, ZS, below)):
            if wanted:
                x = six(w, source + at) * item(w, K + 7 * a)
                for b in range(a + 1, k):
                    x += six(w, source + 6 * (nc + b)) * item(w, K + 6 * b + a)
                set_six(w, to + at, x)
    return 6


@helper
def gauss_jordan(w, a, b, k):
    """B = A^-1 B of k x k matrices in scratch, without pivoting. Returns the smallest pivot."""
    smallest = 1.0e300
    for m in range(k):
        pivot = item(w, a + 7 * m)
        smallest = pivot if pivot < smallest else smallest
        d = 1.0 / pivot
        for c in range(k):
            set_item(w, a + 6 * m + c, item(w, a + 6 * m + c) * d)
            set_item(w, b + 6 * m + c, item(w, b + 6 * m + c) * d)
        for i in range(k):
            if i != m:
                l = item(w, a + 6 * i + m)
                for c in range(k):
                    set_item(w, a + 6 * i + c, item(w, a + 6 * i + c) - l * item(w, a + 6 * m + c))
                    set_item(w, b + 6 * i + c, item(w, b + 6 * i + c) - l * item(w, b + 6 * m + c))
    return smallest


@helper
def allowed(w, frm, a, nc, stiff):
    """Row a of C times the allowed rows of a matrix that went through the elimination."""
    if not stiff:
        return six(w, frm + 6 * (nc + a))
    x = six(w, frm + 6 * nc) * item(w, C + 6 * a)
    for b in range(1, 6 - nc):
        x += six(w, frm + 6 * (nc + b)) * item(w, C + 6 * a + b)
    return x


@helper
def joint_rows(w, out, j, tail, o, nc, n, y, below):
    """FT, FB, W and the rows UT, UB, Z, N of a joint, from what went through the elimination; y: Y, or V instead."""
    k, stiff = 6 - nc, n > nc
    set_rows(out, j + FT, product_T(w, VS, w, YS if y == Y else VS, n))
    set_rows(tail, o + W, product_T(w, VS, w, VS, n))
    if below:
        set_rows(out, j + FB, product_T(w, VS, w, ZS, n))
    for a in range(k):
        set_six(out, j + JOINT + 6 * a, allowed(w, y, a, nc, stiff) * -1.0)
        if below:
            set_six(out, j + JOINT + 6 * (k + a), allowed(w, Z, a, nc, stiff) * -1.0)
        set_six(tail, o + TAIL + 6 * a, allowed(w, V, a, nc, stiff))
        for b in range(k):
            x = item(w, N + 6 * a + b)
            if stiff:
                x = 0.0
                for i in range(k):
                    x += item(w, C + 6 * a + i) * item(w, N + 6 * i + b)
            set_item(tail, o + TAIL + 6 * k + k * a + b, x)


# --- joining two stretches ------------------------------------------------------------------------------------------


@helper
def join(t, c, j, out, oa, ob, oc, oj, tail, ot, sa, sb, w, psi, turned, nc, armature):
    """The coefficients of a JOIN c of stretches a and b at joint j [QS (2)]. Returns the smallest pivot.

    oa, ob, oc, oj: where in `out` the coefficients of a, b, c and of the joint lie (its second part: in `tail` at ot);
    sa, sb: whether a and b have joints in them; turned: what turn_of_joint said of the joint; nc: how many directions
    it forbids; armature: whether it may have some.
    """
    below = item(t.open, c) != 0
    right = item(t.right, item(t.up, c)) == c
    set_rows(w, M, plus(moved_both(out, oa + BOT, w, turned), lower_both(out, ob + TOP, w, turned)))
    set_rows(w, Y, moved_rows(out, oa + CROSS, w, turned))
    if below:
        set_rows(w, Z, lower_rows(out, ob + CROSS, w, turned))
    smallest = eliminate(w, nc, True, below)
    if armature:
        n = stiffen(w, t.armature, item(t.iv, j), nc, True, below)
    else:
        n = nc
        copy_allowed(w, nc)
    joint_rows(w, out, oj, tail, ot, nc, n, Y, below)
    set_rows(out, oc + TOP, minus(rows(out, oa + TOP), product_T(w, YS, w, YS, n)))
    if below:
        set_rows(out, oc + BOT, minus(rows(out, ob + BOT), product_T(w, ZS, w, ZS, n)))
        if right:
            set_rows(out, oc + CROSS, product_T(w, YS, w, ZS, n))
        else:
            set_rows(out, oc + CROSS, product_T(w, ZS, w, YS, n))
    if psi:
        join_totals(t, j, out, oa, ob, oc, oj, sa, sb, w, turned, below, right, 6 - nc)
    return smallest


@helper
def join_totals(t, j, out, oa, ob, oc, oj, sa, sb, w, turned, below, right, k):
    """Psi of a JOIN [QS (9)], from the joint's rows."""
    if sa:
        set_rows(w, SS, moved_both(out, oa + SBOT, w, turned))
        set_rows(w, XA, moved_rows(out, oa + SCROSS, w, turned))
    else:
        set_rows(w, SS, zero_rows())
        set_rows(w, XA, zero_rows())
    if sb:
        set_rows(w, SS, plus(rows(w, SS), lower_both(out, ob + STOP, w, turned)))
    if below:
        set_rows(w, XB, lower_rows(out, ob + SCROSS, w, turned) if sb else zero_rows())
    ut, ub = oj + JOINT, oj + JOINT + 6 * k
    set_rows(w, T1, minus(product(w, SS, out, oj + FT), rows(w, XA)))
    x = minus(product_T(out, oj + FT, w, T1, 6), product_T(w, XA, out, oj + FT, 6))
    weigh_rows(t, j, k, out, ut, w)
    x = plus(x, product_T(out, ut, w, WU, k))
    set_rows(out, oc + STOP, plus(x, rows(out, oa + STOP)) if sa else x)
    if below:
        set_rows(w, T2, minus(product(w, SS, out, oj + FB), rows(w, XB)))
        x = minus(product_T(out, oj + FB, w, T2, 6), product_T(w, XB, out, oj + FB, 6))
        weigh_rows(t, j, k, out, ub, w)
        x = plus(x, product_T(out, ub, w, WU, k))
        set_rows(out, oc + SBOT, plus(x, rows(out, ob + SBOT)) if sb else x)
        if right:  # Psi12 = (Psi21)^T
            x = minus(product_T(out, oj + FT, w, XB, 6), product_T(w, T1, out, oj + FB, 6))
            x = minus(x, product_T(out, ut, w, WU, k))
        else:
            x = minus(product_T(w, XB, out, oj + FT, 6), product_T(out, oj + FB, w, T1, 6))
            x = minus(x, product_T(w, WU, out, ut, k))
        set_rows(out, oc + SCROSS, x)


@helper
def join_forces(t, c, j, out, oa, ob, oc, oj, tail, ot, sa, sb, w, psi, turned, k, force):
    """What of a JOIN depends on forces: gamma, r, b, and p and eta. force: the joints' own, at their place in v."""
    r = oj + JOINT + 12 * k
    x, sx, p = join_linear(
        t, c, j, out, oa, ob, oj, tail, ot, sa, sb, w, psi, turned, k, force, 1.0, out, oa, out, ob, out, oc, out, r
    )
    set_six(out, oj + GAMMA, x)
    if psi:
        eta = constant(x, sx, p, w, out, r, k)
        if sa:
            eta += item(out, oa + ETA)
        if sb:
            eta += item(out, ob + ETA)
        set_item(out, oc + ETA, eta)


@helper
def join_linear(
    t, c, j, out, oa, ob, oj, tail, ot, sa, sb, w, psi, turned, k, force, drive, xa, la, xb, lb, xc, lc, xr, r
):
    """b and p of a JOIN, at xc[lc:], from those of its parts, at xa[la:] and xb[lb:]; its r goes to xr[r:]. drive: what
    part of `force` is to be taken. Returns what `constant` needs."""
    below, iv = item(t.open, c) != 0, item(t.iv, j)
    ut, ub = oj + JOINT, oj + JOINT + 6 * k
    z, n = ot + TAIL, ot + TAIL + 6 * k
    set_six(w, XV, six(xb, lb + BT))
    lower = lower_vector(w, XV, turned)
    set_six(w, XV, six(xa, la + BB))
    beta = forth(w, XV, turned) - lower
    set_six(w, BETA, beta)
    gamma = times(w, BETA, tail, ot + W)
    top = six(xa, la + BT) - times(w, BETA, out, oj + FT)
    for i in range(k):
        x = 0.0
        for l in range(k):
            x += item(tail, n + k * i + l) * item(force, iv + l)
        set_item(xr, r + i, x * drive - dot(six(tail, z + 6 * i), beta))
        gamma += six(tail, z + 6 * i) * (item(force, iv + i) * drive)
        top += six(out, ut + 6 * i) * (item(force, iv + i) * drive)
    set_six(xc, lc + BT, top)
    if below:
        bottom = six(xb, lb + BB) + times(w, BETA, out, oj + FB)
        for i in range(k):
            bottom -= six(out, ub + 6 * i) * (item(force, iv + i) * drive)
        set_six(xc, lc + BB, bottom)
    ps, sg = gamma * 0.0, gamma * 0.0
    if psi:
        set_six(w, XV, gamma)
        set_six(w, GAMMA_A, back(w, XV, turned))
        set_six(w, GAMMA_B, to_lower(w, XV, turned))
        p_top, p_bottom = gamma * 0.0, gamma * 0.0
        if sa:
            set_six(w, QV, times(w, GAMMA_A, out, oa + SBOT))
            sg = forth(w, QV, turned)
            set_six(w, QV, six(xa, la + PB))
            ps = forth(w, QV, turned) * -1.0
            p_top = six(xa, la + PT) - times(w, GAMMA_A, out, oa + SCROSS) * 2.0
        if sb:
            set_six(w, QV, times(w, GAMMA_B, out, ob + STOP))
            sg = sg + lower_vector(w, QV, turned)
            set_six(w, QV, six(xb, lb + PT))
            ps = ps + lower_vector(w, QV, turned)
            if below:
                p_bottom = six(xb, lb + PB) + times(w, GAMMA_B, out, ob + SCROSS) * 2.0
        set_six(w, QV, ps + sg * 2.0)
        p_top += times(w, QV, out, oj + FT)
        weigh_numbers(t, j, k, xr, r, w)
        for i in range(k):
            p_top += six(out, ut + 6 * i) * (2.0 * item(w, WR + i))
        set_six(xc, lc + PT, p_top)
        if below:
            p_bottom -= times(w, QV, out, oj + FB)
            for i in range(k):
                p_bottom -= six(out, ub + 6 * i) * (2.0 * item(w, WR + i))
            set_six(xc, lc + PB, p_bottom)
    return gamma, sg, ps


@helper
def weigh_numbers(t, j, k, x, at, w):
    """The weight of joint j times its k numbers at x[at:], to WR."""
    for i in range(k):
        total = 0.0
        for l in range(k):
            total += item(t.weight, item(t.iw, j) + k * i + l) * item(x, at + l)
        set_item(w, WR + i, total)


@helper
def weigh_rows(t, j, k, a, at, w):
    """The weight of joint j times its k rows at a[at:], to WU."""
    for i in range(k):
        row = six(a, at) * item(t.weight, item(t.iw, j) + k * i)
        for l in range(1, k):
            row += six(a, at + 6 * l) * item(t.weight, item(t.iw, j) + k * i + l)
        set_six(w, WU + 6 * i, row)


@helper
def constant(x, sx, p, w, xr, r, k):
    """What a node adds to eta: x.S x + p.x of the vector by which it moves its parts, and r.A r of its joint."""
    eta = dot(x, sx) + dot(p, x)
    for i in range(k):
        eta += item(xr, r + i) * item(w, WR + i)
    return eta


# --- a body and what is absorbed into it ----------------------------------------------------------------------------


@helper
def leaf(t, b, node, left, out, oc, ol, w, psi):
    """The coefficients of a LEAF that is on a path: body b and what is absorbed into it, at ol. The smallest pivot."""
    inertia = rows(t.inertia, 36 * b)
    set_rows(w, M, plus(inertia, rows(out, ol + INERTIA)) if left else inertia)
    smallest = eliminate(w, 6, False, False)
    set_rows(out, oc + TOP, product_T(w, VS, w, VS, 6))
    below = item(t.open, node) != 0
    right = item(t.right, item(t.up, node)) == node
    to = 36 * item(t.heavy, b)
    if below:
        spread(t.to_joint, to, out, oc + TOP, oc + BOT, oc + CROSS, right, w)
    if psi and left:
        set_rows(w, Y, product(out, oc + TOP, out, ol + QUADRATIC))
        set_rows(out, oc + STOP, product(w, Y, out, oc + TOP))
        if below:
            spread(t.to_joint, to, out, oc + STOP, oc + SBOT, oc + SCROSS, right, w)
    return smallest


@helper
def spread(T, to, out, top, bottom, cross, right, w):
    """From a symmetric matrix of a body, T A T^T, and T A (or, right, A T^T) for its bottom handle."""
    transpose_to(T, to, w, ET)
    set_rows(w, X, product(T, to, out, top))
    set_rows(out, bottom, product(w, X, w, ET))
    set_rows(out, cross, product(out, top, w, ET) if right else rows(w, X))


@helper
def leaf_forces(t, b, node, left, out, oc, ol, w, psi, external):
    """What of a LEAF depends on forces. external: on the bodies, six numbers each, in their bases."""
    x, sx, p = leaf_linear(t, b, node, left, out, oc, ol, w, psi, external, 6 * b, out, ol, out, oc)
    if psi and left:
        set_item(out, oc + ETA, constant(x, sx, p, w, w, WR, 0) + item(out, ol + CONSTANT))


@helper
def leaf_linear(t, b, node, left, out, oc, ol, w, psi, external, e, xl, ll, xc, lc):
    """b and p of a LEAF, at xc[lc:], under the force at external[e:], from what is absorbed into it, at xl[ll:].
    Returns what `constant` needs."""
    z = six(external, e)
    if left:
        z = z - six(xl, ll + BIAS)
    set_six(w, XV, z)
    b1 = times(w, XV, out, oc + TOP)
    set_six(xc, lc + BT, b1)
    below = item(t.open, node) != 0
    right = item(t.right, item(t.up, node)) == node
    if below:
        at_bottom(out, xc, lc + BB, z, w, XV, oc + CROSS, right)
    pb, p = b1 * 0.0, b1 * 0.0
    if psi and left:
        set_six(w, XV, b1)
        pb = times(w, XV, out, ol + QUADRATIC)
        p = six(xl, ll + LINEAR)
        z = pb * 2.0 + p
        set_six(w, XV, z)
        set_six(xc, lc + PT, times(w, XV, out, oc + TOP))
        if below:
            at_bottom(out, xc, lc + PB, z, w, XV, oc + CROSS, right)
    return b1, pb, p


@helper
def at_bottom(out, xc, to, f, w, x, cross, right):
    """T Phi f to xc[to:], from the rows that the body keeps of it; f is also at w[x:]."""
    if right:
        set_six(xc, to, times(w, x, out, cross))
    else:
        for i in range(6):
            set_item(xc, to + i, dot(six(out, cross + 6 * i), f))


# --- what hangs on a body beside its path ---------------------------------------------------------------------------


@helper
def light(t, j, lone, out, ob, ol, oc, oj, tail, ot, sb, w, psi, turned):
    """A LIGHT: joint j and the path under it, a stretch at ob, or (lone) a single body with what is absorbed into it at
    ol (-1: nothing). E T, from the basis of the body above, is kept in the place of FB. Returns the smallest pivot."""
    nc = item(t.forbidden, j)
    k = 6 - nc
    set_rows(out, oj + FB, moved_rows(t.to_joint, 36 * j, w, turned))
    if lone:
        smallest = light_body(t, j, out, ol, oj, tail, ot, w, nc, turned)
    else:
        set_rows(w, M, lower_both(out, ob + TOP, w, turned))
        smallest = eliminate(w, nc, False, False)
        n = stiffen(w, t.armature, item(t.iv, j), nc, False, False)
        joint_rows(w, out, oj, tail, ot, nc, n, V, False)
        if psi:
            set_rows(w, SS, lower_both(out, ob + STOP, w, turned) if sb else zero_rows())
            set_rows(w, T1, rows(out, oj + FT))
    congruence(out, oj + FT, out, oj + FB, out, oc + INERTIA, w)
    if psi:
        ut = oj + JOINT
        set_rows(w, T2, product(w, SS, w, T1))
        weigh_rows(t, j, k, out, ut, w)
        set_rows(w, Y, plus(product_T(w, T1, w, T2, 6), product_T(out, ut, w, WU, k)))
        congruence(w, Y, out, oj + FB, out, oc + QUADRATIC, w)
    return smallest


@helper
def light_body(t, j, out, ol, oj, tail, ot, w, nc, turned):
    """A joint with a single body under it, in inertia form: nothing is inverted but the joint's own inertia, so a body
    without inertia in the forbidden directions will do. N is that inverse. Leaves the quadratic part in SS, and in T1
    the body's acceleration for one of the joint's frame, 1 + S UT."""
    k, iv = 6 - nc, item(t.iv, j)
    inertia = rows(t.inertia, 36 * j)
    set_rows(w, T1, plus(inertia, rows(out, ol + INERTIA)) if ol >= 0 else inertia)
    set_rows(w, M, lower_both(w, T1, w, turned))
    set_rows(w, SS, lower_both(out, ol + QUADRATIC, w, turned) if ol >= 0 else zero_rows())
    for a in range(k):
        for b in range(k):
            one = 1.0 if a == b else 0.0
            set_item(w, C + 6 * a + b, item(w, M + 6 * (nc + a) + nc + b) + one * item(t.armature, iv + a))
            set_item(w, N + 6 * a + b, one)
    smallest = gauss_jordan(w, C, N, k)
    set_rows(w, T1, unit_rows())
    f = rows(w, M)
    for a in range(k):
        u = six(w, M + 6 * nc) * item(w, N + 6 * a)
        for b in range(1, k):
            u += six(w, M + 6 * (nc + b)) * item(w, N + 6 * a + b)
        u = u * -1.0
        set_six(out, oj + JOINT + 6 * a, u)
        set_six(w, T1 + 6 * (nc + a), six(w, T1 + 6 * (nc + a)) + u)
        f = add_outer(f, w, M + 6 * (nc + a), 1, u)
        for b in range(k):
            set_item(tail, ot + TAIL + 6 * k + k * a + b, item(w, N + 6 * a + b))
    set_rows(out, oj + FT, f)
    return smallest


@helper
def congruence(a, j, x, k, out, to, w):
    """X^T A X of a symmetric A, made symmetric again."""
    set_rows(w, X, product(a, j, x, k))
    set_rows(w, Z, product_T(x, k, w, X, 6))
    for i in range(6):
        for l in range(6):
            set_item(out, to + 6 * i + l, 0.5 * (item(w, Z + 6 * i + l) + item(w, Z + 6 * l + i)))


@helper
def light_forces(t, j, lone, out, ob, ol, oc, oj, tail, ot, sb, w, psi, turned, force, external):
    """What of a LIGHT depends on forces."""
    k = 6 - item(t.forbidden, j)
    r = oj + JOINT + 12 * k
    gamma, x, sx, p = light_linear(
        t, j, lone, out, ob, ol, oj, tail, ot, sb, w, psi, turned, force, 1.0, external, 6 * j, out, ob, out, ol, False,
        out, oc, out, r,
    )  # fmt: skip
    set_six(out, oj + GAMMA, gamma)
    if psi:
        eta = constant(x, sx, p, w, out, r, k)
        if lone:
            eta += item(out, ol + CONSTANT) if ol >= 0 else 0.0
        elif sb:
            eta += item(out, ob + ETA)
        set_item(out, oc + CONSTANT, eta)


@helper
def light_linear(
    t, j, lone, out, ob, ol, oj, tail, ot, sb, w, psi, turned, force, drive, external, e, xb, lb, xl, ll, moved, xc,
    lc, xr, r,
):  # fmt: skip
    """z and p of a LIGHT, at xc[lc:], from the path under it, at xb[lb:], or, lone, from the force at external[e:] and
    what is absorbed, at xl[ll:]; moved: lone, its body has, when no joint accelerates, the acceleration at MOVED. Its r
    goes to xr[r:]. Returns gamma, and what `constant` needs."""
    k, iv = 6 - item(t.forbidden, j), item(t.iv, j)
    ut, z, n = oj + JOINT, ot + TAIL, ot + TAIL + 6 * k
    if lone:
        zeta = six(external, e) * -1.0
        if ol >= 0:
            zeta = zeta + six(xl, ll + BIAS)
        if moved:
            zeta = zeta + times(w, MOVED, t.inertia, 36 * j)
            if ol >= 0:
                zeta = zeta + times(w, MOVED, out, ol + INERTIA)
        set_six(w, XV, zeta)
        zeta = lower_vector(w, XV, turned)
        set_six(w, BETA, zeta)
        gamma = zeta
        for i in range(k):
            x = item(force, iv + i) * drive - item(w, BETA + 6 - k + i)
            gamma -= six(out, ut + 6 * i) * x
            total = 0.0
            for l in range(k):
                total += item(tail, n + k * i + l) * (item(force, iv + l) * drive - item(w, BETA + 6 - k + l))
            set_item(xr, r + i, total)
    else:
        set_six(w, XV, six(xb, lb + BT) * -1.0)
        beta = lower_vector(w, XV, turned)
        set_six(w, BETA, beta)
        gamma = times(w, BETA, tail, ot + W)
        for i in range(k):
            x = 0.0
            for l in range(k):
                x += item(tail, n + k * i + l) * item(force, iv + l)
            set_item(xr, r + i, x * drive - dot(six(tail, z + 6 * i), beta))
            gamma += six(tail, z + 6 * i) * (item(force, iv + i) * drive)
    set_six(w, XV, gamma)
    set_six(xc, lc + BIAS, times(w, XV, out, oj + FB))
    x, sx, p = gamma * 0.0, gamma * 0.0, gamma * 0.0
    if psi:
        linear = gamma * 0.0
        if lone:
            if ol >= 0:  # a = (1 + S UT) a' + S r, and what `moved` says
                for i in range(6):
                    set_item(w, GAMMA_A + i, 0.0)
                for i in range(k):
                    set_item(w, GAMMA_A + 6 - k + i, item(xr, r + i))
                x = to_lower(w, GAMMA_A, turned)
                if moved:
                    x = x + six(w, MOVED)
                set_six(w, GAMMA_B, x)
                sx = times(w, GAMMA_B, out, ol + QUADRATIC)
                p = six(xl, ll + LINEAR)
                set_six(w, QV, sx * 2.0 + p)
                linear = lower_vector(w, QV, turned)
                set_six(w, QV, linear)
                for i in range(k):
                    linear += six(out, ut + 6 * i) * item(w, QV + 6 - k + i)
        elif sb:
            x = to_lower(w, XV, turned)
            set_six(w, GAMMA_B, x)
            sx = times(w, GAMMA_B, out, ob + STOP)
            p = six(xb, lb + PT)
            set_six(w, QV, sx * 2.0 + p)
            set_six(w, QV, lower_vector(w, QV, turned))
            linear = times(w, QV, out, oj + FT)
        weigh_numbers(t, j, k, xr, r, w)
        for i in range(k):
            linear += six(out, ut + 6 * i) * (2.0 * item(w, WR + i))
        set_six(w, XV, linear)
        set_six(xc, lc + LINEAR, times(w, XV, out, oj + FB))
    return gamma, x, sx, p


@helper
def sum_up(out, ol, orr, oc, psi):
    """A SUM: the inertias of its parts."""
    for i in range(0, 36, 6):
        set_six(out, oc + INERTIA + i, six(out, ol + INERTIA + i) + six(out, orr + INERTIA + i))
        if psi:
            set_six(out, oc + QUADRATIC + i, six(out, ol + QUADRATIC + i) + six(out, orr + QUADRATIC + i))


@helper
def sum_forces(out, ol, orr, oc, psi):
    set_six(out, oc + BIAS, six(out, ol + BIAS) + six(out, orr + BIAS))
    if psi:
        set_six(out, oc + LINEAR, six(out, ol + LINEAR) + six(out, orr + LINEAR))
        set_item(out, oc + CONSTANT, item(out, ol + CONSTANT) + item(out, orr + CONSTANT))
