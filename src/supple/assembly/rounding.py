"""What rounding can do to totals: their scales.

The total of a node, A = f.Psi f + p.f + eta, is a difference of large numbers where forces are in balance (motors hold
a posture): eta is what the joints would do without the handle forces. Psi, too, is a difference, where a light body is
joined to a heavy one. So beside each goes its scale, the sum of the magnitudes that it was made from:

    Psi1     psi1 = psi1^A + FT^2 psi + UT^2        psi = psi2^A + psi1^B        (Psi2 alike, with FB, UB and psi2^B)
    eta      scale = scale^A + scale^B + psi.g^2 + r^2

psi1, psi2 and psi are diagonals, six numbers, and squares are of entries: (FT^2 psi)_i = sum_k FT_ki^2 psi_k. g are the
forces, and r the accelerations, that b2^A, b1^B and Q cause at the joint, each alone. Then A is right to within a
relative error of

    psi1.f1^2 + psi2.f2^2 + scale        [adaptive/totals.py]

and an acceleration to within one of its root. What the relative error is, is measured [adaptive/quasistatics.py]: it
depends on the digits that mobilities lose, Phi1^A - Phi12^A W Phi21^A, and divided by these scales it hardly depends on
the forces.
"""

from __future__ import annotations

from supple.assembly.coefficients import (
    BIAS,
    BOT_SCALE,
    CONSTANT_SCALE,
    EB,
    FB,
    FT,
    JOINT,
    QUADRATIC_SCALE,
    SCALE,
    T1,
    TAIL,
    TOP,
    TOP_SCALE,
    XV,
    E,
    W,
)
from supple.assembly.turning import cosines, times, turn_row
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import dot, make_six, set_six, six


