"""Energies, momentum and centre of mass, from one pass over the bodies. O(n)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from supple.arguments import as_floats, choice, take
from supple.errors import ModelError
from supple.exact.answers import at_rest
from supple.exact.calls import V_OR_NONE, Algorithm, Q
from supple.exact.kinematics import MOVING, place_world
from supple.exact.motion import joint_of, move, turn_ahead, turned_inertia, zero_vec
from supple.model.model import Model
from supple.spatial.algebra import Motion, Vec3, cross, dot
from supple.spatial.any_number import number_like
from supple.spatial.compiler import helper
from supple.spatial.fields import Number, Value
from supple.spatial.structs import Struct

Floats = NDArray[np.float64]

ABOUT = choice("com", "origin")


class Totals(Struct):
    """Totals over all bodies, about the world's origin."""

    kinetic = Number()
    potential = Number()
    moment = Value(Vec3)  # first moment of mass
    linear = Value(Vec3)  # momentum
    angular = Value(Vec3)


totals_among = Totals.among
KINETIC, POTENTIAL, MOMENT, LINEAR, ANGULAR = Totals.offsets.values()


@helper
def totals(m, state, out, work):
    path, zero = work.path, zero_vec(state.q[0])
    place_world(state.q[0], path[0])
    path[0].V = Motion(zero, zero)
    kinetic = number_like(state.q[0], 0.0)
    moment, linear, angular = zero, zero, zero
    done = 0
    for b in range(m.n):
        i, p, _, _ = joint_of(m, b)
        done = turn_ahead(m, state.q, work.S, done, b)
        R, r, V, _ = move(m, b, path[p].R, path[p].V, state.q, state.v, work.S)
        P = path[p].P + r
        I = turned_inertia(R, m.shapes[b])
        momentum = I @ V  # about the body's origin
        kinetic = kinetic + 0.5 * (V @ momentum)
        moment = moment + P * I.m + I.h
        linear = linear + momentum.lin
        angular = angular + momentum.ang + cross(P, momentum.lin)
        path[i].R, path[i].P, path[i].V = R, P, V
    found = totals_among(out, 0)
    found.kinetic, found.potential = kinetic, -dot(moment, m.gravity)
    found.moment, found.linear, found.angular = moment, linear, angular
    return 1.0


TOTALS = Algorithm("energy and momentum", totals, MOVING, (Q, V_OR_NONE, None, None), lambda m: (Totals.words,))


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
