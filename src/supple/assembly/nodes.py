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

    W = M^-1 with the joint's directions taken out        f = FT f1 - FB f2 + gamma        FT = W Phi21^A, FB = W Phi12^B
    gamma = W beta + Z Q                                  qdd = UT f1 - UB f2 + r          r = N Q - Z beta

f is the force on the lower stretch. W is not made from M^-1: the forbidden rows of M are eliminated, M = L D L^T, which
loses fewer digits; the rows of L^-1 of the allowed directions are Z. Armature rho on them makes W = W + Z K Z^T,
K = (1/rho + N)^-1. A LIGHT has the same equation, with Phi2^A = 0 and the acceleration of its body in the place of
Phi21^A f1.
"""

from __future__ import annotations

from supple.spatial.compiler import helper
from supple.spatial.sixes import dot, make_six, set_six, six, swap_pairs

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
M, Y, Z, V, YH, ZH, WS, SS, XA, XB, T1, T2, E, ET, EB, EBT, X = range(0, 17 * 36, 36)
D, BETA, GAMMA_A, GAMMA_B, QV, PS, SG, XV, ROOM = (17 * 36 + 6 * i for i in range(9))
K, N, C = ROOM, ROOM + 36, ROOM + 72
SPARE = ROOM + 108  # the second part of a joint, where it is not kept
SCRATCH = SPARE + TAIL + 36 + 36 + 8


@helper
def times(w, x, a, k):
    """The vector w[x:x+6] times the matrix of rows a[k:]: the sum of x_i row_i."""
    out = six(a, k) * w[x]
    for i in range(1, 6):
        out += six(a, k + 6 * i) * w[x + i]
    return out


@helper
def row_times(a, j, b, k):
    """A row a[j:j+6] times the matrix b[k:]."""
    out = six(b, k) * a[j]
    for i in range(1, 6):
        out += six(b, k + 6 * i) * a[j + i]
    return out


# --- turning by the joint -------------------------------------------------------------------------------------------


@helper
def cosines(c, s):
    return make_six(c, c, c, c, 1.0, 1.0)


@helper
def sines(c, s):
    return make_six(s, -s, s, -s, 0.0, 0.0)


@helper
def turn_rows(a, k, w, to, c, s):
    """E A of a revolute joint: pairs of rows turn."""
    for i in (0, 2):
        x, y = six(a, k + 6 * i), six(a, k + 6 * i + 6)
        set_six(w, to + 6 * i, x * c + y * s)
        set_six(w, to + 6 * i + 6, y * c - x * s)
    set_six(w, to + 24, six(a, k + 24))
    set_six(w, to + 30, six(a, k + 30))


@helper
def turn_both(a, k, w, to, c, s):
    """E A E^T of a revolute joint."""
    turn_rows(a, k, w, to, c, s)
    cc, ss = cosines(c, s), sines(c, s)
    for i in range(6):
        x = six(w, to + 6 * i)
        set_six(w, to + 6 * i, x * cc + swap_pairs(x) * ss)


@helper
def move_rows(a, k, w, to, e):
    """E A, E at w[e:]."""
    for i in range(6):
        set_six(w, to + 6 * i, row_times(w, e + 6 * i, a, k))


@helper
def move_both(a, k, w, to, e, et):
    """E A E^T, E at w[e:], its transpose at w[et:]."""
    move_rows(a, k, w, X, e)
    for i in range(6):
        set_six(w, to + 6 * i, row_times(w, X + 6 * i, w, et))


@helper
def forth(w, x, revolute, c, s):
    """E x of a vector in scratch."""
    if revolute:
        v = six(w, x)
        return v * cosines(c, s) + swap_pairs(v) * sines(c, s)
    return times(w, x, w, ET)


@helper
def back(w, x, revolute, c, s):
    """E^T x"""
    if revolute:
        v = six(w, x)
        return v * cosines(c, s) - swap_pairs(v) * sines(c, s)
    return times(w, x, w, E)


# --- the joint's elimination ----------------------------------------------------------------------------------------


@helper
def eliminate(w, nc):
    """The first nc rows of M = L D L^T; V becomes L^-1, D the reciprocals. Returns the smallest pivot."""
    smallest = 1.0e300
    for i in range(6):
        w[D + i] = 0.0
    for i in range(36):
        w[V + i] = 0.0
    for i in range(6):
        w[V + 7 * i] = 1.0
    for m in range(nc):
        pivot = w[M + 7 * m]
        smallest = pivot if pivot < smallest else smallest
        d = 1.0 / pivot
        w[D + m] = d
        x, v = six(w, M + 6 * m), six(w, V + 6 * m)
        for i in range(m + 1, 6):
            l = w[M + 6 * i + m] * d
            set_six(w, M + 6 * i, six(w, M + 6 * i) - x * l)
            set_six(w, V + 6 * i, six(w, V + 6 * i) - v * l)
    return smallest


@helper
def through(w, frm, to, nc):
    """V A: what the elimination makes of the rows of A."""
    for m in range(6):
        x = six(w, frm + 6 * m)
        for c in range(min(m, nc)):
            x += six(w, frm + 6 * c) * w[V + 6 * m + c]
        set_six(w, to + 6 * m, x)


@helper
def weigh(w, left, i, right, nc):
    """Row i of A^T D B over the eliminated rows, and with armature of A^T K B over the others."""
    x = six(w, right) * (w[left + i] * w[D])
    for m in range(1, nc):
        x += six(w, right + 6 * m) * (w[left + 6 * m + i] * w[D + m])
    return x


@helper
def stiffen(w, rho, j, nc):
    """With armature: K = (1/rho + N)^-1 and C = 1 - N K, k x k, rho at rho[j:]. Whether there is any."""
    k = 6 - nc
    any_ = False
    for a in range(k):
        if rho[j + a, 0] != 0.0:
            any_ = True
        for b in range(k):
            w[N + 6 * a + b] = w[M + 6 * (nc + a) + nc + b]
    if not any_:
        return False
    # K = rho (1 + N rho)^-1 = (1 + rho N)^-1 rho, by Gauss and Jordan on [1 + rho N | rho]
    for a in range(k):
        for b in range(k):
            w[C + 6 * a + b] = rho[j + a, 0] * w[N + 6 * a + b] + (1.0 if a == b else 0.0)
            w[K + 6 * a + b] = rho[j + a, 0] if a == b else 0.0
    for a in range(k):
        d = 1.0 / w[C + 7 * a]
        for b in range(k):
            w[C + 6 * a + b] *= d
            w[K + 6 * a + b] *= d
        for i in range(k):
            if i != a:
                l = w[C + 6 * i + a]
                for b in range(k):
                    w[C + 6 * i + b] -= l * w[C + 6 * a + b]
                    w[K + 6 * i + b] -= l * w[K + 6 * a + b]
    for a in range(k):
        for b in range(a):
            mean = 0.5 * (w[K + 6 * a + b] + w[K + 6 * b + a])
            w[K + 6 * a + b] = w[K + 6 * b + a] = mean
    for a in range(k):
        for b in range(k):
            x = 1.0 if a == b else 0.0
            for i in range(k):
                x -= w[N + 6 * a + i] * w[K + 6 * i + b]
            w[C + 6 * a + b] = x
    return True


@helper
def add_stiffness(w, left, i, right, nc, x):
    """x plus row i of A^T K B over the allowed rows."""
    for a in range(6 - nc):
        for b in range(6 - nc):
            x += six(w, right + 6 * (nc + b)) * (w[left + 6 * (nc + a) + i] * w[K + 6 * a + b])
    return x


@helper
def allowed(w, frm, a, nc, stiff):
    """Row a of C times the allowed rows of a matrix that went through."""
    if not stiff:
        return six(w, frm + 6 * (nc + a))
    x = six(w, frm + 6 * nc) * w[C + 6 * a]
    for b in range(1, 6 - nc):
        x += six(w, frm + 6 * (nc + b)) * w[C + 6 * a + b]
    return x


@helper
def joint_rows(w, out, j, tail, o, nc, stiff, below):
    """FT, FB, W and the rows UT, UB, Z, N of a joint, from what went through the elimination."""
    k = 6 - nc
    for i in range(6):
        f, g, h = weigh(w, V, i, YH, nc), weigh(w, V, i, V, nc), six(w, V)
        if stiff:
            f, g = add_stiffness(w, V, i, YH, nc, f), add_stiffness(w, V, i, V, nc, g)
        set_six(out, j + FT + 6 * i, f)
        set_six(tail, o + W + 6 * i, g)
        if below:
            h = weigh(w, V, i, ZH, nc)
            if stiff:
                h = add_stiffness(w, V, i, ZH, nc, h)
            set_six(out, j + FB + 6 * i, h)
    for a in range(k):
        set_six(out, j + JOINT + 6 * a, allowed(w, YH, a, nc, stiff) * -1.0)
        if below:
            set_six(out, j + JOINT + 6 * (k + a), allowed(w, ZH, a, nc, stiff) * -1.0)
        set_six(tail, o + TAIL + 6 * a, allowed(w, V, a, nc, stiff))
        for b in range(k):
            x = w[N + 6 * a + b]
            if stiff:
                x = 0.0
                for i in range(k):
                    x += w[C + 6 * a + i] * w[N + 6 * i + b]
            tail[o + TAIL + 6 * k + k * a + b] = x


# --- joining two stretches ------------------------------------------------------------------------------------------


@helper
def join(t, a, b, c, j, out, oa, ob, oc, oj, tail, ot, sa, sb, w, psi, turned):
    """The coefficients of a JOIN c of stretches a and b at joint j. Returns the smallest pivot.

    oa, ob, oc, oj: where in `out` the coefficients of a, b, c and of the joint lie (its second part: in `tail` at ot);
    sa, sb: whether a and b have joints in them; turned: what turn_of_joint said of the joint. Quantities of a are turned by E into scratch first, those of b
    too if the joint is universal.
    """
    revolute, cos, sin, both = turned
    below, nc = t.open[c] != 0, t.forbidden[j]
    k = 6 - nc
    if revolute:
        turn_both(out, oa + BOT, w, M, cos, sin)
        turn_rows(out, oa + CROSS, w, Y, cos, sin)
    else:
        move_both(out, oa + BOT, w, M, E, ET)
        move_rows(out, oa + CROSS, w, Y, E)
    if both:
        move_both(out, ob + TOP, w, XB, EB, EBT)
        if below:
            move_rows(out, ob + CROSS, w, Z, EB)
    for i in range(0, 36, 6):
        set_six(w, M + i, six(w, M + i) + (six(w, XB + i) if both else six(out, ob + TOP + i)))
        if below and not both:
            set_six(w, Z + i, six(out, ob + CROSS + i))
    smallest = eliminate(w, nc)
    stiff = stiffen(w, t.dofs, t.iv[j], nc)
    through(w, Y, YH, nc)
    if below:
        through(w, Z, ZH, nc)
    joint_rows(w, out, oj, tail, ot, nc, stiff, below)
    right = t.right[t.up[c]] == c
    for i in range(6):  # [QS (2)]
        x = weigh(w, YH, i, YH, nc)
        if stiff:
            x = add_stiffness(w, YH, i, YH, nc, x)
        set_six(out, oc + TOP + 6 * i, six(out, oa + TOP + 6 * i) - x)
        if below:
            x = weigh(w, ZH, i, ZH, nc)
            y = weigh(w, YH, i, ZH, nc) if right else weigh(w, ZH, i, YH, nc)
            if stiff:
                x = add_stiffness(w, ZH, i, ZH, nc, x)
                y = add_stiffness(w, YH, i, ZH, nc, y) if right else add_stiffness(w, ZH, i, YH, nc, y)
            set_six(out, oc + BOT + 6 * i, six(out, ob + BOT + 6 * i) - x)
            set_six(out, oc + CROSS + 6 * i, y)
    if psi:
        join_totals(t, out, oa, ob, oc, oj, sa, sb, w, turned, below, right, k)
    return smallest


@helper
def join_totals(t, out, oa, ob, oc, oj, sa, sb, w, turned, below, right, k):
    """Psi of a JOIN [QS (9)], from the joint's rows."""
    revolute, cos, sin, both = turned
    for i in range(0, 36, 6):
        set_six(w, SS + i, six(w, M) * 0.0)
        set_six(w, XA + i, six(w, M) * 0.0)
        set_six(w, XB + i, six(w, M) * 0.0)
    if sa:
        if revolute:
            turn_both(out, oa + SBOT, w, SS, cos, sin)
            turn_rows(out, oa + SCROSS, w, XA, cos, sin)
        else:
            move_both(out, oa + SBOT, w, SS, E, ET)
            move_rows(out, oa + SCROSS, w, XA, E)
    if sb:
        if both:
            move_both(out, ob + STOP, w, T1, EB, EBT)
            if below:
                move_rows(out, ob + SCROSS, w, XB, EB)
        for i in range(0, 36, 6):
            set_six(w, SS + i, six(w, SS + i) + (six(w, T1 + i) if both else six(out, ob + STOP + i)))
            if below and not both:
                set_six(w, XB + i, six(out, ob + SCROSS + i))
    for i in range(6):
        set_six(w, T1 + 6 * i, row_times(w, SS + 6 * i, out, oj + FT) - six(w, XA + 6 * i))
        if below:
            set_six(w, T2 + 6 * i, row_times(w, SS + 6 * i, out, oj + FB) - six(w, XB + 6 * i))
    ut, ub = oj + JOINT, oj + JOINT + 6 * k
    for i in range(6):
        x = column_times(out, oj + FT + i, w, T1) - column_times(w, XA + i, out, oj + FT)
        for a in range(0, 6 * k, 6):
            x += six(out, ut + a) * out[ut + a + i]
        set_six(out, oc + STOP + 6 * i, x + six(out, oa + STOP + 6 * i) if sa else x)
        if below:
            x = column_times(out, oj + FB + i, w, T2) - column_times(w, XB + i, out, oj + FB)
            for a in range(0, 6 * k, 6):
                x += six(out, ub + a) * out[ub + a + i]
            set_six(out, oc + SBOT + 6 * i, x + six(out, ob + SBOT + 6 * i) if sb else x)
            if right:  # Psi12 = (Psi21)^T
                y = column_times(out, oj + FT + i, w, XB) - column_times(w, T1 + i, out, oj + FB)
                for a in range(0, 6 * k, 6):
                    y -= six(out, ub + a) * out[ut + a + i]
            else:
                y = column_times(w, XB + i, out, oj + FT) - column_times(out, oj + FB + i, w, T1)
                for a in range(0, 6 * k, 6):
                    y -= six(out, ut + a) * out[ub + a + i]
            set_six(out, oc + SCROSS + 6 * i, y)


