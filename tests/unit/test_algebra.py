"""Spatial algebra, and its values in rows of arrays, against dense 6x6 matrices made from the definitions [RBDA ch. 2].

Helpers have no entry for Python, so the functions are run as the Python they are written in; one test compiles them
all and compares. Tolerance: 1e-13 for numbers of order one, a few hundred roundings.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from plain import as_python
from supple.exact.motion import turned_split
from supple.spatial import algebra, rows
from supple.spatial.algebra import Force, Inertia, Mat3, Mobility, Motion, Prismatic, Revolute, RigidInertia, Sym3, Vec3
from supple.spatial.compiler import OPTIONS


def close(ours, dense):
    np.testing.assert_allclose(ours, dense, rtol=0, atol=1e-13)


@pytest.fixture
def plain(monkeypatch):
    return as_python(monkeypatch, algebra, rows)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


# --- values and their dense forms -----------------------------------------------------------------------------------


def vec(x):
    return Vec3(*map(float, x))


def mat(A):
    return Mat3(*map(vec, A))


def sym(A):
    return Sym3(*(float(A[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))))


def dense(x):
    """Any value as an array: (3,), (3, 3), (6,) or (6, 6)."""
    if isinstance(x, Vec3):
        return np.array(x)
    if isinstance(x, Mat3):
        return np.array([dense(r) for r in x])
    if isinstance(x, Sym3):
        return np.array([[x.xx, x.xy, x.xz], [x.xy, x.yy, x.yz], [x.xz, x.yz, x.zz]])
    if isinstance(x, (Motion, Force)):
        return np.concatenate([dense(x.ang), dense(x.lin)])
    if isinstance(x, Revolute):
        return np.concatenate([dense(x.axis), np.zeros(3)])
    if isinstance(x, Prismatic):
        return np.concatenate([np.zeros(3), dense(x.axis)])
    if isinstance(x, (Inertia, Mobility)):
        return np.block([[dense(x.A), dense(x.B)], [dense(x.B).T, dense(x.M)]])
    if isinstance(x, RigidInertia):
        h = skew(dense(x.h))
        return np.block([[dense(x.I), h], [h.T, x.m * np.eye(3)]])  # [RBDA 2.63]
    return np.asarray(x)


def skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def motion_shift(r):
    """Motion coordinates at the old origin to those at the new origin r [RBDA 2.24, E = 1]."""
    return np.block([[np.eye(3), np.zeros((3, 3))], [-skew(r), np.eye(3)]])


def random_values(rng):
    """One of each class."""
    c, m = rng.standard_normal(3), 1.7
    x = rng.standard_normal((5, 3))
    at_com = sum((p @ p) * np.eye(3) - np.outer(p, p) for p in x)
    rigid = RigidInertia(m, vec(m * c), sym(at_com + m * ((c @ c) * np.eye(3) - np.outer(c, c))))
    G = rng.standard_normal((6, 6))
    G = G + G.T
    return {
        Vec3: vec(rng.standard_normal(3)),
        Mat3: mat(rng.standard_normal((3, 3))),
        Sym3: sym(at_com),
        Motion: Motion(vec(rng.standard_normal(3)), vec(rng.standard_normal(3))),
        Force: Force(vec(rng.standard_normal(3)), vec(rng.standard_normal(3))),
        RigidInertia: rigid,
        Inertia: Inertia(sym(G[:3, :3]), mat(G[:3, 3:]), sym(G[3:, 3:])),
        Mobility: Mobility(sym(G[3:, 3:]), mat(G[3:, :3]), sym(G[:3, :3])),
        Revolute: Revolute(vec(rng.standard_normal(3))),
        Prismatic: Prismatic(vec(rng.standard_normal(3))),
        float: 0.37,
    }


MEANINGS = [(op, left, right) for op, table in algebra._TABLE.items() for left, right in table]


@pytest.mark.parametrize(("op", "left", "right"), MEANINGS, ids=lambda x: x.__name__)
def test_operator(plain, rng, op, left, right):
    """Each operator is that of the dense matrices."""
    a, b = random_values(rng)[left], random_values(rng)[right]
    close(dense(op(a, b)), op(dense(a), dense(b)))


def test_there_are_operators_of_every_class():
    assert {left for _, left, _ in MEANINGS} == set(algebra._CLASSES)


def test_augmented_operators_are_the_plain_ones(plain, rng):
    a, b = random_values(rng)[Force], random_values(rng)[Force]
    c = a
    c += b
    assert c == a + b
    assert a is not c


def test_operators_keep_classes(plain, rng):
    v = random_values(rng)
    assert type(v[Inertia] @ v[Motion]) is Force
    assert type(v[Mobility] @ v[Force]) is Motion
    assert type(v[Inertia] @ v[Revolute]) is Force
    assert type(v[Motion] + v[Prismatic]) is Motion
    assert type(v[Revolute] * 2.0) is Revolute


def test_undefined_operators_are_refused(plain, rng):
    v = random_values(rng)
    with pytest.raises(TypeError):
        v[Force] @ v[Force]  # forces do no work on forces
    with pytest.raises(KeyError):
        v[Motion] + v[Force]


# --- functions ------------------------------------------------------------------------------------------------------


def test_products_of_vectors(plain, rng):
    a, b = rng.standard_normal((2, 3))
    close(plain.dot(vec(a), vec(b)), a @ b)
    close(dense(plain.cross(vec(a), vec(b))), np.cross(a, b))
    close(dense(plain.outer(vec(a), vec(b))), np.outer(a, b))
    close(dense(plain.outer_sym(vec(a), vec(2.5 * a))), np.outer(a, 2.5 * a))


def test_matrices(plain, rng):
    A = rng.standard_normal((3, 3))
    close(dense(plain.transpose(mat(A))), A.T)
    for k, axis in enumerate((plain.x_axis, plain.y_axis, plain.z_axis)):
        close(dense(axis(mat(A))), A[:, k])
    angle = 0.7
    c, s = np.cos(angle), np.sin(angle)
    close(dense(plain.turn_z(mat(A), c, s)), A @ [[c, -s, 0], [s, c, 0], [0, 0, 1]])
    close(dense(plain.turn_x(mat(A), c, s)), A @ [[1, 0, 0], [0, c, -s], [0, s, c]])


@pytest.mark.parametrize("length", [1.0, 1.0 + 4e-7, 3.0])
def test_rotation_of_quaternion(plain, rng, length):
    """Rodrigues' formula, whatever the quaternion's length."""
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    angle = 2.1
    q = length * np.append(axis * np.sin(angle / 2), np.cos(angle / 2))
    K = skew(axis)
    close(dense(plain.rotation_of(*q)), np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)


def test_rotations_of_sixes(plain, rng):
    R, v = np.linalg.qr(rng.standard_normal((3, 3)))[0], random_values(rng)
    big = np.block([[R, np.zeros((3, 3))], [np.zeros((3, 3)), R]])
    close(dense(plain.rotate_motion(mat(R), v[Motion])), big @ dense(v[Motion]))
    close(dense(plain.rotate_force(mat(R), v[Force])), big @ dense(v[Force]))


def test_shifts_of_motion_and_force(plain, rng):
    r, v = rng.standard_normal(3), random_values(rng)
    X = motion_shift(r)
    close(dense(plain.shift_motion(vec(r), v[Motion])), X @ dense(v[Motion]))
    close(dense(plain.shift_force(vec(r), v[Force])), X.T @ dense(v[Force]))  # back from r to the origin
    # power does not depend on where it is taken
    here = plain.shift_force(vec(r), v[Force])
    there = plain.shift_motion(vec(r), v[Motion])
    close(v[Motion] @ here, there @ v[Force])


def test_shifts_of_inertia(plain, rng):
    r, v = rng.standard_normal(3), random_values(rng)
    X = motion_shift(r)
    close(dense(plain.shift_inertia(vec(r), v[Inertia])), X.T @ dense(v[Inertia]) @ X)
    close(dense(plain.shift_rigid(vec(r), v[RigidInertia])), X.T @ dense(v[RigidInertia]) @ X)


def test_rigid_inertia_of_a_point_mass(plain):
    """A closed form that needs no matrices: 3 kg at (0, 2, 0)."""
    at_point = RigidInertia(3.0, vec([0, 0, 0]), sym(np.zeros((3, 3))))
    Y = plain.shift_rigid(vec([0, 2, 0]), at_point)
    close(dense(Y.h), [0, 6, 0])
    close(dense(Y.I), np.diag([12, 0, 12]))


def test_cross_products_of_sixes(plain, rng):
    v, values = random_values(rng)[Motion], random_values(rng)
    w, u = skew(dense(v.ang)), skew(dense(v.lin))
    crm = np.block([[w, np.zeros((3, 3))], [u, w]])  # [RBDA 2.31]
    close(dense(plain.crm(v, values[Motion])), crm @ dense(values[Motion]))
    close(dense(plain.crf(v, values[Force])), -crm.T @ dense(values[Force]))  # [RBDA 2.32]


def test_inertia_from_parts(plain, rng):
    v = random_values(rng)
    close(dense(plain.articulated(v[RigidInertia])), dense(v[RigidInertia]))
    U = dense(v[Force])
    close(dense(plain.outer_inertia(v[Force], 0.6)), 0.6 * np.outer(U, U))


def test_symmetric_matrices(plain, rng):
    A = rng.standard_normal((3, 3))
    A = A @ A.T + np.eye(3)
    r = rng.standard_normal(3)
    close(dense(plain.matrix(sym(A))), A)
    B = rng.standard_normal((3, 3))
    close(dense(plain.product_sym(mat(B @ A), mat(B.T))), B @ A @ B.T)
    inverse, left = plain.inverse_sym(sym(A), sym(A))
    close(dense(inverse), np.linalg.inv(A))
    assert left > 0
    assert plain.inverse_sym(sym(A), sym(1e8 * A))[1] < 0  # what is left of far more
    assert plain.inverse_sym(sym(A - 1.01 * np.linalg.eigvalsh(A)[0] * np.eye(3)), sym(A))[1] < 0  # not definite
    close(dense(plain.shift_columns(vec(r), sym(A))), A @ skew(r))


def rigid(rng):
    """A rigid body's mass, centre of mass and inertia there, and its dense inertia about the origin [RBDA 2.63]."""
    m, c, x = 1.7, rng.standard_normal(3), rng.standard_normal((5, 3))
    I = sum((p @ p) * np.eye(3) - np.outer(p, p) for p in x)
    C = skew(c)
    return m, c, I, np.block([[I + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])


def test_mobilities_of_rigid_bodies(plain, rng):
    m, c, I, Y = rigid(rng)
    P, J = np.linalg.inv(Y), sym(np.linalg.inv(I))
    close(dense(plain.rigid_mobility(1 / m, vec(c), J)), P)
    d, e = rng.standard_normal((2, 3))  # two points, seen from the origin
    blocks = plain.cross_mobility(1 / m, J, vec(d - c), vec(e - c))
    together = np.block([[dense(blocks[0]), dense(blocks[1])], [dense(blocks[2]), dense(blocks[3])]])
    close(together, motion_shift(d) @ P @ motion_shift(e).T)


def mobility(P):
    return Mobility(sym(P[:3, :3]), mat(P[:3, 3:]), sym(P[3:, 3:]))


def test_mobilities(plain, rng):
    m, c, I, Y = rigid(rng)
    G = 0.3 * rng.standard_normal((6, 6))
    P, r = np.linalg.inv(Y + G @ G.T), rng.standard_normal(3)
    X = motion_shift(r)
    close(dense(plain.shift_mobility(vec(r), mobility(P))), X @ P @ X.T)
    inverse, left = plain.inverse(mobility(P))
    close(dense(inverse), np.linalg.inv(P))
    assert type(inverse) is Inertia and left > 0
    flat = np.diag([1, 1, 1, 1, 1, 1e-9]) @ P @ np.diag([1, 1, 1, 1, 1, 1e-9])  # graded, but all there
    assert plain.inverse(mobility(flat))[1] > 0
    turn = np.kron(np.eye(2), np.linalg.qr(rng.standard_normal((3, 3)))[0])  # the same seen from askew
    assert plain.inverse(mobility(turn @ flat @ turn.T))[1] < 0
    W = random_values(rng)[Inertia]
    close(dense(plain.respond(mobility(P), vec(r), W)), P - P @ X.T @ dense(W) @ X @ P)
    alone, J = np.linalg.inv(Y), sym(np.linalg.inv(I))
    close(dense(plain.respond_rigid(1 / m, vec(c), J, vec(r), W)), alone - alone @ X.T @ dense(W) @ X @ alone)


class Split(NamedTuple):
    k: float
    s: Vec3
    t: Vec3


def test_turned_inertia(rng):
    """The split k 1 + s s^T + t t^T turns as the matrix does."""
    R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    k, s, t = 0.3, rng.standard_normal(3), rng.standard_normal(3)

    def turned(R, split):
        return turned_split(R, split)

    I = njit(**OPTIONS)(turned)(mat(R), Split(k, vec(s), vec(t)))
    close(dense(I), R @ (k * np.eye(3) + np.outer(s, s) + np.outer(t, t)) @ R.T)


@pytest.mark.parametrize(
    ("kind", "load", "store", "size"),
    [(Vec3, "load_vec", "store_vec", 3), (Mat3, "load_mat", "store_mat", 9)],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_rows(plain, rng, kind, load, store, size):
    """What is stored is loaded again, and nothing beside it is touched."""
    x = random_values(rng)[kind]
    a = np.full((3, size + 4), np.nan)
    getattr(plain, store)(a, 1, 2, x)
    assert getattr(plain, load)(a, 1, 2) == x
    assert np.isnan(a[[0, 2]]).all()
    np.testing.assert_array_equal(np.isnan(a[1]), [True, True, *[False] * size, True, True])


# --- compiled -------------------------------------------------------------------------------------------------------


def test_compiled_as_in_python(plain, rng, monkeypatch):
    """One compiled function that goes through operators, shifts and an augmented operator."""

    def work(R, v, f, Y, I, r):
        S = Revolute(r)
        f += I @ v + Y @ v - algebra.crf(v, algebra.articulated(Y) @ v) * 0.5
        f = algebra.shift_force(r, algebra.rotate_force(R, f)) + (I @ S) * (S @ f)
        J = algebra.shift_inertia(r, I - algebra.outer_inertia(f, 0.3))
        return f, J, algebra.shift_rigid(r, Y + Y), algebra.crm(v, v + S) + Prismatic(r) * 2.0

    values = random_values(rng)
    arguments = [values[kind] for kind in (Mat3, Motion, Force, RigidInertia, Inertia, Vec3)]
    in_python = work(*arguments)
    monkeypatch.undo()  # the compiler wants the helpers, not their Python
    for compiled, plainly in zip(njit(**OPTIONS)(work)(*arguments), in_python, strict=True):
        wanted = dense(plainly)
        assert np.abs(wanted).max() > 0.1
        np.testing.assert_allclose(dense(compiled), wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_python_operators_are_not_tuples(plain):
    """NamedTuples would otherwise concatenate and repeat."""
    assert Vec3(1.0, 2.0, 3.0) + Vec3(1.0, 1.0, 1.0) == Vec3(2.0, 3.0, 4.0)
    assert Vec3(1.0, 2.0, 3.0) * 2.0 == Vec3(2.0, 4.0, 6.0)
    assert operator.matmul(Mat3(*(Vec3(*row) for row in np.eye(3))), Vec3(1.0, 2.0, 3.0)) == Vec3(1.0, 2.0, 3.0)
