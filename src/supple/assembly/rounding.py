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
    BOT_SCALE,
    EB,
    FB,
    FT,
    JOINT,
    QUADRATIC_SCALE,
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
def join_scale(t, j, out, oa, ob, tail, ot, sa, sb, w, turned, k, force):
    """What a JOIN adds to the scales of its parts; b2^A and b1^B are at T1 and T1 + 6, as the joint has them."""
    psi = joint_psi(out, oa, ob, sa, sb, w, turned)
    upper, lower = times(w, T1, tail, ot + W), times(w, T1 + 6, tail, ot + W)
    return own_square(t, j, k, tail, ot, w, force, psi) + 3.0 * dot(psi, upper * upper + lower * lower)


@helper
def light_scale(t, j, out, ob, tail, ot, sb, w, turned, k, force):
    """What a LIGHT adds to the scale of the path under it, whose b1 is at T1."""
    psi = nothing()
    set_six(w, T1 + 6, psi)
    if sb:
        psi = lower_psi(out, ob + TOP_SCALE, w, turned)
    upper = times(w, T1, tail, ot + W)
    return own_square(t, j, k, tail, ot, w, force, psi) + 2.0 * dot(psi, upper * upper)


@helper
def lone_scale(t, j, out, ol, tail, ot, k, force, w):
    """What a LIGHT with a single body under it adds to the scale of what is absorbed into that, at out[ol:] (-1:
    nothing): under the joint's own force and forces on the body, whose magnitudes are at XV."""
    n, iv, iw = ot + TAIL + 6 * k, item(t.iv, j), item(t.iw, j)
    square = 0.0
    for i in range(k):
        r = 0.0
        for l in range(k):
            r += abs(item(tail, n + k * i + l)) * (abs(item(force, iv + l)) + item(w, XV + 6 - k + l))
        square += k * item(t.weight, iw + k * i + i) * r * r
        if ol >= 0:
            square += 2.0 * item(out, ol + QUADRATIC_SCALE + 6 - k + i) * r * r
    return square


@helper
def leaf_scale(out, oc, ol, x, at):
    """What a LEAF adds to the scale of what is absorbed into it, at out[ol:], under the force at x[at:]."""
    a = times(x, at, out, oc + TOP)
    return 2.0 * dot(six(out, ol + QUADRATIC_SCALE), a * a)


@helper
def magnitudes(w, a, at, b, bt, both):
    """|a[at:]| + |b[bt:]|, the second if there are both, to XV."""
    for i in range(6):
        set_item(w, XV + i, abs(item(a, at + i)) + (abs(item(b, bt + i)) if both else 0.0))
