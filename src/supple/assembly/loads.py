"""What a node that moves as a rigid body knows beforehand of its linear coefficients: AD section 6.2, smaller.

Such a node's b, p and eta depend on its angular velocity w alone, through six numbers, and on the forces of its joints,
which stay as they are: seven load cases,

    m = (wx^2, wy^2, wz^2, wx wy, wy wz, wz wx, 1)        b = B m    p = P m    eta = m.E m

w is in the frame of the node's top body (LIGHT and SUM: of the body they hang on), and accelerations are those of
points: the linear part is the acceleration of the handle's origin. Then velocities do not enter (AD's tensors, which
multiply spatial velocities, have 13 times as many numbers). Each case is a column as coefficients.py has it, and they
are joined as stretches.py joins forces; only E, which takes two cases at a time, is new.

    a stretch    CASES columns (BT, BB), then from PLACE of them (PT, PB), then E      STRETCH_LOADS numbers
    a rigid body  the same without p and E                                               BODY_LOADS
    absorbed     CASES columns of BIAS, of LINEAR, then E                               ABSORBED_LOADS

After E stands the scale of the last case [rounding.py], in which the joints' own forces act and may be in balance.

The distances between b and p are those of coefficients.py, so that its functions find both from one place.
"""

from __future__ import annotations

from supple.assembly.absorbing import leaf_linear, light_linear
from supple.assembly.coefficients import (
    BB,
    BIAS,
    BT,
    CONSTANT,
    CONSTANT_SCALE,
    ETA,
    INERTIA,
    LINEAR,
    LOADS,
    MOVED,
    PB,
    PT,
    QUADRATIC,
    QUADRATIC_SCALE,
    SCALE,
    WR,
    XV,
    X,
)
from supple.assembly.frames import BASIS
from supple.assembly.joints import SCREW, pose_of_joint, turn_of_joint
from supple.assembly.poses import compose, load_pose, span_of
from supple.assembly.rounding import join_scale, leaf_scale, light_scale, lone_scale, magnitudes
from supple.assembly.stretches import join_linear, weigh_numbers
from supple.assembly.turning import times
from supple.spatial.algebra import Force, Motion, RigidInertia, Sym3, Vec3, cross
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.rows import set_vec
from supple.spatial.sixes import dot, set_six, six

CASES, STILL_CASE = 7, 6
PAIRS = CASES * CASES
PLACE = PT - BT  # of the p columns
E_STRETCH, E_ABSORBED = PLACE + 12 * CASES, 12 * CASES
BODY_LOADS, STRETCH_LOADS, ABSORBED_LOADS = 12 * CASES, E_STRETCH + PAIRS + 1, E_ABSORBED + PAIRS + 1

# Scratch: the lower part's columns, seen from the upper one, of which (at CHILD) as many as a stretch has; and of each
# case the vector x by which the node moves its parts, S x and p, and r.
CHILD = LOADS
XS, SXS, PS, RS = (CHILD + STRETCH_LOADS + 6 * CASES * i for i in range(4))
RAW = RS + 6 * CASES  # one force
ROTATED = RAW + 6  # D(R), and E times it
HALF = ROTATED + 36
OWN_FORCES = CHILD + 12 * CASES  # of a lone body, in the place of a stretch's p


# --- forces and accelerations of a turning body -----------------------------------------------------------------------


@helper
def squares(w, to, v):
    """m of an angular velocity v, to w[to:]."""
    set_item(w, to, v.x * v.x)
    set_item(w, to + 1, v.y * v.y)
    set_item(w, to + 2, v.z * v.z)
    set_item(w, to + 3, v.x * v.y)
    set_item(w, to + 4, v.y * v.z)
    set_item(w, to + 5, v.z * v.x)
    set_item(w, to + 6, 1.0)


@helper
def inward(r, c):
    """w x (w x r) in case c."""
    if c == 0:
        return Vec3(0.0, -r.y, -r.z)
    if c == 1:
        return Vec3(-r.x, 0.0, -r.z)
    if c == 2:
        return Vec3(-r.x, -r.y, 0.0)
    if c == 3:
        return Vec3(r.y, r.x, 0.0)
    if c == 4:
        return Vec3(0.0, r.z, r.y)
    if c == 5:
        return Vec3(r.z, 0.0, r.x)
    return Vec3(0.0, 0.0, 0.0)