@helper
def column_times(a, j, b, k):
    """A column a[j], a[j+6], ... times the matrix b[k:]."""
    out = six(b, k) * a[j]
    for i in range(1, 6):
        out += six(b, k + 6 * i) * a[j + 6 * i]
    return out


@helper
def join_forces(t, a, b, c, j, out, oa, ob, oc, oj, tail, ot, sa, sb, w, psi, turned, force):
    """What of a JOIN depends on forces: gamma, r, b, and p and eta. force: the joints' own, at their place in v."""
    revolute, cos, sin, both = turned
    below = t.open[c] != 0
    k, iv = 6 - t.forbidden[j], t.iv[j]
    ut, ub, r = oj + JOINT, oj + JOINT + 6 * k, oj + JOINT + 12 * k
    z, n = ot + TAIL, ot + TAIL + 6 * k
    set_six(w, XV, six(out, oa + BB))
    beta = forth(w, XV, revolute, cos, sin)
    if both:
        set_six(w, XV, six(out, ob + BT))
        beta = beta - times(w, XV, w, EBT)
    else:
        beta = beta - six(out, ob + BT)
    set_six(w, BETA, beta)
    gamma = times(w, BETA, tail, ot + W)
    top = six(out, oa + BT) - times(w, BETA, out, oj + FT)
    for i in range(k):
        x = 0.0
        for l in range(k):
            x += tail[n + k * i + l] * force[iv + l]
        out[r + i] = x - dot(six(tail, z + 6 * i), beta)
        gamma += six(tail, z + 6 * i) * force[iv + i]
        top += six(out, ut + 6 * i) * force[iv + i]
    set_six(out, oj + GAMMA, gamma)
    set_six(out, oc + BT, top)
    if below:
        bottom = six(out, ob + BB) + times(w, BETA, out, oj + FB)
        for i in range(k):
            bottom -= six(out, ub + 6 * i) * force[iv + i]
        set_six(out, oc + BB, bottom)
    if psi:
        set_six(w, XV, gamma)
        set_six(w, GAMMA_A, back(w, XV, revolute, cos, sin))
        set_six(w, GAMMA_B, times(w, XV, w, EB) if both else gamma)
        ps, sg, eta = gamma * 0.0, gamma * 0.0, 0.0
        p_top, p_bottom = gamma * 0.0, gamma * 0.0
        if sa:
            set_six(w, QV, times(w, GAMMA_A, out, oa + SBOT))
            sg = forth(w, QV, revolute, cos, sin)
            set_six(w, QV, six(out, oa + PB))
            ps = forth(w, QV, revolute, cos, sin) * -1.0
            p_top = six(out, oa + PT) - times(w, GAMMA_A, out, oa + SCROSS) * 2.0
            eta = out[oa + ETA]
        if sb:
            if both:
                set_six(w, QV, times(w, GAMMA_B, out, ob + STOP))
                sg = sg + times(w, QV, w, EBT)
                set_six(w, QV, six(out, ob + PT))
                ps = ps + times(w, QV, w, EBT)
            else:
                sg = sg + times(w, GAMMA_B, out, ob + STOP)
                ps = ps + six(out, ob + PT)
            if below:
                p_bottom = six(out, ob + PB) + times(w, GAMMA_B, out, ob + SCROSS) * 2.0
            eta += out[ob + ETA]
        set_six(w, QV, ps + sg * 2.0)
        p_top += times(w, QV, out, oj + FT)
        eta += dot(gamma, sg) + dot(ps, gamma)
        for i in range(k):
            p_top += six(out, ut + 6 * i) * (2.0 * out[r + i])
            eta += out[r + i] * out[r + i]
        set_six(out, oc + PT, p_top)
        out[oc + ETA] = eta
        if below:
            p_bottom -= times(w, QV, out, oj + FB)
            for i in range(k):
                p_bottom -= six(out, ub + 6 * i) * (2.0 * out[r + i])
            set_six(out, oc + PB, p_bottom)


