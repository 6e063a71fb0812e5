"""A body and the branches attached to it outside its path, absorbed into it in inertia form, f = I a + z [nodes.py].

A LEAF is a body together with everything absorbed into it. A LIGHT is a whole path, as seen by the body that carries
its first joint. A SUM adds two of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from supple.assembly.elimination import eliminate, gauss_jordan, joint_of_elimination, new_elimination, stiffen
from supple.assembly.joint_turns import lower, lower_back, lower_both, moved_rows, rows_of
from supple.assembly.rounding import (
    leaf_scale,
    light_psi,
    light_scale,
    lone_scale,
    lower_psi,
    nothing,
    set_leaf_scales,
)
from supple.assembly.stretches import add_rows, constant, weigh_numbers, weigh_rows
from supple.spatial.compiler import helper
from supple.spatial.cpu import absolute, dot
from supple.spatial.matrices import add_row_products, assign, new_matrix, product_of_rows, unit_rows, zero_rows


class Branch(NamedTuple):
    """Inputs and outputs of the assembly of a LIGHT."""

    under: Any  #: the path under the joint, B; or whatever is absorbed into the single body there
    some: Any  #: whether that path contains joints; whether anything is absorbed
    C: Any  #: the LIGHT
    J: Any  #: its joint
    closing: Any
    own: Any  #: the joint's own data
    totals: Any  #: whether total accelerations are needed
    turn: Any  #: E(q)


# --- LEAF -----------------------------------------------------------------------------------------------------------


@helper
def leaf(I, T, C, some, absorbed, sides):
    """The matrices of a LEAF C on a path [QS (3)]: a body of inertia I and, if `some`, whatever is absorbed into it.
    T: to the basis of the joint that follows. Returns the smallest pivot."""
    x = new_elimination()
    if some:
        x.M = I + absorbed.I
    else:
        x.M = I
    smallest = eliminate(x, 6, False, False)
    C.Phi1 = product_of_rows(x.Vs, x.Vs, 6)  # I^-1 [QS (3)], with the absorbed inertia in I
    Tt = new_matrix()
    if sides.open:
        transpose_to(T, Tt)
        C.Phi2, C.Phi_cross = spread(T, Tt, C.Phi1, sides.right)
    if sides.totals and some:
        C.Psi1 = C.Phi1 @ absorbed.P @ C.Phi1
        if sides.open:
            C.Psi2, C.Psi_cross = spread(T, Tt, C.Psi1, sides.right)
        set_leaf_scales(T, C, absorbed, sides.open)
    return smallest


@helper
def transpose_to(A, At):
    for i in range(6):
        for l in range(6):
            At[l, i] = A[i, l]


@helper
def spread(T, Tt, A, right):
    """From a symmetric matrix A of a body: T A T^T for its bottom handle, and T A (or A T^T if `right`)."""
    X = new_matrix()
    assign(X, T @ A)
    return X @ Tt, (A @ Tt if right else rows_of(X))


@helper
def leaf_forces(T, C, some, absorbed, sides, f):
    """The force-dependent coefficients of a LEAF, under the force f."""
    x, Sx, p = leaf_vectors(T, C, some, absorbed, sides, f, absorbed.vectors, C.vectors)
    if sides.totals and some:
        C.eta = dot(x, Sx) + dot(p, x) + absorbed.e
        C.eta_scale = leaf_scale(C, absorbed, f) + leaf_scale(C, absorbed, absorbed.z) + absorbed.e_scale


@helper
def leaf_vectors(T, C, some, absorbed, sides, f, l, c):
    """b and p of a LEAF under the force f, written to c; l: those of whatever is absorbed into it. Returns the
    arguments of `constant`."""
    if some:
        f = f - l.z
    b = f @ C.Phi1  # [QS (3)]
    c.b1 = b
    if sides.open:
        c.b2 = at_bottom(C.Phi_cross, f, sides.right)
    Pb, p = nothing(), nothing()
    if sides.totals and some:
        Pb, p = b @ absorbed.P, l.p
        g = Pb * 2.0 + p
        c.p1 = g @ C.Phi1
        if sides.open:
            c.p2 = at_bottom(C.Phi_cross, g, sides.right)
    return b, Pb, p


@helper
def at_bottom(Phi_cross, f, right):
    """T Phi f, from the rows of T Phi that a body stores."""
    return f @ Phi_cross if right else Phi_cross @ f


# --- LIGHT: a path under a joint ------------------------------------------------------------------------------------


@helper
def light(branch, T):
    """The matrices of a LIGHT C: a joint and the path B under it. F2 stores E T. Returns the smallest pivot."""
    B, jointed, C, J, closing, own, totals, turn = branch
    forbidden = 6 - own.k
    J.F2 = moved_rows(T, turn)
    x = new_elimination()
    x.M = lower_both(B.Phi1, turn)
    smallest = eliminate(x, forbidden, False, False)
    n = stiffen(x, own.armature, forbidden, False, False)
    joint_of_elimination(x, x.V, x.Vs, J, closing, forbidden, n, False)
    C.I = congruence(J.F1, J.F2)
    if totals:
        S, psi = new_matrix(), nothing()
        if jointed:
            assign(S, lower_both(B.Psi1, turn))
            psi = lower_psi(B.Psi1_scale, turn)
        else:
            assign(S, zero_rows())
        light_totals(C, J, own, S, J.F1, psi)
    return smallest


@helper
def light_totals(C, J, own, S, X, psi):
    """P of a LIGHT. S, psi: of the part under its joint, which receives X for a unit acceleration of the joint's
    frame."""
    SX, WU, P = new_matrix(), new_matrix(), new_matrix()
    assign(SX, S @ X)
    weigh_rows(own, J, False, WU)
    assign(P, add_rows(X.T @ SX, J, False, WU, own.k))
    C.P = congruence(P, J.F2)
    light_psi(C, J, own.k, X, psi)


@helper
def congruence(A, X):
    """X^T A X of a symmetric A, symmetrised."""
    Z, Zt = new_matrix(), new_matrix()
    assign(Z, X.T @ (A @ X))
    for i in range(6):
        for l in range(6):
            Zt[i, l] = 0.5 * (Z[i, l] + Z[l, i])
    return rows_of(Zt)


@helper
def light_forces(branch):
    """The force-dependent coefficients of a LIGHT."""
    B, jointed, C, J, _, own, totals, _ = branch
    R = new_matrix()
    gamma, x, Sx, p, b = light_vectors(branch, B.vectors, C.vectors, R)
    J.gamma = gamma
    for a in range(own.k):
        J.rows[a].R = R[0, a]
    if totals:
        C.e = constant(x, Sx, p, R, own) + (B.eta if jointed else 0.0)
        C.e_scale = light_scale(branch, b) + (B.eta_scale if jointed else 0.0)


@helper
def light_vectors(branch, b, c, R):
    """z and p of a LIGHT, written to c, from those of the path under it, b. Sets R[0] to the joint's R and R[1] to the
    weighted R. Returns gamma, the arguments of `constant`, and -b1^B in the joint's basis."""
    B, jointed, _, J, closing, own, totals, turn = branch
    k = own.k
    beta = lower(b.b1 * -1.0, turn)
    gamma = beta @ closing.W
    for i in range(k):
        x = 0.0
        for l in range(k):
            x += closing.rows[i].G[l] * own.Q[l]
        R[0, i] = x * own.drive - dot(closing.rows[i].U, beta)  # [QS (6)]
        gamma += closing.rows[i].U * (own.Q[i] * own.drive)
    c.z = gamma @ J.F2
    x, Sx, p = nothing(), nothing(), nothing()
    if totals:
        linear = nothing()
        if jointed:
            x = lower_back(gamma, turn)
            Sx, p = x @ B.Psi1, b.p1
            linear = lower(Sx * 2.0 + p, turn) @ J.F1
        c.p = light_linear(J, own, R, linear)
    return gamma, x, Sx, p, beta


