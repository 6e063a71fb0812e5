"""Joining two stretches at a revolute joint without armature, when only forward dynamics is wanted.

stretches.py makes matrices of a joint that quasi-statics needs; here nothing is made but what divide and conquer uses.
M is L D L^T over the five forbidden directions; Y, Z and b are what elimination leaves of Phi21^A, Phi12^B and beta in
those rows (L^-1 Y in the letters of elimination.py), m is what it leaves there of the allowed row of M:

    YD = D^-1 Y    ZD = D^-1 Z    h = D^-1 (b - m Q)        five rows each
    f = L^-T (YD f1 - ZD f2 + h) in the forbidden directions, Q in the allowed one        qdd = UT f1 - UB f2 + r
    Phi1 = Phi1^A - Y^T YD        Phi2 = Phi2^B - Z^T ZD        Phi12 = Y^T ZD

so that neither W nor FT nor FB is formed, L is not inverted, and no root is taken.
"""

from __future__ import annotations

from supple.assembly.coefficients import BB, BETA, BOT, BT, CROSS, TOP, XV, M, Y, Z
from supple.assembly.joints import REVOLUTE
from supple.assembly.turning import back, cosines, sines, turn_both, turn_row, turn_rows
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import make_six, minus, plus, product_T, rows, set_rows, set_six, six, total

# What is kept of a joint; FACTOR: L by columns, below its diagonal
YD, ZD, UT, UB, REST, H, FACTOR, LEAN = 0, 30, 60, 66, 72, 73, 78, 88
FORBIDDEN = 5


@helper
def is_lean(t, j):
    """Whether joint j can be joined so."""
    return item(t.joint, j) == REVOLUTE and item(t.armature, item(t.iv, j)) == 0.0


@helper
def lean_join(t, d, i, cos, sin):
    """The coefficients of a JOIN i [QS (2)], and of its joint, turned so far. Returns the smallest pivot."""
    out, w = d.out, d.w
    j, l, r = item(t.item, i), item(t.left, i), item(t.right, i)
    oa, ob, oc, oj = item(d.at, l), item(d.at, r), item(d.at, i), item(d.joint_at, i)
    below = item(t.open, i) != 0
    set_rows(w, M, plus(turn_both(rows(out, oa + BOT), cos, sin), rows(out, ob + TOP)))
    set_rows(w, Y, turn_rows(rows(out, oa + CROSS), cos, sin))
    if below:
        set_rows(w, Z, rows(out, ob + CROSS))
    set_six(w, BETA, turn_row(six(out, oa + BB), cosines(cos), sines(sin)) - six(out, ob + BT))
    Q = item(d.force, item(t.iv, j))
    top, smallest, at = six(out, oa + BT), 1.0e300, oj + FACTOR
    bottom = six(out, ob + BB) if below else top
    for m in range(FORBIDDEN):
        row = 6 * m
        pivot = item(w, M + 7 * m)
        smallest = pivot if pivot < smallest else smallest
        inverse = 1.0 / pivot
        x, y, b = six(w, M + row), six(w, Y + row), item(w, BETA + m)
        set_item(out, oj + H + m, inverse * (b - item(w, M + 30 + m) * Q))
        set_six(out, oj + YD + row, y * inverse)
        top = top - y * (b * inverse)
        z = y
        if below:
            z = six(w, Z + row)
            set_six(out, oj + ZD + row, z * inverse)
            bottom = bottom + z * (b * inverse)
        for k in range(m + 1, 6):
            factor = item(w, M + 6 * k + m) * inverse
            if k < FORBIDDEN:
                set_item(out, at + k - m - 1, factor)
            set_six(w, M + 6 * k, six(w, M + 6 * k) - x * factor)
            set_six(w, Y + 6 * k, six(w, Y + 6 * k) - y * factor)
            if below:
                set_six(w, Z + 6 * k, six(w, Z + 6 * k) - z * factor)
            set_item(w, BETA + k, item(w, BETA + k) - b * factor)
        at += FORBIDDEN - 1 - m
    ut = six(w, Y + 30) * -1.0
    set_six(out, oj + UT, ut)
    set_item(out, oj + REST, item(w, M + 35) * Q - item(w, BETA + 5))
    set_rows(out, oc + TOP, minus(rows(out, oa + TOP), product_T(w, Y, out, oj + YD, FORBIDDEN)))
    set_six(out, oc + BT, top + ut * Q)
    if below:
        ub = six(w, Z + 30) * -1.0
        set_six(out, oj + UB, ub)
        set_rows(out, oc + BOT, minus(rows(out, ob + BOT), product_T(w, Z, out, oj + ZD, FORBIDDEN)))
        set_six(out, oc + BB, bottom - ub * Q)
        if item(t.right, item(t.up, i)) == i:
            set_rows(out, oc + CROSS, product_T(w, Y, out, oj + ZD, FORBIDDEN))
        else:
            set_rows(out, oc + CROSS, product_T(w, Z, out, oj + YD, FORBIDDEN))
    return smallest


@helper
def balance(out, oj, m, f1, f2, below):
    """Row m of YD f1 - ZD f2 + h."""
    x = six(out, oj + YD + 6 * m) * f1
    if below:
        x = x - six(out, oj + ZD + 6 * m) * f2
    return total(x) + item(out, oj + H + m)


@helper
def lean_down(t, d, i, cos, sin):
    """A JOIN: its joint's acceleration, and the forces on its parts [QS (4), (5)]."""
    out, told, w, oj, j = d.out, d.told, d.w, item(d.joint_at, i), item(t.item, i)
    ti, ta, tb = item(d.told_at, i), item(d.told_at, item(t.left, i)), item(d.told_at, item(t.right, i))
    f1, f2 = six(told, ti), six(told, ti + 6)
    below = item(t.open, i) != 0
    x = six(out, oj + UT) * f1
    if below:
        x = x - six(out, oj + UB) * f2
    set_item(d.qdd, item(t.iv, j), item(out, oj + REST) + total(x))
    L = oj + FACTOR
    e = balance(out, oj, 4, f1, f2, below)
    v = balance(out, oj, 3, f1, f2, below) - item(out, L + 9) * e
    c = balance(out, oj, 2, f1, f2, below) - item(out, L + 8) * e - item(out, L + 7) * v
    b = balance(out, oj, 1, f1, f2, below) - item(out, L + 6) * e - item(out, L + 5) * v - item(out, L + 4) * c
    a = balance(out, oj, 0, f1, f2, below) - item(out, L + 3) * e - item(out, L + 2) * v - item(out, L + 1) * c
    f = make_six(a - item(out, L) * b, b, c, v, e, item(d.force, item(t.iv, j)))
    set_six(w, XV, f)
    set_six(told, ta, f1)
    set_six(told, ta + 6, back(w, XV, (True, cos, sin, False)) * -1.0)
    set_six(told, tb, f)
    set_six(told, tb + 6, f2)