# --- a body and what is absorbed into it ----------------------------------------------------------------------------


@helper
def leaf(t, b, node, left, out, oc, ol, w, psi):
    """The coefficients of a LEAF that is on a path: a body b and what is absorbed into it, at ol. The smallest pivot."""
    i36 = 36 * b
    for i in range(0, 36, 6):
        x = six(t.inertia, i36 + i)
        if left:
            x = x + six(out, ol + INERTIA + i)
        set_six(w, M + i, x)
    smallest = eliminate(w, 6)
    for i in range(6):
        set_six(out, oc + TOP + 6 * i, weigh(w, V, i, V, 6))
    below = t.open[node] != 0
    right = t.right[t.up[node]] == node
    if below:
        to = 36 * t.heavy[b]
        spread(t.to_joint, to, out, oc + TOP, oc + BOT, oc + CROSS, right, w)
    if psi and left:
        for i in range(6):
            set_six(w, YH + 6 * i, row_times(out, oc + TOP + 6 * i, out, ol + QUADRATIC))
        for i in range(6):
            set_six(out, oc + STOP + 6 * i, row_times(w, YH + 6 * i, out, oc + TOP))
        if below:
            spread(t.to_joint, to, out, oc + STOP, oc + SBOT, oc + SCROSS, right, w)
    return smallest


