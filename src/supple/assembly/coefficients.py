"""What a node knows of itself, from its parts: the articulated-body equation and the total acceleration equation.

A stretch of a path, with forces f1 on its top body and f2 on its bottom one [QS (1), (8)]:

    a1 = Phi1 f1 + Phi12 f2 + b1        a2 = Phi21 f1 + Phi2 f2 + b2
    A  = f1.Psi1 f1 + 2 f2.Psi21 f1 + f2.Psi2 f2 + p1.f1 + p2.f2 + eta        the sum of qdd^2 over its joints

What is absorbed into a body, LIGHT or SUM, when the body accelerates by a, takes force and has total acceleration

    f = I a + z        A = a.P a + p.a + e

All in the adapted bases of frames.py. The bottom handle is in the basis of the joint that follows, before it moves, so
joining only turns it by that joint's E(q). Each stretch is joined again at one of its handles, its principal handle: of
Phi12 and Psi12 the rows are kept that belong to it (CROSS, SCROSS). A stretch at the end of its path has no bottom
handle (it is not `open`).

A joint of a JOIN [QS (2) to (5)], with M = Phi2^A + Phi1^B, beta = b2^A - b1^B, all turned by E:

    f = FT f1 - FB f2 + gamma        FT = W Phi21^A, FB = W Phi12^B        gamma = W beta + Z Q
    qdd = UT f1 - UB f2 + r          r = N Q - Z beta

f is the force on the lower stretch, W is M^-1 with the joint's directions taken out. It is not made from M^-1: the
forbidden rows of M are eliminated, M = L D L^T, which loses fewer digits; then W = V^T V, V being the forbidden rows of
D^-1/2 L^-1, and Z are the allowed rows of L^-1. Armature rho adds Z^T K Z to W, K = (1/rho + N)^-1. A LIGHT has the
same equation, with Phi2^A = 0 and the acceleration of its body in the place of Phi21^A f1.

Beside its coefficients a node knows the scales of what Psi1, Psi2 and eta were summed up from [rounding.py].
"""

from __future__ import annotations

# A stretch's coefficients ...
TOP, BOT, CROSS, BT, BB, STILL = 0, 36, 72, 108, 114, 120
STOP, SBOT, SCROSS, PT, PB, ETA, SCALE, TOP_SCALE, BOT_SCALE, STRETCH = 120, 156, 192, 228, 234, 240, 241, 242, 248, 254
# ... what is absorbed into a body ...
INERTIA, BIAS, QUADRATIC, LINEAR, CONSTANT, CONSTANT_SCALE, QUADRATIC_SCALE, ABSORBED = 0, 36, 42, 78, 84, 85, 86, 92
# ... and a joint's, in two parts. On the way down one needs FT, FB, gamma and, of its k degrees of freedom, UT, UB (6 k
# each), r (k); when only forces change, W and then Z (6 k), N (k^2).
FT, FB, GAMMA, JOINT = 0, 36, 72, 78
W, TAIL = 0, 36

# Scratch
M, V, Y, Z, VS, YS, ZS, SS, XA, XB, T1, T2, E, ET, EB, EBT, X = range(0, 17 * 36, 36)
BETA, GAMMA_A, GAMMA_B, QV, XV, ROOM = (17 * 36 + 6 * i for i in range(6))
K, N, C = ROOM, ROOM + 36, ROOM + 72
WU, WR, MOVED = ROOM + 108, ROOM + 144, ROOM + 150
SPARE = ROOM + 156  # the second part of a joint, where it is not kept
LOADS = SPARE + TAIL + 36 + 36 + 8  # what loads.py needs
SCRATCH = LOADS + 512