@helper
def light_linear(J, own, R, linear):
    """p of a LIGHT, from that of the part under its joint."""
    weigh_numbers(own, R)
    for i in range(own.k):
        linear += J.rows[i].U1 * (2.0 * R[1, i])
    return linear @ J.F2


# --- LIGHT: a single body under a joint -----------------------------------------------------------------------------


@helper
def lone_light(branch, I, T):
    """The matrices of a LIGHT with a single body of inertia I under it and, if `some`, whatever is absorbed into that
    body. In inertia form only the joint's own inertia is inverted, so the body may lack inertia in the forbidden
    directions. G is that inverse. Returns the smallest pivot."""
    absorbed, some, C, J, closing, own, totals, turn = branch
    k, forbidden = own.k, 6 - own.k
    J.F2 = moved_rows(T, turn)
    M, A, G = new_matrix(), new_matrix(), new_matrix()
    if some:
        assign(M, I + absorbed.I)
    else:
        assign(M, I)
    assign(M, lower_both(M, turn))
    for a in range(k):
        for b in range(k):
            one = 1.0 if a == b else 0.0
            A[a, b] = M[forbidden + a, forbidden + b] + one * own.armature[a]
            G[a, b] = one
    smallest = gauss_jordan(A, G, k)
    X = new_matrix()  # 1 + S U1: the body's acceleration per unit acceleration of the joint's frame
    assign(X, unit_rows())
    F = rows_of(M)
    for a in range(k):
        U1 = M[forbidden] * G[a, 0]
        for b in range(1, k):
            U1 += M[forbidden + b] * G[a, b]
        U1 = U1 * -1.0
        J.rows[a].U1 = U1
        X[forbidden + a] = X[forbidden + a] + U1
        F = add_row_products(F, M[forbidden + a], U1, 1.0)
        for b in range(k):
            closing.rows[a].G[b] = G[a, b]
    J.F1 = F
    C.I = congruence(J.F1, J.F2)
    if totals:
        S, psi = new_matrix(), nothing()
        if some:
            assign(S, lower_both(absorbed.P, turn))
            psi = lower_psi(absorbed.P_scale, turn)
        else:
            assign(S, zero_rows())
        light_totals(C, J, own, S, X, psi)
    return smallest