@helper
def spread(T, to, out, top, bottom, cross, right, w):
    """From a symmetric matrix of a body, T A T^T, and T A (or, right, A T^T) for its bottom handle."""
    for i in range(6):
        for l in range(6):
            w[ET + 6 * i + l] = T[to + 6 * l + i]
    for i in range(6):
        set_six(w, X + 6 * i, row_times(T, to + 6 * i, out, top))
    for i in range(6):
        set_six(out, bottom + 6 * i, row_times(w, X + 6 * i, w, ET))
        if right:
            set_six(out, cross + 6 * i, row_times(out, top + 6 * i, w, ET))
        else:
            set_six(out, cross + 6 * i, six(w, X + 6 * i))


@helper
def leaf_forces(t, b, node, left, out, oc, ol, w, psi, external):
    """What of a LEAF depends on forces. external: on the bodies, six numbers each, in their bases."""
    z = six(external, 6 * b)
    if left:
        z = z - six(out, ol + BIAS)
    set_six(w, XV, z)
    b1 = times(w, XV, out, oc + TOP)
    set_six(out, oc + BT, b1)
    below = t.open[node] != 0
    if below:
        to = 36 * t.heavy[b]
        for i in range(6):
            out[oc + BB + i] = dot(six(t.to_joint, to + 6 * i), b1)
    if psi and left:
        set_six(w, XV, b1)
        pb = times(w, XV, out, ol + QUADRATIC)
        p = six(out, ol + LINEAR)
        out[oc + ETA] = dot(pb, b1) + dot(p, b1) + out[ol + CONSTANT]
        set_six(w, XV, pb * 2.0 + p)
        pt = times(w, XV, out, oc + TOP)
        set_six(out, oc + PT, pt)
        if below:
            for i in range(6):
                out[oc + PB + i] = dot(six(t.to_joint, to + 6 * i), pt)


