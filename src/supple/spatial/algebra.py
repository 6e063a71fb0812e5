"""Spatial (6-D) vectors, inertias and the operators on them, in textbook notation.

    Vec3 Mat3 Sym3         three-dimensional vectors, matrices, symmetric matrices
    Motion Force           six-vectors: ang (angular part), lin (linear part at the frame's origin)
    RigidInertia           mass m, first moment h = m c, rotational inertia I about the origin
    Inertia                any symmetric 6x6 [[A, B], [B^T, M]], motion to force: articulated inertias
    Mobility               the same, force to motion: inverse inertias
    Revolute Prismatic     joint axes with one zero half: `I @ S`, `S @ f`, `a + S * x` skip the zeros

All quantities of an expression are in one frame: components along common axes, about one origin; shift_* moves the
origin by r (from the old to the new), and nothing rotates unless stated. Each class is a NamedTuple of numbers: in
compiled code these become registers. The numbers may be float64, four of them in a SIMD register (cpu/lanes.py), or,
with the compiler disabled, any Python number (which is how operations are counted).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from numba import types
from numba.extending import overload

from supple.spatial.any_number import smaller
from supple.spatial.compiler import INLINE, helper

LOST = 1e-6  #: of its diagonal: a pivot below this may have few digits left, since errors go with its square


class Vec3(NamedTuple):
    x: Any
    y: Any
    z: Any


class Mat3(NamedTuple):
    r0: Any  # rows
    r1: Any
    r2: Any


class Sym3(NamedTuple):
    xx: Any
    xy: Any
    xz: Any
    yy: Any
    yz: Any
    zz: Any


class Motion(NamedTuple):
    ang: Any
    lin: Any


class Force(NamedTuple):
    ang: Any
    lin: Any


class RigidInertia(NamedTuple):
    m: Any
    h: Any
    I: Any


class Inertia(NamedTuple):
    A: Any
    B: Any
    M: Any


class Mobility(NamedTuple):
    A: Any
    B: Any
    M: Any


class Revolute(NamedTuple):
    axis: Any


class Prismatic(NamedTuple):
    axis: Any


_CLASSES = (Vec3, Mat3, Sym3, Motion, Force, RigidInertia, Inertia, Mobility, Revolute, Prismatic)
_TABLE: dict[Any, dict[tuple[type, type], Callable[..., Any]]] = {}


def _defines(op: Any, left: type, right: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define `left op right` as the decorated function, in Python and in compiled code."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _TABLE.setdefault(op, {})[left, right] = function
        return function

    return register


@_defines(operator.add, Vec3, Vec3)
def _(a, b):
    return Vec3(a.x + b.x, a.y + b.y, a.z + b.z)


@_defines(operator.sub, Vec3, Vec3)
def _(a, b):
    return Vec3(a.x - b.x, a.y - b.y, a.z - b.z)


@_defines(operator.mul, Vec3, float)
def _(a, s):
    return Vec3(a.x * s, a.y * s, a.z * s)


@_defines(operator.matmul, Mat3, Vec3)
def _(R, a):
    return Vec3(dot(R.r0, a), dot(R.r1, a), dot(R.r2, a))


@_defines(operator.matmul, Vec3, Mat3)
def _(a, R):
    return R.r0 * a.x + R.r1 * a.y + R.r2 * a.z


@_defines(operator.matmul, Mat3, Mat3)
def _(a, b):
    return Mat3(a.r0 @ b, a.r1 @ b, a.r2 @ b)


@_defines(operator.add, Mat3, Mat3)
def _(a, b):
    return Mat3(a.r0 + b.r0, a.r1 + b.r1, a.r2 + b.r2)


@_defines(operator.sub, Mat3, Mat3)
def _(a, b):
    return Mat3(a.r0 - b.r0, a.r1 - b.r1, a.r2 - b.r2)


@_defines(operator.matmul, Sym3, Vec3)
def _(a, b):
    return Vec3(
        a.xx * b.x + a.xy * b.y + a.xz * b.z,
        a.xy * b.x + a.yy * b.y + a.yz * b.z,
        a.xz * b.x + a.yz * b.y + a.zz * b.z,
    )


@_defines(operator.add, Sym3, Sym3)
def _(a, b):
    return Sym3(a.xx + b.xx, a.xy + b.xy, a.xz + b.xz, a.yy + b.yy, a.yz + b.yz, a.zz + b.zz)


@_defines(operator.sub, Sym3, Sym3)
def _(a, b):
    return Sym3(a.xx - b.xx, a.xy - b.xy, a.xz - b.xz, a.yy - b.yy, a.yz - b.yz, a.zz - b.zz)


@_defines(operator.add, Motion, Motion)
def _(a, b):
    return Motion(a.ang + b.ang, a.lin + b.lin)


@_defines(operator.sub, Motion, Motion)
def _(a, b):
    return Motion(a.ang - b.ang, a.lin - b.lin)


@_defines(operator.mul, Motion, float)
def _(a, s):
    return Motion(a.ang * s, a.lin * s)


@_defines(operator.add, Force, Force)
def _(a, b):
    return Force(a.ang + b.ang, a.lin + b.lin)


@_defines(operator.sub, Force, Force)
def _(a, b):
    return Force(a.ang - b.ang, a.lin - b.lin)


@_defines(operator.mul, Force, float)
def _(a, s):
    return Force(a.ang * s, a.lin * s)


@_defines(operator.matmul, Motion, Force)
def _(m, f):
    return dot(m.ang, f.ang) + dot(m.lin, f.lin)


@_defines(operator.matmul, Inertia, Motion)
def _(I, m):
    return Force(I.A @ m.ang + I.B @ m.lin, m.ang @ I.B + I.M @ m.lin)


@_defines(operator.add, Inertia, Inertia)
def _(a, b):
    return Inertia(a.A + b.A, a.B + b.B, a.M + b.M)


@_defines(operator.sub, Inertia, Inertia)
def _(a, b):
    return Inertia(a.A - b.A, a.B - b.B, a.M - b.M)


@_defines(operator.matmul, Mobility, Force)
def _(P, f):
    return Motion(P.A @ f.ang + P.B @ f.lin, f.ang @ P.B + P.M @ f.lin)


@_defines(operator.add, Mobility, Mobility)
def _(a, b):
    return Mobility(a.A + b.A, a.B + b.B, a.M + b.M)


@_defines(operator.sub, Mobility, Mobility)
def _(a, b):
    return Mobility(a.A - b.A, a.B - b.B, a.M - b.M)


@_defines(operator.matmul, RigidInertia, Motion)
def _(Y, m):
    return Force(Y.I @ m.ang + cross(Y.h, m.lin), m.lin * Y.m - cross(Y.h, m.ang))


@_defines(operator.add, RigidInertia, RigidInertia)
def _(a, b):
    return RigidInertia(a.m + b.m, a.h + b.h, a.I + b.I)


@_defines(operator.matmul, Inertia, Revolute)
def _(I, S):
    return Force(I.A @ S.axis, S.axis @ I.B)


@_defines(operator.matmul, Inertia, Prismatic)
def _(I, S):
    return Force(I.B @ S.axis, I.M @ S.axis)


@_defines(operator.matmul, RigidInertia, Revolute)
def _(Y, S):
    return Force(Y.I @ S.axis, cross(S.axis, Y.h))


@_defines(operator.matmul, RigidInertia, Prismatic)
def _(Y, S):
    return Force(cross(Y.h, S.axis), S.axis * Y.m)


@_defines(operator.matmul, Revolute, Force)
def _(S, f):
    return dot(S.axis, f.ang)


@_defines(operator.matmul, Prismatic, Force)
def _(S, f):
    return dot(S.axis, f.lin)


@_defines(operator.mul, Revolute, float)
def _(S, s):
    return Revolute(S.axis * s)


@_defines(operator.mul, Prismatic, float)
def _(S, s):
    return Prismatic(S.axis * s)


@_defines(operator.add, Motion, Revolute)
def _(a, S):
    return Motion(a.ang + S.axis, a.lin)


@_defines(operator.add, Motion, Prismatic)
def _(a, S):
    return Motion(a.ang, a.lin + S.axis)


def _class_of(t: Any) -> type:
    return t.instance_class if isinstance(t, types.BaseNamedTuple) else float


def _install(op: Any, table: dict[tuple[type, type], Callable[..., Any]]) -> None:
    """Install a table of definitions for the operator, compiled and in Python; a += b is a = a + b."""

    def resolve(a, b):
        return table.get((_class_of(a), _class_of(b)))

    def method(a, b):
        return table[type(a), type(b) if type(b) in _CLASSES else float](a, b)

    for symbol in (op, getattr(operator, "i" + op.__name__)):
        overload(symbol, jit_options=INLINE, strict=False)(resolve)
    for cls in {left for left, _ in table}:
        setattr(cls, f"__{op.__name__}__", method)


for _op, _meanings in _TABLE.items():
    _install(_op, _meanings)


@helper
def dot(a, b):
    return a.x * b.x + a.y * b.y + a.z * b.z


@helper
def cross(a, b):
    return Vec3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)


@helper
def outer(a, b):
    """a b^T"""
    return Mat3(b * a.x, b * a.y, b * a.z)


@helper
def outer_sym(a, b):
    """a b^T if that is symmetric"""
    return Sym3(a.x * b.x, a.x * b.y, a.x * b.z, a.y * b.y, a.y * b.z, a.z * b.z)


@helper
def matrix(a):
    """A symmetric matrix as a general one."""
    return Mat3(Vec3(a.xx, a.xy, a.xz), Vec3(a.xy, a.yy, a.yz), Vec3(a.xz, a.yz, a.zz))


@helper
def product_sym(a, b):
    """a b if that is symmetric"""
    x, y, z = x_axis(b), y_axis(b), z_axis(b)
    return Sym3(dot(a.r0, x), dot(a.r0, y), dot(a.r0, z), dot(a.r1, y), dot(a.r1, z), dot(a.r2, z))


@helper
def inverse_sym(a, of):
    """The inverse of a positive definite matrix, by its factors L D L^T; and a number that is not positive if some
    pivot is less than LOST times the diagonal of the matrix `of`, which is a itself or the matrix of which a is a
    remainder."""
    p0 = a.xx
    d0 = 1.0 / p0
    l1, l2 = a.xy * d0, a.xz * d0
    yz = a.yz - l1 * a.xz
    p1 = a.yy - l1 * a.xy
    d1 = 1.0 / p1
    l3 = yz * d1
    p2 = a.zz - l2 * a.xz - l3 * yz
    d2 = 1.0 / p2
    k, l, m = l3 * d2, l1 * d1, l1 * l3 - l2  # m: of L^-1
    left = smaller(p0 - of.xx * LOST, smaller(p1 - of.yy * LOST, p2 - of.zz * LOST))
    return Sym3(d0 + l1 * l + m * m * d2, -l - m * k, m * d2, d1 + l3 * k, -k, d2), left


@helper
def transpose(R):
    return Mat3(Vec3(R.r0.x, R.r1.x, R.r2.x), Vec3(R.r0.y, R.r1.y, R.r2.y), Vec3(R.r0.z, R.r1.z, R.r2.z))


@helper
def x_axis(R):
    return Vec3(R.r0.x, R.r1.x, R.r2.x)


@helper
def y_axis(R):
    return Vec3(R.r0.y, R.r1.y, R.r2.y)


@helper
def z_axis(R):
    return Vec3(R.r0.z, R.r1.z, R.r2.z)


@helper
def _turn_row_z(r, c, s):
    return Vec3(c * r.x + s * r.y, c * r.y - s * r.x, r.z)


@helper
def turn_z(R, c, s):
    """R Rz: rotate about R's own z axis by the angle of cosine c and sine s."""
    return Mat3(_turn_row_z(R.r0, c, s), _turn_row_z(R.r1, c, s), _turn_row_z(R.r2, c, s))


