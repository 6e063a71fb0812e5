"""Two stretches of a path joined at a joint [QS (1) to (10)]: the coefficients of the longer one, and of the joint.

Letters are those of coefficients.py. `*_forces` renews what depends on forces, where positions stay as they are.
"""

from __future__ import annotations

from supple.assembly.coefficients import (
    BB,
    BETA,
    BOT,
    BT,
    CROSS,
    ETA,
    FB,
    FT,
    GAMMA,
    GAMMA_A,
    GAMMA_B,
    JOINT,
    PB,
    PT,
    QV,
    SBOT,
    SCALE,
    SCROSS,
    SS,
    STOP,
    T1,
    T2,
    TAIL,
    TOP,
    WR,
    WU,
    XA,
    XB,
    XV,
    YS,
    ZS,
    M,
    W,
    Y,
    Z,
)
from supple.assembly.elimination import copy_allowed, eliminate, joint_rows, stiffen
from supple.assembly.rounding import join_scale, set_join_scales
from supple.assembly.turning import (
    back,
    forth,
    lower_both,
    lower_rows,
    lower_vector,
    moved_both,
    moved_rows,
    times,
    to_lower,
)
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import dot, minus, plus, product, product_T, rows, set_rows, set_six, six, zero_rows


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
    set_join_scales(out, oa, ob, oc, oj, sa, sb, k, below, w, turned)


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
        scale = join_scale(t, j, out, oa, ob, tail, ot, sa, sb, w, turned, k, force)
        if sa:
            eta, scale = eta + item(out, oa + ETA), scale + item(out, oa + SCALE)
        if sb:
            eta, scale = eta + item(out, ob + ETA), scale + item(out, ob + SCALE)
        set_item(out, oc + ETA, eta)
        set_item(out, oc + SCALE, scale)


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
    upper = forth(w, XV, turned)
    beta = upper - lower
    set_six(w, BETA, beta)
    if psi:  # for join_scale
        set_six(w, T1, upper)
        set_six(w, T1 + 6, lower)
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