# --- what hangs on a body beside its path ---------------------------------------------------------------------------


@helper
def light(t, j, below_leaf, out, ob, ol, oc, oj, tail, ot, sb, w, psi, turned):
    """A LIGHT: joint j and the path under it, a stretch at ob, or (below_leaf) a lone body with what is absorbed into
    it at ol (-1: nothing). Its joint's rows at oj; XT = E T, from the basis of the body above, in place of FB.
    Returns the smallest pivot."""
    revolute, cos, sin, both = turned
    nc, to = t.forbidden[j], 36 * j
    k = 6 - nc
    if revolute:
        turn_rows(t.to_joint, to, out, oj + FB, cos, sin)
    else:
        for i in range(6):
            set_six(out, oj + FB + 6 * i, row_times(w, E + 6 * i, t.to_joint, to))
    if below_leaf:
        smallest = light_leaf(t, j, out, ol, oj, tail, ot, w, nc, both)
    else:
        for i in range(0, 36, 6):
            set_six(w, M + i, six(out, ob + TOP + i))
        if both:
            move_both(out, ob + TOP, w, M, EB, EBT)
        smallest = eliminate(w, nc)
        stiff = stiffen(w, t.dofs, t.iv[j], nc)
        for i in range(0, 36, 6):
            set_six(w, YH + i, six(w, V + i))
        joint_rows(w, out, oj, tail, ot, nc, stiff, False)
    congruence(out, oj + FT, out, oj + FB, out, oc + INERTIA, w)
    if psi:
        if below_leaf:
            for i in range(0, 36, 6):
                set_six(w, SS + i, six(w, SS + i) if ol >= 0 else six(w, M) * 0.0)
            # acceleration of the body: a' + S qdd
            for i in range(6):
                set_six(w, T1 + 6 * i, six(w, V + 6 * i))
        else:
            for i in range(0, 36, 6):
                set_six(w, T1 + i, six(out, oj + FT + i))
                if sb:
                    set_six(w, SS + i, six(out, ob + STOP + i))
                else:
                    set_six(w, SS + i, six(w, M) * 0.0)
            if sb and both:
                move_both(out, ob + STOP, w, SS, EB, EBT)
        for i in range(6):
            set_six(w, T2 + 6 * i, row_times(w, SS + 6 * i, w, T1))
        ut = oj + JOINT
        for i in range(6):
            x = column_times(w, T1 + i, w, T2)
            for a in range(0, 6 * k, 6):
                x += six(out, ut + a) * out[ut + a + i]
            set_six(w, YH + 6 * i, x)
        congruence(w, YH, out, oj + FB, out, oc + QUADRATIC, w)
    return smallest