@helper
def nothing():
    return make_six(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def squares(a, k, n, w, x):
    """The sum of x_i row_i^2 over n rows at a[k:], x being at w[x:]."""
    total = nothing()
    for i in range(n):
        total += six(a, k + 6 * i) * six(a, k + 6 * i) * item(w, x + i)
    return total


@helper
def row_squares(a, k, n):
    """The sum of row^2 over n rows at a[k:]."""
    total = nothing()
    for i in range(n):
        total += six(a, k + 6 * i) * six(a, k + 6 * i)
    return total


@helper
def spread_squares(a, k, psi, w, to):
    """row_i^2 . psi of each row at a[k:], to w[to:]."""
    for i in range(6):
        row = six(a, k + 6 * i)
        set_item(w, to + i, dot(row * row, psi))


@helper
def joint_psi(out, oa, ob, sa, sb, w, turned):
    """psi of a JOIN, as its joint has it."""
    psi = nothing()
    if sa:
        psi = six(out, oa + BOT_SCALE)
        if turned[0]:
            psi = turn_row(psi, cosines(turned[1] * turned[1]), swaps(turned[2] * turned[2]))
        else:
            spread_squares(w, E, psi, w, XV)
            psi = six(w, XV)
    if sb:
        psi = psi + lower_psi(out, ob + TOP_SCALE, w, turned)
    return psi


@helper
def swaps(s):
    return make_six(s, s, s, s, 0.0, 0.0)


@helper
def lower_psi(out, at, w, turned):
    """The psi at out[at:] of the lower side, as the joint has it."""
    psi = six(out, at)
    if turned[3]:
        spread_squares(w, EB, psi, w, XV)
        psi = six(w, XV)
    return psi


# --- of matrices ------------------------------------------------------------------------------------------------------


@helper
def set_join_scales(out, oa, ob, oc, oj, sa, sb, k, below, w, turned):
    """psi1 and psi2 of a JOIN, from the joint's rows."""
    set_six(w, XV, joint_psi(out, oa, ob, sa, sb, w, turned))
    ut, ub = oj + JOINT, oj + JOINT + 6 * k
    top = squares(out, oj + FT, 6, w, XV) + row_squares(out, ut, k)
    set_six(out, oc + TOP_SCALE, top + six(out, oa + TOP_SCALE) if sa else top)
    if below:
        bottom = squares(out, oj + FB, 6, w, XV) + row_squares(out, ub, k)
        set_six(out, oc + BOT_SCALE, bottom + six(out, ob + BOT_SCALE) if sb else bottom)


@helper
def set_leaf_scales(T, to, out, oc, ol, below):
    """Of a LEAF with something absorbed into it: Psi1 = Phi1 P Phi1."""
    psi = squares(out, oc + TOP, 6, out, ol + QUADRATIC_SCALE)
    set_six(out, oc + TOP_SCALE, psi)
    if below:
        spread_squares(T, to, psi, out, oc + BOT_SCALE)


@helper
def set_light_scales(out, oc, oj, w, k, at, some, turned):
    """Of a LIGHT; at out[at:] is, if there is some, the psi of what is under its joint. T1: what that is told for a
    unit acceleration of the joint's frame. E T, of the body above, lies in the place of FB."""
    below = row_squares(out, oj + JOINT, k)
    if some:
        set_six(w, XV, lower_psi(out, at, w, turned))
        below = below + squares(w, T1, 6, w, XV)
    set_six(w, XV, below)
    set_six(out, oc + QUADRATIC_SCALE, squares(out, oj + FB, 6, w, XV))


# --- of what depends on forces ----------------------------------------------------------------------------------------


@helper
def own_square(t, j, k, tail, ot, w, force, psi):
    """r^2 of joint j, weighted, and psi.(Z Q)^2; of the terms that the accelerations at T1 and T1 + 6 and the joint's
    forces cause, each alone."""
    z, n, iv, iw = ot + TAIL, ot + TAIL + 6 * k, item(t.iv, j), item(t.iw, j)
    square = 0.0
    for i in range(k):
        row = six(tail, z + 6 * i)
        r = abs(dot(row, six(w, T1))) + abs(dot(row, six(w, T1 + 6)))
        for l in range(k):
            r += abs(item(tail, n + k * i + l) * item(force, iv + l))
        square += k * item(t.weight, iw + k * i + i) * r * r
        square += 3.0 * k * dot(row * row, psi) * item(force, iv + i) * item(force, iv + i)
    return square


@helper
def set_join_scale(t, j, out, oa, ob, oc, tail, ot, sa, sb, w, turned, k, force):
    """Of a JOIN; b2^A and b1^B are at T1 and T1 + 6, as the joint has them."""
    psi = joint_psi(out, oa, ob, sa, sb, w, turned)
    scale = own_square(t, j, k, tail, ot, w, force, psi)
    upper, lower = times(w, T1, tail, ot + W), times(w, T1 + 6, tail, ot + W)
    scale += 3.0 * dot(psi, upper * upper + lower * lower)
    if sa:
        scale += item(out, oa + SCALE)
    if sb:
        scale += item(out, ob + SCALE)
    set_item(out, oc + SCALE, scale)


@helper
def set_light_scale(t, j, out, ob, oc, tail, ot, sb, w, turned, k, force):
    """Of a LIGHT with a path under it, whose b1 is at T1."""
    psi = nothing()
    set_six(w, T1 + 6, psi)
    if sb:
        psi = lower_psi(out, ob + TOP_SCALE, w, turned)
    scale = own_square(t, j, k, tail, ot, w, force, psi)
    if sb:
        upper = times(w, T1, tail, ot + W)
        scale += item(out, ob + SCALE) + 2.0 * dot(psi, upper * upper)
    set_item(out, oc + CONSTANT_SCALE, scale)


@helper
def set_lone_scale(t, j, out, ol, oc, tail, ot, k, force, external):
    """Of a LIGHT with a single body under it: what the force on that body, what is absorbed into it, at ol (-1:
    nothing), and the joint's own force cause."""
    n, iv, iw = ot + TAIL + 6 * k, item(t.iv, j), item(t.iw, j)
    square = item(out, ol + CONSTANT_SCALE) if ol >= 0 else 0.0
    for i in range(k):
        r = 0.0
        for l in range(k):
            at = 6 - k + l
            f = abs(item(force, iv + l)) + abs(item(external, 6 * j + at))
            if ol >= 0:
                f += abs(item(out, ol + BIAS + at))
            r += abs(item(tail, n + k * i + l)) * f
        square += k * item(t.weight, iw + k * i + i) * r * r
        if ol >= 0:
            square += 2.0 * item(out, ol + QUADRATIC_SCALE + 6 - k + i) * r * r
    set_item(out, oc + CONSTANT_SCALE, square)


@helper
def set_leaf_scale(out, oc, ol, w, external, e):
    """Of a LEAF with something absorbed into it: accelerations that the force on it, at external[e:], and what is
    absorbed cause."""
    a = times(external, e, out, oc + TOP)
    set_six(w, XV, six(out, ol + BIAS))
    b = times(w, XV, out, oc + TOP)
    moved = 2.0 * dot(six(out, ol + QUADRATIC_SCALE), a * a + b * b)
    set_item(out, oc + SCALE, item(out, ol + CONSTANT_SCALE) + moved)
