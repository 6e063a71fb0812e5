"""Load cases in another frame: six of them are products of angular velocities, which mix when axes turn."""

from __future__ import annotations

from supple.assembly.joints import beside
from supple.spatial.algebra import Vec3
from supple.spatial.compiler import helper
from supple.spatial.matrices import new_matrix

CASES, STILL_CASE = 7, 6  # the last one: a body at rest


@helper
def set_turned_cases(D, R):
    """D with m(R^T w) = D m(w), 6 x 6: maps the cases of an outer frame to those of a frame with rotation R in it."""
    x, y, z = Vec3(R.r0.x, R.r1.x, R.r2.x), Vec3(R.r0.y, R.r1.y, R.r2.y), Vec3(R.r0.z, R.r1.z, R.r2.z)
    D[0] = product_row(x, x)
    D[1] = product_row(y, y)
    D[2] = product_row(z, z)
    D[3] = product_row(x, y)
    D[4] = product_row(y, z)
    D[5] = product_row(z, x)


@helper
def product_row(a, b):
    """(a.w)(b.w) in terms of m(w)."""
    return beside(
        Vec3(a.x * b.x, a.y * b.y, a.z * b.z),
        Vec3(a.x * b.y + a.y * b.x, a.y * b.z + a.z * b.y, a.z * b.x + a.x * b.z),
    )


@helper
def mixed(cases, D, c, vectors):
    """Two vectors of case c after the transformation by D. vectors: a function that gives both, of one case."""
    if c == STILL_CASE:
        return vectors(cases[STILL_CASE])
    x, y = vectors(cases[0])
    a, b = x * D[0, c], y * D[0, c]
    for k in range(1, 6):
        x, y = vectors(cases[k])
        a, b = a + x * D[k, c], b + y * D[k, c]
    return a, b


@helper
def both_b(case):
    return case.b1, case.b2


@helper
def both_p(case):
    return case.p1, case.p2


@helper
def z_and_p(case):
    return case.z, case.p


@helper
def turn_stretch(loads, jointed, D, out):
    """The cases of a stretch, transformed by D; p and E only if it contains joints."""
    for c in range(CASES):
        to = out.cases[c]
        to.b1, to.b2 = mixed(loads.cases, D, c, both_b)
        if jointed:
            to.p1, to.p2 = mixed(loads.cases, D, c, both_p)
    if jointed:
        turn_pairs(loads.E, D, out.E)


@helper
def turn_absorbed(loads, D, out):
    """The cases of absorbed branches, transformed by D."""
    for c in range(CASES):
        out.cases[c].z, out.cases[c].p = mixed(loads.cases, D, c, z_and_p)
    turn_pairs(loads.E, D, out.E)


@helper
def turn_pairs(E, D, out):
    """D^T E D; the last case is unchanged."""
    half, last = new_matrix(), new_matrix()  # E D, and its last row
    for k in range(CASES):
        for c in range(6):
            x = 0.0
            for l in range(6):
                x += E[CASES * k + l] * D[l, c]
            if k < 6:
                half[k, c] = x
            else:
                last[0, c] = x
    for c in range(6):
        for e in range(6):
            x = 0.0
            for k in range(6):
                x += D[k, c] * half[k, e]
            out[CASES * c + e] = x
        out[CASES * c + STILL_CASE] = last[0, c]
        out[CASES * STILL_CASE + c] = last[0, c]
    out[CASES * STILL_CASE + STILL_CASE] = E[CASES * STILL_CASE + STILL_CASE]
