"""Values kept in rows of arrays: a[i, k:] as a vector, matrix or inertia, and back."""

from __future__ import annotations

from supple.spatial.algebra import Force, Inertia, Mat3, Mobility, Motion, RigidInertia, Sym3, Vec3, outer_sym
from supple.spatial.compiler import helper
from supple.spatial.indexing import get, put, set_item


@helper
def load_vec(a, i, k):
    return Vec3(get(a, i, k), get(a, i, k + 1), get(a, i, k + 2))


@helper
def load_sym(a, i, k):
    return Sym3(get(a, i, k), get(a, i, k + 1), get(a, i, k + 2), get(a, i, k + 3), get(a, i, k + 4), get(a, i, k + 5))


@helper
def load_mat(a, i, k):
    return Mat3(load_vec(a, i, k), load_vec(a, i, k + 3), load_vec(a, i, k + 6))


@helper
def load_motion(a, i, k):
    return Motion(load_vec(a, i, k), load_vec(a, i, k + 3))


@helper
def load_force(a, i, k):
    return Force(load_vec(a, i, k), load_vec(a, i, k + 3))


@helper
def load_rigid(a, i, k):
    return RigidInertia(get(a, i, k), load_vec(a, i, k + 1), load_sym(a, i, k + 4))


@helper
def load_inertia(a, i, k):
    return Inertia(load_sym(a, i, k), load_mat(a, i, k + 6), load_sym(a, i, k + 15))


@helper
def load_mobility(a, i, k):
    return Mobility(load_sym(a, i, k), load_mat(a, i, k + 6), load_sym(a, i, k + 15))


@helper
def store_vec(a, i, k, x):
    put(a, i, k, x.x)
    put(a, i, k + 1, x.y)
    put(a, i, k + 2, x.z)


@helper
def store_sym(a, i, k, x):
    put(a, i, k, x.xx)
    put(a, i, k + 1, x.xy)
    put(a, i, k + 2, x.xz)
    put(a, i, k + 3, x.yy)
    put(a, i, k + 4, x.yz)
    put(a, i, k + 5, x.zz)


@helper
def store_mat(a, i, k, x):
    store_vec(a, i, k, x.r0)
    store_vec(a, i, k + 3, x.r1)
    store_vec(a, i, k + 6, x.r2)


@helper
def store_six(a, i, k, x):
    """A Motion or a Force."""
    store_vec(a, i, k, x.ang)
    store_vec(a, i, k + 3, x.lin)


@helper
def set_vec(a, k, x):
    """a[k:k+3] = x of a vector."""
    set_item(a, k, x.x)
    set_item(a, k + 1, x.y)
    set_item(a, k + 2, x.z)


@helper
def set_six(a, k, x):
    """A Motion or a Force, to a[k:k+6] of a vector."""
    set_vec(a, k, x.ang)
    set_vec(a, k + 3, x.lin)


@helper
def store_rigid(a, i, k, x):
    put(a, i, k, x.m)
    store_vec(a, i, k + 1, x.h)
    store_sym(a, i, k + 4, x.I)


@helper
def store_inertia(a, i, k, x):
    """An Inertia or a Mobility."""
    store_sym(a, i, k, x.A)
    store_mat(a, i, k + 6, x.B)
    store_sym(a, i, k + 15, x.M)


@helper
def load_turned(R, a, i, k, l):
    """The rigid inertia of row i, along axes turned by R: mass and first moment at k, split inertia (k, s, t) at l.

    R (k 1 + s s^T + t t^T) R^T = k 1 + (R s)(R s)^T + (R t)(R t)^T: two vectors to turn instead of a matrix.
    """
    return RigidInertia(get(a, i, k), R @ load_vec(a, i, k + 1), load_turned_sym(R, a, i, l))


@helper
def load_turned_sym(R, a, i, l):
    """The split matrix (k, s, t) of row i, along axes turned by R."""
    s = R @ load_vec(a, i, l + 1)
    t = R @ load_vec(a, i, l + 4)
    I = outer_sym(s, s) + outer_sym(t, t)
    e = get(a, i, l)
    return Sym3(I.xx + e, I.xy, I.xz, I.yy + e, I.yz, I.zz + e)
