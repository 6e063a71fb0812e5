"""Dynamics in extended precision: what the errors of virtual work and its rivals are measured against.

Inverse dynamics by Newton and Euler, body by body in NumPy's long double, written for this purpose and sharing nothing
with the kernels. Forward dynamics follows from it by iterative refinement: a kernel's accelerations are corrected by
what the forces still lack, until the correction is no more than the rounding of long double. Revolute and ball joints
only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.errors import SuppleError
from supple.exact.forward import forward_dynamics as by_kernel
from supple.model.joints import JointType
from supple.model.model import Model

Floats = NDArray[np.float64]
Wide = NDArray[Any]  # of np.longdouble

ROUNDS = 12  #: of refinement, at most


class Exact(NamedTuple):
    """The truth, to within long double."""

    accelerations: Wide  #: (nv,)
    wrenches: Wide  #: (n_bodies, 6) as joint_wrenches has them, along world axes


def wide(x: Any) -> Wide:
    return np.asarray(x, dtype=np.longdouble)


def _cross(a: Wide, b: Wide) -> Wide:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _rotation(model: Model, i: int, q: Wide) -> Wide:
    """What joint i turns its body by."""
    at = int(model.q_index[i])
    if model.joint_type[i] == JointType.BALL:
        x, y, z, w = q[at : at + 4]
        k = 2 / (x * x + y * y + z * z + w * w)
        return np.array(
            [
                [1 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w)],
                [k * (x * y + z * w), 1 - k * (x * x + z * z), k * (y * z - x * w)],
                [k * (x * z - y * w), k * (y * z + x * w), 1 - k * (x * x + y * y)],
            ]
        )
    axis, angle = wide(model.axis[i]), q[at]
    axis = axis / np.sqrt(np.sum(axis * axis))
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]], dtype=np.longdouble)
    return np.eye(3, dtype=np.longdouble) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def inverse_dynamics(model: Model, q: Floats, v: Floats, a: Wide) -> tuple[Wide, Wide]:
    """The forces of accelerations a, (nv,), and the joint wrenches, (n_bodies, 6)."""
    if not np.isin(model.joint_type, (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.BALL)).all():
        raise SuppleError("the extended-precision reference knows revolute and ball joints only")
    n, angles, rates, ball = model.n_bodies, wide(q), wide(v), model.joint_type == JointType.BALL
    # the world comes last, so that body -1 is found there
    R, (x, w, dw, acc) = np.zeros((n + 1, 3, 3), dtype=np.longdouble), np.zeros((4, n + 1, 3), dtype=np.longdouble)
    R[-1], acc[-1] = np.eye(3), -wide(model.gravity)
    carried, axes = np.zeros((2, n + 1, 3), dtype=np.longdouble), wide(model.axis)
    for i, p in enumerate(model.parent.tolist()):
        at = int(model.v_index[i])
        x[i] = R[p] @ wide(model.position[i])
        R[i] = R[p] @ wide(model.rotation[i]) @ _rotation(model, i, angles)
        # along the body's axes, the rates of its joint and theirs
        turn, faster = (y[at : at + 3] if ball[i] else axes[i] * y[at] for y in (rates, a))
        turn, faster = R[i] @ turn, R[i] @ faster
        w[i] = w[p] + turn
        dw[i] = dw[p] + faster + _cross(w[p], turn)
        acc[i] = acc[p] + _cross(dw[p], x[i]) + _cross(w[p], _cross(w[p], x[i]))  # of the origin, as a point
        c, I = R[i] @ wide(model.com[i]), R[i] @ wide(model.inertia[i]) @ R[i].T
        force = wide(model.mass[i]) * (acc[i] + _cross(dw[i], c) + _cross(w[i], _cross(w[i], c)))
        carried[:, i] = I @ dw[i] + _cross(w[i], I @ w[i]) + _cross(c, force), force
    tau = wide(model.damping) * rates + wide(model.armature) * a
    for i in range(n - 1, -1, -1):
        (moment, force), p, at = carried[:, i], model.parent[i], int(model.v_index[i])
        along = R[i].T @ moment
        tau[at : at + 3 if ball[i] else at + 1] += along if ball[i] else axes[i] @ along
        carried[:, p] += moment + _cross(x[i], force), force
    return tau, np.hstack([carried[0, :-1], carried[1, :-1]])


def forward_dynamics(model: Model, q: Floats, v: Floats, tau: Floats) -> Exact:
    """Accelerations and joint wrenches of forces tau."""
    at_rest = replace(model, gravity=np.zeros(3))  # where accelerations are H^-1 times forces
    a = wide(by_kernel(model, q, v, tau))
    smallest = np.inf
    for _ in range(ROUNDS):
        found, wrenches = inverse_dynamics(model, q, v, a)
        lacking = (wide(tau) - found).astype(np.float64)
        change = by_kernel(at_rest, q, np.zeros(model.nv), lacking)
        size = float(np.abs(change).max())
        if not size < 0.5 * smallest:  # it no longer converges: what is left is rounding
            return Exact(a, wrenches)
        a, smallest = a + change, size
    raise SuppleError(f"the extended-precision reference of {model.name!r} did not converge")