@helper
def _turn_row_x(r, c, s):
    return Vec3(r.x, c * r.y + s * r.z, c * r.z - s * r.y)


@helper
def turn_x(R, c, s):
    """R Rx: rotate about R's own x axis."""
    return Mat3(_turn_row_x(R.r0, c, s), _turn_row_x(R.r1, c, s), _turn_row_x(R.r2, c, s))


@helper
def rotation_of(x, y, z, w):
    """The rotation of a quaternion; its length need not be exactly one."""
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return Mat3(
        Vec3(1.0 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w)),
        Vec3(k * (x * y + z * w), 1.0 - k * (x * x + z * z), k * (y * z - x * w)),
        Vec3(k * (x * z - y * w), k * (y * z + x * w), 1.0 - k * (x * x + y * y)),
    )


@helper
def rotate_motion(R, m):
    return Motion(R @ m.ang, R @ m.lin)


@helper
def rotate_force(R, f):
    return Force(R @ f.ang, R @ f.lin)


@helper
def shift_motion(r, m):
    """The motion m given at the old origin, at the new origin r."""
    return Motion(m.ang, m.lin + cross(m.ang, r))


@helper
def shift_force(r, f):
    """The force f given at r, about the origin."""
    return Force(f.ang + cross(r, f.lin), f.lin)


