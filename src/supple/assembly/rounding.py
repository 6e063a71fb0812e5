"""What rounding can do to totals: their scales.

The total of a node, A = f.Psi f + p.f + eta, is a difference of large numbers where forces are in balance (motors hold
a posture): eta is what the joints would do without the handle forces. Psi, too, is a difference, where a light body is
joined to a heavy one. So beside each goes its scale, the sum of the magnitudes that it was made from:

    Psi1     psi1 = psi1^A + F1^2 psi + U1^2        psi = psi2^A + psi1^B        (Psi2 alike, with F2, U2 and psi2^B)
    eta      scale = scale^A + scale^B + psi.g^2 + R^2

psi1, psi2 and psi are diagonals, six numbers, and squares are of entries: (F1^2 psi)_i = sum_k F1_ki^2 psi_k. g are the
forces, and R the accelerations, that b2^A, b1^B and Q cause at the joint, each alone. Then A is right to within a
relative error of

    psi1.f1^2 + psi2.f2^2 + scale        [adaptive/total_acceleration.py]

and an acceleration to within one of its root. What the relative error is, is measured [adaptive/quasistatics.py]: it
depends on the digits that mobilities lose, Phi1^A - Phi12^A W Phi21^A, and divided by these scales it hardly depends on
the forces.
"""

from __future__ import annotations

from supple.assembly.joint_turns import cosines, turn_vector
from supple.spatial.compiler import helper
from supple.spatial.sixes import dot, entry, make_six


@helper
def nothing():
    return make_six(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@helper
def squares(A, x):
    """The sum of x_i row_i^2."""
    even = A[0] * A[0] * entry(x, 0) + A[2] * A[2] * entry(x, 2) + A[4] * A[4] * entry(x, 4)
    odd = A[1] * A[1] * entry(x, 1) + A[3] * A[3] * entry(x, 3) + A[5] * A[5] * entry(x, 5)
    return even + odd


@helper
def spread_squares(A, psi):
    """row_i^2 . psi of each row."""
    return make_six(
        dot(A[0] * A[0], psi), dot(A[1] * A[1], psi), dot(A[2] * A[2], psi),
        dot(A[3] * A[3], psi), dot(A[4] * A[4], psi), dot(A[5] * A[5], psi),
    )  # fmt: skip


@helper
def upper_psi(psi, turn):
    """The psi of the upper side, as the joint has it."""
    if turn.revolute:
        s2 = turn.sin * turn.sin
        return turn_vector(psi, cosines(turn.cos * turn.cos), make_six(s2, s2, s2, s2, 0.0, 0.0))
    return spread_squares(turn.by.E, psi)


@helper
def lower_psi(psi, turn):
    """The psi of the lower side, as the joint has it."""
    return spread_squares(turn.by.EB, psi) if turn.universal else psi


@helper
def joint_psi(joining):
    """psi of a JOIN."""
    A, B, sides, turn = joining.A, joining.B, joining.sides, joining.turn
    psi = nothing()
    if sides.upper:
        psi = upper_psi(A.Psi2_scale, turn)
    if sides.lower:
        psi = psi + lower_psi(B.Psi1_scale, turn)
    return psi


# --- of matrices ------------------------------------------------------------------------------------------------------


@helper
def set_join_scales(joining):
    """psi1 and psi2 of a JOIN."""
    A, B, C, J, _, own, sides, _ = joining
    psi = joint_psi(joining)
    psi1 = squares(J.F1, psi)
    for a in range(own.k):
        psi1 += J.rows[a].U1 * J.rows[a].U1
    C.Psi1_scale = psi1 + A.Psi1_scale if sides.upper else psi1
    if sides.open:
        psi2 = squares(J.F2, psi)
        for a in range(own.k):
            psi2 += J.rows[a].U2 * J.rows[a].U2
        C.Psi2_scale = psi2 + B.Psi2_scale if sides.lower else psi2


@helper
def set_leaf_scales(T, C, absorbed, below):
    """Of a LEAF with something absorbed into it: Psi1 = Phi1 P Phi1."""
    psi = squares(C.Phi1, absorbed.P_scale)
    C.Psi1_scale = psi
    if below:
        C.Psi2_scale = spread_squares(T, psi)


@helper
def light_psi(C, J, k, X, psi):
    """Of a LIGHT; psi: of what is under its joint, which is told X for a unit acceleration of the joint's frame."""
    below = squares(X, psi)
    for a in range(k):
        below += J.rows[a].U1 * J.rows[a].U1
    C.P_scale = squares(J.F2, below)


# --- of what depends on forces ----------------------------------------------------------------------------------------


@helper
def own_square(closing, own, psi, upper_b, lower_b):
    """R^2 of a joint, weighted, and psi.(U^T Q)^2; of the terms that upper_b, lower_b and Q cause, each alone."""
    square = 0.0
    for i in range(own.k):
        U = closing.rows[i].U
        R = abs(dot(U, upper_b)) + abs(dot(U, lower_b))
        for l in range(own.k):
            R += abs(closing.rows[i].G[l] * own.Q[l])
        square += own.k * own.weight[own.k * i + i] * R * R
        square += 3.0 * own.k * dot(U * U, psi) * own.Q[i] * own.Q[i]
    return square


@helper
def join_scale(joining, upper_b, lower_b):
    """What a JOIN adds to the scales of its parts; b2^A and b1^B are given as the joint has them."""
    closing, own = joining.closing, joining.own
    psi = joint_psi(joining)
    g, h = upper_b @ closing.W, lower_b @ closing.W
    return own_square(closing, own, psi, upper_b, lower_b) + 3.0 * dot(psi, g * g + h * h)


@helper
def light_scale(branch, b):
    """What a LIGHT adds to the scale of the path under it, whose b1 is given as the joint has it."""
    closing, own, turn = branch.closing, branch.own, branch.turn
    psi = lower_psi(branch.under.Psi1_scale, turn) if branch.some else nothing()
    g = b @ closing.W
    return own_square(closing, own, psi, b, nothing()) + 2.0 * dot(psi, g * g)


@helper
def lone_scale(closing, own, psi, sizes):
    """What a LIGHT with a single body under it adds to the scale of what is absorbed into that, whose psi is given:
    under the joint's own force and forces on the body, of these magnitudes. Both are matrices with one row."""
    k, square = own.k, 0.0
    for i in range(k):
        R = 0.0
        for l in range(k):
            R += abs(closing.rows[i].G[l]) * (abs(own.Q[l]) + sizes[0, 6 - k + l])
        square += (k * own.weight[k * i + i] + 2.0 * psi[0, 6 - k + i]) * R * R
    return square


@helper
def leaf_scale(C, absorbed, f):
    """What a LEAF adds to the scale of what is absorbed into it, under the force f."""
    a = f @ C.Phi1
    return 2.0 * dot(absorbed.P_scale, a * a)