@helper
def gyroscopic(I, c):
    """w x I w in case c."""
    if c == 0:
        return Vec3(0.0, -I.xz, I.xy)
    if c == 1:
        return Vec3(I.yz, 0.0, -I.xy)
    if c == 2:
        return Vec3(-I.yz, I.xz, 0.0)
    if c == 3:
        return Vec3(I.xz, -I.yz, I.yy - I.xx)
    if c == 4:
        return Vec3(I.zz - I.yy, I.xy, -I.xz)
    if c == 5:
        return Vec3(-I.xy, I.xx - I.zz, I.yz)
    return Vec3(0.0, 0.0, 0.0)


@helper
def set_force(t, b, f, external, at, w):
    """A force on body b, in its own frame, to external[at:] in its basis."""
    kind = item(t.joint, b)
    turn = f.ang.z + item(t.pitch, b) * f.lin.z if kind == SCREW else f.ang.z
    set_vec(w, X, Vec3(f.ang.x, f.ang.y, turn))
    set_vec(w, X + 3, f.lin)
    for k in range(6):
        set_item(external, at + k, item(w, X + BASIS[kind, k]))


@helper
def set_motion(t, b, a, out, at, w):
    """A motion in the frame of body b (or of its joint before it moves) to out[at:] in its basis."""
    kind = item(t.joint, b)
    set_vec(w, X, a.ang)
    set_vec(w, X + 3, Vec3(a.lin.x, a.lin.y, a.lin.z - item(t.pitch, b) * a.ang.z) if kind == SCREW else a.lin)
    for k in range(6):
        set_item(out, at + k, item(w, X + BASIS[kind, k]))


@helper
def host_motion(t, i, a, out, at, w):
    """A motion of the body that an absorbed node hangs on, or of the world."""
    b = item(t.top, i)
    if b < 0:
        set_vec(out, at, a.ang)
        set_vec(out, at + 3, a.lin)
    else:
        set_motion(t, b, a, out, at, w)


@helper
def load_rigid_at(a, k):
    """A rigid inertia: mass, first moment, rotational inertia."""
    return RigidInertia(
        item(a, k),
        Vec3(item(a, k + 1), item(a, k + 2), item(a, k + 3)),
        Sym3(item(a, k + 4), item(a, k + 5), item(a, k + 6), item(a, k + 7), item(a, k + 8), item(a, k + 9)),
    )


# --- seen from another frame ------------------------------------------------------------------------------------------


@helper
def turn_cases(w, to, R):
    """D with m(R^T w) = D m(w), six by six: how the cases of a frame come from those of the one that it is R in."""
    x, y, z = Vec3(R.r0.x, R.r1.x, R.r2.x), Vec3(R.r0.y, R.r1.y, R.r2.y), Vec3(R.r0.z, R.r1.z, R.r2.z)
    product_row(w, to, x, x)
    product_row(w, to + 6, y, y)
    product_row(w, to + 12, z, z)
    product_row(w, to + 18, x, y)
    product_row(w, to + 24, y, z)
    product_row(w, to + 30, z, x)


@helper
def product_row(w, to, a, b):
    """(a.w)(b.w) in terms of m(w)."""
    set_item(w, to, a.x * b.x)
    set_item(w, to + 1, a.y * b.y)
    set_item(w, to + 2, a.z * b.z)
    set_item(w, to + 3, a.x * b.y + a.y * b.x)
    set_item(w, to + 4, a.y * b.z + a.z * b.y)
    set_item(w, to + 5, a.z * b.x + a.x * b.z)


@helper
def turn_columns(loads, at, width, w, to):
    """Columns of `width` numbers, at loads[at:], times D, which is at ROTATED."""
    for c in range(6):
        for part in range(0, width, 6):
            x = six(loads, at + part) * item(w, ROTATED + c)
            for k in range(1, 6):
                x += six(loads, at + width * k + part) * item(w, ROTATED + 6 * k + c)
            set_six(w, to + width * c + part, x)
    for part in range(0, width, 6):
        set_six(w, to + width * STILL_CASE + part, six(loads, at + width * STILL_CASE + part))


@helper
def turn_pairs(loads, at, w, to):
    """D^T E D, of E at loads[at:]; the last case stays as it is."""
    for k in range(CASES):
        for c in range(6):
            x = 0.0
            for l in range(6):
                x += item(loads, at + CASES * k + l) * item(w, ROTATED + 6 * l + c)
            set_item(w, HALF + 6 * k + c, x)
    for c in range(6):
        for e in range(6):
            x = 0.0
            for k in range(6):
                x += item(w, ROTATED + 6 * k + c) * item(w, HALF + 6 * k + e)
            set_item(w, to + CASES * c + e, x)
        x = item(w, HALF + 36 + c)
        set_item(w, to + CASES * c + STILL_CASE, x)
        set_item(w, to + CASES * STILL_CASE + c, x)
    last = CASES * STILL_CASE + STILL_CASE
    set_item(w, to + last, item(loads, at + last))