@helper
def lone_forces(branch, f):
    """The force-dependent coefficients of such a LIGHT, under the force f on the body."""
    absorbed, some, C, J, _, own, totals, _ = branch
    R = new_matrix()
    gamma, x, Sx, p = lone_vectors(branch, f * -1.0, nothing(), absorbed.vectors, C.vectors, R)
    J.gamma = gamma
    for a in range(own.k):
        J.rows[a].R = R[0, a]
    if totals:
        e, sizes = constant(x, Sx, p, R, own), absolute(f)
        scale = 0.0
        if some:
            e, scale, sizes = e + absorbed.e, absorbed.e_scale, sizes + absolute(absorbed.z)
        C.e = e
        C.e_scale = scale + scale_of_lone(branch, sizes)


@helper
def scale_of_lone(branch, sizes):
    """lone_scale for forces of these magnitudes on the body."""
    m, psi = new_matrix(), new_matrix()
    m[0] = sizes
    psi[0] = branch.under.P_scale if branch.some else nothing()
    return lone_scale(branch.closing, branch.own, psi, m)


@helper
def lone_vectors(branch, z, a, l, c, R):
    """z and p of such a LIGHT, written to c, from those of whatever is absorbed, l. When no joint accelerates, its body
    has acceleration a and requires the force z, excluding l. Sets R[0] to the joint's R and R[1] to the weighted R.
    Returns gamma and the arguments of `constant`."""
    absorbed, some, _, J, closing, own, totals, turn = branch
    k = own.k
    if some:
        z = z + l.z
    zeta = new_matrix()
    gamma = lower(z, turn)
    zeta[0] = gamma
    for i in range(k):
        gamma -= J.rows[i].U1 * (own.Q[i] * own.drive - zeta[0, 6 - k + i])
        x = 0.0
        for n in range(k):
            x += closing.rows[i].G[n] * (own.Q[n] * own.drive - zeta[0, 6 - k + n])
        R[0, i] = x
    c.z = gamma @ J.F2
    x, Sx, p = nothing(), nothing(), nothing()
    if totals:
        linear = nothing()
        if some:  # a = (1 + S U1) a' + S R
            step = new_matrix()
            step[0] = nothing()
            for i in range(k):
                step[0, 6 - k + i] = R[0, i]
            x = lower_back(step[0], turn) + a
            Sx, p = x @ absorbed.P, l.p
            linear = lower(Sx * 2.0 + p, turn)
            step[0] = linear
            for i in range(k):
                linear += J.rows[i].U1 * step[0, 6 - k + i]
        c.p = light_linear(J, own, R, linear)
    return gamma, x, Sx, p


# --- SUM ------------------------------------------------------------------------------------------------------------


@helper
def sum_up(A, B, C, totals):
    """The matrices of a SUM."""
    C.I = A.I + B.I
    if totals:
        C.P = A.P + B.P
        C.P_scale = A.P_scale + B.P_scale


@helper
def sum_forces(A, B, C, totals):
    """The force-dependent coefficients of a SUM."""
    C.z = A.z + B.z
    if totals:
        C.p = A.p + B.p
        C.e = A.e + B.e
        C.e_scale = A.e_scale + B.e_scale
