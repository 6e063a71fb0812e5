"""Elimination of the forbidden directions of a joint: from M = Phi2^A + Phi1^B to W, U and G [nodes.py]."""

from __future__ import annotations

import math

from supple.spatial.compiler import helper
from supple.spatial.matrices import Mat6, new_matrix, product_of_rows, unit_rows
from supple.spatial.structs import Struct


class Elimination(Struct):
    """M = L D L^T over its forbidden rows, and the matrices transformed with it."""

    M = Mat6()
    V = Mat6()  # L^-1
    Y = Mat6()  # L^-1 Phi21^A, if needed
    Z = Mat6()  # L^-1 Phi12^B, likewise
    Vs = Mat6()  # the forbidden rows of these three, divided by the roots of D
    Ys = Mat6()
    Zs = Mat6()
    G = Mat6()  # (S^T V S)^-1, k x k
    C = Mat6()  # with armature rho: (1 + G rho)^-1


new_elimination = Elimination.new


@helper
def eliminate(x, forbidden, upper, below):
    """Eliminate the first rows of M, and of Y if `upper`, of Z if `below`. Returns the smallest pivot."""
    smallest = 1.0e300
    x.V = unit_rows()
    for m in range(forbidden):
        pivot = x.M[m, m]
        smallest = pivot if pivot < smallest else smallest
        d = 1.0 / pivot
        root = math.sqrt(d)
        row, v = x.M[m], x.V[m]
        x.Vs[m] = v * root
        if upper:
            x.Ys[m] = x.Y[m] * root
        if below:
            x.Zs[m] = x.Z[m] * root
        for i in range(m + 1, 6):
            l = x.M[i, m] * d
            x.M[i] = x.M[i] - row * l
            x.V[i] = x.V[i] - v * l
            if upper:
                x.Y[i] = x.Y[i] - x.Y[m] * l
            if below:
                x.Z[i] = x.Z[i] - x.Z[m] * l
    for a in range(6 - forbidden):
        for b in range(6 - forbidden):
            x.G[a, b] = x.M[forbidden + a, forbidden + b]
    return smallest


@helper
def stiffen(x, rho, forbidden, upper, below):
    """Armature rho: computes C, and appends the factor of K = rho C times the allowed rows of V, Y and Z to the rows of
    Vs, Ys and Zs. Returns the resulting number of rows."""
    k = 6 - forbidden
    some = False
    for a in range(k):
        some = some or rho[a] != 0.0
    if not some:
        return forbidden
    # C = (1 + G rho)^-1, K = rho C: from the inverse of 1 + rho G, to avoid cancellation when the armature is large
    X, K = new_matrix(), new_matrix()
    for a in range(k):
        for b in range(k):
            one = 1.0 if a == b else 0.0
            X[a, b] = rho[a] * x.G[a, b] + one
            K[a, b] = one
    gauss_jordan(X, K, k)
    for a in range(k):
        for b in range(k):
            x.C[b, a] = K[a, b]
            K[a, b] *= rho[b]
    cholesky(K, k)
    for a in range(k):
        x.Vs[forbidden + a] = column_times(K, a, x.V, forbidden)
        if upper:
            x.Ys[forbidden + a] = column_times(K, a, x.Y, forbidden)
        if below:
            x.Zs[forbidden + a] = column_times(K, a, x.Z, forbidden)
    return 6


@helper
def column_times(L, a, A, forbidden):
    """Column a of a lower triangle times the allowed rows of A."""
    row = A[forbidden + a] * L[a, a]
    for b in range(a + 1, 6 - forbidden):
        row += A[forbidden + b] * L[b, a]
    return row


@helper
def cholesky(K, k):
    """K = L L^T in place; zero rows remain zero."""
    for a in range(k):
        for i in range(a):
            K[i, a] = 0.0
        for b in range(a + 1):
            x = K[a, b]
            for i in range(b):
                x -= K[a, i] * K[b, i]
            pivot = K[b, b] if b < a else math.sqrt(max(x, 0.0))
            K[a, b] = pivot if a == b else (x / pivot if pivot > 0.0 else 0.0)


@helper
def gauss_jordan(A, B, k):
    """B = A^-1 B of k x k matrices, without pivoting. Returns the smallest pivot."""
    smallest = 1.0e300
    for m in range(k):
        pivot = A[m, m]
        smallest = pivot if pivot < smallest else smallest
        d = 1.0 / pivot
        for c in range(k):
            A[m, c] *= d
            B[m, c] *= d
        for i in range(k):
            if i != m:
                l = A[i, m]
                for c in range(k):
                    A[i, c] -= l * A[m, c]
                    B[i, c] -= l * B[m, c]
    return smallest


@helper
def allowed(x, A, a, forbidden, stiff):
    """Row a of C times the allowed rows of a matrix transformed by the elimination."""
    if not stiff:
        return A[forbidden + a]
    row = A[forbidden] * x.C[a, 0]
    for b in range(1, 6 - forbidden):
        row += A[forbidden + b] * x.C[a, b]
    return row


@helper
def joint_of_elimination(x, Y, Ys, J, closing, forbidden, n, below):
    """A joint's coefficients from the n rows transformed by the elimination; for a LIGHT, Y and Ys are its V and Vs."""
    stiff = n > forbidden
    J.F1 = product_of_rows(x.Vs, Ys, n)  # W Phi21^A [QS (5)]
    closing.W = product_of_rows(x.Vs, x.Vs, n)
    if below:
        J.F2 = product_of_rows(x.Vs, x.Zs, n)  # W Phi12^B [QS (5)]
    for a in range(6 - forbidden):
        J.rows[a].U1 = allowed(x, Y, a, forbidden, stiff) * -1.0  # -U Phi21^A [QS (4)]
        if below:
            J.rows[a].U2 = allowed(x, x.Z, a, forbidden, stiff) * -1.0  # -U Phi12^B [QS (4)]
        closing.rows[a].U = allowed(x, x.V, a, forbidden, stiff)
        for b in range(6 - forbidden):
            g = x.G[a, b]
            if stiff:
                g = 0.0
                for i in range(6 - forbidden):
                    g += x.C[a, i] * x.G[i, b]
            closing.rows[a].G[b] = g