@helper
def light_leaf(t, j, out, ol, oj, tail, ot, w, nc, both):
    """A joint with one body under it, in inertia form: nothing is inverted but the joint's own inertia, so a body
    without inertia in the forbidden directions will do. V: 1 + S UT, the body's acceleration for one of the joint's
    frame; SS: what is quadratic in it; the rows of the joint, N being the inverse of its inertia."""
    k, iv = 6 - nc, t.iv[j]
    for i in range(0, 36, 6):
        x = six(t.inertia, 36 * j + i)
        if ol >= 0:
            x = x + six(out, ol + INERTIA + i)
            set_six(w, SS + i, six(out, ol + QUADRATIC + i))
        set_six(w, M + i, x)
    if both:
        for i in range(0, 36, 6):
            set_six(w, T1 + i, six(w, M + i))
            set_six(w, T2 + i, six(w, SS + i))
        move_both(w, T1, w, M, EB, EBT)
        if ol >= 0:
            move_both(w, T2, w, SS, EB, EBT)
    smallest = 1.0e300
    for i in range(0, 36, 6):
        set_six(out, oj + FT + i, six(w, M + i))
        set_six(w, YH + i, six(w, M + i))
    for a in range(k):  # the inverse of the k x k inertia of the joint, by Gauss and Jordan
        for b in range(k):
            w[C + 6 * a + b] = w[M + 6 * (nc + a) + nc + b] + (t.dofs[iv + a, 0] if a == b else 0.0)
            w[N + 6 * a + b] = 1.0 if a == b else 0.0
    for a in range(k):
        pivot = w[C + 7 * a]
        smallest = pivot if pivot < smallest else smallest
        d = 1.0 / pivot
        for b in range(k):
            w[C + 6 * a + b] *= d
            w[N + 6 * a + b] *= d
        for i in range(k):
            if i != a:
                l = w[C + 6 * i + a]
                for b in range(k):
                    w[C + 6 * i + b] -= l * w[C + 6 * a + b]
                    w[N + 6 * i + b] -= l * w[N + 6 * a + b]
    for i in range(36):
        w[V + i] = 0.0
    for i in range(6):
        w[V + 7 * i] = 1.0
    for a in range(k):
        u = six(w, M + 6 * nc) * w[N + 6 * a]
        for b in range(1, k):
            u += six(w, M + 6 * (nc + b)) * w[N + 6 * a + b]
        set_six(out, oj + JOINT + 6 * a, u * -1.0)
        set_six(w, V + 6 * (nc + a), six(w, V + 6 * (nc + a)) - u)
        for i in range(6):
            set_six(out, oj + FT + 6 * i, six(out, oj + FT + 6 * i) - u * w[M + 6 * (nc + a) + i])
        for b in range(k):
            tail[ot + TAIL + 6 * k + k * a + b] = w[N + 6 * a + b]
    return smallest


