"""A body and what hangs on it beside its path: absorbed into it in inertia form, f = I a + z [coefficients.py].

A LEAF is a body with what is absorbed into it; a LIGHT is a whole path, seen by the body its first joint hangs on; a
SUM adds two of these.
"""

from __future__ import annotations

from supple.assembly.coefficients import (
    BB,
    BETA,
    BIAS,
    BOT,
    BT,
    CONSTANT,
    CONSTANT_SCALE,
    CROSS,
    ET,
    ETA,
    FB,
    FT,
    GAMMA,
    GAMMA_A,
    GAMMA_B,
    INERTIA,
    JOINT,
    LINEAR,
    MOVED,
    PB,
    PT,
    QUADRATIC,
    QUADRATIC_SCALE,
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
    TOP_SCALE,
    VS,
    WR,
    WU,
    XV,
    C,
    M,
    N,
    V,
    W,
    X,
    Y,
    Z,
)
from supple.assembly.elimination import eliminate, gauss_jordan, joint_rows, stiffen, unit_rows
from supple.assembly.rounding import (
    leaf_scale,
    light_scale,
    lone_scale,
    magnitudes,
    set_leaf_scales,
    set_light_scales,
)
from supple.assembly.stretches import constant, weigh_numbers, weigh_rows
from supple.assembly.turning import lower_both, lower_vector, moved_rows, times, to_lower, transpose_to
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import add_outer, dot, plus, product, product_T, rows, set_rows, set_six, six, zero_rows


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
        set_leaf_scales(t.to_joint, to, out, oc, ol, below)
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
        scale = leaf_scale(out, oc, ol, external, 6 * b) + leaf_scale(out, oc, ol, out, ol + BIAS)
        set_item(out, oc + SCALE, scale + item(out, ol + CONSTANT_SCALE))


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
        if lone:
            set_light_scales(out, oc, oj, w, k, ol + QUADRATIC_SCALE, ol >= 0, turned)
        else:
            set_light_scales(out, oc, oj, w, k, ob + TOP_SCALE, sb, turned)
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
            magnitudes(w, external, 6 * j, out, ol + BIAS, ol >= 0)
            scale = lone_scale(t, j, out, ol, tail, ot, k, force, w)
            if ol >= 0:
                eta, scale = eta + item(out, ol + CONSTANT), scale + item(out, ol + CONSTANT_SCALE)
        else:
            scale = light_scale(t, j, out, ob, tail, ot, sb, w, turned, k, force)
            if sb:
                eta, scale = eta + item(out, ob + ETA), scale + item(out, ob + SCALE)
        set_item(out, oc + CONSTANT, eta)
        set_item(out, oc + CONSTANT_SCALE, scale)


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
        set_six(w, T1, beta)  # for light_scale
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
    if psi:
        set_six(out, oc + QUADRATIC_SCALE, six(out, ol + QUADRATIC_SCALE) + six(out, orr + QUADRATIC_SCALE))


@helper
def sum_forces(out, ol, orr, oc, psi):
    set_six(out, oc + BIAS, six(out, ol + BIAS) + six(out, orr + BIAS))
    if psi:
        set_six(out, oc + LINEAR, six(out, ol + LINEAR) + six(out, orr + LINEAR))
        set_item(out, oc + CONSTANT, item(out, ol + CONSTANT) + item(out, orr + CONSTANT))
        set_item(out, oc + CONSTANT_SCALE, item(out, ol + CONSTANT_SCALE) + item(out, orr + CONSTANT_SCALE))