# --- of nodes ---------------------------------------------------------------------------------------------------------


@helper
def keep_case(w, c, x, sx, p):
    set_six(w, XS + 6 * c, x)
    set_six(w, SXS + 6 * c, sx)
    set_six(w, PS + 6 * c, p)


@helper
def set_pairs(t, j, k, w, loads, to):
    """E of a node without that of its parts: `constant` of stretches.py, for two cases at a time."""
    for c in range(CASES):
        weigh_numbers(t, j, k, w, RS + 6 * c, w)
        for e in range(c + 1):
            x, y = six(w, XS + 6 * c), six(w, XS + 6 * e)
            a = dot(x, six(w, SXS + 6 * e)) + 0.5 * (dot(six(w, PS + 6 * c), y) + dot(six(w, PS + 6 * e), x))
            for i in range(k):
                a += item(w, WR + i) * item(w, RS + 6 * e + i)
            set_item(loads, to + CASES * c + e, a)
            set_item(loads, to + CASES * e + c, a)


@helper
def add_pairs(loads, to, a, at):
    for k in range(PAIRS):
        set_item(loads, to + k, item(loads, to + k) + item(a, at + k))


@helper
def join_loads(t, d, i, trees, spans, loads, at):
    """The columns of a JOIN."""
    w, out = d.w, d.out
    j, l, r = item(t.item, i), item(t.left, i), item(t.right, i)
    R, _ = span_of(t, l, trees, spans)
    S, s = pose_of_joint(t, j, d.q)
    u, R = R @ s, R @ S  # of the lower part's top: how far the joint moves it, and its turn
    sa, sb, k = item(t.joints, l) > 0, item(t.joints, r) > 0, 6 - item(t.forbidden, j)
    la, lb, lc = item(at, l), item(at, r), item(at, i)
    seen_from(loads, lb, sb, w, R)
    turned = turn_of_joint(t, j, d.q, w)
    oa, ob, oj, ot = item(d.at, l), item(d.at, r), item(d.joint_at, i), item(d.tail_at, i)
    for c in range(CASES):
        set_motion(t, j, Motion(Vec3(0.0, 0.0, 0.0), inward(u, c) @ R), w, RAW, w)
        set_six(w, CHILD + 12 * c, six(w, CHILD + 12 * c) - six(w, RAW))
        x, sx, p = join_linear(
            t, i, j, out, oa, ob, oj, d.tail, ot, sa, sb, w, True, turned, k, d.force, 1.0 if c == STILL_CASE else 0.0,
            loads, la + 12 * c - BT, w, CHILD + 12 * c - BT, loads, lc + 12 * c - BT, w, RS + 6 * c,
        )  # fmt: skip
        keep_case(w, c, x, sx, p)
    set_pairs(t, j, k, w, loads, lc + E_STRETCH)
    scale = join_scale(t, j, out, oa, ob, d.tail, ot, sa, sb, w, turned, k, d.force)
    if sa:
        add_pairs(loads, lc + E_STRETCH, loads, la + E_STRETCH)
        scale += item(loads, la + E_STRETCH + PAIRS)
    if sb:
        add_pairs(loads, lc + E_STRETCH, w, CHILD + E_STRETCH)
        scale += item(loads, lb + E_STRETCH + PAIRS)
    set_item(loads, lc + E_STRETCH + PAIRS, scale)


@helper
def seen_from(loads, lb, joints, w, R):
    """The columns of a stretch to CHILD, as seen from a frame in which its own is R."""
    turn_cases(w, ROTATED, R)
    turn_columns(loads, lb, 12, w, CHILD)
    if joints:
        turn_columns(loads, lb + PLACE, 12, w, CHILD + PLACE)
        turn_pairs(loads, lb + E_STRETCH, w, CHILD + E_STRETCH)


