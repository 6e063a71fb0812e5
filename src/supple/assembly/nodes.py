"""The coefficients of a node, from its parts: the articulated-body equation and the total acceleration equation.

A stretch of a path, with forces f1 on its top body and f2 on its bottom one [QS (1), (8)]:

    a1 = Phi1 f1 + Phi12 f2 + b1        a2 = Phi21 f1 + Phi2 f2 + b2
    A  = f1.Psi1 f1 + 2 f2.Psi21 f1 + f2.Psi2 f2 + p1.f1 + p2.f2 + eta        the sum of qdd^2 over its joints

The branches absorbed into a body (a LIGHT or SUM) require, when the body has acceleration a, the force f and have total
acceleration A:

    f = I a + z        A = a.P a + p.a + e

All in the adapted bases of frames.py. The bottom handle is in the basis of the joint that follows, at zero position, so
joining only rotates it by that joint's E(q). Each stretch is joined again at one of its handles, its principal handle:
of Phi12 and Psi12, the rows that belong to it are stored (`Phi_cross`, `Psi_cross`). A stretch at the end of its path
has no bottom handle (it is not `open`).

The joint of a JOIN [QS (2) to (5)], with M = Phi2^A + Phi1^B = V^-1, beta = b2^A - b1^B, all rotated by E:

    f1^B = F1 f1^A - F2 f2^B + gamma       F1 = W Phi21^A    F2 = W Phi12^B    gamma = W beta + U^T Q
    qdd  = U1 f1^A - U2 f2^B + R           U1 = -U Phi21^A   U2 = -U Phi12^B   R = G Q - U beta

with the paper's U = G S^T V and G = (S^T V S)^-1. W is V with the joint's directions projected out. It is not computed
from V: the forbidden rows of M are eliminated, M = L D L^T, which loses fewer digits. Then W = X^T X, where X is the
forbidden rows of D^-1/2 L^-1; U is the allowed rows of L^-1, and G is the remainder of M after elimination. Armature
rho adds U^T K U to W, K = (1/rho + G)^-1. A LIGHT has the same equation, with Phi2^A = 0 and the acceleration of its
body in place of Phi21^A f1.

In addition to its coefficients, a node stores the scales of the sums that form Psi1, Psi2 and eta [rounding.py].
"""

from __future__ import annotations

from typing import Any

from supple.spatial.fields import Number, Numbers, Six
from supple.spatial.matrices import Mat6
from supple.spatial.structs import Embedded, Following, Struct


class StretchVectors(Struct):
    """The coefficients of a stretch that are linear in the forces on its bodies and joints."""

    b1 = Six()  # [QS (1)]
    b2 = Six()
    p1 = Six()  # [QS (8)]
    p2 = Six()


class Stretch(Struct):
    """A stretch of a path: a LEAF or a JOIN. For a rigid body, only the fields before p1 are stored."""

    Phi1 = Mat6()  # [QS (1)]
    Phi2 = Mat6()
    Phi_cross = Mat6()  # Phi12 or Phi21
    vectors = Embedded(StretchVectors)
    Psi1 = Mat6()  # [QS (8)]
    Psi2 = Mat6()
    Psi_cross = Mat6()
    Psi1_scale = Six()  # [rounding.py]
    Psi2_scale = Six()
    eta = Number()  # [QS (8)]
    eta_scale = Number()


RIGID = Stretch.offsets["p1"]  #: words of a rigid body


class AbsorbedVectors(Struct):
    """The coefficients of absorbed branches that are linear in forces."""

    z = Six()
    p = Six()


class Absorbed(Struct):
    """The branches absorbed into a body: a LIGHT or a SUM."""

    I = Mat6()  # f = I a + z
    P = Mat6()  # A = a.P a + p.a + e
    vectors = Embedded(AbsorbedVectors)
    P_scale = Six()
    e = Number()
    e_scale = Number()


class JointRow(Struct):
    """Coefficients of one degree of freedom."""

    U1 = Six()  # qdd = U1 f1 - U2 f2 + R [QS (4)]
    U2 = Six()
    R = Number()


class Joint(Struct):
    """Joint coefficients that a JOIN or a LIGHT uses in the downward pass. For a LIGHT, F2 is E T: from the basis of
    the body above."""

    F1 = Mat6()  # f1^B = F1 f1^A - F2 f2^B + gamma [QS (5)]
    F2 = Mat6()
    gamma = Six()
    rows = Following(JointRow)


class ClosingRow(Struct):
    """Coefficients of one degree of freedom."""

    U = Six()
    G = Numbers(6)


class Closing(Struct):
    """Joint coefficients that a JOIN or a LIGHT also needs when only forces change."""

    W = Mat6()
    rows = Following(ClosingRow)


def joint_words(k: Any) -> Any:
    """Number of words of a Joint with k degrees of freedom."""
    return Joint.words + JointRow.words * k


def closing_words(k: Any) -> Any:
    """Number of words of its Closing."""
    return Closing.words + ClosingRow.words * k
