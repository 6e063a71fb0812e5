"""Joining two stretches A and B of a path at a joint, to C [QS (1) to (9)]. Symbols are those of nodes.py.

`*_forces` recomputes the force-dependent coefficients while positions are unchanged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from supple.assembly.elimination import eliminate, joint_of_elimination, new_elimination, stiffen
from supple.assembly.joint_turns import (
    lower,
    lower_back,
    lower_both,
    lower_rows,
    moved,
    moved_back,
    moved_both,
    moved_rows,
)
from supple.assembly.rounding import join_scale, set_join_scales
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper
from supple.spatial.cpu import dot, make_six
from supple.spatial.matrices import add_row_products, assign, new_matrix, product_of_rows, zero_rows


class Own(NamedTuple):
    """The joint's own data."""

    k: Any  #: degrees of freedom
    Q: Any  #: (k,) forces
    drive: Any  #: the fraction of Q that acts: 0 or 1
    armature: Any  #: (k,)
    weight: Any  #: (k, k) weight of its accelerations in the total [QS section 4.4]


class Sides(NamedTuple):
    """The properties of the two sides of a JOIN."""

    upper: Any  #: whether A contains joints
    lower: Any  #: whether B does
    open: Any  #: whether C has a bottom handle
    right: Any  #: whether the top handle of C is its principal handle
    totals: Any  #: whether total accelerations are needed


class Joining(NamedTuple):
    """The inputs and outputs of a JOIN."""

    A: Any  #: the upper stretch
    B: Any  #: the lower one
    C: Any  #: both
    J: Any  #: their joint
    closing: Any
    own: Any
    sides: Any
    turn: Any  #: E(q) [joint_turns.py]


@helper
def own_joint(tree, j, force, drive):
    """The data of joint j."""
    k, iv = 6 - tree.forbidden[j], tree.iv[j]
    return Own(k, from_entry(force, iv), drive, from_entry(tree.armature, iv), from_entry(tree.weight, tree.iw[j]))


@helper
def no_joint(tree, force):
    """For a body, which has none."""
    return Own(0, force, 0.0, tree.armature, tree.weight)


@helper
def sides_of(tree, i, totals):
    """The Sides of JOIN i."""
    upper, lower = tree.joints[tree.left[i]] > 0, tree.joints[tree.right[i]] > 0
    return Sides(upper, lower, tree.open[i] != 0, tree.right[tree.up[i]] == i, totals)


@helper
def join(joining, stiff):
    """The matrices of C and of its joint [QS (2)]. stiff: the joint may have armature. Returns the smallest pivot."""
    A, B, C, J, closing, own, sides, turn = joining
    forbidden = 6 - own.k
    x = new_elimination()
    x.M = moved_both(A.Phi2, turn) + lower_both(B.Phi1, turn)
    x.Y = moved_rows(A.Phi_cross, turn)
    if sides.open:
        x.Z = lower_rows(B.Phi_cross, turn)
    smallest = eliminate(x, forbidden, True, sides.open)
    n = stiffen(x, own.armature, forbidden, True, sides.open) if stiff else forbidden
    joint_of_elimination(x, x.Y, x.Ys, J, closing, forbidden, n, sides.open)
    C.Phi1 = A.Phi1 - product_of_rows(x.Ys, x.Ys, n)  # Phi1^A - Phi12^A W Phi21^A [QS (2)]
    if sides.open:
        C.Phi2 = B.Phi2 - product_of_rows(x.Zs, x.Zs, n)  # Phi2^B - Phi21^B W Phi12^B [QS (2)]
        if sides.right:
            C.Phi_cross = product_of_rows(x.Ys, x.Zs, n)  # Phi12 = Phi12^A W Phi12^B [QS (2)]
        else:
            C.Phi_cross = product_of_rows(x.Zs, x.Ys, n)  # Phi21 = Phi21^B W Phi21^A [QS (2)]
    if sides.totals:
        join_totals(joining)
    return smallest


@helper
def join_totals(joining):
    """Psi of C [QS (9)], weighted [AD (8)]: Y = U^T U + W (Psi2^A + Psi1^B) W and W enter through U1, U2, F1 and F2."""
    A, B, C, J, _, own, sides, turn = joining
    S, XA, XB, WU = new_matrix(), new_matrix(), new_matrix(), new_matrix()
    if sides.upper:
        assign(S, moved_both(A.Psi2, turn))
        assign(XA, moved_rows(A.Psi_cross, turn))
    else:
        assign(S, zero_rows())
        assign(XA, zero_rows())
    if sides.lower:
        assign(S, S + lower_both(B.Psi1, turn))  # Psi2^A + Psi1^B
    S1 = new_matrix()
    assign(S1, S @ J.F1 - XA)
    X = J.F1.T @ S1 - XA.T @ J.F1
    weigh_rows(own, J, False, WU)
    X = add_rows(X, J, False, WU, own.k)
    if sides.upper:
        C.Psi1 = X + A.Psi1  # [QS (9)]
    else:
        C.Psi1 = X
    if sides.open:
        assign(XB, lower_rows(B.Psi_cross, turn) if sides.lower else zero_rows())
        S2 = new_matrix()
        assign(S2, S @ J.F2 - XB)
        X = J.F2.T @ S2 - XB.T @ J.F2
        weigh_rows(own, J, True, WU)
        X = add_rows(X, J, True, WU, own.k)
        if sides.lower:
            C.Psi2 = X + B.Psi2  # [QS (9)]
        else:
            C.Psi2 = X
        if sides.right:  # Psi12 = (Psi21)^T [QS (9)]
            X = J.F1.T @ XB - S1.T @ J.F2
            for a in range(own.k):
                X = add_row_products(X, J.rows[a].U1, WU[a], -1.0)
        else:
            X = XB.T @ J.F1 - J.F2.T @ S1
            for a in range(own.k):
                X = add_row_products(X, WU[a], J.rows[a].U1, -1.0)
        C.Psi_cross = X  # [QS (9)]
    set_join_scales(joining)