@helper
def leaf_loads(t, d, i, own, trees, loads, at):
    """The columns of a LEAF on a path. own: the bodies' inertias, ten numbers each."""
    w, b, l, lc = d.w, item(t.item, i), item(t.left, i), item(at, i)
    ll, ol = (item(at, l), item(d.at, l)) if l >= 0 else (0, 0)
    below, heavy = item(t.open, i) != 0, item(t.heavy, b)
    Y = load_rigid_at(own, 10 * b)
    for c in range(CASES):
        turning_force(t, b, Y, c, w)
        x, sx, p = leaf_linear(
            t,
            b,
            i,
            l >= 0,
            d.out,
            item(d.at, i),
            ol,
            w,
            True,
            w,
            RAW,
            loads,
            ll + 6 * c - BIAS,
            loads,
            lc + 12 * c - BT,
        )
        keep_case(w, c, x, sx, p)
        if below:
            R, r = load_pose(trees, 12 * heavy)
            set_motion(t, heavy, Motion(Vec3(0.0, 0.0, 0.0), inward(r, c) @ R), w, RAW, w)
            set_six(loads, lc + 12 * c + 6, six(loads, lc + 12 * c + 6) + six(w, RAW))
    if l >= 0:
        set_pairs(t, b, 0, w, loads, lc + E_STRETCH)
        add_pairs(loads, lc + E_STRETCH, loads, ll + E_ABSORBED)
        scale = leaf_scale(d.out, item(d.at, i), ol, loads, ll + 6 * STILL_CASE)
        set_item(loads, lc + E_STRETCH + PAIRS, scale + item(loads, ll + E_ABSORBED + PAIRS))


@helper
def turning_force(t, b, Y, c, w):
    """The force of inertia on body b in case c, to RAW."""
    f, m = inward(Y.h, c), gyroscopic(Y.I, c)
    set_force(t, b, Force(m * -1.0, f * -1.0), w, RAW, w)


@helper
def light_loads(t, d, i, own, trees, loads, at):
    """The columns of a LIGHT."""
    w, j, path, lc = d.w, item(t.item, i), item(t.left, i), item(at, i)
    lone, absorbed, sb = item(t.lone, path) != 0, item(t.left, path), item(t.joints, path) > 0
    k = 6 - item(t.forbidden, j)
    R, r = load_pose(trees, 12 * j)
    S, s = pose_of_joint(t, j, d.q)
    R, r = compose(R, r, S, s)
    ol, ll = -1, 0
    if lone:
        Y = load_rigid_at(own, 10 * j)
        if absorbed >= 0:
            ol, ll = item(d.at, absorbed), CHILD
            turn_cases(w, ROTATED, R)
            turn_columns(loads, item(at, absorbed), 6, w, CHILD)
            turn_columns(loads, item(at, absorbed) + 6 * CASES, 6, w, CHILD + 6 * CASES)
            turn_pairs(loads, item(at, absorbed) + E_ABSORBED, w, CHILD + E_STRETCH)
        # its own force in the cases of the frame above: columns turned like the others
        turned_forces(t, j, Y, R, w)
    else:
        seen_from(loads, item(at, path), sb, w, R)
    turned = turn_of_joint(t, j, d.q, w)
    ob, oj, ot = item(d.at, path), item(d.joint_at, i), item(d.tail_at, i)
    for c in range(CASES):
        set_motion(t, j, Motion(Vec3(0.0, 0.0, 0.0), inward(r, c) @ R), w, MOVED, w)
        if not lone:
            set_six(w, CHILD + 12 * c, six(w, CHILD + 12 * c) - six(w, MOVED))
        _, x, sx, p = light_linear(
            t, j, lone, d.out, ob, ol, oj, d.tail, ot, sb, w, True, turned, d.force, 1.0 if c == STILL_CASE else 0.0,
            w, OWN_FORCES + 6 * c, w, CHILD + 12 * c - BT, w, ll + 6 * c - BIAS, True, loads, lc + 6 * c - BIAS, w,
            RS + 6 * c,
        )  # fmt: skip
        keep_case(w, c, x, sx, p)
    set_pairs(t, j, k, w, loads, lc + E_ABSORBED)
    if (lone and absorbed >= 0) or (not lone and sb):
        add_pairs(loads, lc + E_ABSORBED, w, CHILD + E_STRETCH)
    if lone:
        set_six(w, XV, six(w, RAW) * 0.0)
        if absorbed >= 0:
            magnitudes(w, loads, item(at, absorbed) + 6 * STILL_CASE, w, 0, False)
        scale = lone_scale(t, j, d.out, ol, d.tail, ot, k, d.force, w)
        if absorbed >= 0:
            scale += item(loads, item(at, absorbed) + E_ABSORBED + PAIRS)
    else:
        scale = light_scale(t, j, d.out, ob, d.tail, ot, sb, w, turned, k, d.force)
        if sb:
            scale += item(loads, item(at, path) + E_STRETCH + PAIRS)
    set_item(loads, lc + E_ABSORBED + PAIRS, scale)