@helper
def crm(v, m):
    """v x m, of motions."""
    return Motion(cross(v.ang, m.ang), cross(v.ang, m.lin) + cross(v.lin, m.ang))


@helper
def crf(v, f):
    """v x* f, motion on force."""
    return Force(cross(v.ang, f.ang) + cross(v.lin, f.lin), cross(v.ang, f.lin))


@helper
def articulated(Y):
    """A rigid inertia as a general one."""
    h, m = Y.h, Y.m
    o = m * 0.0
    return Inertia(Y.I, Mat3(Vec3(o, -h.z, h.y), Vec3(h.z, o, -h.x), Vec3(-h.y, h.x, o)), Sym3(m, o, o, m, o, m))


@helper
def outer_inertia(U, d):
    """U d U^T"""
    e = U * d
    return Inertia(outer_sym(U.ang, e.ang), outer(U.ang, e.lin), outer_sym(U.lin, e.lin))


@helper
def shift_rigid(r, Y):
    """The rigid inertia Y given at r, about the origin: the parallel-axis theorem with first moments."""
    k = r * Y.m + Y.h  # first moment about the origin
    # I + (terms of -[r]x[h]x - [k]x[r]x), symmetric by construction
    rh = dot(r, Y.h) + dot(r, k)
    return RigidInertia(
        Y.m,
        k,
        Sym3(
            Y.I.xx + rh - r.x * (Y.h.x + k.x),
            Y.I.xy - r.x * k.y - Y.h.x * r.y,
            Y.I.xz - r.x * k.z - Y.h.x * r.z,
            Y.I.yy + rh - r.y * (Y.h.y + k.y),
            Y.I.yz - r.y * k.z - Y.h.y * r.z,
            Y.I.zz + rh - r.z * (Y.h.z + k.z),
        ),
    )