@helper
def add_rows(X, J, second, WU, k):
    """X + U1^T WU, or U2^T WU."""
    for a in range(k):
        X = add_row_products(X, J.rows[a].U2 if second else J.rows[a].U1, WU[a], 1.0)
    return X


@helper
def join_forces(joining):
    """The force-dependent coefficients of C and of its joint: gamma, R, b [QS (2)], p and eta [QS (9)]."""
    A, B, C, J, _, own, sides, _ = joining
    R = new_matrix()
    x, Sx, p, upper_b, lower_b = join_vectors(joining, A.vectors, B.vectors, C.vectors, R)
    J.gamma = x
    for a in range(own.k):
        J.rows[a].R = R[0, a]
    if sides.totals:
        eta = constant(x, Sx, p, R, own)
        scale = join_scale(joining, upper_b, lower_b)
        if sides.upper:
            eta, scale = eta + A.eta, scale + A.eta_scale
        if sides.lower:
            eta, scale = eta + B.eta, scale + B.eta_scale
        C.eta = eta  # [QS (9)]
        C.eta_scale = scale


@helper
def join_vectors(joining, a, b, c, R):
    """b and p of C, written to c, from those of its parts, a and b. Sets R[0] to the joint's R and R[1] to the weighted
    R. Returns the arguments of `constant`, and b2^A and b1^B in the joint's basis."""
    A, B, _, J, closing, own, sides, turn = joining
    k = own.k
    upper_b, lower_b = moved(a.b2, turn), lower(b.b1, turn)
    beta = upper_b - lower_b  # beta of [QS (2)]
    gamma = beta @ closing.W
    b1 = a.b1 - beta @ J.F1
    for i in range(k):
        x = 0.0
        for l in range(k):
            x += closing.rows[i].G[l] * own.Q[l]
        R[0, i] = x * own.drive - dot(closing.rows[i].U, beta)  # [QS (4)]
        gamma += closing.rows[i].U * (own.Q[i] * own.drive)
        b1 += J.rows[i].U1 * (own.Q[i] * own.drive)
    c.b1 = b1  # b1^A - Phi12^A gamma [QS (2)]
    if sides.open:
        b2 = b.b2 + beta @ J.F2
        for i in range(k):
            b2 -= J.rows[i].U2 * (own.Q[i] * own.drive)
        c.b2 = b2  # b2^B + Phi21^B gamma [QS (2)]
    o = make_six(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    p, Sg = o, o  # p1^B - p2^A, (Psi2^A + Psi1^B) gamma
    if sides.totals:
        gamma_A, gamma_B = moved_back(gamma, turn), lower_back(gamma, turn)
        p1, p2 = o, o
        if sides.upper:
            Sg = moved(gamma_A @ A.Psi2, turn)
            p = moved(a.p2, turn) * -1.0
            p1 = a.p1 - gamma_A @ A.Psi_cross * 2.0
        if sides.lower:
            Sg = Sg + lower(gamma_B @ B.Psi1, turn)
            p = p + lower(b.p1, turn)
            if sides.open:
                p2 = b.p2 + gamma_B @ B.Psi_cross * 2.0
        Z = p + Sg * 2.0  # its part under W [QS (9)]
        p1 += Z @ J.F1
        weigh_numbers(own, R)
        for i in range(k):
            p1 += J.rows[i].U1 * (2.0 * R[1, i])
        c.p1 = p1  # [QS (9)]
        if sides.open:
            p2 -= Z @ J.F2
            for i in range(k):
                p2 -= J.rows[i].U2 * (2.0 * R[1, i])
            c.p2 = p2  # [QS (9)]
    return gamma, Sg, p, upper_b, lower_b


@helper
def weigh_numbers(own, R):
    """R[1]: the joint's weight times R[0]."""
    for i in range(own.k):
        x = 0.0
        for l in range(own.k):
            x += own.weight[own.k * i + l] * R[0, l]
        R[1, i] = x


@helper
def weigh_rows(own, J, second, WU):
    """The joint's weight times its rows U1, or U2."""
    for i in range(own.k):
        row = (J.rows[0].U2 if second else J.rows[0].U1) * own.weight[own.k * i]
        for l in range(1, own.k):
            row += (J.rows[l].U2 if second else J.rows[l].U1) * own.weight[own.k * i + l]
        WU[i] = row


@helper
def constant(x, Sx, p, R, own):
    """A node's contribution to eta: x.S x + p.x for the vector x by which it moves its parts, and R.R of its joint
    [QS (9)]."""
    eta = dot(x, Sx) + dot(p, x)
    for i in range(own.k):
        eta += R[0, i] * R[1, i]
    return eta