@helper
def turned_forces(t, b, Y, R, w):
    """The forces of inertia on body b, of frame R, in the cases of the frame that this is seen in."""
    turn_cases(w, ROTATED, R)
    for c in range(CASES):
        set_six(w, OWN_FORCES + 6 * c, six(w, RAW) * 0.0)
    for k in range(6):
        turning_force(t, b, Y, k, w)
        for c in range(6):
            set_six(w, OWN_FORCES + 6 * c, six(w, OWN_FORCES + 6 * c) + six(w, RAW) * item(w, ROTATED + 6 * k + c))


@helper
def sum_loads(t, i, loads, at):
    """The columns of a SUM."""
    l, r, c = item(at, item(t.left, i)), item(at, item(t.right, i)), item(at, i)
    for k in range(ABSORBED_LOADS):
        set_item(loads, c + k, item(loads, l + k) + item(loads, r + k))


# --- the linear coefficients of a node that moves as a rigid body -----------------------------------------------------


@helper
def weighted(loads, at, step, w, m):
    """A column: the sum of those at loads[at:], each times its number at w[m:]."""
    x = six(loads, at + step * STILL_CASE)
    for c in range(6):
        x += six(loads, at + step * c) * item(w, m + c)
    return x


@helper
def pair_sum(loads, at, w, m):
    """m.E m"""
    total = 0.0
    for c in range(CASES):
        x = 0.0
        for e in range(CASES):
            x += item(loads, at + CASES * c + e) * item(w, m + e)
        total += x * item(w, m + c)
    return total


@helper
def square_sum(loads, at, w, m):
    """What m.E m would be if cases did not cancel each other, or more: E is positive semidefinite."""
    total = 0.0
    for c in range(CASES):
        total += item(loads, at + (CASES + 1) * c) * item(w, m + c) * item(w, m + c)
    return CASES * total + item(loads, at + PAIRS)


CASE_AT, Z_AT = RS, RS + 12  # scratch, when nothing is joined


@helper
def evaluate_stretch(t, d, i, velocity, a, trees, spans, loads, at):
    """b, p and eta of a stretch whose top body turns with `velocity`, counted from its acceleration a (that of its
    origin, and of its turning)."""
    w, out, o, la = d.w, d.out, item(d.at, i), item(at, i)
    joints, b = item(t.joints, i) > 0, item(t.top, i)
    squares(w, CASE_AT, velocity)
    set_motion(t, b, a, w, Z_AT, w)
    set_six(out, o + BT, weighted(loads, la, 12, w, CASE_AT) - six(w, Z_AT))
    below = item(t.open, i) != 0
    if below:
        R, r = span_of(t, i, trees, spans)
        lin = a.lin + cross(a.ang, r) + cross(velocity, cross(velocity, r))
        set_motion(t, item(t.after, i), Motion(a.ang @ R, lin @ R), w, Z_AT, w)
        set_six(out, o + BB, weighted(loads, la + 6, 12, w, CASE_AT) - six(w, Z_AT))
    if joints:
        set_six(out, o + PT, weighted(loads, la + PLACE, 12, w, CASE_AT))
        if below:
            set_six(out, o + PB, weighted(loads, la + PLACE + 6, 12, w, CASE_AT))
        set_item(out, o + ETA, pair_sum(loads, la + E_STRETCH, w, CASE_AT))
        set_item(out, o + SCALE, square_sum(loads, la + E_STRETCH, w, CASE_AT))


@helper
def evaluate_absorbed(t, d, i, velocity, a, loads, at):
    """z, p and e of a LIGHT or SUM, on a body that turns with `velocity`, counted from its acceleration a."""
    w, out, o, la = d.w, d.out, item(d.at, i), item(at, i)
    squares(w, CASE_AT, velocity)
    host_motion(t, i, a, w, Z_AT, w)
    z, p = six(w, Z_AT), weighted(loads, la + 6 * CASES, 6, w, CASE_AT)
    pz = times(w, Z_AT, out, o + QUADRATIC)
    set_six(out, o + BIAS, weighted(loads, la, 6, w, CASE_AT) + times(w, Z_AT, out, o + INERTIA))
    set_six(out, o + LINEAR, p + pz * 2.0)
    set_item(out, o + CONSTANT, pair_sum(loads, la + E_ABSORBED, w, CASE_AT) + dot(p, z) + dot(pz, z))
    scale = square_sum(loads, la + E_ABSORBED, w, CASE_AT) + dot(six(out, o + QUADRATIC_SCALE), z * z)
    set_item(out, o + CONSTANT_SCALE, 2.0 * scale)
