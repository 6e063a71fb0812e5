"""The mass matrix of a branched body is full of zeros: stored, factored and solved without them."""

import numpy as np

import supple

tree = supple.trees.balanced_binary(12)  # 4095 joints
q = tree.random(0)

H = supple.mass_matrix(tree, q, sparse=True)
print(H)
print(f"{H.pattern.nnz:,} numbers instead of {tree.nv**2:,}")

factor = supple.factorize(H)  # H = L^T D L, and L has no more numbers than H
b = np.random.default_rng(1).standard_normal(tree.nv)
x = factor.solve(b)
print("H x = b to", np.abs(H @ x - b).max())

# The parts of the factor, one at a time: x = L^-1 D^-1 L^-T b.
assert np.allclose(factor.solve_L(factor.solve_Lt(b) / factor.D), x)

# Any symmetric positive-definite matrix with the zeros of a tree will do: give its parent array.
A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]])  # rows 1 and 2 hang on row 0
small = supple.factorize(A, parent=[-1, 0, 0], form="ltl")  # A = L^T L
assert np.allclose(small.L.T @ small.L, A)
print("log det A =", small.logdet())
