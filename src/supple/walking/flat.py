"""Two legs that move in a plane, in closed form: what the stages of a stride need, a tenth of the general algorithm's.

For two bodies on parallel revolute joints without damping and armature: the compass, the simplest walker. With angles
alpha_1 = s_1 q_1 and alpha_2 = alpha_1 + s_2 q_2 about the walker's axis (s: +1 or -1, as a joint's axis is along or
against it), vectors in the plane as they are at q = 0, and R(alpha) a rotation of the plane, Lagrange's equations are

    A w_1' + B w_2' + B' w_2^2 = g x R(alpha_1) s         A = J_1 + m_1 c_1^2 + m_2 l^2,  B = m_2 l . R(s_2 q_2) c_2
    B w_1' + C w_2' - B' w_1^2 = g x R(alpha_2) m_2 c_2   C = J_2 + m_2 c_2^2,            B' = dB / d(alpha_2 - alpha_1)

l: from the support to the hip; c: to centres of mass; s = m_1 c_1 + m_2 l; g x r is the moment of gravity at r. Of a
light second leg B, B' and C are all proportional to its mass: no digits are lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from supple.integrating.stages import Stages
from supple.model.joints import JointType
from supple.model.model import Model
from supple.spatial import fields
from supple.spatial.addresses import from_entry
from supple.spatial.compiler import helper, kernel
from supple.spatial.fields import Integer, Number
from supple.spatial.structs import Struct

Floats = NDArray[np.float64]


class Flat(Struct):
    """Two bodies in a plane. Of a model that is not of the kind, `is_so` is 0 and the rest nothing."""

    is_so = Integer()
    s1 = Number()  # signs of the joints
    s2 = Number()
    A = Number()
    C = Number()
    along = Number()  # m_2 l . c_2
    across = Number()  # m_2 l x c_2: B = along cos - across sin of s_2 q_2
    first = fields.Floats()  # (2,) moment of gravity on s: (along, across)
    second = fields.Floats()  # (2,) on m_2 c_2
    seen = fields.Floats()  # (3, 5) foot and guard above the ground, foot ahead: constant, and of alpha_1 and alpha_2


@helper
def _accelerations(f, q1, q2, v1, v2):
    w1, beta, alpha = f.s1 * v1, f.s2 * q2, f.s1 * q1
    w2 = w1 + f.s2 * v2
    sa, ca, sb, cb = np.sin(alpha), np.cos(alpha), np.sin(beta), np.cos(beta)
    B, slope = f.along * cb - f.across * sb, -f.along * sb - f.across * cb
    s12, c12 = sa * cb + ca * sb, ca * cb - sa * sb
    M1 = f.first[0] * ca + f.first[1] * sa - slope * w2 * w2
    M2 = f.second[0] * c12 + f.second[1] * s12 + slope * w1 * w1
    D = f.A - B * (B / f.C)
    a1 = (M1 - B / f.C * M2) / D
    a2 = (M2 - B * a1) / f.C
    return f.s1 * a1, f.s2 * (a2 - a1), D


@kernel(types.float64(Flat.type, Stages.type, types.int64, types.int64, types.float64), "stages of two legs")
def flat_stages(f, step, first, end, h):
    """take_stages of integrating/stages.py."""
    smallest = 1.0e300
    for s in range(first, end):
        x1 = x2 = u1 = u2 = 0.0
        for r in range(s):
            a, k = step.A[step.rows * s + r], from_entry(step.K, 4 * r)
            if a != 0.0:
                x1, x2, u1, u2 = x1 + a * k[0], x2 + a * k[1], u1 + a * k[2], u2 + a * k[3]
        q1, q2 = step.q0[0] + h * x1, step.q0[1] + h * x2
        v1, v2 = step.v0[0] + h * u1, step.v0[1] + h * u2
        k = from_entry(step.K, 4 * s)
        k[0], k[1] = v1, v2
        k[2], k[3], D = _accelerations(f, q1, q2, v1, v2)
        step.q[0], step.q[1], step.v[0], step.v[1] = q1, q2, v1, v2
        smallest = min(smallest, D)
        if not D > 0.0:
            return D
    return smallest


@helper
def flat_above(f, q):
    """`above` of touchdown.py."""
    alpha = f.s1 * q[0]
    both = alpha + f.s2 * q[1]
    sa, ca, sb, cb = np.sin(alpha), np.cos(alpha), np.sin(both), np.cos(both)
    return _seen(f, 0, sa, ca, sb, cb), _seen(f, 1, sa, ca, sb, cb), _seen(f, 2, sa, ca, sb, cb)


@helper
def _seen(f, row, sa, ca, sb, cb):
    n = from_entry(f.seen, 5 * row)
    return n[0] + n[1] * ca + n[2] * sa + n[3] * cb + n[4] * sb


def flat_of(model: Model, axis: Floats, footing: Any) -> dict[str, Any]:
    """The fields of Flat. footing: what is watched (touchdown.py), as it was given."""
    E = np.array([model.rotation[0], model.rotation[0] @ model.rotation[1]]) if model.n_bodies == 2 else None
    if E is None or not _is_flat(model, axis, E):
        return {"is_so": 0}
    e1 = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(axis, e1)

    def inside(r: Floats) -> Floats:
        return np.array([r @ e1, r @ e2])

    com = [inside(E[b] @ model.com[b]) for b in range(2)]
    J = [float(axis @ E[b] @ model.inertia[b] @ E[b].T @ axis) for b in range(2)]
    hip, (m1, m2), g = inside(E[0] @ model.position[1]), model.mass.tolist(), inside(model.gravity)

    def moment(s: Floats) -> Floats:
        """(R(alpha) s) x g = m_0 cos(alpha) + m_1 sin(alpha)"""
        return np.array([s[0] * g[1] - s[1] * g[0], -s[1] * g[1] - s[0] * g[0]])

    signs = [float(np.sign(axis @ E[b] @ model.axis[b])) for b in range(2)]
    return {
        "is_so": 1, "s1": signs[0], "s2": signs[1], "A": J[0] + m1 * com[0] @ com[0] + m2 * hip @ hip,
        "C": J[1] + m2 * com[1] @ com[1], "along": m2 * hip @ com[1],
        "across": m2 * (hip[0] * com[1][1] - hip[1] * com[1][0]), "first": moment(m1 * com[0] + m2 * hip),
        "second": moment(m2 * com[1]), "seen": _watched(model, axis, E, inside, footing),
    }  # fmt: skip


def _is_flat(model: Model, axis: Floats, E: Floats) -> bool:
    along = [abs(abs(float(axis @ E[b] @ model.axis[b])) - 1.0) < 1e-12 for b in range(2)]
    plain = (model.joint_type == JointType.REVOLUTE).all() and model.parent.tolist() == [-1, 0]
    return bool(all(along) and plain and not model.damping.any() and not model.armature.any())


def _watched(model: Model, axis: Floats, E: Floats, inside: Any, footing: Any) -> Floats:
    """Heights as sums of cosines and sines of both angles."""
    out = np.zeros((3, 5))
    for row, (point, plane) in enumerate(((0, 0), (1, 0), (0, 1))):
        body, at = int(footing["bodies"][point]), footing["points"][point]
        *normal, offset = footing["plane"][plane]
        n = inside(np.array(normal))
        parts = [E[0] @ at] if body == 0 else [E[0] @ model.position[1], E[1] @ at]
        out[row, 0] = np.dot(normal, model.position[0]) - offset + sum(np.dot(normal, axis) * (axis @ p) for p in parts)
        out[row, 0] -= (0.0, footing["least"], footing["clearance"])[row]
        for k, p in enumerate(map(inside, parts)):
            out[row, 1 + 2 * k : 3 + 2 * k] = n @ p, n[1] * p[0] - n[0] * p[1]
    return out