@helper
def shift_inertia(r, I):
    """The inertia I given at r, about the origin: B' = B + [r]x M, A' = A + [r]x B^T - B' [r]x."""
    B, M = I.B, I.M
    c0 = cross(r, Vec3(M.xx, M.xy, M.xz))
    c1 = cross(r, Vec3(M.xy, M.yy, M.yz))
    c2 = cross(r, Vec3(M.xz, M.yz, M.zz))
    N = B + Mat3(Vec3(c0.x, c1.x, c2.x), Vec3(c0.y, c1.y, c2.y), Vec3(c0.z, c1.z, c2.z))
    k0 = cross(r, B.r0)
    k1 = cross(r, B.r1)
    k2 = cross(r, B.r2)
    l0 = cross(r, N.r0)
    l1 = cross(r, N.r1)
    l2 = cross(r, N.r2)
    A = I.A + Sym3(k0.x + l0.x, k0.y + l1.x, k0.z + l2.x, k1.y + l1.y, k1.z + l2.y, k2.z + l2.z)
    return Inertia(A, N, M)


@helper
def rigid_mobility(w, c, J):
    """The inverse of a rigid body's inertia, about an origin from which its centre of mass is at c.

    w: one over its mass; J: the inverse of its rotational inertia about the centre of mass.
    """
    B = Mat3(
        cross(c, Vec3(J.xx, J.xy, J.xz)), cross(c, Vec3(J.xy, J.yy, J.yz)), cross(c, Vec3(J.xz, J.yz, J.zz))
    )  # -J [c]x
    k0, k1, k2 = cross(c, x_axis(B)), cross(c, y_axis(B)), cross(c, z_axis(B))  # columns of -[c]x J [c]x
    return Mobility(J, B, Sym3(k0.x + w, k1.x, k2.x, k1.y + w, k2.y, k2.z + w))