@helper
def congruence(a, j, x, k, out, to, w):
    """X^T A X of a symmetric A, made symmetric again."""
    for i in range(6):
        set_six(w, X + 6 * i, row_times(a, j + 6 * i, x, k))
    for i in range(6):
        set_six(w, ZH + 6 * i, column_times(x, k + i, w, X))
    for i in range(6):
        for l in range(6):
            out[to + 6 * i + l] = 0.5 * (w[ZH + 6 * i + l] + w[ZH + 6 * l + i])


@helper
def light_forces(t, j, below_leaf, out, ob, ol, oc, oj, tail, ot, sb, w, psi, turned, force, external):
    """What of a LIGHT depends on forces."""
    revolute, cos, sin, both = turned
    k, iv = 6 - t.forbidden[j], t.iv[j]
    ut, r, z, n = oj + JOINT, oj + JOINT + 12 * k, ot + TAIL, ot + TAIL + 6 * k
    ps, eta = six(w, M) * 0.0, 0.0
    if below_leaf:
        zeta = six(external, 6 * j) * -1.0
        if ol >= 0:
            zeta = zeta + six(out, ol + BIAS)
        if both:
            set_six(w, XV, zeta)
            zeta = times(w, XV, w, EBT)
        set_six(w, BETA, zeta)
        gamma = zeta
        for i in range(k):
            x = force[iv + i] - w[BETA + 6 - k + i]
            gamma -= six(out, ut + 6 * i) * x
            total = 0.0
            for l in range(k):
                total += tail[n + k * i + l] * (force[iv + l] - w[BETA + 6 - k + l])
            out[r + i] = total
    else:
        set_six(w, XV, six(out, ob + BT) * -1.0)
        beta = times(w, XV, w, EBT) if both else six(w, XV)
        set_six(w, BETA, beta)
        gamma = times(w, BETA, tail, ot + W)
        for i in range(k):
            x = 0.0
            for l in range(k):
                x += tail[n + k * i + l] * force[iv + l]
            out[r + i] = x - dot(six(tail, z + 6 * i), beta)
            gamma += six(tail, z + 6 * i) * force[iv + i]
    set_six(out, oj + GAMMA, gamma)
    set_six(w, XV, gamma)
    set_six(out, oc + BIAS, times(w, XV, out, oj + FB))
    if psi:
        linear = gamma * 0.0
        if below_leaf:
            if ol >= 0:  # a = (1 + S UT) a' + S r
                for i in range(6):
                    w[GAMMA_A + i] = 0.0
                for i in range(k):
                    w[GAMMA_A + 6 - k + i] = out[r + i]
                shift = times(w, GAMMA_A, w, EB) if both else six(w, GAMMA_A)
                set_six(w, GAMMA_B, shift)
                sg = times(w, GAMMA_B, out, ol + QUADRATIC)
                p = six(out, ol + LINEAR)
                eta = dot(shift, sg) + dot(p, shift) + out[ol + CONSTANT]
                set_six(w, QV, sg * 2.0 + p)
                if both:
                    set_six(w, QV, times(w, QV, w, EBT))
                linear = six(w, QV)
                for i in range(k):
                    linear += six(out, ut + 6 * i) * w[QV + 6 - k + i]
        elif sb:
            set_six(w, GAMMA_B, times(w, XV, w, EB) if both else gamma)
            sg = times(w, GAMMA_B, out, ob + STOP)
            p = six(out, ob + PT)
            eta = dot(six(w, GAMMA_B), sg) + dot(p, six(w, GAMMA_B)) + out[ob + ETA]
            set_six(w, QV, sg * 2.0 + p)
            if both:
                set_six(w, QV, times(w, QV, w, EBT))
            linear = times(w, QV, out, oj + FT)
        for i in range(k):
            linear += six(out, ut + 6 * i) * (2.0 * out[r + i])
            eta += out[r + i] * out[r + i]
        set_six(w, XV, linear)
        set_six(out, oc + LINEAR, times(w, XV, out, oj + FB))
        out[oc + CONSTANT] = eta


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
        out[oc + CONSTANT] = out[ol + CONSTANT] + out[orr + CONSTANT]
