"""Energies, momentum and centre of mass, from one pass over the bodies. O(n)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import as_floats, choice, take
from supple.errors import ModelError
from supple.exact.answers import at_rest
from supple.exact.calls import V_OR_NONE, Algorithm, Q
from supple.exact.kinematics import P_, PATH_ROW, R_, V_, place_world
from supple.exact.motion import joint_of, move, turn_ahead, zero_vec
from supple.exact.tables import RIGID, SPLIT
from supple.model.model import Model
from supple.spatial.algebra import (
    Motion,
    cross,
    dot,
)
from supple.spatial.compiler import helper
from supple.spatial.lanes import number_like
from supple.spatial.rows import (
    load_mat,
    load_motion,
    load_turned,
    load_vec,
    store_mat,
    store_six,
    store_vec,
)

Floats = NDArray[np.float64]

ABOUT = choice("com", "origin")
KINETIC, POTENTIAL, MOMENT, LINEAR, ANGULAR, SIZE = 0, 1, 2, 5, 8, 11


@helper
def totals(m, q, v, x, has_wrenches, wrenches, out, path, work, S, dofs, extra):
    """Kinetic and potential energy, first moment of mass, linear momentum, angular momentum; about the world's
    origin."""
    place_world(path, q)
    zero = zero_vec(q[0])
    store_six(path, 0, V_, Motion(zero, zero))
    kinetic = number_like(q[0], 0.0)
    moment, linear, angular = zero, zero, zero
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, q, S, done, b)
        R, r, V, _ = move(m, b, load_mat(path, p, R_), load_motion(path, p, V_), q, v, S)
        P = load_vec(path, p, P_) + r
        Y = load_turned(R, m.rows, b, RIGID, SPLIT)
        momentum = Y @ V  # about the body's origin
        kinetic = kinetic + 0.5 * (V @ momentum)
        moment = moment + P * Y.m + Y.h
        linear = linear + momentum.lin
        angular = angular + momentum.ang + cross(P, momentum.lin)
        store_mat(path, i, R_, R)
        store_vec(path, i, P_, P)
        store_six(path, i, V_, V)
    out[KINETIC] = kinetic
    out[POTENTIAL] = -dot(moment, m.gravity)
    for k in range(3):
        out[MOMENT + k] = moment[k]
        out[LINEAR + k] = linear[k]
        out[ANGULAR + k] = angular[k]
    return 1.0


TOTALS = Algorithm("energy and momentum", totals, PATH_ROW, 0, 0, (Q, V_OR_NONE, None, None), lambda m: (SIZE,))


def kinetic_energy(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Any:
    """Kinetic energy of the bodies and of the joints' armature: 1/2 v^T H v. A number, or (B,) for batches."""
    v = as_floats("v", at_rest(model, v))
    out = TOTALS(model, q, v, None, None)[..., KINETIC]
    return _number(out + 0.5 * np.sum(model.armature * np.square(v), axis=-1))


def potential_energy(model: Model, q: ArrayLike) -> Any:
    """Potential energy of gravity, zero where the centre of mass is at the origin. A number, or (B,) for batches."""
    return _number(TOTALS(model, q, None, None, None)[..., POTENTIAL])


def center_of_mass(model: Model, q: ArrayLike) -> Floats:
    """(3,) the centre of mass in the world; (B, 3) for batches."""
    return _center(model, TOTALS(model, q, None, None, None))


def momentum(model: Model, q: ArrayLike, v: ArrayLike | None = None, about: Literal["com", "origin"] = "com") -> Floats:
    """(6,) momentum along world axes, angular first, the angular part about the centre of mass or the world's
    origin."""
    take("momentum: about", about, ABOUT)
    out = TOTALS(model, q, as_floats("v", at_rest(model, v)), None, None)
    linear, angular = out[..., LINEAR : LINEAR + 3], out[..., ANGULAR : ANGULAR + 3]
    if about == "com":
        angular = angular - np.cross(_center(model, out), linear)
    return np.concatenate([angular, linear], axis=-1)


def _center(model: Model, out: Floats) -> Floats:
    if not model.total_mass > 0:
        raise ModelError(f"{model.name!r} has no mass, and so no centre of mass")
    return out[..., MOMENT : MOMENT + 3] / model.total_mass


def _number(x: Floats) -> Any:
    return float(x) if x.ndim == 0 else x