@helper
def cross_mobility(w, J, d, e):
    """The motion of a rigid body at d under a force at e, both relative to its centre of mass: the four blocks of a
    6x6."""
    K = shift_columns(e, J)  # J [e]x
    a, b, c = cross(d, Vec3(J.xx, J.xy, J.xz)), cross(d, Vec3(J.xy, J.yy, J.yz)), cross(d, Vec3(J.xz, J.yz, J.zz))
    L = Mat3(Vec3(-a.x, -b.x, -c.x), Vec3(-a.y, -b.y, -c.y), Vec3(-a.z, -b.z, -c.z))  # -[d]x J
    a, b, c = cross(d, x_axis(K)), cross(d, y_axis(K)), cross(d, z_axis(K))
    M = Mat3(Vec3(w - a.x, -b.x, -c.x), Vec3(-a.y, w - b.y, -c.y), Vec3(-a.z, -b.z, w - c.z))
    return matrix(J), K, L, M


@helper
def shift_mobility(r, P):
    """The mobility P given at the origin, at r: like shift_inertia, with the halves of the vectors exchanged."""
    I = shift_inertia(Vec3(-r.x, -r.y, -r.z), Inertia(P.M, transpose(P.B), P.A))
    return Mobility(I.M, transpose(I.B), I.A)


@helper
def inverse(P):
    """The inertia whose inverse is a mobility; and a number that is positive if it has digits left."""
    K, left = inverse_sym(P.A, P.A)
    E = matrix(K) @ P.B
    M, rest = inverse_sym(P.M - product_sym(transpose(P.B), E), P.M)  # the Schur complement
    ME = matrix(M) @ transpose(E)
    B = transpose(ME)
    I = Inertia(K + product_sym(E, ME), Mat3(B.r0 * -1.0, B.r1 * -1.0, B.r2 * -1.0), M)
    return I, smaller(left, rest)


@helper
def respond(P, r, W):
    """P - (X P)^T W (X P), X P being P at r: a body on which a force -W X a acts there when it accelerates by a."""
    A = matrix(P.A)
    H = transpose(shift_columns(r, P.A) + P.B)  # X P = [[A, B], [H, G]]
    c0, c1, c2 = cross(r, x_axis(P.B)), cross(r, y_axis(P.B)), cross(r, z_axis(P.B))
    G = matrix(P.M) - Mat3(Vec3(c0.x, c1.x, c2.x), Vec3(c0.y, c1.y, c2.y), Vec3(c0.z, c1.z, c2.z))
    WA, WBt, WM = matrix(W.A), transpose(W.B), matrix(W.M)
    TA, TB = WA @ A + W.B @ H, WA @ P.B + W.B @ G  # T = W X P
    TH, TG = WBt @ A + WM @ H, WBt @ P.B + WM @ G
    Ht = transpose(H)
    return Mobility(
        P.A - (product_sym(A, TA) + product_sym(Ht, TH)),
        P.B - (A @ TB + Ht @ TG),
        P.M - (product_sym(transpose(P.B), TB) + product_sym(transpose(G), TG)),
    )


@helper
def respond_rigid(w, c, J, r, W):
    """The same for the rigid body whose mobility is rigid_mobility(w, c, J): its blocks are diagonal at the centre of
    mass."""
    I = shift_inertia(r - c, W)
    JA, JB = matrix(J) @ matrix(I.A), matrix(J) @ I.B
    A = J - product_sym(JA, matrix(J))
    B = Mat3(JB.r0 * -w, JB.r1 * -w, JB.r2 * -w)
    k = w * w
    M = Sym3(w - k * I.M.xx, -k * I.M.xy, -k * I.M.xz, w - k * I.M.yy, -k * I.M.yz, w - k * I.M.zz)
    return shift_mobility(Vec3(-c.x, -c.y, -c.z), Mobility(A, B, M))


@helper
def shift_columns(r, A):
    """A [r]x"""
    return Mat3(cross(Vec3(A.xx, A.xy, A.xz), r), cross(Vec3(A.xy, A.yy, A.yz), r), cross(Vec3(A.xz, A.yz, A.zz), r))
