"""The effect of rounding on totals: their scales.

The total of a node, A = f.Psi f + p.f + eta, is a difference of large numbers where forces are in balance (motors hold
a posture): eta is the total that the joints would have without the handle forces. Psi is also a difference, where a
light body is joined to a heavy one. So each is stored with its scale, the sum of the magnitudes of its terms:

    Psi1     psi1 = psi1^A + F1^2 psi + U1^2        psi = psi2^A + psi1^B        (Psi2 alike, with F2, U2 and psi2^B)
    eta      scale = scale^A + scale^B + psi.g^2 + R^2

psi1, psi2 and psi are diagonals, six numbers each, and squares are entrywise: (F1^2 psi)_i = sum_k F1_ki^2 psi_k. g are
the forces, and R the accelerations, that b2^A, b1^B and Q each cause at the joint on their own. The error of A is
then within a relative error times

    psi1.f1^2 + psi2.f2^2 + scale        [adaptive/total_acceleration.py]

and that of an acceleration a relative error times its square root. The relative error is measured
[adaptive/solver.py]: it depends on the digits lost in the mobilities, Phi1^A - Phi12^A W Phi21^A, and relative to
these scales it is almost independent of the forces.
"""

from __future__ import annotations

from supple.assembly.joint_turns import cosines, turn_vector
from supple.spatial.compiler import helper
from supple.spatial.cpu import dot, entry, make_six


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
    """The psi of the upper side, in the joint's basis."""
    if turn.revolute:
        s2 = turn.sin * turn.sin
        return turn_vector(psi, cosines(turn.cos * turn.cos), make_six(s2, s2, s2, s2, 0.0, 0.0))
    return spread_squares(turn.by.E, psi)


@helper
def lower_psi(psi, turn):
    """The psi of the lower side, in the joint's basis."""
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


# --- matrices ---------------------------------------------------------------------------------------------------------


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
    """The scales of a LEAF with absorbed branches: Psi1 = Phi1 P Phi1."""
    psi = squares(C.Phi1, absorbed.P_scale)
    C.Psi1_scale = psi
    if below:
        C.Psi2_scale = spread_squares(T, psi)


@helper
def light_psi(C, J, k, X, psi):
    """The scale of a LIGHT; psi: that of the part under its joint, which receives X for a unit acceleration of the
    joint's frame."""
    below = squares(X, psi)
    for a in range(k):
        below += J.rows[a].U1 * J.rows[a].U1
    C.P_scale = squares(J.F2, below)


# --- force-dependent scales -------------------------------------------------------------------------------------------


@helper
def own_square(closing, own, psi, upper_b, lower_b):
    """Weighted R^2 of a joint, and psi.(U^T Q)^2, from the separate contributions of upper_b, lower_b and Q."""
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
    """The contribution of a JOIN to the scales of its parts; b2^A and b1^B are given in the joint's basis."""
    closing, own = joining.closing, joining.own
    psi = joint_psi(joining)
    g, h = upper_b @ closing.W, lower_b @ closing.W
    return own_square(closing, own, psi, upper_b, lower_b) + 3.0 * dot(psi, g * g + h * h)


@helper
def light_scale(branch, b):
    """The contribution of a LIGHT to the scale of the path under it, whose b1 is given in the joint's basis."""
    closing, own, turn = branch.closing, branch.own, branch.turn
    psi = lower_psi(branch.under.Psi1_scale, turn) if branch.some else nothing()
    g = b @ closing.W
    return own_square(closing, own, psi, b, nothing()) + 2.0 * dot(psi, g * g)


@helper
def lone_scale(closing, own, psi, sizes):
    """The contribution of a LIGHT with a single body under it to the scale of the branches absorbed into that body,
    whose psi is given: for the joint's own force and forces on the body of these magnitudes. Both are matrices with
    one row."""
    k, square = own.k, 0.0
    for i in range(k):
        R = 0.0
        for l in range(k):
            R += abs(closing.rows[i].G[l]) * (abs(own.Q[l]) + sizes[0, 6 - k + l])
        square += (k * own.weight[k * i + i] + 2.0 * psi[0, 6 - k + i]) * R * R
    return square


@helper
def leaf_scale(C, absorbed, f):
    """The contribution of a LEAF to the scale of the branches absorbed into it, under the force f."""
    a = f @ C.Phi1
    return 2.0 * dot(absorbed.P_scale, a * a)
