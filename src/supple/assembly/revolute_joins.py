"""Joining two stretches at a revolute joint without armature, for forward dynamics only.

stretches.py computes joint matrices needed for quasi-statics; here only the terms used by divide and conquer are
computed. M = Phi2^A + Phi1^B is L D L^T over the five forbidden directions. Y, Z and b are Phi21^A, Phi12^B and beta in
those rows after elimination; m is the allowed row of M there after elimination:

    YD = D^-1 Y    ZD = D^-1 Z    h = D^-1 (b - m Q)        five rows each
    f = L^-T (YD f1 - ZD f2 + h) in the forbidden directions, Q in the allowed one        qdd = u1 f1 - u2 f2 + r
    Phi1 = Phi1^A - Y^T YD        Phi2 = Phi2^B - Z^T ZD        Phi12 = Y^T ZD

so neither W nor W Phi21^A is formed, L is not inverted, and no square root is needed.
"""

from __future__ import annotations

from supple.assembly.joint_turns import (
    cosines,
    moved_back,
    new_turn_matrices,
    revolute_turn,
    sines,
    turn_both,
    turn_rows,
    turn_vector,
)
from supple.assembly.passes import stretch_of, told
from supple.model.joint_poses import REVOLUTE
from supple.spatial.compiler import helper
from supple.spatial.cpu import make_six, sum_of_six
from supple.spatial.fields import Number, Numbers, Six
from supple.spatial.matrices import SixRows, assign, new_matrix, product_of_rows
from supple.spatial.structs import Struct

FORBIDDEN = 5


class RevoluteJoin(Struct):
    """The data of its joint kept from the upward pass for the downward pass."""

    YD = SixRows(FORBIDDEN)
    ZD = SixRows(FORBIDDEN)
    u1 = Six()
    u2 = Six()
    r = Number()
    h = Numbers(FORBIDDEN)
    L = Numbers(10)  # by columns, below its diagonal


revolute_join_among = RevoluteJoin.among


@helper
def is_plain_revolute(tree, j):
    """Whether joint j is a revolute one without armature."""
    return tree.joint[j] == REVOLUTE and tree.armature[tree.iv[j]] == 0.0


@helper
def join_revolute(body, i, cos, sin):
    """The coefficients of a JOIN i [QS (2)] and of its joint at this rotation. Returns the smallest pivot."""
    tree = body.tree
    A, B, C = stretch_of(body, tree.left[i]), stretch_of(body, tree.right[i]), stretch_of(body, i)
    J = revolute_join_among(body.numbers, body.joint_at[i])
    below = tree.open[i] != 0
    M, Y, Z, b = new_matrix(), new_matrix(), new_matrix(), new_matrix()
    assign(M, turn_both(A.Phi2, cos, sin) + B.Phi1)
    assign(Y, turn_rows(A.Phi_cross, cos, sin))
    if below:
        assign(Z, B.Phi_cross)
    b[0] = turn_vector(A.b2, cosines(cos), sines(sin)) - B.b1  # beta of [QS (2)]
    Q = body.force[tree.iv[tree.item[i]]]
    b1, smallest, l = A.b1, 1.0e300, 0
    b2 = B.b2 if below else b1
    for m in range(FORBIDDEN):
        pivot = M[m, m]
        smallest = pivot if pivot < smallest else smallest
        inverse = 1.0 / pivot
        x, y, beta = M[m], Y[m], b[0, m]
        J.h[m] = inverse * (beta - M[5, m] * Q)
        J.YD[m] = y * inverse
        b1 -= y * (beta * inverse)
        z = y
        if below:
            z = Z[m]
            J.ZD[m] = z * inverse
            b2 += z * (beta * inverse)
        for k in range(m + 1, 6):
            factor = M[k, m] * inverse
            if k < FORBIDDEN:
                J.L[l] = factor
                l += 1
            M[k] = M[k] - x * factor
            Y[k] = Y[k] - y * factor
            if below:
                Z[k] = Z[k] - z * factor
            b[0, k] -= beta * factor
    u1 = Y[5] * -1.0
    J.u1 = u1
    J.r = M[5, 5] * Q - b[0, 5]
    C.Phi1 = A.Phi1 - product_of_rows(Y, J.YD, FORBIDDEN)  # [QS (2)]
    C.b1 = b1 + u1 * Q  # [QS (2)]
    if below:
        u2 = Z[5] * -1.0
        J.u2 = u2
        C.Phi2 = B.Phi2 - product_of_rows(Z, J.ZD, FORBIDDEN)  # [QS (2)]
        C.b2 = b2 - u2 * Q  # [QS (2)]
        if tree.right[tree.up[i]] == i:
            C.Phi_cross = product_of_rows(Y, J.ZD, FORBIDDEN)  # Phi12 [QS (2)]
        else:
            C.Phi_cross = product_of_rows(Z, J.YD, FORBIDDEN)  # Phi21 [QS (2)]
    return smallest


@helper
def balance(J, m, f1, f2, below):
    """Row m of YD f1 - ZD f2 + h."""
    x = J.YD[m] * f1
    if below:
        x = x - J.ZD[m] * f2
    return sum_of_six(x) + J.h[m]


@helper
def revolute_down(body, i, cos, sin):
    """A JOIN: its joint's acceleration, and the forces on its parts [QS (4), (5)]."""
    tree = body.tree
    J, iv = revolute_join_among(body.numbers, body.joint_at[i]), tree.iv[tree.item[i]]
    here, upper, lower = told(body, i), told(body, tree.left[i]), told(body, tree.right[i])
    f1, f2 = here.f1, here.f2
    below = tree.open[i] != 0
    x = J.u1 * f1
    if below:
        x = x - J.u2 * f2
    body.qdd[iv] = J.r + sum_of_six(x)  # [QS (4)]
    L = J.L
    e = balance(J, 4, f1, f2, below)
    v = balance(J, 3, f1, f2, below) - L[9] * e
    c = balance(J, 2, f1, f2, below) - L[8] * e - L[7] * v
    b = balance(J, 1, f1, f2, below) - L[6] * e - L[5] * v - L[4] * c
    a = balance(J, 0, f1, f2, below) - L[3] * e - L[2] * v - L[1] * c
    f = make_six(a - L[0] * b, b, c, v, e, body.force[iv])  # f1^B [QS (5)]
    upper.f1 = f1
    upper.f2 = moved_back(f, revolute_turn(cos, sin, new_turn_matrices())) * -1.0  # f2^A = -f1^B [QS (5)]
    lower.f1 = f
    lower.f2 = f2
