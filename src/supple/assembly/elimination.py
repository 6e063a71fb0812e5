"""The elimination of what a joint forbids: from M = Phi2^A + Phi1^B to W, Z and N [coefficients.py]."""

from __future__ import annotations

import math

from supple.assembly.coefficients import FB, FT, JOINT, TAIL, VS, YS, ZS, C, K, M, N, V, W, X, Y, Z
from supple.spatial.compiler import helper
from supple.spatial.indexing import item, set_item
from supple.spatial.sixes import Rows, make_six, product_T, set_rows, set_six, six


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
    """With armature, which is in armature[j:]: K, and C = 1 - N K = (1 + N rho)^-1; K's factor times the allowed rows
    of V, Y, Z goes to VS, YS, ZS. Returns how many rows those then have."""
    k = 6 - nc
    copy_allowed(w, nc)
    any_ = False
    for a in range(k):
        any_ = any_ or item(armature, j + a) != 0.0
    if not any_:
        return nc
    # C = (1 + N rho)^-1, K = rho C: from the inverse of 1 + rho N, so that nothing cancels where armature is large
    for a in range(k):
        for b in range(k):
            one = 1.0 if a == b else 0.0
            set_item(w, X + 6 * a + b, item(armature, j + a) * item(w, N + 6 * a + b) + one)
            set_item(w, K + 6 * a + b, one)
    gauss_jordan(w, X, K, k)
    for a in range(k):
        for b in range(k):
            set_item(w, C + 6 * b + a, item(w, K + 6 * a + b))
            set_item(w, K + 6 * a + b, item(w, K + 6 * a + b) * item(armature, j + b))
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
